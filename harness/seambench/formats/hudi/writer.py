"""Let Hudi write its own tables, those of data sets and golden ones: nothing imitates its files.

Tables of data sets are not partitioned and have a bucket index, so that each slice is one file
group whose number follows from the key alone.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seambase.errors import InputError, SeambenchError
from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.hudi.buckets import bucket_numbers as groups
from seambench.formats.hudi.golden import Operation, TableSpec, WriteSpec
from seambench.formats.hudi.layouts import HudiLayout
from seambench.formats.hudi.options import DATASET, GOLDEN, write_options
from seambench.formats.rows import data_frame

__all__ = ["check", "groups", "save", "table_files", "write", "write_table", "writer_version"]

_BASE_FILE = re.compile(r"(\d{8})[a-zA-Z0-9-]*_[a-zA-Z0-9-]+_\d+\.parquet")
_LOG_FILE = re.compile(r"\.(\d{8})[a-zA-Z0-9-]*_\d+\.log\.\d+_\d+-\d+-\d+")
_OPERATIONS: dict[Step, Operation] = {
    "create": "bulk_insert",
    "upsert": "upsert",
    "delete": "delete",
}
_SQL = {
    "compact": "CALL run_compaction(op => 'scheduleandexecute', table => 'golden')",
    "schedule-compaction": "CALL run_compaction(op => 'schedule', table => 'golden')",
    "cluster": "CALL run_clustering(table => 'golden', op => 'scheduleandexecute')",
    "schedule-clustering": "CALL run_clustering(table => 'golden', op => 'schedule')",
    "rollback": "CALL rollback_to_instant(table => 'golden', instant_time => '{of}')",
    "savepoint": "CALL create_savepoint(table => 'golden', commit_time => '{of}')",
    "restore": "CALL rollback_to_savepoint(table => 'golden', instant_time => '{of}')",
    "clean": "CALL run_clean(table => 'golden')",
}
_COMMITS = ("commit", "deltacommit", "replacecommit")


def write(step: Step, frame: Any, design: Design, path: Path) -> None:
    """Run one Hudi write of a Spark data frame (one commit)."""
    layout = design.layout
    assert isinstance(layout, HudiLayout)
    spec = TableSpec(
        name=design.name,
        note="",
        table_version=layout.version,
        merge="event-time" if layout.ordering == "event" else "commit-time",
        keys=design.keys,
        columns={},
        writes=(),
        table_type="merge-on-read" if layout.kind == "mor" else "copy-on-write",
        ordering="ts",
        buckets=design.slices,
        log_blocks=layout.log_format,
        options={
            **DATASET,
            "hoodie.table.name": design.name,
            "hoodie.bulkinsert.shuffle.parallelism": str(design.slices),
            "hoodie.upsert.shuffle.parallelism": str(design.slices),
            "hoodie.delete.shuffle.parallelism": str(design.slices),
        },
    )
    save(frame, spec, WriteSpec(_OPERATIONS[step]), path, new=step == "create")


def save(frame: Any, spec: TableSpec, write: WriteSpec, path: Path, *, new: bool) -> None:
    """Write a Spark data frame: one commit to a table, or to a new one."""
    options = write_options(spec, write)
    options["hoodie.datasource.write.operation"] = write.operation
    writer = frame.write.format("hudi").options(**options)
    writer.mode("overwrite" if new else "append").save(str(path))


def writer_version(spec: TableSpec) -> str:
    """Version of the Hudi that writes a golden table."""
    return spec.hudi


def write_table(spark: Any, spec: TableSpec, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a table in the new folder `table`.

    The session is of the Hudi that the table asks for. `lenient` goes on after a step that Hudi
    fails at, with the table as it then is.
    """
    done = Written()
    spec = replace(spec, options=GOLDEN | dict(spec.options))
    for number, write in enumerate(spec.writes, 1):
        before = _instants(table)
        try:
            _carry_out(spark, spec, write, table, done.instants)
        except Exception as error:
            if not lenient or number == 1:
                raise
            done.failures[number] = str(error)[:500]
        instant, completion = _fresh(before, _instants(table))
        done.instants.append(instant)
        done.completions.append(completion)
        if number == 1:
            _check_version(table, spec)
    shutil.rmtree(table / ".hoodie" / ".temp", ignore_errors=True)
    return done


def _carry_out(
    spark: Any, spec: TableSpec, write: WriteSpec, table: Path, instants: Sequence[str]
) -> None:
    """One step."""
    if write.operation == "crash":
        _forget_completion(table, instants[-1])
    elif write.operation in _SQL or write.operation == "sql":
        text = write.sql if write.operation == "sql" else _SQL[write.operation]
        named = {str(n): instant for n, instant in enumerate(instants, 1)}
        named["of"] = instants[write.of - 1] if write.of else ""
        for name, instant in named.items():
            text = text.replace(f"{{{name}}}", instant)
        _run_sql(spark, text.replace("{path}", str(table)), write_options(spec, write), table)
    else:
        columns = {c: t for c, t in spec.columns.items() if c not in write.without}
        frame = data_frame(spark, columns | dict(write.retype), write.rows)
        save(frame, spec, write, table, new=not instants)


def _run_sql(spark: Any, text: str, options: dict[str, str], table: Path) -> None:
    """A statement over the table, which is called `golden`; options hold for it alone."""
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        spark.sql("DROP TABLE IF EXISTS golden")
        if not text.lstrip().upper().startswith("CREATE TABLE"):
            spark.sql(f"CREATE TABLE golden USING hudi LOCATION '{table}'")
        spark.sql(text).collect()
    finally:
        spark.sql("DROP TABLE IF EXISTS golden")
        for name in options:
            spark.conf.unset(name)


def _timeline(table: Path) -> Path:
    later = table / ".hoodie" / "timeline"
    return later if later.is_dir() else table / ".hoodie"


def _instants(table: Path) -> dict[str, str]:
    """Files of the timeline, by name without completion time; the value is that time or empty."""
    folder = _timeline(table)
    if not folder.is_dir():
        return {}
    found = {}
    for file in folder.iterdir():
        if file.name[0].isdigit() and file.suffix != ".crc":
            times, _, rest = file.name.partition(".")
            requested, _, completed = times.partition("_")
            found[f"{requested}.{rest}"] = completed
    return found


def _fresh(before: dict[str, str], after: dict[str, str]) -> tuple[str, str]:
    """The instant that a step brought, and its completion: a commit if there is one."""
    names = sorted(set(after) - set(before))
    for name in names:
        if name.partition(".")[2] in _COMMITS:
            return name.partition(".")[0], after[name]
    for name in names:
        if "." not in name.partition(".")[2]:
            return name.partition(".")[0], after[name]
    return (names[0].partition(".")[0], "") if names else ("", "")


def _forget_completion(table: Path, instant: str) -> None:
    """Leave an instant inflight."""
    for file in _timeline(table).iterdir():
        requested = file.name.lstrip(".").partition(".")[0].partition("_")[0]
        if requested == instant and not file.name.endswith(("requested", "inflight")):
            file.unlink()


def _check_version(table: Path, spec: TableSpec) -> None:
    """Stop if Hudi wrote another table version than asked for."""
    text = (table / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8")
    if f"hoodie.table.version={spec.table_version}\n" not in text:
        raise InputError(f"{spec.name}: Hudi did not write table version {spec.table_version}")


def table_files(path: Path) -> tuple[dict[int, int], dict[int, int]]:
    """Count the base files and the log files of each bucket, by listing the table's folder."""
    bases: dict[int, int] = {}
    logs: dict[int, int] = {}
    for entry in path.iterdir():
        for pattern, counts in ((_BASE_FILE, bases), (_LOG_FILE, logs)):
            if match := pattern.fullmatch(entry.name):
                counts[int(match[1])] = counts.get(int(match[1]), 0) + 1
    return bases, logs


def check(path: Path, groups: Groups) -> None:
    """Check that there is one base file in each slice with rows, and logs in the changed ones."""
    bases, logs = table_files(path)
    wanted = dict.fromkeys(groups.base, 1)
    if bases != wanted:
        raise SeambenchError(
            f"table {path.name}: base files per slice are {bases}, expected {wanted}"
        )
    if set(logs) != groups.changed:
        raise SeambenchError(
            f"table {path.name}: slices {sorted(logs)} have logs, expected {sorted(groups.changed)}"
        )

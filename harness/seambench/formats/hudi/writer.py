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

import numpy as np
import numpy.typing as npt

from seambase.errors import InputError, SeambenchError, UsageError
from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.hudi.golden import Operation, TableSpec, WriteSpec
from seambench.formats.hudi.layouts import HudiLayout
from seambench.formats.hudi.taking_up import take_up
from seambench.formats.rows import data_frame
from seambench.formats.steps import settings

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
    if write.operation == "crash":
        _forget_completion(table, instants[-1])
    elif write.operation == "take-up":
        take_up(spark, spec, write, write_options(spec, write), table)
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
    with settings(options, spark.conf):
        try:
            spark.sql("DROP TABLE IF EXISTS golden")
            if not text.lstrip().upper().startswith("CREATE TABLE"):
                spark.sql(f"CREATE TABLE golden USING hudi LOCATION '{table}'")
            spark.sql(text).collect()
        finally:
            spark.sql("DROP TABLE IF EXISTS golden")


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


_POWERS_OF_TEN = [np.int64(10**digit) for digit in range(19)]


def string_hash_codes(values: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """Java's `Long.toString(value).hashCode()` of each value, as its 32 bits without sign."""
    if values.size and int(values.min()) < 0:
        raise UsageError(f"bucket hash of a negative key ({int(values.min())}) is not supported")
    codes = np.zeros(values.shape, dtype=np.uint32)
    digits = len(str(int(values.max()))) if values.size else 1
    for power in reversed(_POWERS_OF_TEN[:digits]):
        digit = ((values // power) % 10).astype(np.uint32)
        # A leading zero leaves the code at 0; the last digit always counts, as 0 is written "0".
        written = (values >= power) | (power == 1)
        codes = np.where(written, codes * np.uint32(31) + digit + np.uint32(48), codes)
    return codes


def groups(keys: Sequence[npt.NDArray[np.int64]], buckets: int) -> npt.NDArray[np.int64]:
    """Bucket of each row, from 0, by key columns in the order of the table's record key.

    Hudi (BucketIdentifier in hudi-client-common) takes the values of the index key fields as texts,
    the hash code of that Java list, clears its sign bit and takes the remainder by the number of
    buckets. The file id of the group then starts with the bucket number in eight digits.
    """
    if buckets < 1:
        raise UsageError(f"a table needs at least one slice, not {buckets}")
    code = np.ones(keys[0].shape, dtype=np.uint32)
    for column in keys:
        code = code * np.uint32(31) + string_hash_codes(column)
    return (code & np.uint32(0x7FFFFFFF)).astype(np.int64) % buckets


#: Options of golden tables: the smallest Bloom filter, as it is nearly all of a small base file.
GOLDEN = {
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.index.bloom.num_entries": "10",
}

#: Options of the tables of data sets.
DATASET = {
    # One base file per slice, whatever its size.
    "hoodie.parquet.max.file.size": str(1 << 40),
    # The files stay as the writes leave them: nothing is cleaned away.
    "hoodie.archive.automatic": "false",
    # Keys are unique, so nothing is to be combined before writing.
    "hoodie.combine.before.upsert": "false",
    "hoodie.combine.before.delete": "false",
}

_MERGE_MODES = {
    "event-time": "EVENT_TIME_ORDERING",
    "commit-time": "COMMIT_TIME_ORDERING",
    "custom": "CUSTOM",
}
_PAYLOADS = {
    "event-time": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "commit-time": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}


def write_options(spec: TableSpec, write: WriteSpec) -> dict[str, str]:
    """Options for one step. Those of the step win over those of the table, both over ours."""
    options = _of_table(spec) | _of_index(spec) | _of_merge(spec) | _of_services(write)
    if write.operation == "delete_partition":
        options["hoodie.datasource.write.partitions.to.delete"] = ",".join(write.partitions)
    return options | dict(spec.options) | dict(write.options)


def _of_table(spec: TableSpec) -> dict[str, str]:
    """Name, kind, keys and how files are written."""
    mor = spec.table_type == "merge-on-read"
    kind = "Complex" if spec.partition else "Nonpartitioned"
    return {
        "hoodie.table.name": "golden",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if mor else "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": ",".join(spec.keys),
        "hoodie.datasource.write.partitionpath.field": spec.partition or "",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{kind}KeyGenerator",
        "hoodie.write.table.version": str(spec.table_version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "direct",
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.bulkinsert.shuffle.parallelism": "1",
        "hoodie.insert.shuffle.parallelism": "1",
        "hoodie.upsert.shuffle.parallelism": "1",
        "hoodie.delete.shuffle.parallelism": "1",
        "hoodie.logfile.data.block.format": spec.log_blocks,
    }


def _of_index(spec: TableSpec) -> dict[str, str]:
    """Where records go."""
    if spec.index not in ("bucket", "consistent"):
        return {"hoodie.index.type": spec.index.upper()}
    options = {
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": str(spec.buckets),
        "hoodie.bucket.index.hash.field": ",".join(spec.keys),
    }
    if spec.index == "consistent":
        # The one bucket engine that sends inserts into logs, so that a group starts without a base.
        options["hoodie.index.bucket.engine"] = "CONSISTENT_HASHING"
        options["hoodie.bucket.index.min.num.buckets"] = "1"
    return options


def _of_merge(spec: TableSpec) -> dict[str, str]:
    """Which of two records counts."""
    options = {}
    if "hoodie.datasource.write.payload.class" not in spec.options:
        options["hoodie.record.merge.mode"] = _MERGE_MODES[spec.merge]
        if spec.table_version < 9 and spec.merge in _PAYLOADS:
            options["hoodie.datasource.write.payload.class"] = _PAYLOADS[spec.merge]
    # Hudi 1.2.0 takes a table with an ordering column for one of event time if its first write is
    # no bulk insert, and then refuses the next.
    if spec.ordering and not (spec.hudi == "1.2.0" and spec.merge == "commit-time"):
        options["hoodie.datasource.write.precombine.field"] = spec.ordering
        options["hoodie.table.ordering.fields"] = spec.ordering
    return options


def _of_services(write: WriteSpec) -> dict[str, str]:
    """Compaction with a write, or none."""
    return {
        "hoodie.compact.inline": "true" if write.compaction == "run" else "false",
        "hoodie.compact.schedule.inline": "true" if write.compaction == "schedule" else "false",
        "hoodie.compact.inline.max.delta.commits": "1",
    }

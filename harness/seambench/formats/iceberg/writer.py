"""Let Iceberg write its own tables, those of data sets and golden ones.

Tables lie in the folder of a Hadoop catalog that is made for them. Those of data sets are not
partitioned; each of Spark's partitions becomes one data file when they are created, so that a
file's rows follow from the key alone. Changes are merged in by key.

Layouts of Iceberg data sets: `iceberg-<deletes>-<ordering>-u<ratio>-s<share>`.

Replaced rows are marked in deletion vectors (`v3`) or position delete files (`v2`). With `eq` a
table of version 2 has equality deletes by the primary key; with `rewrite` changed files of such a
table are written anew.

Changes that replace rows by equality deletes, as streaming writers commit them.

Spark writes no equality deletes. So the new rows go into data files of a table beside, whose files
lie in the folder of the one that is changed; Iceberg's own API then writes their keys into a delete
file and commits both at once. Like Flink's upserts, keys are deleted whether a row has them or not.
"""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow.parquet as pq

from seambase.errors import SeambenchError
from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.changed import (
    ChangedLayout,
    ChangedLayouts,
    by_groups,
    group_of,
    merge_by_key,
)
from seambench.formats.forms.containers import read_avro
from seambench.formats.iceberg.java import OPERATIONS, Files, load
from seambench.formats.iceberg.relocate import relocate
from seambench.formats.murmur import partition_numbers as groups
from seambench.formats.rows import witness
from seambench.formats.steps import carry_out, moment, settings

__all__ = ["check", "groups", "location", "table_name", "write", "write_table", "writer_version"]

_DATA_FILE = re.compile(r"(\d{5})-\d+-.*\.parquet")


def table_name(session: Any, path: Path) -> str:
    """The table of a folder as Spark's SQL names it, in a catalog of its parent folder."""
    return f"{_catalog(session, path)}.`{path.name}`"


def _catalog(session: Any, path: Path) -> str:
    """The catalog whose warehouse is the folder above a table; made when first asked for."""
    catalog = "c" + path.parent.as_posix().encode().hex()
    prefix = f"spark.sql.catalog.{catalog}"
    session.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    session.conf.set(f"{prefix}.type", "hadoop")
    session.conf.set(f"{prefix}.warehouse", str(path.parent))
    session.conf.set(f"{prefix}.cache-enabled", "false")
    return catalog


def write(step: Step, frame: Any, design: Design, path: Path) -> None:
    """One commit: a new table, or rows merged into it by key."""
    layout = design.layout
    assert isinstance(layout, IcebergLayout)
    session = frame.sparkSession
    table = table_name(session, path)
    if step == "create":
        writer = by_groups(frame, design).writeTo(table).using("iceberg")
        for name, value in _properties(layout).items():
            writer = writer.tableProperty(name, value)
        writer.create()
        return
    relocate(path)
    if layout.kept == "eq":
        _replace_keys(step, frame, design, path)
        return
    # A data file may have one deletion vector. Iceberg sends all changes of a file to one task, and
    # Spark would cut what is long for a task in pieces.
    session.conf.set("spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled", "false")
    merge_by_key(step, frame, design, table)


def _properties(layout: IcebergLayout) -> Mapping[str, str]:
    mode = "copy-on-write" if layout.kept == "rewrite" else "merge-on-read"
    return {
        "format-version": "3" if layout.kept == "v3" else "2",
        # A task's rows stay together as they come.
        "write.distribution-mode": "none",
        "write.target-file-size-bytes": str(1 << 40),
        **{f"write.{what}.mode": mode for what in ("delete", "update", "merge")},
    }


def check(path: Path, groups: Groups) -> None:
    """Check that each group was created as a file, and that just the replaced ones were touched."""
    created: dict[str, int] = {}
    touched: set[int] = set()
    for number, snapshot in enumerate(_newest(path)["snapshots"]):
        for entry in _entries(snapshot):
            file = entry["data_file"]
            if number == 0:
                created[file["file_path"]] = group_of(file["file_path"], _DATA_FILE)
            elif file.get("content") == 1:
                touched |= {created[p] for p in _pointed(file) if p in created}
            elif file.get("content") == 2:
                touched |= {created[p] for p in _meeting(path, file, created)}
            elif entry["status"] == 2:
                touched |= {created[p] for p in [file["file_path"]] if p in created}
    groups.check(path.name, created.values(), touched)


def _entries(snapshot: Mapping[str, Any]) -> Iterator[Any]:
    """What a snapshot's own manifests say of its files."""
    for listed in read_avro(Path(snapshot["manifest-list"].removeprefix("file:"))).rows:
        if listed["added_snapshot_id"] == snapshot["snapshot-id"]:
            yield from read_avro(Path(listed["manifest_path"].removeprefix("file:"))).rows


def _pointed(file: Mapping[str, Any]) -> set[str]:
    """The data files whose rows a position delete file or a vector names."""
    if file.get("referenced_data_file"):
        return {file["referenced_data_file"]}
    paths = pq.read_table(file["file_path"].removeprefix("file:"), columns=["file_path"])
    return set(paths.column(0).to_pylist())


def _meeting(table: Path, file: Mapping[str, Any], data: Iterable[str]) -> set[str]:
    """The data files that have rows whose keys an equality delete file names."""
    by_id = {one["id"]: one["name"] for one in _newest(table)["schemas"][-1]["fields"]}
    names = ", ".join(f'"{by_id[id_]}"' for id_ in file["equality_ids"])
    listed = duckdb.connect().execute(
        f"SELECT DISTINCT filename FROM read_parquet(?, filename = true) d "  # noqa: S608
        f"SEMI JOIN read_parquet(?) e USING ({names})",
        [[one.removeprefix("file:") for one in data], file["file_path"].removeprefix("file:")],
    )
    plain = {name for [name] in listed.fetchall()}
    return {one for one in data if one.removeprefix("file:") in plain}


def writer_version(spec: Any) -> str | None:
    """Golden Iceberg tables are all written by the default version."""
    del spec
    return None


def write_table(session: Any, spec: Any, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a golden table; the witness is what Spark reads after each.

    `lenient` goes on after a step that fails, with the table as it then is.
    """
    do, note = partial(_do, session, table), partial(_note, session, table)
    with settings(spec.settings, session.conf):
        return carry_out(spec.steps, do, note, lenient=lenient)


def _do(session: Any, table: Path, step: Any) -> None:
    name = table_name(session, table)
    if isinstance(step, str):
        words = {
            "{table}": name,
            "{catalog}": _catalog(session, table),
            "{name}": f"`{table.name}`",
            "{path}": str(table),
            "{snapshot}": str(_newest(table).get("current-snapshot-id"))
            if "{snapshot}" in step
            else "",
        }
        for word, text in words.items():
            step = step.replace(word, text)
        session.sql(step)
        return
    arguments = dict(step)
    OPERATIONS[arguments.pop("op")](session, name, **arguments)


def _newest(table: Path) -> Any:
    """The newest metadata of a table in a Hadoop catalog."""
    data = _newest_file(table).read_bytes()
    return json.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


def _newest_file(table: Path) -> Path:
    files = (table / "metadata").glob("v*metadata.json")
    return max(files, key=lambda file: int(file.name.partition(".")[0][1:]))


def location(table: Path) -> Path:
    """What a table's newest metadata calls its folder; all paths that it names begin so."""
    return Path(_newest(table)["location"].removeprefix("file:"))


def _note(session: Any, table: Path, done: Written) -> None:
    """Note the current snapshot, when it was made, and the rows that Spark reads of it."""
    metadata = _newest(table)
    current = metadata.get("current-snapshot-id")
    known = {one["snapshot-id"]: one for one in metadata.get("snapshots", ())}
    snapshot = known.get(current)
    done.instants.append("" if snapshot is None else str(current))
    done.completions.append("" if snapshot is None else moment(snapshot["timestamp-ms"]))
    done.witness.append({"metadata": _newest_file(table).name, **_read(session, table)})


def _read(session: Any, table: Path) -> Mapping[str, Any]:
    """The rows as Spark reads them, in the words of cases; of a large table their number.

    Where Spark cannot read what Iceberg's own API wrote, the witness says with what it failed.
    """
    frame = session.table(table_name(session, table))
    try:
        return witness(frame)
    except Exception as error:
        return {"columns": frame.columns, "fails": _cause(str(error))}


def _cause(text: str) -> str:
    """The last exception of a Java stack trace."""
    lines = re.findall(r"^(?:Caused by: )?([\w.$]+(?:Exception|Error)\b.*)$", text, re.MULTILINE)
    return str(lines[-1] if lines else text.splitlines()[0])[:200]


@dataclass(frozen=True)
class IcebergLayout(ChangedLayout):
    """One way to lay out Iceberg tables."""

    format_name: ClassVar[str] = "iceberg"
    knob: ClassVar[str] = "deletes"
    choices: ClassVar[tuple[str, ...]] = ("v3", "v2", "eq", "rewrite")


LAYOUTS = ChangedLayouts(IcebergLayout, "Iceberg")


def _replace_keys(step: Step, frame: Any, design: Design, path: Path) -> None:
    """Commit one upsert or delete by key, with an equality delete file."""
    session = frame.sparkSession
    # With it on, Spark was seen to read equality deletes otherwise than a new session does.
    session.conf.set("spark.sql.iceberg.executor-cache.enabled", "false")
    name = table_name(session, path)
    rows = _that_count(step, frame, design, session.table(name))
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".changes-") as folder:
        beside = table_name(session, Path(folder) / "changes")
        files = path / "data" if step == "upsert" else Path(folder) / "rows"
        writer = rows.writeTo(beside).using("iceberg")
        writer = writer.tableProperty("write.data.path", str(files))
        writer = writer.tableProperty("write.distribution-mode", "none")
        writer.tableProperty("write.target-file-size-bytes", str(1 << 40)).create()
        _commit(session, name, beside, design.keys, with_rows=step == "upsert")


def _that_count(step: Step, frame: Any, design: Design, table: Any) -> Any:
    """The rows that come to stand in the table, or go from it; a group's are one of Spark's tasks.

    Under event-time ordering a row counts only if its `ts` is not older than the one it meets.
    """
    from pyspark.sql.functions import col

    keys = [*design.keys]
    stored = table.select(*keys, col("ts").alias("stored_ts"))
    joined = frame.join(stored, keys, "left" if step == "upsert" else "inner")
    if design.layout.ordering == "event":
        joined = joined.where("stored_ts IS NULL OR ts >= stored_ts")
    return by_groups(joined.select(*frame.columns), design)


def _commit(session: Any, name: str, beside: str, keys: Sequence[str], *, with_rows: bool) -> None:
    """Delete the keys of a table beside, and take over its data files."""
    table, changes = load(session, name), load(session, beside)
    if not table.schema().sameSchema(changes.schema()):
        raise SeambenchError(f"table {name}: its changes have other columns or field ids")
    files = Files(session, table, table.spec(), "parquet", None)
    delta = table.newRowDelta().addDeletes(files.equality_of(keys, changes))
    if with_rows:
        tasks = changes.newScan().planFiles().iterator()
        while tasks.hasNext():
            delta = delta.addRows(tasks.next().file())
    delta.commit()

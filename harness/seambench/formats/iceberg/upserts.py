"""Changes that replace rows by equality deletes, as streaming writers commit them.

Spark writes no equality deletes. So the new rows go into data files of a table beside, whose files
lie in the folder of the one that is changed; Iceberg's own API then writes their keys into a delete
file and commits both at once. Like Flink's upserts, keys are deleted whether a row has them or not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError
from seambench.contracts.tables import Design, Step
from seambench.formats.iceberg.java import Files, load


def merge(
    step: Step,
    frame: Any,
    design: Design,
    path: Path,
    table_name: Callable[[Any, Path], str],
) -> None:
    """Commit one upsert or delete by key; see `seambench.contracts.formats.Writer.write`.

    `table_name` says how Spark's SQL names the table of a folder.
    """
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

    keys = list(design.keys)
    stored = table.select(*keys, col("ts").alias("stored_ts"))
    met = frame.join(stored, keys, "left" if step == "upsert" else "inner")
    if design.layout.ordering == "event":
        met = met.where("stored_ts IS NULL OR ts >= stored_ts")
    by = [col(key).cast("bigint") for key in keys]
    return met.select(*frame.columns).repartition(design.slices, *by)


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

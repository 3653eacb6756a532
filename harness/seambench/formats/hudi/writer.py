"""Let Hudi write its own tables: bulk insert, upsert, delete, and a look at what files came of it.

Nothing here imitates Hudi's files. Tables are not partitioned and have a bucket index, so that each
slice is one file group whose number follows from the key alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from seambase.errors import SeambenchError
from seambench.data.layouts import Layout
from seambench.data.tpch import TABLES

__all__ = ["HudiTable", "check_files", "ddl", "map_rows", "table_files"]

_PAYLOADS = {
    "event": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "commit": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}
_MERGE_MODES = {"event": "EVENT_TIME_ORDERING", "commit": "COMMIT_TIME_ORDERING"}

_BASE_FILE = re.compile(r"(\d{8})[a-zA-Z0-9-]*_[a-zA-Z0-9-]+_\d+\.parquet")
_LOG_FILE = re.compile(r"\.(\d{8})[a-zA-Z0-9-]*_\d+\.log\.\d+_\d+-\d+-\d+")

Operation = Literal["bulk_insert", "upsert", "delete"]


@dataclass(frozen=True)
class HudiTable:
    """A table to be written.

    Attributes:
        name: TPC-H name of the table.
        layout: kind, table version, ordering mode and log format.
        slices: number of buckets.
    """

    name: str
    layout: Layout
    slices: int

    def write(self, frame: Any, path: Path, operation: Operation) -> None:
        """Run one Hudi write of a Spark data frame (one commit)."""
        mode = "overwrite" if operation == "bulk_insert" else "append"
        writer = frame.write.format("hudi").options(**self._options(operation))
        writer.mode(mode).save(str(path))

    def _options(self, operation: Operation) -> dict[str, str]:
        keys = ",".join(TABLES[self.name].keys)
        layout = self.layout
        options = {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.operation": operation,
            "hoodie.datasource.write.table.type": (
                "MERGE_ON_READ" if layout.kind == "mor" else "COPY_ON_WRITE"
            ),
            "hoodie.datasource.write.recordkey.field": keys,
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.keygenerator.class": (
                "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
            ),
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.write.table.version": str(layout.version),
            "hoodie.write.auto.upgrade": "false",
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": str(self.slices),
            "hoodie.bucket.index.hash.field": keys,
            "hoodie.logfile.data.block.format": layout.log_format,
            "hoodie.parquet.compression.codec": "zstd",
            # One base file per slice, whatever its size.
            "hoodie.parquet.max.file.size": str(1 << 40),
            # The files stay as the writes leave them: nothing folds logs, nothing is cleaned away.
            "hoodie.metadata.enable": "false",
            "hoodie.compact.inline": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
            # Keys are unique, so nothing is to be combined before writing.
            "hoodie.combine.before.upsert": "false",
            "hoodie.combine.before.delete": "false",
            # What serves long-running writers only costs time here.
            "hoodie.embed.timeline.server": "false",
            "hoodie.write.markers.type": "direct",
            "hoodie.bulkinsert.shuffle.parallelism": str(self.slices),
            "hoodie.upsert.shuffle.parallelism": str(self.slices),
            "hoodie.delete.shuffle.parallelism": str(self.slices),
        }
        if layout.version >= 8:
            options["hoodie.table.ordering.fields"] = "ts"
            options["hoodie.write.record.merge.mode"] = _MERGE_MODES[layout.ordering]
        else:
            options["hoodie.datasource.write.payload.class"] = _PAYLOADS[layout.ordering]
        return options


def ddl(schema: pa.Schema) -> str:
    """Spelling of an Arrow schema in Spark's DDL, for the types of TPC-H."""
    names = {pa.int64(): "bigint", pa.int32(): "int", pa.string(): "string", pa.date32(): "date"}
    spelled = []
    for field in schema:
        if pa.types.is_decimal(field.type):
            kind = f"decimal({field.type.precision},{field.type.scale})"
        else:
            kind = names[field.type]
        spelled.append(f"`{field.name}` {kind}")
    return ", ".join(spelled)


def map_rows(
    frame: Any, table: str, change: Callable[[pa.RecordBatch], pa.RecordBatch], *, ts: bool = True
) -> Any:
    """Data frame with `change` applied to each batch of a table's rows, inside Spark tasks."""
    schema = TABLES[table].schema
    out = schema.append(pa.field("ts", pa.int64())) if ts else schema

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield change(batch.cast(schema))

    return frame.mapInArrow(run, ddl(out))


def table_files(path: Path) -> tuple[dict[int, int], dict[int, int]]:
    """Count the base files and the log files of each bucket, by listing the table's folder."""
    bases: dict[int, int] = {}
    logs: dict[int, int] = {}
    for entry in path.iterdir():
        for pattern, counts in ((_BASE_FILE, bases), (_LOG_FILE, logs)):
            if match := pattern.fullmatch(entry.name):
                counts[int(match[1])] = counts.get(int(match[1]), 0) + 1
    return bases, logs


def check_files(path: Path, base_buckets: Iterable[int], log_buckets: Iterable[int]) -> None:
    """Check that there is one base file in each expected slice, and logs in the expected ones.

    Raises:
        SeambenchError: the files differ; the message names the slices.
    """
    bases, logs = table_files(path)
    wanted = dict.fromkeys(base_buckets, 1)
    if bases != wanted:
        raise SeambenchError(
            f"table {path.name}: base files per slice are {bases}, expected {wanted}"
        )
    if set(logs) != set(log_buckets):
        raise SeambenchError(
            f"table {path.name}: slices {sorted(logs)} have logs, expected {sorted(log_buckets)}"
        )

"""polars: Delta and Iceberg, whose metadata deltalake and pyiceberg hold, Parquet files, IPC."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.peers.catalogue import numbers
from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import WriterStep
from seambench_impl.peers import XFAILS
from seambench_impl.peers.arrow_ipc import ForeignArrowSerde
from seambench_impl.peers.deltalake import OverDeltaRs
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, import_peer, opened
from seambench_impl.peers.peer_writer import CODEC, GROUP_ROWS, FileWriter, PeerWriter
from seambench_impl.peers.pyiceberg import OverPyiceberg, static_table


def _of_frame(frame: Any) -> Opened:
    return opened(
        frame.head(0).collect().to_arrow().schema,
        lambda names: frame.select(names).collect().to_arrow(),
    )


class PolarsDeltaReader(SnapshotReader):
    """polars: `scan_delta`, whose log is read by deltalake."""

    name = "polars-delta"
    package = "polars"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        options = dict(request.storage_options) or None
        return _of_frame(
            module.scan_delta(request.table, version=snapshot, storage_options=options)
        )


class PolarsIcebergReader(SnapshotReader):
    """polars: `scan_iceberg`, which reads files by itself where it can."""

    name = "polars-iceberg"
    package = "polars"
    extra = "peers"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        # Golden tables lie at one place in turns, damaged or whole: files must not be remembered.
        os.environ.setdefault("POLARS_ICEBERG_METADATA_FILE_CACHE_MB", "0")
        return _of_frame(module.scan_iceberg(static_table(self, request), snapshot_id=snapshot))


class _PolarsWriter(PeerWriter):
    """polars writes rows; what else a step asks is for the library below it."""

    package = "polars"

    def _frame(self, step: WriterStep) -> Any:
        return import_peer("polars", self.name, "peers").from_arrow(step.rows)


class PolarsDeltaWriter(_PolarsWriter, OverDeltaRs):
    """polars: `DataFrame.write_delta`."""

    name = "polars-delta"
    more = ("keys", "partitions")

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        return {
            "create": lambda step: self._write(
                step,
                "error",
                partition_by=list(step.partitions) or None,
                configuration=dict(step.properties) or None,
            ),
            "open": self.take_up,
            "append": lambda step: self._write(step, "append"),
            "overwrite": lambda step: self._write(step, "overwrite"),
            "upsert": self._upsert,
        }

    def _write(self, step: WriterStep, mode: str, **options: Any) -> None:
        self._frame(step).write_delta(
            self.target(step), mode=mode, delta_write_options=options or None
        )

    def _upsert(self, step: WriterStep) -> None:
        same = " AND ".join(f't."{key}" = s."{key}"' for key in step.keys)
        aliases = {"predicate": same, "source_alias": "s", "target_alias": "t"}
        merging = self._frame(step).write_delta(
            self.target(step), mode="merge", delta_merge_options=aliases
        )
        merging.when_matched_update_all().when_not_matched_insert_all().execute()


class PolarsIcebergWriter(_PolarsWriter, OverPyiceberg):
    """polars: `DataFrame.write_iceberg`."""

    name = "polars-iceberg"

    def write(self, step: WriterStep, table: Any) -> None:
        """See `OverPyiceberg`."""
        self._frame(step).write_iceberg(table, mode=step.do)


class PolarsFiles(FileWriter):
    """polars: `DataFrame.write_parquet`."""

    name = package = "polars"
    keywords: ClassVar = {CODEC: "compression", GROUP_ROWS: "row_group_size"}

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        if any(pa.types.is_map(kind) for kind in rows.schema.types):
            raise RefusedError(f"{self.name} has no maps, and would write lists")
        import_peer("polars", self.name, "peers").from_arrow(rows).write_parquet(file, **given)


class PolarsIpcSerde(ForeignArrowSerde):
    """polars: `DataFrame.write_ipc_stream` and `read_ipc_stream`."""

    name = "polars-ipc"
    package = module = "polars"
    #: What conformance is known to find in it.
    xfails = XFAILS / "polars-ipc.toml"

    def _write(self, batches: pa.RecordBatchReader, codec: str | None) -> bytes:
        sink = io.BytesIO()
        frame = self._module.from_arrow(batches.read_all(), rechunk=False)
        frame.write_ipc_stream(sink, compression=codec or "uncompressed")
        return sink.getvalue()

    def _read(self, data: bytes) -> Iterable[pa.RecordBatch]:
        options = {"rechunk": False} if numbers(self.version) < (2, 0) else {}
        table = self._module.read_ipc_stream(io.BytesIO(data), **options).to_arrow()
        # A frame without rows is one batch of none.
        return table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]

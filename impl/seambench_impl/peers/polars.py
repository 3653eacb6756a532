"""polars: Delta and Iceberg, whose metadata deltalake and pyiceberg read, and IPC streams."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from seambench.contracts.peers.catalogue import numbers
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers import XFAILS
from seambench_impl.peers.arrow_ipc import ForeignArrowSerde
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, opened
from seambench_impl.peers.pyiceberg import static_table


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

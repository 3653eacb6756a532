"""daft over Delta, Iceberg and Hudi; the metadata of the first two deltalake and pyiceberg read.

It names a bound on pyarrow that this project does not meet, so no extra brings it: it works where
it is installed without its dependencies.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import HudiReader, Opened, SnapshotReader, opened
from seambench_impl.peers.pyiceberg import static_table


def _of_frame(frame: Any) -> Opened:
    return opened(frame.limit(0).to_arrow().schema, lambda names: frame.select(*names).to_arrow())


class DaftDeltaReader(SnapshotReader):
    """daft: `read_deltalake`, whose log is read by deltalake."""

    name = "daft-delta"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        return _of_frame(module.read_deltalake(request.table, version=snapshot))


class DaftIcebergReader(SnapshotReader):
    """daft: `read_iceberg`, which reads files by itself."""

    name = "daft-iceberg"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        return _of_frame(module.read_iceberg(static_table(self, request), snapshot_id=snapshot))


class DaftHudiReader(HudiReader):
    """daft as its users call it: `daft.read_hudi(path)`, then Arrow."""

    name = "daft-hudi"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del snapshot
        frame = module.read_hudi(request.table)
        whole: pa.Schema = frame.schema().to_pyarrow_schema()

        def read(names: list[str]) -> pa.Table:
            table = frame.select(*names).to_arrow()
            return table.cast(pa.schema([whole.field(name) for name in names]))

        return whole, read

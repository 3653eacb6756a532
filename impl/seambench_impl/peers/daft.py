"""daft over Delta, Iceberg and Hudi; the metadata of the first two deltalake and pyiceberg read.

It names a bound on pyarrow that this project does not meet, so no extra brings it: it works where
it is installed without its dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import (
    Opened,
    PeerScan,
    SnapshotReader,
    check_hudi_request,
    import_peer,
    installed_version,
    plain_table,
    select_columns,
)
from seambench_impl.peers.pyiceberg import static_table


class DaftDeltaReader(SnapshotReader):
    """daft: `read_deltalake`, whose log is read by deltalake."""

    name = "daft-delta"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        frame = module.read_deltalake(request.table, version=snapshot)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(*names).to_arrow())

        return plain_table(frame.limit(0).to_arrow()).schema, read


class DaftIcebergReader(SnapshotReader):
    """daft: `read_iceberg`, which reads files by itself."""

    name = "daft-iceberg"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        frame = module.read_iceberg(static_table(self, request), snapshot_id=snapshot)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(*names).to_arrow())

        return plain_table(frame.limit(0).to_arrow()).schema, read


class DaftHudiReader:
    """daft as its users call it: `daft.read_hudi(path)`, then Arrow."""

    name = "daft-hudi"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version("daft", self.name, None)
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema."""
        check_hudi_request(self, request)
        daft = import_peer("daft", self.name, None)
        try:
            frame = daft.read_hudi(request.table)
            whole: pa.Schema = frame.schema().to_pyarrow_schema()
        except Exception as error:
            raise InputError(f"{self.name}: {request.table}: {_sentence(error)}") from error
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            try:
                table = frame.select(*(names or whole.names[:1])).to_arrow()
                yield from table.cast(schema if names else table.schema).to_batches()
            except Exception as error:
                raise InputError(f"{self.name}: {request.table}: {_sentence(error)}") from error

        return PeerScan(self, request, schema, batches)


def _sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

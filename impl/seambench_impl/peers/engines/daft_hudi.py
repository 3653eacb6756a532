"""daft (PyPI `daft`) over Hudi tables: `read_hudi`, which is Python code of daft's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import (
    PeerScan,
    check_hudi_request,
    import_peer,
    installed_version,
    select_columns,
)


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

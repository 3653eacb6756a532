"""hudi-rs (PyPI `hudi`), the Rust reader of the Hudi project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import (
    HUDI_READS,
    PeerScan,
    check_hudi_request,
    import_peer,
    installed_version,
    select_columns,
)

__all__ = ["HudiRsReader"]

_EXTRA = "peers"
_READ_OPTIMIZED = "hoodie.read.use.read_optimized.mode"


class HudiRsReader:
    """hudi-rs as its users call it: `HudiTable(path).read(...)`, then Arrow batches."""

    name = "hudi-rs"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = HUDI_READS
    #: What conformance is known to find in it.
    xfails = Path(__file__).with_name("xfails") / "hudi-rs.toml"

    def __init__(self) -> None:
        self.version = installed_version("hudi", self.name, _EXTRA)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema.

        Raises:
            UnavailableError: the package is not installed.
            RefusedError: something hudi-rs has no word for.
            InputError: hudi-rs cannot open the table.
            UsageError: an unknown column.
        """
        check_hudi_request(self, request)
        hudi = import_peer("hudi", self.name, _EXTRA)
        try:
            table = hudi.HudiTable(request.table, dict(request.storage_options) or None)
            whole = pa.schema(table.get_schema_with_meta_fields())
        except Exception as error:
            raise InputError(f"hudi-rs: {request.table}: {_sentence(error)}") from error
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            # Without columns it reads all of them; one is enough to count rows.
            options = _options(hudi, request, names or whole.names[:1])
            try:
                yield from table.read(options)
            except Exception as error:
                raise InputError(f"hudi-rs: {request.table}: {_sentence(error)}") from error

        return PeerScan(self, request, schema, batches)


def _options(hudi: Any, request: ScanRequest, names: list[str]) -> Any:
    options = hudi.HudiReadOptions(projection=list(names))
    if request.query == "read-optimized":
        options = options.with_hudi_option(_READ_OPTIMIZED, "true")
    if request.as_of is not None:
        options = options.with_as_of_timestamp(request.as_of)
    if request.batch_rows is not None:
        options = options.with_batch_size(request.batch_rows)
    return options


def _sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

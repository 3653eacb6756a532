"""hudi-rs (PyPI `hudi`), the Rust reader of the Hudi project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import (
    PeerScan,
    check_hudi_request,
    import_peer,
    installed_version,
    select_columns,
)

_EXTRA = "peers"
_Read = Callable[[list[str]], Iterable[pa.RecordBatch]]
_READ_OPTIMIZED = "hoodie.read.use.read_optimized.mode"


class HudiRsReader:
    """hudi-rs as its users call it: `HudiTable(path).read(...)`, then Arrow batches."""

    name = "hudi-rs"
    kind: Kind = "peer"
    #: What conformance is known to find in it.
    xfails = XFAILS / "hudi-rs.toml"

    def __init__(self) -> None:
        self.version = installed_version("hudi", self.name, _EXTRA)
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema."""
        check_hudi_request(self, request)
        hudi = import_peer("hudi", self.name, _EXTRA)
        try:
            if hasattr(hudi, "HudiReadOptions"):
                whole, read = _by_options(hudi, request)
            else:
                whole, read = _by_methods(hudi, request)
        except BaseException as error:
            raise _told(request, error) from error
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            # Without columns it reads all of them; one is enough to count rows.
            try:
                yield from read(names or whole.names[:1])
            except BaseException as error:
                raise _told(request, error) from error

        return PeerScan(self, request, schema, batches)


def _by_options(hudi: Any, request: ScanRequest) -> tuple[pa.Schema, _Read]:
    """As one asks since 0.5.0: one method, and what is asked as options."""
    table = hudi.HudiTable(_address(request), dict(request.storage_options) or None)

    def read(names: list[str]) -> Any:
        options = hudi.HudiReadOptions(projection=list(names))
        if request.query == "read-optimized":
            options = options.with_hudi_option(_READ_OPTIMIZED, "true")
        if request.as_of is not None:
            options = options.with_as_of_timestamp(request.as_of)
        if request.batch_rows is not None:
            options = options.with_batch_size(request.batch_rows)
        return table.read(options)

    return pa.schema(table.get_schema_with_meta_fields()), read


def _by_methods(hudi: Any, request: ScanRequest) -> tuple[pa.Schema, _Read]:
    """As one asked until 0.4.0: a method for each query, which gives all columns."""
    options = dict(request.storage_options)
    if request.query == "read-optimized":
        options[_READ_OPTIMIZED] = "true"
    if request.as_of is not None and not hasattr(hudi.HudiTable, "read_snapshot_as_of"):
        options["hoodie.read.as.of.timestamp"] = request.as_of
    table = hudi.HudiTable(_address(request), options or None)

    def read(_: list[str]) -> Any:
        if request.as_of is not None and hasattr(table, "read_snapshot_as_of"):
            return table.read_snapshot_as_of(request.as_of)
        return table.read_snapshot()

    return pa.schema(table.get_schema()), read


def _address(request: ScanRequest) -> str:
    """The table's address; hudi-rs takes no path that is relative."""
    return request.table if "://" in request.table else str(Path(request.table).absolute())


def _told(request: ScanRequest, error: BaseException) -> BaseException:
    """What hudi-rs said, as a refusal; panics of Rust do not derive from Exception."""
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError | GeneratorExit):
        return error
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return InputError(f"hudi-rs: {request.table}: {lines[0]}")

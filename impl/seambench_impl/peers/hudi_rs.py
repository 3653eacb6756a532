"""hudi-rs (PyPI `hudi`), the Rust reader of the Hudi project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import HudiReader, Opened

_READ_OPTIMIZED = "hoodie.read.use.read_optimized.mode"


class HudiRsReader(HudiReader):
    """hudi-rs as its users call it: `HudiTable(path).read(...)`, then Arrow batches."""

    name = "hudi-rs"
    package = "hudi"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del snapshot
        by = _by_options if hasattr(module, "HudiReadOptions") else _by_methods
        return by(module, request)


def _by_options(hudi: Any, request: ScanRequest) -> Opened:
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


def _by_methods(hudi: Any, request: ScanRequest) -> Opened:
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

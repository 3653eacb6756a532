"""delta-rs (PyPI `deltalake`), as its users call it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.contracts.peers.catalogue import numbers
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, by_queries, opened


class DeltaRsReader(SnapshotReader):
    """delta-rs (PyPI `deltalake`): `QueryBuilder` over `DeltaTable`, which applies vectors."""

    name = "deltalake"
    package = "deltalake"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        options = dict(request.storage_options) or None
        table = module.DeltaTable(request.table, version=snapshot, storage_options=options)
        if numbers(self.version) < (1, 0):
            return self._before_queries(table)
        builder = module.QueryBuilder().register("rows", table)
        return by_queries(lambda text: pa.table(builder.execute(text).read_all()), "rows")

    @staticmethod
    def _before_queries(table: Any) -> Opened:
        """Before 1.0 its queries were experimental: a table was read as a dataset of pyarrow."""
        dataset = table.to_pyarrow_dataset()
        return opened(dataset.schema, lambda names: dataset.to_table(columns=names))

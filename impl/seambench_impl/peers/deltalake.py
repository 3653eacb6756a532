"""delta-rs (PyPI `deltalake`), as its users call it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.contracts.peers.catalogue import numbers
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, plain_table, quoted


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

        def read(names: list[str]) -> pa.Table:
            listed = quoted(names)
            text = f"SELECT {listed} FROM rows"  # noqa: S608 - names are quoted
            return plain_table(pa.table(builder.execute(text).read_all()))

        nothing = pa.table(builder.execute("SELECT * FROM rows LIMIT 0").read_all())
        return plain_table(nothing).schema, read

    @staticmethod
    def _before_queries(table: Any) -> Opened:
        """Before 1.0 its queries were experimental: a table was read as a dataset of pyarrow."""
        dataset = table.to_pyarrow_dataset()

        def read(names: list[str]) -> pa.Table:
            return plain_table(dataset.to_table(columns=names))

        return plain_table(dataset.schema.empty_table()).schema, read

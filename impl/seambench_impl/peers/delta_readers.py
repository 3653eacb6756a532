"""Readers of Delta tables on PyPI: deltalake (delta-rs), polars and daft, as their users call them.

daft names a bound on pyarrow that this project does not meet, so no extra brings it: it works where
it is installed without its dependencies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seambench.contracts.peers.catalogue import numbers
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.snapshot_reader import XFAILS, SnapshotReader, plain_table


class DeltaRsReader(SnapshotReader):
    """delta-rs (PyPI `deltalake`): `QueryBuilder` over `DeltaTable`, which applies vectors."""

    name = "deltalake"
    package = "deltalake"
    #: What conformance is known to find in it.
    xfails = XFAILS / "deltalake.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        options = dict(request.storage_options) or None
        table = module.DeltaTable(request.table, version=snapshot, storage_options=options)
        if numbers(self.version) < (1, 0):
            return self._before_queries(table)
        builder = module.QueryBuilder().register("rows", table)

        def read(names: list[str]) -> pa.Table:
            listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            text = f"SELECT {listed} FROM rows"  # noqa: S608 - names are quoted
            return plain_table(pa.table(builder.execute(text).read_all()))

        nothing = pa.table(builder.execute("SELECT * FROM rows LIMIT 0").read_all())
        return plain_table(nothing).schema, read

    @staticmethod
    def _before_queries(table: Any) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        """Before 1.0 its queries were experimental: a table was read as a dataset of pyarrow."""
        dataset = table.to_pyarrow_dataset()

        def read(names: list[str]) -> pa.Table:
            return plain_table(dataset.to_table(columns=names))

        return plain_table(dataset.schema.empty_table()).schema, read


class PolarsReader(SnapshotReader):
    """polars: `scan_delta`, whose log is read by deltalake."""

    name = "polars-delta"
    package = "polars"
    #: What conformance is known to find in it.
    xfails = XFAILS / "polars-delta.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        options = dict(request.storage_options) or None
        frame = module.scan_delta(request.table, version=snapshot, storage_options=options)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(names).collect().to_arrow())

        return plain_table(frame.head(0).collect().to_arrow()).schema, read


class DaftReader(SnapshotReader):
    """daft: `read_deltalake`, whose log is read by deltalake."""

    name = "daft-delta"
    package = "daft"
    extra = None
    #: What conformance is known to find in it.
    xfails = XFAILS / "daft-delta.toml"

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        frame = module.read_deltalake(request.table, version=snapshot)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(*names).to_arrow())

        return plain_table(frame.limit(0).to_arrow()).schema, read

"""Readers of Delta tables on PyPI: deltalake (delta-rs), polars and daft, as their users call them.

daft names a bound on pyarrow that this project does not meet, so no extra brings it: it works where
it is installed without its dependencies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import numbers, stated
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import (
    PeerScan,
    import_peer,
    installed_version,
    select_columns,
)

__all__ = ["XFAILS", "DaftReader", "DeltaReader", "DeltaRsReader", "PolarsReader", "plain_table"]

XFAILS = Path(__file__).with_name("xfails")


class DeltaReader:
    """What the adapters share: one version of a table, read whole, some of its columns."""

    name: str
    package: ClassVar[str]
    extra: ClassVar[str | None] = "peers"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version(self.package, self.name, self.extra)
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema.

        Raises:
            UnavailableError: the package is not installed.
            RefusedError: a query, filter or option for which it has no word.
            InputError: it does not open the table.
            UsageError: an unknown column.
        """
        if request.query != "snapshot" or request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes neither {request.query}, a filter, nor strict")
        module = import_peer(self.package, self.name, self.extra)
        version = None if request.as_of is None else int(request.as_of)
        whole, read = self._told(request, lambda: self._table(module, request, version))
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            # Without columns one is enough to count rows.
            table = self._told(request, lambda: read(names or whole.names[:1]))
            yield from table.to_batches()

        return PeerScan(self, request, schema, batches)

    def _table(
        self, module: Any, request: ScanRequest, version: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        """The table's schema, and a function that reads some of its columns."""
        raise NotImplementedError

    def _told(self, request: ScanRequest, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except BaseException as error:
            # Panics of Rust do not derive from Exception.
            if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                raise
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{self.name}: {request.table}: {lines[0]}") from error


class DeltaRsReader(DeltaReader):
    """delta-rs (PyPI `deltalake`): `QueryBuilder` over `DeltaTable`, which applies vectors."""

    name = "deltalake"
    package = "deltalake"
    #: What conformance is known to find in it.
    xfails = XFAILS / "deltalake.toml"

    def _table(
        self, module: Any, request: ScanRequest, version: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        options = dict(request.storage_options) or None
        table = module.DeltaTable(request.table, version=version, storage_options=options)
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


class PolarsReader(DeltaReader):
    """polars: `scan_delta`, whose log is read by deltalake."""

    name = "polars-delta"
    package = "polars"
    #: What conformance is known to find in it.
    xfails = XFAILS / "polars-delta.toml"

    def _table(
        self, module: Any, request: ScanRequest, version: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        options = dict(request.storage_options) or None
        frame = module.scan_delta(request.table, version=version, storage_options=options)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(names).collect().to_arrow())

        return plain_table(frame.head(0).collect().to_arrow()).schema, read


class DaftReader(DeltaReader):
    """daft: `read_deltalake`, whose log is read by deltalake."""

    name = "daft-delta"
    package = "daft"
    extra = None
    #: What conformance is known to find in it.
    xfails = XFAILS / "daft-delta.toml"

    def _table(
        self, module: Any, request: ScanRequest, version: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        frame = module.read_deltalake(request.table, version=version)

        def read(names: list[str]) -> pa.Table:
            return plain_table(frame.select(*names).to_arrow())

        return plain_table(frame.limit(0).to_arrow()).schema, read


def plain_table(table: pa.Table) -> pa.Table:
    """The table with plain texts and bytes where a library has its own kinds of them."""
    return table.cast(
        pa.schema([field.with_type(_plain_type(field.type)) for field in table.schema])
    )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    tests = pa.types
    if tests.is_large_string(kind) or tests.is_string_view(kind):
        return pa.string()
    if tests.is_large_binary(kind) or tests.is_binary_view(kind):
        return pa.binary()
    if tests.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if tests.is_large_list(kind) or tests.is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if tests.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    return kind

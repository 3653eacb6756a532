"""What adapters share whose libraries read one snapshot of a table, whole, some of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import (
    PeerScan,
    import_peer,
    installed_version,
    select_columns,
)

XFAILS = Path(__file__).with_name("xfails")


class SnapshotReader:
    """A peer that reads one snapshot of a table at once, some of its columns."""

    name: str
    package: ClassVar[str]
    extra: ClassVar[str | None] = "peers"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version(self.package, self.name, self.extra)
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema."""
        if request.query != "snapshot" or request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes neither {request.query}, a filter, nor strict")
        module = import_peer(self.package, self.name, self.extra)
        snapshot = None if request.as_of is None else int(request.as_of)
        whole, read = self._translated(request, lambda: self._table(module, request, snapshot))
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            # Without columns one is enough to count rows.
            table = self._translated(request, lambda: read(names or whole.names[:1]))
            yield from table.to_batches()

        return PeerScan(self, request, schema, batches)

    def _table(
        self, module: Any, request: ScanRequest, snapshot: int | None
    ) -> tuple[pa.Schema, Callable[[list[str]], pa.Table]]:
        """The table's schema, and a function that reads some of its columns.

        Args:
            module: the package.
            request: what was asked for.
            snapshot: the version or snapshot that is meant; None for the newest.
        """
        raise NotImplementedError

    def _translated(self, request: ScanRequest, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except BaseException as error:
            # Panics of Rust do not derive from Exception.
            if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                raise
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{self.name}: {request.table}: {lines[0]}") from error


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

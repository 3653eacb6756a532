"""pypaimon (PyPI `pypaimon`): Paimon's own implementation in Python, over a catalog of files."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.delta_readers import XFAILS, plain_table
from seambench_impl.peers.peer_scan import (
    PeerScan,
    import_peer,
    installed_version,
    select_columns,
)

__all__ = ["PyPaimonReader"]


class PyPaimonReader:
    """pypaimon as its users call it: catalog, table, read builder, plan, Arrow."""

    name = "pypaimon"
    kind: Kind = "peer"
    #: What conformance is known to find in it.
    xfails = XFAILS / "pypaimon.toml"

    def __init__(self) -> None:
        self.version = installed_version("pypaimon", self.name, None)
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema.

        Raises:
            UnavailableError: pypaimon is not installed.
            RefusedError: a query, filter or option for which it has no word.
            InputError: it does not open the table.
            UsageError: an unknown column.
        """
        if request.query != "snapshot" or request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes neither {request.query}, a filter, nor strict")
        if request.as_of is not None and "as-of" not in self.capabilities:
            raise RefusedError(f"{self.name} {self.version} takes no number of a snapshot")
        module = import_peer("pypaimon", self.name, None)
        warehouse = tempfile.TemporaryDirectory(prefix="seambench-")
        table = self._answer(request, lambda: _opened(module, warehouse.name, request))
        whole = self._answer(request, lambda: _schema(table))
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            # Without columns one is enough to count rows.
            read = self._answer(request, lambda: _read(table, names or whole.names[:1]))
            found = plain_table(read)
            yield from (found.select(names).cast(schema) if names else found).to_batches()

        scan = PeerScan(self, request, schema, batches)
        weakref.finalize(scan, warehouse.cleanup)
        return scan

    def _answer(self, request: ScanRequest, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise InputError(f"{self.name}: {request.table}: {lines[0]}") from error


def _opened(module: Any, warehouse: str, request: ScanRequest) -> Any:
    """The table by a link to its folder in a warehouse, which must stay while it is read."""
    database = Path(warehouse, "default.db")
    database.mkdir()
    (database / "table").symlink_to(Path(request.table).absolute())
    table = module.CatalogFactory.create({"warehouse": warehouse}).get_table("default.table")
    return table if request.as_of is None else table.copy({"scan.snapshot-id": request.as_of})


def _schema(table: Any) -> pa.Schema:
    from pypaimon.schema.data_types import PyarrowFieldParser

    kinds: pa.Schema = PyarrowFieldParser.from_paimon_schema(table.fields)
    return plain_table(kinds.empty_table()).schema


def _read(table: Any, names: list[str]) -> pa.Table:
    builder = table.new_read_builder().with_projection(names)
    splits = builder.new_scan().plan().splits()
    return builder.new_read().to_arrow(splits)

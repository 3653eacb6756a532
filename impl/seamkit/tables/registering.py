"""Tables under names in DuckDB."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from seambase.errors import UsageError
from seamkit.scan.scan import Scan
from seamkit.tables.opening import open_table
from seamkit.tables.table import ScanKeywords, Table

if TYPE_CHECKING:
    import duckdb


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    table: str | os.PathLike[str] | Scan | Table,
    columns: Sequence[str] | None = None,
    **options: Unpack[ScanKeywords],
) -> None:
    """Give a table a name in DuckDB, as a view; see `Scan.relation` for who reads what.

    The view shows the table as it is now: register it again to see later writes.

    Args:
        connection: of DuckDB.
        name: of the view; one that exists is replaced.
        table: a folder or an address, an open table, or a scan.
        columns: of the table's `scan`.
        **options: likewise.

    Raises:
        UsageError: options for a scan, which has its own.
        SeambenchError: as `open_table` and the table's `scan` do.
    """
    if isinstance(table, Scan):
        if options or columns is not None:
            named = [*([] if columns is None else ["columns"]), *options]
            raise UsageError(f"options of a scan that is planned already: {', '.join(named)}")
        scan = table
    else:
        opened = table if isinstance(table, Table) else open_table(table)
        scan = opened.scan(columns, **options)
    scan.relation(connection).create_view(name)

"""Tables under names in DuckDB."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from seambase.errors import UsageError
from seamkit.scan.scan import Scan
from seamkit.tables.opening import open_table

if TYPE_CHECKING:
    import duckdb

__all__ = ["register"]


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    table: str | os.PathLike[str] | Scan | Any,
    **options: Any,
) -> None:
    """Give a table a name in DuckDB, as a view; see `Scan.relation` for who reads what.

    The view shows the table as it is now: register it again to see later writes.

    Args:
        connection: of DuckDB.
        name: of the view; one that exists is replaced.
        table: a folder or an address, an open table, or a scan.
        **options: of the table's `scan`.

    Raises:
        UsageError: options for a scan, which has its own.
        SeambenchError: as `open_table` and the table's `scan` do.
    """
    if isinstance(table, Scan):
        if options:
            raise UsageError(f"options of a scan that is planned already: {', '.join(options)}")
        scan = table
    else:
        opened = table if hasattr(table, "scan") else open_table(table)
        scan = opened.scan(**options)
    scan.relation(connection).create_view(name)

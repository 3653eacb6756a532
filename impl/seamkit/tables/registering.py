"""Tables under names in DuckDB and Spark."""

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
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import SparkSession


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


def register_later(
    connection: duckdb.DuckDBPyConnection, schema: str, name: str, table: Table
) -> None:
    """Give a table a name in a schema of DuckDB, the current one if that is empty.

    The table is planned by each query that names it, under that query's filter.
    """
    from seambase.dataset import ScanDataset, without_views

    def open_stream(columns: list[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        return table.scan(filter=condition).narrowed(columns, None).to_reader()

    shown = without_views(table.shown_schema)
    view = connection.from_arrow(ScanDataset(shown, open_stream))
    if not schema:
        view.create_view(name)
        return
    # A relation's view goes into the current schema: a name with points would be one word.
    [before] = connection.execute("SELECT current_database(), current_schema()").fetchall()
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}")
    connection.execute(f"USE {_quoted(before[0])}.{_quoted(schema)}")
    try:
        view.create_view(name)
    finally:
        connection.execute(f"USE {_quoted(before[0])}.{_quoted(before[1])}")


def register_now(session: SparkSession, schema: str, name: str, table: Table) -> None:
    """Give a table a name in Spark, behind a database's and a point unless that is empty."""
    whole = (f"{schema}.{name}" if schema else name).replace("`", "``")
    table.scan().spark_frame(session).createOrReplaceTempView(f"`{whole}`")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

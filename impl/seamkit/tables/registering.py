"""Tables under names in DuckDB and Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from seambase.errors import SeambenchError, UsageError
from seamkit.scan.scan import Scan
from seamkit.tables.catalog_table import CatalogTable
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

    The table is planned by each query that names it, under that query's filter. The first one also
    learns about how many rows there are.
    """
    from seambase.dataset import ScanDataset, without_views
    from seamkit.engines.in_duckdb import sized

    is_there = False
    known: list[int | None] = []

    def about() -> int | None:
        if not is_there:  # DuckDB asks while it makes the view, too
            return None
        if not known:
            known.append(_about_rows(table))
        return known[0]

    def open_stream(columns: list[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        return table.scan(filter=condition).narrowed(columns, None).to_reader()

    shown = without_views(table.shown_schema)
    view = connection.from_arrow(sized(ScanDataset(shown, open_stream), about))
    if schema:
        _create_view_in(connection, schema, name, view)
    else:
        view.create_view(name)
    is_there = True


def _about_rows(table: Table) -> int | None:
    """About how many rows a table has, by what its metastore or its metadata tell."""
    # None where its folders would have to be listed for it, and where it cannot be planned: who
    # reads it learns why.
    from seamkit.engines.in_duckdb import about_rows

    if isinstance(table, CatalogTable):
        if table.about_rows is not None:
            return table.about_rows
        table = table.own
    if table.is_folders_alone:
        return None
    try:
        known = table.scan().statistics(footers=False)
    except SeambenchError:
        return None
    rows, size_bytes = (
        None if one is None else one.value for one in (known.rows, known.size_bytes)
    )
    return about_rows(rows, size_bytes)


def _create_view_in(
    connection: duckdb.DuckDBPyConnection, schema: str, name: str, view: duckdb.DuckDBPyRelation
) -> None:
    """A view in a schema: a relation's goes into the current one, and its name is one word."""
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

"""A scan as a relation of DuckDB."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seamkit.engines.files import CHUNK_ROWS, EngineFiles, EnginePlan

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset as ds

__all__ = ["duckdb_relation"]


def duckdb_relation(
    plan: EnginePlan, rest: ds.Dataset | None, connection: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyRelation:
    """The rows of a plan: files by DuckDB's own reader, all others by ours.

    Args:
        plan: what to read.
        rest: the dataset of the plan's rest, if it has any.
        connection: where the relation lives.
    """
    from seambase.dataset import without_views

    # Types are those that DuckDB gives to our own columns, whoever reads the rows.
    shown = connection.from_arrow(pa.Table.from_batches([], without_views(plan.schema)))
    types = dict(zip(shown.columns, shown.types, strict=True))
    parts = [_read_parquet(files, types, connection) for files in plan.files]
    if rest is not None or not parts:
        parts.append(shown if rest is None else connection.from_arrow(rest))
    return reduce(lambda whole, part: whole.union(part), parts)


def _read_parquet(
    files: EngineFiles, types: dict[str, Any], connection: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyRelation:
    import duckdb

    rows = connection.read_parquet(
        list(files.paths), hive_partitioning=False, union_by_name=False, file_row_number=False
    )
    if files.gone is not None:
        rows = _without_gone(rows, files, files.gone, connection)
    columns = []
    for number, field in enumerate(files.schema):
        if field.name in files.values or field.name in files.absent:
            value = files.values.get(field.name)
            constant = duckdb.ConstantExpression(None if value is None else value.as_py())
            column = constant.cast(types[field.name])
        else:
            name = field.name if files.gone is None else _numbered(number)
            column = duckdb.ColumnExpression(name).cast(types[field.name])
        columns.append(column.alias(field.name))
    return rows.select(*columns)


def _without_gone(
    rows: duckdb.DuckDBPyRelation,
    files: EngineFiles,
    gone: ds.Dataset,
    connection: duckdb.DuckDBPyConnection,
) -> duckdb.DuckDBPyRelation:
    """The rows that are left, their columns called by numbers, so that no name is there twice."""
    import duckdb

    known = {*files.values, *files.absent}
    columns = [
        duckdb.ColumnExpression(field.name).alias(_numbered(number))
        for number, field in enumerate(files.schema)
        if field.name not in known
    ]
    place = duckdb.SQLExpression(
        f"(file_index::BIGINT * {files.stride} + file_row_number)::INTEGER"
    ).alias("place")
    bits = connection.from_arrow(gone).select("chunk, bits::BIT AS bits")
    # An equality: of two tables that are joined by anything else DuckDB may repeat the wider one.
    met = f"place // {CHUNK_ROWS} = chunk AND get_bit(bits, place % {CHUNK_ROWS}) = 0"
    return rows.select(*columns, place).join(bits, met)


def _numbered(column: int) -> str:
    return f"c{column}"

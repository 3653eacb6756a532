"""A scan as a relation of DuckDB.

DuckDB takes a dataset of Arrow's for one of a single row, and orders joins by that. Its own sources
tell a number: a dataset that is one of them, too, is read as before and tells ours. Nothing but the
order of its work rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache, partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambase.where import fields_alike, require_c_names
from seamkit.engines.files import EngineFiles, EnginePlan

if TYPE_CHECKING:
    import duckdb
    import pyarrow.dataset as ds


def duckdb_relation(
    plan: EnginePlan, rest: ds.Dataset | None, connection: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyRelation:
    """The rows of a plan: files by DuckDB's own reader, all others by ours."""
    from seambase.dataset import without_views

    require_c_names(plan.schema)
    for field in plan.schema:
        if pair := fields_alike(field.type):
            raise RefusedError(
                f"DuckDB takes the fields {pair[0]!r} and {pair[1]!r} in column {field.name!r} for "
                "one: leave the column out"
            )
    # Types are those that DuckDB gives to our own columns, whoever reads the rows.
    shown = connection.from_arrow(pa.Table.from_batches([], without_views(plan.schema)))
    for own, name in zip(shown.columns, plan.schema.names, strict=True):
        if own != name and own in plan.schema.names:
            raise RefusedError(
                f"DuckDB calls column {name!r} {own!r}, as another column is called: leave one out"
            )
    kinds = list(zip(shown.columns, shown.types, strict=True))
    parts = [_read_parquet(files, kinds, connection) for files in plan.files]
    about = partial(about_rows, plan.rest_rows, plan.rest_bytes)
    if rest is not None or not parts:
        # Ours are asked for first: the columns of a query are known before its masks are made, and
        # logs are decoded once for both.
        parts.insert(0, shown if rest is None else connection.from_arrow(sized(rest, about)))
    return reduce(lambda whole, part: whole.union(part), parts)


#: Where nobody tells a number of rows, a guess by the bytes of files.
_BYTES_A_ROW = 50


def about_rows(rows: int | None, size_bytes: int | None) -> int | None:
    """About how many rows there are, by what is known of them."""
    return rows if rows is not None or size_bytes is None else -(-size_bytes // _BYTES_A_ROW)


def sized(rows: ds.Dataset, about: Callable[[], int | None]) -> ds.Dataset:
    """A dataset that tells DuckDB about how many rows it has, whenever a query names it."""
    kind = _sized_kind()
    return rows if kind is None else kind(rows, about)


@cache
def _sized_kind() -> Any:
    """The class of such datasets; None where DuckDB has no such sources."""
    import pyarrow.dataset as ds

    try:
        from duckdb._sources.pyarrow import PyArrowDatasetSource
    except ImportError:
        return None

    class Sized(ds.Dataset, PyArrowDatasetSource):  # type: ignore[misc]  # no types of either
        def __init__(self, rows: ds.Dataset, about: Callable[[], int | None]) -> None:
            PyArrowDatasetSource.__init__(self, rows)
            self._about = about

        @property
        def schema(self) -> pa.Schema:
            return self.obj.schema

        def scanner(self, **request: Any) -> Any:
            return self.obj.scanner(**request)

        def rows(self) -> int | None:
            return self._about()

    return Sized


def _read_parquet(
    files: EngineFiles, kinds: Sequence[tuple[str, Any]], connection: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyRelation:
    """The files' rows; `kinds` has for each column what DuckDB calls it, and its type there."""
    import duckdb

    # A condition on a field of a struct that the ranges of a single file say always holds becomes
    # one on the struct (DuckDB 2.0), which keeps rows whose field is null. Of two files it asks no
    # ranges before it reads them, and the second is never opened.
    twice = len(files.paths) == 1 and any(
        pa.types.is_struct(one.type) for one in files.stored.values()
    )
    rows = connection.read_parquet(
        [*files.paths] * (2 if twice else 1),
        hive_partitioning=False,
        union_by_name=False,
        file_row_number=False,
    )
    if files.gone is not None:
        rows = _without_gone(rows, files, files.gone, connection)
    elif twice:
        rows = rows.filter("file_index = 0")
    columns = []
    for number, (field, (shown, kind)) in enumerate(zip(files.schema, kinds, strict=True)):
        if (value := files.values.get(field.name)) is not None:
            own_value = value.as_py()
            # As a text: DuckDB 2.0 makes a double of a Decimal that has 38 digits behind the point
            # and begins with zeros.
            is_decimal = isinstance(own_value, Decimal)
            column = duckdb.ConstantExpression(f"{own_value:f}" if is_decimal else own_value)
        else:
            own = files.stored[field.name]
            column = _column(own.name if files.gone is None else _numbered(number))
            column = _text_or_bytes(column, own.type, field.type)
        columns.append(column.cast(kind).alias(shown))
    return rows.select(*columns)


def _text_or_bytes(
    column: duckdb.Expression, have: pa.DataType, want: pa.DataType
) -> duckdb.Expression:
    """Bytes that are a text, and the other way round: a cast would spell bytes as escapes."""
    import duckdb

    if pa.types.is_binary(have) and pa.types.is_string(want):
        return duckdb.FunctionExpression("decode", column)
    if pa.types.is_string(have) and pa.types.is_binary(want):
        return duckdb.FunctionExpression("encode", column)
    return column


def _without_gone(
    rows: duckdb.DuckDBPyRelation,
    files: EngineFiles,
    gone: ds.Dataset,
    connection: duckdb.DuckDBPyConnection,
) -> duckdb.DuckDBPyRelation:
    """The rows that are left, their columns called by numbers, so that no name is there twice."""
    import duckdb

    columns = [
        _column(files.stored[name].name).alias(_numbered(number))
        for number, name in enumerate(files.schema.names)
        if name in files.stored
    ]
    places = [
        duckdb.SQLExpression("file_index").alias("number"),
        duckdb.SQLExpression("file_row_number::INTEGER").alias("place"),
    ]
    bits = connection.from_arrow(gone).select("file, bits::BIT AS bits")
    # An inner join, since there is one row a file: DuckDB probes it faster than a semi-join, and
    # filters of other joins reach the files through it, as they do not through a left one. The bits
    # are tested in the join itself: no row carries them along into what is done with it later.
    first = "number = 0 AND " if len(files.paths) == 1 else ""  # the file may be named twice
    is_left = f"{first}number = file AND get_bit(bits, place) = 0"
    return rows.select(*columns, *places).join(bits, is_left, how="inner")


def _column(name: str) -> duckdb.Expression:
    """A column by its name, in quotes: a plain one may be a star."""
    import duckdb

    quoted = name.replace('"', '""')
    return duckdb.SQLExpression(f'"{quoted}"')


def _numbered(column: int) -> str:
    return f"c{column}"

"""Random nested columns: types, rows, and Arrow arrays that mean them in roundabout ways."""

from datetime import datetime, time
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from seamkit.offheap.columns.types import ColumnType, Kind, arrow_type, parse
from seamkit_tests.samples.column_samples import VALUES

_FLAT = st.sampled_from(sorted(VALUES)).map(parse) | st.just(ColumnType.variant())
_NAMES = st.text(st.characters(codec="ascii", categories=["L", "Nd"]), min_size=1, max_size=4)


def column_types(depth: int = 4) -> st.SearchStrategy[ColumnType]:
    """Types nested at most `depth` deep, all kinds among them."""
    if depth == 1:
        return _FLAT
    inner = column_types(depth - 1)
    return (
        _FLAT
        | inner.map(ColumnType.array)
        | st.tuples(inner, inner).map(lambda pair: ColumnType.map(*pair))
        | st.dictionaries(_NAMES, inner, min_size=1, max_size=3).map(ColumnType.struct)
    )


def values_of(column: ColumnType) -> st.SearchStrategy[Any]:
    """Values of a type, None for NULL, as `pyarrow.array` takes them."""
    kind = column.kind
    if kind is Kind.ARRAY:
        found: st.SearchStrategy[Any] = st.lists(values_of(column.children[0]), max_size=4)
    elif kind is Kind.MAP:
        key = values_of(column.children[0]).filter(lambda value: value is not None)
        found = st.lists(st.tuples(key, values_of(column.children[1])), max_size=4)
    elif column.children:
        parts = map(values_of, column.children)
        found = st.fixed_dictionaries(dict(zip(column.names, parts, strict=True)))
    else:
        found = VALUES[str(column)]
    return st.none() | found


@st.composite
def columns(draw: st.DrawFn, depth: int = 4) -> tuple[ColumnType, list[Any]]:
    """A type and rows of it."""
    column = draw(column_types(depth))
    return column, draw(st.lists(values_of(column), max_size=12))


def as_stored(column: ColumnType, value: Any) -> Any:
    """A value as a chain tells it: times are seconds, as a double."""
    if value is None:
        return None
    if column.kind is Kind.ARRAY:
        return [as_stored(column.children[0], item) for item in value]
    if column.kind is Kind.MAP:
        return [tuple(map(as_stored, column.children, pair)) for pair in value]
    if column.children:
        parts = zip(column.names, column.children, strict=True)
        return {name: as_stored(child, value[name]) for name, child in parts}
    if isinstance(value, time):
        return (datetime.combine(datetime.min, value) - datetime.min).total_seconds()
    return value


def array_of(column: ColumnType, rows: list[Any]) -> Any:
    """The plain Arrow array of the rows."""
    return pa.array(rows, arrow_type(column))

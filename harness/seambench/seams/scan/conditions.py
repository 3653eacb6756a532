"""Conditions that a seed decides, over the values of a table: what a reader may push down.

Values that the table has, and near ones that it may lack, are where statistics, Bloom filters and
pages decide what is read. A condition is spelled in SQL, for Arrow and for Polars; what it means is
for DuckDB, Arrow or Polars to say.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambase.values import EXACT
from seambench.formats.arrow_rows import leaves

if TYPE_CHECKING:
    import polars as pl
    import pyarrow.compute as pc

Condition = tuple[str, Any, Any]
"""`(and, one, other)`, `(or, one, other)`, `(not, one, None)`, `(null, column, whether)`,
`(in, column, values)`, or a comparison: `(<=, column, value)`. A column is a path: its name, and
those of the fields within it that lead to a value."""

_Path = tuple[str, ...]

_JOINED: dict[str, Callable[[Any, Any], Any]] = {"and": operator.and_, "or": operator.or_}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST_DEPTH = 2


def conditions(table: pa.Table, seed: str, count: int) -> Iterator[Condition]:
    """Some conditions over the columns of a table, and fields within, of values that SQL spells.

    These values, of one row at least, occur in them; the same seed gives the same conditions.
    """
    chance = random.Random(seed)
    values = _values(table)
    if values:
        for _ in range(count):
            yield _condition(chance, values, _MOST_DEPTH)


def either(table: pa.Table, seed: str, count: int) -> Iterator[Condition]:
    """Some conditions that a value of one column meets, or a comparison of another column.

    Of a file whose rows all have the value, an engine may drop the other half.
    """
    chance = random.Random(seed)
    values = _values(table)
    for _ in range(count if len(values) > 1 else 0):
        one, other = chance.sample(list(values), 2)
        compared = chance.choice(["<", ">"])
        second = compared, other, chance.choice(values[other])
        yield "or", ("=", one, chance.choice(values[one])), second


def extremes(table: pa.Table) -> Iterator[Condition]:
    """By column, and field within: at most its least value, and at least its greatest.

    No row is left where a writer's bound of a file is but a little too narrow.
    """
    for path, own in _values(table).items():
        ordered = [value for value in own if value == value]  # NaN is beyond all, or nowhere
        if ordered:
            yield "<=", path, min(ordered)
            yield ">=", path, max(ordered)


def _values(table: pa.Table) -> dict[_Path, list[Any]]:
    """By column, and field within, its values that SQL spells; without those that have none."""
    values: dict[_Path, list[Any]] = {}
    for path, column in leaves(table):
        own = [value for value in column.to_pylist() if spelled(value) is not None]
        if own:
            values[path] = own
    return values


def spelled(value: Any) -> str | None:
    """A value as SQL spells it; None for one of which that is not tried."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return None if "\0" in value else "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | Decimal):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP{'TZ' if value.tzinfo else ''} '{value.isoformat(' ')}'"
    return f"DATE '{value.isoformat()}'" if isinstance(value, dt.date) else None


def in_sql(condition: Condition) -> str:
    """A condition in SQL."""
    kind, one, other = condition
    if kind in ("and", "or"):
        return f"({in_sql(one)} {kind.upper()} {in_sql(other)})"
    if kind == "not":
        return f"(NOT {in_sql(one)})"
    column = ".".join('"' + name.replace('"', '""') + '"' for name in one)
    if kind == "null":
        return f"({column} IS {'' if other else 'NOT '}NULL)"
    if kind == "in":
        return f"({column} IN ({', '.join(str(spelled(value)) for value in other)}))"
    return f"({column} {kind} {spelled(other)})"


def in_arrow(condition: Condition, schema: pa.Schema) -> pc.Expression:
    """A condition as an expression of Arrow's over columns of a schema."""
    import pyarrow.compute as pc

    kind, one, other = condition
    if kind in _JOINED:
        return _JOINED[kind](in_arrow(one, schema), in_arrow(other, schema))
    if kind == "not":
        return ~in_arrow(one, schema)
    first, *within = one
    column, type_ = pc.field(*one), schema.field(first).type
    for name in within:
        type_ = type_.field(name).type
    if kind == "null":
        return column.is_null() if other else column.is_valid()
    if kind == "in":
        return column.isin(pa.array(other, type_))
    return _COMPARISONS[kind](column, pa.scalar(other, type_))


def in_polars(condition: Condition) -> pl.Expr:
    """A condition as an expression of Polars'."""
    import polars as pl
    import polars.selectors as cs

    kind, one, other = condition
    if kind in _JOINED:
        return _JOINED[kind](in_polars(one), in_polars(other))
    if kind == "not":
        return ~in_polars(one)
    first, *within = one
    column = cs.by_name(first).as_expr()
    for name in within:
        column = column.struct.field(name)
    if kind == "null":
        return column.is_null() if other else column.is_not_null()
    return column.is_in(other) if kind == "in" else _COMPARISONS[kind](column, pl.lit(other))


def _condition(chance: random.Random, values: dict[_Path, list[Any]], depth: int) -> Condition:
    kind = chance.random() if depth else 0.0
    if kind < 0.5:
        return _comparison(chance, values)
    one, other = [_condition(chance, values, depth - 1) for _ in range(2)]
    if kind < 0.9:
        return "and" if kind < 0.7 else "or", one, other
    return "not", one, None


def _comparison(chance: random.Random, values: dict[_Path, list[Any]]) -> Condition:
    name = chance.choice(list(values))
    kind = chance.random()
    if kind < 0.1:
        return "null", name, chance.choice([True, False])
    some = [_value(chance, values[name]) for _ in range(chance.randint(1, 4))]
    if kind < 0.25:
        return "in", name, some
    return chance.choice(list(_COMPARISONS)), name, some[0]


def _value(chance: random.Random, own: Sequence[Any]) -> Any:
    """One of the column's values, or one near it."""
    value = chance.choice(own)
    near = _near(value) if chance.random() < 0.35 else None
    return value if near is None or spelled(near) is None else near


def _near(value: Any) -> Any:
    """A value beside another one; None where there is none."""
    try:
        return next((step(value) for kind, step in _NEAR if isinstance(value, kind)), None)
    except (OverflowError, InvalidOperation):
        return None


#: By type, in this order: a truth is a number, too, and a moment a date.
_NEAR: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (bool, lambda value: not value),
    (int, lambda value: value + 1 if value < 100 else value - 1),
    # Towards zero, with as many digits behind the point: the column's type holds it.
    (Decimal, lambda value: EXACT.divide(value, Decimal(2)).quantize(value, context=EXACT)),
    (float, lambda value: math.nextafter(value, math.inf)),
    (str, lambda value: value[:-1] if len(value) > 1 else value + "a"),
    (dt.datetime, lambda value: value + dt.timedelta(microseconds=1)),
    (dt.date, lambda value: value + dt.timedelta(days=1)),
)

"""Conditions in SQL that a seed decides, over the values of a table: what a reader may push down.

Values that the table has, and near ones that it may lack, are where statistics, Bloom filters and
pages decide what is read. What a condition means is DuckDB's to say.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

__all__ = ["conditions", "spelled"]

_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_MOST_DEPTH = 2


def conditions(table: pa.Table, seed: str, count: int) -> Iterator[str]:
    """Some conditions over the columns of a table whose values can be spelled in SQL.

    Args:
        table: whose values occur in them; it has rows.
        seed: decides; the same one gives the same conditions.
        count: how many.
    """
    chance = random.Random(seed)
    values: dict[str, list[Any]] = {}
    for name in table.schema.names:
        own = [value for value in table.column(name).to_pylist() if spelled(value) is not None]
        if own:
            values[name] = own
    if values:
        for _ in range(count):
            yield _condition(chance, values, _MOST_DEPTH)


def spelled(value: Any) -> str | None:
    """A value as SQL spells it; None for one of which that is not tried."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return None if "\0" in value else "'" + value.replace("'", "''") + "'"
    if isinstance(value, int | Decimal):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    if isinstance(value, float):
        return f"{value!r}::DOUBLE" if math.isfinite(value) else None
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP{'TZ' if value.tzinfo else ''} '{value.isoformat(' ')}'"
    return f"DATE '{value.isoformat()}'" if isinstance(value, dt.date) else None


def _condition(chance: random.Random, values: dict[str, list[Any]], depth: int) -> str:
    kind = chance.random() if depth else 0.0
    if kind < 0.5:
        return _comparison(chance, values)
    parts = [_condition(chance, values, depth - 1) for _ in range(2)]
    if kind < 0.9:
        return f"({parts[0]} {'AND' if kind < 0.7 else 'OR'} {parts[1]})"
    return f"(NOT {parts[0]})"


def _comparison(chance: random.Random, values: dict[str, list[Any]]) -> str:
    name = chance.choice(list(values))
    column = '"' + name.replace('"', '""') + '"'
    kind = chance.random()
    if kind < 0.1:
        return f"({column} IS {chance.choice(['', 'NOT '])}NULL)"
    some = [_value(chance, values[name]) for _ in range(chance.randint(1, 4))]
    if kind < 0.25:
        return f"({column} IN ({', '.join(some)}))"
    return f"({column} {chance.choice(_COMPARISONS)} {some[0]})"


def _value(chance: random.Random, own: Sequence[Any]) -> str:
    """One of the column's values, or one near it."""
    value = chance.choice(own)
    near = _near(value) if chance.random() < 0.35 else None
    text = None if near is None else spelled(near)
    return text or spelled(value) or "NULL"


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
    (Decimal, lambda value: (value / 2).quantize(value)),
    (float, lambda value: math.nextafter(value, math.inf)),
    (str, lambda value: value[:-1] if len(value) > 1 else value + "a"),
    (dt.datetime, lambda value: value + dt.timedelta(microseconds=1)),
    (dt.date, lambda value: value + dt.timedelta(days=1)),
)

"""Aggregate functions over whole columns: the common ones, where no row takes another back.

Each gives what `functions` gives row by row; what has no such way gives None, and goes that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core.border import DTYPES, numpy_of
from seamkit.scan.core_merges import RowNumbers
from seamkit.tables.paimon.merge_engines.functions import value_ranks

Flags = npt.NDArray[np.bool_]

#: Functions whose result does not depend on which of two rows is newer.
ORDERLESS = frozenset(("sum", "max", "min", "bool_and", "bool_or"))
_SMALL_DIGITS = 18
_WORD = np.dtype("<i8")


def folded(
    function: str, column: pa.Array, counted: Flags, starts: RowNumbers, where: str
) -> pa.Array | None:
    """What a field of each key becomes; None where this has to be followed row by row.

    `column` has values by key, the oldest of a key first, of which those `counted` are not passed
    over; `starts` are the keys' first rows.
    """
    usable = counted
    if column.null_count and function not in ("last_value", "first_value"):
        usable = counted & numpy_of(column.is_valid())
    way = _WAYS.get(function)
    return None if way is None else way(column, usable, starts, where)


def last_valid(column: pa.Array, counted: Flags, starts: RowNumbers) -> pa.Array:
    """Of each key the last value that is not null, in rows that count."""
    usable = counted
    if column.null_count:
        usable = usable & numpy_of(column.is_valid())
    return _last(column, usable, starts, "")


def _last(column: pa.Array, usable: Flags, starts: RowNumbers, where: str) -> pa.Array:
    del where
    rows = np.maximum.reduceat(np.where(usable, np.arange(len(usable)), -1), starts)
    return column.take(pa.array(rows, mask=rows < 0))


def _first(column: pa.Array, usable: Flags, starts: RowNumbers, where: str) -> pa.Array:
    del where
    none = len(usable)
    rows = np.minimum.reduceat(np.where(usable, np.arange(none), none), starts)
    return column.take(pa.array(rows, mask=rows == none))


def _extreme(sign: int) -> Callable[[pa.Array, Flags, RowNumbers, str], pa.Array]:
    """The first of the rows with the most extreme value."""

    def way(column: pa.Array, usable: Flags, starts: RowNumbers, where: str) -> pa.Array:
        ranks = value_ranks(column, where)
        # Complements turn the order without a number that has no opposite.
        ranks = np.where(usable, ranks if sign > 0 else ~ranks, np.iinfo(np.int64).min)
        highest = np.repeat(np.maximum.reduceat(ranks, starts), _counts(starts, len(ranks)))
        return _first(column, usable & (ranks == highest), starts, where)

    return way


def _sum(column: pa.Array, usable: Flags, starts: RowNumbers, where: str) -> pa.Array | None:
    del where
    kind = column.type
    if pa.types.is_integer(kind):
        values = np.where(usable, _filled(column), 0).astype(np.int64)
        with np.errstate(over="ignore"):
            sums = np.add.reduceat(values, starts).astype(DTYPES[kind])
        return pa.array(sums, kind, mask=_none(usable, starts))
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        values = _filled(column)
        # One after the other, as the rows come; the zero that changes no sum is the negative one.
        sums = np.full(len(starts), -0.0, values.dtype)
        keys = np.repeat(np.arange(len(starts)), _counts(starts, len(values)))
        with np.errstate(over="ignore", invalid="ignore"):
            np.add.at(sums, keys[usable], values[usable])
        return pa.array(sums, kind, mask=_none(usable, starts))
    if pa.types.is_decimal128(kind) and kind.precision <= _SMALL_DIGITS:
        return _decimal_sum(column, usable, starts)
    return None


def _decimal_sum(column: pa.Array, usable: Flags, starts: RowNumbers) -> pa.Array | None:
    """Sums of decimals of one word; None where one on the way to a sum may not fit its type."""
    words = np.frombuffer(column.buffers()[1], _WORD)
    low = words[2 * column.offset : 2 * (column.offset + len(column)) : 2]
    values = np.where(usable, low, 0)
    most = int(_counts(starts, len(values)).max()) * int(np.abs(values).max(initial=0))
    if most >= 10**column.type.precision:
        return None
    pairs = np.empty((len(starts), 2), _WORD)
    pairs[:, 0] = np.add.reduceat(values, starts)
    pairs[:, 1] = pairs[:, 0] >> 63
    valid = pc.invert(pa.array(_none(usable, starts))).buffers()[1]
    return pa.Array.from_buffers(column.type, len(starts), [valid, pa.py_buffer(pairs)])


def _bool(
    ufunc: Any, neutral: bool
) -> Callable[[pa.Array, Flags, RowNumbers, str], pa.Array | None]:
    def way(column: pa.Array, usable: Flags, starts: RowNumbers, where: str) -> pa.Array | None:
        del where
        if not pa.types.is_boolean(column.type):
            return None
        values = np.where(usable, _filled(column), neutral)
        return pa.array(ufunc.reduceat(values, starts), mask=_none(usable, starts))

    return way


_WAYS: Mapping[str, Callable[[pa.Array, Flags, RowNumbers, str], pa.Array | None]] = {
    "last_value": _last,
    "last_non_null_value": _last,
    "first_value": _first,
    "first_non_null_value": _first,
    "first_not_null_value": _first,
    "max": _extreme(1),
    "min": _extreme(-1),
    "sum": _sum,
    "bool_and": _bool(np.logical_and, True),
    "bool_or": _bool(np.logical_or, False),
}


def _filled(column: pa.Array) -> npt.NDArray[Any]:
    """The values, with something where there is none."""
    return numpy_of(pc.fill_null(column, False if pa.types.is_boolean(column.type) else 0))


def _counts(starts: RowNumbers, rows: int) -> npt.NDArray[np.int64]:
    return np.append(starts[1:], rows).astype(np.int64) - starts


def _none(usable: Flags, starts: RowNumbers) -> Flags:
    """Whether a key has no value at all."""
    found: Flags = ~np.logical_or.reduceat(usable, starts)
    return found

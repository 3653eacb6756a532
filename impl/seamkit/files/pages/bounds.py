"""Bounds of pages as values of their column's type, and which rows a condition leaves by them."""

from __future__ import annotations

import bisect
import datetime as dt
import functools
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambase.filters import all_of
from seambase.wording import counted
from seamkit.files.expressions import named_values
from seamkit.files.pages.index import Integers, PageBounds, Pages
from seamkit.files.statistics import bounds, that_may_match

_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


@dataclass(frozen=True)
class ColumnPages:
    """What is known of a column's values, page by page."""

    name: str
    pages: Pages  # where they are
    least: pa.Array  # no value of the page is less; null where nobody knows
    greatest: pa.Array  # likewise, no value is greater
    nulls: Sequence[int]  # how many are null; -1 where nobody knows
    is_null: Sequence[bool]  # whether all are

    @functools.cached_property
    def kinds(self) -> npt.NDArray[np.int64]:
        """For each page a number; pages of which the same is known share it."""
        numbers: dict[object, int] = {}
        nullable = (nulls != 0 for nulls in self.nulls)
        known = zip(self._ends, nullable, self.is_null, strict=True)
        return np.array([numbers.setdefault(one, len(numbers)) for one in known])

    @functools.cached_property
    def _ends(self) -> list[tuple[Any, Any]]:
        return list(zip(_in_python(self.least), _in_python(self.greatest), strict=True))

    @functools.cached_property
    def common(self) -> pc.Expression | None:
        """What is true of those values alone that the bounds of every page leave.

        None where there are none, a page has nothing but nulls, or nothing bounds the values.
        """
        least, greatest = pc.max(self.least), pc.min(self.greatest)
        if any(self.is_null) or pc.greater(least, greatest).as_py():
            return None
        return all_of(*bounds(self.name, least, greatest, nullable=False))

    def guarantee(self, page: int) -> pc.Expression | None:
        """What holds for all rows of a page; None if nothing is known."""
        if self.is_null[page]:
            return pc.field(self.name).is_null()
        nullable = self.nulls[page] != 0
        return all_of(*bounds(self.name, self.least[page], self.greatest[page], nullable=nullable))

    def may_hold(self, values: Collection[Any]) -> npt.NDArray[np.bool_] | None:
        """For each page whether one of some values may be in it; None where nobody knows."""
        own = _python_type(self.least.type)
        if own is None or any(type(value) is not own for value in values):
            return None
        ordered = sorted(values)
        if own is dt.date:
            ordered = _in_python(pa.array(ordered, pa.date32()))
        return np.array(
            [
                not void and _has_between(ordered, *ends)
                for void, ends in zip(self.is_null, self._ends, strict=True)
            ]
        )


def _in_python(values: pa.Array) -> list[Any]:
    """Values in Python; days and times, of which it does not have all, as their numbers."""
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return list(values.to_pylist())


def _has_between(ordered: Sequence[Any], least: Any, greatest: Any) -> bool:
    at = 0 if least is None else bisect.bisect_left(ordered, least)
    return at < len(ordered) and (greatest is None or bool(ordered[at] <= greatest))


def _python_type(kind: pa.DataType) -> type | None:
    """The type whose values compare as those of a column do."""
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bytes
    return dt.date if pa.types.is_date32(kind) else None


def has_bounds(kind: pa.DataType, column: pq.ColumnSchema) -> bool:
    """Whether the plain encoding and the order of a column's bounds are known.

    They are not of nested types, nor of floating-point numbers, since writers differ in what NaN
    does to bounds; nor where the file's unit of time is another than the column's.
    """
    types, stored = pa.types, str(column.physical_type)
    if types.is_integer(kind) or types.is_date32(kind):
        return stored == ("INT64" if kind.bit_width == 64 else "INT32")
    if types.is_timestamp(kind) or types.is_time(kind):
        unit = json.loads(column.logical_type.to_json()).get("timeUnit")
        return stored in ("INT32", "INT64") and bool(unit == _UNITS[kind.unit])
    if types.is_decimal128(kind):
        return stored in ("INT32", "INT64") or (
            stored == "FIXED_LEN_BYTE_ARRAY" and bool(column.length <= 16)
        )
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(is_text(kind) for is_text in texts):
        return stored == "BYTE_ARRAY"
    return bool(types.is_boolean(kind)) and stored == "BOOLEAN"


def bounded_pages(
    field: pa.Field, column: pq.ColumnSchema, pages: Pages, known: PageBounds, where: str
) -> ColumnPages:
    """Bounds of a column that `has_bounds`, as values."""
    ends = []
    for name, stored in (("min_values", known.least), ("max_values", known.greatest)):
        try:
            ends.append(_values(stored, known.is_null, field.type, column))
        except (ValueError, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{where}: column index: {name}: {error}") from error
    crossed = pc.greater(*ends)
    if pc.any(crossed).as_py():
        page = crossed.to_pylist().index(True)
        raise InputError(f"{where}: column index: min_values of page {page} is above max_values")
    return ColumnPages(field.name, pages, ends[0], ends[1], known.nulls, known.is_null)


def _values(
    stored: Sequence[bytes], is_null: Sequence[bool], kind: pa.DataType, column: pq.ColumnSchema
) -> pa.Array:
    """Values of the plain encoding, null for pages of nulls."""
    # Bytes and texts of no length count as unknown: ClickHouse up to 26.3 writes them in place of
    # bounds that are too long for its index.
    types = pa.types
    if types.is_binary(kind) or types.is_large_binary(kind):
        pairs = zip(stored, is_null, strict=True)
        return pa.array([None if n else b or None for b, n in pairs], kind)
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.array(
            [None if n else _text(b) for b, n in zip(stored, is_null, strict=True)], kind
        )
    order, width = "little", {"INT32": 4, "INT64": 8, "BOOLEAN": 1}.get(column.physical_type, 0)
    if not width:
        order, width = "big", column.length
    if any(len(b) != width for b, n in zip(stored, is_null, strict=True) if not n):
        raise ValueError(f"a bound has not the {counted(width, 'byte')} of a value")
    signed = not (types.is_boolean(kind) or types.is_unsigned_integer(kind))
    numbers = [
        None if n else int.from_bytes(b, order, signed=signed)  # type: ignore[arg-type]
        for b, n in zip(stored, is_null, strict=True)
    ]
    if types.is_decimal(kind):
        texts = b"".join((n or 0).to_bytes(16, "little", signed=True) for n in numbers)
        valid = pa.array([n is not None for n in numbers]).buffers()[1]
        return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(texts)])
    if types.is_boolean(kind):
        return pa.array([None if n is None else bool(n) for n in numbers])
    if types.is_integer(kind):
        return pa.array(numbers, kind)
    return pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def _text(stored: bytes) -> str | None:
    """A text; None for bytes that are none, as a cut through a character makes them."""
    try:
        return stored.decode() or None
    except UnicodeDecodeError:
        return None


Span = tuple[int, int]
"""Number of a first row in its row group, and of the one behind the last."""

# To reason about one costs some hundredths of a millisecond.
_MOST_REASONED = 10_000


def spans_that_may_match(
    columns: Sequence[ColumnPages], condition: pc.Expression, schema: pa.Schema
) -> list[Span]:
    """The rows that a condition leaves, in order.

    Rows are looked at in segments, within which no column begins another page: what is known of a
    segment is what is known of the pages that it is in, of all columns together. There is at least
    one column; all are of one row group.
    """
    borders = np.unique(np.concatenate([one.pages.first_rows for one in columns]))
    begins = borders[:-1]
    pages = [np.searchsorted(one.pages.first_rows, begins, "right") - 1 for one in columns]
    if _none_can_be_ruled_out(columns, condition, schema):
        return [(int(borders[0]), int(borders[-1]))]
    left = np.ones(len(begins), dtype=np.bool_)
    for column, numbers in zip(columns, pages, strict=True):
        values = named_values(condition, column.name)
        held = None if values is None else column.may_hold(values)
        if held is not None:
            left &= held[numbers]
    segments = np.flatnonzero(left)
    # What is known of two segments is the same, as a rule, where values are in no order.
    kinds = np.stack([c.kinds[own[segments]] for c, own in zip(columns, pages, strict=True)])
    _, first, kind_of = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    if 0 < len(first) <= _MOST_REASONED:
        guarantees = [_guarantee(columns, [own[i] for own in pages]) for i in segments[first]]
        may = that_may_match(guarantees, condition, schema)
        segments = segments[np.isin(kind_of.reshape(-1), may)]
    return _spans(segments, borders)


def _none_can_be_ruled_out(
    columns: Sequence[ColumnPages], condition: pc.Expression, schema: pa.Schema
) -> bool:
    """Whether a condition leaves values that every page's bounds leave, of all columns."""
    # Then it leaves all pages, and one look spares one for each kind of segment: of values in no
    # order each page has bounds of its own, and nearly all of the column's values between them.
    common = [column.common for column in columns]
    if any(one is None for one in common):
        return False
    if any(named_values(condition, column.name) is not None for column in columns):
        return False  # the values themselves choose pages of a column
    return bool(that_may_match([all_of(*common)], condition, schema))


def _guarantee(columns: Sequence[ColumnPages], pages: Sequence[int]) -> pc.Expression | None:
    """What holds for the rows of a page of each column."""
    found = (column.guarantee(page) for column, page in zip(columns, pages, strict=True))
    return all_of(*found)


def _spans(segments: Integers, borders: Integers) -> list[Span]:
    """Segments as spans of rows, neighbours as one."""
    spans: list[Span] = []
    for number in segments:
        begin, end = int(borders[number]), int(borders[number + 1])
        if spans and spans[-1][1] == begin:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((begin, end))
    return spans

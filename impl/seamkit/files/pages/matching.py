"""Which rows of a row group may meet a condition, by the bounds of its columns' pages."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.equalities import named_values
from seamkit.files.pages.bounds import ColumnPages
from seamkit.files.pages.index import Integers
from seamkit.files.statistics import that_may_match

__all__ = ["Span", "spans_that_may_match"]

Span = tuple[int, int]
"""Number of a first row in its row group, and of the one behind the last."""

# To reason about one costs some hundredths of a millisecond.
_MOST_REASONED = 10_000


def spans_that_may_match(
    columns: Sequence[ColumnPages], condition: pc.Expression, schema: pa.Schema
) -> list[Span]:
    """The rows that a condition leaves, in order.

    Rows are looked at in segments, within which no column begins another page: what is known of a
    segment is what is known of the pages that it is in, of all columns together.

    Args:
        columns: with bounds, at least one; all of one row group.
        condition: a filter.
        schema: the columns that the condition names.
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
    """Whether a condition leaves values that every page's bounds leave, of all columns.

    Then it leaves all pages, and one look spares one for each kind of segment: of values in no
    order each page has bounds of its own, and nearly all of the column's values between them.
    """
    common = [one for one in (column.common for column in columns) if one is not None]
    if len(common) < len(columns):
        return False
    if any(named_values(condition, column.name) is not None for column in columns):
        return False  # pages of a column are told by the values themselves
    return bool(that_may_match([functools.reduce(operator.and_, common)], condition, schema))


def _guarantee(columns: Sequence[ColumnPages], pages: Sequence[int]) -> pc.Expression | None:
    """What holds for the rows of a page of each column."""
    found = [column.guarantee(page) for column, page in zip(columns, pages, strict=True)]
    known = [one for one in found if one is not None]
    return functools.reduce(operator.and_, known) if known else None


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

"""Cutting sorted runs into ranges of keys, so that several threads merge one unit.

A range is cut by the first column of the key: all rows of a key fall into one range. Where ranges
begin is taken from the statistics of the largest run's row groups; other runs may have a row group
in two ranges, and then both read it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.reader import FileReader
from seamkit.scan.units import Runs

GroupsOf = Callable[[FileReader], Sequence[int]]
"""Which row groups of a file may hold keys that are asked for."""


@dataclass
class _Tally:
    """Rows that the ranges of a unit found, which are all rows of its files.

    A row group whose statistics are wrong would otherwise lose rows without a word.
    """

    ranges: int
    expected: int = 0
    found: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class KeyRange:
    """A part of a unit's keys.

    Attributes:
        column: the first of the key.
        least: its least value in the range; None for no bound.
        below: the value that the next range begins with; None for no bound.
        tally: that of all ranges of the unit.
    """

    column: pa.Field
    least: pa.Scalar | None
    below: pa.Scalar | None
    tally: _Tally

    def groups(self, reader: FileReader, chosen: Sequence[int]) -> list[int]:
        """Those of some row groups of a file that may have keys in the range."""
        may = reader.row_groups_that_may_match(
            self._condition, pa.schema([self.column]), counted=frozenset([self.column.name])
        )
        if self.least is None:
            with self.tally.lock:
                self.tally.expected += reader.rows_in(chosen)
        return sorted(set(may).intersection(chosen))

    def own(self, batch: pa.RecordBatch, kept: pa.BooleanArray | None) -> pa.RecordBatch:
        """The rows of a batch that are in the range; a null, which no key has, stays."""
        keys, found = batch.column(self.column.name), batch.num_rows
        if found and keys.null_count == 0:
            extremes = pc.min_max(keys)
            if not (self._has(extremes["min"]) and self._has(extremes["max"])):
                inside = self._test(keys)
                found = inside.true_count
                kept = inside if kept is None else pc.and_(inside, kept)
        with self.tally.lock:
            self.tally.found += found
        return batch if kept is None else batch.filter(kept)

    def ended(self, where: str) -> None:
        """The range was read to its end."""
        with self.tally.lock:
            self.tally.ranges -= 1
            tally = self.tally
            if tally.ranges == 0 and tally.found != tally.expected:
                raise InputError(
                    f"{where}: row groups have {tally.found} of {tally.expected} rows in the "
                    f"ranges of {self.column.name!r} that their statistics tell"
                )

    @property
    def _condition(self) -> pc.Expression:
        key = pc.field(self.column.name)
        tests = [] if self.least is None else [key >= self.least]
        tests += [] if self.below is None else [key < self.below]
        return functools.reduce(operator.and_, tests)

    def _has(self, value: pa.Scalar) -> bool:
        return bool(self._test(value).as_py())

    def _test(self, keys: pa.Array | pa.Scalar) -> pa.BooleanArray | pa.BooleanScalar:
        tests = [] if self.least is None else [pc.greater_equal(keys, self.least)]
        tests += [] if self.below is None else [pc.less(keys, self.below)]
        return functools.reduce(pc.and_, tests)


def key_ranges(changes: Runs, schema: pa.Schema, parts: int) -> Sequence[KeyRange]:
    """Cut a unit into ranges of keys, in their order, each with about as much of the largest run.

    There may be fewer than `parts`, but two at least; none where nothing tells how to cut.
    """
    column = schema.field(changes.keys[0])
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
        return []  # a NaN is in no range
    largest = max(changes.runs, key=lambda run: sum(file.size_bytes for file in run))
    leasts: list[tuple[pa.Scalar, int]] = []
    for file in largest:
        reader = file.open()
        found = reader.leasts(column.name, column.type)
        rows = [reader.rows_in([i]) for i in range(len(found))]
        leasts += zip(found, rows, strict=True)
    cuts = _cuts(leasts, parts)
    if not cuts:
        return []
    tally = _Tally(len(cuts) + 1)
    bounds = itertools.pairwise([None, *cuts, None])
    return [KeyRange(column, least, below, tally) for least, below in bounds]


def _cuts(leasts: Sequence[tuple[pa.Scalar, int]], parts: int) -> list[pa.Scalar]:
    """Values at which ranges begin, ascending; by the least value and the rows of row groups."""
    whole, before = sum(rows for _, rows in leasts), 0
    cuts: list[pa.Scalar] = []
    for number, (least, rows) in enumerate(leasts):
        due = whole * (len(cuts) + 1) / parts
        # The group in which a share is full begins the next range if it lies mostly behind that.
        is_due = number and len(cuts) + 1 < parts and before + rows / 2 >= due
        if is_due and pc.greater(least, cuts[-1] if cuts else leasts[0][0]).as_py():
            cuts.append(least)
        before += rows
    return cuts

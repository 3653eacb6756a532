"""Kinds of the rows of a file, and how two states of a partition differ row by row, by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core.border import concat_batches, numpy_of
from seamkit.files.columns import FoundReader, Source
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.scan.runs_path import row_kinds
from seamkit.scan.units import ReadContext, ReadPlan, ReadUnit
from seamkit.tables.paimon.metadata.schemas import KIND, ROW_KIND, SYSTEM
from seamkit.tables.states import both_states, changes_of, differences, same_rows

_INSERT, _BEFORE, _AFTER = range(3)
_OPS, _WORDS = ("i", "u", "u", "d"), ("+I", "-U", "+U", "-D")
INSERTED = _WORDS[_INSERT]
"""The kind of all rows of a table without a key, in words."""
_BATCH_ROWS = 64 * 1024


def retracts_of(opened: Callable[[], FileReader]) -> Positions:
    """Positions of the rows of a file that take others back."""
    reader = opened()
    at, pieces = 0, []
    for batch in reader.batches(pa.schema([SYSTEM.field(KIND)]), _BATCH_ROWS, use_threads=False):
        pieces.append(at + np.flatnonzero(row_kinds(batch.column(KIND), reader.name) & 1))
        at += batch.num_rows
    positions: Positions = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    return positions


def with_kinds(opened: Callable[[], FileReader]) -> FileReader:
    """A file that has the kinds of its rows in words, too."""
    reader = opened()
    return FoundReader(reader, partial(_find_column, reader.name))


def _find_column(where: str, wanted: pa.Field) -> Source:
    if wanted.name != ROW_KIND:
        return Source(wanted, wanted, wanted.type)
    return Source(wanted, SYSTEM.field(KIND), pa.int8(), partial(_words, where), has_ranges=False)


def _words(where: str, column: pa.Array | None, positions: Positions) -> pa.Array:
    del positions
    assert column is not None
    return pa.array(_WORDS).take(pa.array(row_kinds(column, where)))


def changelog_rows(
    table: pa.Schema,
    keys: Sequence[str],
    unit: ReadUnit,
    schema: pa.Schema,
    batch_rows: int,
    context: ReadContext,
) -> Iterator[pa.RecordBatch]:
    """The changes of a changelog file, where the row before an update is followed by that after.

    `schema` says which of `op`, `before` and `after` to hand out. A batch is held at a time, so the
    context is not used.
    """
    del context
    (file,) = unit.files
    reader = file.open()
    read = pa.schema([*table, SYSTEM.field(KIND)])
    kept: pa.RecordBatch | None = None
    for batch in reader.batches(read, batch_rows, use_threads=False):
        rows = batch if kept is None else concat_batches([kept, batch], read)
        kept = None
        if rows.num_rows and row_kinds(rows.column(KIND), reader.name)[-1] == _BEFORE:
            kept, rows = rows.slice(rows.num_rows - 1), rows.slice(0, rows.num_rows - 1)
        yield _changes(rows, table, keys, schema, reader.name)
    if kept is not None:
        yield _changes(kept, table, keys, schema, reader.name)


def _changes(
    rows: pa.RecordBatch, table: pa.Schema, keys: Sequence[str], schema: pa.Schema, where: str
) -> pa.RecordBatch:
    """Rows with their kinds as changes: of two that belong together one is made."""
    kinds = row_kinds(rows.column(KIND), where)
    pairs = np.zeros(len(kinds), np.bool_)  # rows before an update whose row after is the next
    if len(kinds) > 1:
        pairs[:-1] = (kinds[:-1] == _BEFORE) & (kinds[1:] == _AFTER) & _same_keys(rows, keys)
    second = np.zeros(len(kinds), np.bool_)
    second[1:] = pairs[:-1]
    first = np.flatnonzero(~second)
    own, paired = kinds[first], pairs[first]
    is_old, is_new = (own & 1) == 1, ((own & 1) == 0) | paired
    before = pa.array(first, mask=~is_old)
    after = pa.array(np.where(paired, first + 1, first), mask=~is_new)
    ops = pa.array(_OPS).take(pa.array(own))
    return changes_of(
        ops, rows.select(table.names), before, rows.select(table.names), after, schema
    )


def _same_keys(rows: pa.RecordBatch, keys: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Of each row but the last whether the next has the same key."""
    count = rows.num_rows - 1
    alike = np.ones(count, np.bool_)
    for name in keys:
        column = rows.column(name)
        equal = pc.equal(column.slice(0, count), column.slice(1))
        alike &= numpy_of(pc.fill_null(equal, False))
    return alike


_OLD, _NEW = "__old", "__new"


@dataclass(frozen=True)
class Differences:
    """Reads units that stand for two states of a partition. Both states are held in memory."""

    # by unit what its rows were, and what they became
    states: Mapping[str, tuple[ReadPlan, ReadPlan]]
    keys: Sequence[str]  # columns of the key; a row has its key alone in each state
    # hand out changes with both images of a row, in place of rows that are new or changed
    with_images: bool

    def __call__(
        self, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """What differs."""
        plans = self.states[unit.name]
        with both_states(plans, plans[0].schema.names, context) as (old, new):
            was, became = _matched(old, new, self.keys)
            for begin in range(0, len(was), batch_rows):
                part = was[begin : begin + batch_rows], became[begin : begin + batch_rows]
                yield self._changes(old, new, *part, schema)

    def _changes(
        self,
        old: pa.RecordBatch,
        new: pa.RecordBatch,
        was: pa.Array,
        became: pa.Array,
        schema: pa.Schema,
    ) -> pa.RecordBatch:
        both = np.flatnonzero(numpy_of(pc.and_(pc.is_valid(was), pc.is_valid(became))))
        pairs = was.take(pa.array(both)), became.take(pa.array(both))
        same = same_rows(old, new, *pairs, old.schema.names)
        kept = np.ones(len(was), np.bool_)
        kept[both[same]] = False
        was, became = was.filter(pa.array(kept)), became.filter(pa.array(kept))
        if not self.with_images:
            rows = new.take(became.drop_null())
            return rows.select(schema.names)
        return differences(old, was, new, became, schema)


def _matched(
    old: pa.RecordBatch, new: pa.RecordBatch, keys: Sequence[str]
) -> tuple[pa.Array, pa.Array]:
    """Numbers of the rows of both states that have one key; null where a state lacks it."""
    # Both zeros are one key.
    tables = []
    for rows, name in ((old, _OLD), (new, _NEW)):
        columns = {key: _one_zero(rows.column(key)) for key in keys}
        tables.append(pa.table({**columns, name: pa.array(np.arange(rows.num_rows))}))
    joined = tables[0].join(tables[1], list(keys), join_type="full outer", use_threads=False)
    was, became = (joined[name].combine_chunks() for name in (_OLD, _NEW))
    return was, became


def _one_zero(column: pa.Array) -> pa.Array:
    if not pa.types.is_floating(column.type):
        return column
    return pc.add(column, pa.scalar(0, column.type))

"""How two states of a partition differ, row by row, matched by their keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.scan.units import ReadContext, ReadPlan, ReadUnit
from seamkit.tables.paimon.change_rows import changes_of
from seamkit.tables.states import both_states

_OLD, _NEW = "__old", "__new"


@dataclass(frozen=True)
class Differences:
    """Reads units that stand for two states of a partition. Both states are held in memory.

    Attributes:
        states: by unit what its rows were, and what they became.
        keys: columns of the key; a row has its key alone in each state.
        with_images: hand out changes with both images of a row, in place of rows that are new or
            changed.
    """

    states: Mapping[str, tuple[ReadPlan, ReadPlan]]
    keys: Sequence[str]
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
        both = np.flatnonzero(
            pc.and_(pc.is_valid(was), pc.is_valid(became)).to_numpy(zero_copy_only=False)
        )
        same = _same(old, new, was.take(pa.array(both)), became.take(pa.array(both)))
        kept = np.ones(len(was), np.bool_)
        kept[both[same]] = False
        was, became = was.filter(pa.array(kept)), became.filter(pa.array(kept))
        if not self.with_images:
            rows = new.take(became.drop_null())
            return rows.select(schema.names)
        ops = pc.if_else(pc.is_null(was), "i", pc.if_else(pc.is_null(became), "d", "u"))
        return changes_of(ops, old, was, new, became, schema)


def _matched(
    old: pa.RecordBatch, new: pa.RecordBatch, keys: Sequence[str]
) -> tuple[pa.Array, pa.Array]:
    """Numbers of the rows of both states that have one key; null where a state lacks it."""
    tables = []
    for rows, name in ((old, _OLD), (new, _NEW)):
        columns = {key: rows.column(key) for key in keys}
        tables.append(pa.table({**columns, name: pa.array(np.arange(rows.num_rows))}))
    joined = tables[0].join(tables[1], list(keys), join_type="full outer", use_threads=False)
    was, became = (joined[name].combine_chunks() for name in (_OLD, _NEW))
    return was, became


def _same(
    old: pa.RecordBatch, new: pa.RecordBatch, was: pa.Array, became: pa.Array
) -> npt.NDArray[np.bool_]:
    """Whether two rows have the same values; null is null, and NaN is NaN."""
    same = np.ones(len(was), np.bool_)
    for name in old.schema.names:
        one, other = old.column(name).take(was), new.column(name).take(became)
        same &= _equal(one, other)
    return same


def _equal(one: pa.Array, other: pa.Array) -> npt.NDArray[np.bool_]:
    kind = one.type
    if pa.types.is_nested(kind):
        pairs = zip(one.to_pylist(), other.to_pylist(), strict=True)
        return np.array([repr(a) == repr(b) for a, b in pairs], np.bool_)
    equal = pc.fill_null(pc.equal(one, other), False)
    if pa.types.is_floating(kind):
        nan = pc.and_(pc.is_nan(one), pc.is_nan(other))
        equal = pc.or_(equal, pc.fill_null(nan, False))
    nothing = pc.and_(pc.is_null(one), pc.is_null(other))
    found: npt.NDArray[np.bool_] = pc.or_(equal, nothing).to_numpy(zero_copy_only=False)
    return found

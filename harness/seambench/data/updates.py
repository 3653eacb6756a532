"""What happens to each row after the base is written: a pure function of its key and a seed.

Because nothing else decides it, the right state of a table follows from the generator's rows alone;
the table itself is never read to find it. The same code runs inside Spark tasks (to write the logs)
and in the oracle (to say what a reader must return).

Every row has a fixed class, drawn by hash: 2 in 100 are late updates (their ordering value is
older than the base's), 2 are deletes (half of them updated just before), 2 are inserts (held back
from the base, so that they arrive in a log or not at all), the other 94 plain updates. A row is
*touched* when its slice has logs and its own draw is below the update ratio. The rows touched at
one ratio are touched at every higher one, and so with the slices.

At ratio 0 nothing is held back: the state is exactly the generator's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, UsageError
from seambench.contracts.tables import Ordering
from seambench.data.tpch import TABLES
from seambench.data.values import new_values

__all__ = [
    "BASE_TS",
    "DELETE_TS",
    "LATE_TS",
    "UPDATE_TS",
    "Fate",
    "Updates",
    "hash_keys",
    "split_mix",
]

#: Ordering values (column `ts`) of base rows, updates and inserts, late updates, and deletes.
BASE_TS, UPDATE_TS, LATE_TS, DELETE_TS = 1000, 2000, 500, 3000

Groups = Callable[[Sequence[npt.NDArray[np.int64]], int], npt.NDArray[np.int64]]

_U64 = np.uint64
_GOLDEN = _U64(0x9E3779B97F4A7C15)
# One salt per independent draw.
_SALT_TOUCH, _SALT_CLASS, _SALT_SLICE, _SALT_VALUES = 1, 2, 3, 4
_LATE_BELOW, _DELETE_BELOW, _INSERT_BELOW, _CLASSES = 2, 4, 6, 100


def split_mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser over each value, after adding its constant."""
    z = values + _GOLDEN
    z = (z ^ (z >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
    return z ^ (z >> _U64(31))


def hash_keys(keys: list[npt.NDArray[np.int64]], seed: int, salt: int) -> npt.NDArray[np.uint64]:
    """64 well-mixed bits for each row, from its key columns, the seed and the draw's salt."""
    start = split_mix(np.array([seed % 2**64], dtype=_U64)) ^ _U64(salt)
    state = np.broadcast_to(split_mix(start), keys[0].shape)
    for column in keys:
        state = split_mix(state ^ split_mix(column.view(_U64)))
    return state


@dataclass(frozen=True)
class Fate:
    """What becomes of each row of a batch; all members are boolean arrays of its length."""

    held_back: npt.NDArray[np.bool_]  # absent from the base
    logged: npt.NDArray[np.bool_]  # written by the upsert
    late: npt.NDArray[np.bool_]  # written by the upsert with an older ordering value
    deleted: npt.NDArray[np.bool_]  # removed by the delete


@dataclass(frozen=True)
class Updates:
    """The changes to one table."""

    table: str
    seed: int  # any integer; another seed touches other rows
    ratio: float  # per cent of the rows touched in a slice that has logs
    share: float  # per cent of the slices that have logs
    slices: int
    # number of the slice of each row, by its key columns and the number of slices; see
    # `seambench.contracts.formats.Writer`
    groups: Groups

    def __post_init__(self) -> None:
        if self.table not in TABLES:
            raise UsageError(f"unknown table {self.table!r}: known are {', '.join(TABLES)}")
        if not (0 <= self.ratio <= 100 and 0 <= self.share <= 100):
            raise UsageError("update ratio and slice share are per cents between 0 and 100")
        if self.slices < 1:
            raise UsageError(f"a table needs at least one slice, not {self.slices}")

    @property
    def changed_slices(self) -> tuple[int, ...]:
        """Slices with changes, ascending; a larger share includes a smaller one's."""
        if self.ratio == 0 or self.share == 0:
            return ()
        count = max(1, round(self.slices * self.share / 100))
        draws = hash_keys([np.arange(self.slices, dtype=np.int64)], self.seed, _SALT_SLICE)
        return tuple(sorted(int(slice_) for slice_ in np.argsort(draws, kind="stable")[:count]))

    def slice_of(self, rows: pa.RecordBatch | pa.Table) -> npt.NDArray[np.int64]:
        """Slice of each row."""
        return self.groups(self._keys(rows), self.slices)

    def fate(self, rows: pa.RecordBatch | pa.Table) -> Fate:
        """Decide for each row of the generator what happens to it."""
        keys = self._keys(rows)
        drawn = hash_keys(keys, self.seed, _SALT_CLASS)
        kind = (drawn % _U64(_CLASSES)).astype(np.int64)
        touched = self._touched(keys)
        late = kind < _LATE_BELOW
        delete = (kind >= _LATE_BELOW) & (kind < _DELETE_BELOW)
        insert = (kind >= _DELETE_BELOW) & (kind < _INSERT_BELOW)
        updated_first = (drawn >> _U64(63)).astype(np.bool_)
        held_back = insert if self.ratio > 0 and self.share > 0 else np.zeros_like(insert)
        return Fate(
            held_back=held_back,
            logged=touched & (~delete | updated_first),
            late=touched & late,
            deleted=touched & delete,
        )

    def base_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the base files: the generator's, without those held back, plus `ts`."""
        held_back = self.fate(rows).held_back
        return _with_ts(_filter(rows, ~held_back), BASE_TS)

    def log_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows the upsert writes: new values, and `ts` newer than the base's or (late) older."""
        fate = self.fate(rows)
        changed = self._change(_filter(rows, fate.logged))
        late = fate.late[fate.logged]
        return _with_ts(changed, np.where(late, LATE_TS, UPDATE_TS))

    def delete_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows the delete names, all columns as generated, `ts` newest."""
        return _with_ts(_filter(rows, self.fate(rows).deleted), DELETE_TS)

    def expected_rows(self, rows: pa.RecordBatch, ordering: Ordering) -> pa.RecordBatch:
        """Rows of the merged table: what a snapshot query must return for these generator rows.

        Under event-time ordering the higher `ts` wins, so a late update changes nothing; under
        commit-time ordering what was written last wins, whatever its `ts`. A delete was written
        last and has the highest `ts`: it wins under both. Order of rows: the unchanged ones first.
        """
        fate = self.fate(rows)
        visible = _visible(fate, ordering)
        kept = ~visible & ~fate.deleted & ~fate.held_back
        old = _with_ts(_filter(rows, kept), BASE_TS)
        changed = self._change(_filter(rows, visible))
        new = _with_ts(changed, np.where(fate.late[visible], LATE_TS, UPDATE_TS))
        return pa.concat_batches([old, new])

    def replaced(self, rows: pa.RecordBatch, ordering: Ordering) -> npt.NDArray[np.bool_]:
        """Whether each row is in the base, and the merged table has another one or none for it."""
        fate = self.fate(rows)
        return (_visible(fate, ordering) | fate.deleted) & ~fate.held_back

    def _keys(self, rows: pa.RecordBatch | pa.Table) -> list[npt.NDArray[np.int64]]:
        keys = []
        for name in TABLES[self.table].keys:
            column = rows.column(name)
            if column.null_count:
                raise InputError(f"table {self.table}: key column {name} holds a null")
            keys.append(np.ascontiguousarray(column.to_numpy(zero_copy_only=False), np.int64))
        return keys

    def _touched(self, keys: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.bool_]:
        chosen = np.zeros(self.slices, dtype=np.bool_)
        chosen[list(self.changed_slices)] = True
        drawn = hash_keys(keys, self.seed, _SALT_TOUCH) % _U64(10_000)
        below = drawn < _U64(round(self.ratio * 100))
        return chosen[self.groups(keys, self.slices)] & below

    def _change(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        draws = hash_keys(self._keys(rows), self.seed, _SALT_VALUES)
        return new_values(self.table, rows, draws, self.seed)


def _visible(fate: Fate, ordering: Ordering) -> npt.NDArray[np.bool_]:
    """Whether the merged table has what the upsert wrote for each row."""
    visible = fate.logged & ~fate.deleted
    return visible & ~fate.late if ordering == "event" else visible


def _filter(rows: pa.RecordBatch, keep: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    return pc.filter(rows, pa.array(keep))


def _with_ts(rows: pa.RecordBatch, ts: int | npt.NDArray[np.int64]) -> pa.RecordBatch:
    column = pa.array(np.broadcast_to(np.asarray(ts, dtype=np.int64), (rows.num_rows,)))
    return rows.append_column("ts", column)

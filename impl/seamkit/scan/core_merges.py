"""The core's two merges, by key: of folded events with the rows of a file, and of sorted runs.

The rules stand in `native/include/seam/merge.h` and `runs.h`; this is their thin Python side. The
first says where the values of each row come from and puts columns together, the second which rows
of which run come out.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seamkit.core._seam import ffi, lib
from seamkit.core.border import (
    ExportedBatch,
    address,
    array_of,
    batch_of,
    call,
    expect,
    made,
    new_array,
    no_rows,
)
from seamkit.core.memory import TrackedAllocator

KEEP = -1
"""Source word of a base row that stays (SEAM_SOURCE_BASE)."""
REMOVE = -2
"""Source word of a base row that is gone (SEAM_SOURCE_NONE)."""
UNORDERED: int = lib.SEAM_EVENT_UNORDERED
"""Flag of an event without an ordering value that counts: it wins against what came before."""
YIELDING: int = lib.SEAM_EVENT_YIELDING
"""Flag of an event that changes nothing where another `UNORDERED` one stands already."""

RowNumbers = npt.NDArray[np.int32]
"""For each row of a file where its values come from: `KEEP`, `REMOVE`, or the number of an event's
row; or numbers of such rows."""


class LogIndex:
    """The events of one file, folded by key.

    One thread at a time; the GIL is released while the core works. Keys, rows, ordering columns and
    flags (of `enum seam_event_flag`) have one row an event, in scan order; the row is that of the
    log's data, -1 for a delete, and there is no ordering under commit-time ordering. `filling_rows`
    are the rows of the log's data, if versions of a record fill each other's gaps.
    `meets_every_row`: an event changes all base rows with its key, not the first of them alone.
    """

    def __init__(
        self,
        keys: pa.RecordBatch,
        rows: RowNumbers,
        ordering: pa.RecordBatch | None,
        flags: npt.NDArray[np.uint8] | None,
        allocator: TrackedAllocator,
        *,
        filling_rows: int = 0,
        meets_every_row: bool = False,
        source: str = "",
    ) -> None:
        for words in (rows, flags):
            expect(words is None or len(words) == keys.num_rows, "a word for each event")
        self._keys = ExportedBatch(keys)
        self._rows = np.ascontiguousarray(rows, dtype=np.int32)
        self._ordering = None if ordering is None else ExportedBatch(ordering)
        self._flags = None if flags is None else np.ascontiguousarray(flags, dtype=np.uint8)
        self._filling_rows = filling_rows
        self._meets_every_row = meets_every_row
        self._origin: LogIndex | None = None  # kept alive: a fork borrows from it
        self._allocator = allocator
        self._source = source
        given = allocator.pointer, self._events()
        make, free = lib.seam_merge_new, lib.seam_merge_free
        self._merge = made(ffi.new("struct seam_merge **"), make, free, *given, source=source)

    def _events(self) -> Any:
        events = ffi.new("struct seam_events *")
        events.keys_schema = self._keys.schema
        events.keys = self._keys.array
        events.rows = ffi.from_buffer("int32_t[]", self._rows)
        if self._ordering is not None:
            events.ordering_schema = self._ordering.schema
            events.ordering = self._ordering.array
        if self._flags is not None:
            events.flags = ffi.from_buffer("uint8_t[]", self._flags)
        events.filling_rows = self._filling_rows
        events.meets_every_row = self._meets_every_row
        return events

    def fork(self, allocator: TrackedAllocator) -> LogIndex:
        """The same folded events for another read; this index has met no base row, nor will it."""
        fork = copy.copy(self)
        out, free = ffi.new("struct seam_merge **"), lib.seam_merge_free
        fork._merge = made(out, lib.seam_merge_fork, free, allocator.pointer, self._merge)
        fork._origin = self
        return fork

    def probe(
        self,
        keys: pa.RecordBatch,
        ordering: pa.RecordBatch | None,
        losers: RowNumbers | None = None,
    ) -> RowNumbers:
        """For each base row where its values come from: KEEP, REMOVE, or a row of the log.

        Unless events meet every row they are used up: of rows with one key the first changes. Keys
        are in the order of the log's. `losers` receives for each base row the row of the log that
        it stays above, or -1.
        """
        expect(
            losers is None or (losers.dtype == np.int32 and len(losers) == keys.num_rows),
            "a loser for each row",
        )
        base_keys = ExportedBatch(keys)
        base_ordering = None if ordering is None else ExportedBatch(ordering)
        sources = np.empty(keys.num_rows, dtype=np.int32)
        call(
            lib.seam_merge_probe,
            self._merge,
            base_keys.schema,
            base_keys.array,
            ffi.NULL if base_ordering is None else base_ordering.schema,
            ffi.NULL if base_ordering is None else base_ordering.array,
            ffi.from_buffer("int32_t[]", sources),
            ffi.NULL if losers is None else ffi.from_buffer("int32_t[]", losers),
            source=self._source,
        )
        return sources

    def below(self) -> RowNumbers:
        """For each row of the log's data the row that fills its gaps, or -1; a copy."""
        pointer = lib.seam_merge_below(self._merge)
        return np.frombuffer(ffi.buffer(pointer, 4 * self._filling_rows), np.int32).copy()

    def rest(self) -> RowNumbers:
        """Rows of the log that met no base row, in the order in which their keys appeared."""
        rows = np.empty(lib.seam_merge_keys(self._merge), dtype=np.int32)
        count = lib.seam_merge_rest(self._merge, ffi.from_buffer("int32_t[]", rows))
        return rows[:count]


class _Plan:
    """A C plan of runs for one batch; freed with this object."""

    def __init__(self, sources: RowNumbers, allocator: TrackedAllocator) -> None:
        buffer = ffi.from_buffer("int32_t[]", np.ascontiguousarray(sources, dtype=np.int32))
        out, free = ffi.new("struct seam_plan **"), lib.seam_plan_free
        self.pointer = made(out, lib.seam_plan_new, free, allocator.pointer, buffer, len(sources))
        self.allocator = allocator
        self.rows = int(lib.seam_plan_rows(self.pointer))
        self.changes = int(
            lib.seam_plan_replaced(self.pointer) + lib.seam_plan_removed(self.pointer)
        )


def assemble(
    base: pa.RecordBatch,
    log: pa.RecordBatch,
    exported_log: ExportedBatch,
    sources: RowNumbers,
    allocator: TrackedAllocator,
) -> pa.RecordBatch:
    """The merged batch: base rows that stay, and log rows where they replace one.

    The base has the log's schema; texts may be dictionary-encoded. Its buffers belong to this call:
    the result takes over those that can be changed in place, and others are the allocator's.
    `exported_log` is the log's batch as C structures, made once a slice; `sources` is what
    `LogIndex.probe` said.
    """
    plan = _Plan(sources, allocator)
    if plan.changes == 0 and base.schema.equals(log.schema):
        return base
    exported_base = ExportedBatch(base)
    arrays = [
        _merge_column(i, base.column(i), log.column(i), exported_base, exported_log, plan, sources)
        for i in range(base.num_columns)
    ]
    return batch_of(arrays, log.schema, plan.rows)


def spread(
    batch: pa.RecordBatch, names: Sequence[str], allocator: TrackedAllocator
) -> pa.RecordBatch:
    """The same rows with some columns, which are dictionary-encoded texts, as plain ones.

    The rows' buffers belong to this call; the allocator owns the plain texts.
    """
    if not names:
        return batch
    encoded = batch.select(list(names))
    plain = pa.schema([field.with_type(field.type.value_type) for field in encoded.schema])
    nothing = no_rows(plain)
    stay = np.full(batch.num_rows, KEEP, dtype=np.int32)
    texts = assemble(encoded, nothing, ExportedBatch(nothing), stay, allocator)
    for name in names:
        i = batch.schema.get_field_index(name)
        batch = batch.set_column(i, plain.field(name), texts.column(name))
    return batch


def _merge_column(
    i: int,
    base: pa.Array,
    log: pa.Array,
    exported_base: ExportedBatch,
    exported_log: ExportedBatch,
    plan: _Plan,
    sources: RowNumbers,
) -> pa.Array:
    """In place where the buffer allows it, by the core otherwise, by pyarrow for other types."""
    kind = log.type
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_null(kind):
        return _take(base, log, sources)
    plain = base.type.value_type if pa.types.is_dictionary(base.type) else base.type
    expect(plain == kind, f"a column of {plain} in the base, of {kind} in the log")
    schema = exported_log.schema.children[i]
    arrays = (exported_base.array.children[i], exported_log.array.children[i])
    if _may_patch(base):
        patched = ffi.new("int32_t *")
        call(lib.seam_patch, plan.pointer, schema, *arrays, patched)
        if patched[0]:
            return base.slice(0, plan.rows)
    out = new_array()
    call(lib.seam_assemble, plan.pointer, schema, *arrays, plan.allocator.pointer, out)
    return pa.Array._import_from_c(address(out), kind)


def _may_patch(base: pa.Array) -> bool:
    """Whether the values lie in a writable buffer, as what a Parquet reader has decoded does."""
    if pa.types.is_boolean(base.type) or pa.types.is_dictionary(base.type):
        return False
    return all(b.is_mutable for b in base.buffers()[1:] if b is not None)


def _take(base: pa.Array, log: pa.Array, sources: RowNumbers) -> pa.Array:
    """The same for layouts the core does not know: pyarrow takes from base and log put together."""
    replaced = sources[sources >= 0]
    if not len(replaced):
        return base.filter(array_of(sources != REMOVE))
    indices = np.arange(len(sources), dtype=np.int64)
    indices[sources >= 0] = len(base) + np.arange(len(replaced))
    pool = pa.concat_arrays([base, log.take(array_of(replaced))])
    return pool.take(array_of(indices[sources != REMOVE]))


Pick = Literal["last", "first", "all"]
_PICKS: dict[Pick, int] = {
    "last": lib.SEAM_RUNS_LAST,
    "first": lib.SEAM_RUNS_FIRST,
    "all": lib.SEAM_RUNS_ALL,
}


@dataclass(frozen=True)
class MergedRows:
    """Rows that come out of a merge, of runs other than the base."""

    runs: RowNumbers  # the run of each
    rows: RowNumbers  # its number in the run's batch
    # where all rows come out, whether it is the first of its key; otherwise whether it takes the
    # place of a row of the base
    marks: npt.NDArray[np.bool_]


class RunMerge:
    """A merge of sorted runs, as pure logic: it is asked what it wants, and given it.

    Of tying rows that of the last run is the latest. The first `n_keys` columns of each batch are
    the key, the `n_order` behind them the order of its rows; of the first `descending` of these
    smaller values are later. Batches of the run `base` are changed in place; None where all rows
    come out. `pick` says which rows of a key do.
    """

    def __init__(
        self,
        n_runs: int,
        base: int | None,
        n_keys: int,
        n_order: int,
        descending: int,
        pick: Pick,
        ignores_retracts: bool,
        allocator: TrackedAllocator,
        source: str,
    ) -> None:
        options = ffi.new("struct seam_runs_options *")
        options.n_runs, options.base = n_runs, -1 if base is None else base
        options.n_keys, options.n_order, options.descending = n_keys, n_order, descending
        options.ignores_retracts, options.pick = ignores_retracts, _PICKS[pick]
        self._source = source
        self._held: dict[int, tuple[Any, ...]] = {}
        out, free = ffi.new("struct seam_runs **"), lib.seam_runs_free
        self._pointer = made(out, lib.seam_runs_new, free, allocator.pointer, options)

    @property
    def wants(self) -> int | None:
        """The run that must be given its next batch, or its end, before rows can come."""
        run = int(lib.seam_runs_wants(self._pointer))
        return None if run < 0 else run

    def add(
        self,
        run: int,
        columns: pa.RecordBatch,
        kinds: npt.NDArray[np.int8] | None,
        sources: RowNumbers | None = None,
    ) -> None:
        """The next batch of a run that is wanted: the key's columns, then those of the order.

        `kinds` are odd for retracts; None where no row is one. `sources` receives for each row of
        the base where its values come from, until the run is wanted again.
        """
        for words, kind in ((kinds, np.int8), (sources, np.int32)):
            fits = words is None or (words.dtype == kind and len(words) == columns.num_rows)
            expect(fits, "a kind and a source for each row")
        exported = ExportedBatch(columns)
        own = [
            ffi.NULL if kinds is None else ffi.from_buffer("int8_t[]", kinds),
            ffi.NULL if sources is None else ffi.from_buffer("int32_t[]", sources),
        ]
        given = self._pointer, run, exported.schema, exported.array, *own
        call(lib.seam_runs_add, *given, source=self._source)
        self._held[run] = (kinds, sources, own)  # borrowed until the run is wanted again

    def end(self, run: int) -> None:
        """Nothing more comes from a run that is wanted."""
        call(lib.seam_runs_end, self._pointer, run)

    def step(self, most: int) -> MergedRows:
        """Go on until a run is wanted, about so many rows were merged, or all runs have ended."""
        out = ffi.new("struct seam_runs_rows *")
        call(lib.seam_runs_next, self._pointer, most, out, source=self._source)
        n = int(out.count)
        if not n:
            none = np.empty(0, np.int32)
            return MergedRows(none, none, np.empty(0, np.bool_))
        return MergedRows(
            np.frombuffer(ffi.buffer(out.runs, 4 * n), np.int32).copy(),
            np.frombuffer(ffi.buffer(out.rows, 4 * n), np.int32).copy(),
            np.frombuffer(ffi.buffer(out.marks, n), np.uint8).astype(np.bool_),
        )

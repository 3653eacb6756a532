"""What scans know of the events of units before they read them, as a layer above the merge.

A query engine reads a table that was registered with it again and again, other columns each time.
What a unit's events come to stays the same, and so does which rows of its file they replace: the
plan of the scan is fixed. The merge itself does not know of that: changes whose matches are known
give events that need no columns of the file, and tell what is known where they meet its rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.border import ExportedBatch, batch_of
from seamkit.core.memory import TrackedAllocator
from seamkit.files.file_cache import CACHE_BYTES, Kept
from seamkit.files.kept_on_disk import Form
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.scan.arguments import DEFAULT_BATCH_ROWS
from seamkit.scan.core_merges import KEEP, REMOVE, RowNumbers, assemble
from seamkit.scan.masks import GoneRows, SharedMask
from seamkit.scan.merge_path import GroupRange, RowSources, UnitMerge
from seamkit.scan.runs_path import gone_of_runs
from seamkit.scan.units import (
    Events,
    Keyed,
    LoadedEvents,
    ReadContext,
    ReadUnit,
    Runs,
    UnitFile,
    Wanted,
    gone_identity,
)

Bits = npt.NDArray[np.uint8]
"""A bit for each row of a file, the first being the highest of its byte: 1 where it is gone."""


@dataclass(frozen=True)
class Matches:
    """Which rows of a unit's file its events replace or remove."""

    sources: RowNumbers  # for each row of the file where its values come from
    rest: RowNumbers  # rows of the events that match no row of the file
    n_events: int  # rows of the events that both refer to

    @cached_property
    def changed(self) -> RowNumbers:
        """Rows of the events that replace a row of the file, or match none; ascending."""
        # Of the words of rows that stay and rows that are gone, -1 and -2, the last two are flags.
        flags = np.zeros(self.n_events + 2, dtype=np.bool_)
        flags[self.sources] = True
        flags[self.rest] = True
        once = np.flatnonzero(flags[: self.n_events]).astype(np.int32)
        if len(once) == np.count_nonzero(self.sources > KEEP) + len(self.rest):
            return once
        # An event may replace several.
        return np.sort(np.concatenate([self.sources[self.sources > KEEP], self.rest]))

    @property
    def size_bytes(self) -> int:
        """Of memory, without `changed`."""
        return self.sources.nbytes + self.rest.nbytes


def _pack_matches(kept: tuple[object, Matches]) -> pa.RecordBatch:
    _, matches = kept
    return _pack_words([matches.sources, matches.rest, np.array([matches.n_events], np.int32)])


def _unpack_matches(batch: pa.RecordBatch) -> tuple[tuple[None, Matches], int]:
    sources, rest, (n_events,) = _words_of(batch, np.int32)
    found = Matches(sources, rest, int(n_events))
    return (None, found), found.size_bytes


def _pack_words(words: Sequence[npt.NDArray[Any]]) -> pa.RecordBatch:
    return pa.record_batch({"words": pa.array([w.tobytes() for w in words], pa.large_binary())})


def _words_of(batch: pa.RecordBatch, kind: type[np.generic]) -> list[npt.NDArray[Any]]:
    return [np.frombuffer(row.as_buffer(), kind) for row in batch.column("words")]


def _pack_changed(kept: tuple[object, RowNumbers, int]) -> pa.RecordBatch:
    _, rows, n_events = kept
    return _pack_words([rows, np.array([n_events], np.int32)])


def _unpack_changed(batch: pa.RecordBatch) -> tuple[tuple[None, RowNumbers, int], int]:
    rows, (n_events,) = _words_of(batch, np.int32)
    return (None, rows, int(n_events)), rows.nbytes


def _unpack_gone(batch: pa.RecordBatch) -> tuple[tuple[None, Sequence[Bits]], int]:
    return (None, _words_of(batch, np.uint8)), batch.nbytes


def _pack_column(kept: tuple[object, pa.RecordBatch]) -> pa.RecordBatch:
    _, column = kept
    return column.replace_schema_metadata({"type": str(column.schema.field(0).type)})


def _unpack_column(batch: pa.RecordBatch) -> tuple[tuple[None, pa.RecordBatch], int]:
    stored_type = (batch.schema.metadata or {}).get(b"type", b"").decode()
    if stored_type != str(batch.schema.field(0).type):
        raise ValueError(f"a column of {stored_type}, a type that is not known here")
    return (None, batch.replace_schema_metadata(None)), batch.nbytes


_MATCHES = Form(_pack_matches, _unpack_matches)
_CHANGED_ROWS = Form(_pack_changed, _unpack_changed)
_GONE = Form(lambda kept: _pack_words(kept[1]), _unpack_gone)
_COLUMN = Form(_pack_column, _unpack_column)

_CHANGED = "a log of the table changed while it was read; plan the scan again"


@dataclass(frozen=True)
class _MatchedEvents:
    """Rows of events that met their file before: `seamkit.scan.units.Events`."""

    data: pa.RecordBatch
    matches: Matches
    fills: bool = False

    @cached_property
    def _exported(self) -> ExportedBatch:
        return ExportedBatch(self.data)

    def columns(self, reader: FileReader) -> Sequence[str]:
        del reader
        return ()

    def meet(
        self, batch: pa.RecordBatch, first_row: int, source: str, losers: RowNumbers | None
    ) -> RowNumbers:
        del losers  # events that fill gaps are not kept
        found = self.matches.sources[first_row : first_row + batch.num_rows]
        if len(found) < batch.num_rows:
            raise InputError(f"{source} changed while it was read; plan the scan again")
        return found

    def put_together(
        self,
        batch: pa.RecordBatch,
        sources: RowNumbers,
        losers: RowNumbers | None,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        del losers
        return assemble(batch, self.data, self._exported, sources, allocator)

    def rest(self) -> RowNumbers:
        return self.matches.rest


@dataclass(frozen=True)
class _NotedEvents:
    """Events that meet all rows of their file now; what comes of it is noted."""

    events: Events
    keep: Callable[[Matches], None]
    sources: list[RowNumbers] = field(default_factory=list)

    @property
    def data(self) -> pa.RecordBatch:
        return self.events.data

    @property
    def fills(self) -> bool:
        return self.events.fills

    def columns(self, reader: FileReader) -> Sequence[str]:
        return self.events.columns(reader)

    def meet(
        self, batch: pa.RecordBatch, first_row: int, source: str, losers: RowNumbers | None
    ) -> RowNumbers:
        self.sources.append(self.events.meet(batch, first_row, source, losers))
        return self.sources[-1]

    def put_together(
        self,
        batch: pa.RecordBatch,
        sources: RowNumbers,
        losers: RowNumbers | None,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        return self.events.put_together(batch, sources, losers, allocator)

    def rest(self) -> RowNumbers:
        rest = self.events.rest()
        sources = np.concatenate([*self.sources, np.empty(0, dtype=np.int32)])
        self.keep(Matches(sources, rest, self.data.num_rows))
        return rest


@dataclass(frozen=True)
class CachedChanges:
    """Changes of a unit as a read takes them: `seamkit.scan.merge_path.EventsOfUnit`."""

    changes: Keyed  # the unit's
    cache: EventsCache  # gives their events
    matches: Matches | None  # what they do to the unit's file, where that is known
    # whether all rows of the file will meet them, so that what comes of it can be kept
    whole: bool = False

    @property
    def key_columns(self) -> frozenset[str]:
        """Those of the changes; none where the matches are known."""
        return self.changes.key_columns if self.matches is None else frozenset()

    def load(self, names: Sequence[str], context: ReadContext) -> Events | Positions:
        """See `Keyed.load`."""
        known = self.matches
        if known is not None:
            data = self.cache.data(self.changes, names, known.n_events, context)
            return _MatchedEvents(data, known)
        loaded = self.cache.load(self.changes, names, context)
        if isinstance(loaded, np.ndarray) or loaded.fills or not self.whole:
            return loaded
        return _NotedEvents(loaded, partial(self.cache.keep_matches, self.changes))


_BYTES_A_KEY = 64  # of the index and the keys in it, about


class EventsCache:
    """Loads events once, and later only the columns that were not asked for before.

    Threads may share it. Events that fill each other's gaps are not kept, nor are those of which a
    condition left some out: whoever asks for them again gets all. Those used longest ago give way
    to others. Changes that can tell by what files they are made, and that these are the same as
    before, go to what all scans of the process share, unless nothing is `shared`; others are kept
    by this object, up to `most_bytes`.
    """

    def __init__(self, most_bytes: int = CACHE_BYTES, shared: Kept | None = None) -> None:
        self._own = Kept(most_bytes)
        self._shared = shared
        self._alone: dict[int, threading.Lock] = {}
        self._in_part: set[Hashable] = set()
        self._lock = threading.Lock()

    def of(self, changes: Keyed, *, whole: bool) -> CachedChanges:
        """Those of one unit, and what an earlier read found of its file.

        `whole`: all rows of the file will meet them.
        """
        return CachedChanges(changes, self, self.matches(changes), whole)

    def matches(self, changes: Keyed) -> Matches | None:
        """What a unit's events do to its file, where that is known."""
        store, key = self._place(changes)
        known = store.get(("matches", key), _MATCHES)
        return None if known is None else known[1]

    def load(
        self, changes: Keyed, names: Sequence[str], context: ReadContext
    ) -> LoadedEvents | Positions:
        """The events of a unit; see `Keyed.load`."""
        with self._alone_with(changes):
            store, key = self._place(changes)
            known = store.get(("events", key))
            whole = replace(context, condition=None)
            if known is not None:
                bare: LoadedEvents = known[1]
                data = self._data(changes, names, bare.data.num_rows, whole)
                return bare.over(data).fork(names, context.allocator)
            before = len(context.warnings)
            events = changes.load(names, whole if key in self._in_part else context)
            if isinstance(events, np.ndarray) or events.fills:
                return events
            if not events.whole:
                self._in_part.add(key)
                return events
            # What is warned of is warned of in every scan; and files may have changed.
            if len(context.warnings) > before or self._place(changes) != (store, key):
                store, key = self._own, id(changes)
            bare = events.over(events.data.select([]))
            # An object that is kept keeps its id.
            store.put(("events", key), (changes, bare), events.data.num_rows * _BYTES_A_KEY)
            _keep_columns(store, key, changes, events.data)
            return events.fork(names, context.allocator)

    def data(
        self, changes: Keyed, names: Sequence[str], n_events: int, context: ReadContext
    ) -> pa.RecordBatch:
        """Columns of the rows of so many events, which met their file before."""
        with self._alone_with(changes):
            return self._data(changes, names, n_events, replace(context, condition=None))

    def _data(
        self, changes: Keyed, names: Sequence[str], n_events: int, context: ReadContext
    ) -> pa.RecordBatch:
        """Those that are kept, and the others: of the logs these alone are decoded."""
        store, key = self._place(changes)
        kept = {name: store.get(("column", key, name), _COLUMN) for name in names}
        columns: dict[str, pa.RecordBatch] = {
            name: one[1]
            for name, one in kept.items()
            if one and one[1].schema.names == [name] and one[1].num_rows == n_events
        }
        missing = [name for name in kept if name not in columns]
        if missing:
            further = changes.further(missing, context)
            if further.num_rows != n_events:
                raise InputError(_CHANGED)
            if store is self._own or self._place(changes) == (store, key):
                _keep_columns(store, key, changes, further)
            columns |= {name: further.select([name]) for name in missing}
        schema = pa.schema([columns[name].schema.field(0) for name in names])
        return batch_of([columns[name].column(0) for name in names], schema, n_events)

    def keep_matches(self, changes: Keyed, matches: Matches) -> None:
        """Keep them beside the events that they were found with, if these are kept."""
        store, key = self._place(changes)
        events = store.get(("events", key))
        if events is None or events[1].data.num_rows != matches.n_events:
            return
        store.put(("matches", key), (changes, matches), matches.size_bytes, _MATCHES)
        rows = changes, matches.changed, matches.n_events
        store.put(("changed", key), rows, matches.changed.nbytes, _CHANGED_ROWS)

    def changed(self, changes: Keyed) -> tuple[RowNumbers, int] | None:
        """`Matches.changed` and `n_events` where they are known, which are less than all of it."""
        store, key = self._place(changes)
        known = store.get(("changed", key), _CHANGED_ROWS)
        return None if known is None else known[1:]

    def gone(self, unit: ReadUnit) -> Sequence[Bits] | None:
        """For each file of a unit which of its rows are gone, where that is known."""
        store, key = self._place_of_gone(unit)
        known = store.get(("gone", key), _GONE)
        return None if known is None else known[1]

    def keep_gone(
        self, unit: ReadUnit, make: Callable[[], Sequence[Bits] | None], context: ReadContext
    ) -> Sequence[Bits] | None:
        """Work it out, and keep it unless something was warned of, or the files changed."""
        place, before = self._place_of_gone(unit), len(context.warnings)
        found = make()
        if found is None or len(context.warnings) > before:
            return found
        if self._place_of_gone(unit) == place:
            store, key = place
            taken = sum(bits.nbytes for bits in found)
            store.put(("gone", key), (unit.changes, found), taken, _GONE)
        return found

    def _place_of_gone(self, unit: ReadUnit) -> tuple[Kept, Hashable]:
        return self._place_by(unit.changes, partial(gone_identity, unit))

    def _place(self, changes: Keyed) -> tuple[Kept, Hashable]:
        """Where events are kept, and by what."""
        return self._place_by(changes, changes.identity)

    def _place_by(
        self, changes: object, identity_of: Callable[[], Hashable | None]
    ) -> tuple[Kept, Hashable]:
        identity = None if self._shared is None else identity_of()
        if identity is None or self._shared is None:
            return self._own, id(changes)
        return self._shared, identity

    def _alone_with(self, changes: Keyed) -> threading.Lock:
        with self._lock:
            return self._alone.setdefault(id(changes), threading.Lock())


def _keep_columns(store: Kept, key: Hashable, changes: Keyed, data: pa.RecordBatch) -> None:
    for name in data.schema.names:
        column = data.select([name])
        store.put(("column", key, name), (changes, column), column.get_total_buffer_size(), _COLUMN)


class UnitMatches:
    """Which rows of files their units' events replace or remove; found by one thread a unit."""

    def __init__(self, schema: pa.Schema, events: EventsCache) -> None:
        self._schema = schema
        self.events = events
        self._lock = threading.Lock()
        self._alone: dict[int, threading.Lock] = {}
        # Columns that a read beside asks of the events: the logs are decoded for both at once.
        self.columns: Sequence[str] = ()

    def of(self, file: UnitFile, changes: Keyed, context: ReadContext) -> Matches | None:
        """What the events of a unit do to its file; None where they fill gaps of its rows."""
        with self._alone_with(changes):
            known = self.events.matches(changes)
            if known is not None:
                return known
            own = replace(context, file=file.open)
            events = self.events.load(changes, self.columns, own)
            if isinstance(events, np.ndarray):
                found = _removed(events, file)
            elif events.fills:
                return None
            else:
                found = self._matched(events, file)
            self.events.keep_matches(changes, found)
            return found

    def gone(self, unit: ReadUnit, context: ReadContext) -> Sequence[Bits] | None:
        """For each file of a unit which of its rows are gone; None where its events fill gaps.

        Its changes are `ChangedRows`, a mask, or runs of which one row of a key is left.
        """
        with self._alone_with(unit.changes):
            known = self.events.gone(unit)
            if known is not None:
                return known
            return self.events.keep_gone(unit, partial(self._gone, unit, context), context)

    def _gone(self, unit: ReadUnit, context: ReadContext) -> Sequence[Bits] | None:
        changes = unit.changes
        if isinstance(changes, Runs):
            found = gone_of_runs(unit, changes, self._schema, context)
            return [np.packbits(flags) for flags in found]
        (file,) = unit.files
        if isinstance(changes, ChangedRows):
            matches = self.of(file, changes.changes, context)
            return None if matches is None else [np.packbits(matches.sources != KEEP)]
        assert changes is not None
        reader = file.open()
        gone = SharedMask(changes).of(reader, context, DEFAULT_BATCH_ROWS)
        return [np.packbits(~gone.kept(0, reader.num_rows))]

    def _alone_with(self, changes: object) -> threading.Lock:
        with self._lock:
            return self._alone.setdefault(id(changes), threading.Lock())

    def _matched(self, events: Events, file: UnitFile) -> Matches:
        reader = file.open()
        names = dict.fromkeys(events.columns(reader))
        schema = pa.schema([self._schema.field(name) for name in names])
        batches = reader.batches(schema, DEFAULT_BATCH_ROWS, use_threads=False)
        at = GroupRange(range(reader.num_row_groups), 0, reader.num_rows)
        rows = RowSources.meeting(batches, events, at, reader.name, keeps=False)
        return Matches(rows.sources, events.rest(), events.data.num_rows)


def _removed(positions: Positions, file: UnitFile) -> Matches:
    """Events that do nothing but remove rows by position."""
    reader = file.open()
    gone = GoneRows(positions, reader.num_rows, reader.name)
    sources = np.full(reader.num_rows, KEEP, np.int32)
    sources[gone.within(0, reader.num_rows)] = REMOVE
    return Matches(sources, np.empty(0, np.int32), 0)


@dataclass(frozen=True)
class ChangedRows:
    """Changes of a unit of which the rows that its file does not hold are read, and no others.

    They are `seamkit.scan.units.Keyed`.
    """

    file: UnitFile  # the unit's, which an engine reads under a mask
    changes: Keyed  # its events
    matches: UnitMatches  # what they do to the file

    @property
    def key_columns(self) -> frozenset[str]:
        """None: there is no file of which row groups could be left out."""
        return frozenset()

    def identity(self) -> Hashable | None:
        """See `Keyed.identity`."""
        return self.changes.identity()

    def load(self, names: Sequence[str], context: ReadContext) -> LoadedEvents | Positions:
        """See `Keyed.load`."""
        return self.changes.load(names, context)

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """See `Keyed.further`."""
        return self.changes.further(names, context)


def changed_rows(
    changed: ChangedRows, schema: pa.Schema, wanted: Wanted, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """The rows that replace others or are added; all rows of a unit whose events fill gaps."""
    changes, file, cache = changed.changes, changed.file, changed.matches.events
    known = cache.changed(changes)
    if known is None:
        matches = changed.matches.of(file, changes, context)
        if matches is None:
            own = cache.of(changes, whole=False)
            return UnitMerge(file, own, schema, wanted, context).all_rows()
        known = matches.changed, matches.n_events
    rows, n_events = known
    if not len(rows):
        return iter(())
    only = Matches(np.empty(0, np.int32), rows, n_events)
    return UnitMerge(None, CachedChanges(changes, cache, only), schema, wanted, context).all_rows()

"""Where the events of units come from: decoded anew, or kept from one read to the next.

A query engine reads a table that was registered with it again and again, other columns each time.
What a unit's events come to stays the same, and so does which rows of its file they replace: the
plan of the scan is fixed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from seambase.errors import InputError
from seamkit.files.kept import CACHE_BYTES, Kept
from seamkit.scan.merging.log_index import KEEP, RowNumbers
from seamkit.scan.units import Events, Keyed, Positions, ReadContext

__all__ = ["EventsCache", "EventsSource", "FreshEvents", "Matches", "UnitSource"]


@dataclass(frozen=True)
class Matches:
    """Which rows of a unit's file its events replace or remove.

    Attributes:
        sources: for each row of the file where its values come from.
        rest: rows of the events that match no row of the file.
        n_events: rows of the events that both refer to.
    """

    sources: RowNumbers
    rest: RowNumbers
    n_events: int

    @cached_property
    def changed(self) -> RowNumbers:
        """Rows of the events that replace a row of the file, or match none; ascending."""
        rows = np.concatenate([self.sources[self.sources > KEEP], self.rest])
        flags = np.zeros(self.n_events, dtype=np.bool_)
        flags[rows] = True
        once = np.flatnonzero(flags).astype(np.int32)
        return once if len(once) == len(rows) else np.sort(rows)  # an event may replace several

    @property
    def size_bytes(self) -> int:
        """Of memory, with `changed`."""
        return self.sources.nbytes + self.rest.nbytes + self.n_events * self.rest.itemsize

    def check(self, events: Events) -> None:
        """Make sure that rows of events are those that were looked at.

        Raises:
            InputError: they are others, since a log has changed.
        """
        if events.data.num_rows != self.n_events:
            raise InputError(_CHANGED)


_CHANGED = "a log of the table changed while it was read; plan the scan again"


Load = Callable[[Sequence[str], ReadContext], Events | Positions]


@dataclass(frozen=True)
class UnitSource:
    """The events of one unit as a read takes them, whoever keeps them.

    Attributes:
        load: gives them; see `Keyed.load`.
        known: what they do to the unit's file, where an earlier read has found it.
        keep: takes what a read has found of the whole file; None where nobody asks again.
    """

    load: Load
    known: Matches | None = None
    keep: Callable[[Matches], None] | None = None


class EventsSource(Protocol):
    """Gives the events of units to the threads of a read."""

    def of(self, changes: Keyed) -> UnitSource:
        """Those of one unit."""
        ...


class FreshEvents:
    """Decodes and folds anew each time."""

    def of(self, changes: Keyed) -> UnitSource:
        """Those of one unit, of which nothing is known before."""
        return UnitSource(changes.load)


_BYTES_A_KEY = 64  # of the index and the keys in it, about


class EventsCache:
    """Loads events once, and later only the columns that were not asked for before.

    Threads may share it. Events that fill each other's gaps are not kept, nor are those of which a
    condition left some out: whoever asks for them again gets all. Those used longest ago give way
    to others. Changes that can tell by what files they are made, and that these are the same as
    before, are shared with all scans of the process; others are kept by this object.

    Args:
        most_bytes: what this object may keep itself.
        shared: what scans share; None to share nothing.
    """

    def __init__(self, most_bytes: int = CACHE_BYTES, shared: Kept | None = None) -> None:
        self._own = Kept(most_bytes)
        self._shared = shared
        self._alone: dict[int, threading.Lock] = {}
        self._in_part: set[Hashable] = set()
        self._lock = threading.Lock()

    def of(self, changes: Keyed) -> UnitSource:
        """Those of one unit, and what an earlier read found of its file."""
        store, key = self._place(changes)
        known = store.get(("matches", key))
        return UnitSource(
            partial(self.load, changes),
            None if known is None else known[1],
            partial(self._keep_matches, changes),
        )

    def load(
        self, changes: Keyed, names: Sequence[str], context: ReadContext
    ) -> Events | Positions:
        """The events of a unit; see `Keyed.load`."""
        with self._lock:
            alone = self._alone.setdefault(id(changes), threading.Lock())
        with alone:
            store, key = self._place(changes)
            known = store.get(("events", key))
            whole = replace(context, condition=None)
            if known is None:
                told = len(context.warnings)
                loaded = changes.load(names, whole if key in self._in_part else context)
                if isinstance(loaded, np.ndarray) or loaded.fills:
                    return loaded
                if not loaded.whole:
                    self._in_part.add(key)
                    return loaded
                events = loaded
                # What is told of damage is told to every scan; and files may have changed.
                if len(context.warnings) > told or self._place(changes) != (store, key):
                    store, key = self._own, id(changes)
                self._keep(store, key, changes, events)
            else:
                events = known[1]
            missing = [n for n in names if events.data.schema.get_field_index(n) < 0]
            if missing:
                # Keys and what orders them are known: of the logs these columns alone are decoded.
                further = changes.further(missing, whole)
                if further.num_rows != events.data.num_rows:
                    raise InputError(_CHANGED)
                events = events.beside(further)
                if self._place(changes) == (store, key) or store is self._own:
                    self._keep(store, key, changes, events)
        return events.fork(names, context.allocator)

    def _keep_matches(self, changes: Keyed, matches: Matches) -> None:
        """Keep them beside the events that they were found with, if these are kept."""
        store, key = self._place(changes)
        events = store.get(("events", key))
        if events is None or events[1].data.num_rows != matches.n_events:
            return
        store.put(("matches", key), (changes, matches), matches.size_bytes)

    def _place(self, changes: Keyed) -> tuple[Kept, Hashable]:
        """Where events are kept, and by what."""
        identity = None if self._shared is None else changes.identity()
        if identity is None or self._shared is None:
            return self._own, id(changes)
        return self._shared, identity

    @staticmethod
    def _keep(store: Kept, key: Hashable, changes: Keyed, events: Events) -> None:
        taken = events.data.get_total_buffer_size() + events.data.num_rows * _BYTES_A_KEY
        # An object that is kept keeps its id.
        store.put(("events", key), (changes, events), taken)

"""Where the events of units come from: decoded anew, or kept from one read to the next.

A query engine reads a table that was registered with it again and again, other columns each time.
What a unit's events come to stays the same, and so does which rows of its file they replace: the
plan of the scan is fixed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seamkit.scan.merge import Words
from seamkit.scan.units import Events, Keyed, Positions, ReadContext

__all__ = ["CACHE_BYTES", "EventsCache", "EventsSource", "FreshEvents", "Matches"]

CACHE_BYTES = 512 << 20
"""What the decoded events of one dataset may take between reads."""


@dataclass(frozen=True)
class Matches:
    """Which rows of a unit's file its events replace or remove.

    Attributes:
        sources: for each row of the file where its values come from.
        rest: rows of the events that match no row of the file.
    """

    sources: Words
    rest: Words


class EventsSource(Protocol):
    """Gives the events of units to the threads of a read.

    Attributes:
        keeps_matches: whether there is a use for `keep_matches`.
    """

    keeps_matches: bool

    def load(
        self, changes: Keyed, names: Sequence[str], context: ReadContext
    ) -> Events | Positions:
        """The events of a unit; see `Keyed.load`."""
        ...

    def matches(self, changes: Keyed) -> Matches | None:
        """What an earlier read found of a unit's file; None if it is not known."""
        ...

    def keep_matches(self, changes: Keyed, matches: Matches) -> None:
        """Take what a read has found of a whole file."""
        ...


class FreshEvents:
    """Decodes and folds anew each time."""

    keeps_matches = False

    def load(
        self, changes: Keyed, names: Sequence[str], context: ReadContext
    ) -> Events | Positions:
        """See `Keyed.load`."""
        return changes.load(names, context)

    def matches(self, changes: Keyed) -> None:
        """None."""
        del changes

    def keep_matches(self, changes: Keyed, matches: Matches) -> None:
        """Nothing is kept."""
        del changes, matches


_BYTES_A_KEY = 64  # of the index and the keys in it, about


class EventsCache:
    """Loads events once, and later only the columns that were not asked for before.

    Threads may share it. Events that fill each other's gaps are not kept, nor those for which there
    is no room any more.

    Args:
        most_bytes: what may be kept.
    """

    keeps_matches = True

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._room = most_bytes
        # By the identity of the changes, which are kept alive beside.
        self._kept: dict[int, tuple[Keyed, Events]] = {}
        self._matches: dict[int, tuple[Keyed, Matches]] = {}
        self._alone: dict[int, threading.Lock] = {}
        self._lock = threading.Lock()

    def load(
        self, changes: Keyed, names: Sequence[str], context: ReadContext
    ) -> Events | Positions:
        """The events of a unit; see `Keyed.load`."""
        with self._lock:
            alone = self._alone.setdefault(id(changes), threading.Lock())
        with alone:
            events = self._kept.get(id(changes), (changes, None))[1]
            if events is None:
                loaded = changes.load(names, context)
                if isinstance(loaded, np.ndarray) or loaded.fills:
                    return loaded
                events = loaded
                taken = events.data.get_total_buffer_size() + events.data.num_rows * _BYTES_A_KEY
                if not self._take_room(taken):
                    return events
                self._kept[id(changes)] = changes, events
            missing = [n for n in names if events.data.schema.get_field_index(n) < 0]
            if missing:
                further = changes.load(missing, context)
                assert not isinstance(further, np.ndarray)  # the same blocks as before
                events = events.beside(further)
                if self._take_room(further.data.get_total_buffer_size()):
                    self._kept[id(changes)] = changes, events
        return events.fork(names, context.allocator)

    def matches(self, changes: Keyed) -> Matches | None:
        """What an earlier read found of a unit's file; None if it is not known."""
        return self._matches.get(id(changes), (changes, None))[1]

    def keep_matches(self, changes: Keyed, matches: Matches) -> None:
        """Keep them if there is room."""
        taken = matches.sources.nbytes + matches.rest.nbytes
        if id(changes) not in self._matches and self._take_room(taken):
            self._matches[id(changes)] = changes, matches

    def _take_room(self, wanted: int) -> bool:
        with self._lock:
            if wanted > self._room:
                return False
            self._room -= wanted
            return True

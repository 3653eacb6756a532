"""Folded events kept from one read of a dataset to the next.

A query engine reads a table that was registered with it again and again, other columns each time.
What a unit's events come to stays the same: the plan of the scan is fixed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seamkit.scan.units import Events, Keyed, Positions, ReadContext

__all__ = ["CACHE_BYTES", "EventsCache"]

CACHE_BYTES = 512 << 20
"""What the decoded events of one dataset may take between reads."""

_BYTES_A_KEY = 64  # of the index and the keys in it, about


class EventsCache:
    """Loads events once, and later only the columns that were not asked for before.

    Threads may share it. Events that fill each other's gaps are not kept, nor those for which there
    is no room any more.

    Args:
        most_bytes: what may be kept.
    """

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._room = most_bytes
        self._kept: dict[int, tuple[Keyed, Events]] = {}  # by the identity of the changes
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
                if not self._keep(changes, events, events.data, events.data.num_rows):
                    return events
            missing = [n for n in names if events.data.schema.get_field_index(n) < 0]
            if missing:
                further = changes.load(missing, context)
                assert not isinstance(further, np.ndarray)  # the same blocks as before
                events = events.beside(further)
                self._keep(changes, events, further.data, 0)
        return events.fork(names, context.allocator)

    def _keep(self, changes: Keyed, events: Events, added: pa.RecordBatch, keys: int) -> bool:
        """Keep events if there is room for what was added to them."""
        taken = added.get_total_buffer_size() + keys * _BYTES_A_KEY
        with self._lock:
            if taken > self._room:
                return False
            self._room -= taken
            self._kept[id(changes)] = changes, events
        return True

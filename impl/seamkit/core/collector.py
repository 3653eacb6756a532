"""Python's collector of cycles, at rest while plans are made.

It looks through all objects again and again while their number grows. A plan of many files is a
hundred thousand objects without a cycle among them, and half of the time that it takes to make them
was the collector's.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()
_resting = 0


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no cycles in this process meanwhile; what has no cycle is freed as ever.

    Threads may overlap: the last one to leave lets the collector work again. One that the program
    itself has switched off stays off, and has this count for nothing.
    """
    global _resting
    with _LOCK:
        counts = _resting > 0 or gc.isenabled()
        _resting += counts
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            _resting -= counts
            if counts and not _resting:
                gc.enable()

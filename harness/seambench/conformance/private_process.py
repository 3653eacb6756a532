"""Whether other processes of the same user may look into this one."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


def _prctl(option: int, value: int = 0) -> int:
    """The system's answer; 0 where there is no such call."""
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0)) if sys.platform == "linux" else 0


def make_private() -> None:
    """Close memory and descriptors of this process to the others of its user: no core, no ptrace.

    What it starts is as open as ever.
    """
    _prctl(_PR_SET_DUMPABLE, 0)


@contextlib.contextmanager
def open_to_itself() -> Iterator[None]:
    """Open a private process for a while: its own files below /proc are closed to it, too."""
    before = _prctl(_PR_GET_DUMPABLE)
    _prctl(_PR_SET_DUMPABLE, 1)
    try:
        yield
    finally:
        _prctl(_PR_SET_DUMPABLE, before)

"""What peers that run in a JVM of this process share: their Java sources, and warming up."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

#: Loops that must not pay for the border between the languages.
SOURCES = Path(__file__).with_name("java")


def run_warm(loop: Callable[[int], object], seconds: float) -> None:
    """Run a loop of Java in longer and longer turns, so that Java compiles it.

    It takes the number of passes of a turn; after so many seconds no further one begins.
    """
    passes, end = 1, time.perf_counter() + seconds
    while time.perf_counter() < end:
        loop(passes)
        # A turn of few short passes would be nearly all border.
        passes = min(2 * passes, 1024)

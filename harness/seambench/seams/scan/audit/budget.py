"""What an audit may spend, and what it left out for it."""

from __future__ import annotations

import time

from seambench.seams.scan.audit.model import Limits


class Budget:
    """Seconds from now on, and bytes, spent as an audit goes on.

    Bytes are those that our own reader may read, counted by the sizes of files.
    """

    def __init__(self, seconds: float, most_bytes: int) -> None:
        self.seconds, self.most_bytes = seconds, most_bytes
        self._end = time.monotonic() + seconds
        self._spent = 0
        self._reached: list[str] = []

    @property
    def seconds_left(self) -> float:
        """Before the end; not below 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def bytes_left(self) -> int:
        """Not spent yet; not below 0."""
        return max(0, self.most_bytes - self._spent)

    def spend(self, count: int) -> None:
        """Bytes were read."""
        self._spent += count

    def reach(self, left_out: str) -> None:
        """A limit was reached: say what was left out."""
        self._reached.append(left_out)

    def limits(self) -> Limits:
        """Both limits, and all that was left out."""
        return Limits(seconds=self.seconds, bytes=self.most_bytes, reached=list(self._reached))

"""How long the parts of an exchange take; names and meanings are those of StarRocks' profile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Spent:
    """What one thread spends nanoseconds on; a part within another stops that one's clock.

    Attributes:
        ns: by part.
    """

    def __init__(self) -> None:
        self.ns: Counter[str] = Counter()
        self._open: list[str] = []
        self._since = 0

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Count what is done within as time of this part."""
        self._note()
        self._open.append(part)
        try:
            yield
        finally:
            self._note()
            self._open.pop()

    def _note(self) -> None:
        now = time.perf_counter_ns()
        if self._open:
            self.ns[self._open[-1]] += now - self._since
        self._since = now


class RoundTrips:
    """Requests to one destination, from their leaving to their answers.

    `leave` and `arrive` may come from different threads; two answers come one after the other.
    """

    def __init__(self) -> None:
        self._left: dict[int, int] = {}
        self._answers = self._concurrent = self._network_ns = 0
        self.first_ns = self.last_ns = 0

    def leave(self, sequence: int) -> None:
        """A request is handed to its transport."""
        now = time.perf_counter_ns()
        self.first_ns = self.first_ns or now
        self._left[sequence] = now

    def arrive(self, sequence: int, receiver_ns: int) -> None:
        """The answer to a request is there.

        The receiver says how long it took from arrival to answer; it is believed up to the whole
        time.
        """
        left = self._left.pop(sequence, None)
        if left is None:
            return
        self.last_ns = time.perf_counter_ns()
        whole = self.last_ns - left
        self._network_ns += whole - min(max(receiver_ns, 0), whole)
        self._answers += 1
        self._concurrent += len(self._left) + 1

    @property
    def answers(self) -> int:
        """Requests that were answered."""
        return self._answers

    @property
    def network_ns(self) -> int:
        """Time on the way: that of all requests, divided by how many were on it at once."""
        return self._network_ns * self._answers // max(self._concurrent, 1)

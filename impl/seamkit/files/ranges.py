"""A file far away as a file object: few requests, each for what lies near together.

A request costs its way there and back, whatever it asks for. So ranges that lie near are one
request, what a reader says that it will read comes in the background before it is asked for, and
the end of a file, where its footer lies, is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

import pyarrow as pa

_PLANS = 4
_FETCHED = 2

Span = tuple[int, int]
"""Position of the first byte, and of the one behind the last."""


@dataclass(frozen=True)
class Ranges:
    """How parts of files far away are fetched."""

    # ranges with at most so many bytes between them are one request, and files of at most so many
    # bytes are read at once: what 30 ms bring at 30 MB/s
    gap_bytes: int = 1 << 20
    # of the end of a file that come with the first read there; footers that hold the bloom filter
    # of a table's keys have a megabyte
    tail_bytes: int = 1 << 20
    ahead: int = 1  # steps of a read, such as row groups, that are fetched while one is in use


def near(spans: Iterable[Span], gap_bytes: int) -> list[Span]:
    """Spans in order, those as one that touch, overlap, or have at most so many bytes between."""
    joined: list[Span] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1] + gap_bytes:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined


class FarFile(pa.PythonFile):  # type: ignore[misc]  # pyarrow has no types
    """A file of which parts are fetched; for one thread at a time."""

    def __init__(self, ranges: _Ranged, mode: str) -> None:
        del mode  # pyarrow's own
        self._ranges = ranges

    @classmethod
    def of(
        cls, fetch: Callable[[int, int], bytes], size_bytes: int, how: Ranges, pool: Executor
    ) -> FarFile:
        """A file of which `fetch` gives the bytes between two positions, called by several threads.

        `how` says what is one request, and `pool` where it is fetched ahead.
        """
        return cls(_Ranged(fetch, size_bytes, how, pool), mode="r")

    def again(self) -> FarFile:
        """The same file for another reader, with what is known of its end."""
        return type(self)(self._ranges.again(), mode="r")

    def fetch(self, spans: Sequence[Span]) -> None:
        """Fetch what this reader and others of the file (`again`) will read in any order.

        It is kept until two further calls have asked for something else.
        """
        self._ranges.fetch(spans)

    def expect(self, steps: Sequence[Sequence[Span]]) -> None:
        """Say what will be read, step by step.

        A step is fetched when the one before it is begun, and forgotten once the next one is. A
        reader may read in several orders at a time, each said by a call: the last few hold.
        """
        self._ranges.expect(steps)


@dataclass
class _Part:
    begin: int
    end: int
    content: Future[bytes]

    def within(self, begin: int, end: int) -> memoryview:
        """Bytes of it, once they are here."""
        return memoryview(self.content.result())[begin - self.begin : end - self.begin]


@dataclass
class _Plan:
    """What is still to be fetched, and what was, each a step."""

    steps: deque[list[Span]]
    parts: deque[list[_Part]] = field(default_factory=deque)


class _Ranged:
    """The file object that `pyarrow.PythonFile` calls."""

    def __init__(
        self, fetch: Callable[[int, int], bytes], size_bytes: int, how: Ranges, pool: Executor
    ) -> None:
        self._fetch = fetch
        self._size_bytes = size_bytes
        self._how = how
        self._pool = pool
        self._tail: tuple[int, bytes] | None = None
        self._plans: deque[_Plan] = deque(maxlen=_PLANS)
        self._fetched: deque[list[_Part]] = deque(maxlen=_FETCHED)
        self._at = 0
        self.closed = False

    def again(self) -> _Ranged:
        other = _Ranged(self._fetch, self._size_bytes, self._how, self._pool)
        other._tail = self._tail
        other._fetched = self._fetched
        return other

    def fetch(self, spans: Sequence[Span]) -> None:
        left = self._lacking(spans)
        if left:
            self._fetched.append(self._submitted(left))

    def expect(self, steps: Sequence[Sequence[Span]]) -> None:
        left = map(self._lacking, steps)
        plan = _Plan(deque(step for step in left if step))
        self._plans.append(plan)
        self._fetch_ahead(plan)

    def _lacking(self, spans: Sequence[Span]) -> list[Span]:
        """What has to be fetched: not the end of the file, nor what was fetched for all."""
        known = self._size_bytes if self._tail is None else self._tail[0]
        size = self._size_bytes
        inside = ((begin, min(end, size)) for begin, end in spans)
        lacking = (span for span in inside if self._part(*span) is None)
        return [span for span in near(lacking, self._how.gap_bytes) if span[0] < known]

    def _part(self, begin: int, end: int) -> _Part | None:
        """What was fetched for all readers and holds a span."""
        for part in (part for parts in tuple(self._fetched) for part in parts):
            if part.begin <= begin and end <= part.end:
                return part
        return None

    def _submitted(self, spans: Sequence[Span]) -> list[_Part]:
        return [_Part(b, e, self._pool.submit(self._fetch, b, e)) for b, e in spans]

    def _fetch_ahead(self, plan: _Plan) -> None:
        while plan.steps and len(plan.parts) <= self._how.ahead:
            plan.parts.append(self._submitted(plan.steps.popleft()))

    def read(self, n: int = -1) -> bytes | memoryview:
        """The next `n` bytes, or what is left."""
        begin = self._at
        end = self._size_bytes if n < 0 else min(begin + n, self._size_bytes)
        if end <= begin:
            return b""
        content = self._held(begin, end)
        self._at = end
        return self._fetch(begin, end) if content is None else content

    def _held(self, begin: int, end: int) -> memoryview | None:
        """The bytes, if they are here or on their way."""
        fetched = self._part(begin, end)
        if fetched is not None:
            return fetched.within(begin, end)
        for plan in self._plans:
            for number, parts in enumerate(plan.parts):
                for part in parts:
                    if part.begin <= begin and end <= part.end:
                        for _ in range(number):
                            plan.parts.popleft()
                        self._fetch_ahead(plan)
                        return part.within(begin, end)
        if self._tail is None:
            first = self._tail_begin(begin, end)
            if first is None:
                return None
            self._tail = first, self._fetch(first, self._size_bytes)
        first, tail = self._tail
        return memoryview(tail)[begin - first : end - first] if begin >= first else None

    def _tail_begin(self, begin: int, end: int) -> int | None:
        """Where the tail begins, if a read is in it or goes to the end; small files are tails."""
        if self._size_bytes <= self._how.gap_bytes:
            return 0
        first = self._size_bytes - self._how.tail_bytes
        return min(begin, first) if end == self._size_bytes or begin >= first else None

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move; `whence` as in `io.IOBase.seek`."""
        self._at = offset + (0, self._at, self._size_bytes)[whence]
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def readable(self) -> bool:
        """True: as `io.IOBase.readable`."""
        return True

    def seekable(self) -> bool:
        """True: reads may begin anywhere."""
        return True

    def writable(self) -> bool:
        """False: files are only read."""
        return False

    def flush(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """What was fetched is given up."""
        self._plans.clear()
        self._fetched = deque(maxlen=_FETCHED)  # others may still read what this one shared
        self.closed = True

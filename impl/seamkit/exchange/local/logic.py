"""Exchanges between the drivers of one fragment: who reads what, and when the writers must wait.

The kinds and limits are those of StarRocks' LocalExchanger (local_exchange.{h,cpp}, June 2025), as
pure logic: no thread, no clock, no bytes. Of rows it sees hashes, and of chunks the size;
an owner around it (`threads`) takes the rows of a chunk that `accept` deals, or has dealt
them itself, and carries what `pull` gives.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from seambase.errors import UsageError

LocalKind = Literal[
    "partition",
    "ordered-partition",
    "key-partition",
    "broadcast",
    "passthrough",
    "direct-through",
    "connector-sink-passthrough",
    "random-passthrough",
    "adaptive-passthrough",
]
#: Kinds by name, with what each does.
KINDS: dict[LocalKind, str] = {
    "partition": "rows by hash; a reader gets them in chunks of full size",
    "ordered-partition": "rows by hash, each chunk's rows at once, so that writers' order is kept",
    "key-partition": "a chunk a distinct key, to hash mod n",
    "broadcast": "every chunk to every reader",
    "passthrough": "whole chunks in turns",
    "direct-through": "whole chunks from writer i to reader i mod n",
    "connector-sink-passthrough": "whole chunks in turns, over ever more readers as bytes grow",
    "random-passthrough": "whole chunks to a reader by chance",
    "adaptive-passthrough": "rows in turns until chunks are many, then whole chunks in turns",
}

#: Kinds by whose keys' hashes rows are dealt.
BY_HASH: tuple[LocalKind, ...] = ("partition", "ordered-partition", "key-partition")

_HOST_LIMIT_BYTES = 128 << 30


@dataclass(frozen=True)
class LocalOptions:
    """Limits, under StarRocks' names.

    Attributes:
        local_exchange_buffer_mem_limit_per_driver: bytes that wait for each input driver; times
            their number, at most 128 GiB, is where writers must wait.
        chunk_size: rows at which a partition's reader gets its rows.
        writer_scaling_min_size_bytes: bytes that each reader of a scaled sink must have taken
            before one more takes part.
    """

    local_exchange_buffer_mem_limit_per_driver: int = 128 << 20
    chunk_size: int = 4096
    writer_scaling_min_size_bytes: int = 128 << 20

    def __post_init__(self) -> None:
        if self.local_exchange_buffer_mem_limit_per_driver < 1 or self.chunk_size < 1:
            raise UsageError("limits of a local exchange are 1 or more")


@dataclass(frozen=True)
class LocalChunk:
    """Rows of one chunk on their way to one reader.

    Attributes:
        payload: the chunk they are of.
        rows: their numbers within it, ascending; None for all.
    """

    payload: Any
    rows: tuple[int, ...] | None
    count: int
    bytes: int


@dataclass(frozen=True)
class DealtRows:
    """Rows of one chunk that are apart already."""

    reader: int  # who is to read them
    payload: Any  # they, and nothing else
    count: int
    bytes: int


@dataclass
class _Reader:
    chunks: deque[LocalChunk] = field(default_factory=deque)
    rows: int = 0
    bytes: int = 0
    finished: bool = False


class LocalExchange:
    """One exchange of a kind in `KINDS` between input and output drivers."""

    def __init__(
        self,
        kind: LocalKind,
        writers: int,
        readers: int,
        options: LocalOptions | None = None,
        seed: int = 0,
    ) -> None:
        if kind not in KINDS:
            raise UsageError(f"unknown local exchange {kind!r}; there are {', '.join(KINDS)}")
        if writers < 1 or readers < 1:
            raise UsageError("a local exchange has at least one writer and one reader")
        self.kind = kind
        self._options = options or LocalOptions()
        self._writers = writers
        self._remaining = writers
        self._readers = [_Reader() for _ in range(readers)]
        self._dice = random.Random(seed)
        self._turn = 0
        self._chunks_seen = 0
        self._bytes_seen = 0

    @property
    def limit_bytes(self) -> int:
        """Bytes beyond which writers wait."""
        per_driver = self._options.local_exchange_buffer_mem_limit_per_driver
        return min(_HOST_LIMIT_BYTES, self._writers * per_driver)

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait for readers; what is broadcast counts once for each."""
        return sum(reader.bytes for reader in self._readers)

    @property
    def is_full(self) -> bool:
        """Whether writers must wait: at the limit already."""
        return self.waiting_bytes >= self.limit_bytes

    def accept(self, writer: int, payload: Any, rows: int, size_bytes: int) -> None:
        """Take a chunk of a kind that hashes nothing; its writer asked `is_full` before."""
        self._check_writer(writer)
        if self.kind in BY_HASH:
            raise UsageError(f"rows of {self.kind} are dealt by the owner")
        if rows == 0:
            return
        self._chunks_seen += 1
        self._bytes_seen += size_bytes
        if self.kind == "adaptive-passthrough" and self._few_chunks():
            self._by_rows(payload, rows, size_bytes)
        else:
            for reader in self._whole(writer):
                self._give(reader, LocalChunk(payload, None, rows, size_bytes))

    def accept_dealt(self, writer: int, dealt: Sequence[DealtRows]) -> None:
        """Take the rows of a chunk that the owner has dealt, of a kind that hashes (`BY_HASH`)."""
        self._check_writer(writer)
        if self.kind not in BY_HASH:
            raise UsageError(f"{self.kind} deals by itself")
        if any(not 0 <= one.reader < len(self._readers) for one in dealt):
            raise UsageError(f"there are readers 0 to {len(self._readers) - 1}")
        self._chunks_seen += 1
        self._bytes_seen += sum(one.bytes for one in dealt)
        for one in dealt:
            self._give(one.reader, LocalChunk(one.payload, None, one.count, one.bytes))

    def _check_writer(self, writer: int) -> None:
        if not 0 <= writer < self._writers or self._remaining == 0:
            raise UsageError(f"writer {writer} is none of this exchange, or all have ended")

    def _few_chunks(self) -> bool:
        """Until more than half as many chunks came as there are readers, rows are dealt."""
        return self._chunks_seen <= len(self._readers) // 2

    def _whole(self, writer: int) -> Iterable[int]:
        """Readers of a chunk that goes whole."""
        count = len(self._readers)
        if self.kind == "broadcast":
            return range(count)
        if self.kind == "direct-through":
            return [writer % count]
        if self.kind == "random-passthrough":
            return [self._dice.randrange(count)]
        if self.kind == "connector-sink-passthrough":
            each = self._options.writer_scaling_min_size_bytes
            count = min(count, 1 + (self._bytes_seen - 1) // max(each, 1))
        found = self._turn % count
        self._turn = found + 1
        return [found]

    def _by_rows(self, payload: Any, rows: int, size_bytes: int) -> None:
        """Rows in turns; the bytes of a chunk are shared among them without a rest."""
        count, turn = len(self._readers), self._turn
        self._turn = (turn + rows) % count
        given, before = 0, 0
        for first in range(min(count, rows)):
            numbers = tuple(range(first, rows, count))
            before += len(numbers)
            share = size_bytes * before // rows - given
            given += share
            chunk = LocalChunk(payload, numbers, len(numbers), share)
            self._give((turn + first) % count, chunk)

    def _give(self, number: int, chunk: LocalChunk) -> None:
        reader = self._readers[number]
        if reader.finished:
            return
        reader.chunks.append(chunk)
        reader.rows += chunk.count
        reader.bytes += chunk.bytes

    def end(self) -> None:
        """One writer has ended."""
        if self._remaining == 0:
            raise UsageError("all writers have ended")
        self._remaining -= 1

    @property
    def is_ended(self) -> bool:
        """Whether all writers have ended."""
        return self._remaining == 0

    def has_output(self, reader: int) -> bool:
        """Whether a reader should pull now.

        Of `partition`: when it has a chunk's rows, when all writers have ended, or when four fifths
        of what one driver may hold wait; and, beyond the original, when writers wait: many readers
        with few bytes each could fill the exchange and nobody would ever go on. Of the others as
        soon as anything waits.
        """
        own = self._readers[reader]
        if not own.chunks or self.kind != "partition" or self._remaining == 0:
            return bool(own.chunks)
        per_driver = self._options.local_exchange_buffer_mem_limit_per_driver
        enough = own.rows >= self._options.chunk_size or own.bytes * 5 >= per_driver * 4
        return enough or self.is_full

    def pull(self, reader: int) -> list[LocalChunk]:
        """What a reader takes: of `partition` up to a chunk's rows together, else one chunk."""
        own = self._readers[reader]
        taken: list[LocalChunk] = []
        rows = 0
        while own.chunks:
            more = rows + own.chunks[0].count
            if taken and (self.kind != "partition" or more > self._options.chunk_size):
                break
            chunk = own.chunks.popleft()
            rows = more
            own.rows -= chunk.count
            own.bytes -= chunk.bytes
            taken.append(chunk)
        return taken

    def finish_reader(self, reader: int) -> None:
        """A reader needs nothing more; what it has and what still comes to it is dropped."""
        self._readers[reader] = _Reader(finished=True)

    def drop(self) -> None:
        """Nobody will read: what waits, and what still comes, is dropped."""
        for reader in range(len(self._readers)):
            self.finish_reader(reader)

    def is_finished(self, reader: int) -> bool:
        """Whether nothing will come to a reader any more."""
        found = self._readers[reader]
        return found.finished or (self._remaining == 0 and not found.chunks)

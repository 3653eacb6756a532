"""What crosses between sender and receiver. Payloads are opaque: logic counts, it does not look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Chunk:
    """Rows for one driver of a receiver.

    Attributes:
        payload: the rows; whatever the transport carries.
        bytes: its size as it is sent.
        driver_sequence: the driver that is to read it.
    """

    payload: Any
    bytes: int
    driver_sequence: int = 0


@dataclass(frozen=True)
class Bound:
    """In place of a chunk's rows: how far its sender is, whoever its rows were for.

    Attributes:
        key: an Arrow IPC stream of one row of the columns that are sorted by, before which nothing
            comes from the sender any more.
    """

    key: bytes


@dataclass(frozen=True)
class QueryStatistics:
    """What a sender has to say of itself with its end."""

    rows: int  # that its drivers wrote
    memory_bytes: int  # most that its sink had allocated


@dataclass(frozen=True)
class Request:
    """A batch of chunks from one sender to one destination (PTransmitChunkParams).

    Attributes:
        be_number: number of the sending fragment instance, unique in the query.
        sender_id: which of the merging receiver's inputs it feeds.
        chunks: what it carries; may be none, to say only that the sender ends.
        eos: nothing follows from this sender.
        sequence: 0 for a sender's first request to this destination, then 1 more each time; -1
            before the sink buffer has numbered it.
        finst_id: the fragment instance that it is for, 128 bits; 0: whichever has the exchange.
        use_pass_through: its chunks are batches that change hands.
        pipeline_level_shuffle: whether its chunks say which driver reads them; None: as the
            receiver has it.
        statistics: of the sender, with its end.
        bound: to a receiver that merges: how far its sender is, behind the chunks.
    """

    be_number: int
    sender_id: int
    chunks: tuple[Chunk, ...] = ()
    eos: bool = False
    sequence: int = -1
    finst_id: int = 0
    use_pass_through: bool = False
    pipeline_level_shuffle: bool | None = None
    statistics: QueryStatistics | None = None
    bound: Bound | None = None

    @property
    def is_announcement(self) -> bool:
        """Whether it only says whose requests will come."""
        return self.sequence < 0 and not self.chunks and not self.eos

    @property
    def bytes(self) -> int:
        """Bytes of all chunks."""
        return sum(chunk.bytes for chunk in self.chunks)


@dataclass(frozen=True)
class Answer:
    """What a receiver says to a request, at once or later.

    Attributes:
        error: None when all is well, else why the query must end.
        receiver_ns: from the request's arrival at the receiver to this answer, however long it was
            withheld; 0 where nobody says.
    """

    be_number: int
    sequence: int
    error: str | None = field(default=None)
    receiver_ns: int = field(default=0, compare=False)

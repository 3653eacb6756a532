"""What crosses between sender and receiver. Payloads are opaque: logic counts, it does not look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "Chunk", "Request"]


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
class Request:
    """A batch of chunks from one sender to one destination (PTransmitChunkParams).

    Attributes:
        be_number: number of the sending fragment instance, unique in the query.
        sender_id: which of the merging receiver's inputs it feeds.
        chunks: what it carries; may be none, to say only that the sender ends.
        eos: nothing follows from this sender.
        sequence: 0 for a sender's first request to this destination, then 1 more each time; -1
            before the sink buffer has numbered it.
    """

    be_number: int
    sender_id: int
    chunks: tuple[Chunk, ...] = ()
    eos: bool = False
    sequence: int = -1

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
        be_number: of the request.
        sequence: of the request.
        error: None when all is well, else why the query must end.
    """

    be_number: int
    sequence: int
    error: str | None = field(default=None)

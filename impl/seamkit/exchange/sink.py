"""The sending end: drivers write batches, rows are dealt to channels, requests leave."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.core.payloads import flat, size_of
from seamkit.exchange.formats.formats import ChunkFormat
from seamkit.exchange.logic.channel import Channel, OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.options import SinkOptions
from seamkit.exchange.logic.sink_buffer import CancelFragment, Send, SinkBuffer, SinkEffect
from seamkit.exchange.partition import DealtChunk, Partitioner, PartitionRule
from seamkit.exchange.source import ExchangeFailedError

__all__ = ["ExchangeSink", "Routing", "SinkDriver"]


#: So that the message of a request, without its payloads, stays below what transports take.
_CHUNKS_AT_MOST = 16_384
#: Of a batch of which a slice is counted as if it were whole.
_SMALL_BYTES = 1 << 20


@dataclass(frozen=True)
class Routing:
    """Which channel a row goes to.

    Attributes:
        kind: `hash` (by `rule`), `broadcast` (every row to every channel, encoded once), `random`
            (whole chunks, in turns) or `single`.
        rule: for `hash`; its channels are those of the sink.
    """

    kind: Literal["hash", "broadcast", "random", "single"]
    rule: PartitionRule | None = None


@dataclass
class _Waiting:
    """Chunks of one channel that have not become a request."""

    chunks: list[Chunk] = field(default_factory=list)
    bytes: int = 0


@dataclass
class _Lane:
    """Requests of one channel that may leave, in their order.

    Attributes:
        channel: the way.
        sendable: told when there is something to send, or no more will be.
        waiting: what has not left.
        is_sending: a thread hands requests to a channel that passes through.
    """

    channel: Channel
    sendable: threading.Condition
    waiting: deque[Request] = field(default_factory=deque)
    is_sending: bool = False


class ExchangeSink:
    """All drivers of a sink and the buffer they share. Thread-safe.

    Batches change hands with the receivers of this process, in the thread that wrote them. Requests
    to others leave from a thread for each channel, so that drivers deal rows while the system
    copies bytes, and a destination that takes its time holds up none but itself, until the buffer
    is full. These threads end, and close their channels, when every request is answered or none
    will be, at the latest with `close`.

    Args:
        schema: of what is written.
        channels: ways to the receivers, in the order of the channels' numbers.
        routing: which channel a row goes to.
        be_number: of this fragment instance, unique in the query.
        drivers: drivers that will write; each must `finish` or the whole is cancelled.
        format: how batches become payloads; None where every channel passes them through.
        options: the knobs.
        max_transmit_batched_bytes: a request leaves when its chunks have more bytes than this. It
            never has more than the least `most_bytes` of the channels: chunks that do not fit wait
            for the next one, and a batch whose chunk alone is too large is halved.
        sender_id: which input of a merging receiver this is.
    """

    def __init__(
        self,
        schema: pa.Schema,
        channels: Sequence[Channel],
        routing: Routing,
        *,
        be_number: int,
        drivers: int = 1,
        format: ChunkFormat | None = None,  # noqa: A002 - the field's word for it
        options: SinkOptions | None = None,
        max_transmit_batched_bytes: int = 262_144,
        sender_id: int = 0,
    ) -> None:
        _check(channels, routing, format)
        self.schema = schema
        self.channels = tuple(channels)
        self.routing = routing
        self.format = format
        self.be_number = be_number
        self.sender_id = sender_id
        self.batched_bytes = max_transmit_batched_bytes
        bounds = [channel.most_bytes for channel in channels if channel.most_bytes is not None]
        self.most_bytes = min(bounds, default=None)
        self.allocator = TrackedAllocator()
        self._buffer = SinkBuffer(dict.fromkeys(range(len(channels)), drivers), options)
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._lanes = [_Lane(channel, threading.Condition(lock)) for channel in channels]
        self._error: str | None = None
        self._closed = False
        self._open_channels()
        for lane in self._lanes:
            if not lane.channel.pass_through:
                threading.Thread(target=self._send_until_closed, args=(lane,), daemon=True).start()

    def driver(self) -> SinkDriver:
        """What one driver writes to; of use to one thread at a time."""
        return SinkDriver(self)

    def add(self, destination: int, request: Request) -> None:
        """Put a request into the buffer, when there is room.

        Raises:
            ExchangeFailedError: the query has failed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or not self._buffer.is_full)
            if self._error is not None:
                raise ExchangeFailedError(self._error)
            self._take(self._buffer.add_request(destination, request))
        self._let_leave(destination)

    def wait_finished(self, timeout: float | None = None) -> None:
        """Wait until every request is answered.

        Raises:
            ExchangeFailedError: the query has failed, or time ran out.
        """
        with self._changed:
            done = self._changed.wait_for(
                lambda: self._error is not None or self._buffer.is_finished, timeout
            )
            if self._error is not None:
                raise ExchangeFailedError(self._error)
        if not done:
            raise ExchangeFailedError(f"the sink did not finish in {timeout} s")

    def cancel(self, reason: str = "cancelled") -> None:
        """End without an end: nothing more leaves, writers get `reason`."""
        with self._changed:
            self._error = self._error or reason
            while not self._buffer.is_cancelled:
                self._buffer.cancel_one_sinker()
            self._drop_outgoing()
            self._changed.notify_all()

    def close(self) -> None:
        """Close the channels."""
        with self._changed:
            self._closed = True
            self._wake_lanes()
        for channel in self.channels:
            channel.close()

    @property
    def buffered_bytes(self) -> int:
        """Bytes of requests that wait or are in flight."""
        return self._buffer.buffered_bytes

    def _open_channels(self) -> None:
        """All of them or none: a receiver that was told of this sender hears that it is gone."""
        for number, channel in enumerate(self.channels):
            try:
                channel.open(*self._callbacks(number), self.be_number)
            except BaseException:
                for opened in self.channels[:number]:
                    opened.close()
                raise

    def _callbacks(self, number: int) -> tuple[OnAnswer, OnFailure]:
        def on_answer(answer: Answer) -> None:
            with self._changed:
                self._take(self._buffer.on_answer(number, answer.sequence, answer.error))
            self._let_leave(number)

        def on_failure(sequence: int, reason: str) -> None:
            with self._changed:
                self._take(self._buffer.on_failure(number, sequence, reason))
            self._let_leave(number)

        return on_answer, on_failure

    def _take(self, effects: Sequence[SinkEffect]) -> None:
        """Note what is to be done; the lock is held."""
        for effect in effects:
            if isinstance(effect, Send):
                lane = self._lanes[effect.destination]
                lane.waiting.append(effect.request)
                lane.sendable.notify()
            elif isinstance(effect, CancelFragment):
                self._error = self._error or effect.reason
                self._drop_outgoing()
        if self._buffer.is_finished:
            self._wake_lanes()
        self._changed.notify_all()

    def _drop_outgoing(self) -> None:
        """What has not left does not leave any more; the lock is held."""
        for number, lane in enumerate(self._lanes):
            while lane.waiting:
                sequence = lane.waiting.popleft().sequence
                self._buffer.on_failure(number, sequence, "it never left")
        self._wake_lanes()

    def _wake_lanes(self) -> None:
        for lane in self._lanes:
            lane.sendable.notify()

    def _let_leave(self, number: int) -> None:
        """See to it that what may leave does: by the channel's thread, or at once.

        One thread at a time, so that requests leave in order; a channel that answers from within
        `send` only adds to what is sent by the same loop.
        """
        lane = self._lanes[number]
        if not lane.channel.pass_through:
            return
        with self._changed:
            if lane.is_sending:
                return
            lane.is_sending = True
        while (request := self._next(lane)) is not None:
            lane.channel.send(request)

    def _next(self, lane: _Lane) -> Request | None:
        """The next request of a lane; the lane is given up where there is none."""
        with self._changed:
            lane.is_sending = bool(lane.waiting)
            return lane.waiting.popleft() if lane.waiting else None

    def _send_until_closed(self, lane: _Lane) -> None:
        while True:
            with self._changed:
                lane.sendable.wait_for(
                    lambda: self._closed or self._buffer.is_finished or lane.waiting
                )
                if not lane.waiting:
                    break
                request = lane.waiting.popleft()
            try:
                lane.channel.send(request)
            except Exception as error:  # whoever waits for the answer must not wait for ever
                self.cancel(f"a request could not be sent: {error}")
        lane.channel.close()  # all is answered, or given up: the receiver may wait for this


def _check(channels: Sequence[Channel], routing: Routing, format_: ChunkFormat | None) -> None:
    if not channels:
        raise UsageError("a sink has at least one channel")
    if format_ is None and not all(channel.pass_through for channel in channels):
        raise UsageError("a channel to another process needs a chunk format")
    if (routing.kind == "hash") != (routing.rule is not None):
        raise UsageError("hash routing, and only that, goes by a partition rule")
    if routing.rule is not None and routing.rule.channels != len(channels):
        raise UsageError(f"the rule deals to {routing.rule.channels} channels, not {len(channels)}")
    if routing.kind == "single" and len(channels) != 1:
        raise UsageError(f"single routing has one channel, not {len(channels)}")


def _held_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of a batch that is passed through, or a little more.

    The bytes of all its buffers are found fifty times faster than those of its rows; only for what
    may be a slice of something large is the difference worth that.
    """
    whole = int(batch.get_total_buffer_size())
    return whole if whole <= _SMALL_BYTES else int(batch.nbytes)


class SinkDriver:
    """One driver's way into a sink.

    Args:
        sink: the sink; made by `ExchangeSink.driver`.
    """

    def __init__(self, sink: ExchangeSink) -> None:
        self._sink = sink
        self._waiting = [_Waiting() for _ in sink.channels]
        self._turn = 0
        rule = sink.routing.rule
        self._partitioner = Partitioner(sink.schema, rule, sink.allocator) if rule else None
        self._drivers = rule.drivers if rule else 1
        self._encode_dealt = sink.format.encode_dealt if sink.format else None

    def write(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch on their way; waits while the sink is full.

        Raises:
            ExchangeFailedError: the query has failed.
        """
        if self._partitioner is not None:
            self._deal(self._partitioner.deal(batch))
        elif self._sink.routing.kind == "broadcast":
            self._broadcast(batch)
        else:
            sent = self._put(self._turn, batch, 0)
            # The next channel's turn comes when a request has really left.
            self._turn = (self._turn + sent) % len(self._waiting)

    def finish(self) -> None:
        """Send what is left, then the end, to every channel."""
        if self._partitioner is not None:
            self._deal(self._partitioner.rest())
        for channel in range(len(self._waiting)):
            self._flush(channel)
        for channel in range(len(self._waiting)):
            self._sink.add(channel, self._request((), eos=True))

    def _deal(self, chunks: Iterator[DealtChunk]) -> None:
        for chunk in chunks:
            channel, driver = divmod(chunk.part, self._drivers)
            if self._encode_dealt is None or self._sink.channels[channel].pass_through:
                self._put(channel, chunk.batch(), driver)
                continue
            for one in self._fitting(self._encode_dealt(chunk), driver):
                self._add(channel, one)

    def _broadcast(self, batch: pa.RecordBatch) -> None:
        encoded: list[Chunk] | None = None
        for channel in range(len(self._waiting)):
            if self._sink.channels[channel].pass_through:
                self._add(channel, Chunk(batch, _held_bytes(batch)))
                continue
            if encoded is None:
                encoded = list(self._encode(batch, 0))
            for chunk in encoded:
                self._add(channel, chunk)

    def _put(self, channel: int, batch: pa.RecordBatch, driver: int) -> bool:
        """Whether a request left for it."""
        if self._sink.channels[channel].pass_through:
            return self._add(channel, Chunk(batch, _held_bytes(batch), driver))
        left = False
        for chunk in self._encode(batch, driver):
            left |= self._add(channel, chunk)
        return left

    def _encode(self, batch: pa.RecordBatch, driver: int) -> Iterator[Chunk]:
        """A batch as chunks of which each fits into a request."""
        assert self._sink.format is not None
        yield from self._fitting(self._sink.format.encode(batch), driver, batch)

    def _fitting(
        self, payload: Any, driver: int, batch: pa.RecordBatch | None = None
    ) -> Iterator[Chunk]:
        """A payload as chunks that fit; where it is too large, its batch is halved."""
        assert self._sink.format is not None
        size, most = size_of(payload), self._sink.most_bytes
        if most is None or size <= most:
            yield Chunk(payload, size, driver)
            return
        batch = self._sink.format.decode(flat(payload)) if batch is None else batch
        if batch.num_rows < 2:
            raise RefusedError(
                f"a chunk of one row has {size} bytes, and a request to these channels carries "
                f"{most}: raise most_bytes at both ends"
            )
        half = batch.num_rows // 2
        yield from self._encode(batch.slice(0, half), driver)
        yield from self._encode(batch.slice(half), driver)

    def _add(self, channel: int, chunk: Chunk) -> bool:
        """Whether a request left for it."""
        waiting, most = self._waiting[channel], self._sink.most_bytes
        left = most is not None and waiting.bytes + chunk.bytes > most and self._flush(channel)
        waiting = self._waiting[channel]
        waiting.chunks.append(chunk)
        waiting.bytes += chunk.bytes
        full = waiting.bytes > self._sink.batched_bytes or len(waiting.chunks) >= _CHUNKS_AT_MOST
        return (full and self._flush(channel)) or left

    def _flush(self, channel: int) -> bool:
        waiting = self._waiting[channel]
        if not waiting.chunks:
            return False
        self._waiting[channel] = _Waiting()
        self._sink.add(channel, self._request(tuple(waiting.chunks), eos=False))
        return True

    def _request(self, chunks: tuple[Chunk, ...], *, eos: bool) -> Request:
        return Request(self._sink.be_number, self._sink.sender_id, chunks, eos)

"""The sending end: drivers write batches, rows are dealt to channels, requests leave."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.driver import SinkDriver
from seamkit.exchange.formats.formats import ChunkFormat
from seamkit.exchange.logic.channel import Channel, OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, QueryStatistics, Request
from seamkit.exchange.logic.options import SinkOptions
from seamkit.exchange.logic.sink_buffer import CancelFragment, Send, SinkBuffer, SinkEffect
from seamkit.exchange.partition import Buckets, Routing
from seamkit.exchange.source import ExchangeFailedError
from seamkit.exchange.times import RoundTrips

__all__ = ["Buckets", "ExchangeSink", "Routing", "SinkDriver"]

#: For a channel's thread to end once the channel is closed.
_SECONDS_TO_END = 10.0


@dataclass
class _Lane:
    """Requests of one channel that may leave, in their order."""

    channel: Channel  # the way
    sendable: threading.Condition  # notified when there is something to send, or no more will be
    waiting: deque[Request] = field(default_factory=deque)  # what has not left
    is_sending: bool = False  # a thread hands requests to a channel that passes through
    bytes: int = 0  # of the chunks that left
    trips: RoundTrips = field(default_factory=RoundTrips)  # when requests left and were answered

    def send(self, request: Request) -> None:
        """Hand a request to the channel."""
        self.trips.leave(request.sequence)
        self.channel.send(request)


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
        format: how batches become payloads, where a channel does not pass them through.
        options: the knobs.
        max_transmit_batched_bytes: a request leaves when its chunks have more bytes than this. It
            never has more than the least `most_bytes` of the channels: chunks that do not fit wait
            for the next one, and a batch whose chunk alone is too large is halved.
        sender_id: which input of a merging receiver this is.
        output_columns: names of the columns that travel, in their order; None for all. Where rows
            are dealt, the rule says the same.
        instances: number of the fragment instance behind each channel (`finst_id`), which its
            requests name; None where receivers have none.
        sort: names of the columns by which the receivers merge; () where they do not. With several
            receivers the sink is full between the batches, or pieces of them, that are dealt, not
            within, and those that lack rows while others keep it hear how far it is.
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
        output_columns: Sequence[str] | None = None,
        instances: Sequence[int] | None = None,
        sort: Sequence[str] = (),
    ) -> None:
        _check(channels, routing, format, instances)
        self.schema = schema
        self.channels = tuple(channels)
        self.routing = routing
        self.format = format
        self.be_number = be_number
        self.sender_id = sender_id
        self.batched_bytes = max_transmit_batched_bytes
        bounds = [channel.most_bytes for channel in channels if channel.most_bytes is not None]
        self.most_bytes = min(bounds, default=None)
        self.options = options or SinkOptions()
        self.output_columns = output_columns
        self.sort = tuple(sort) if len(channels) > 1 else ()
        self.instances = tuple(instances or [0] * len(channels))
        #: Whether chunks are for drivers of their receivers, not for these as a whole.
        self.pipeline_level_shuffle = any(place and place[1] for place in routing.placement())
        self.allocator = TrackedAllocator(self.options.memory_limit_bytes or 0)
        self._drivers: list[SinkDriver] = []
        self._buffer = SinkBuffer(dict.fromkeys(range(len(channels)), drivers), options)
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._lanes = [_Lane(channel, threading.Condition(lock)) for channel in channels]
        self._error: str | None = None
        self._closed = False
        self._waited_ns = 0
        self._open_channels()
        self._threads = [
            threading.Thread(target=self._send_until_closed, args=(lane,), daemon=True)
            for lane in self._lanes
            if not lane.channel.pass_through
        ]
        for thread in self._threads:
            thread.start()

    def driver(self) -> SinkDriver:
        """What one driver writes to; of use to one thread at a time."""
        made = SinkDriver(self)
        self._drivers.append(made)
        return made

    def add(self, destination: int, request: Request) -> None:
        """Put a request into the buffer, when there is room; with `sort`, see `lacking`."""
        with self._changed:
            self._wait_for(lambda: bool(self.sort) or not self._buffer.is_full)
            self._take(self._buffer.add_request(destination, request))
        self._let_leave(destination)

    def lacking(self, bounded: set[int]) -> list[int]:
        """Wait for room, or for receivers that lack rows meanwhile, but for `bounded` ones."""

        def lack() -> list[int]:
            if not self._buffer.is_full:
                return []
            return [number for number in self._buffer.idle() if number not in bounded]

        with self._changed:
            self._wait_for(lambda: not self._buffer.is_full or bool(lack()))
            return lack()

    def _wait_for(self, can_go_on: Callable[[], bool]) -> None:
        """The lock is held."""
        begin = time.perf_counter_ns()
        self._changed.wait_for(lambda: self._error is not None or can_go_on())
        self._waited_ns += time.perf_counter_ns() - begin
        if self._error is not None:
            raise ExchangeFailedError(self._error)

    def wait_finished(self, timeout: float | None = None) -> None:
        """Wait until every request is answered."""
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
        """Close the channels and end their threads, which would keep rows in memory. Repeatable."""
        with self._changed:
            self._closed = True
            self._wake_lanes()
        for channel in self.channels:
            channel.close()
        for thread in self._threads:
            thread.join(_SECONDS_TO_END)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of requests that wait or are in flight."""
        return self._buffer.buffered_bytes

    def counters(self) -> Mapping[str, int]:
        """What left, what did not, and times, under the names of StarRocks' profile.

        Times are nanoseconds. `shuffle_time` (hashing and appending rows), `serialize_chunk_time`
        (compressing included) and `wait_time` (for room in the sink) are sums over drivers.
        `network_time` is that of the slowest destination: from leaving to answer, without what the
        receiver says that it had the request for, divided by how many were on the way at once.
        `overall_time` is from the first request to the last answer.
        """
        sent = self._buffer.statistics
        trips = [lane.trips for lane in self._lanes]
        drivers = sum((driver.spent.ns for driver in self._drivers), Counter[str]())
        first = min((one.first_ns for one in trips if one.first_ns), default=0)
        passed = sum(lane.bytes for lane in self._lanes if lane.channel.pass_through)
        return {
            "rows_written": sum(driver.rows for driver in self._drivers),
            "rows_of_unused_buckets": sum(driver.dropped_rows for driver in self._drivers),
            "requests_sent": sent.requests_sent,
            "requests_unsent": sent.requests_unsent,
            "bytes_unsent": sent.bytes_unsent,
            "bytes_pass_through": passed,
            "bytes_sent": sent.bytes_sent - passed,
            "peak_buffered_bytes": sent.peak_buffered_bytes,
            "shuffle_time": drivers["shuffle_time"],
            "serialize_chunk_time": drivers["serialize_chunk_time"],
            "wait_time": self._waited_ns,
            "rpc_count": sum(one.answers for one in trips),
            "network_time": max(one.network_ns for one in trips),
            "overall_time": max(max(one.last_ns for one in trips) - first, 0),
        }

    def _statistics(self) -> QueryStatistics:
        """What goes with the last end: all drivers are done."""
        rows = sum(driver.rows for driver in self._drivers)
        return QueryStatistics(rows, self.allocator.counters().peak_bytes)

    def _open_channels(self) -> None:
        """All of them or none: a receiver that knows of this sender hears that it is gone."""
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
                self._lanes[number].trips.arrive(answer.sequence, answer.receiver_ns)
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
                lane, request = self._lanes[effect.destination], effect.request
                if request.eos:
                    request = replace(request, statistics=self._statistics())
                lane.bytes += request.bytes
                lane.waiting.append(request)
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
        """See to it that what may leave does: by the channel's thread, or at once."""
        # One thread at a time, so that requests leave in order; a channel that answers from within
        # `send` only adds to what is sent by the same loop.
        lane = self._lanes[number]
        if not lane.channel.pass_through:
            return
        with self._changed:
            if lane.is_sending:
                return
            lane.is_sending = True
        try:
            while (request := self._next(lane)) is not None:
                lane.send(request)
        except BaseException as error:  # others would wait for this thread to go on
            lane.is_sending = False
            self.cancel(f"a request could not be handed over: {error}")
            raise

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
                lane.send(request)
            except Exception as error:  # whoever waits for the answer must not wait for ever
                self.cancel(f"a request could not be sent: {error}")
        lane.channel.close()  # all is answered, or given up: the receiver may wait for this


def _check(
    channels: Sequence[Channel],
    routing: Routing,
    format_: ChunkFormat | None,
    instances: Sequence[int] | None,
) -> None:
    if not channels:
        raise UsageError("a sink has at least one channel")
    if format_ is None and not all(channel.pass_through for channel in channels):
        raise UsageError("a channel to another process needs a chunk format")
    if instances is not None and len(instances) != len(channels):
        raise UsageError(
            f"{counted(len(channels), 'channel', 'lead')} to {counted(len(instances), 'instance')}"
        )
    routing.check(len(channels))

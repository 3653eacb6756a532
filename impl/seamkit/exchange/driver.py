"""One driver's way into a sink: rows become chunks, chunks requests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.encodings import plain_type
from seambase.errors import RefusedError, UsageError
from seambase.foreign_arrow import stream_of
from seambase.wording import counted
from seamkit.core.payloads import flat, size_of
from seamkit.exchange.logic.messages import Bound, Chunk, Request
from seamkit.exchange.partition import DealtChunk, Partitioner
from seamkit.exchange.times import Spent
from seamkit.serde.stream.presto import Gatherer

if TYPE_CHECKING:
    from seamkit.exchange.sink import ExchangeSink

#: So that the message of a request, without its payloads, stays below what transports take.
_CHUNKS_AT_MOST = 16_384
#: With so many rows a batch is a chunk of its own.
_GATHERED_ROWS = 4096
_ENCODING = "serialize_chunk_time"
#: In place of a channel's number: all those to other processes.
_ALL = -1
#: So that the message of a request that tells a bound stays below what transports take.
_BOUND_BYTES = 1 << 19
#: Of a batch of which a slice is counted as if it were whole.
_SMALL_BYTES = 1 << 20


@dataclass
class _Waiting:
    """Chunks of one channel that have not become a request."""

    chunks: list[Chunk] = field(default_factory=list)
    bytes: int = 0


def _plain(column: pa.Array) -> pa.Array:
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column.cast(plain_type(column.type))


def _held_bytes(batch: pa.RecordBatch) -> int:
    """Bytes of a batch that is passed through, or a little more."""
    # The bytes of all its buffers are found fifty times faster than those of its rows; only for
    # what may be a slice of something large is the difference worth that.
    whole = int(batch.get_total_buffer_size())
    return whole if whole <= _SMALL_BYTES else int(batch.nbytes)


class SinkDriver:
    """One driver's way into a sink; of use to one thread at a time.

    Args:
        sink: the sink; made by `ExchangeSink.driver`.

    Attributes:
        rows: that were written.
        dropped_rows: of these, rows of buckets that nobody has, where they are dropped.
        spent: nanoseconds by what they were spent on.
    """

    def __init__(self, sink: ExchangeSink) -> None:
        self._sink = sink
        self._waiting = [_Waiting() for _ in sink.channels]
        self.rows = self.dropped_rows = 0
        self.spent = Spent()
        self._finished = False
        self._reached: pa.RecordBatch | None = None
        routing = sink.routing
        local = [number for number, way in enumerate(sink.channels) if way.pass_through]
        #: Channels of `random`, and whose turn it is.
        self._turns = (routing.local_first and local) or list(range(len(sink.channels)))
        self._turn = 0
        self._partitioner = (
            Partitioner(sink.schema, routing.rule, sink.allocator) if routing.rule else None
        )
        self._placement = routing.placement()
        self._encode_dealt = sink.format.encode_dealt if sink.format else None
        self._gather = sink.format.gather if sink.format else None
        #: Rows of small batches by channel; dealing collects rows itself.
        self._gathered: dict[int, Gatherer] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch on their way; waits while the sink is full."""
        if self._finished:
            raise UsageError("rows were written to a driver that has finished")
        self.rows += batch.num_rows
        with self._all_or_cancelled():
            if not self._sink.sort:
                self._write(batch)
                return
            most = self._sink.routing.rule.chunk_rows if self._sink.routing.rule else batch.num_rows
            for begin in range(0, batch.num_rows, most or 1):
                self._make_room()
                self._reached = batch.slice(begin, most)
                self._write(self._reached)

    @contextlib.contextmanager
    def _all_or_cancelled(self) -> Iterator[None]:
        """Rows missing after an error will never come: nobody may take the others for all."""
        try:
            yield
        except BaseException as error:
            self._sink.cancel(str(error) or type(error).__name__)
            raise

    def _make_room(self) -> None:
        """Wait while the sink is full; meanwhile receivers that lack rows hear how far it is."""
        # One that merges cannot go on without a row of this sender, or that. It may be what others
        # wait for, who keep the sink full: each sorted row that was written is a bound for it.
        bounded: set[int] = set()
        while lacking := self._sink.lacking(bounded):
            for channel in lacking:
                if not self._flush_all(channel):
                    assert self._reached is not None, "nothing has filled the sink"
                    self._sink.add(channel, self._request(channel, (), bound=self._bound()))
                    bounded.add(channel)

    def _flush_all(self, channel: int) -> bool:
        """Send all that waits for one channel; whether there was anything."""
        for part, place in enumerate(self._placement if self._partitioner else ()):
            if place is not None and place[0] == channel:
                self._deal(lambda dealer, part=part: dealer.rest(part))  # type: ignore[misc]
        for waits in (channel, _ALL):
            self._add_all(waits, list(self._taken(waits)))
        return self._flush(channel)

    def _bound(self) -> Bound:
        """The keys of the last row that was written, in plain types."""
        assert self._reached is not None
        last = self._reached.select(self._sink.sort).slice(self._reached.num_rows - 1)
        columns = [_plain(column) for column in last.columns]
        key = pa.RecordBatch.from_arrays(columns, list(self._sink.sort))
        found = Bound(stream_of([key], key.schema).to_pybytes())
        if len(found.key) > _BOUND_BYTES:
            reason = (
                "the columns that are merged by have "
                f"{counted(len(found.key), 'byte')} in one row, which a "
                f"receiver that waits cannot be sent: {_BOUND_BYTES:,} at most"
            )
            raise RefusedError(reason)
        return found

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._partitioner is not None:
            self._deal(lambda dealer: dealer.deal(batch))
            return
        if self._sink.output_columns is not None:
            batch = batch.select(self._sink.output_columns)
        if self._sink.routing.kind == "broadcast":
            self._broadcast(batch)
            return
        sent = self._put(self._turns[self._turn], batch, 0)
        # The next channel's turn comes when a request has really left.
        self._turn = (self._turn + sent) % len(self._turns)

    def finish(self) -> None:
        """Send what is left, then the end, to every channel."""
        with self._all_or_cancelled():
            if self._partitioner is not None:
                self._deal(Partitioner.rest)
            for channel in list(self._gathered):
                self._add_all(channel, self._taken(channel))
            self._gathered.clear()
            for channel in range(len(self._waiting)):
                self._flush(channel)
            for channel in range(len(self._waiting)):
                self._sink.add(channel, self._request(channel, (), eos=True))
        self._partitioner = None  # the memory of its parts goes now, whoever still knows the sink
        self._finished = True

    def _deal(self, deal: Callable[[Partitioner], Iterator[DealtChunk]]) -> None:
        assert self._partitioner is not None
        with self.spent.on("shuffle_time"):
            for chunk in deal(self._partitioner):
                place = self._placement[chunk.part]
                if place is None:
                    self._belongs_to_nobody(chunk)
                else:
                    self._send_dealt(chunk, *place)

    def _send_dealt(self, chunk: DealtChunk, channel: int, driver: int) -> None:
        if self._sink.channels[channel].pass_through:
            # Whoever reads it makes a batch of it, while this thread deals the next rows.
            if not self._sink.options.enable_exchange_perf:
                self._add(channel, Chunk(chunk, chunk.bytes, driver))
            return
        if self._encode_dealt is None:
            self._put(channel, chunk.batch(), driver)
            return
        with self.spent.on(_ENCODING):
            payload = self._encode_dealt(chunk)
        for one in self._fitting(payload, driver):
            self._add(channel, one)

    def _belongs_to_nobody(self, chunk: DealtChunk) -> None:
        rows = chunk.rows
        buckets, rule = self._sink.routing.buckets, self._sink.routing.rule
        assert buckets is not None
        assert rule is not None
        if buckets.unused == "refuse":
            bucket = chunk.part // rule.drivers
            raise RefusedError(
                f"{counted(rows, 'row', 'belong')} to bucket {bucket}, which no instance has"
            )
        self.dropped_rows += rows

    def _broadcast(self, batch: pa.RecordBatch) -> None:
        for channel, way in enumerate(self._sink.channels):
            if way.pass_through:
                self._put(channel, batch, 0)
        if not all(way.pass_through for way in self._sink.channels):
            self._add_all(_ALL, self._collected(_ALL, batch))

    def _put(self, channel: int, batch: pa.RecordBatch, driver: int) -> bool:
        if self._sink.channels[channel].pass_through:
            if self._sink.options.enable_exchange_perf:
                return True
            return self._add(channel, Chunk(batch, _held_bytes(batch), driver))
        if self._partitioner is None:
            return self._add_all(channel, self._collected(channel, batch))
        return self._add_all(channel, self._encode(batch, driver))

    def _add_all(self, channel: int, chunks: Iterable[Chunk]) -> bool:
        """Whether a request left for it; `_ALL` stands for every channel to another process."""
        ways = self._sink.channels
        remote = [number for number, way in enumerate(ways) if not way.pass_through]
        left = False
        for chunk in chunks:
            for number in remote if channel == _ALL else [channel]:
                left |= self._add(number, chunk)
        return left

    def _collected(self, channel: int, batch: pa.RecordBatch) -> Iterator[Chunk]:
        """Chunks that are ready: a large batch is one, small ones wait until they are one."""
        if self._gather is None or batch.num_rows >= _GATHERED_ROWS:
            yield from self._taken(channel)
            yield from self._encode(batch, 0)
            return
        gatherer = self._gathered.get(channel)
        if gatherer is None:
            gatherer = self._gathered[channel] = self._gather(self._sink.allocator)
        with self.spent.on(_ENCODING):
            gatherer.append(batch)
        waits = gatherer.size_bytes + (self._waiting[channel].bytes if channel != _ALL else 0)
        if gatherer.rows >= _GATHERED_ROWS or waits > self._sink.batched_bytes:
            yield from self._taken(channel)

    def _taken(self, channel: int) -> Iterator[Chunk]:
        """The rows that wait for others, where there are any."""
        gatherer = self._gathered.get(channel)
        if gatherer is not None and gatherer.rows:
            with self.spent.on(_ENCODING):
                payload = gatherer.take()
            yield from self._fitting(payload, 0)

    def _encode(self, batch: pa.RecordBatch, driver: int) -> Iterator[Chunk]:
        """A batch as chunks of which each fits into a request."""
        assert self._sink.format is not None
        with self.spent.on(_ENCODING):
            payload = self._sink.format.encode(batch)
        yield from self._fitting(payload, driver, batch)

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
                f"a chunk of one row has {counted(size, 'byte')}, and "
                "a request to these channels carries "
                f"{most}: raise most_bytes at both ends"
            )
        half = batch.num_rows // 2
        yield from self._encode(batch.slice(0, half), driver)
        yield from self._encode(batch.slice(half), driver)

    def _add(self, channel: int, chunk: Chunk) -> bool:
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
        with self.spent.on("sending"):  # is counted by the sink, where it waits
            self._sink.add(channel, self._request(channel, tuple(waiting.chunks)))
        return True

    def _request(
        self,
        channel: int,
        chunks: tuple[Chunk, ...],
        *,
        eos: bool = False,
        bound: Bound | None = None,
    ) -> Request:
        sink = self._sink
        return Request(
            sink.be_number,
            sink.sender_id,
            chunks,
            eos,
            finst_id=sink.instances[channel],
            use_pass_through=sink.channels[channel].pass_through,
            pipeline_level_shuffle=sink.pipeline_level_shuffle,
            bound=bound,
        )

"""The receiving end: queues that drivers of a fragment read, fed by transports."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seambase.errors import SeambenchError, UsageError
from seamkit.exchange.formats.formats import ChunkFormat
from seamkit.exchange.logic.messages import Answer, Bound, QueryStatistics, Request
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.partition import DealtChunk

Reply = Callable[[Answer], None]


class ExchangeFailedError(SeambenchError):
    """The query cannot go on: a sender, a receiver or the way between them failed."""


class ExchangeSource:
    """One exchange at one receiver. Thread-safe.

    Args:
        senders: number of sending fragment instances.
        queues: drivers that read; with `keep_order` one for each of them and each sender, as
            `Receiver` numbers them.
        format: how payloads become batches; None where all are batches already. Of senders of this
            process they may be in any case (pass-through).
        options: the knobs.
    """

    def __init__(
        self,
        senders: int,
        queues: int = 1,
        format: ChunkFormat | None = None,  # noqa: A002 - the field's word for it
        options: ReceiverOptions | None = None,
    ) -> None:
        self._receiver = Receiver(senders, queues, options)
        self._queues = queues
        self._turn = 0
        self._format = format
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._answered = threading.Condition(lock)
        #: Whom to answer, and when the request came.
        self._replies: dict[tuple[int, int], tuple[Reply, int]] = {}
        self._answering = 0  # replies that are being given
        self._processing_ns = self._withheld_ns = 0
        #: By queue, since each is read by one thread at a time.
        self._decoding_ns = [0] * queues

    def be_instance(self, finst_id: int) -> None:
        """Belong to a fragment instance: a request that names another fails the exchange."""
        with self._changed:
            self._receiver.finst_id = finst_id

    def deliver(self, request: Request, reply: Reply) -> None:
        """A request arrived; `reply` gets its answer once, now or later, from any thread."""
        with self._changed:
            arrived = time.perf_counter_ns()
            self._replies[request.be_number, request.sequence] = reply, arrived
            answers = self._receiver.on_request(request)
            if any(self._can_go_on(queue) for queue in range(self._queues)):
                self._changed.notify_all()  # never for one chunk that is kept back for more
        self._answer(answers, request)

    def read(self, queue: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a queue; None when nothing will come any more."""
        return self._rows((queue,), timeout)

    def read_any(
        self, timeout: float | None = None, *, driver: int = 0, drivers: int = 1
    ) -> pa.RecordBatch | None:
        """The next batch of whichever queue of a driver has one, in turns; see `read`."""
        queues = range(driver, self._queues, drivers)
        turn = -(-(self._turn - driver) // drivers) % len(queues)
        return self._rows([*queues[turn:], *queues[:turn]], timeout)

    def read_wanted(
        self, queue: int, timeout: float | None = None
    ) -> pa.RecordBatch | Bound | None:
        """`read` for a driver that needs the rows of this queue before those of any other.

        In place of rows it may hear how far their sender is.
        """
        with self._changed:
            waits = not self._can_go_on(queue)
            released = self._receiver.starve(queue) if waits else []
        self._answer(released)
        return self._read((queue,), timeout)

    def batches(self, queue: int = 0, timeout: float | None = None) -> Iterator[pa.RecordBatch]:
        """All batches of a queue; see `read`."""
        while (batch := self.read(queue, timeout)) is not None:
            yield batch

    def short_circuit(self, queue: int) -> None:
        """The driver of a queue needs nothing more."""
        with self._changed:
            answers = self._receiver.short_circuit(queue)
            self._changed.notify_all()
        self._answer(answers)

    def cancel(self, reason: str | None = None) -> None:
        """Drop everything; senders that wait are answered with `reason`, readers get it."""
        with self._changed:
            self._receiver.error = self._receiver.error or reason
            answers = self._receiver.cancel()
            self._changed.notify_all()
        self._answer(answers)

    def lose(self, be_number: int, reason: str) -> None:
        """Nothing more comes from a sender: unless it has ended, everything is cancelled."""
        with self._changed:
            over = self._receiver.is_finished() or self._receiver.has_ended(be_number)
        if not over:
            self.cancel(f"sender {be_number} is lost before its end: {reason}")

    def wait_answered(self, timeout: float) -> bool:
        """Wait until no request is without its answer; False where `timeout` seconds passed.

        A reader may see the end before the sender of the last request has its answer: whoever then
        takes the connections away waits for this first.
        """
        with self._changed:
            return self._answered.wait_for(
                lambda: not self._replies and not self._answering, timeout
            )

    def counters(self) -> Mapping[str, int]:
        """What came, and times, under the names of StarRocks' profile.

        Times are nanoseconds: `receiver_process_total_time` of requests that were answered at once,
        `closure_block_time` of those whose answers were withheld, `deserialize_chunk_time` of
        chunks that became batches.
        """
        came = self._receiver.statistics
        return {
            "requests_received": came.requests_received,
            "bytes_received": came.bytes_received,
            "closure_block_count": came.answers_withheld,
            "buffer_unplug_count": came.unplugs,
            "peak_buffer_memory_bytes": came.peak_buffered_bytes,
            "receiver_process_total_time": self._processing_ns,
            "closure_block_time": self._withheld_ns,
            "deserialize_chunk_time": sum(self._decoding_ns),
        }

    @property
    def buffered_bytes(self) -> int:
        """Bytes of chunks that wait."""
        return self._receiver.buffered_bytes

    @property
    def sender_statistics(self) -> Mapping[int, QueryStatistics]:
        """What senders that have ended said of themselves, by their number."""
        return dict(self._receiver.sender_statistics)

    def _can_go_on(self, queue: int) -> bool:
        return self._is_over(queue) or self._receiver.has_output(queue)

    def _is_over(self, queue: int) -> bool:
        return self._receiver.error is not None or self._receiver.is_finished(queue)

    def _rows(self, queues: Sequence[int], timeout: float | None) -> pa.RecordBatch | None:
        while isinstance(found := self._read(queues, timeout), Bound):
            pass  # of use to a merge alone
        return found

    def _read(self, queues: Sequence[int], timeout: float | None) -> pa.RecordBatch | Bound | None:
        """What the first of some queues has that has anything; they count round the end."""
        receiver = self._receiver
        numbers = [queue % self._queues for queue in queues]
        while True:
            with self._changed:
                # Mostly something is there: then nothing is set up for waiting.
                queue = self._readable(numbers)
                if queue is None:
                    self._wait(numbers, timeout)
                    queue = self._readable(numbers)
                if receiver.error is not None:
                    raise ExchangeFailedError(receiver.error)
                if queue is None:
                    return None
                self._turn = (queue + 1) % self._queues
                chunk, answers = receiver.get_chunk(queue)
            if answers:
                self._answer(answers)
            if chunk is not None and isinstance(chunk.payload, Bound):
                return chunk.payload
            if chunk is not None:
                return self._batch(chunk.payload, queue)

    def _readable(self, numbers: Iterable[int]) -> int | None:
        for number in numbers:
            if self._receiver.has_output(number):
                return number
        return None

    def _wait(self, numbers: Sequence[int], timeout: float | None) -> None:
        """Until one of the queues can be read or all are over; the lock is held."""

        def can_go_on() -> bool:
            return all(map(self._is_over, numbers)) or self._readable(numbers) is not None

        if not self._changed.wait_for(can_go_on, timeout):
            names = ", ".join(str(number) for number in numbers)
            raise ExchangeFailedError(f"nothing came to queue {names} in {timeout} s")

    def _batch(self, payload: Any, queue: int) -> pa.RecordBatch:
        if isinstance(payload, DealtChunk):
            return payload.batch()
        if self._format is None or isinstance(payload, pa.RecordBatch):
            return payload
        begin = time.perf_counter_ns()
        try:
            return self._format.decode(payload)
        except BaseException as error:  # whatever it was, the rows are lost: nobody reads on
            self.cancel(f"a chunk cannot be decoded: {str(error) or type(error).__name__}")
            raise
        finally:
            self._decoding_ns[queue] += time.perf_counter_ns() - begin

    def _answer(self, answers: Sequence[Answer], now: Request | None = None) -> None:
        """Give answers; all but that to the request that has come just `now` were withheld."""
        if not answers:
            return
        due = []
        with self._changed:
            for answer in answers:
                waits = self._replies.pop((answer.be_number, answer.sequence), None)
                if waits is None:
                    continue  # a double's answer went out with the first one's
                reply, arrived = waits
                spent = time.perf_counter_ns() - arrived
                if now and (now.be_number, now.sequence) == (answer.be_number, answer.sequence):
                    self._processing_ns += spent
                else:
                    self._withheld_ns += spent
                due.append((reply, replace(answer, receiver_ns=spent)))
            self._answering += len(due)
        try:
            for reply, answer in due:
                reply(answer)
        finally:
            with self._changed:
                self._answering -= len(due)
                self._answered.notify_all()


class SourceRegistry:
    """The exchanges of a process, by number: what transports deliver to (DataStreamMgr).

    Unlike in StarRocks, a request to an exchange that is not known is an error, never dropped with
    a good answer; one that has ended by itself must stay registered until its senders are done.
    """

    def __init__(self) -> None:
        self._sources: dict[int, ExchangeSource] = {}
        self._lock = threading.Lock()

    def register(self, exchange: int, source: ExchangeSource) -> None:
        """Make an exchange known."""
        with self._lock:
            if exchange in self._sources:
                raise UsageError(f"exchange {exchange} is registered already")
            self._sources[exchange] = source

    def forget(self, exchange: int) -> None:
        """The exchange is over."""
        with self._lock:
            self._sources.pop(exchange, None)

    def find(self, exchange: int) -> ExchangeSource | None:
        """The exchange that has this number now."""
        with self._lock:
            return self._sources.get(exchange)

    def deliver(self, exchange: int, request: Request, reply: Reply) -> None:
        """Hand a request to its exchange; see `ExchangeSource.deliver`."""
        source = self.find(exchange)
        if source is None:
            reason = f"exchange {exchange} is not known here"
            reply(Answer(request.be_number, request.sequence, reason))
            return
        source.deliver(request, reply)

    def lose(self, exchange: int, be_number: int, reason: str) -> None:
        """A sender's connection is gone; see `ExchangeSource.lose`."""
        source = self.find(exchange)
        if source is not None:
            source.lose(be_number, reason)

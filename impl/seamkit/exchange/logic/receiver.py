"""The receiver's state machine: what is kept, what is answered when, and who may read.

The rules are those of StarRocks' DataStreamRecvr and SenderQueue (be/src/runtime, June 2025): data
is always queued; above a limit the answer is withheld until the request's chunks are read, which
makes the sender's window the brake. Better than the original by default: a request that comes twice
counts once, bytes that wait for a gap to close count as buffered, an end that comes before all data
is an error, and so is a sender or a driver that the query does not have, and one that overruns its
window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.exchange.logic.messages import Answer, Bound, Chunk, QueryStatistics, Request
from seamkit.exchange.logic.options import ReceiverOptions

#: Numbers of requests that came out of order, where order is of no matter: they may run ahead of
#: one that is late, as long as they are answered.
_MOST_AHEAD = 65_536


@dataclass
class ReceiverStatistics:
    """Counts of what came (RequestReceived, BytesReceived, ClosureBlockCount, ...)."""

    requests_received: int = 0
    bytes_received: int = 0
    duplicates: int = 0
    answers_withheld: int = 0
    unplugs: int = 0
    peak_buffered_bytes: int = 0


@dataclass(eq=False)
class _Arrival:
    """A request that came; it is answered when `unread` falls to 0, if that was put off."""

    answer: Answer
    unread: int
    withheld: bool = False
    relieved: bool = False  # withheld it would be, but for a driver that waits for its sender


@dataclass
class _Sender:
    in_order: int = -1  # every sequence number up to this one came
    ahead: dict[int, tuple[Request, _Arrival]] = field(default_factory=dict)
    unanswered: dict[int, _Arrival] = field(default_factory=dict)
    ended: bool = False
    sender_id: int = 0


@dataclass
class _Queue:
    """Chunks for one driver, or from one sender of a merge."""

    chunks: deque[tuple[Chunk, _Arrival]] = field(default_factory=deque)
    unplugged: bool = False
    closed: bool = False  # its driver needs no more


class Receiver:
    """Chunks of all senders of an exchange on their way to the drivers of a fragment instance.

    Methods that can let go answers return them; each is to be given to the transport. `queues` are
    the drivers that read; with `keep_order` there is one for each driver and sender: that of driver
    d and sender id s is s * drivers + d.
    """

    def __init__(
        self,
        senders: int,
        queues: int = 1,
        options: ReceiverOptions | None = None,
    ) -> None:
        if senders < 1 or queues < 1:
            raise UsageError("an exchange has at least one sender and one reader")
        self._options = options or ReceiverOptions()
        self._senders: dict[int, _Sender] = {}
        self._expected_senders = senders
        self._remaining = senders
        self._queues = [_Queue() for _ in range(queues)]
        self._buffered_bytes = 0
        self._waiting_chunks = 0
        self._relieved_bytes = 0
        #: Empty queues for whose rows drivers wait, and cannot go on with those of other senders.
        self._starved: set[int] = set()
        self._cancelled = False
        #: Of the fragment instance; 0: whoever names one is refused.
        self.finst_id = 0
        #: What senders said of themselves with their ends, by their number.
        self.sender_statistics: dict[int, QueryStatistics] = {}
        self.error: str | None = None
        self.statistics = ReceiverStatistics()

    def on_request(self, request: Request) -> list[Answer]:
        """A request arrived."""
        self.statistics.requests_received += 1
        self.statistics.bytes_received += request.bytes
        answer = Answer(request.be_number, request.sequence)
        if self._cancelled:
            return [Answer(request.be_number, request.sequence, self.error)]
        wrong = self._problem(request)
        if wrong is not None:
            self.error = wrong
            released = self.cancel()
            return [*released, Answer(request.be_number, request.sequence, wrong)]
        sender = self._senders.setdefault(request.be_number, _Sender())
        if self._options.duplicates == "drop" and self._came_before(sender, request.sequence):
            self.statistics.duplicates += 1
            # One that is withheld will be answered when it is read: not earlier, by its double.
            return [] if request.sequence in sender.unanswered else [answer]
        if self._options.duplicates == "accept" and self._remaining == 0:
            return [answer]  # nobody may be there to read it; the original drops it as well
        return self._take(sender, request, _Arrival(answer, len(request.chunks)))

    def get_chunk(self, queue: int) -> tuple[Chunk | None, list[Answer]]:
        """The next chunk of a queue, or None, and what reading it lets go."""
        chunks = self._queues[queue].chunks
        if not chunks:
            self._queues[queue].unplugged = False
            return None, []
        chunk, arrival = chunks.popleft()
        return chunk, self._was_read(chunk, arrival)

    def has_output(self, queue: int) -> bool:
        """Whether the driver of a queue should read now: rather many chunks at once than often."""
        own = self._queues[queue]
        if self._cancelled or not own.chunks:
            own.unplugged = False
            return False
        if self._options.keep_order or own.unplugged:
            return True
        if len(own.chunks) >= self._options.unplug_threshold:
            own.unplugged = True
            self.statistics.unplugs += 1
            return True
        return (
            self._is_full
            or self._remaining == 0
            or any(arrival.withheld for _, arrival in own.chunks)
        )

    def starve(self, queue: int) -> list[Answer]:
        """A merging driver waits for the rows of an empty queue: nothing may keep its sender.

        What the sender is not answered for waits for other drivers, and these may wait for senders
        that the first one keeps waiting. With one driver there is nothing to let go.
        """
        self._starved.add(queue)
        released = []
        for sender in self._senders.values():
            if sender.sender_id == queue // self._options.drivers:
                released += [arrival.answer for arrival in sender.unanswered.values()]
                for arrival in sender.unanswered.values():
                    arrival.withheld = False
                sender.unanswered.clear()
        return released

    def short_circuit(self, queue: int) -> list[Answer]:
        """The driver of a queue needs nothing more: what it has and what still comes is dropped."""
        own = self._queues[queue]
        own.closed = True
        released = []
        while own.chunks:
            released += self._was_read(*own.chunks.popleft())
        return released

    def cancel(self) -> list[Answer]:
        """Drop everything and let every answer go: a sender must not wait for what will not be."""
        self._cancelled = True
        for queue in self._queues:
            queue.chunks.clear()
        self._buffered_bytes = self._waiting_chunks = self._relieved_bytes = 0
        released = [
            Answer(arrival.answer.be_number, arrival.answer.sequence, self.error)
            for sender in self._senders.values()
            for arrival in sender.unanswered.values()
        ]
        for sender in self._senders.values():
            sender.unanswered.clear()
            sender.ahead.clear()
        return released

    def is_finished(self, queue: int | None = None) -> bool:
        """Whether nothing will come any more, for one queue or for all.

        A queue of a merge is over with its own sender: another's end may come only after rows that
        wait for the merge to go on.
        """
        numbers = range(len(self._queues)) if queue is None else [queue]
        return self._cancelled or all(
            self._queues[number].closed
            or (not self._queues[number].chunks and self._has_no_sender(number))
            for number in numbers
        )

    def _has_no_sender(self, queue: int) -> bool:
        """Whether every sender that could fill a queue has ended."""
        if self._remaining == 0 or not self._options.keep_order:
            return self._remaining == 0
        return self._is_over(queue // self._options.drivers)

    def _is_over(self, sender_id: int) -> bool:
        feeds = [one.ended for one in self._senders.values() if one.sender_id == sender_id]
        return bool(feeds) and all(feeds)

    def has_ended(self, be_number: int) -> bool:
        """Whether a sender's end came, and everything before it."""
        sender = self._senders.get(be_number)
        return sender is not None and sender.ended

    @property
    def buffered_bytes(self) -> int:
        """Bytes of chunks that wait."""
        return self._buffered_bytes

    def state(self) -> Hashable:
        """Everything that decides what happens next, for those who explore all states."""
        senders = tuple(
            (number, one.in_order, tuple(sorted(one.ahead)), tuple(one.unanswered), one.ended)
            for number, one in sorted(self._senders.items())
        )
        queues = tuple(
            (tuple(chunk for chunk, _ in queue.chunks), queue.unplugged, queue.closed)
            for queue in self._queues
        )
        held = (self._buffered_bytes, self._relieved_bytes, tuple(sorted(self._starved)))
        return (senders, queues, self._remaining, held, self._cancelled, self.error)

    def _problem(self, request: Request) -> str | None:
        """Why a request cannot be one of this query."""
        known = request.be_number in self._senders
        where = f"request {request.sequence} of sender {request.be_number}"
        if not known and len(self._senders) >= self._expected_senders:
            return f"{where}: only {counted(self._expected_senders, 'sender', 'take')} part"
        if request.sequence < 0:
            return f"{where}: sequence numbers are 0 or more"
        if (misplaced := self._misplaced(request)) is not None:
            return f"{where}: {misplaced}"
        sender = self._senders.get(request.be_number, _Sender())
        if not known and self._options.keep_order and self._is_over(request.sender_id):
            return f"{where}: input {request.sender_id} has ended before"
        if (overrun := self._overrun(sender, request)) is not None:
            return f"{where}: {overrun}"
        if self._options.duplicates == "accept":
            return None
        if (flood := self._flood(request)) is not None:
            return f"{where}: {flood}"
        if sender.ended and request.sequence > sender.in_order:
            return f"{where}: it has ended before"
        ahead = [number for number in sender.ahead if number != request.sequence]
        if request.eos and request.sequence > sender.in_order + 1 + len(ahead):
            return f"{where}: it ends, but request {sender.in_order + 1} never came"
        return None

    def _misplaced(self, request: Request) -> str | None:
        """Why nobody here is to read what a request brings."""
        if request.finst_id not in (0, self.finst_id):
            return f"it is for instance {request.finst_id:x}, not {self.finst_id:x}"
        first = request.sender_id * self._options.drivers
        if request.bound is not None and not 0 <= first < len(self._queues):
            return f"there is no reader {first}, only {len(self._queues)}"
        for chunk in request.chunks:
            if request.pipeline_level_shuffle is False and chunk.driver_sequence != 0:
                return "it shuffles to no drivers, but a chunk is for another than 0"
            queue = self._queue_of(request, chunk)
            if self._options.keep_order and not 0 <= chunk.driver_sequence < self._options.drivers:
                drivers = self._options.drivers
                return f"there is no driver {chunk.driver_sequence}, only {drivers}"
            if not 0 <= queue < len(self._queues):
                return f"there is no reader {queue}, only {len(self._queues)}"
        return None

    def _overrun(self, sender: _Sender, request: Request) -> str | None:
        """How a request goes beyond what a sender may have without an answer."""
        window, first = self._options.window, sender.in_order + 1
        if self._came_before(sender, request.sequence):
            return None
        if len(sender.unanswered) >= window:
            return f"{counted(window, 'request', 'have')} no answer yet, and its window is no wider"
        if request.sequence >= first + window and (self._options.keep_order or first == 0):
            return f"request {first} never came, and its window of {window} begins there"
        if len(sender.ahead) >= _MOST_AHEAD:
            return f"request {first} never came, but {_MOST_AHEAD} after it"
        return None

    def _starving(self, sender_id: int) -> list[int]:
        """Drivers that wait for a sender."""
        drivers = self._options.drivers
        return [queue % drivers for queue in self._starved if queue // drivers == sender_id]

    def _flood(self, request: Request) -> str | None:
        """That a sender for which drivers wait sends too much for others."""
        waits = self._starving(request.sender_id)
        most = self._options.most_starved_bytes
        if (
            not waits
            or request.eos
            or self._relieved_bytes + request.bytes <= most
            or any(chunk.driver_sequence in waits for chunk in request.chunks)
        ):
            return None
        return (
            f"driver {waits[0]} waits for its rows, and those for other drivers have more than "
            f"{counted(most, 'byte')} by now (most_starved_bytes)"
        )

    @property
    def _is_full(self) -> bool:
        return (
            self._buffered_bytes > self._options.exchg_node_buffer_size_bytes
            or self._waiting_chunks > self._options.most_waiting_chunks
        )

    @staticmethod
    def _came_before(sender: _Sender, sequence: int) -> bool:
        return sequence <= sender.in_order or sequence in sender.ahead

    def _take(self, sender: _Sender, request: Request, arrival: _Arrival) -> list[Answer]:
        self._buffered_bytes += request.bytes
        self._waiting_chunks += len(request.chunks)
        sender.sender_id = request.sender_id
        came_before = self._came_before(sender, request.sequence)
        arrival.withheld = (
            bool(request.chunks) and not request.eos and not came_before and self._is_full
        )
        if arrival.withheld and self._starving(request.sender_id):
            arrival.withheld, arrival.relieved = False, True
            self._relieved_bytes += request.bytes
        peak = max(self.statistics.peak_buffered_bytes, self._buffered_bytes)
        self.statistics.peak_buffered_bytes = peak
        if arrival.withheld:
            self.statistics.answers_withheld += 1
            sender.unanswered[request.sequence] = arrival
        # A double that is taken for data never waits; while the first waits it is not answered.
        released = [] if request.sequence in sender.unanswered else [arrival.answer]
        if not came_before:
            kept = request if self._options.keep_order else replace(request, chunks=())
            sender.ahead[request.sequence] = (kept, arrival)
        if not self._options.keep_order:
            released += self._queue_chunks(request, arrival)
        while (following := sender.in_order + 1) in sender.ahead:
            sender.in_order = following
            next_request, next_arrival = sender.ahead.pop(following)
            if self._options.keep_order:
                released += self._queue_chunks(next_request, next_arrival)
            self._end(sender, next_request)
        return released

    def _end(self, sender: _Sender, request: Request) -> None:
        if request.eos and not sender.ended:
            sender.ended = True
            self._remaining -= 1
            if request.statistics is not None:
                self.sender_statistics[request.be_number] = request.statistics

    def _queue_chunks(self, request: Request, arrival: _Arrival) -> list[Answer]:
        released = []
        for chunk in request.chunks:
            number = self._queue_of(request, chunk)
            self._starved.discard(number)
            queue = self._queues[number]
            if queue.closed:
                released += self._was_read(chunk, arrival)
            else:
                queue.chunks.append((chunk, arrival))
        if request.bound is not None and self._options.keep_order:
            self._queue_bound(request, request.bound, arrival)
        return released

    def _queue_bound(self, request: Request, bound: Bound, arrival: _Arrival) -> None:
        """For each driver, in place of an earlier one that nobody has read: it has no bytes."""
        first = request.sender_id * self._options.drivers
        for number in range(first, first + self._options.drivers):
            queue = self._queues[number]
            if queue.chunks and isinstance(queue.chunks[-1][0].payload, Bound):
                queue.chunks.pop()
            if not queue.closed:
                queue.chunks.append((Chunk(bound, 0, number - first), arrival))
                self._starved.discard(number)

    def _queue_of(self, request: Request, chunk: Chunk) -> int:
        if self._options.keep_order:
            return request.sender_id * self._options.drivers + chunk.driver_sequence
        return chunk.driver_sequence if self._options.pipeline_level_shuffle else 0

    def _was_read(self, chunk: Chunk, arrival: _Arrival) -> list[Answer]:
        if isinstance(chunk.payload, Bound):
            return []  # its request was answered at once
        self._buffered_bytes -= chunk.bytes
        self._waiting_chunks -= 1
        arrival.unread -= 1
        if arrival.relieved:
            self._relieved_bytes -= chunk.bytes
        if not arrival.withheld or arrival.unread > 0:
            return []
        arrival.withheld = False
        del self._senders[arrival.answer.be_number].unanswered[arrival.answer.sequence]
        return [arrival.answer]

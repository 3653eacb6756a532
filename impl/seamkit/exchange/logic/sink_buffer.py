"""The sender's state machine: what may leave, when, and what an answer means.

The rules are those of StarRocks' SinkBuffer (be/src/exec/pipeline/exchange/sink_buffer.cpp, June
2025). One buffer serves all drivers of a sink. Where the original is known to be weak the better
behaviour is the default, and the original one an option (`seamkit.exchange.logic.options`). Beyond
it, an answer that comes twice is counted once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from seambase.errors import UsageError
from seamkit.exchange.logic.messages import Request
from seamkit.exchange.logic.options import SinkOptions


@dataclass(frozen=True)
class Send:
    """To be done: hand a request to the transport."""

    destination: int
    request: Request


@dataclass(frozen=True)
class CancelFragment:
    """To be done: end the query for this reason."""

    reason: str


SinkEffect = Send | CancelFragment


@dataclass
class SinkStatistics:
    """What left, what was answered, and what never left (RequestSent, BytesSent, *Unsent)."""

    requests_sent: int = 0
    bytes_sent: int = 0
    requests_unsent: int = 0
    bytes_unsent: int = 0
    peak_buffered_bytes: int = 0


class _Destination:
    __slots__ = ("acked", "answered", "in_flight", "num_sinker", "out_of_order", "queue", "sent")

    def __init__(self, num_sinker: int) -> None:
        self.queue: deque[Request] = deque()
        self.num_sinker = num_sinker  # drivers that have not ended
        self.sent = -1  # last sequence number given out
        self.in_flight: dict[int, int] = {}  # sequence number -> bytes
        self.answered = 0
        self.acked = -1  # every number up to this one is answered
        self.out_of_order: set[int] = set()  # answered beyond it

    def acknowledge(self, sequence: int) -> None:
        self.answered += 1
        self.out_of_order.add(sequence)
        while self.acked + 1 in self.out_of_order:
            self.acked += 1
            self.out_of_order.remove(self.acked)

    def state(self) -> Hashable:
        return (
            tuple(self.queue),
            self.num_sinker,
            self.sent,
            tuple(self.in_flight),
            self.answered,
            tuple(sorted(self.out_of_order)),
        )


class SinkBuffer:
    """Requests of all drivers of a sink on their way to its destinations.

    Every method that takes an event returns what is to be done about it, in order. `sinkers` is
    by destination the number of drivers that will end with an eos request.
    """

    def __init__(self, sinkers: Mapping[int, int], options: SinkOptions | None = None) -> None:
        if not sinkers or min(sinkers.values()) < 1:
            raise UsageError("a sink has at least one destination, each at least one driver")
        self._options = options or SinkOptions()
        self._destinations = {key: _Destination(count) for key, count in sinkers.items()}
        self._remaining_eos = sum(sinkers.values())
        self._uncancelled = max(sinkers.values())
        self._finishing = False
        self._failed = False
        self._buffered_bytes = 0  # waiting or in flight
        self.statistics = SinkStatistics()

    def add_request(self, destination: int, request: Request) -> list[SinkEffect]:
        """A driver has made a request; once the sink finishes, it is forgotten."""
        if self._finishing:
            return []
        state = self._state_of(destination)
        state.queue.append(request)
        self._buffered_bytes += request.bytes
        peak = max(self.statistics.peak_buffered_bytes, self._buffered_bytes)
        self.statistics.peak_buffered_bytes = peak
        return self._try_send(destination)

    def on_answer(self, destination: int, sequence: int, error: str | None) -> list[SinkEffect]:
        """A receiver answered a request."""
        state = self._state_of(destination)
        if sequence not in state.in_flight:
            if sequence > state.sent:
                return self._fail(
                    f"destination {destination} answered request {sequence}, which was never sent"
                )
            return []  # the same answer once more
        self._buffered_bytes -= state.in_flight.pop(sequence)
        if error is not None:
            return self._fail(error)
        state.acknowledge(sequence)
        return self._try_send(destination)

    def on_failure(self, destination: int, sequence: int, reason: str) -> list[SinkEffect]:
        """The transport gave a request up: nobody knows whether it arrived. It is not repeated."""
        state = self._state_of(destination)
        if sequence not in state.in_flight:
            return []
        self._buffered_bytes -= state.in_flight.pop(sequence)
        return self._fail(f"request {sequence} to destination {destination} failed: {reason}")

    def cancel_one_sinker(self) -> None:
        """One driver is cancelled; the sink ends with the last of them."""
        self._uncancelled -= 1
        if self._uncancelled <= 0:
            self._finish()

    @property
    def is_cancelled(self) -> bool:
        """Whether every driver is cancelled."""
        return self._uncancelled <= 0

    @property
    def is_full(self) -> bool:
        """Whether drivers should make no more requests for now."""
        waiting = sum(len(state.queue) for state in self._destinations.values())
        most = self._options.max_buffered_bytes
        if most is not None and self._buffered_bytes > most:
            return True
        return waiting > self._options.pipeline_sink_buffer_size * len(self._destinations)

    def idle(self) -> list[int]:
        """Destinations that have read all that was for them, or had nothing, and have no end yet.

        Their merges may wait for this sender, whom the others keep.
        """
        return [
            number
            for number, state in self._destinations.items()
            if not state.queue and not state.in_flight and state.num_sinker
        ]

    @property
    def is_finished(self) -> bool:
        """Whether nothing will be sent and nothing is in flight any more."""
        return self._finishing and not any(s.in_flight for s in self._destinations.values())

    @property
    def buffered_bytes(self) -> int:
        """Bytes of requests that wait or are in flight."""
        return self._buffered_bytes

    def in_flight(self, destination: int) -> int:
        """Requests to a destination that were sent and not answered."""
        return len(self._state_of(destination).in_flight)

    def state(self) -> Hashable:
        """Everything that decides what happens next, for those who explore all states."""
        states = tuple(state.state() for state in self._destinations.values())
        return (states, self._remaining_eos, self._uncancelled, self._finishing, self._failed)

    def _state_of(self, destination: int) -> _Destination:
        if destination not in self._destinations:
            raise UsageError(f"destination {destination} is not one of this sink's")
        return self._destinations[destination]

    def _fail(self, reason: str) -> list[SinkEffect]:
        if self._failed:
            return []  # the first reason counts
        self._failed = True
        self._finish()
        return [CancelFragment(reason)]

    def _finish(self) -> None:
        """Nothing is sent from here on; what waits is dropped."""
        self._finishing = True
        for state in self._destinations.values():
            for request in state.queue:
                self.statistics.requests_unsent += 1
                self.statistics.bytes_unsent += request.bytes
                self._buffered_bytes -= request.bytes
            state.queue.clear()

    def _is_throttled(self, state: _Destination) -> bool:
        if self._options.keep_order:
            return state.sent - state.acked >= self._options.pipeline_sink_brpc_dop
        return len(state.in_flight) >= self._options.pipeline_sink_brpc_dop

    def _try_send(self, destination: int) -> list[SinkEffect]:
        state = self._destinations[destination]
        effects: list[SinkEffect] = []
        while (request := self._next(state)) is not None:
            state.sent += 1
            request = replace(request, sequence=state.sent)
            state.in_flight[state.sent] = request.bytes
            self.statistics.requests_sent += 1
            self.statistics.bytes_sent += request.bytes
            effects.append(Send(destination, request))
            if self._options.drain == "one":
                break
        return effects

    def _next(self, state: _Destination) -> Request | None:
        """The request that may leave now, taken from the queue, or None."""
        while not self._finishing and state.queue and not self._is_throttled(state):
            if state.answered == 0 and state.in_flight:
                return None  # only the first request tells what the columns are like
            request = state.queue[0]
            if not request.eos:
                return state.queue.popleft()
            if state.num_sinker == 1 and state.in_flight:
                return None  # the end may not overtake
            state.queue.popleft()
            last = state.num_sinker == 1
            self._one_sinker_ended(state)
            if last:
                return request
            if request.chunks:
                return replace(request, eos=False)
        return None

    def _one_sinker_ended(self, state: _Destination) -> None:
        state.num_sinker -= 1
        self._remaining_eos -= 1
        if self._remaining_eos == 0:
            self._finishing = True  # every queue is empty now: each eos was the last of its driver

"""A deterministic simulator: the real sender and receiver logic under a virtual clock.

The network delays, reorders, doubles and loses messages; readers are slow; queries are cancelled,
receivers restart or need no more.
A `Scenario` says everything; the same scenario always takes the same course. `simulate` checks what
must hold at every step and at the end, `shrink` finds a smaller scenario that still fails.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

from seambase.errors import SeambenchError
from seambase.wording import counted
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.logic.sink_buffer import CancelFragment, Send, SinkBuffer, SinkEffect

#: Ticks after the last fault or progress within which something must happen.
_PATIENCE = 20_000
_TIMEOUT = 500
_LIMITS = (1, 100, 10 << 20)
Fault = Literal["none", "status", "cancel", "cancel-sinkers", "restart", "short-circuit"]


class InvariantError(SeambenchError):
    """Something that must hold did not; the message has the scenario."""


@dataclass(frozen=True)
class Scenario:
    """One course of an exchange."""

    seed: int = 0  # of every choice that the fields below leave open
    senders: int = 1  # fragment instances that send, each with `drivers` drivers
    receivers: int = 1  # fragment instances that receive, each with `readers` drivers
    drivers: int = 1
    readers: int = 1
    packets: int = 1  # requests of each driver to each receiver, before its eos
    chunk_bytes: int = 10  # largest size of a chunk
    dop: int = 64  # see `SinkOptions.pipeline_sink_brpc_dop`
    sink_size: int = 64  # see `SinkOptions.pipeline_sink_buffer_size`
    sink_bytes: int | None = None  # see `SinkOptions.max_buffered_bytes`
    drain: Literal["window", "one"] = "window"  # see `SinkOptions.drain`
    receiver_bytes: int = 10 << 20  # see `ReceiverOptions.exchg_node_buffer_size_bytes`
    keep_order: bool = False  # a merging exchange
    pipeline_level: bool = True  # see `ReceiverOptions.pipeline_level_shuffle`
    duplicates: Literal["drop", "accept"] = "drop"  # see `ReceiverOptions.duplicates`
    delay: int = 1  # most ticks a message takes; different ones overtake each other
    doubled: float = 0.0  # share of messages that arrive twice
    lost: float = 0.0  # share of messages that never arrive; the transport finds out after a while
    slow: int = 1  # ticks between two looks of a reader
    # what else goes wrong, at `fault_time`: a bad answer of one receiver, cancellation of the query
    # or of one sender's drivers, a receiver that restarts and knows nothing, or one reader that
    # needs no more
    fault: Fault = "none"
    fault_time: int = 0  # the tick


@dataclass(frozen=True)
class Outcome:
    """How a scenario ended: all rows arrived, or the query failed with a reason."""

    complete: bool
    reason: str | None
    requests: int
    ticks: int


def random_scenario(seed: int) -> Scenario:
    """A scenario with every knob drawn from the seed; half of them without any fault."""
    draw = random.Random(seed)
    faulty = draw.random() < 0.5
    keep_order = draw.random() < 0.3
    return Scenario(
        seed=seed,
        senders=draw.randint(1, 3),
        receivers=draw.randint(1, 3),
        drivers=draw.randint(1, 3),
        readers=1 if keep_order else draw.randint(1, 3),
        packets=draw.choice((0, 1, 2, 5, 12)),
        chunk_bytes=draw.choice((1, 10, 50)),
        dop=draw.choice((1, 2, 3, 64)),
        sink_size=draw.choice((0, 1, 64)),
        sink_bytes=draw.choice((None, 0, 100)),
        drain=draw.choice(("window", "window", "one")),
        receiver_bytes=draw.choice(_LIMITS),
        keep_order=keep_order,
        pipeline_level=draw.random() < 0.7,
        delay=draw.choice((1, 5, 40)),
        doubled=draw.choice((0.0, 0.0, 0.1, 0.5)),
        lost=draw.choice((0.0, 0.05, 0.3)) if faulty else 0.0,
        slow=draw.choice((1, 3, 30)),
        fault=draw.choice(
            ("none", "status", "cancel", "cancel-sinkers", "restart", "short-circuit")
        )
        if faulty
        else "none",
        fault_time=draw.randint(0, 120),
    )


def simulate(scenario: Scenario) -> Outcome:
    """Run a scenario to its end."""
    world = _World(scenario)
    try:
        return world.run()
    except InvariantError as error:
        raise InvariantError(f"{error} at tick {world.now} of {scenario}") from None


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """A scenario that still fails, and of which no single field can be made simpler."""
    while (simpler := next(filter(fails, _simpler(scenario)), None)) is not None:
        scenario = simpler
    return scenario


def _simpler(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios with one field at, or half-way to, the simplest value it can have."""
    plain = Scenario()
    for field in fields(scenario):
        value, simplest = getattr(scenario, field.name), getattr(plain, field.name)
        if field.name == "seed" or value == simplest:
            continue
        simpler: list[Any] = [simplest]
        if isinstance(value, int) and isinstance(simplest, int) and abs(value - simplest) > 1:
            simpler.append((value + simplest) // 2)
        for one in simpler:
            yield replace(scenario, **{field.name: one})


class _Driver:
    """Makes the requests of one driver: some for each receiver in a mixed order, then each eos."""

    def __init__(self, world: _World, sender: int, number: int) -> None:
        scenario, draw = world.scenario, world.draw
        self.sender = sender
        receivers = [r for r in range(scenario.receivers) for _ in range(scenario.packets)]
        draw.shuffle(receivers)
        self._work = [(receiver, False) for receiver in receivers]
        self._work += [(receiver, True) for receiver in range(scenario.receivers)]
        self._work.reverse()
        self._number = number
        self._count = itertools.count()

    def next(self, world: _World) -> tuple[int, Request] | None:
        """The next request and where it goes; None after the last."""
        if not self._work:
            return None
        receiver, eos = self._work.pop()
        scenario, draw = world.scenario, world.draw
        chunks: tuple[Chunk, ...] = ()
        if not eos or draw.random() < 0.3:
            chunks = tuple(
                Chunk(
                    (self.sender, self._number, next(self._count)),
                    draw.randint(0, scenario.chunk_bytes),
                    draw.randrange(scenario.readers),
                )
                for _ in range(draw.randint(1, 3))
            )
        world.sent[receiver].update(chunk.payload for chunk in chunks)
        return receiver, Request(self.sender, self.sender, chunks, eos)


class _World:
    """Everything that takes part, and the events to come."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.draw = random.Random(scenario.seed)
        self.now = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._progress = 0
        self._failed: str | None = None
        self._cancelled = False
        self._requests = 0
        self._restarted: set[int] = set()
        self._short: set[tuple[int, int]] = set()
        self._ended: set[tuple[int, int]] = set()
        self._last: dict[tuple[int, int, int, int], int] = {}
        self._open: Counter[tuple[int, int]] = Counter()
        self._unanswered: dict[tuple[int, int], set[int]] = {}
        self.sent: list[Counter[Any]] = [Counter() for _ in range(scenario.receivers)]
        self._read: list[Counter[Any]] = [Counter() for _ in range(scenario.receivers)]
        self._sinks = [self._sink() for _ in range(scenario.senders)]
        self._receivers = [self._receiver() for _ in range(scenario.receivers)]
        for sender in range(scenario.senders):
            for number in range(scenario.drivers):
                self._later(self._delay(), partial(self._drive, _Driver(self, sender, number)))
        for receiver in range(scenario.receivers):
            for queue in range(self._queues):
                self._later(self._delay(), partial(self._look, receiver, queue))
        if scenario.fault != "none":
            self._later(scenario.fault_time, self._go_wrong)

    def run(self) -> Outcome:
        """Event after event, until nothing is left to happen."""
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            if self.now - self._progress > _PATIENCE:
                raise InvariantError("nothing moves any more")
            event()
        return self._verdict()

    @property
    def _queues(self) -> int:
        return self.scenario.senders if self.scenario.keep_order else self.scenario.readers

    def _sink(self) -> SinkBuffer:
        scenario = self.scenario
        return SinkBuffer(
            dict.fromkeys(range(scenario.receivers), scenario.drivers),
            SinkOptions(
                pipeline_sink_brpc_dop=scenario.dop,
                pipeline_sink_buffer_size=scenario.sink_size,
                max_buffered_bytes=scenario.sink_bytes,
                keep_order=scenario.keep_order,
                drain=scenario.drain,
            ),
        )

    def _receiver(self) -> Receiver:
        scenario = self.scenario
        return Receiver(
            scenario.senders,
            self._queues,
            ReceiverOptions(
                exchg_node_buffer_size_bytes=scenario.receiver_bytes,
                pipeline_level_shuffle=scenario.pipeline_level,
                keep_order=scenario.keep_order,
                duplicates=scenario.duplicates,
            ),
        )

    def _later(self, ticks: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + ticks, next(self._numbers), event))

    def _delay(self) -> int:
        return self.draw.randint(1, self.scenario.delay)

    def _moved(self) -> None:
        self._progress = self.now

    # ---- senders ---------------------------------------------------------------------------------

    def _drive(self, driver: _Driver) -> None:
        """A driver makes a request, or waits because the sink is full."""
        sink = self._sinks[driver.sender]
        if sink.is_full and not sink.is_finished:
            self._later(self._delay(), partial(self._drive, driver))
            return
        made = driver.next(self)
        if made is None:
            return
        self._moved()
        receiver, request = made
        self._carry_out(driver.sender, sink.add_request(receiver, request))
        self._check_sink_memory(sink)
        self._later(self._delay(), partial(self._drive, driver))

    def _check_sink_memory(self, sink: SinkBuffer) -> None:
        most = self.scenario.sink_bytes
        request = 3 * self.scenario.chunk_bytes
        if most is not None and sink.buffered_bytes > most + request * (
            1 + self.scenario.drivers * self.scenario.receivers
        ):
            raise InvariantError(
                f"the sink holds {counted(sink.buffered_bytes, 'byte')}, {most} are allowed"
            )

    def _carry_out(self, sender: int, effects: Iterable[SinkEffect]) -> None:
        for effect in effects:
            if isinstance(effect, CancelFragment):
                self._fail(effect.reason)
            else:
                self._check_send(sender, effect)
                self._transmit(sender, effect.destination, effect.request)

    def _check_send(self, sender: int, send: Send) -> None:
        """What must hold when a request leaves."""
        self._requests += 1
        way, request = (sender, send.destination), send.request
        flying = self._unanswered.setdefault(way, set())
        if way in self._ended:
            raise InvariantError(f"request {request.sequence} left after the end")
        if 0 in flying:
            raise InvariantError(f"request {request.sequence} left before the first was answered")
        if request.eos:
            self._ended.add(way)
            if flying:
                raise InvariantError(f"the end left while {sorted(flying)} were in flight")
        flying.add(request.sequence)
        window = request.sequence - min(flying) + 1 if self.scenario.keep_order else len(flying)
        if window > self.scenario.dop:
            raise InvariantError(
                f"{counted(window, 'request')} in flight, {self.scenario.dop} are allowed"
            )

    # ---- network ---------------------------------------------------------------------------------

    def _transmit(self, sender: int, receiver: int, request: Request) -> None:
        if self.draw.random() < self.scenario.lost:
            self._later(_TIMEOUT, partial(self._gave_up, sender, receiver, request.sequence))
            return
        for _ in range(1 + (self.draw.random() < self.scenario.doubled)):
            self._later(self._delay(), partial(self._arrive, sender, receiver, request))

    def _arrive(self, sender: int, receiver: int, request: Request) -> None:
        self._moved()
        if receiver in self._restarted:
            lost = Answer(sender, request.sequence, "this exchange is not known here")
            self._answer(receiver, [lost])
            return
        self._answer(receiver, self._receivers[receiver].on_request(request))

    def _answer(self, receiver: int, answers: Iterable[Answer]) -> None:
        for answer in answers:
            if self.draw.random() < self.scenario.lost:
                gave_up = partial(self._gave_up, answer.be_number, receiver, answer.sequence)
                self._later(_TIMEOUT, gave_up)
                continue
            for _ in range(1 + (self.draw.random() < self.scenario.doubled)):
                self._later(self._delay(), partial(self._answered, receiver, answer))

    def _answered(self, receiver: int, answer: Answer) -> None:
        self._moved()
        sender = answer.be_number
        self._unanswered[sender, receiver].discard(answer.sequence)
        self._carry_out(
            sender, self._sinks[sender].on_answer(receiver, answer.sequence, answer.error)
        )

    def _gave_up(self, sender: int, receiver: int, sequence: int) -> None:
        self._moved()
        self._unanswered[sender, receiver].discard(sequence)
        self._carry_out(sender, self._sinks[sender].on_failure(receiver, sequence, "timed out"))

    # ---- readers ---------------------------------------------------------------------------------

    def _look(self, receiver: int, queue: int) -> None:
        """A reader looks whether there is something for it, and takes it."""
        own = self._receivers[receiver]
        if own.error is not None:
            self._fail(own.error)  # the reader's own fragment ends with it
        if own.has_output(queue):
            chunk, released = own.get_chunk(queue)
            if chunk is None:
                raise InvariantError(f"reader {queue} was told to read, and found nothing")
            self._moved()
            self._note(receiver, queue, chunk)
            self._answer(receiver, released)
        if not own.is_finished(queue):
            self._later(
                self.draw.randint(1, self.scenario.slow), partial(self._look, receiver, queue)
            )

    def _note(self, receiver: int, queue: int, chunk: Chunk) -> None:
        self._read[receiver][chunk.payload] += 1
        if (receiver, queue) in self._short:
            raise InvariantError(f"reader {queue} needs no more, and got a chunk")
        if not self.scenario.keep_order:
            return
        sender, driver, number = chunk.payload
        if queue != sender:
            raise InvariantError(f"a chunk of sender {sender} came out of input {queue}")
        way = (receiver, queue, sender, driver)
        if number <= self._last.get(way, -1):
            raise InvariantError(f"chunk {number} of driver {driver} came after {self._last[way]}")
        self._last[way] = number

    # ---- faults ----------------------------------------------------------------------------------

    def _go_wrong(self) -> None:
        fault, receiver = self.scenario.fault, self.draw.randrange(self.scenario.receivers)
        if fault == "cancel":
            self._fail("cancelled")
        elif fault == "cancel-sinkers":
            sink = self._sinks[self.draw.randrange(self.scenario.senders)]
            for _ in range(self.scenario.drivers):
                sink.cancel_one_sinker()
            self._fail("one sender was cancelled")
        elif fault == "short-circuit":
            queue = self.draw.randrange(self._queues)
            self._short.add((receiver, queue))
            self._answer(receiver, self._receivers[receiver].short_circuit(queue))
        elif fault == "restart":
            self._restarted.add(receiver)
            self._receivers[receiver].cancel()  # its answers die with it: the transport notices
            for (sender, to), flying in self._unanswered.items():
                if to == receiver:
                    for sequence in sorted(flying):
                        self._later(_TIMEOUT, partial(self._gave_up, sender, to, sequence))
        else:
            own = self._receivers[receiver]
            own.error = "a bad status"
            self._answer(receiver, own.cancel())

    def _fail(self, reason: str) -> None:
        """The coordinator hears of it, and a little later everyone else."""
        if self._failed is None:
            self._failed = reason
            self._later(self._delay(), self._cancel_all)

    def _cancel_all(self) -> None:
        self._cancelled = True
        self._moved()
        for sink in self._sinks:
            for _ in range(self.scenario.drivers):
                sink.cancel_one_sinker()
        for number, receiver in enumerate(self._receivers):
            if number not in self._restarted:
                self._answer(number, receiver.cancel())

    # ---- the end ---------------------------------------------------------------------------------

    def _verdict(self) -> Outcome:
        """What must hold when nothing is left to happen."""
        for number, sink in enumerate(self._sinks):
            if not sink.is_finished:
                raise InvariantError(f"sink {number} never finished")
            if sink.buffered_bytes:
                raise InvariantError(
                    f"sink {number} still holds {counted(sink.buffered_bytes, 'byte')}"
                )
        for number, receiver in enumerate(self._receivers):
            if receiver.buffered_bytes:
                raise InvariantError(
                    f"receiver {number} still holds {counted(receiver.buffered_bytes, 'byte')}"
                )
        waiting = {way: flying for way, flying in self._unanswered.items() if flying}
        if waiting:
            raise InvariantError(f"never answered: {waiting}")
        for number, (sent, read) in enumerate(zip(self.sent, self._read, strict=True)):
            doubled = {chunk: count for chunk, count in read.items() if count > 1}
            if doubled:
                raise InvariantError(f"receiver {number} read chunks more than once: {doubled}")
            if self._failed is None and self._restarted == set():
                self._check_complete(number, sent - read)
                self._check_ends(number)
        return Outcome(self._failed is None, self._failed, self._requests, self.now)

    def _check_ends(self, receiver: int) -> None:
        """Each sender said its end; that nothing followed is checked when requests leave."""
        missing = {s for s in range(self.scenario.senders) if (s, receiver) not in self._ended}
        if missing:
            raise InvariantError(f"senders {sorted(missing)} never ended at receiver {receiver}")

    def _check_complete(self, receiver: int, missing: Counter[Any]) -> None:
        error = self._receivers[receiver].error
        if not missing or any(short[0] == receiver for short in self._short):
            return
        raise InvariantError(f"receiver {receiver} never read {sorted(missing)}, error: {error}")


def main() -> None:
    """Take courses by their seeds; the first that breaks a promise is shrunk and shown."""
    parser = argparse.ArgumentParser(prog="python -m seambench_suites.exchange.simulation")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--courses", type=int, default=2000, help="how many seeds")
    given = parser.parse_args()
    complete = 0
    for seed in range(given.first, given.first + given.courses):
        scenario = random_scenario(seed)
        if _breaks(scenario):
            raise SystemExit(f"seed {seed} breaks a promise: {shrink(scenario, _breaks)}")
        complete += simulate(scenario).complete
    print(f"{counted(given.courses, 'course')}, {complete} of them to the end, no promise broken")  # noqa: T201


def _breaks(scenario: Scenario) -> bool:
    try:
        simulate(scenario)
    except InvariantError:
        return True
    return False


if __name__ == "__main__":
    main()

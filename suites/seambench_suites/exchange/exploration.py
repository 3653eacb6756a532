"""Every course that a small exchange can take: the real logic, all interleavings, no clock.

From each state, each thing that may happen next is tried: a driver makes its next request, a
message in flight arrives (any of them, so they overtake each other), a reader reads, or the query
is cancelled. States that were seen are not entered again. What must hold is checked in every state
and at every end.
"""

from __future__ import annotations

import argparse
import copy
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from seambench_suites.exchange.simulation import InvariantError
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.logic.sink_buffer import CancelFragment, Send, SinkBuffer, SinkEffect


@dataclass(frozen=True)
class Size:
    """What is explored.

    Attributes:
        senders: senders, each with one driver.
        receivers: receivers, each with one reader.
        packets: requests of each sender, dealt to the receivers in turn, before each eos.
        dop: requests in flight to one destination.
        keep_order: a merging exchange.
        receiver_bytes: bytes beyond which answers are withheld; a request has 1.
        doubled: messages of the network that may arrive twice, in all.
        cancel: the query may be cancelled, at any step.
    """

    senders: int = 2
    receivers: int = 2
    packets: int = 3
    dop: int = 1
    keep_order: bool = False
    receiver_bytes: int = 1
    doubled: int = 0
    cancel: bool = False


@dataclass(frozen=True)
class Explored:
    """How much there was: states, steps between them, and states in which nothing is left to do."""

    states: int
    steps: int
    ends: int


@dataclass
class _State:
    """One state of everything. Messages in flight are a bag: any of them may be next."""

    sinks: list[SinkBuffer]
    receivers: list[Receiver]
    work: list[list[tuple[int, Request]]]
    flying: Counter[tuple[str, int, int, Any]] = field(default_factory=Counter)
    doubled: int = 0
    read: list[Counter[Any]] = field(default_factory=list)
    error: str | None = None
    cancelled: bool = False

    def key(self) -> Hashable:
        return (
            tuple(sink.state() for sink in self.sinks),
            tuple(receiver.state() for receiver in self.receivers),
            tuple(len(work) for work in self.work),
            frozenset(self.flying.items()),
            self.doubled,
            tuple(frozenset(read.items()) for read in self.read),
            self.cancelled,
        )


def explore(size: Size) -> Explored:
    """Visit every state that a small exchange can reach."""
    first = _start(size)
    seen = {first.key()}
    open_states: list[tuple[_State, tuple[str, ...]]] = [(first, ())]
    steps = ends = 0
    while open_states:
        state, way = open_states.pop()
        following = list(_steps(state, size))
        if not following:
            ends += 1
            _check_end(state, size, way)
        for name, step in following:
            steps += 1
            after = copy.deepcopy(state)
            step(after)
            _check(after, size, (*way, name))
            key = after.key()
            if key not in seen:
                seen.add(key)
                open_states.append((after, (*way, name)))
    return Explored(len(seen), steps, ends)


def _start(size: Size) -> _State:
    work = []
    for sender in range(size.senders):
        requests = [
            (number % size.receivers, Request(sender, sender, (Chunk((sender, number), 1),)))
            for number in range(size.packets)
        ]
        ends = [(receiver, Request(sender, sender, eos=True)) for receiver in range(size.receivers)]
        work.append(list(reversed(requests + ends)))
    sink = SinkOptions(pipeline_sink_brpc_dop=size.dop, keep_order=size.keep_order)
    receiver = ReceiverOptions(
        exchg_node_buffer_size_bytes=size.receiver_bytes, keep_order=size.keep_order
    )
    queues = size.senders if size.keep_order else 1
    return _State(
        [SinkBuffer(dict.fromkeys(range(size.receivers), 1), sink) for _ in range(size.senders)],
        [Receiver(size.senders, queues, receiver) for _ in range(size.receivers)],
        work,
        read=[Counter() for _ in range(size.receivers)],
    )


def _steps(state: _State, size: Size) -> Iterator[tuple[str, Callable[[_State], None]]]:
    """Everything that may happen next, by name."""
    if size.cancel and not state.cancelled:
        yield "cancel", _cancel
    for sender, work in enumerate(state.work):
        if work and not state.sinks[sender].is_full:
            yield f"driver {sender}", lambda s, sender=sender: _make(s, sender)  # type: ignore[misc]
    for message in state.flying:
        yield f"{message[0]} {message[1:]}", lambda s, m=message: _deliver(s, m, keep=False)  # type: ignore[misc]
        if state.doubled < size.doubled:
            yield f"double {message}", lambda s, m=message: _deliver(s, m, keep=True)  # type: ignore[misc]
    for number, receiver in enumerate(state.receivers):
        for queue in range(size.senders if size.keep_order else 1):
            # `has_output` forgets that a queue was unplugged; a look must not be a step of its own.
            if copy.deepcopy(receiver).has_output(queue):
                yield f"read {number}", lambda s, n=number, q=queue: _read(s, n, q)  # type: ignore[misc]


def _make(state: _State, sender: int) -> None:
    receiver, request = state.work[sender].pop()
    _carry_out(state, sender, state.sinks[sender].add_request(receiver, request))


def _cancel(state: _State) -> None:
    """Everybody is told at once; what is in flight still arrives."""
    state.cancelled = True
    for sink in state.sinks:
        sink.cancel_one_sinker()
    for number, receiver in enumerate(state.receivers):
        _answer(state, number, receiver.cancel())


def _carry_out(state: _State, sender: int, effects: list[SinkEffect]) -> None:
    for effect in effects:
        if isinstance(effect, CancelFragment):
            state.error = effect.reason
        elif isinstance(effect, Send):
            state.flying["request", sender, effect.destination, effect.request] += 1


def _deliver(state: _State, message: tuple[str, int, int, Any], *, keep: bool) -> None:
    kind, sender, receiver, content = message
    if keep:
        state.doubled += 1
    else:
        state.flying[message] -= 1
        state.flying += Counter()  # forgets what is there 0 times
    if kind == "request":
        _answer(state, receiver, state.receivers[receiver].on_request(content))
    else:
        sink = state.sinks[sender]
        _carry_out(state, sender, sink.on_answer(receiver, content.sequence, content.error))


def _answer(state: _State, receiver: int, answers: list[Answer]) -> None:
    for answer in answers:
        state.flying["answer", answer.be_number, receiver, answer] += 1


def _read(state: _State, receiver: int, queue: int) -> None:
    found = state.receivers[receiver]
    found.has_output(queue)
    chunk, released = found.get_chunk(queue)
    if chunk is None:
        raise InvariantError(f"reader {receiver} was told to read, and found nothing")
    state.read[receiver][chunk.payload] += 1
    _answer(state, receiver, released)


def _check(state: _State, size: Size, way: tuple[str, ...]) -> None:
    """What must hold in every state."""
    if state.error is not None and not state.cancelled:
        raise InvariantError(f"the query failed without a fault: {state.error}, after {way}")
    if any(count > 1 for read in state.read for count in read.values()):
        raise InvariantError(f"a chunk was read twice, after {way}")
    for sink in state.sinks:
        most = max(sink.in_flight(receiver) for receiver in range(size.receivers))
        if most > size.dop:
            raise InvariantError(f"{most} requests are in flight to one receiver, after {way}")


def _check_end(state: _State, size: Size, way: tuple[str, ...]) -> None:
    """What must hold when nothing can happen any more."""
    if any(state.work) or not all(sink.is_finished for sink in state.sinks):
        raise InvariantError(f"a sender is stuck, after {way}")
    if not all(receiver.is_finished() for receiver in state.receivers):
        raise InvariantError(f"a receiver is stuck, after {way}")
    held = [sink.buffered_bytes for sink in state.sinks]
    held += [receiver.buffered_bytes for receiver in state.receivers]
    if any(held):
        raise InvariantError(f"bytes are held at the end: {held}, after {way}")
    read = sum(sum(one.values()) for one in state.read)
    if not state.cancelled and read != size.senders * size.packets:
        raise InvariantError(f"chunks are missing: {state.read}, after {way}")


def main() -> None:
    """Visit every state of one small exchange and say how many there were."""
    parser = argparse.ArgumentParser(prog="python -m seambench_suites.exchange.exploration")
    for name in ("senders", "receivers", "packets", "dop", "doubled"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Size, name))
    parser.add_argument("--keep-order", action="store_true")
    parser.add_argument("--cancel", action="store_true")
    found = explore(Size(**vars(parser.parse_args())))
    print(f"{found.states} states, {found.steps} steps, {found.ends} ends")  # noqa: T201


if __name__ == "__main__":
    main()

"""Every course that a small exchange can take: the real logic, all interleavings, no clock.

From each state, each thing that may happen next is tried: a driver makes its next request, a
message in flight arrives (any of them, so they overtake each other), a reader reads, or the query
is cancelled. States that were seen are not entered again. What must hold is checked in every state
and at every end.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from seambase.wording import counted
from seambench_suites.exchange.simulation import InvariantError
from seamkit.exchange.logic.messages import Answer, Bound, Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.logic.sink_buffer import CancelFragment, Send, SinkBuffer, SinkEffect


@dataclass(frozen=True)
class Size:
    """What is explored."""

    senders: int = 2  # senders, each with one driver
    receivers: int = 2  # receivers, each with one reader
    packets: int = 3  # requests of each sender, dealt to the receivers in turn, before each eos
    dop: int = 1  # requests in flight to one destination
    keep_order: bool = False  # a merging exchange
    receiver_bytes: int = 1  # bytes beyond which answers are withheld; a request has 1
    doubled: int = 0  # messages of the network that may arrive twice, in all
    cancel: bool = False  # the query may be cancelled, at any step
    # of a merge, whose keys are the packets' numbers: the receiver of each sender's packets. Sinks
    # and receivers are full with the first packet.
    dealt: tuple[tuple[int, ...], ...] = ()
    bounds: bool = True  # senders that are full tell receivers of a merge how far they are

    def receiver_of(self, sender: int, packet: int) -> int:
        """Who gets a packet."""
        return self.dealt[sender][packet] if self.dealt else packet % self.receivers


@dataclass(frozen=True)
class Explored:
    """How much there was: states, steps between them, and states in which nothing is left to do."""

    states: int
    steps: int
    ends: int


@dataclass
class Merge:
    """What a receiver that merges has of each sender."""

    # the key of its next row, and whether it is a row or only a bound; None: wanted; END: nothing
    # comes
    heads: list[tuple[int, bool] | None]
    last: tuple[int, int] = (-1, -1)  # key and sender of the row that left last

    def wants(self) -> int | None:
        """The sender whose rows are wanted, after all rows have left that may; None: it is over."""
        while True:
            if None in self.heads:
                return self.heads.index(None)
            there = [(head, n) for n, head in enumerate(self.heads) if head and head != END]
            if not there:
                return None
            (key, is_row), sender = min(there, key=lambda one: (one[0][0], one[1]))
            if not is_row:
                return sender
            if (key, sender) < self.last:
                raise InvariantError(f"row {key} of sender {sender} left after {self.last}")
            self.last, self.heads[sender] = (key, sender), None


#: In place of the next row of a sender that has ended.
END = (-1, False)


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
    #: Of each sender of a merge, the receivers that know how far it is.
    bounded: list[set[int]] = field(default_factory=list)
    #: Of each receiver that merges.
    merges: list[Merge] = field(default_factory=list)

    def key(self) -> Hashable:
        return (
            tuple(sink.state() for sink in self.sinks),
            tuple(receiver.state() for receiver in self.receivers),
            tuple(len(work) for work in self.work),
            frozenset(self.flying.items()),
            self.doubled,
            tuple(frozenset(read.items()) for read in self.read),
            self.cancelled,
            tuple(frozenset(receivers) for receivers in self.bounded),
            tuple(tuple(merge.heads) for merge in self.merges),
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
            after = pickle.loads(pickle.dumps(state, -1))  # noqa: S301 - a copy, in a fifth of the time
            step(after)
            _check(after, size, (*way, name))
            key = after.key()
            if key not in seen:
                seen.add(key)
                open_states.append((after, (*way, name)))
    return Explored(len(seen), steps, ends)


def walk(size: Size, seed: int) -> int:
    """One course by chance, of an exchange with too many states; how many steps it took."""
    draw, state, way = random.Random(seed), _start(size), 0
    while following := list(_steps(state, size)):
        name, step = draw.choice(following)
        step(state)
        _check(state, size, (f"step {way}", name))
        way += 1
    _check_end(state, size, (f"{way} steps of seed {seed}",))
    return way


def _start(size: Size) -> _State:
    work = []
    for sender in range(size.senders):
        requests = [
            (
                size.receiver_of(sender, number),
                Request(sender, sender, (Chunk((sender, number), 1),)),
            )
            for number in range(size.packets)
        ]
        ends = [(receiver, Request(sender, sender, eos=True)) for receiver in range(size.receivers)]
        work.append(list(reversed(requests + ends)))
    sink = SinkOptions(pipeline_sink_brpc_dop=size.dop, keep_order=size.keep_order)
    if size.dealt:
        sink = replace(sink, pipeline_sink_buffer_size=0, max_buffered_bytes=0)
    receiver = ReceiverOptions(
        exchg_node_buffer_size_bytes=size.receiver_bytes, keep_order=size.keep_order
    )
    queues = size.senders if size.keep_order else 1
    return _State(
        [SinkBuffer(dict.fromkeys(range(size.receivers), 1), sink) for _ in range(size.senders)],
        [Receiver(size.senders, queues, receiver) for _ in range(size.receivers)],
        work,
        read=[Counter() for _ in range(size.receivers)],
        bounded=[set() for _ in range(size.senders if size.dealt else 0)],
        merges=[Merge([None] * size.senders) for _ in range(size.receivers if size.dealt else 0)],
    )


def _steps(state: _State, size: Size) -> Iterator[tuple[str, Callable[[_State], None]]]:
    """Everything that may happen next, by name."""
    if size.cancel and not state.cancelled:
        yield "cancel", _cancel
    for sender, work in enumerate(state.work):
        if work and size.dealt and size.bounds and state.sinks[sender].is_full:
            yield from _tellings(state, sender)
        elif work and not state.sinks[sender].is_full:
            yield f"driver {sender}", lambda s, sender=sender: _make(s, sender)  # type: ignore[misc]
    for message in state.flying:
        yield f"{message[0]} {message[1:]}", lambda s, m=message: _deliver(s, m, keep=False)  # type: ignore[misc]
        if state.doubled < size.doubled:
            yield f"double {message}", lambda s, m=message: _deliver(s, m, keep=True)  # type: ignore[misc]
    for number in range(size.receivers):
        yield from _mergings(state, number) if size.dealt else _readings(state, number, size)


def _readings(
    state: _State, number: int, size: Size
) -> Iterator[tuple[str, Callable[[_State], None]]]:
    """What the reader of a receiver may do that takes rows as they come."""
    for queue in range(size.senders if size.keep_order else 1):
        # `has_output` forgets that a queue was unplugged; a look must not be a step of its own.
        if copy.deepcopy(state.receivers[number]).has_output(queue):
            yield f"read {number}", lambda s, q=queue: _read(s, number, q)  # type: ignore[misc]


def _tellings(state: _State, sender: int) -> Iterator[tuple[str, Callable[[_State], None]]]:
    """What a sender may do that is full: say how far it is, or nothing else than its ends."""
    if state.work[sender][-1][1].eos:
        yield f"driver {sender}", lambda s: _make(s, sender)
        return
    for receiver in state.sinks[sender].idle():
        if receiver not in state.bounded[sender]:
            yield f"tell {sender} {receiver}", lambda s, r=receiver: _tell(s, sender, r)  # type: ignore[misc]


def _tell(state: _State, sender: int, receiver: int) -> None:
    state.bounded[sender].add(receiver)
    reached = state.work[sender][-1][1].chunks[0].payload[1] - 1
    request = Request(sender, sender, bound=Bound(bytes([reached])))
    _carry_out(state, sender, state.sinks[sender].add_request(receiver, request))


def _mergings(state: _State, number: int) -> Iterator[tuple[str, Callable[[_State], None]]]:
    """What the merge of a receiver may do: read what it wants."""
    receiver, wanted = state.receivers[number], state.merges[number].wants()
    if wanted is not None and (receiver.is_finished(wanted) or receiver.has_output(wanted)):
        yield f"merge {number}", lambda s: _merge(s, number)


def _merge(state: _State, number: int) -> None:
    merge, receiver = state.merges[number], state.receivers[number]
    sender = merge.wants()
    assert sender is not None
    if receiver.is_finished(sender):
        merge.heads[sender] = END
    else:
        chunk, released = receiver.get_chunk(sender)
        assert chunk is not None
        if isinstance(chunk.payload, Bound):
            merge.heads[sender] = chunk.payload.key[0], False
        else:
            state.read[number][chunk.payload] += 1
            merge.heads[sender] = chunk.payload[1], True
        _answer(state, number, released)
    wanted = merge.wants()
    if wanted is not None and not (receiver.is_finished(wanted) or receiver.has_output(wanted)):
        _answer(state, number, receiver.starve(wanted))


def _make(state: _State, sender: int) -> None:
    receiver, request = state.work[sender].pop()
    if state.bounded:
        state.bounded[sender].clear()
    _carry_out(state, sender, state.sinks[sender].add_request(receiver, request))


def _cancel(state: _State) -> None:
    """Everybody learns it at once; what is in flight still arrives."""
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
        if state.merges:  # at once: merges have enough states without
            steps = state.sinks[answer.be_number].on_answer(receiver, answer.sequence, answer.error)
            _carry_out(state, answer.be_number, steps)
        else:
            state.flying["answer", answer.be_number, receiver, answer] += 1


def _read(state: _State, receiver: int, queue: int) -> None:
    reader = state.receivers[receiver]
    reader.has_output(queue)
    chunk, released = reader.get_chunk(queue)
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
            raise InvariantError(
                f"{counted(most, 'request', 'are')} in flight to one receiver, after {way}"
            )


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
    seen = explore(Size(**vars(parser.parse_args())))
    print(f"{counted(seen.states, 'state')}, {counted(seen.steps, 'step')}, {seen.ends} ends")  # noqa: T201


if __name__ == "__main__":
    main()

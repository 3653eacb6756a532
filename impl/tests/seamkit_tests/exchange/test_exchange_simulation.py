"""Random and exhaustive courses of an exchange: no row is lost, doubled, reordered or stuck."""

import random
from dataclasses import replace
from typing import Any

import pytest

from seambench_suites.exchange import simulation
from seambench_suites.exchange.exploration import Size, explore, walk
from seambench_suites.exchange.simulation import (
    InvariantError,
    Scenario,
    random_scenario,
    shrink,
    simulate,
)
from seamkit.exchange.logic import receiver, sink_buffer
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.logic.sink_buffer import SinkBuffer

#: Seeds that every run takes, and those that the nightly run adds.
_SHORT, _LONG = 1_000, 100_000
_BLOCK = 500


@pytest.mark.parametrize("start", range(0, _SHORT, _BLOCK))
def test_random_courses_keep_every_promise(start: int) -> None:
    """All rows arrive once, in order where promised, or the query fails with a reason."""
    outcomes = [simulate(random_scenario(seed)) for seed in range(start, start + _BLOCK)]
    complete = [outcome for outcome in outcomes if outcome.complete]
    assert len(complete) > _BLOCK // 4
    assert all(outcome.reason for outcome in outcomes if not outcome.complete)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(_SHORT, _SHORT + _LONG, 10_000))
def test_many_random_courses_keep_every_promise(start: int) -> None:
    """The same over 100,000 other courses."""
    for seed in range(start, start + 10_000):
        simulate(random_scenario(seed))


def test_the_same_scenario_takes_the_same_course() -> None:
    """A seed that fails is replayed exactly."""
    for seed in range(50):
        assert simulate(random_scenario(seed)) == simulate(random_scenario(seed))


def test_doubles_that_the_original_takes_for_data_are_found_and_shrunk() -> None:
    """Without the detection of doubles rows come twice; one packet is enough to show it."""

    def fails(scenario: Scenario) -> bool:
        try:
            simulate(scenario)
        except InvariantError as error:
            return "more than once" in str(error)
        return False

    scenario = Scenario(
        seed=1, senders=2, receivers=2, packets=5, doubled=0.5, delay=5, duplicates="accept"
    )
    assert fails(scenario)
    smallest = shrink(scenario, fails)
    told = {_reason(smallest) for _ in range(3)}
    assert len(told) == 1, "the smallest scenario fails in the same way each time"
    assert (smallest.senders, smallest.receivers, smallest.packets) == (1, 1, 1)
    assert not fails(replace(smallest, duplicates="drop"))


def test_doubles_that_count_twice_break_no_other_promise() -> None:
    """Rows come twice then, as from the original; nothing stands still or fails because of it."""
    for seed in range(300):
        scenario = replace(
            random_scenario(seed), keep_order=False, doubled=0.5, lost=0.0, duplicates="accept"
        )
        try:
            assert simulate(scenario).complete or scenario.fault != "none"
        except InvariantError as error:
            assert "more than once" in str(error)  # noqa: PT017


def _reason(scenario: Scenario) -> str:
    with pytest.raises(InvariantError) as caught:
        simulate(scenario)
    return str(caught.value)


def _first_gate_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ungated(sink_buffer.SinkBuffer):
        def _next(self, state: sink_buffer._Destination) -> Request | None:
            state.answered += 1
            found = super()._next(state)
            state.answered -= 1
            return found

    monkeypatch.setattr(simulation, "SinkBuffer", Ungated)


def _answers_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(receiver.Receiver):
        def get_chunk(self, queue: int) -> tuple[Chunk | None, list[Answer]]:
            return super().get_chunk(queue)[0], []

    monkeypatch.setattr(simulation, "Receiver", Silent)


def _chunk_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lossy(receiver.Receiver):
        def get_chunk(self, queue: int) -> tuple[Chunk | None, list[Answer]]:
            found, released = super().get_chunk(queue)
            if self._queues[queue].chunks:
                found, more = super().get_chunk(queue)
                released += more
            return found, released

    monkeypatch.setattr(simulation, "Receiver", Lossy)


def _window_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    class Eager(sink_buffer.SinkBuffer):
        def _is_throttled(self, state: sink_buffer._Destination) -> bool:
            return (
                super()._is_throttled(state)
                and len(state.in_flight) > self._options.pipeline_sink_brpc_dop
            )

    monkeypatch.setattr(simulation, "SinkBuffer", Eager)


def _order_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unordered(receiver.Receiver):
        def _came_before(self, sender: receiver._Sender, sequence: int) -> bool:  # type: ignore[override]
            sender.in_order = max(sender.in_order, sequence - 1)
            return super()._came_before(sender, sequence)

    monkeypatch.setattr(simulation, "Receiver", Unordered)


def _try_scenarios() -> None:
    for seed in range(1000):
        simulate(replace(random_scenario(seed), lost=0.0, fault="none"))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (_first_gate_forgotten, "before the first was answered"),
        (_answers_forgotten, "nothing moves|never finished|never answered"),
        (_chunk_dropped, "never read"),
        (_window_ignored, "are allowed"),
        (_order_ignored, "came after|never came|never read|nothing moves"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_put_into_the_logic_are_found(
    monkeypatch: pytest.MonkeyPatch, fault: object, reason: str
) -> None:
    """Each rule that is broken on purpose makes some course of the first thousand fail."""
    assert callable(fault)
    fault(monkeypatch)
    with pytest.raises(InvariantError, match=reason):
        _try_scenarios()


@pytest.mark.parametrize(
    ("size", "states"),
    [
        (Size(1, 1, 3, dop=1), 33),
        (Size(1, 1, 3, dop=2, doubled=1), None),
        (Size(2, 1, 2, dop=1), None),
        (Size(1, 2, 3, dop=2), 124),
        (Size(1, 1, 3, dop=2, keep_order=True), None),
        (Size(1, 1, 3, dop=2, cancel=True), None),
        (Size(1, 1, 3, dop=2, keep_order=True, doubled=1, cancel=True), None),
        pytest.param(Size(2, 1, 2, dop=1, cancel=True), None, marks=pytest.mark.slow),
    ],
)
def test_every_state_of_small_exchanges_keeps_the_rules(size: Size, states: int | None) -> None:
    """All interleavings are visited; the only ends are those where every row was read.

    Or the query was cancelled, at any step: then everyone ends and nothing is held.
    """
    found = explore(size)
    assert found.ends >= 1
    assert states is None or found.states == states


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [
        Size(2, 2, 3, dop=1),
        Size(2, 1, 3, dop=2),
        Size(2, 1, 3, dop=2, keep_order=True),
        Size(2, 2, 2, dop=1, cancel=True),
    ],
    ids=str,
)
def test_every_state_of_two_senders_and_two_receivers_keeps_the_rules(size: Size) -> None:
    """Two senders, two receivers, three packets: every interleaving."""
    assert explore(size).states > 1000


#: Two senders of which each has the rows first for which the other receiver waits.
_CROSSED = Size(2, 2, 2, keep_order=True, receiver_bytes=0, dealt=((0, 0), (1, 1)))


def test_a_merge_of_several_receivers_never_stands_still() -> None:
    """In every state senders that are full tell how far they are, and all rows leave in order."""
    assert explore(_CROSSED).states > 1000


def test_without_bounds_crossed_senders_stand_still() -> None:
    """The exploration finds what each receiver then waits for."""
    with pytest.raises(InvariantError, match="a sender is stuck"):
        explore(replace(_CROSSED, bounds=False))


@pytest.mark.slow
@pytest.mark.parametrize("dealt", [((0, 0, 1), (1, 1, 0)), ((0, 1, 1), (1, 0, 0))])
def test_every_state_of_crossed_merges_keeps_the_rules(dealt: tuple[tuple[int, ...], ...]) -> None:
    """With rows for the other receiver behind or before them."""
    assert explore(replace(_CROSSED, packets=3, dealt=dealt)).states > 10_000


def _random_merge(seed: int) -> Size:
    """A merge with everything drawn from the seed: who sends how much to whom, in which order."""
    draw = random.Random(seed)
    senders, receivers, packets = draw.randint(1, 4), draw.randint(1, 4), draw.randint(1, 12)
    weights = [[draw.random() ** 3 for _ in range(receivers)] for _ in range(senders)]
    dealt = [tuple(draw.choices(range(receivers), one, k=packets)) for one in weights]
    dealt = [tuple(sorted(one)) if draw.random() < 0.5 else one for one in dealt]
    dealt = [one[::-1] if draw.random() < 0.5 else one for one in dealt]
    return Size(
        *(senders, receivers, packets),
        dop=draw.randint(1, 3),
        keep_order=True,
        receiver_bytes=draw.randint(0, 2),
        dealt=tuple(dealt),
    )


def _walk_all() -> None:
    for seed in range(150):
        walk(_random_merge(seed), seed)


def test_random_merges_come_to_their_end() -> None:
    """Up to four senders, four receivers and twelve packets, dealt evenly or not at all evenly."""
    _walk_all()


def _end_of_all_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Receiver, "_is_over", lambda self, _: self._remaining == 0)


def _bound_before_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Receiver._queue_bound

    def broken(self: Receiver, *given: Any) -> None:
        real(self, *given)
        for queue in self._queues:
            queue.chunks.rotate(1)

    monkeypatch.setattr(Receiver, "_queue_bound", broken)


def _bounds_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Receiver, "_queue_bound", lambda *_: None)


def _only_the_idle_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SinkBuffer.idle
    monkeypatch.setattr(SinkBuffer, "idle", lambda self: real(self)[:1])


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (_end_of_all_awaited, "stuck"),
        (_bound_before_rows, "left after"),
        (_bounds_forgotten, "stuck"),
        (_only_the_idle_at_first, "stuck"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_put_into_a_merge_are_found(
    monkeypatch: pytest.MonkeyPatch, fault: Any, reason: str
) -> None:
    """Each makes some random merge stand still, or gives rows out of order."""
    fault(monkeypatch)
    with pytest.raises(InvariantError, match=reason):
        _walk_all()

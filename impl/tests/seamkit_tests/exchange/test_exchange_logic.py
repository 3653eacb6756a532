"""What sender and receiver do about single events. Rules: StarRocks' SinkBuffer and SenderQueue."""

from typing import Any

import pytest

from seambase.errors import UsageError
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.logic.sink_buffer import CancelFragment, Send, SinkBuffer


def _data(size_bytes: int = 1, driver: int = 0, be_number: int = 0, **more: Any) -> Request:
    return Request(be_number, be_number, (Chunk("rows", size_bytes, driver),), **more)


_END = Request(0, 0, eos=True)


def _sent(effects: list[Any]) -> list[int]:
    return [effect.request.sequence for effect in effects if isinstance(effect, Send)]


def test_the_original_lets_one_request_go_per_answer() -> None:
    """With `drain="one"` a backlog leaves one by one, as in StarRocks."""
    sink = SinkBuffer({7: 1}, SinkOptions(drain="one"))
    for _ in range(4):
        sink.add_request(7, _data())
    assert _sent(sink.on_answer(7, 0, None)) == [1]
    assert _sent(sink.on_answer(7, 1, None)) == [2]


def test_the_end_leaves_last_alone_and_once() -> None:
    """Of two drivers the first end is swallowed; the second waits until nothing is in flight."""
    sink = SinkBuffer({7: 2})
    sink.add_request(7, _data())
    assert sink.add_request(7, _END) == []
    assert _sent(sink.on_answer(7, 0, None)) == []
    assert _sent(sink.add_request(7, _data())) == [1]
    assert sink.add_request(7, _END) == []
    [last] = sink.on_answer(7, 1, None)
    assert isinstance(last, Send)
    assert (last.request.eos, last.request.sequence) == (True, 2)
    ended_early = sink.is_finished
    assert sink.on_answer(7, 2, None) == []
    assert (ended_early, sink.is_finished) == (False, True)


def test_data_of_a_drivers_end_is_sent_as_data_while_others_go_on() -> None:
    """An end with chunks loses its mark when it is not the last."""
    sink = SinkBuffer({7: 2})
    [sent] = sink.add_request(7, _data(eos=True))
    assert isinstance(sent, Send)
    assert not sent.request.eos
    assert sent.request.chunks


def test_a_failure_ends_the_query_even_after_the_last_end_has_left() -> None:
    """Nobody knows whether a lost request arrived: it is not repeated. The first reason counts."""
    sink = SinkBuffer({7: 1})
    sink.add_request(7, _END)
    [effect] = sink.on_failure(7, 0, "connection reset")
    assert effect == CancelFragment("request 0 to destination 7 failed: connection reset")
    assert sink.is_finished
    assert sink.on_failure(7, 0, "again") == []


def test_a_bad_answer_drops_what_waits() -> None:
    """What was never sent is counted, and the memory goes back."""
    sink = SinkBuffer({7: 1})
    sink.add_request(7, _data(5))
    sink.add_request(7, _data(6))
    assert sink.on_answer(7, 0, "no space") == [CancelFragment("no space")]
    assert (sink.statistics.requests_unsent, sink.statistics.bytes_unsent) == (1, 6)
    assert sink.buffered_bytes == 0
    assert sink.add_request(7, _data()) == []


def test_answers_count_once_and_only_to_what_was_sent() -> None:
    """An answer that comes twice is nothing; one to a request that never left ends the query."""
    sink = SinkBuffer({7: 1})
    sink.add_request(7, _data())
    sink.on_answer(7, 0, None)
    assert sink.on_answer(7, 0, None) == []
    [effect] = sink.on_answer(7, 5, None)
    assert isinstance(effect, CancelFragment)
    with pytest.raises(UsageError, match="not one of this sink's"):
        sink.on_answer(8, 0, None)


def test_cancelling_needs_every_driver() -> None:
    """The sink goes on until the last of its drivers is cancelled, then waits for what flies."""
    sink = SinkBuffer({7: 2})
    sink.add_request(7, _data())
    sink.cancel_one_sinker()
    assert _sent(sink.on_answer(7, 0, None) or sink.add_request(7, _data())) == [1]
    sink.cancel_one_sinker()
    ended_early = sink.is_finished
    sink.on_answer(7, 1, None)
    assert (ended_early, sink.is_finished) == (False, True)


def test_a_sink_is_full_by_requests_or_by_bytes() -> None:
    """More than 64 waiting requests per destination, or more bytes than allowed."""
    sink = SinkBuffer({7: 1}, SinkOptions(pipeline_sink_buffer_size=1, max_buffered_bytes=None))
    sink.add_request(7, _data(1 << 30))
    sink.add_request(7, _data())
    full = [sink.is_full]
    sink.add_request(7, _data())
    full.append(sink.is_full)
    assert full == [False, True]
    small = SinkBuffer({7: 1}, SinkOptions(max_buffered_bytes=10))
    small.add_request(7, _data(11))
    assert small.is_full


def test_above_its_limit_a_receiver_answers_when_the_rows_are_read() -> None:
    """The data is queued all the same: the answer that is missing slows the sender down."""
    receiver = Receiver(1, 1, ReceiverOptions(exchg_node_buffer_size_bytes=10))
    assert receiver.on_request(_data(10, sequence=0)) == [Answer(0, 0)]
    assert receiver.on_request(_data(1, sequence=1)) == []
    assert receiver.has_output(0)
    assert receiver.get_chunk(0)[1] == []
    assert receiver.get_chunk(0)[1] == [Answer(0, 1)]


def test_the_end_is_answered_at_once() -> None:
    """An end is never withheld, whatever is buffered."""
    receiver = Receiver(1, 1, ReceiverOptions(exchg_node_buffer_size_bytes=0))
    assert receiver.on_request(_data(5, sequence=0, eos=True)) == [Answer(0, 0)]
    assert not receiver.is_finished()
    assert receiver.has_output(0)
    receiver.get_chunk(0)
    assert receiver.is_finished()


def test_a_request_that_comes_twice_counts_once() -> None:
    """Its double is answered if it was, and waits with it if it waits."""
    receiver = Receiver(1, 1, ReceiverOptions(exchg_node_buffer_size_bytes=1))
    receiver.on_request(_data(1, sequence=0))
    assert receiver.on_request(_data(1, sequence=0)) == [Answer(0, 0)]
    receiver.on_request(_data(1, sequence=1))
    assert receiver.on_request(_data(1, sequence=1)) == []
    assert receiver.statistics.duplicates == 2
    chunks = [receiver.get_chunk(0)[0] for _ in range(3)]
    assert chunks[2] is None


def test_a_double_that_counts_twice_is_not_waited_for() -> None:
    """The first is the brake: a double has no answer before it, and is none of the window's."""
    options = ReceiverOptions(
        exchg_node_buffer_size_bytes=1, unplug_threshold=1, window=2, duplicates="accept"
    )
    receiver = Receiver(1, 1, options)
    assert receiver.on_request(_data(1, sequence=0)) == [Answer(0, 0)]
    assert receiver.on_request(_data(1, sequence=1)) == []
    assert receiver.on_request(_data(1, sequence=1)) == []
    assert receiver.on_request(_data(1, sequence=0)) == [Answer(0, 0)]
    assert receiver.on_request(_data(1, sequence=2)) == []
    assert receiver.error is None
    released = [receiver.get_chunk(0)[1] for _ in range(5)]
    assert released == [[], [Answer(0, 1)], [], [], [Answer(0, 2)]]
    assert receiver.buffered_bytes == 0


def test_a_double_after_the_end_is_dropped() -> None:
    """Once all senders have ended a reader may be gone: StarRocks keeps no rows for it, either."""
    receiver = Receiver(2, 1, ReceiverOptions(duplicates="accept"))
    receiver.on_request(_data(5, sequence=0))
    receiver.on_request(Request(0, 0, eos=True, sequence=1))
    receiver.on_request(_data(5, sequence=0))
    assert [receiver.get_chunk(0)[0] is None for _ in range(3)] == [False, False, True]
    receiver.on_request(Request(1, 1, eos=True, sequence=0))
    assert receiver.is_finished()
    assert receiver.on_request(_data(5, sequence=0)) == [Answer(0, 0)]
    assert receiver.is_finished()
    assert receiver.buffered_bytes == 0


def test_an_end_that_comes_before_the_data_is_an_error() -> None:
    """Rows that never came are not passed over."""
    receiver = Receiver(1)
    receiver.on_request(_data(sequence=0))
    [answer] = receiver.on_request(Request(0, 0, eos=True, sequence=2))
    assert answer.error is not None
    assert "request 1 never came" in answer.error
    assert receiver.error == answer.error


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (_data(sequence=0, be_number=9), "only 1 sender takes part"),
        (_data(sequence=0, driver=3), "there is no reader 3"),
        (_data(sequence=-1), "sequence numbers are 0 or more"),
    ],
)
def test_requests_that_cannot_be_of_this_query_end_it(request_: Request, reason: str) -> None:
    """A sender or a reader that the query does not have is named in the answer."""
    receiver = Receiver(1, 2)
    receiver.on_request(Request(0, 0, (), sequence=0))
    answer = receiver.on_request(request_)[-1]
    assert answer.error is not None
    assert reason in answer.error


def test_a_reader_waits_for_many_chunks_then_reads_all() -> None:
    """From 16 chunks on a queue is unplugged; it is plugged again when it is found empty."""
    receiver = Receiver(1)
    for sequence in range(16):
        assert not receiver.has_output(0)
        receiver.on_request(_data(sequence=sequence))
    for _ in range(16):
        assert receiver.has_output(0)
        receiver.get_chunk(0)
    assert not receiver.has_output(0)
    receiver.on_request(_data(sequence=16))
    assert not receiver.has_output(0)


def test_cancelling_lets_every_answer_go() -> None:
    """A sender never waits for a receiver that reads no more, whole or for one driver."""
    receiver = Receiver(1, 2, ReceiverOptions(exchg_node_buffer_size_bytes=0))
    receiver.on_request(_data(1, 0, sequence=0))
    receiver.on_request(_data(1, 1, sequence=1))
    assert receiver.short_circuit(1) == [Answer(0, 1)]
    assert receiver.on_request(_data(1, 1, sequence=2)) in ([Answer(0, 2)], [])
    assert Answer(0, 0) in receiver.cancel()
    assert receiver.buffered_bytes == 0
    assert receiver.is_finished()
    assert receiver.on_request(_data(sequence=3)) == [Answer(0, 3)]


def test_knobs_that_make_no_sense_are_refused() -> None:
    """A window of 0 would send nothing; an exchange has two sides."""
    with pytest.raises(UsageError):
        SinkOptions(pipeline_sink_brpc_dop=0)
    with pytest.raises(UsageError):
        ReceiverOptions(keep_order=True, duplicates="accept")
    with pytest.raises(UsageError):
        Receiver(0)
    with pytest.raises(UsageError):
        SinkBuffer({})

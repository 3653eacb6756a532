"""What one side may do to the other: bounds of receivers and servers, and ends that say why."""

import contextlib
import gc
import resource
import socket
import struct
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UnavailableError
from seamkit.exchange.driver import SinkDriver
from seamkit.exchange.formats.protobuf import RESULT
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.logic.receiver import Receiver
from seamkit.exchange.partition import PartitionRule
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeFailedError, ExchangeSource, SourceRegistry
from seamkit.exchange.transports.base import HELLO, announcement
from seamkit.exchange.transports.by_name import connect, serve
from seamkit.exchange.transports.sockets import SocketServer
from seamkit.exchange.transports.wire import decode_answer, encode_answer, encode_request
from seamkit_tests.samples.exchange_samples import (
    EXCHANGE,
    PATIENCE,
    STREAMS,
    Way,
    known,
    sample_batch,
    send,
    sink_to,
    until,
)


def _data(sequence: int, size: int = 1000, *, eos: bool = False, sender: int = 0) -> Request:
    return Request(sender, 0, (Chunk(b"x" * size, size),), eos, sequence)


# --- the receiver's state machine ---


@pytest.mark.parametrize("keep_order", [False, True])
def test_a_window_that_is_overrun_ends_the_exchange(keep_order: bool) -> None:
    """A sender that goes on without answers is told so; what is held never grows beyond."""
    options = ReceiverOptions(exchg_node_buffer_size_bytes=0, window=4, keep_order=keep_order)
    receiver = Receiver(1, 1, options)
    for sequence in range(4):
        assert receiver.on_request(_data(sequence)) == []
    *released, last = receiver.on_request(_data(4))
    reason = "request 4 of sender 0: 4 requests have no answer yet, and its window is no wider"
    assert last == Answer(0, 4, reason)
    assert {(one.sequence, one.error) for one in released} == {(n, reason) for n in range(4)}
    assert receiver.buffered_bytes == 0
    assert receiver.statistics.peak_buffered_bytes == 4000


@pytest.mark.parametrize("keep_order", [False, True])
def test_a_first_request_that_never_comes_holds_one_window(keep_order: bool) -> None:
    """Sequence 0 withheld: the rest is not kept for ever."""
    receiver = Receiver(1, 1, ReceiverOptions(window=8, keep_order=keep_order))
    for sequence in range(1, 8):
        assert all(one.error is None for one in receiver.on_request(_data(sequence)))
    [last] = receiver.on_request(_data(8))
    assert last.error is not None
    assert "request 0 never came, and its window of 8 begins there" in last.error


def test_what_waits_for_a_gap_is_not_kept_twice() -> None:
    """Without an order rows are read at once: only the number of a request waits for the gap."""
    receiver = Receiver(1, 1, ReceiverOptions(unplug_threshold=1))
    receiver.on_request(_data(0))
    receiver.on_request(_data(2))
    assert [receiver.get_chunk(0)[0] is not None for _ in range(3)] == [True, True, False]
    held = receiver._senders[0].ahead[2][0]  # the state itself is what is asked about
    assert held.chunks == ()


def _for(sender: int, sequence: int, *drivers: int) -> Request:
    chunks = tuple(Chunk(b"x" * 10, 10, driver) for driver in drivers)
    return Request(sender, sender, chunks, False, sequence)


def _merging(most_starved_bytes: int = 1 << 20) -> Receiver:
    """Of two senders, with two drivers, and without a buffer."""
    options = ReceiverOptions(
        keep_order=True,
        drivers=2,
        exchg_node_buffer_size_bytes=0,
        most_starved_bytes=most_starved_bytes,
    )
    return Receiver(2, 4, options)


def test_nothing_keeps_a_sender_for_whose_rows_a_driver_waits() -> None:
    """Its answers go, also to what it sends then, until a row for that driver is among it."""
    receiver = _merging()
    assert receiver.on_request(_for(0, 0, 0)) == []
    assert receiver.on_request(_for(1, 0, 1)) == []
    assert receiver.get_chunk(0)[1] == [Answer(0, 0)]
    assert receiver.starve(2) == [Answer(1, 0)]  # driver 0 waits for sender 1
    assert receiver.on_request(_for(1, 1, 1)) == [Answer(1, 1)]
    assert receiver.on_request(_for(0, 1, 0)) == []  # for sender 0 nobody waits
    assert receiver.on_request(_for(1, 2, 1, 0)) == [Answer(1, 2)]
    assert receiver.on_request(_for(1, 3, 1)) == []  # driver 0 has its row
    read = [receiver.get_chunk(queue)[1] for queue in (2, 3, 3, 3, 3)]
    assert read == [[], [], [], [], [Answer(1, 3)]]


def test_a_sender_that_nothing_keeps_has_a_bound() -> None:
    """What is read does not count; a sender that floods the other drivers ends the exchange."""
    receiver = _merging(most_starved_bytes=20)
    receiver.starve(2)
    for sequence in range(2):
        assert receiver.on_request(_for(1, sequence, 1)) == [Answer(1, sequence)]
    receiver.get_chunk(3)
    assert receiver.on_request(_for(1, 2, 1)) == [Answer(1, 2)]
    [last] = receiver.on_request(_for(1, 3, 1))
    assert last.error is not None
    assert "driver 0 waits for its rows, and those for other drivers have more" in last.error
    assert receiver.buffered_bytes == 0


@pytest.mark.parametrize("driver", [-1, 2, 3])
def test_a_driver_that_is_not_there_gets_no_rows_of_a_merge(driver: int) -> None:
    """Nor does another sender's queue, whose number would fit."""
    [answer] = _merging().on_request(_for(0, 0, driver))
    assert answer.error is not None
    assert f"there is no driver {driver}, only 2" in answer.error


def test_empty_chunks_count() -> None:
    """Chunks without a byte fill a receiver as well: by their number."""
    receiver = Receiver(1, 1, ReceiverOptions(most_waiting_chunks=10))
    empty = tuple(Chunk(b"", 0) for _ in range(6))
    assert receiver.on_request(Request(0, 0, empty, False, 0)) == [Answer(0, 0)]
    assert receiver.on_request(Request(0, 0, empty, False, 1)) == []  # withheld
    read = [receiver.get_chunk(0) for _ in range(12)]
    assert [answer for _, answers in read for answer in answers] == [Answer(0, 1)]


# --- the sink ---


_Way = partial(Way, 0, answers=False)


def _sink(*ways: Way, **options: Any) -> ExchangeSink:
    routing = Routing("broadcast")
    return sink_to(*ways, routing=routing, max_transmit_batched_bytes=1, **options)


def test_a_channel_that_does_not_open_takes_the_others_with_it() -> None:
    """What was open is closed, so that its receiver hears that the sender is gone."""
    ways = [_Way(), _Way(), _Way(refuses=True), _Way()]
    with pytest.raises(UnavailableError, match="nobody is there"):
        _sink(*ways)
    assert [way.closed for way in ways] == [True, True, False, False]


def test_nothing_leaves_after_cancel() -> None:
    """Of sixty requests that wait, the one that is being sent leaves, and no other."""
    way = _Way()
    sink = _sink(way, options=SinkOptions(pipeline_sink_buffer_size=1 << 20))
    driver = sink.driver()
    way.gate.release()
    driver.write(sample_batch(0, 10))
    until(lambda: len(way.sent) == 1)
    way.on_answer(Answer(0, 0))  # the window opens
    for number in range(60):
        driver.write(sample_batch(number, 10))
    sink.cancel("enough")
    for _ in range(100):
        way.gate.release()
    sink.close()
    until(lambda: way.closed)
    assert len(way.sent) <= 2


def _to_the_end(driver: SinkDriver, batch: pa.RecordBatch) -> None:
    driver.write(batch)
    driver.finish()


@pytest.mark.parametrize("error", [InputError("no such date"), KeyboardInterrupt("stopped")])
@pytest.mark.parametrize("kind", ["single", "hash"])
def test_a_driver_that_lost_rows_does_not_end(kind: Any, error: BaseException) -> None:
    """Whoever catches the error and goes on to the end would tell receivers that all came."""

    def encode(batch: Any) -> Any:
        if 3 in batch["k"].to_pylist():
            raise error
        return STREAMS.encode(batch)

    way, format_ = _Way(), replace(STREAMS, encode=encode)
    way.gate.release(100)
    rule = PartitionRule(("k",), 1) if kind == "hash" else None
    sink = sink_to(way, routing=Routing(kind, rule), format=format_)
    driver = sink.driver()
    driver.write(sample_batch(0, 3))
    with pytest.raises(type(error), match=str(error)):
        _to_the_end(driver, sample_batch(3, 3))
    with pytest.raises(ExchangeFailedError, match=str(error)):
        driver.finish()
    sink.close()
    assert not any(request.eos for request in way.sent)


def test_a_sender_closes_when_its_end_is_answered(tmp_path: Path) -> None:
    """A receiver that waits for the close does not wait for ever."""
    registry, source = known()
    with contextlib.closing(SocketServer(registry, f"unix:{tmp_path / 's'}")) as server:
        sink = sink_to(connect("sockets", server.address, EXCHANGE))
        send(sink, sample_batch(0, 10))
        until(lambda: not server._connections)
        assert sum(len(batch) for batch in source.batches(0, PATIENCE)) == 10


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        (None, "a chunk is no Arrow IPC stream"),
        (RefusedError("beyond a limit"), "beyond a limit"),
        (KeyboardInterrupt("stopped"), "stopped"),
    ],
    ids=["input", "refused", "interrupted"],
)
def test_rows_that_cannot_be_decoded_end_the_exchange(
    raised: BaseException | None, says: str
) -> None:
    """The reader gets the reason, so does every sender that is waited for; nobody reads on."""

    def decode(data: Any) -> Any:
        if raised is None:
            return STREAMS.decode(data)
        raise raised

    _, source = known(2, 1, replace(STREAMS, decode=decode), unplug_threshold=1)
    answers: list[Answer] = []
    source.deliver(_data(0, sender=0), answers.append)
    with pytest.raises(type(raised or InputError("")), match=says):
        source.read(0, PATIENCE)
    source.deliver(_data(0, sender=1), answers.append)
    assert answers[0].error is None
    assert answers[1].error is not None
    assert "cannot be decoded" in answers[1].error
    with pytest.raises(ExchangeFailedError, match="cannot be decoded"):
        source.read(0, PATIENCE)


# --- servers of sockets ---


@contextlib.contextmanager
def _peer(server: SocketServer) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE)
        peer.connect(server.address.removeprefix("unix:"))
        peer.sendall(HELLO)
        yield peer


def _frame(request: Request, exchange: int = EXCHANGE) -> bytes:
    message, payloads = encode_request(exchange, request, inline=False)
    data = b"".join(payloads)
    return struct.pack("<IQ", len(message), len(data)) + message + data


def _said(peer: socket.socket) -> list[Answer]:
    """All answers until the server closes, those that say that it lives left out."""
    heard = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := peer.recv(1 << 16):
            heard += piece
    answers, at = [], len(HELLO)
    while at < len(heard):
        (size,) = struct.unpack_from("<I", heard, at)
        answer = decode_answer(bytes(heard[at + 12 : at + 12 + size]))
        at += 12 + size
        if answer.sequence >= 0 or answer.error is not None:
            answers.append(answer)
    return answers


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SocketServer]:
    """A server that knows no exchange and takes requests of at most 10,000 bytes."""
    made = SocketServer(SourceRegistry(), f"unix:{tmp_path / 's'}", most_bytes=10_000)
    yield made
    made.close()


_LIED = struct.pack("<IQ", 3, 0) + b"\xff\xff\xff"
_WRONG = {
    "broken protobuf": (_frame(announcement(0)) + _LIED, "not a PTransmitChunkParams"),
    "a size that lies": (struct.pack("<IQ", 10, 1 << 60), "are taken"),
    "no announcement": (_frame(_data(0)), "came before its sender was announced"),
    "two announcements": (_frame(announcement(0)) * 2, "sender 0 is announced where sender 0 was"),
    "another sender's request": (
        _frame(announcement(1)) + _frame(_data(0)),
        "request 0 of sender 0 to exchange 7 came from sender 1",
    ),
}


@pytest.mark.parametrize("wrong", _WRONG)
def test_a_peer_that_breaks_the_protocol_hears_why(server: SocketServer, wrong: str) -> None:
    """The last answer, of sequence -1, has the reason; then the connection ends."""
    frames, reason = _WRONG[wrong]
    with _peer(server) as peer:
        peer.sendall(frames)
        if wrong != "two announcements":  # of one that stays a server takes leave by itself
            peer.shutdown(socket.SHUT_WR)
        *_, last = _said(peer)
    assert last.sequence == -1
    assert last.error is not None
    assert reason in last.error


def test_a_window_overrun_over_a_socket_is_answered(tmp_path: Path) -> None:
    """A sender that waits for no answer gets the reason; memory stays a window."""
    registry, _ = known(exchg_node_buffer_size_bytes=0, window=3)
    with contextlib.closing(SocketServer(registry, f"unix:{tmp_path / 's'}")) as server:
        with _peer(server) as peer:
            peer.sendall(_frame(announcement(0)))
            for sequence in range(50):
                peer.sendall(_frame(_data(sequence, 10_000)))
            peer.shutdown(socket.SHUT_WR)
            answers = _said(peer)
        assert len(answers) == 50
        assert {answer.error for answer in answers} == {
            "request 3 of sender 0: 3 requests have no answer yet, and its window is no wider"
        }
        until(lambda: server.allocator.counters().live_blocks == 0)


def test_a_server_out_of_file_numbers_accepts_again(server: SocketServer) -> None:
    """EMFILE passes; a server that stopped for it would be deaf for ever."""
    late = socket.socket(socket.AF_UNIX)
    late.settimeout(PATIENCE)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[socket.socket] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, limits[0]), limits[1]))
        with contextlib.suppress(OSError):
            while True:
                taken.append(socket.socket(socket.AF_UNIX))
        late.connect(server.address.removeprefix("unix:"))
        until(lambda: any("not taken" in error for error in list(server.errors)))
    finally:
        for one in taken:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    late.sendall(HELLO)
    assert late.recv(8) == HELLO
    late.close()


def test_a_thread_that_cannot_start_costs_one_connection(
    server: SocketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system has no thread to give: that peer is dropped, the next one is served."""
    real, failures = threading.Thread.start, iter([True])

    def start(thread: threading.Thread) -> None:
        if next(failures, False):
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with socket.socket(socket.AF_UNIX) as first:
        first.settimeout(PATIENCE)
        first.connect(server.address.removeprefix("unix:"))
        assert first.recv(8) == b""
    with _peer(server) as second:
        assert second.recv(8) == HELLO
    assert any("can't start new thread" in error for error in server.errors)


def test_connections_have_a_bound(tmp_path: Path) -> None:
    """Idle peers take a place each; one more is dropped, and a place that is free is given."""
    place = f"unix:{tmp_path / 's'}"
    server = SocketServer(SourceRegistry(), place, most_connections=2)
    with contextlib.closing(server):
        with _peer(server) as first, _peer(server) as second:
            assert first.recv(8) == second.recv(8) == HELLO
            with socket.socket(socket.AF_UNIX) as third:
                third.settimeout(PATIENCE)
                third.connect(place.removeprefix("unix:"))
                assert third.recv(8) == b""
        until(lambda: server._served == 0)
        with _peer(server) as again:
            assert again.recv(8) == HELLO


# --- answers that are none ---


class _Liar:
    """A receiver that says what it is told to after the first request."""

    def __init__(self, place: Path, answer: bytes) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        self._listener.listen()
        self._answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        with contextlib.suppress(OSError), peer:
            peer.sendall(HELLO)
            heard = bytearray()
            while len(heard) < 200:  # an announcement and a request
                heard += peer.recv(1 << 16)
            peer.sendall(struct.pack("<IQ", len(self._answer), 0) + self._answer)
            while peer.recv(1 << 16):
                pass

    def close(self) -> None:
        self._listener.close()


_ANSWERS = {
    "no status": (RESULT(be_number=3, sequence=0).SerializeToString(), "answer without a status"),
    "another sender": (encode_answer(Answer(4, 0)), "an answer to sender 4 came to sender 3"),
    "an end of the server": (encode_answer(Answer(0, -1, "no room")), "no room"),
    "a request that never left": (encode_answer(Answer(3, 9)), "request 9, which was never sent"),
}


@pytest.mark.parametrize("answer", _ANSWERS)
def test_an_answer_that_is_none_fails_the_sender(answer: str, tmp_path: Path) -> None:
    """Nothing but a status for an open request of this sender counts as good."""
    said, reason = _ANSWERS[answer]
    with contextlib.closing(_Liar(tmp_path / "s", said)):
        way = connect("sockets", f"unix:{tmp_path / 's'}", EXCHANGE)
        sink = sink_to(way, be_number=3)
        driver = sink.driver()
        driver.write(sample_batch(0, 100))
        with contextlib.suppress(ExchangeFailedError):
            driver.finish()
        with pytest.raises(ExchangeFailedError, match=reason):
            sink.wait_finished(PATIENCE)
        sink.close()


# --- the end ---


def test_whoever_closes_can_wait_for_answers() -> None:
    """A reader may see the end while the answer to the last request is still on its way."""
    source, taken, answers = ExchangeSource(1, 1), threading.Event(), list[Answer]()

    def reply(answer: Answer) -> None:
        taken.wait(PATIENCE)
        answers.append(answer)

    last = Request(0, 0, (), True, 0)
    arriving = threading.Thread(target=source.deliver, args=(last, reply))
    arriving.start()
    assert source.read(0, PATIENCE) is None
    assert not source.wait_answered(0.05)
    taken.set()
    assert source.wait_answered(PATIENCE)
    assert [answer.sequence for answer in answers] == [0]
    arriving.join()


@pytest.mark.parametrize("transport", ["sockets", "flight"])
def test_no_thread_keeps_a_closed_sink(transport: str, tmp_path: Path) -> None:
    """What a sink holds is free as soon as it is closed, though requests were never answered."""
    registry = SourceRegistry()
    with contextlib.closing(serve(transport, registry, f"unix:{tmp_path / 's'}")) as server:
        for _ in range(4):
            registry.forget(EXCHANGE)
            registry.register(EXCHANGE, ExchangeSource(1, 1, None, ReceiverOptions(0)))
            way = connect(transport, server.address, EXCHANGE)
            sink = sink_to(way, be_number=3, max_transmit_batched_bytes=0)
            sink.driver().write(sample_batch(0, 100))
            sink.close()
            held = weakref.ref(sink)
            del sink, way
            gc.collect()
            assert held() is None

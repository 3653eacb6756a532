"""Exchanges between processes: they work, and where one fails the other is told in bounded time."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from seamkit.exchange.logic.options import SinkOptions
from seamkit.exchange.sink import ExchangeSink
from seamkit.exchange.source import ExchangeFailedError
from seamkit.exchange.transports.by_name import connect, serve
from seamkit_tests.samples.exchange_peer import Peer
from seamkit_tests.samples.exchange_samples import (
    EXCHANGE,
    PATIENCE,
    known,
    make_certificates,
    sample_batch,
    send,
    sink_to,
)

MakePeer = Callable[..., Peer]

#: Bytes that a sender may hold, and what its process may grow by beyond them.
LIMIT_BYTES, NOISE_BYTES = 8 << 20, 32 << 20
TRANSPORTS = ["sockets", "grpc", "flight"]


@pytest.fixture
def make_peer() -> Iterator[MakePeer]:
    """Starts peers that do not outlive the test."""
    made: list[Peer] = []

    def make(role: str, **settings: Any) -> Peer:
        made.append(Peer(role, **settings))
        return made[-1]

    yield make
    for peer in made:
        peer.end()


def _sink(transport: str, address: str, **options: Any) -> ExchangeSink:
    way = connect(transport, address, EXCHANGE, **options)
    return sink_to(way, max_transmit_batched_bytes=1)


# Within a process all go every way.
@pytest.mark.parametrize(
    ("transport", "way"),
    [("sockets", "unix"), ("sockets", "tls"), ("grpc", "unix"), ("flight", "tls")],
)
def test_rows_reach_another_process(
    make_peer: MakePeer, tmp_path: Path, transport: str, way: str
) -> None:
    """Every row that one process writes another one reads, once."""
    address = f"unix:{tmp_path / 's'}" if way == "unix" else "tcp:127.0.0.1:0"
    certificates = make_certificates(tmp_path)
    tls = {"tls": certificates.server_tls} if way == "tls" else {}
    peer = make_peer("read", transport=transport, address=address, **tls)
    options = {"tls": certificates.client_tls} if way == "tls" else {}
    sink = _sink(transport, peer.line(), **options)
    send(sink, *(sample_batch(start, 100) for start in range(0, 1000, 100)))
    sink.close()
    assert peer.line() == f"1000 rows, sum {sum(range(1000))}"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_killed_receiver_fails_its_sender(make_peer: MakePeer, transport: str) -> None:
    """Requests without an answer fail with the address; so does whatever is sent afterwards."""
    peer = make_peer("hold", transport=transport, address="tcp:127.0.0.1:0")
    address = peer.line()
    sink = _sink(transport, address)
    driver = sink.driver()
    driver.write(sample_batch(0, 10))
    peer.signal(signal.SIGKILL)
    with pytest.raises(ExchangeFailedError, match=address):
        sink.wait_finished(PATIENCE)
    with pytest.raises(ExchangeFailedError, match=address):
        driver.write(sample_batch(10, 10))
    sink.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_receiver_that_stops_is_given_up(make_peer: MakePeer, transport: str) -> None:
    """A process that stands still keeps its connection; without a sign of life it is given up."""
    beats = {} if transport == "grpc" else {"beat_seconds": 0.1}
    peer = make_peer("hold", transport=transport, address="tcp:127.0.0.1:0", **beats)
    sink = _sink(transport, peer.line(), silence_seconds=1.0)
    sink.driver().write(sample_batch(0, 10))
    peer.signal(signal.SIGSTOP)
    with pytest.raises(ExchangeFailedError, match="request 0 to destination 0 failed"):
        sink.wait_finished(PATIENCE)
    sink.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_answer_may_be_withheld_for_longer_than_silence(transport: str) -> None:
    """What is bounded is silence of the peer, never the time that its readers take."""
    registry, source = known(exchg_node_buffer_size_bytes=0)
    beats = {} if transport == "grpc" else {"beat_seconds": 0.05}
    server = serve(transport, registry, "tcp:127.0.0.1:0", **beats)
    sink = _sink(transport, server.address, silence_seconds=1.0)
    driver = sink.driver()
    driver.write(sample_batch(0, 10))
    with pytest.raises(ExchangeFailedError, match=r"the sink did not finish in 1\.4 s"):
        sink.wait_finished(1.4)
    found = source.read(0, PATIENCE)
    assert found is not None
    assert found.num_rows == 10
    driver.finish()
    sink.wait_finished(PATIENCE)
    sink.close()
    server.close()


@pytest.mark.parametrize(("role", "said"), [("send", "sent"), ("open", "connected")])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_killed_sender_fails_its_receiver(
    make_peer: MakePeer, transport: str, role: str, said: str
) -> None:
    """A reader that waits for a sender without an end is told of it, also before it sent."""
    registry, source = known(queues=2, exchg_node_buffer_size_bytes=0)
    server = serve(transport, registry, "tcp:127.0.0.1:0")
    peer = make_peer(role, transport=transport, address=server.address)
    assert peer.line() == said
    peer.signal(signal.SIGKILL)
    with pytest.raises(ExchangeFailedError, match="sender 3 is lost before its end"):
        source.read(1, PATIENCE)
    server.close()


@pytest.mark.parametrize(
    "seconds", [0.3, pytest.param(60.0, marks=pytest.mark.slow)], ids=["short", "a minute"]
)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_sender_stays_within_its_limit_while_its_receiver_stands_still(
    make_peer: MakePeer, transport: str, seconds: float
) -> None:
    """Buffered bytes and the process itself; when the receiver goes on, so does everything."""
    peer = make_peer("gate", transport=transport, address="tcp:127.0.0.1:0")
    batch, count = sample_batch(0, 1000), 1000
    options = SinkOptions(
        pipeline_sink_brpc_dop=1 << 20,
        pipeline_sink_buffer_size=1 << 20,
        max_buffered_bytes=LIMIT_BYTES,
    )
    way = connect(transport, peer.line(), EXCHANGE)
    sink = sink_to(way, options=options, max_transmit_batched_bytes=1)
    writer = threading.Thread(target=send, args=(sink, *[batch] * count), daemon=True)
    before = psutil.Process().memory_info().rss
    writer.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert sink.buffered_bytes <= LIMIT_BYTES + 2 * batch.nbytes
        # Whatever the transport holds beside, it holds few copies of what waits.
        assert psutil.Process().memory_info().rss - before < 4 * LIMIT_BYTES + NOISE_BYTES
        time.sleep(0.02)
    assert writer.is_alive()
    peer.pipe.send("go on")
    writer.join(seconds + PATIENCE)
    sink.wait_finished(PATIENCE)
    assert peer.line() == f"{count * 1000} rows, sum {count * sum(range(1000))}"
    sink.close()

"""Transports of whole exchanges: who waits for whom, who is let in, what is too large or broken."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from seambase.errors import InputError, RefusedError, UnavailableError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.exchange.formats.formats import ChunkFormat, chunk_format
from seamkit.exchange.formats.protobuf import PARAMS, RESULT
from seamkit.exchange.logic.channel import Channel
from seamkit.exchange.logic.messages import Chunk, Request
from seamkit.exchange.logic.options import SinkOptions
from seamkit.exchange.partition import PartitionRule
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeFailedError, ExchangeSource, SourceRegistry
from seamkit.exchange.transports.address import ClientTls, ServerTls
from seamkit.exchange.transports.base import HELLO, Arrivals, Server, announcement
from seamkit.exchange.transports.by_name import TRANSPORTS, connect, serve
from seamkit.exchange.transports.local import LocalChannel
from seamkit.exchange.transports.sockets import SocketServer
from seamkit.exchange.transports.wire import encode_request
from seamkit_tests.samples.exchange_samples import (
    EXCHANGE,
    PATIENCE,
    SCHEMA,
    STREAMS,
    Certificates,
    known,
    make_certificates,
    sample_batch,
    send,
    sink_to,
    until,
)

#: Transport and way.
NETWORK = [f"{transport}+{way}" for transport in TRANSPORTS for way in ("unix", "tcp", "tls")]
MakeChannel = Callable[[SourceRegistry, int], Channel]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """PEM files."""
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture(params=["local", *NETWORK])
def make_channel(
    request: pytest.FixtureRequest, tmp_path: Path, certificates: Certificates
) -> Iterator[MakeChannel]:
    """Makes a channel into a registry; each registry has a server of its own."""
    servers: list[Server] = []

    def make(registry: SourceRegistry, exchange: int) -> Channel:
        if request.param == "local":
            return LocalChannel(registry, exchange)
        transport, way = request.param.split("+")
        unix = f"unix:{tmp_path / str(len(servers))}"
        tls: dict[str, Any] = {"tls": certificates.server_tls} if way == "tls" else {}
        address = unix if way == "unix" else "tcp:127.0.0.1:0"
        servers.append(serve(transport, registry, address, **tls))
        if tls:
            tls["tls"] = certificates.client_tls
        return connect(transport, servers[-1].address, exchange, **tls)

    yield make
    for server in servers:
        server.close()
        assert server.errors == []


def test_a_sink_waits_while_its_receiver_reads_nothing(make_channel: MakeChannel) -> None:
    """Above the receiver's limit answers are withheld; the sink's bytes stay within its bound."""
    passed = make_channel(SourceRegistry(), 0).pass_through
    registry, source = known(format_=None if passed else STREAMS, exchg_node_buffer_size_bytes=1)
    options = SinkOptions(pipeline_sink_brpc_dop=2, max_buffered_bytes=20_000)
    channel = make_channel(registry, EXCHANGE)
    sink = sink_to(channel, options=options, max_transmit_batched_bytes=1)
    batches = [sample_batch(start, 50) for start in range(0, 5000, 50)]
    writer = threading.Thread(target=send, args=(sink, *batches), daemon=True)
    writer.start()
    until(lambda: sink.buffered_bytes >= 20_000)
    held = [sink.buffered_bytes]
    time.sleep(0.05)
    held.append(sink.buffered_bytes)
    assert held[0] == held[1] < 20_000 + 2 * 8_000
    rows = sum(batch.num_rows for batch in source.batches(0, PATIENCE))
    writer.join(PATIENCE)
    assert rows == 5000
    assert sink.buffered_bytes == 0
    sink.close()


def test_a_cancelled_receiver_ends_its_senders(make_channel: MakeChannel) -> None:
    """The reason reaches whoever writes, and nobody waits for what will not come."""
    registry, source = known(format_=None)
    source.cancel("the query was killed")
    channel = make_channel(registry, EXCHANGE)
    sink = sink_to(channel)
    with pytest.raises(ExchangeFailedError, match="the query was killed"):
        send(sink, sample_batch(0, 10))
    with pytest.raises(ExchangeFailedError, match="the query was killed"):
        source.read(0, PATIENCE)
    sink.close()


def test_an_exchange_that_is_not_known_is_an_error(make_channel: MakeChannel) -> None:
    """Rows for nobody are never dropped with a good answer."""
    channel = make_channel(SourceRegistry(), EXCHANGE)
    sink = sink_to(channel)
    with pytest.raises(ExchangeFailedError, match="exchange 7 is not known here"):
        send(sink, sample_batch(0, 10))
    sink.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_server_that_goes_away_fails_what_is_open(transport: str) -> None:
    """Requests without an answer fail with the address, in bounded time."""
    registry, _ = known(exchg_node_buffer_size_bytes=0)
    server = serve(transport, registry, "tcp:127.0.0.1:0")
    sink = sink_to(connect(transport, server.address, EXCHANGE), max_transmit_batched_bytes=1)
    sink.driver().write(sample_batch(0, 10))
    server.close()
    with pytest.raises(ExchangeFailedError, match=server.address):
        sink.wait_finished(PATIENCE)
    sink.close()


def _open(channel: Channel) -> None:
    channel.open(lambda _answer: None, lambda _sequence, _reason: None)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nobody_there_is_unavailable(tmp_path: Path, transport: str) -> None:
    """A channel says at once that its address does not answer, or is none."""
    with pytest.raises(UnavailableError, match="nobody cannot be reached"):
        _open(connect(transport, f"unix:{tmp_path / 'nobody'}", 1))
    with pytest.raises(UsageError, match="is no address"):
        connect(transport, "http://x", 1)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_address_is_had_once(transport: str) -> None:
    """A second server at an address is refused, not given a part of what comes."""
    server = serve(transport, SourceRegistry(), "tcp:127.0.0.1:0")
    with pytest.raises(UnavailableError, match=f"cannot listen at {server.address}"):
        serve(transport, SourceRegistry(), server.address)
    server.close()


def test_an_unknown_transport_is_a_usage_error() -> None:
    """The message says which there are."""
    with pytest.raises(UsageError, match="unknown transport 'brpc'; there are sockets, grpc, f"):
        connect("brpc", "tcp:127.0.0.1:1", 1)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_certificate_of_another_authority_or_name_is_refused(
    transport: str, certificates: Certificates
) -> None:
    """Nothing is sent to a server unless its certificate verifies, and is the server's."""
    server = serve(transport, SourceRegistry(), "tcp:127.0.0.1:0", tls=certificates.server_tls)
    for tls, says in (
        (ClientTls(certificates.strange_roots), r"(?i)certificate.verify.failed"),
        (ClientTls(certificates.roots, server_name="elsewhere.example"), "cannot be reached"),
    ):
        with pytest.raises(UnavailableError, match=says):
            _open(connect(transport, server.address, 1, tls=tls))
    server.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_server_may_ask_for_certificates(transport: str, certificates: Certificates) -> None:
    """A client with one of the right authority is let in, one without is not."""
    tls = ServerTls(certificates.server, certificates.server, certificates.roots)
    server = serve(transport, SourceRegistry(), "tcp:127.0.0.1:0", tls=tls)
    shown = ClientTls(certificates.roots, None, certificates.client, certificates.client)
    channel = connect(transport, server.address, 1, tls=shown)
    _open(channel)
    channel.close()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        _open(connect(transport, server.address, 1, tls=certificates.client_tls))
    server.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_files_that_are_no_certificates_are_named(transport: str, tmp_path: Path) -> None:
    """Before anything is connected."""
    path = tmp_path / "empty.pem"
    path.touch()
    with pytest.raises(InputError, match=r"empty\.pem"):
        serve(transport, SourceRegistry(), "tcp:127.0.0.1:0", tls=ServerTls(path, path))
    with pytest.raises(InputError, match=r"empty\.pem"):
        _open(connect(transport, "tcp:127.0.0.1:1", 1, tls=ClientTls(path)))


@pytest.mark.parametrize(
    ("format_name", "routing"),
    [("arrow", Routing("single")), ("arrow-batch", Routing("hash", PartitionRule(["k"], 1)))],
)
@pytest.mark.parametrize("parts", [{}, {"rpc_http_min_size": 0}, {"rpc_http_min_size": 9_000}])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_what_is_too_large_for_a_request_is_split(
    transport: str, parts: dict[str, Any], format_name: str, routing: Routing
) -> None:
    """By chunks, and a batch whose chunk is too large by rows: all rows, no request too large.

    Whether a request leaves whole or in two parts, it has as many bytes at most.
    """
    batches = [sample_batch(0, 3000), *(sample_batch(start, 10) for start in range(3000, 4000, 10))]
    formats = chunk_format(format_name, SCHEMA)
    assert len(memoryview(formats.encode(batches[0]))) > 4 * 20_000
    registry, source = known(format_=formats)
    server = serve(transport, registry, "tcp:127.0.0.1:0", most_bytes=20_000)
    way = connect(transport, server.address, EXCHANGE, most_bytes=20_000, **parts)
    sink = sink_to(way, routing=routing, format=formats, max_transmit_batched_bytes=1 << 30)
    driver = sink.driver()
    for batch in batches:
        driver.write(batch)
    driver.finish()
    keys = [key for batch in source.batches(0, PATIENCE) for key in batch["k"].to_pylist()]
    assert sorted(keys) == [*range(4000)]  # one in two parts may be overtaken by others
    sink.wait_finished(PATIENCE)
    sink.close()
    server.close()
    assert server.errors == []


def test_a_row_that_no_request_can_carry_is_refused(tmp_path: Path) -> None:
    """With its size and the bound, rather than sent in vain."""
    server = serve("sockets", SourceRegistry(), f"unix:{tmp_path / 's'}")
    sink = sink_to(connect("sockets", server.address, EXCHANGE, most_bytes=100))
    reason = r"one row has \d+ bytes.* carries 100: raise most_bytes"
    with pytest.raises(RefusedError, match=reason):
        sink.driver().write(sample_batch(0, 10))
    sink.close()
    server.close()


def test_a_number_that_is_used_again_is_another_exchange() -> None:
    """A connection that ends late loses its senders at the exchange that they sent to, only."""
    registry = SourceRegistry()
    first, second = ExchangeSource(1), ExchangeSource(1)
    known, early = Arrivals(registry), Arrivals(registry)
    early.deliver(EXCHANGE, announcement(0), lambda _answer: None)
    registry.register(EXCHANGE, first)
    known.deliver(EXCHANGE, announcement(0), lambda _answer: None)
    registry.forget(EXCHANGE)
    registry.register(EXCHANGE, second)
    known.end("its connection ended")
    with pytest.raises(ExchangeFailedError, match="sender 0 is lost"):
        first.read(0, PATIENCE)
    with pytest.raises(ExchangeFailedError, match="nothing came"):
        second.read(0, 0.01)
    early.end("its connection ended")  # of one that came before any exchange had this number
    with pytest.raises(ExchangeFailedError, match="sender 0 is lost"):
        second.read(0, PATIENCE)


def test_what_a_channel_did_not_expect_ends_the_query() -> None:
    """Requests leave from a thread of the sink; whoever waits is told what went wrong there."""

    class Broken(LocalChannel):
        pass_through = False

        def send(self, request: Request) -> None:
            raise NativeMemoryError(f"no memory for request {request.sequence}")

    sink = sink_to(Broken(SourceRegistry(), EXCHANGE))
    with pytest.raises(ExchangeFailedError, match="could not be sent: no memory for request 0"):
        send(sink, sample_batch(0, 10))
    sink.close()


def test_many_small_chunks_are_split_by_their_number(tmp_path: Path) -> None:
    """The message beside the payloads has a bound as well, whatever the bytes of the chunks."""
    batch = pa.record_batch({"a": [1]})
    tiny = ChunkFormat("tiny", lambda _batch: b"x", lambda _data: batch)
    registry, source = known(format_=tiny, most_waiting_chunks=100_000)
    server = serve("sockets", registry, f"unix:{tmp_path / 's'}")
    sink = ExchangeSink(
        batch.schema,
        [connect("sockets", server.address, EXCHANGE)],
        Routing("single"),
        be_number=0,
        format=tiny,
        max_transmit_batched_bytes=1 << 30,
    )
    send(sink, *repeat(batch, 100_000))
    assert sum(1 for _ in source.batches(0, PATIENCE)) == 100_000
    sink.close()
    server.close()
    assert server.errors == []


@pytest.mark.parametrize("parts", [{}, {"rpc_http_min_size": 0}])
@pytest.mark.parametrize("transport", ["grpc", "flight"])
def test_a_request_above_the_servers_bound_fails(transport: str, parts: dict[str, int]) -> None:
    """Both sides may set bounds; the lower one counts, and the sender is told."""
    registry, _ = known()
    server = serve(transport, registry, "tcp:127.0.0.1:0", most_bytes=0)
    sink = sink_to(connect(transport, server.address, EXCHANGE, **parts))
    reason = r"larger than max|bytes; 0 are taken|bytes, and 0 are taken"
    with pytest.raises(ExchangeFailedError, match=reason):
        send(sink, sample_batch(0, 50_000))
    sink.close()
    server.close()


def _message(*sizes: int) -> bytes:
    request = PARAMS(node_id=1, driver_sequences=[0] * len(sizes))
    for size in sizes:
        request.chunks.add(data_size=size)
    encoded: bytes = request.SerializeToString()
    return encoded


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "exchange 0 is not known here"),
        ([_message(2, 3), b"abc", b"de"], "exchange 1 is not known here"),
        ([_message(2, 3), b"a", b"bcde"], "exchange 1 is not known here"),
        ([_message(2, 3), b"abc"], "a chunk of 3 bytes came with 1"),
        ([_message(2, 3), b"abc", b"", b"de"], "a chunk of 3 bytes came with 1"),
        ([_message(2, 3), b"abc", b"def"], "chunks of 5 bytes came with an attachment of more"),
        ([_message(8, -3), b"abcde"], "a chunk of -3 bytes is announced"),
        ([_message(50, 51), b"x" * 101], "has 101 bytes, and 100 are taken at most"),
        ([_message(1 << 62, 1 << 62)], "bytes, and 100 are taken at most"),
        ([b"\xff\xff\xff"], "not a PTransmitChunkParams"),
        ([b"\0" * (1 << 20) + b"\0"], "a message of 1,048,577 bytes"),
        (
            [encode_request(1, announcement(0), inline=False)[0]],
            "an announcement came as a request",
        ),
        ([_message(2), None], "stood still for 0.2 s"),
        ([None], "stood still for 0.2 s"),
    ],
)
def test_a_request_in_two_parts_is_as_large_as_it_says(
    parts: list[bytes | None], reason: str
) -> None:
    """Its second part is refused before it is read if it is too large, then where it differs."""
    grpc = pytest.importorskip("grpc")
    limits = {"most_bytes": 100, "silence_seconds": 0.2}
    server = serve("grpc", SourceRegistry(), "tcp:127.0.0.1:0", **limits)
    over = threading.Event()

    def said() -> Iterator[bytes]:
        for part in parts:
            if part is None:
                over.wait(PATIENCE)
                return
            yield part

    with grpc.insecure_channel(server.address.removeprefix("tcp:")) as channel:
        service = "seambench.bench.exchange.PInternalService"
        call = channel.stream_unary(f"/{service}/transmit_chunk_in_parts")
        if "known" in reason:
            status = RESULT.FromString(call(said(), timeout=PATIENCE)).status
            assert reason in status.error_msgs[0]
        else:
            with pytest.raises(grpc.RpcError, match=reason):
                call(said(), timeout=PATIENCE)
    over.set()
    server.close()


def test_a_server_without_two_parts_is_named() -> None:
    """It is told apart from one that is gone; nothing is sent to it in another way."""
    registry, _ = known()
    server = serve("grpc", registry, "tcp:127.0.0.1:0")
    channel = connect("grpc", server.address, EXCHANGE, rpc_http_min_size=10)
    heard: list[str] = []
    failed = threading.Event()

    def on_failure(_sequence: int, reason: str) -> None:
        heard.append(reason)
        failed.set()

    channel.open(lambda _: None, on_failure, 0)
    inner: Any = channel
    inner._call_in_parts = inner._channel.stream_unary("/seambench.bench.exchange.P/old")
    channel.send(Request(0, 0, (Chunk(b"x" * 11, 11),), False, 0))
    assert failed.wait(PATIENCE)
    assert "takes no request in two parts, as those above 10 bytes are" in heard[0]
    channel.close()
    server.close()


@pytest.mark.parametrize("size", [-1, 1 << 31])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_more_than_a_message_can_have_is_no_size_for_two_parts(transport: str, size: int) -> None:
    """Nor less than none."""
    with pytest.raises(UsageError, match=rf"rpc_http_min_size is 0 to 2147482624, .* not {size}"):
        connect(transport, "tcp:127.0.0.1:1", 1, rpc_http_min_size=size)


@pytest.mark.parametrize(
    ("transport", "module", "reason"),
    [
        ("grpc", "grpc", r"pip install 'seamkit\[exchange\]'"),
        ("flight", "pyarrow.flight", "built without Flight"),
    ],
)
def test_a_missing_package_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, transport: str, module: str, reason: str
) -> None:
    """Only the transport that needs it is, and the message says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnavailableError, match=reason):
        connect(transport, "tcp:127.0.0.1:1", 1)
    with pytest.raises(UnavailableError, match=reason):
        serve(transport, SourceRegistry(), "tcp:127.0.0.1:0")


def test_grpc_calls_of_strangers_are_refused() -> None:
    """Another greeting, a message that is none, chunks and sizes that do not agree."""
    grpc = pytest.importorskip("grpc")
    server = serve("grpc", SourceRegistry(), "tcp:127.0.0.1:0")
    request = PARAMS(node_id=1, driver_sequences=[0])
    request.chunks.add(data=b"abc", data_size=4)
    said = {
        "hello": (b"GET / HTTP", "the peer says"),
        "transmit_chunk": (b"\xff\xff\xff", "not a PTransmitChunkParams"),
    }
    with grpc.insecure_channel(server.address.removeprefix("tcp:")) as channel:
        for method, (message, reason) in [
            *said.items(),
            ("transmit_chunk", (request.SerializeToString(), "chunk of 4 bytes came with 3")),
            ("transmit_chunk", (b"", "exchange 0 is not known here")),
        ]:
            call = channel.unary_unary(f"/seambench.bench.exchange.PInternalService/{method}")
            if "known" in reason:
                assert reason in RESULT.FromString(call(message)).status.error_msgs[0]
                continue
            with pytest.raises(grpc.RpcError, match=reason):
                call(message, timeout=PATIENCE)
    server.close()
    assert len(server.errors) == 3


@pytest.mark.parametrize(
    ("said", "payload", "message", "reason"),
    [
        (b"GET / HTTP", [b"abc"], b"", "the peer says"),
        (HELLO, pa.array([1]), b"\x10\x01", "a batch of"),
        (HELLO, [None], b"\x10\x01", "1 payload is null"),
        (HELLO, [b"abc"], b"\xff\xff\xff", "not a PTransmitChunkParams"),
        (HELLO, [b"abc"], b"\x10\x01", "0 chunks came with 1 payload"),
        (HELLO, [b"abc"], None, "with app_metadata"),
        (HELLO, [], b"\x10\x01", "with app_metadata"),
    ],
)
def test_flight_streams_of_strangers_are_refused(
    said: bytes, payload: Any, message: bytes | None, reason: str
) -> None:
    """Another greeting or schema, nulls, messages that are none or do not agree: told to both."""
    server = serve("flight", SourceRegistry(), "tcp:127.0.0.1:0")
    if not isinstance(payload, pa.Array):
        payload = pa.array(payload, pa.binary_view())
    batch = pa.record_batch({"payload": payload})
    location = "grpc+" + server.address.replace(":", "://", 1)
    with pytest.raises(flight.FlightServerError, match=reason):
        _converse_over_flight(location, said, batch, message)
    server.close()
    assert reason in server.errors[0]


def _converse_over_flight(
    location: str, said: bytes, batch: pa.RecordBatch, message: bytes | None
) -> None:
    """Write once, then read to the end; the server may end it before all is written."""
    with flight.FlightClient(location) as client:
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(said))
        try:
            writer.begin(batch.schema)
            if batch.num_rows == 0:
                writer.write_metadata(message)
            elif message is None:
                writer.write_batch(batch)
            else:
                writer.write_with_metadata(batch, message)
            for _ in reader:
                pass
        finally:
            with contextlib.suppress(flight.FlightServerError):
                writer.close()


@pytest.mark.parametrize("transport", ["grpc", "flight"])
def test_another_protocol_is_unavailable(transport: str) -> None:
    """A server that speaks something else is told from one that is not there."""
    server = serve("sockets", SourceRegistry(), "tcp:127.0.0.1:0")
    with pytest.raises(UnavailableError, match=f"{server.address} cannot be reached"):
        _open(connect(transport, server.address, 1))
    server.close()


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "does not speak this protocol"),
        (HELLO[:-1] + b"\x09", "speaks version 9"),
        (HELLO + b"\xff" * 12, "are taken"),
        (HELLO + b"\x04\0\0\0" + b"\0" * 8 + b"\xff\xff\xff\xff", "not a PTransmitChunkParams"),
        (HELLO + b"\x04\0\0\0", "too early"),
    ],
)
def test_a_hostile_peer_is_dropped_with_a_reason(tmp_path: Path, said: bytes, reason: str) -> None:
    """Another protocol, another version, sizes beyond any limit, broken or cut messages."""
    server = SocketServer(SourceRegistry(), f"unix:{tmp_path / 's'}")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE)
        peer.connect(str(tmp_path / "s"))
        peer.sendall(said)
        peer.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):  # it left without reading all of this
            while peer.recv(100):
                pass
    until(lambda: server.errors)
    server.close()
    assert reason in server.errors[0]
    assert server.allocator.counters().live_blocks == 0

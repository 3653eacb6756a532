"""Bytes that no honest peer sends: servers drop them with a reason, and go on serving others."""

import contextlib
import os
import queue
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, UnavailableError
from seambench.formats.forms.footer import varint
from seamkit.exchange.formats.formats import FORMATS, chunk_format
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.source import ExchangeFailedError, ExchangeSource, SourceRegistry
from seamkit.exchange.transports import flight as flight_transport
from seamkit.exchange.transports.base import HELLO, Server, announcement
from seamkit.exchange.transports.by_name import TRANSPORTS, connect, serve
from seamkit.exchange.transports.flight_channel import SCHEMA as PAYLOADS
from seamkit.exchange.transports.flight_channel import pack
from seamkit.exchange.transports.sockets import SocketServer
from seamkit.exchange.transports.wire import decode_answer, decode_request, encode_request
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

_MANY = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SocketServer]:
    """A server that takes requests of at most 10,000 bytes."""
    made = SocketServer(SourceRegistry(), f"unix:{tmp_path / 's'}", most_bytes=10_000)
    yield made
    made.close()


def _said_to(server: SocketServer, said: bytes) -> None:
    """Say it, end, and listen until the server has hung up."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(PATIENCE)
        peer.connect(server.address.removeprefix("unix:"))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            peer.sendall(said)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(1 << 16):
                pass


def _message() -> bytes:
    request = Request(0, 0, (Chunk(b"abc", 3), Chunk(b"defg", 4)), False, 0)
    message, payloads = encode_request(EXCHANGE, request, inline=False)
    data = b"".join(payloads)
    return struct.pack("<IQ", len(message), len(data)) + message + data


@_MANY
@given(st.binary(max_size=200))
def test_noise_after_the_greeting_is_dropped(server: SocketServer, noise: bytes) -> None:
    """Whatever comes, the connection ends in bounded time and no memory is held."""
    _said_to(server, HELLO + noise)
    until(lambda: server.allocator.counters().live_blocks == 0)


@_MANY
@given(st.data())
def test_a_changed_frame_is_answered_or_dropped(server: SocketServer, data: st.DataObject) -> None:
    """Lengths, counts and sizes that are off by anything, and frames that are cut."""
    frame = bytearray(_message())
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    _said_to(server, HELLO + bytes(frame[: data.draw(st.integers(0, len(frame)))]))
    until(lambda: server.allocator.counters().live_blocks == 0)


@_MANY
@given(st.binary(max_size=100), st.binary(max_size=20))
def test_messages_are_understood_or_refused(message: bytes, attachment: bytes) -> None:
    """Decoding gives a request whose sizes agree, or an InputError: nothing else."""
    for payload in (None, memoryview(attachment)):
        with contextlib.suppress(InputError):
            _, request = decode_request(message, payload)
            assert all(len(chunk.payload) == chunk.bytes for chunk in request.chunks)
    with contextlib.suppress(InputError):
        decode_answer(message)


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"unsaferow"}))  # rows of two are rows
@pytest.mark.parametrize("spoilt", ["nothing", "twice", "zeros behind", "noise behind", "cut"])
def test_a_chunk_is_one_batch_or_refused(name: str, spoilt: str) -> None:
    """What follows the rows may be rows: none is left out without a word."""
    bound = chunk_format(name, SCHEMA)
    whole = bytes(bound.encode(sample_batch(0, 3)))
    others = {"nothing": b"", "twice": whole * 2, "zeros behind": whole + bytes(8)}
    others |= {"noise behind": whole + b"junk" * 2, "cut": whole[:-1]}
    with pytest.raises(InputError):
        bound.decode(others[spoilt])


def test_a_server_serves_others_after_hostile_ones(tmp_path: Path) -> None:
    """A peer that breaks the protocol, and one that keeps half a frame back, disturb nobody."""
    registry, source = known()
    server = SocketServer(registry, f"unix:{tmp_path / 's'}")
    _said_to(server, HELLO + b"\xff" * 40)
    with socket.socket(socket.AF_UNIX) as half_open:
        half_open.connect(str(tmp_path / "s"))
        half_open.sendall(HELLO + _message()[:20])
        sink = sink_to(connect("sockets", server.address, EXCHANGE))
        send(sink, sample_batch(0, 100))
        assert pa.Table.from_batches(source.batches(0, PATIENCE)).num_rows == 100
        sink.close()
    server.close()
    assert "are taken" in server.errors[0]


_FEW = settings(
    max_examples=int(os.environ.get("SEAMBENCH_EXAMPLES", "40")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """PEM files."""
    return make_certificates(tmp_path_factory.mktemp("tls"))


class _Heard:
    """What a channel hears."""

    def __init__(self) -> None:
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.failures: queue.Queue[str] = queue.Queue()

    def failed(self, _sequence: int, reason: str) -> None:
        self.failures.put(reason)


def _request(sequence: int) -> Request:
    rows = bytes(STREAMS.encode(sample_batch(0, 5)))
    return Request(0, 0, (Chunk(rows, len(rows)),), False, sequence)


@contextlib.contextmanager
def _opened(transport: str, server: Server) -> Iterator[tuple[Any, _Heard]]:
    heard = _Heard()
    channel = connect(transport, server.address, EXCHANGE)
    channel.open(heard.answers.put, heard.failed, 0)
    yield channel, heard
    channel.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_sender_that_falls_silent_is_given_up(transport: str, tmp_path: Path) -> None:
    """Its reader learns of it, and so does what the sender still wants to send."""
    registry, source = known()
    limits = {"beat_seconds": 0.05, "silence_seconds": 0.3}
    server = serve(transport, registry, f"unix:{tmp_path / 's'}", **limits)
    with contextlib.closing(server), _opened(transport, server) as (channel, heard):
        with pytest.raises(ExchangeFailedError, match=r"sender 0 is lost .*said nothing for 0.3 s"):
            source.read(0, PATIENCE)
        until(lambda: "the sender said nothing for 0.3 s" in server.errors)
        deadline = time.monotonic() + PATIENCE
        sequence = 0
        while heard.failures.empty():
            assert time.monotonic() < deadline
            channel.send(_request(sequence))
            sequence += 1
            time.sleep(0.01)
        assert "said nothing for 0.3 s" in heard.failures.get()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_sender_that_is_kept_waiting_may_be_silent(transport: str, tmp_path: Path) -> None:
    """An answer that is withheld is our silence, not the sender's."""
    registry, source = known(exchg_node_buffer_size_bytes=0)
    limits = {"beat_seconds": 0.05, "silence_seconds": 0.3}
    server = serve(transport, registry, f"unix:{tmp_path / 's'}", **limits)
    with contextlib.closing(server), _opened(transport, server) as (channel, heard):
        channel.send(_request(0))
        time.sleep(0.6)
        assert heard.answers.empty()
        assert heard.failures.empty()
        read = source.read(0, PATIENCE)
        assert read is not None
        assert len(read) == 5
        assert heard.answers.get(timeout=PATIENCE).sequence == 0
        assert server.errors == []  # later a beat may find the sender gone


@pytest.mark.parametrize("transport", ["grpc", "flight"])
def test_a_server_that_closes_says_so(transport: str, tmp_path: Path) -> None:
    """What waits for an answer fails with that reason."""
    registry, source = known(exchg_node_buffer_size_bytes=0)
    server = serve(transport, registry, f"unix:{tmp_path / 's'}")
    with contextlib.closing(server), _opened(transport, server) as (channel, heard):
        channel.send(_request(0))
        until(lambda: source.buffered_bytes)
        server.close()
        assert "the server closes" in heard.failures.get(timeout=PATIENCE)


def test_a_stream_without_an_announcement_has_little_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who opens a stream of Flight and says nothing hears why it is given up."""
    monkeypatch.setattr(flight_transport, "SECONDS_TO_GREET", 0.2)
    place = f"unix:{tmp_path / 's'}"
    with contextlib.closing(serve("flight", SourceRegistry(), place, beat_seconds=0.05)) as server:
        client = pa.flight.connect(f"grpc+unix://{tmp_path / 's'}")
        writer, reader = client.do_exchange(pa.flight.FlightDescriptor.for_command(HELLO))
        writer.begin(PAYLOADS)
        said = b""
        with contextlib.suppress(pa.ArrowException, OSError, StopIteration):
            while b"said nothing" not in said:
                said = reader.read_chunk().app_metadata.to_pybytes()
        assert b"the sender said nothing for 0.2 s" in said
        writer.close()
        assert server.errors == ["the sender said nothing for 0.2 s"]


def test_streams_of_flight_have_a_bound(tmp_path: Path) -> None:
    """Each takes a thread; one more is refused."""
    registry, _ = known()
    server = serve("flight", registry, f"unix:{tmp_path / 's'}", most_streams=1)
    with contextlib.closing(server):
        with _opened("flight", server) as (first, heard):
            first.send(_request(0))
            assert heard.answers.get(timeout=PATIENCE).sequence == 0
            assert "no more are taken" in _refusal("flight", server)
        assert "1 stream is open, and no more are taken" in server.errors


def _refusal(transport: str, server: Server) -> str:
    """Why a stream is not taken: heard when it is opened, or with what is sent first."""
    try:
        with _opened(transport, server) as (channel, heard):
            channel.send(_request(0))
            return heard.failures.get(timeout=PATIENCE)
    except UnavailableError as error:
        return str(error)


# --- bytes ---


@dataclass(frozen=True)
class _Attacked:
    """A server over TCP, and the certificates that its clients need."""

    transport: str
    server: Server
    registry: SourceRegistry
    certificates: Certificates | None

    def renew(self) -> None:
        """An exchange that no peer has spoilt yet."""
        self.registry.forget(EXCHANGE)
        self.registry.register(EXCHANGE, ExchangeSource(1, 1, STREAMS))


@pytest.fixture(params=["grpc", "grpc+tls", "flight", "flight+tls"])
def attacked(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[_Attacked]:
    """It takes requests of at most 10,000 bytes, and must serve an honest peer in the end."""
    transport, _, tls = request.param.partition("+")
    registry, source = known()
    registry.register(EXCHANGE + 1, source)
    options: dict[str, Any] = {"tls": certificates.server_tls} if tls else {}
    server = serve(transport, registry, "tcp:127.0.0.1:0", most_bytes=10_000, **options)
    yield _Attacked(transport, server, registry, certificates if tls else None)
    options = {"tls": certificates.client_tls} if tls else {}
    way = connect(transport, server.address, EXCHANGE + 1, **options)
    sink = sink_to(way)
    send(sink, sample_batch(0, 100))
    assert sum(len(batch) for batch in source.batches(0, PATIENCE)) == 100
    sink.close()
    server.close()


def _connected(attacked: _Attacked) -> socket.socket:
    certificates = attacked.certificates
    host, _, port = attacked.server.address.removeprefix("tcp:").rpartition(":")
    plain = socket.create_connection((host, int(port)), PATIENCE)
    if certificates is None:
        return plain
    context = ssl.create_default_context(cafile=str(certificates.roots))
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """A frame of HTTP/2."""
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS = _frame(4, 0, 0, b"")


@_FEW
@given(st.binary(max_size=200), st.integers(0, 10), st.integers(0, 255), st.integers(0, 7))
def test_no_frames_of_http_stop_a_server(
    attacked: _Attacked, body: bytes, kind: int, flags: int, stream: int
) -> None:
    """Noise, and frames of any kind for streams that there are not, with and without a preface."""
    for said in (body, _PREFACE + _SETTINGS + _frame(kind, flags, stream, body)):
        with contextlib.suppress(OSError), _connected(attacked) as peer:
            peer.sendall(said)
            peer.shutdown(socket.SHUT_WR)


def _field(number: int, value: bytes) -> bytes:
    """A field of bytes in a protobuf message."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def _flight_messages() -> list[bytes]:
    """What a channel of Flight sends: greeting with schema, announcement, request."""
    sink = pa.BufferOutputStream()
    batches = []
    for request in (announcement(0), _request(0)):
        message, payloads = encode_request(EXCHANGE, request, inline=False)
        batches.append((pack(payloads), message))
    with pa.ipc.new_stream(sink, PAYLOADS) as writer:
        for batch, _ in batches:
            writer.write_batch(batch)
    parts = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))
    descriptor = b"\x08\x02" + _field(2, HELLO)  # a command
    messages = [_field(1, descriptor) + _field(2, parts[0].metadata.to_pybytes())]
    for part, (_, message) in zip(parts[1:], batches, strict=True):
        body = b"" if part.body is None else part.body.to_pybytes()
        header = part.metadata.to_pybytes()
        messages.append(_field(2, header) + _field(3, message) + _field(1000, body))
    return messages


def _grpc_messages() -> list[bytes]:
    return [encode_request(EXCHANGE, one, inline=True)[0] for one in (announcement(0), _request(0))]


def _say(transport: str, channel: grpc.Channel, messages: list[bytes]) -> None:
    """Say them as a client would, and hear what comes."""
    if transport == "flight":
        call = channel.stream_stream("/arrow.flight.protocol.FlightService/DoExchange")
        for _ in call(iter(messages), timeout=PATIENCE):
            pass
        return
    service = "/seambench.bench.exchange.PInternalService"
    staying = channel.unary_unary(f"{service}/stay").future(messages[0], timeout=PATIENCE)
    try:
        channel.unary_unary(f"{service}/transmit_chunk")(messages[1], timeout=PATIENCE)
    finally:
        staying.cancel()


def _grpc_channel(attacked: _Attacked) -> grpc.Channel:
    certificates = attacked.certificates
    target = attacked.server.address.removeprefix("tcp:")
    if certificates is None:
        return grpc.insecure_channel(target)
    return grpc.secure_channel(
        target, grpc.ssl_channel_credentials(certificates.roots.read_bytes())
    )


@_FEW
@given(st.data())
def test_changed_messages_are_answered_or_refused(attacked: _Attacked, data: st.DataObject) -> None:
    """Headers of Arrow's, bodies and requests with any bytes changed or cut off."""
    attacked.renew()
    messages = _flight_messages() if attacked.transport == "flight" else _grpc_messages()
    number = data.draw(st.integers(0, len(messages) - 1), "message")
    changed = bytearray(messages[number])
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    messages[number] = bytes(changed[: data.draw(st.integers(0, len(changed)), "length")])
    with _grpc_channel(attacked) as channel:
        try:
            _say(attacked.transport, channel, messages)
        except grpc.RpcError as error:
            assert error.code() != grpc.StatusCode.DEADLINE_EXCEEDED  # noqa: PT017

"""Bytes that no honest peer sends: servers drop them with a reason, and go on serving others."""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError
from seamkit.exchange.formats.formats import FORMATS, chunk_format
from seamkit.exchange.logic.messages import Chunk, Request
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.base import HELLO
from seamkit.exchange.transports.by_name import connect
from seamkit.exchange.transports.sockets import SocketServer
from seamkit.exchange.transports.wire import decode_answer, decode_request, encode_request
from seamkit_tests.samples.exchange_samples import (
    EXCHANGE,
    PATIENCE,
    SCHEMA,
    known,
    sample_batch,
    send,
    sink_to,
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
    _wait_for_no_blocks(server)


@_MANY
@given(st.data())
def test_a_changed_frame_is_answered_or_dropped(server: SocketServer, data: st.DataObject) -> None:
    """Lengths, counts and sizes that are off by anything, and frames that are cut."""
    frame = bytearray(_message())
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    _said_to(server, HELLO + bytes(frame[: data.draw(st.integers(0, len(frame)))]))
    _wait_for_no_blocks(server)


def _wait_for_no_blocks(server: SocketServer) -> None:
    deadline = time.monotonic() + PATIENCE
    while server.allocator.counters().live_blocks and time.monotonic() < deadline:
        time.sleep(0.001)
    assert server.allocator.counters().live_blocks == 0


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

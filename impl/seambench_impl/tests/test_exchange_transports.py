"""Batches through whole exchanges: every routing, format and transport gives every row once."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambench.errors import UnavailableError, UsageError
from seambench_impl.exchange.formats import ChunkFormat, chunk_format
from seambench_impl.exchange.options import ReceiverOptions, SinkOptions
from seambench_impl.exchange.partition import PartitionRule, hash_rows, parts_of
from seambench_impl.exchange.sink import ExchangeSink, Routing
from seambench_impl.exchange.source import ExchangeFailedError, ExchangeSource, SourceRegistry
from seambench_impl.exchange.transports.base import Channel
from seambench_impl.exchange.transports.local import LocalChannel
from seambench_impl.exchange.transports.sockets import HELLO, SocketChannel, SocketServer

_PATIENCE = 20.0
_EXCHANGE = 7

MakeChannel = Callable[[SourceRegistry, int], Channel]


def _batch(start: int, rows: int) -> pa.RecordBatch:
    numbers = range(start, start + rows)
    return pa.record_batch(
        {
            "k": pa.array(numbers, pa.int64()),
            "name": pa.array([None if i % 4 == 0 else f"name {i}" for i in numbers], pa.string()),
            "price": pa.array([Decimal(i) for i in numbers], pa.decimal128(15, 2)),
            "tags": pa.array([[i, None] * (i % 3) for i in numbers], pa.list_(pa.int32())),
        }
    )


_SCHEMA = _batch(0, 1).schema


@pytest.fixture(params=["local", "unix", "tcp"])
def make_channel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeChannel]:
    """Makes a channel into a registry; each registry has a server of its own."""
    servers: list[SocketServer] = []

    def make(registry: SourceRegistry, exchange: int) -> Channel:
        if request.param == "local":
            return LocalChannel(registry, exchange)
        unix = f"unix:{tmp_path / str(len(servers))}"
        address = unix if request.param == "unix" else "tcp:127.0.0.1:0"
        servers.append(SocketServer(registry, address))
        return SocketChannel(servers[-1].address, exchange)

    yield make
    for server in servers:
        server.close()
        assert server.errors == []


class _Receiving:
    """Sources, one for each receiver, and threads that read every queue to its end."""

    def __init__(self, count: int, senders: int, queues: int, formats: ChunkFormat | None) -> None:
        self.registries = [SourceRegistry() for _ in range(count)]
        self.sources = [ExchangeSource(senders, queues, formats) for _ in range(count)]
        self.rows: list[list[list[dict[str, Any]]]] = [
            [[] for _ in range(queues)] for _ in range(count)
        ]
        self._threads = []
        for number, source in enumerate(self.sources):
            self.registries[number].register(_EXCHANGE, source)
            for queue in range(queues):
                thread = threading.Thread(target=self._read, args=(number, queue), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _read(self, number: int, queue: int) -> None:
        for batch in self.sources[number].batches(queue, _PATIENCE):
            batch.validate(full=True)
            self.rows[number][queue] += batch.to_pylist()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(_PATIENCE)
            assert not thread.is_alive()


def _send(sink: ExchangeSink, batches: list[pa.RecordBatch], drivers: int) -> None:
    """Drivers share the batches and write them from threads of their own."""

    def drive(number: int) -> None:
        driver = sink.driver()
        for batch in batches[number::drivers]:
            driver.write(batch)
        driver.finish()

    threads = [threading.Thread(target=drive, args=(n,), daemon=True) for n in range(drivers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
        assert not thread.is_alive()
    sink.wait_finished(_PATIENCE)
    sink.close()


def _key(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


@pytest.mark.parametrize("format_name", ["arrow", "presto", "starrocks", "unsaferow"])
@pytest.mark.parametrize("kind", ["hash", "broadcast", "random", "single"])
def test_every_row_arrives_where_it_belongs(
    make_channel: MakeChannel, kind: Any, format_name: str
) -> None:
    """Two senders of two drivers: each row once, or once per receiver when it is broadcast."""
    receivers = 1 if kind == "single" else 3
    rule = PartitionRule(["k"], receivers, 2, chunk_rows=16) if kind == "hash" else None
    formats = chunk_format(format_name, _SCHEMA)
    first = make_channel(SourceRegistry(), 0)
    receiving = _Receiving(receivers, 2, 2, None if first.pass_through else formats)
    batches = [_batch(start, 40) for start in range(0, 400, 40)]
    for sender in range(2):
        channels = [make_channel(registry, _EXCHANGE) for registry in receiving.registries]
        sink = ExchangeSink(
            _SCHEMA,
            channels,
            Routing(kind, rule),
            be_number=sender,
            drivers=2,
            format=None if first.pass_through else formats,
            max_transmit_batched_bytes=500,
        )
        _send(sink, batches[sender::2], 2)
    receiving.join()
    found = [row for receiver in receiving.rows for queue in receiver for row in queue]
    sent = [row for batch in batches for row in batch.to_pylist()]
    times = receivers if kind == "broadcast" else 1
    assert Counter(map(_key, found)) == Counter({_key(row): times for row in sent})
    if rule is not None:
        _check_parts(receiving.rows, batches, rule)


def _check_parts(
    found: list[list[list[dict[str, Any]]]], batches: list[pa.RecordBatch], rule: PartitionRule
) -> None:
    """Each row came out at the receiver and the driver that its hash names."""
    for batch in batches:
        parts = parts_of(hash_rows(batch, rule), rule.channels, rule.drivers)
        for row, part in zip(batch.to_pylist(), parts.tolist(), strict=True):
            channel, driver = divmod(part, rule.drivers)
            assert row in found[channel][driver]


def test_a_sink_waits_while_its_receiver_reads_nothing(make_channel: MakeChannel) -> None:
    """Above the receiver's limit answers are withheld; the sink's bytes stay within its bound."""
    formats = chunk_format("arrow", _SCHEMA)
    registry = SourceRegistry()
    channel = make_channel(registry, _EXCHANGE)
    source = ExchangeSource(
        1,
        1,
        None if channel.pass_through else formats,
        ReceiverOptions(exchg_node_buffer_size_bytes=1),
    )
    registry.register(_EXCHANGE, source)
    options = SinkOptions(pipeline_sink_brpc_dop=2, max_buffered_bytes=20_000)
    sink = ExchangeSink(
        _SCHEMA,
        [channel],
        Routing("single"),
        be_number=0,
        format=formats,
        options=options,
        max_transmit_batched_bytes=1,
    )
    batches = [_batch(start, 50) for start in range(0, 5000, 50)]
    writer = threading.Thread(target=_send, args=(sink, batches, 1), daemon=True)
    writer.start()
    deadline = time.monotonic() + _PATIENCE
    while sink.buffered_bytes < 20_000 and time.monotonic() < deadline:
        time.sleep(0.001)
    held = [sink.buffered_bytes]
    time.sleep(0.05)
    held.append(sink.buffered_bytes)
    assert held[0] == held[1] < 20_000 + 2 * 8_000
    rows = sum(batch.num_rows for batch in source.batches(0, _PATIENCE))
    writer.join(_PATIENCE)
    assert rows == 5000
    assert sink.buffered_bytes == 0


def test_a_cancelled_receiver_ends_its_senders(make_channel: MakeChannel) -> None:
    """The reason reaches whoever writes, and nobody waits for what will not come."""
    registry = SourceRegistry()
    source = ExchangeSource(1, 1)
    registry.register(_EXCHANGE, source)
    source.cancel("the query was killed")
    channel = make_channel(registry, _EXCHANGE)
    sink = ExchangeSink(
        _SCHEMA, [channel], Routing("single"), be_number=0, format=chunk_format("arrow", _SCHEMA)
    )
    driver = sink.driver()
    with pytest.raises(ExchangeFailedError, match="the query was killed"):
        _write_until_it_fails(sink, driver)
    with pytest.raises(ExchangeFailedError, match="the query was killed"):
        source.read(0, _PATIENCE)
    sink.close()


def _write_until_it_fails(sink: ExchangeSink, driver: Any) -> None:
    driver.write(_batch(0, 10))
    driver.finish()
    sink.wait_finished(_PATIENCE)


def test_an_exchange_that_is_not_known_is_an_error(make_channel: MakeChannel) -> None:
    """Rows for nobody are never dropped with a good answer."""
    channel = make_channel(SourceRegistry(), _EXCHANGE)
    sink = ExchangeSink(
        _SCHEMA, [channel], Routing("single"), be_number=0, format=chunk_format("arrow", _SCHEMA)
    )
    with pytest.raises(ExchangeFailedError, match="exchange 7 is not known here"):
        _write_until_it_fails(sink, sink.driver())
    sink.close()


def test_a_server_that_goes_away_fails_what_is_open() -> None:
    """Requests without an answer fail with the address, in bounded time."""
    registry = SourceRegistry()
    registry.register(
        _EXCHANGE,
        ExchangeSource(1, 1, None, ReceiverOptions(exchg_node_buffer_size_bytes=0)),
    )
    server = SocketServer(registry, "tcp:127.0.0.1:0")
    sink = ExchangeSink(
        _SCHEMA,
        [SocketChannel(server.address, _EXCHANGE)],
        Routing("single"),
        be_number=0,
        format=chunk_format("arrow", _SCHEMA),
        max_transmit_batched_bytes=1,
    )
    sink.driver().write(_batch(0, 10))
    server.close()
    with pytest.raises(ExchangeFailedError, match=r"127\.0\.0\.1"):
        sink.wait_finished(_PATIENCE)
    sink.close()


def test_nobody_there_is_unavailable(tmp_path: Path) -> None:
    """A channel says at once that its address does not answer."""
    channel = SocketChannel(f"unix:{tmp_path / 'nobody'}", 1)
    with pytest.raises(UnavailableError, match="nobody"):
        channel.open(lambda _answer: None, lambda _sequence, _reason: None)
    with pytest.raises(UsageError, match="is no address"):
        SocketChannel("http://x", 1).open(lambda _answer: None, lambda _sequence, _reason: None)


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
        peer.settimeout(_PATIENCE)
        peer.connect(str(tmp_path / "s"))
        peer.sendall(said)
        peer.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):  # it left without reading all of this
            while peer.recv(100):
                pass
    deadline = time.monotonic() + _PATIENCE
    while not server.errors and time.monotonic() < deadline:
        time.sleep(0.001)
    server.close()
    assert reason in server.errors[0]
    assert server.allocator.counters().live_blocks == 0

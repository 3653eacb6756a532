"""This process: sends one run of a load in each of several ways."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow.flight as flight

from seambase.errors import SeambenchError
from seambench_suites.exchange.carrying.load import CHANNELS, RULE, Load
from seamkit.exchange.formats.formats import ChunkFormat, chunk_format
from seamkit.exchange.partition import Partitioner
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.by_name import connect
from seamkit.exchange.transports.local import LocalChannel

#: What a request carries: several chunks, so that Python's steps for each count less.
BATCHED_BYTES = 2 << 20
#: The same where chunks are there already: no memory waits to be filled, requests cost.
READY_BYTES = 4 << 20
#: The same where nothing is copied: bytes cost nothing, requests do.
HANDED_OVER_BYTES = 2 << 20
_SECONDS_TO_END = 5.0
_GRPC_PAYLOAD = 256 << 10
_GRPC_IN_FLIGHT = 64
_GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]

Send = Callable[[Load, str], None]


class Receiving:
    """The other process of one way; see `receiving`."""

    def __init__(self, way: str) -> None:
        self.way = way
        self._process = subprocess.Popen(
            [sys.executable, "-m", "seambench_suites.exchange.carrying.receiving", way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = str(self.hear()["address"])

    def hear(self) -> dict[str, Any]:
        """What it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SeambenchError(f"the receiving process of {self.way} died")
        said: dict[str, Any] = json.loads(line)
        return said

    def say(self, line: str) -> None:
        """Tell it something."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def expect(self, passes: int) -> None:
        """Make it ready for a run."""
        self.say(str(passes))
        self.hear()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def close(self) -> None:
        """It is over: the process ends with its input, and leaves nothing behind."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def sender_of(way: str, load: Load) -> Send:
    """What sends a run of `way`; everything that is not part of a run is done here."""
    kind, name = way.split("/")
    transport, _, carried = name.partition("+")
    if name == "copy":
        pages = load.pages("presto")
        return lambda load, address: _copy(pages * load.passes, address)
    if name == "grpc-calls":
        return _grpc_calls
    if kind == "wire":
        return lambda load, address: _chunks(load, transport, _ready(load), address)
    if kind == "transfer":
        bound = chunk_format(carried, load.schema)
        return lambda load, address: _chunks(load, transport, bound, address)
    drivers = _drivers(kind)
    if name == "flight-ipc":
        return lambda load, address: _flight(load, address, drivers)
    return lambda load, address: _rows(load, transport, carried, address, drivers)


def _copy(pages: Sequence[Any], address: str) -> None:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(address)
        for page in pages:
            peer.sendall(page)


def _ready(load: Load) -> ChunkFormat:
    """Pages that are there already, by the chunk they are of; they are never decoded."""
    pages = load.pages("presto")
    ready = {id(chunk): page for (_, chunk), page in zip(load.chunks, pages, strict=True)}
    return ChunkFormat("ready", lambda chunk: ready[id(chunk)], lambda data: data)


def _chunks(load: Load, transport: str, bound: ChunkFormat, address: str) -> None:
    """Chunks that are there already: what a sink does without partitioning."""
    channels = channels_to(transport, address)
    _write_chunks(
        load, [sink_to(load, [one], format=bound, batched_bytes=READY_BYTES) for one in channels]
    )


def _write_chunks(load: Load, sinks: Sequence[ExchangeSink]) -> None:
    """All chunks, each by the sink of its channel."""
    drivers = [sink.driver() for sink in sinks]
    for _ in range(load.passes):
        for channel, chunk in load.chunks:
            drivers[channel].write(chunk)
    for driver in drivers:
        driver.finish()
    for sink in sinks:
        _end(sink)


def channels_to(transport: str, address: str) -> Sequence[Any]:
    """A channel to each receiver."""
    return [connect(transport, address, number) for number in range(CHANNELS)]


def sink_to(
    load: Load, channels: Sequence[Any], *, batched_bytes: int = BATCHED_BYTES, **options: Any
) -> ExchangeSink:
    """A sink that deals rows to several channels, or hands them all to one."""
    routing = Routing("hash", RULE) if len(channels) > 1 else Routing("single")
    return ExchangeSink(
        load.schema,
        channels,
        routing,
        be_number=0,
        max_transmit_batched_bytes=batched_bytes,
        **options,
    )


def _drivers(kind: str) -> int:
    """How many threads partition: one for each core where the way is parallel."""
    return len(os.sched_getaffinity(0)) if kind == "parallel" else 1


def _shares(passes: int, drivers: int) -> Sequence[int]:
    return [len(range(first, passes, drivers)) for first in range(drivers)]


def _rows(load: Load, transport: str, chunk_format_name: str, address: str, drivers: int) -> None:
    """Partition, encode, send."""
    bound = chunk_format(chunk_format_name, load.schema)
    sink = sink_to(load, channels_to(transport, address), drivers=drivers, format=bound)
    _write(load, sink, drivers)


def _write(load: Load, sink: ExchangeSink, drivers: int) -> None:
    """All passes, shared by so many drivers, to the end."""
    with ThreadPoolExecutor(drivers) as pool:
        list(pool.map(partial(drive, load, sink), _shares(load.passes, drivers)))
    _end(sink)


def drive(load: Load, sink: ExchangeSink, passes: int) -> None:
    """What one driver writes."""
    driver = sink.driver()
    for _ in range(passes):
        for batch in load.batches:
            driver.write(batch)
    driver.finish()


def _end(sink: ExchangeSink) -> None:
    sink.wait_finished()
    sink.close()


def _dealt(load: Load, passes: int) -> Iterator[tuple[int, Any]]:
    partitioner = Partitioner(load.schema, RULE)
    for _ in range(passes):
        for batch in load.batches:
            yield from partitioner.append(batch)
    yield from partitioner.flush()


def _flight(load: Load, address: str, drivers: int) -> None:
    """The same partitioned batches, as Arrow IPC over a stream for each driver and channel."""

    def drive(client: flight.FlightClient, passes: int) -> None:
        ways = [
            client.do_exchange(flight.FlightDescriptor.for_path(str(number)))
            for number in range(CHANNELS)
        ]
        for writer, _ in ways:
            writer.begin(load.schema)
        for channel, chunk in _dealt(load, passes):
            ways[channel][0].write_batch(chunk)
        for writer, _ in ways:
            writer.done_writing()
        for writer, reader in ways:
            for _ in reader:
                pass
            writer.close()

    with flight.FlightClient(address) as client, ThreadPoolExecutor(drivers) as pool:
        list(pool.map(lambda passes: drive(client, passes), _shares(load.passes, drivers)))


def _grpc_calls(load: Load, address: str) -> None:
    """As many bytes, already there, in calls of 256 KiB."""
    import grpc

    payload, calls = bytes(_GRPC_PAYLOAD), load.bytes // _GRPC_PAYLOAD
    with grpc.insecure_channel(address, _GRPC_OPTIONS) as channel:
        call = channel.unary_unary("/bars/take")
        flying: deque[Any] = deque()
        for _ in range(calls):
            flying.append(call.future(payload))
            if len(flying) >= _GRPC_IN_FLIGHT:
                flying.popleft().result()
        for one in flying:
            one.result()
        call(b"")


def within(kind: str, load: Load) -> Sequence[Any]:
    """The same in this process, passed through.

    Args:
        kind: `transfer` of chunks that are there, or `rows` or `parallel` with partitioning.
        load: what is sent.

    Returns:
        What the receivers read, if it is one pass: like receivers in another process they keep
        nothing of more.
    """
    partition, count = kind != "transfer", _drivers(kind)
    registry = SourceRegistry()
    sources = [ExchangeSource(1, 1) for _ in range(CHANNELS)]
    for number, source in enumerate(sources):
        registry.register(number, source)
    channels = [LocalChannel(registry, number) for number in range(CHANNELS)]
    groups = [channels] if partition else [[channel] for channel in channels]
    sinks = [
        sink_to(load, group, drivers=count, batched_bytes=HANDED_OVER_BYTES) for group in groups
    ]
    kept = None if load.passes == 1 else 0
    with ThreadPoolExecutor(CHANNELS) as pool:
        reading = [pool.submit(_read_all, source, kept) for source in sources]
        if partition:
            _write(load, sinks[0], count)
        else:
            _write_chunks(load, sinks)
        return [batch for future in reading for batch in future.result()]


def _read_all(source: ExchangeSource, kept: int | None) -> Sequence[Any]:
    """Read to the end; the last batches, so many, or all."""
    return deque(source.batches(), kept)

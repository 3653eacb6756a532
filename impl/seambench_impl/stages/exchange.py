"""The exchange's steps over a batch, ready to be timed: hash, deal, hand over, and all of it."""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import RefusedError, UnavailableError
from seambench.contracts.common import Stage
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.formats.formats import FORMATS, ChunkFormat, chunk_format
from seamkit.exchange.logic.channel import Channel
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.partition import Partitioner, PartitionRule, hash_rows
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.base import Server
from seamkit.exchange.transports.by_name import TRANSPORTS, connect, serve
from seamkit.exchange.transports.local import LocalChannel

_PARTS = (8, 64)
_RECEIVERS = 8
_CHUNK_ROWS = 4096


def exchange_stages(
    batch: pa.RecordBatch, allocator: TrackedAllocator, stack: contextlib.ExitStack
) -> list[Stage]:
    """Steps by name. Keys are the batch's first column, numbers of 64 bits.

    `transfer` hands one chunk to its receiver and reads it there; `end to end` deals rows to 8
    receivers and reads all of them, connections included.
    """
    stages = [_hash_stage(batch), *_partition_stages(batch, allocator)]
    ways = [("pass-through", ""), *itertools.product(TRANSPORTS, FORMATS)]
    for transport, format_ in ways:
        with contextlib.suppress(RefusedError, UnavailableError):
            bound = chunk_format(format_, batch.schema, None, allocator) if format_ else None
            stages.append(_transfer_stage(batch, transport, bound, stack))
    ends: list[tuple[str, ChunkFormat | None]] = [("pass-through", None)]
    with contextlib.suppress(RefusedError):
        ends.append(("sockets", chunk_format("presto", batch.schema, None, allocator)))
    stages += [_end_to_end_stage(batch, transport, bound, stack) for transport, bound in ends]
    return stages


def _key(batch: pa.RecordBatch) -> str:
    name: str = batch.schema.names[0]
    return name


def _hash_stage(batch: pa.RecordBatch) -> Stage:
    rule = PartitionRule([_key(batch)], 8)

    def rows(hashes: Any) -> pa.RecordBatch:
        """The batch, if the hashes are FNV-1a's of the keys' bytes."""
        words = np.ascontiguousarray(batch.column(0).to_numpy(), np.int64).view(np.uint8)
        state = np.full(batch.num_rows, 0x811C9DC5, np.uint32)
        for byte in words.reshape(batch.num_rows, 8).T:
            state = (state ^ byte) * np.uint32(0x01000193)
        return batch if np.array_equal(state, hashes) else batch.slice(1)

    return Stage("hash", lambda: hash_rows(batch, rule), rows, batch.num_rows * 8)


def _partition_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> Iterator[Stage]:
    """Two ways to deal a batch.

    `partition`: into the chunks of its parts, which are handed out though a sink would fill them
    first; `split`: all parts at once, as slices of one copy.
    """
    for parts in _PARTS:
        rule = PartitionRule([_key(batch)], parts, chunk_rows=_CHUNK_ROWS)
        partitioner = Partitioner(batch.schema, rule, allocator)
        yield Stage(
            f"partition {parts}",
            functools.partial(_partition, partitioner, batch),
            pa.Table.from_batches,
        )
        yield Stage(
            f"split {parts}", functools.partial(_split, partitioner, batch), pa.Table.from_batches
        )


def _partition(partitioner: Partitioner, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    dealt = [chunk for _, chunk in partitioner.append(batch)]
    return [*dealt, *(chunk for _, chunk in partitioner.flush())]


def _split(partitioner: Partitioner, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [chunk for _, chunk in partitioner.split(batch)]


class _Receivers:
    """Sources that are ready to be sent to, over one transport."""

    def __init__(
        self, transport: str, bound: ChunkFormat | None, count: int, stack: contextlib.ExitStack
    ) -> None:
        self._transport = transport
        self._bound = bound
        self._exchanges = itertools.count()
        self._registries = [SourceRegistry() for _ in range(count)]
        self._servers: list[Server] = []
        if bound is not None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="seam")))
            for number, registry in enumerate(self._registries):
                self._servers.append(serve(transport, registry, f"unix:{folder / str(number)}"))
                stack.callback(self._servers[-1].close)

    @contextlib.contextmanager
    def exchange(
        self, schema: pa.Schema, routing: Routing, batched_bytes: int
    ) -> Iterator[tuple[ExchangeSink, Sequence[ExchangeSource]]]:
        """A sink, and a source at each receiver that shows every chunk at once."""
        exchange = next(self._exchanges)
        options = ReceiverOptions(unplug_threshold=1)
        sources = [ExchangeSource(1, 1, self._bound, options) for _ in self._registries]
        for registry, source in zip(self._registries, sources, strict=True):
            registry.register(exchange, source)
        sink = ExchangeSink(
            schema,
            [self._channel(number, exchange) for number in range(len(sources))],
            routing,
            be_number=0,
            format=self._bound,
            max_transmit_batched_bytes=batched_bytes,
        )
        try:
            yield sink, sources
        finally:
            sink.close()
            for registry in self._registries:
                registry.forget(exchange)

    def _channel(self, number: int, exchange: int) -> Channel:
        if self._bound is None:
            return LocalChannel(self._registries[number], exchange)
        return connect(self._transport, self._servers[number].address, exchange)


def _transfer_stage(
    batch: pa.RecordBatch, transport: str, bound: ChunkFormat | None, stack: contextlib.ExitStack
) -> Stage:
    receivers = _Receivers(transport, bound, 1, stack)
    sink, [source] = stack.enter_context(
        receivers.exchange(batch.schema, Routing("single"), batched_bytes=0)
    )
    driver = sink.driver()

    def run() -> list[pa.RecordBatch]:
        driver.write(batch)
        found: list[pa.RecordBatch] = []
        while sum(one.num_rows for one in found) < batch.num_rows:
            if (came := source.read(0, 60.0)) is not None:
                found.append(came)
        return found

    name = f"transfer {transport}" + (f" {bound.name}" if bound is not None else "")
    return Stage(name, run, pa.Table.from_batches)


def _end_to_end_stage(
    batch: pa.RecordBatch, transport: str, bound: ChunkFormat | None, stack: contextlib.ExitStack
) -> Stage:
    receivers = _Receivers(transport, bound, _RECEIVERS, stack)
    rule = PartitionRule([_key(batch)], _RECEIVERS, chunk_rows=_CHUNK_ROWS)

    def run() -> list[pa.RecordBatch]:
        routing = Routing("hash", rule)
        with receivers.exchange(batch.schema, routing, batched_bytes=262_144) as (sink, sources):
            driver = sink.driver()
            driver.write(batch)
            driver.finish()
            found = [one for source in sources for one in source.batches(0, 60.0)]
            sink.wait_finished()
            return found

    name = f"end to end {transport}" + (f" {bound.name}" if bound is not None else "")
    return Stage(name, run, pa.Table.from_batches)

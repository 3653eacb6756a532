"""Rows dealt to the parts of an exchange, and carried to those who read them."""

from __future__ import annotations

import atexit
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from .column_kernels import lineitem, lineitems
from .kernels import Kernel, feature


class Deal(Kernel):
    """65,536 rows of 16 columns to chunks of 8 or 64 parts by the hash of their first column."""

    rows = 65_536

    def __init__(self, parts: str) -> None:
        self._module = feature("seamkit.exchange.partition", "Partitioner", "PartitionRule")
        count = int(parts)
        numbers = pa.array(np.arange(self.rows, dtype=np.int64))
        self._batch = lineitems(self.rows).set_column(0, "orderkey", numbers)
        rule = self._module.PartitionRule(keys=["orderkey"], channels=count, chunk_rows=self.rows)
        self._partitioner: Any = self._module.Partitioner(self._batch.schema, rule)
        dealt = self.run()
        if {part for part, _ in dealt} != set(range(count)):
            raise AssertionError("parts without rows")
        together = pa.Table.from_batches([chunk for _, chunk in dealt]).sort_by("orderkey")
        if not together.equals(pa.Table.from_batches([self._batch])):
            raise AssertionError("the rows of all parts are not those that were dealt")

    def run(self) -> list[tuple[int, pa.RecordBatch]]:
        """Deal the batch and flush every part."""
        dealt = [*self._partitioner.append(self._batch), *self._partitioner.flush()]
        if sum(chunk.num_rows for _, chunk in dealt) != self.rows:
            raise AssertionError("rows are missing")
        return dealt


class Carry(Kernel):
    """65,536 rows of 16 columns in batches of 4,096, dealt to 8 channels and read from them.

    Passed through within this process, or by a transport over a socket of it and decoded. It has
    times and no counts: its threads wait for each other, how often differs from run to run, and
    where instructions are counted one thread runs at a time.
    """

    batches, channels = 16, 8

    def __init__(self, way: str) -> None:
        self._sink = feature("seamkit.exchange.sink", "ExchangeSink", "Routing")
        self._source = feature("seamkit.exchange.source", "ExchangeSource", "SourceRegistry")
        rule = feature("seamkit.exchange.partition", "PartitionRule").PartitionRule
        self._batch = lineitem()
        self._schema = self._batch.schema
        self._rule = rule(keys=["orderkey"], channels=self.channels, chunk_rows=4096)
        self._registry = self._source.SourceRegistry()
        self._connect, self._format = self._ways(way)
        sent = [self._batch] * self.batches
        chunk, wanted = (
            pa.Table.from_batches(rows).sort_by("orderkey").combine_chunks()
            for rows in (self.run(), sent)
        )
        if not chunk.equals(wanted):
            raise AssertionError("the rows that were read are not those that were sent")

    def _ways(self, way: str) -> tuple[Any, Any]:
        """What makes a channel to a receiver by its number, and the format of chunks."""
        if way == "pass-through":
            local = feature("seamkit.exchange.transports.local", "LocalChannel")
            return (lambda number: local.LocalChannel(self._registry, number)), None
        named = feature("seamkit.exchange.transports.by_name", "connect", "serve")
        formats = feature("seamkit.exchange.formats.formats", "chunk_format")
        folder = tempfile.TemporaryDirectory(prefix="seamb")
        lacking = feature("seambase.errors", "UnavailableError").UnavailableError
        try:
            server = named.serve(way, self._registry, f"unix:{folder.name}/s")
        except lacking as error:
            raise NotImplementedError(str(error)) from error
        atexit.register(folder.cleanup)
        atexit.register(server.close)
        bound = formats.chunk_format("presto", self._schema)
        return (lambda number: named.connect(way, server.address, number)), bound

    def run(self) -> list[pa.RecordBatch]:
        """Carry all batches; a thread reads each channel."""
        numbers = range(self.channels)
        sources = [self._source.ExchangeSource(1, 1, self._format) for _ in numbers]
        for number, source in enumerate(sources):
            self._registry.register(number, source)
        sink = self._sink.ExchangeSink(
            self._schema,
            [self._connect(number) for number in numbers],
            self._sink.Routing("hash", self._rule),
            be_number=0,
            format=self._format,
        )
        with ThreadPoolExecutor(self.channels) as pool:
            reading = [pool.submit(list, source.batches()) for source in sources]
            driver = sink.driver()
            for _ in range(self.batches):
                driver.write(self._batch)
            driver.finish()
            sink.wait_finished()
            sink.close()
            found = [batch for future in reading for batch in future.result()]
        for number in numbers:
            self._registry.forget(number)
        if sum(batch.num_rows for batch in found) != self.batches * self._batch.num_rows:
            raise AssertionError("rows are missing")
        return found

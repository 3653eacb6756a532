"""What is carried: rows of lineitem in batches of 4096, dealt to eight channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from seambench.bench.throughput import lineitem
from seambench.data.tpch import TABLES
from seambench.engines.digest import digest_reader, union
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.partition import Partitioner, PartitionRule

CHANNELS = 8
CHUNK_ROWS = 4096
RULE = PartitionRule(["l_orderkey"], CHANNELS, chunk_rows=CHUNK_ROWS)
_BATCHES = 16


@dataclass(frozen=True)
class Load:
    """Rows, again and again."""

    passes: int  # how often the same rows are carried in one run

    @cached_property
    def batches(self) -> Sequence[pa.RecordBatch]:
        """What is to be partitioned in one pass."""
        whole = lineitem(_BATCHES * CHUNK_ROWS)
        return [whole.slice(at * CHUNK_ROWS, CHUNK_ROWS) for at in range(_BATCHES)]

    @property
    def schema(self) -> pa.Schema:
        """Of all rows."""
        return TABLES["lineitem"].schema

    @cached_property
    def chunks(self) -> Sequence[tuple[int, pa.RecordBatch]]:
        """The chunks of one pass, each with its channel."""
        partitioner = Partitioner(self.schema, RULE)
        chunks = [dealt for batch in self.batches for dealt in partitioner.append(batch)]
        return [*chunks, *partitioner.flush()]

    @cached_property
    def _pages(self) -> dict[str, list[Any]]:
        return {}

    def pages(self, name: str) -> list[Any]:
        """The same as bytes of a format."""
        if name not in self._pages:
            bound = chunk_format(name, self.schema)
            self._pages[name] = [bound.encode(chunk) for _, chunk in self.chunks]
        return self._pages[name]

    @property
    def rows(self) -> int:
        """Rows of a run."""
        return self.passes * _BATCHES * CHUNK_ROWS

    @property
    def bytes(self) -> int:
        """Bytes of a run, as Arrow has them."""
        return self.passes * sum(int(batch.nbytes) for _, batch in self.chunks)

    def digest(self, passes: int) -> str:
        """Of the rows of so many passes."""
        return union([digest_reader(pa.Table.from_batches(self.batches))] * passes)

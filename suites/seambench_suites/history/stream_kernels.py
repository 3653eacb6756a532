"""A batch spread over the serializers of an exchange: what partitioning by appends costs."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa

from .column_kernels import lineitems
from .kernels import Kernel, feature


class StreamPartition(Kernel):
    """65,536 rows like lineitem's appended to serializers of Presto pages, and flushed.

    `whole`: one serializer takes all rows. `64`: row i goes to serializer i modulo 64.
    """

    rows = 65_536

    def __init__(self, destinations: str) -> None:
        serdes = feature("seamkit.serde.stream.registry", "serde_named")
        presto = feature("seamkit.serde.stream.presto", "append_partitions")
        arenas = feature("seamkit.serde.stream.result", "StreamArena")
        memory = feature("seamkit.core.memory", "TrackedAllocator")
        count = 1 if destinations == "whole" else int(destinations)
        self._append = presto.append_partitions
        self._batch = lineitems(self.rows)
        fields = _fields(self._batch.schema)
        allocator = memory.TrackedAllocator()
        self._arenas = [arenas.StreamArena(allocator) for _ in range(count + 1)]
        serde = serdes.serde_named("Presto")
        made = [serde.iterative(fields, {}, arena) for arena in self._arenas]
        self._serializers, self._alone = made[:count], made[count]
        numbers = np.arange(self.rows, dtype=np.int32)
        self._chosen: list[Any] = [numbers[i::count].copy() for i in range(count)]
        self._check()
        self._chosen = [None] if count == 1 else self._chosen

    def _check(self) -> None:
        """What the last destination holds is what its rows alone give."""
        expected, written = io.BytesIO(), io.BytesIO()
        self._alone.append(self._batch.take(pa.array(self._chosen[-1])))
        self._alone.flush(expected)
        self.run()
        self._serializers[-1].flush(written)
        self._alone.clear()
        self.prepare()
        if expected.getvalue() != written.getvalue():
            raise AssertionError("a destination's page differs from that of its rows alone")

    def prepare(self) -> None:
        """Empty serializers, then empty arenas."""
        for serializer in self._serializers:
            serializer.clear()
        for arena in self._arenas:
            arena.clear()

    def run(self) -> None:
        """Append the batch and flush every page."""
        self._append(self._serializers, self._batch, self._chosen)
        out = _Counter()
        size = sum(serializer.flush(out) for serializer in self._serializers)
        rows = sum(serializer.num_rows for serializer in self._serializers)
        if rows != self.rows or size != out.size_bytes:
            raise AssertionError(f"{rows} rows in {size} bytes, {out.size_bytes} came out")


class _Counter:
    """An output stream that only counts."""

    def __init__(self) -> None:
        self.size_bytes = 0

    def write(self, data: memoryview) -> None:
        """Count the bytes."""
        self.size_bytes += len(data)


def _fields(schema: Any) -> list[Any]:
    """The columns in Presto's words."""
    seams = feature("seambase.serde", "SerdeField")
    words = {pa.int64(): "bigint", pa.int32(): "integer", pa.date32(): "date"}
    words |= {pa.string(): "varchar", pa.decimal128(15, 2): "decimal(15,2)"}
    return [seams.SerdeField(field.name, words[field.type]) for field in schema]

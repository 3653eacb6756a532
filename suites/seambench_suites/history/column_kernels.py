"""The stages of the off-heap seam that are timed, over chunks like TPC-H's lineitem.

Each works on chunks of 4096 rows and 16 columns, `loops` of them a run, and has a `copy` beside it:
as many bytes as the chunk's buffers have, copied at once between blocks that were touched before.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyarrow as pa

from .kernels import Kernel, feature

ROWS = 4096


def lineitem(fixed_only: bool = False) -> pa.RecordBatch:
    """4096 rows like lineitem's: whole numbers, decimals, dates, and five columns of text."""
    row = np.arange(ROWS, dtype=np.int64)
    columns: dict[str, Any] = {
        "orderkey": row * 4,
        "partkey": row * 7919 % 200_000,
        "suppkey": row * 104_729 % 10_000,
        "linenumber": (row % 7).astype(np.int32),
    }
    for index, name in enumerate(("quantity", "extendedprice", "discount", "tax")):
        columns[name] = _decimals(row * (index + 3) * 9973 % 10_000_000)
    for index, name in enumerate(("shipdate", "commitdate", "receiptdate")):
        columns[name] = pa.array((row * (index + 1) % 2500 + 8000).astype(np.int32), pa.date32())
    if not fixed_only:
        for name, width in (
            ("returnflag", 1), ("linestatus", 1), ("shipinstruct", 12), ("shipmode", 4),
            ("comment", 27),
        ):  # fmt: skip
            columns[name] = [f"{k * 31 % 10**width:0{width}d}" for k in row.tolist()]
    return pa.RecordBatch.from_pydict(columns)


def lineitems(rows: int) -> pa.RecordBatch:
    """Such rows, again and again, in one batch."""
    return pa.Table.from_batches([lineitem()] * (rows // ROWS)).combine_chunks().to_batches()[0]


def _decimals(unscaled: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
    halves = np.zeros((len(unscaled), 2), np.int64)
    halves[:, 0] = unscaled
    buffers = [None, pa.py_buffer(halves.tobytes())]
    return pa.Array.from_buffers(pa.decimal128(15, 2), len(unscaled), buffers)


class _Chunks(Kernel):
    """A batch, its column types, and a table that holds it."""

    loops = 50

    def __init__(self, columns: str) -> None:
        types = feature("seamkit.offheap.columns.types", "from_arrow")
        self._table_module = feature("seamkit.offheap.columns.table", "OffHeapTable")
        engine = feature("seamkit.offheap.engine.columns", "EngineColumns", "EngineSchema")
        memory = feature("seamkit.core.memory", "TrackedAllocator")
        self._allocator = memory.TrackedAllocator()
        self.batch = lineitem(fixed_only=columns == "fixed")
        # Types and Arrow's C structures are made once for chunk after chunk, as a connector does.
        made = feature("seamkit.offheap.columns.types", "CTypes")
        self._types = made.CTypes([types.from_arrow(field.type) for field in self.batch.schema])
        arrow_c = feature("seamkit.core.border", "ExportedBatch")
        self._exported = arrow_c.ExportedBatch(self.batch)
        self._expected = engine.EngineSchema(self.batch.schema)
        self._columns_class = engine.EngineColumns
        self._table = self._new_table()
        self._table.append_batch(self.batch)
        self._chain = self._table.chain()
        self._check(self._filled().to_arrow())

    def copy(self) -> PlainCopy:
        """The same buffers, copied."""
        extents = (ctypes.c_int64 * self._chain.n_words).from_address(self._chain.extents)
        return PlainCopy(sum(extents), self.loops)

    def _new_table(self) -> Any:
        return self._table_module.OffHeapTable(self._types, ROWS, self._allocator)

    def _filled(self) -> Any:
        columns = self._columns_class(self._expected, self._allocator)
        columns.fill(self._chain)
        return columns

    def _check(self, batch: Any) -> None:
        if not batch.equals(self.batch):
            raise AssertionError("the engine's columns differ from the rows that were appended")


class AppendColumns(_Chunks):
    """Arrow to off-heap tables: made, filled by whole columns, released."""

    def __init__(self, columns: str = "all") -> None:
        super().__init__(columns)
        with self._new_table() as table:
            self._append(table)
            filled = self._columns_class(self._expected, self._allocator)
            filled.fill(table.chain())
        self._check(filled.to_arrow())

    def run(self) -> None:
        """Make and fill a table, release it and make the next."""
        with self._new_table() as table:
            self._append(table)
            for _ in range(1, self.loops):
                table.renew()
                self._append(table)

    def _append(self, table: Any) -> None:
        table.append_exported(self._exported)


class AppendRows(AppendColumns):
    """Python values to an off-heap table, one at a time."""

    loops = 1

    def __init__(self, columns: str = "all") -> None:
        self._bind = feature("seamkit.offheap.connector.append", "bind").bind
        batch = lineitem(fixed_only=columns == "fixed")
        self._rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        super().__init__(columns)

    def _append(self, table: Any) -> None:
        names = self.batch.schema.names
        appenders = [self._bind(table, index, name) for index, name in enumerate(names)]
        puts = [appender.put for appender in appenders]
        for row in self._rows:
            for put, item in zip(puts, row, strict=True):
                put(item)
        for appender in appenders:
            appender.flush()
        table.num_rows = ROWS


class EngineFill(_Chunks):
    """Meta chain to engine columns: the chain is walked, every buffer checked and copied."""

    def __init__(self, columns: str = "all") -> None:
        super().__init__(columns)
        self._columns = self._filled()

    def run(self) -> None:
        """Fill the same columns again and again."""
        for _ in range(self.loops):
            self._columns.fill(self._chain)


class ArrowOut(_Chunks):
    """Engine columns to Arrow's C structures: moved, turned in place or widened.

    A run uses its columns up, so it has few: they should still be in the cache.
    """

    loops = 2

    def __init__(self, columns: str = "all") -> None:
        super().__init__(columns)
        self._ready: list[Any] = []
        self._filled().export()

    def prepare(self) -> None:
        """Columns for a run, filled."""
        self._ready = [self._filled() for _ in range(self.loops)]

    def run(self) -> None:
        """Hand each chunk on, and let go of it."""
        for columns in self._ready:
            columns.export()


class PlainCopy(Kernel):
    """So many bytes copied, `loops` times: what a stage is measured by."""

    def __init__(self, size_bytes: int, loops: int) -> None:
        self.loops, self.size_bytes = loops, size_bytes
        self._target, self._source = np.zeros(size_bytes, np.uint8), np.ones(size_bytes, np.uint8)

    def run(self) -> None:
        """Copy them."""
        for _ in range(self.loops):
            np.copyto(self._target, self._source)

"""The reading side: a meta chain's columns in the engine's layout, and as Arrow.

`fill` goes from the chain to Arrow in one pass, as most callers want; `move` takes the buffers of a
table in the same process over. `EngineColumns` takes the two steps that an engine takes: copy the
columns out of the chain, later hand them on.
"""

from __future__ import annotations

from typing import Any

from seambase.errors import UsageError
from seamkit.core._seam import ffi, lib
from seamkit.core.border import check, new_array, new_error
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import Chain, OffHeapTable
from seamkit.offheap.engine.schema import EngineSchema

__all__ = ["EngineColumns", "EngineSchema", "fill", "move"]


def fill(
    chain: Chain,
    expected: EngineSchema,
    allocator: TrackedAllocator,
    source: OffHeapTable | None = None,
) -> Any:
    """Copy a chain's columns into a `pyarrow.RecordBatch`, each buffer once.

    With sizes (`n_words`, `extents`) every buffer is checked against what its rows need; a bare
    address is believed. The engine's columns are as many and in the same order. The batch's memory
    is the allocator's, and goes back when Arrow lets go of it. Columns of `source`, the chain's
    table, are released one by one as they are copied: what was read last then serves the next
    column.
    """
    columns = EngineColumns(expected, allocator)
    columns.borrow(chain, source)
    return columns.to_arrow()


def move(table: OffHeapTable, expected: EngineSchema) -> Any:
    """A table's rows as a `pyarrow.RecordBatch`; `EngineColumns.export` says what is copied.

    The table loses its columns, which are released, also where a value means nothing, such as text
    that is not UTF-8; it stays whole where its types are others than expected. Its allocator owns
    the batch's memory.
    """
    columns = EngineColumns(expected, table.allocator)
    columns.move(table)
    return columns.to_arrow()


class EngineColumns:
    """Owns one chunk of engine columns (`struct seam_engine_column`). One thread at a time."""

    def __init__(self, expected: EngineSchema, allocator: TrackedAllocator) -> None:
        self.expected = expected
        self.allocator = allocator
        self._error = new_error()
        self._filled = False
        self._source: OffHeapTable | None = None
        self._chain = ffi.new("struct seam_chain *")
        self._column = ffi.gc(ffi.new("struct seam_engine_column *"), lib.seam_engine_column_reset)
        lib.seam_engine_column_init(self._column, allocator.pointer)
        self._wanted = self._column, expected.slots, len(expected.types)

    def fill(self, chain: Chain) -> None:
        """Copy a chain's columns (StarRocks: `JniScanner::_fill_chunk`); what was there goes."""
        self._done(lib.seam_engine_fill(*self._wanted, self._chain_of(chain), self._error))

    def borrow(self, chain: Chain, source: OffHeapTable | None = None) -> None:
        """As `fill`, but the buffers stay the chain's, which must live until they are handed on.

        Its table, if given, loses column after column as they are handed on.
        """
        table = None if source is None else source.pointer
        self._done(lib.seam_engine_open(*self._wanted, self._chain_of(chain), self._error))
        if table is not None:
            self._source = source  # must live as long as the columns look at it
            lib.seam_engine_release_behind(self._column, table)

    def move(self, table: OffHeapTable) -> None:
        """Take the buffers of a table over instead of copying them; what was there goes."""
        self._done(lib.seam_engine_move(*self._wanted, table.pointer, self._error))

    def _chain_of(self, chain: Chain) -> Any:
        struct = self._chain
        struct.words = ffi.cast("const int64_t *", chain.address)
        struct.n_words = chain.n_words
        struct.extents = ffi.cast("const int64_t *", chain.extents)
        struct.as_text = chain.as_text
        return struct

    def _done(self, code: int) -> None:
        self._filled = code == 0
        check(code, self._error, by_caller=True)

    def to_arrow(self) -> Any:
        """`export` as a `pyarrow.RecordBatch` with the schema expected."""
        return self.expected.imported(self.export())

    def export(self) -> Any:
        """Hand the columns on as a `struct ArrowArray *` of a struct; nothing stays here.

        Buffers move where the layouts agree (whole and floating-point numbers, decimals of 128
        bits, strings, all offsets); booleans, dates, times and datetimes are turned in place;
        narrower decimals are copied, and null flags become a bitmap.
        """
        if not self._filled:
            raise UsageError("there are no engine columns to hand on: fill them first")
        self._filled = False
        array = new_array()
        check(lib.seam_engine_export(self._column, array, self._error), self._error)
        return array

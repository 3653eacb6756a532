"""The writing side: a table of off-heap columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seamkit.core._seam import ffi, lib
from seamkit.core.border import (
    ExportedBatch,
    batch_without_views,
    call,
    check,
    new_error,
    without_views,
)
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import ColumnType, CTypes


@dataclass(frozen=True)
class Chain:
    """A meta chain. Its memory is the table's: valid until the table is released.

    Attributes:
        address: of the chain's 64-bit words, which is all that crosses a language border.
        n_words: how many words there are, or -1 if only the address is known.
        extents: address of as many 64-bit byte counts, or 0 if only the address is known.
        as_text: whether dates, datetimes and decimals are formatted texts.
    """

    address: int
    n_words: int = -1
    extents: int = 0
    as_text: bool = False


class OffHeapTable:
    """Owns one `struct seam_table`; to be released by `release` or as a context manager.

    Names the Java class `OffHeapTable`. One thread at a time.

    Args:
        types: one type per column; kind UNKNOWN for a column that the file lacks. Who makes table
            after table saves time by making a `CTypes` of them once.
        capacity: rows for which there is room before anything grows.
        allocator: where all memory comes from.

    Raises:
        seamkit.core.border.NativeMemoryError: the allocator's limit.
        seambase.errors.RefusedError: a kind that is not supported.
    """

    def __init__(
        self, types: Sequence[ColumnType] | CTypes, capacity: int, allocator: TrackedAllocator
    ) -> None:
        if capacity < 0:
            raise UsageError(f"a table has room for 0 rows or more, not for {capacity}")
        self._c_types = types if isinstance(types, CTypes) else CTypes(types)
        self.types = self._c_types.types
        self.allocator = allocator
        self._capacity = capacity
        self._error = new_error()
        self._table = ffi.new("struct seam_table *")
        self._make()

    def _make(self) -> None:
        types = self._c_types
        self._released = True  # unless it comes to be
        code = lib.seam_table_init(
            self._table,
            types.pointer,
            len(types.types),
            self._capacity,
            self.allocator.pointer,
            self._error,
        )
        if code:
            self._check(code)
        self._released = False

    def renew(self) -> None:
        """Release the table and begin another of the same types and capacity: the next chunk."""
        lib.seam_table_reset(self._table)
        self._make()

    def _check(self, code: int, source: str = "") -> None:
        check(code, self._error, source=source, by_caller=True)

    @property
    def pointer(self) -> Any:
        """The `struct seam_table *`, which stays this object's, until the table is released."""
        if self._released:  # in C it is an empty table, and those end a stream
            raise UsageError("the table is released; renew() begins another")
        return self._table

    def vector(self, index: int) -> Any:
        """Column `index` as `struct seam_vector *`, for callers that append by themselves.

        The pointer is valid until the column or the table is released.
        """
        pointer = lib.seam_table_column(self.pointer, index)
        if pointer == ffi.NULL:
            raise UsageError(f"the table has no column {index}, or it is released")
        return pointer

    def column_rows(self, index: int) -> int:
        """Rows that column `index` has got so far (Java: `elementsAppended`)."""
        return int(self.vector(index).rows)

    def null_count(self, index: int) -> int:
        """How many of them are NULL (Java: `numNulls`)."""
        return int(lib.seam_vector_null_count(self.vector(index)))

    def append_arrow(self, index: int, values: Any) -> None:
        """Append a `pyarrow.Array` or `ChunkedArray` to column `index`, all of it or nothing.

        It is of the type that `columns.types.arrow_type` names, or of another dress of it: large
        strings and lists, other units of timestamps, decimals of 32 and 64 bits, dictionaries,
        runs, type null. String views cost one copy more; views inside nested types are refused.
        Fields of a struct are found by name; those that the column lacks are not read.
        """
        append_arrow(self.vector(index), values, f"column {index}")

    def append_batch(self, batch: Any) -> None:
        """Append every column of a `pyarrow.RecordBatch` and count its rows in; all or nothing.

        It has a column for each of the table's that is not of kind UNKNOWN, in their order.
        `append_arrow` says what fits.
        """
        try:
            self.append_exported(ExportedBatch(batch))
        except RefusedError:
            plain = batch_without_views(batch)
            if plain is batch:
                raise
            self.append_exported(ExportedBatch(plain))

    def append_exported(self, batch: ExportedBatch) -> None:
        """`append_batch` for C structures that are there already; string views are refused."""
        code = lib.seam_table_append_arrow(self.pointer, batch.schema, batch.array, self._error)
        if code:
            self._check(code)

    @property
    def num_rows(self) -> int:
        """Rows that the chain states; set it once every column has them."""
        return int(self._table.rows)

    @num_rows.setter
    def num_rows(self, rows: int) -> None:
        self._check(lib.seam_table_set_rows(self.pointer, rows, self._error))

    def chain(self) -> Chain:
        """The meta chain over what is there now (Java: `getMetaNativeAddress`).

        Every column must have as many rows as the table states.
        """
        out = ffi.new("struct seam_chain *")
        self._check(lib.seam_table_chain(self.pointer, out, self._error))
        return Chain(
            int(ffi.cast("uintptr_t", out.words)),
            int(out.n_words),
            int(ffi.cast("uintptr_t", out.extents)),
        )

    def release_column(self, index: int) -> None:
        """Give one column's memory back (Java: `releaseOffHeapColumnVector`); repeatable."""
        if not 0 <= index < len(self.types):
            raise UsageError(f"the table has no column {index}")
        if not self._released:
            self._check(lib.seam_table_release_column(self._table, index, self._error))

    def release(self) -> None:
        """Give everything back (Java: `releaseOffHeapTable`); repeatable."""
        self._released = True
        lib.seam_table_reset(self._table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def append_arrow(vector: Any, values: Any, name: str) -> None:
    """Append a `pyarrow.Array` or `ChunkedArray` to a `struct seam_vector *`, or nothing of it."""
    rows = vector.rows
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    try:
        for chunk in chunks:
            exported = ExportedBatch(without_views(chunk))
            call(lib.seam_vector_append_arrow, vector, exported.schema, exported.array, source=name)
    except BaseException:
        lib.seam_vector_truncate(vector, rows, ffi.NULL)
        raise

"""The reading side: a meta chain's columns in the engine's layout, and as Arrow.

`fill` goes from the chain to Arrow in one pass, as most callers want. `EngineColumns` takes the two
steps that an engine takes: copy the columns out of the chain, later hand them on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seambench.errors import RefusedError, UsageError
from seambench_impl._seam import ffi, lib
from seambench_impl.arrow_c import address, new_array
from seambench_impl.columns.table import Chain
from seambench_impl.columns.types import ColumnType, arrow_type, from_arrow
from seambench_impl.errors import check, new_error
from seambench_impl.memory import TrackedAllocator

__all__ = ["EngineColumns", "EngineSchema", "fill"]


class EngineSchema:
    """The columns an engine expects.

    Args:
        schema: names and Arrow types of the columns. A field that is not nullable is refused: an
            off-heap column may always hold nulls.
        types: their column types, where Arrow's do not say enough (strings of a fixed length are
            still strings, but `timestamp` and `timestamp-millis` give the same words); by default
            derived from `schema`.

    Raises:
        RefusedError: a field that is not nullable, or of a type no off-heap column holds.
    """

    def __init__(self, schema: Any, types: list[ColumnType] | None = None) -> None:
        self.schema = schema
        self.types = types or [from_arrow(field.type) for field in schema]
        for field, column in zip(schema, self.types, strict=True):
            _check_field(field, column)
        self._names = [ffi.new("char[]", field.name.encode()) for field in schema]
        self.slots = ffi.new("struct seam_engine_slot[]", max(len(self.types), 1))
        for slot, column, name in zip(self.slots, self.types, self._names, strict=False):
            slot.kind, slot.precision, slot.scale = column.kind, column.precision, column.scale
            slot.nullable = 1
            slot.name = name
        self._carried = pa.schema(map(_carried, schema, self.types), schema.metadata)
        self._casts = [i for i, field in enumerate(self._carried) if field.type != schema[i].type]

    def imported(self, array: Any) -> Any:
        """A struct array of the core's, which is taken over, as a batch with `schema`."""
        batch = pa.RecordBatch._import_from_c(address(array), self._carried)
        if not self._casts:
            return batch
        columns = batch.columns
        for i in self._casts:  # large strings and other units: the same values in another dress
            columns[i] = columns[i].cast(self.schema[i].type)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _carried(field: Any, column: ColumnType) -> Any:
    """The field as the core hands it out; a time zone is but a word beside the same values."""
    data_type = arrow_type(column)
    if pa.types.is_timestamp(field.type) and field.type.unit == "us":
        data_type = field.type
    return field.with_type(data_type)


def _check_field(field: Any, column: ColumnType) -> None:
    if not field.nullable:
        raise RefusedError(f"NOT NULL column '{field.name}' is not supported")
    if arrow_type(from_arrow(field.type)) != arrow_type(column):
        raise RefusedError(
            f"column '{field.name}': {column} cannot be read as Arrow's {field.type}"
        )


def fill(
    chain: Chain,
    expected: EngineSchema,
    allocator: TrackedAllocator,
    release_column: Callable[[int], None] | None = None,
) -> Any:
    """Copy a chain's columns into a `pyarrow.RecordBatch`, each buffer once.

    Args:
        chain: where the columns lie. With sizes (`n_words`, `extents`) every buffer is checked
            against what its rows need; a bare address is believed.
        expected: the engine's columns, as many and in the same order as the chain's.
        allocator: owner of the batch's memory, which goes back when Arrow lets go of it.
        release_column: called with each column's number when all are copied.

    Returns:
        A batch with `expected.schema`.

    Raises:
        seambench.errors.InputError: the chain breaks its format.
        seambench_impl.errors.NativeMemoryError: the allocator's limit.
    """
    columns = EngineColumns(expected, allocator)
    columns._read(lib.seam_engine_open, chain)
    batch = columns.to_arrow()
    if release_column is not None:
        for index in range(len(expected.types)):
            release_column(index)
    return batch


class EngineColumns:
    """Owns one chunk of engine columns (`struct seam_engine_column`). One thread at a time.

    Args:
        expected: the engine's columns.
        allocator: where all memory comes from.
    """

    def __init__(self, expected: EngineSchema, allocator: TrackedAllocator) -> None:
        self.expected = expected
        self.allocator = allocator
        self._error = new_error()
        self._filled = False
        self._chain = ffi.new("struct seam_chain *")
        self._column = ffi.gc(ffi.new("struct seam_engine_column *"), lib.seam_engine_column_reset)
        lib.seam_engine_column_init(self._column, allocator.pointer)

    def fill(self, chain: Chain) -> None:
        """Copy a chain's columns (StarRocks: `JniScanner::_fill_chunk`); what was there goes.

        Raises:
            seambench.errors.InputError: the chain breaks its format.
            seambench.errors.RefusedError: a column of a type that is not held.
            seambench_impl.errors.NativeMemoryError: the allocator's limit.
        """
        lib.seam_engine_column_reset(self._column)
        self._read(lib.seam_engine_fill, chain)

    def _read(self, call: Any, chain: Chain) -> None:
        struct = self._chain
        struct.words = ffi.cast("const int64_t *", chain.address)
        struct.n_words = chain.n_words
        struct.extents = ffi.cast("const int64_t *", chain.extents)
        slots, count = self.expected.slots, len(self.expected.types)
        check(call(self._column, slots, count, struct, self._error), self._error)
        self._filled = True

    def to_arrow(self) -> Any:
        """Hand the columns on as a `pyarrow.RecordBatch`; nothing stays here.

        Buffers move where the layouts agree (whole and floating-point numbers, decimals of 128
        bits, strings, all offsets); null flags, booleans, dates, times and datetimes are turned in
        place; narrower decimals are copied.

        Raises:
            seambench.errors.InputError: a value that means nothing, such as text that is not UTF-8.
            seambench.errors.UsageError: nothing was filled in.
            seambench_impl.errors.NativeMemoryError: the allocator's limit.
        """
        if not self._filled:
            raise UsageError("there are no engine columns to hand on: fill them first")
        self._filled = False
        array = new_array()
        check(lib.seam_engine_export(self._column, array, self._error), self._error)
        return self.expected.imported(array)

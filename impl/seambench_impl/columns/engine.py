"""The reading side: engine columns filled from a meta chain, handed on as Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seambench.errors import RefusedError
from seambench_impl._seam import ffi, lib
from seambench_impl.columns.c_types import c_types
from seambench_impl.columns.table import Chain
from seambench_impl.columns.types import ColumnType, arrow_type, from_arrow
from seambench_impl.errors import check, new_error
from seambench_impl.memory import TrackedAllocator

__all__ = ["EngineSchema", "fill"]


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
        self._c_types = c_types(self.types)  # the slots borrow from it
        for index, name in enumerate(self._names):
            slot = self.slots[index]
            slot.type = self._c_types[index]
            slot.nullable = 1
            slot.name = name


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
    """Copy a chain's columns into a `pyarrow.RecordBatch`.

    Args:
        chain: where the columns lie. With sizes (`n_words`, `extents`) every buffer is checked
            against what its rows need; a bare address is believed.
        expected: the engine's columns, as many and in the same order as the chain's.
        allocator: owner of the batch's memory, which goes back when Arrow lets go of it.
        release_column: called with a column's number as soon as that column is copied.

    Returns:
        A batch with `expected.schema`.

    Raises:
        seambench.errors.InputError: the chain breaks its format.
        seambench_impl.errors.NativeMemoryError: the allocator's limit.
    """
    error = new_error()
    reader = ffi.new("struct seam_chain_reader *")
    struct = ffi.new("struct seam_chain *")
    struct.words = ffi.cast("const int64_t *", chain.address)
    struct.n_words = chain.n_words
    struct.extents = ffi.cast("const int64_t *", chain.extents)
    check(lib.seam_chain_reader_init(reader, struct, error), error)
    arrays = []
    for index, field in enumerate(expected.schema):
        slot = ffi.addressof(expected.slots, index)
        column = arrow_type(expected.types[index])
        array = _fill_column(slot, reader, allocator, (field.name, column), error)
        # Large strings, other units and UTC: the same values in another dress.
        arrays.append(array if field.type == column else array.cast(field.type))
        if release_column is not None:
            release_column(index)
    check(lib.seam_chain_reader_finish(reader, error), error)
    if not arrays:  # no columns, but rows: what count(*) asks for
        empty = pa.Array.from_buffers(pa.struct([]), reader.rows, [None])
        return pa.RecordBatch.from_struct_array(empty).replace_schema_metadata(
            expected.schema.metadata
        )
    return pa.RecordBatch.from_arrays(arrays, schema=expected.schema)


def _fill_column(
    slot: object,
    reader: object,
    allocator: TrackedAllocator,
    named: tuple[str, Any],
    error: object,
) -> Any:
    name, data_type = named
    column = ffi.new("struct seam_engine_column *")
    lib.seam_engine_column_init(column, allocator.pointer)
    check(lib.seam_engine_fill(column, slot, reader, error), error, source=name)
    array = ffi.new("struct ArrowArray *")
    check(lib.seam_engine_export(column, array, error), error, source=name)
    return pa.Array._import_from_c(int(ffi.cast("uintptr_t", array)), data_type)

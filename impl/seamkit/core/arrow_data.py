"""Arrow data across the border to the C core, by the C Data Interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seamkit.core._seam import ffi, lib


def address(pointer: Any) -> int:
    """The address of a cffi pointer, as pyarrow wants it."""
    return int(ffi.cast("uintptr_t", pointer))


def new_array() -> Any:
    """An empty `struct ArrowArray`; it is released with the handle unless it was moved on."""
    return ffi.gc(ffi.new("struct ArrowArray *"), lib.seam_array_release)


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array of numbers or booleans without nulls, not copied where they are bytes.

    `Array.to_numpy` does the same and imports pandas where it is installed, which takes a second.
    """
    n, begin = len(array), array.offset
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
        return np.unpackbits(bits, bitorder="little")[begin : begin + n].astype(np.bool_)
    return np.frombuffer(array.buffers()[1] or b"", array.type.to_pandas_dtype())[begin : begin + n]


def array_of(values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """An array of numbers or booleans; it shares the memory of numbers that lie close together.

    `pyarrow.array` does the same and imports pandas where it is installed, as in `numbers`. Values
    have one dimension; without `valid` all are there.
    """
    is_bool = values.dtype == np.bool_
    kind = pa.bool_() if is_bool else pa.from_numpy_dtype(values.dtype)
    words = np.packbits(values, bitorder="little") if is_bool else np.ascontiguousarray(values)
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(words)])


def exported_schema(schema: pa.Schema) -> Any:
    """A schema as `struct ArrowSchema *`, released with the handle."""
    exported = ffi.gc(ffi.new("struct ArrowSchema *"), lib.seam_schema_release)
    schema._export_to_c(address(exported))
    return exported


class ExportedBatch:
    """A record batch or array as C structures: `schema` and `array` point at them.

    The structures share its buffers and keep them alive; they are released with this
    object.
    """

    def __init__(self, batch: pa.RecordBatch | pa.Array) -> None:
        self.schema: Any = ffi.gc(ffi.new("struct ArrowSchema *"), lib.seam_schema_release)
        self.array: Any = new_array()
        batch._export_to_c(address(self.array), address(self.schema))


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch that knows its number of rows even without columns."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), schema=schema)
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))


def without_views(array: pa.Array) -> pa.Array:
    """The array, a copy of it where it is of string or binary views, which the core does not read.

    Views inside nested types stay: the core refuses them by name.
    """
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    return array


def batch_without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, its columns as `without_views` gives them."""
    kinds = pa.types
    if not any(
        kinds.is_string_view(kind) or kinds.is_binary_view(kind) for kind in batch.schema.types
    ):
        return batch
    return pa.RecordBatch.from_arrays(
        list(map(without_views, batch.columns)), names=batch.schema.names
    )

"""Arrow data across the border to the C core, by the C Data Interface."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench_impl._seam import ffi, lib

__all__ = ["ExportedBatch", "address", "new_array"]


def address(pointer: Any) -> int:
    """The address of a cffi pointer, as pyarrow wants it."""
    return int(ffi.cast("uintptr_t", pointer))


def new_array() -> Any:
    """An empty `struct ArrowArray`; it is released with the handle unless it was moved on."""
    return ffi.gc(ffi.new("struct ArrowArray *"), lib.seam_array_release)


class ExportedBatch:
    """A record batch as C structures: `schema` and `array` point at them.

    The structures share the batch's buffers and keep them alive; they are released with this
    object.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.schema: Any = ffi.gc(ffi.new("struct ArrowSchema *"), lib.seam_schema_release)
        self.array: Any = new_array()
        batch._export_to_c(address(self.array), address(self.schema))

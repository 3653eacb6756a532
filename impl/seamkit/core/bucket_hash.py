"""Iceberg's bucket transform (table specification, appendix B), by the hashes of the core."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError, UsageError
from seamkit.core._seam import ffi, lib
from seamkit.core.arrow_data import ExportedBatch
from seamkit.core.errors import check, new_error
from seamkit.core.memory import TrackedAllocator


def iceberg_buckets(column: pa.Array, buckets: int) -> pa.Array:
    """The bucket of each value: an int32 array, null for nulls."""
    if buckets < 1:
        raise UsageError(f"a table has at least one bucket, not {buckets}")
    kind = ffi.new("struct seam_column_type *")
    column, kind.kind = _hashed(column)
    if pa.types.is_decimal(column.type):
        kind.precision, kind.scale = column.type.precision, column.type.scale
    exported, error = ExportedBatch(pa.RecordBatch.from_arrays([column], ["value"])), new_error()
    hashes, allocator = np.empty(len(column), dtype=np.int32), TrackedAllocator()
    code = lib.seam_partition_iceberg(
        allocator.pointer,
        kind,
        exported.schema,
        exported.array,
        ffi.cast("int32_t *", hashes.ctypes.data),
        error,
    )
    check(code, error)
    return pa.array(hashes % buckets, mask=hashes < 0)


def _hashed(column: pa.Array) -> tuple[pa.Array, int]:
    """Values as they are hashed, and the kind of the core: whole numbers are all long."""
    kind, tests = column.type, pa.types
    if tests.is_date32(kind):
        column, kind = column.cast(pa.int32()), pa.int32()
    if tests.is_timestamp(kind):
        column = pc.cast(column, pa.timestamp("us", kind.tz))
    if tests.is_integer(kind) or tests.is_timestamp(kind):
        return column.cast(pa.int64()), lib.SEAM_COLUMN_LONG
    for test, number in (
        (tests.is_decimal128, lib.SEAM_COLUMN_DECIMAL128),
        (tests.is_string, lib.SEAM_COLUMN_STRING),
        (tests.is_binary, lib.SEAM_COLUMN_BINARY),
    ):
        if test(kind):
            return column, number
    raise RefusedError(f"Iceberg's bucket transform does not take a {kind}")

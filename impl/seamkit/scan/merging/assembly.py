"""Columns of merged rows, put together from those of a file and of the events that replace some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seamkit.core._seam import ffi, lib
from seamkit.core.arrow_data import ExportedBatch, address, array_of, batch_of, new_array
from seamkit.core.errors import check, expect, new_error
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.merging.log_index import KEEP, REMOVE, RowNumbers

__all__ = ["assemble", "spread"]


class _Plan:
    """A C plan of runs for one batch; freed with this object."""

    def __init__(self, sources: RowNumbers, allocator: TrackedAllocator) -> None:
        out = ffi.new("struct seam_plan **")
        error = new_error()
        buffer = ffi.from_buffer("int32_t[]", np.ascontiguousarray(sources, dtype=np.int32))
        check(
            lib.seam_plan_new(allocator.pointer, buffer, len(sources), out, error),
            error,
        )
        self.pointer = ffi.gc(out[0], lib.seam_plan_free)
        self.allocator = allocator
        self.rows = int(lib.seam_plan_rows(self.pointer))
        self.changes = int(
            lib.seam_plan_replaced(self.pointer) + lib.seam_plan_removed(self.pointer)
        )


def assemble(
    base: pa.RecordBatch,
    log: pa.RecordBatch,
    exported_log: ExportedBatch,
    sources: RowNumbers,
    allocator: TrackedAllocator,
) -> pa.RecordBatch:
    """The merged batch: base rows that stay, and log rows where they replace one.

    Args:
        base: the base rows, with the schema of the log's; texts may be dictionary-encoded. Its
            buffers belong to this call: the result takes over those that can be changed in place.
        log: the log's rows, with the schema of the result.
        exported_log: the same batch as C structures, made once a slice.
        sources: what `LogIndex.probe` said of the base rows.
        allocator: owner of the result's buffers.
    """
    plan = _Plan(sources, allocator)
    if plan.changes == 0 and base.schema.equals(log.schema):
        return base
    exported_base = ExportedBatch(base)
    arrays = [
        _merge_column(i, base.column(i), log.column(i), exported_base, exported_log, plan, sources)
        for i in range(base.num_columns)
    ]
    return batch_of(arrays, log.schema, plan.rows)


def spread(
    batch: pa.RecordBatch, names: Sequence[str], allocator: TrackedAllocator
) -> pa.RecordBatch:
    """The same rows with some columns, which are dictionary-encoded texts, as plain ones.

    Args:
        batch: the rows, whose buffers belong to this call.
        names: the encoded columns.
        allocator: owner of the plain texts.
    """
    if not names:
        return batch
    encoded = batch.select(list(names))
    plain = pa.schema([field.with_type(field.type.value_type) for field in encoded.schema])
    nothing = batch_of([pa.nulls(0, field.type) for field in plain], plain, 0)
    stay = np.full(batch.num_rows, KEEP, dtype=np.int32)
    texts = assemble(encoded, nothing, ExportedBatch(nothing), stay, allocator)
    for name in names:
        i = batch.schema.get_field_index(name)
        batch = batch.set_column(i, plain.field(name), texts.column(name))
    return batch


def _merge_column(
    i: int,
    base: pa.Array,
    log: pa.Array,
    exported_base: ExportedBatch,
    exported_log: ExportedBatch,
    plan: _Plan,
    sources: RowNumbers,
) -> pa.Array:
    """In place where the buffer allows it, by the core otherwise, by pyarrow for nested types."""
    kind = log.type
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        return _take(base, log, sources)
    plain = base.type.value_type if pa.types.is_dictionary(base.type) else base.type
    expect(plain == kind, f"a column of {plain} in the base, of {kind} in the log")
    schema = exported_log.schema.children[i]
    arrays = (exported_base.array.children[i], exported_log.array.children[i])
    error = new_error()
    if _may_patch(base):
        patched = ffi.new("int32_t *")
        check(lib.seam_patch(plan.pointer, schema, *arrays, patched, error), error)
        if patched[0]:
            return base.slice(0, plan.rows)
    out = new_array()
    code = lib.seam_assemble(plan.pointer, schema, *arrays, plan.allocator.pointer, out, error)
    check(code, error)
    return pa.Array._import_from_c(address(out), kind)


def _may_patch(base: pa.Array) -> bool:
    """Whether the values lie in a writable buffer, as what a Parquet reader has decoded does."""
    if pa.types.is_boolean(base.type) or pa.types.is_dictionary(base.type):
        return False
    return all(b.is_mutable for b in base.buffers()[1:] if b is not None)


def _take(base: pa.Array, log: pa.Array, sources: RowNumbers) -> pa.Array:
    """The same for layouts the core does not know: pyarrow takes from base and log put together."""
    replaced = sources[sources >= 0]
    if not len(replaced):
        return base.filter(array_of(sources != REMOVE))
    indices = np.arange(len(sources), dtype=np.int64)
    indices[sources >= 0] = len(base) + np.arange(len(replaced))
    pool = pa.concat_arrays([base, log.take(array_of(replaced))])
    return pool.take(array_of(indices[sources != REMOVE]))

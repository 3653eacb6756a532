"""Changes as two states of some rows show them: both are read, held in memory, and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.core.border import HeldRows, batch_of, concat_batches, numpy_of
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadContext, ReadPlan


@contextmanager
def both_states(
    plans: tuple[ReadPlan, ReadPlan], names: Sequence[str], context: ReadContext
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The rows of two states, what they were and became, for as long as they are compared.

    They count against the context's memory, with as much for what a comparison makes of them.
    """
    old, new = (read_state(plan, names, ScanOptions(threads=1), context) for plan in plans)
    with context.allocator.reserve(2 * (old.nbytes + new.nbytes)):
        yield old, new


def read_state(
    plan: ReadPlan, names: Sequence[str], options: ScanOptions, context: ReadContext
) -> pa.RecordBatch:
    """The rows of a state, in the order of its plan.

    Where the options limit memory they wait on local disk as far as they pass a quarter of that.
    """
    scan = UnitScan(plan, names, None, options).beside(context.warnings)
    limit = options.memory_limit_bytes
    if limit is None:
        rows = concat_batches(scan.to_table().to_batches(), scan.schema)
    else:
        held = HeldRows(scan.schema, limit // 4)
        for number in range(scan.n_parts):
            for batch in scan.part(number, scan.schema.names, None).to_reader():
                held.add(batch)
        rows = held.take_out()
    warnings = scan.report().warnings
    context.warnings.extend(one for one in warnings if one not in context.warnings)
    return rows


def differences(
    before: pa.RecordBatch, old: pa.Array, after: pa.RecordBatch, new: pa.Array, schema: pa.Schema
) -> pa.RecordBatch:
    """Rows that were inserted, updated or deleted, with both images; see `changes_of`."""
    ops = pc.if_else(pc.is_null(old), "i", pc.if_else(pc.is_null(new), "d", "u"))
    return changes_of(ops, before, old, after, new, schema)


def changes_of(
    ops: pa.Array,
    before: pa.RecordBatch,
    old: pa.Array,
    after: pa.RecordBatch,
    new: pa.Array,
    schema: pa.Schema,
) -> pa.RecordBatch:
    """Changes with the images of their rows.

    `old` and `new` are of each change the numbers of its rows in `before` and `after`, or null;
    `schema` says which of `op`, `before` and `after` to give.
    """
    made = {
        "op": lambda: ops,
        "before": lambda: _images(before, old),
        "after": lambda: _images(after, new),
    }
    return batch_of([made[field.name]() for field in schema], schema, len(ops))


def _images(rows: pa.RecordBatch, numbers_: pa.Array) -> pa.Array:
    fields = list(rows.schema)
    columns = [column.take(numbers_) for column in rows.columns]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pc.is_null(numbers_))


def not_in_both(
    one: pa.RecordBatch, other: pa.RecordBatch, columns: Iterable[str]
) -> list[npt.NDArray[np.bool_]]:
    """Which rows of two batches are left when those that are alike are taken out in pairs."""
    numbers = np.zeros(one.num_rows + other.num_rows, np.int64)
    for name in columns:
        values = _value_numbers(pa.concat_arrays([one.column(name), other.column(name)]))
        _, numbers = np.unique(numbers * (values.max(initial=0) + 1) + values, return_inverse=True)
    sides = numbers[: one.num_rows], numbers[one.num_rows :]
    count = numbers.max(initial=-1) + 1
    pairs = np.minimum(*(np.bincount(side, minlength=count) for side in sides))
    return [ranks(side) >= pairs[side] for side in sides]


def ranks(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many times the number of each place stands before it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.searchsorted(ordered, ordered, "left")
    ranks = np.empty(len(numbers), np.int64)
    ranks[order] = np.arange(len(numbers)) - first
    return ranks


def _value_numbers(column: pa.Array) -> npt.NDArray[np.int64]:
    """A number for each value, the same for values that are alike: null is null, and NaN is NaN."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if pa.types.is_nested(column.type):
        column = _parts_as_bytes(column)
    elif pa.types.is_floating(column.type):
        column = _bits(column)
    codes = column.dictionary_encode(null_encoding="encode").indices
    return numpy_of(codes).astype(np.int64)


def _parts_as_bytes(column: pa.Array) -> pa.Array:
    """The numbers of what each struct, list or map holds, as bytes; entries of maps in order."""
    kind = column.type
    if pa.types.is_map(kind):
        column = column.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if pa.types.is_struct(kind):
        parts = [_value_numbers(part) for part in column.flatten()]
        numbers = np.stack(parts, 1) if parts else np.zeros(0, np.int64)
        lengths = np.full(len(column), len(parts))
    else:
        numbers = _value_numbers(pc.list_flatten(column))
        lengths = numpy_of(pc.fill_null(pc.list_value_length(column), 0))
    ends = np.append(0, np.cumsum(lengths, dtype=np.int64)) * numbers.itemsize
    buffers = [column.is_valid().buffers()[1], pa.py_buffer(ends), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)


def _bits(column: pa.Array) -> pa.Array:
    """Floating-point numbers as whole ones: zero has two signs, and NaN is NaN."""
    words = pa.int32() if column.type.bit_width == 32 else pa.int64()
    return pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column).view(words)


def same_rows(
    old: pa.RecordBatch,
    new: pa.RecordBatch,
    was: pa.Array,
    became: pa.Array,
    columns: Iterable[str],
) -> npt.NDArray[np.bool_]:
    """Whether rows have the same values in columns: null is null, NaN is NaN, zero has a sign."""
    same = np.ones(len(was), np.bool_)
    for name in columns:
        one, other = old.column(name).take(was), new.column(name).take(became)
        same &= _equal(one, other)
    return same


def _equal(one: pa.Array, other: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values of two columns, place by place, are the same."""
    kind = one.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind) or isinstance(one, pa.ExtensionArray):
        numbers = _value_numbers(pa.concat_arrays([one, other]))
        return np.asarray(numbers[: len(one)] == numbers[len(one) :])
    if pa.types.is_floating(kind):
        one, other = _bits(one), _bits(other)
    equal = pc.fill_null(pc.equal(one, other), False)
    nothing = pc.and_(pc.is_null(one), pc.is_null(other))
    return numpy_of(pc.or_(equal, nothing))


def image_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of changes with both images of a row, which are structs of the table's columns.

    `op` is `i`, `u` or `d`, and `ts_ms` says when.
    """
    row = pa.struct(list(schema))
    return pa.schema({"op": pa.string(), "ts_ms": pa.string(), "before": row, "after": row})


def refuse_taken_names(schema: pa.Schema, names: Sequence[str], where: str) -> None:
    """Refuse to tell changes of a table that has a column of its own under one of their names."""
    for name in names:
        if name in schema.names:
            raise RefusedError(
                f"{where}: the table has a column {name!r}, which is one of those that changes have"
            )

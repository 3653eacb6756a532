"""Read units of any table format a row at a time: the connector path of all formats.

Files give their rows, deletes take some out, and rows of one key are merged, all of it by the plain
rules of `gone_rows`, `paimon_rows` and `slice_rows`; what the formats share stands here. Each value
then goes through a `ColumnValue` into an off-heap table that fills engine columns. Columns that an
off-heap table cannot hold (points in time in nanoseconds, UUIDs, ...) are made of their values at
once, and their rows with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate, islice
from typing import Any, cast

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.connector import slice_rows
from seamkit.connector.gone_rows import gone_positions, key_test
from seamkit.connector.paimon_rows import merged_rows
from seamkit.connector.plain_values import entries_of
from seamkit.connector.planned import Row, file_rows, is_fine, plain
from seamkit.connector.slice_rows import PlannedSlice
from seamkit.core.border import batch_of
from seamkit.offheap.columns.types import ColumnType, from_arrow
from seamkit.offheap.connector.rows import RowScanner
from seamkit.offheap.connector.scanner import stream
from seamkit.scan.units import KeyMask, Mask, ReadContext, ReadPlan, ReadUnit, Runs, UnitFile

_FETCH_SIZE = 4096
UnitRows = Callable[[ReadUnit, pa.Schema, ReadContext], Iterator[Row]]
"""Gives the rows of a unit by the names of a schema."""


def read_unit(
    unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """The rows of a unit; see `UnitScan.read_by`. A batch has at most 4096 rows."""
    yield from batches_of(unit_rows(unit, schema, context), schema, batch_rows, context)


def batches_of(
    rows: Iterator[Row], schema: pa.Schema, batch_rows: int, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """Rows as batches, value by value through off-heap tables where these hold all types."""
    if not schema.names:  # a count: there is no value to carry
        yield batch_of([], schema, sum(1 for _ in rows))
        return
    tuples = (tuple(row[name] for name in schema.names) for row in rows)
    most = min(_FETCH_SIZE, batch_rows)
    types = [_held(field.type) for field in schema]
    held = [kind for kind in types if kind is not None]
    if len(held) == len(types):
        scanner = RowScanner(schema.names, held, tuples, most, allocator=context.allocator)
        yield from stream(scanner, schema)
        return
    while chunk := list(islice(tuples, most)):
        columns = zip(zip(*chunk, strict=True), schema, strict=True)
        yield batch_of([_array(own, field.type) for own, field in columns], schema, len(chunk))


def plan_rows(
    plan: ReadPlan, names: Sequence[str], context: ReadContext, rows_of: UnitRows | None = None
) -> Iterator[Row]:
    """The rows of all units of a plan, with the values that a unit has in all its rows."""
    for unit in plan.units:
        schema = pa.schema([plan.schema.field(one) for one in names if one not in unit.partition])
        known = {one: plain(value) for one, value in unit.partition.items() if one in names}
        for row in (rows_of or unit_rows)(unit, schema, context):
            whole = {**row, **known}
            yield {name: whole[name] for name in names}


def unit_rows(unit: ReadUnit, schema: pa.Schema, context: ReadContext) -> Iterator[Row]:
    """The rows of a unit as values of Python, by the names of a schema."""
    changes = unit.changes
    if isinstance(changes, Runs):
        masks = changes.masks
        return merged_rows(unit, changes, schema, lambda file: _gone(file, masks.get(file.name)))
    if not isinstance(changes, Mask | KeyMask | None):
        planned = cast("PlannedSlice", changes)
        return slice_rows.merged_rows(planned, schema.names, context)
    return (row for file in unit.files for row in _left(file, changes, schema, context))


def _left(
    file: UnitFile, changes: Mask | KeyMask | None, schema: pa.Schema, context: ReadContext
) -> Iterator[Row]:
    mask = changes.mask if isinstance(changes, KeyMask) else changes
    gone, rows = _gone(file, mask), file_rows(file, schema)
    if not isinstance(changes, KeyMask):
        yield from (row for at, row in enumerate(rows) if at not in gone)
        return
    is_gone = key_test(file, changes, context)
    keys = {field.name: field for own, _ in changes.keys for field in own}
    # Read apart: keys may be fields of a column that was otherwise when they were deleted.
    pairs = zip(rows, file_rows(file, pa.schema(keys.values())), strict=True)
    yield from (row for at, (row, key) in enumerate(pairs) if at not in gone and not is_gone(key))


def _gone(file: UnitFile, mask: Mask | None) -> Set[int]:
    """The rows of a file that its mask takes out, which must be there."""
    if mask is None:
        return frozenset()
    rows = file.open().num_rows
    gone = gone_positions(mask, rows)
    if gone and max(gone) >= rows:
        raise InputError(
            f"{file.name}: row {max(gone)} is deleted, and it has {counted(rows, 'row')}"
        )
    return gone


def _held(kind: pa.DataType) -> ColumnType | None:
    """The type of an off-heap column that holds all of a type's values."""
    if "[ns" in str(kind):
        return None
    try:
        return from_arrow(kind)
    except RefusedError:
        return None


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as a column of a type that an off-heap table does not hold."""
    if is_fine(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if isinstance(kind, pa.UuidType):
        storage = [None if value is None else value.bytes for value in values]
        return pa.ExtensionArray.from_storage(kind, pa.array(storage, kind.storage_type))
    if pa.types.is_struct(kind) and kind.num_fields:
        mask = pa.array([value is None for value in values], pa.bool_())
        parts = [
            _array([(value or {}).get(own.name) for value in values], own.type) for own in kind
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_list(kind):
        items = _array([item for value in values for item in value or ()], kind.value_type)
        return pa.ListArray.from_arrays(_ends(values), items, kind)
    if pa.types.is_map(kind):
        pairs = [pair for value in values for pair in entries_of(value or ())]
        keys = _array([key for key, _ in pairs], kind.key_type)
        items = _array([item for _, item in pairs], kind.item_type)
        return pa.MapArray.from_arrays(_ends(values), keys, items, kind)
    return pa.array(values, kind)


def _ends(values: Sequence[Any]) -> pa.Array:
    """Where lists or maps begin, and the last one ends; null for those that are null."""
    ends = accumulate((len(value or ()) for value in values), initial=0)
    known = [None if own is None else end for own, end in zip([*values, ()], ends, strict=True)]
    return pa.array(known, pa.int32())

"""The connector path: one row at a time, as connectors behind a language border work.

It is the executable description of the seam. Records are Python values, the merge is a dictionary,
and each value goes through a `ColumnValue` into an off-heap table that is then filled into engine
columns. It shares the planning and the block order with the merge path, and none of the decoding,
merging or assembling.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seamkit.avro import arrow_type, parse_schema
from seamkit.connector.plain_values import floating_text, row_converter
from seamkit.core.arrow_data import batch_of
from seamkit.files.parquet import PARQUET_ERRORS, ParquetReader, open_parquet
from seamkit.offheap.columns.types import from_arrow
from seamkit.offheap.connector.rows import RowScanner
from seamkit.offheap.connector.scanner import stream
from seamkit.scan.units import ReadContext, ReadUnit
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.log.log import LogBlock, avro_records
from seamkit.tables.hudi.merge.blocks import (
    LogSource,
    partial_columns,
    read_ordered_blocks,
    refuse_merge,
)
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.merge.keys import (
    IS_DELETED,
    OPERATION,
    RECORD_KEY,
    check_texts,
    check_times,
    leaf_field,
)
from seamkit.tables.hudi.merge.records import RecordReader, is_java_integer, ordering_words
from seamkit.tables.hudi.timeline.window import file_names

__all__ = ["WORDS", "connector_slice", "merged_rows", "read_unit"]

_FETCH_SIZE = 4096
Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Version:
    """A version of a record; `row` None is a delete.

    `order` None is a delete without an ordering value: it beats what came before it. A version of
    a partial update has some columns only. `listed` is true for a delete of a delete block.
    """

    row: Row | None
    order: tuple[Any, ...] | None
    listed: bool = False


def read_unit(
    unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """The rows of a unit that was planned for the merge path; see `UnitScan.read_by`.

    Args:
        unit: its changes are those of a Hudi slice, which may have no logs.
        schema: the columns to hand out.
        batch_rows: most rows in a batch.
        context: what the read lends.
    """
    changes = unit.changes
    assert isinstance(changes, SliceChanges)  # so the merge path is planned
    source = changes.source.reading(schema.names)
    return connector_slice(changes.slice_, source, schema.names, batch_rows, context)


def connector_slice(
    slice_: FileSlice,
    source: LogSource,
    names: Sequence[str],
    batch_rows: int,
    context: ReadContext,
) -> Iterator[pa.RecordBatch]:
    """The merged rows of one slice, through off-heap tables.

    Args:
        slice_: base file, logs, or both.
        source: how to read the logs; its schema has all columns of `names`.
        names: columns to hand out, in order.
        batch_rows: most rows in a batch; 4096 if it is more.
        context: what the read lends.
    """
    schema = pa.schema([source.schema.field(name) for name in names])
    if not names:  # a count: there is no value to carry
        count = sum(1 for _ in merged_rows(slice_, source, context))
        yield batch_of([], schema, count)
        return
    tuples = (
        tuple(row.get(name) for name in names) for row in merged_rows(slice_, source, context)
    )
    types = [from_arrow(field.type) for field in schema]
    scanner = RowScanner(
        names, types, tuples, min(_FETCH_SIZE, batch_rows), allocator=context.allocator
    )
    yield from stream(scanner, schema)


def merged_rows(slice_: FileSlice, source: LogSource, context: ReadContext) -> Iterator[Row]:
    """Base rows as the logs leave them, then rows that only the logs have."""
    if not slice_.logs:
        yield from _base_rows(slice_, source)
        return
    refuse_merge(slice_, source)
    blocks = read_ordered_blocks(slice_, source, context.warnings)
    if any(block.is_partial for block in blocks):  # Hudi then goes by what blocks hold alone
        merge = replace(source.config.merge, fill_rule=None)
        source = replace(source, config=replace(source.config, merge=merge))
    source = source.with_operation(blocks)
    newest = _fold(blocks, source, context)
    for row in _base_rows(slice_, source):
        version = newest.pop(
            _key_of(row, source), None
        )  # the first row of a doubled key uses it up
        if version is None:
            yield row
            continue
        merged = _merge(_Version(row, _order_of(row, source)), version, source)
        if merged.row is not None:
            yield merged.row
    for version in newest.values():
        if version.row is not None:
            yield version.row


def _base_rows(slice_: FileSlice, source: LogSource) -> Iterator[Row]:
    if slice_.base is None:
        return
    name = source.storage.full(slice_.base.path)
    reader = open_slice_base(source.storage, slice_.base)
    if not isinstance(reader, ParquetReader):  # rows of ORC, or of two files, only come as columns
        for batch in reader.batches(source.schema, _FETCH_SIZE, use_threads=False):
            yield from batch.to_pylist()
        return
    try:
        file = open_parquet(source.storage.open(slice_.base.path), name)
        present = [n for n in source.schema.names if n in file.schema_arrow.names]
        convert = row_converter(_columns(file), source.schema, name)
        for batch in file.iter_batches(batch_size=_FETCH_SIZE, columns=present):
            yield from map(convert, batch.to_pylist())
    except PARQUET_ERRORS as error:
        raise InputError(f"{name}: not readable as Parquet ({error})") from error


def _fold(
    blocks: Sequence[LogBlock], source: LogSource, context: ReadContext
) -> dict[str, _Version]:
    """The newest version of every record key, in scan order."""
    newest: dict[str, _Version] = {}
    for block in blocks:
        for key, version in _versions(block, source, context):
            older = newest.get(key)
            newest[key] = version if older is None else _merge(older, version, source)
    return newest


def _merge(older: _Version, newer: _Version, source: LogSource) -> _Version:
    """What two versions of a record come to."""
    if _wins(older, newer, source):
        return _put_together(newer, older, source)
    return _put_together(older, newer, source)


def _wins(older: _Version, newer: _Version, source: LogSource) -> bool:
    if not source.ordering or newer.order is None:
        return not (source.ordering and older.order is None and newer.listed)
    if older.order is None:  # a delete without an ordering value; a second one changes nothing
        return not newer.listed
    for old, new in zip(older.order, newer.order, strict=True):
        if (old is None) != (new is None):
            raise RefusedError(
                f"{source.storage.root}: a null and a value of an ordering column have no defined "
                "order"
            )
        if old is not None and _java_order(old) != _java_order(new):
            return bool(_java_order(new) > _java_order(old))
    return True


def _java_order(value: Any) -> Any:
    """Floats as Java orders them: -0.0 before 0.0, NaN last."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value, math.copysign(1.0, value))
    return value


def _put_together(high: _Version, low: _Version, source: LogSource) -> _Version:
    """The higher version, its gaps filled from the lower one."""
    if high.row is None or low.row is None:
        return high
    rule = source.config.merge.fill_rule
    if rule is None and high.row.keys() >= low.row.keys():
        return high
    row = {**low.row, **high.row}
    if rule is not None:
        for name, value in high.row.items():
            gap = value is None if rule.mode == "ignore-defaults" else value == rule.marker
            if gap:
                row[name] = low.row.get(name)
    return _Version(row, high.order)


def _versions(
    block: LogBlock, source: LogSource, context: ReadContext
) -> Iterator[tuple[str, _Version]]:
    if block.kind == "delete":
        deletes = block.delete_keys()
        if source.config.virtual_keys:
            names = source.config.record_keys
            times = check_texts(names, source.schema, source.storage.root)
            check_times(deletes.record_key_array, names, times, block.where)
        for key, value, word in zip(
            deletes.record_keys, deletes.ordering_values, deletes.ordering_types, strict=True
        ):
            if key is None:
                raise InputError(f"{block.where}: a delete without a record key")
            yield key, _Version(None, _delete_order(value, word, source), listed=True)
        return
    rows = _rows_of(block, source, context)
    held = partial_columns(block)
    for row in rows:
        order = _order_of(row, source)
        if _is_delete(row, source):
            yield (
                _key_of(row, source),
                _Version(None, None if _is_default(order, source) else order),
            )
        else:
            own = row if held is None else {name: row[name] for name in row if name in held}
            yield _key_of(row, source), _Version(own, order)


def _key_of(row: Row, source: LogSource) -> str:
    """The text that names a record; without meta columns it is made of the key fields."""
    if not source.config.virtual_keys:
        if row[RECORD_KEY] is None:
            raise InputError(
                f"{source.storage.root}: a record without a key (column '{RECORD_KEY}' is null)"
            )
        return str(row[RECORD_KEY])
    names = source.config.record_keys
    fields = [leaf_field(source.schema, name) for name in names]
    texts = [_key_text(_leaf(row, field.name), field.type) for field in fields if field is not None]
    if all(text is None for text in texts):
        raise InputError(f"{source.storage.root}: a record without a key ({', '.join(names)})")
    if len(names) == 1:
        return str(texts[0])
    shown = ["__null__" if text is None else text or "__empty__" for text in texts]
    return ",".join(f"{name}:{text}" for name, text in zip(names, shown, strict=True))


def _key_text(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, float):
        return floating_text(value, kind)
    if isinstance(value, dt.datetime):
        epoch = dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return str((value - epoch) // dt.timedelta(microseconds=1))
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _is_delete(row: Row, source: LogSource) -> bool:
    if row.get(IS_DELETED) or row.get(OPERATION) in ("D", "-U"):
        return True
    marker = source.config.merge.delete_marker
    if marker is None or row.get(marker.column) is None:
        return False
    value = row[marker.column]
    return (str(value).lower() if isinstance(value, bool) else str(value)) == marker.text


def _rows_of(block: LogBlock, source: LogSource, context: ReadContext) -> Iterator[Row]:
    if file_names(source.timeline, source.window, block.instant) is not None:
        reader = RecordReader(source, context)
        for batch in reader.batches([block], source.schema):  # renamed columns come as columns
            yield from batch.to_pylist()
    elif block.kind == "parquet":
        yield from _parquet_rows(block, source)
    else:
        yield from _avro_rows(block, source)


def _avro_rows(block: LogBlock, source: LogSource) -> Iterator[Row]:
    convert = row_converter(_avro_columns(block, source), source.schema, block.where)
    for record in avro_records(block):
        yield convert(record.row)


def _parquet_rows(block: LogBlock, source: LogSource) -> Iterator[Row]:
    if len(block.content):
        try:
            file = open_parquet(pa.BufferReader(pa.py_buffer(block.content)), block.where)
            convert = row_converter(_columns(file), source.schema, block.where)
            for batch in file.iter_batches(batch_size=_FETCH_SIZE):
                yield from map(convert, batch.to_pylist())
        except PARQUET_ERRORS as error:
            raise InputError(f"{block.where} is not readable: {error}") from error


def _columns(file: pq.ParquetFile) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in file.schema_arrow}


def _avro_columns(block: LogBlock, source: LogSource) -> dict[str, pa.DataType]:
    """The types of a block's fields that are asked for; others may have no Arrow type."""
    writer = parse_schema(block.schema or "null")
    fields = zip(writer.names, writer.children, strict=True)
    wanted = set(source.schema.names)
    return {
        name: arrow_type(avro, f"{block.where}: field '{name}'")
        for name, avro in fields
        if name in wanted
    }


def _leaf(row: Row, name: str) -> Any:
    """The value of a field, which may lie inside structs."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = None if value is None else value.get(part)
    return value


def _order_of(row: Row, source: LogSource) -> tuple[Any, ...]:
    """The ordering values of a record; a null where Java has an `Integer` counts as 0."""
    values = []
    for field in source.ordering_types:
        value, kind = _leaf(row, field.name), field.type
        if value is None and is_java_integer(kind):
            value = pa.scalar(0, pa.int32()).cast(kind).as_py()
        values.append(value)
    return tuple(values)


def _is_default(order: tuple[Any, ...], source: LogSource) -> bool:
    """Whether these are the integer 0, which in a delete stands for no ordering value."""
    if not source.config.merge.ordered_deletes:
        return True
    if len(order) != 1 or order == (None,):
        return order == (None,)
    kind = source.ordering_types.field(0).type
    return is_java_integer(kind) and order == (pa.scalar(0, pa.int32()).cast(kind).as_py(),)


def _delete_order(value: Any, word: str, source: LogSource) -> tuple[Any, ...] | None:
    """The ordering value of a delete, or None: absent, integer 0, or not of the column's type."""
    if not source.ordering or word == "null" or (word == "int" and value == 0):
        return None
    if not source.config.merge.ordered_deletes:
        return None
    items = value if word == "array" else ((word, value),)
    if items is None or (word == "array") != (len(source.ordering) > 1):
        return None
    if len(items) != len(source.ordering):
        raise InputError(f"{source.storage.root}: a delete has {len(items)} ordering values")
    order = []
    for column, (kind, plain) in zip(source.ordering_types.types, items, strict=True):
        if kind != "null" and kind not in ordering_words(column):
            return None
        order.append(None if plain is None else _of_column(plain, column))
    return tuple(order)


def _of_column(value: Any, kind: pa.DataType) -> Any:
    """An ordering value as rows of the base have it: points in time come in microseconds."""
    if pa.types.is_timestamp(kind):
        if kind.unit == "ms" and value <= 9_999_999_999_999:
            value *= 1000
        return pa.scalar(value, pa.timestamp("us", kind.tz)).cast(kind).as_py()
    if pa.types.is_date32(kind) or pa.types.is_time(kind):
        return (
            pa.scalar(value, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind).as_py()
        )
    return value


#: Ways to read units that plans may name; see `seamkit.ranges.words`.
WORDS = (read_unit,)

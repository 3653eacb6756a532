"""The connector path: one row at a time, as connectors behind a language border work.

It is the executable description of the seam. Records are Python values, the merge is a dictionary,
and each value goes through a `ColumnValue` into an off-heap table that is then filled into engine
columns. It shares the planning and the block order with the merge path, and none of the decoding,
merging or assembling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.errors import InputError, RefusedError
from seambench.seams import ScanWarning
from seambench_impl.avro import arrow_type, parse_schema
from seambench_impl.columns.types import from_arrow
from seambench_impl.connector.rows import RowScanner
from seambench_impl.connector.scanner import stream
from seambench_impl.merge import batch_of
from seambench_impl.scan.plain_values import row_converter
from seambench_impl.tables.hudi.delete_events import ordering_word
from seambench_impl.tables.hudi.events import (
    IS_DELETED,
    OPERATION,
    RECORD_KEY,
    LogView,
    read_ordered_blocks,
    refuse_custom_merge,
)
from seambench_impl.tables.hudi.log import LogBlock
from seambench_impl.tables.hudi.log_records import avro_records
from seambench_impl.tables.hudi.slices import FileSlice

__all__ = ["connector_slice", "merged_rows"]

_FETCH_SIZE = 4096
Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Version:
    """The latest version of a record in the logs; `row` None is a delete.

    `order` None is a delete without an ordering value: it beats what came before it.
    """

    row: Row | None
    order: tuple[Any, ...] | None


def connector_slice(
    slice_: FileSlice,
    view: LogView,
    names: Sequence[str],
    batch_rows: int,
    warnings: list[ScanWarning],
) -> Iterator[pa.RecordBatch]:
    """The merged rows of one slice, through off-heap tables.

    Takes the arguments of `merge_path.merge_slice` and yields the same rows, in batches of at most
    4096 rows.
    """
    schema = pa.schema([view.schema.field(name) for name in names])
    if not names:  # a count: there is no value to carry
        count = sum(1 for _ in merged_rows(slice_, view, warnings))
        yield batch_of([], schema, count)
        return
    tuples = (tuple(row.get(name) for name in names) for row in merged_rows(slice_, view, warnings))
    types = [from_arrow(field.type) for field in schema]
    scanner = RowScanner(
        names, types, tuples, min(_FETCH_SIZE, batch_rows), allocator=view.allocator
    )
    yield from stream(scanner, schema)


def merged_rows(slice_: FileSlice, view: LogView, warnings: list[ScanWarning]) -> Iterator[Row]:
    """Base rows as the logs leave them, then rows that only the logs have.

    Raises:
        seambench.errors.InputError: a file is missing or broken.
        seambench.errors.RefusedError: records that are merged in a way that is not supported.
    """
    newest = _read_logs(slice_, view, warnings) if slice_.logs else {}
    for row in _base_rows(slice_, view):
        version = newest.pop(row[RECORD_KEY], None)  # the first row of a doubled key uses it up
        if version is None or not _replaces(version, _order_of(row, view), view):
            yield row
        elif version.row is not None:
            yield version.row
    for version in newest.values():
        if version.row is not None:
            yield version.row


def _base_rows(slice_: FileSlice, view: LogView) -> Iterator[Row]:
    if slice_.base is None:
        return
    name = view.storage.full(slice_.base.path)
    try:
        file = pq.ParquetFile(view.storage.open(slice_.base.path))
        present = [n for n in view.schema.names if n in file.schema_arrow.names]
        convert = row_converter(_columns(file), view.schema, name)
        for batch in file.iter_batches(batch_size=_FETCH_SIZE, columns=present):
            yield from map(convert, batch.to_pylist())
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{name}: not readable as Parquet ({error})") from error


def _read_logs(
    slice_: FileSlice, view: LogView, warnings: list[ScanWarning]
) -> dict[str, _Version]:
    """The newest version of every record key, folded in scan order."""
    refuse_custom_merge(slice_, view)
    newest: dict[str, _Version] = {}
    for block in read_ordered_blocks(slice_, view, warnings):
        if block.is_partial:
            raise RefusedError(f"{block.where}: partial updates are not supported yet")
        for key, version in _versions(block, view):
            older = newest.get(key)
            if older is None or _fold(older, version, view):
                newest[key] = version
    return newest


def _fold(older: _Version, newer: _Version, view: LogView) -> bool:
    """Whether `newer` takes the place of `older` among the log records."""
    if not view.ordering:
        return True
    if older.order is None:  # a delete without an ordering value; a second one changes nothing
        return newer.row is not None
    return newer.order is None or newer.order >= older.order


def _replaces(version: _Version, base_order: tuple[Any, ...], view: LogView) -> bool:
    """Whether the newest log version takes the place of the base row."""
    return not view.ordering or version.order is None or version.order >= base_order


def _versions(block: LogBlock, view: LogView) -> Iterator[tuple[str, _Version]]:
    if block.kind == "delete":
        deletes = block.delete_keys()
        for key, value, word in zip(
            deletes.record_keys, deletes.ordering_values, deletes.ordering_types, strict=True
        ):
            if key is None:
                raise InputError(f"{block.where}: a delete without a record key")
            yield key, _Version(None, _delete_order(value, word, view))
        return
    rows = _parquet_rows(block, view) if block.kind == "parquet" else _avro_rows(block, view)
    for row in rows:
        order = _order_of(row, view)
        if row.get(IS_DELETED) or row.get(OPERATION) in ("D", "-U"):
            integer = len(order) == 1 and pa.types.is_int32(
                view.schema.field(view.ordering[0]).type
            )
            yield row[RECORD_KEY], _Version(None, None if integer and order == (0,) else order)
        else:
            yield row[RECORD_KEY], _Version(row, order)


def _avro_rows(block: LogBlock, view: LogView) -> Iterator[Row]:
    convert = row_converter(_avro_columns(block, view), view.schema, block.where)
    for record in avro_records(block):
        yield convert(record.row)


def _parquet_rows(block: LogBlock, view: LogView) -> Iterator[Row]:
    if len(block.content):
        try:
            file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(block.content)))
            convert = row_converter(_columns(file), view.schema, block.where)
            for batch in file.iter_batches(batch_size=_FETCH_SIZE):
                yield from map(convert, batch.to_pylist())
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{block.where} is not readable: {error}") from error


def _columns(file: pq.ParquetFile) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in file.schema_arrow}


def _avro_columns(block: LogBlock, view: LogView) -> dict[str, pa.DataType]:
    """The types of a block's fields that are asked for; others may have no Arrow type."""
    writer = parse_schema(block.schema or "null")
    fields = zip(writer.names, writer.children, strict=True)
    wanted = set(view.schema.names)
    return {
        name: arrow_type(avro, f"{block.where}: field '{name}'")
        for name, avro in fields
        if name in wanted
    }


def _order_of(row: Row, view: LogView) -> tuple[Any, ...]:
    """The ordering values of a record; a null integer counts as 0."""
    values = []
    for name in view.ordering:
        value = row.get(name)
        if value is None:
            if not pa.types.is_int32(view.schema.field(name).type):
                raise RefusedError(
                    f"{view.storage.root}: a null in the ordering column '{name}' has no defined "
                    "place in the order"
                )
            value = 0
        values.append(value)
    return tuple(values)


def _is_default(order: tuple[Any, ...], view: LogView) -> bool:
    """Whether these are the integer 0, which in a delete stands for no ordering value."""
    return order == (0,) and bool(pa.types.is_int32(view.schema.field(view.ordering[0]).type))


def _delete_order(value: Any, word: str, view: LogView) -> tuple[Any, ...] | None:
    """The ordering value of a delete, or None: absent, integer 0, or not of the column's type."""
    if not view.ordering or word == "null" or (word == "int" and value == 0):
        return None
    if len(view.ordering) > 1:
        raise RefusedError(f"{view.storage.root}: deletes with several ordering values")
    kind = view.schema.field(view.ordering[0]).type
    if word != ordering_word(kind):
        return None
    return (pa.scalar(value, _integer_of(kind)).cast(kind).as_py(),)


def _integer_of(kind: pa.DataType) -> pa.DataType:
    """What a date or a timestamp is written as."""
    if pa.types.is_date32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else kind

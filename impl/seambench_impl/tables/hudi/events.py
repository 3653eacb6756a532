"""From the logs of a slice to merge events: data rows, deletes, and what orders them.

The order of blocks is `log_order`'s; here each block's records become rows of one batch, keys and
ordering values become typed columns, and deletes join them. Rules: docs/hudi.md, "Merge".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambench.errors import InputError, RefusedError
from seambench.seams import ScanWarning
from seambench_impl._seam import lib
from seambench_impl.arrow_c import ExportedBatch
from seambench_impl.avro import AvroDecoder
from seambench_impl.held_rows import HeldRows, concat_batches
from seambench_impl.memory import TrackedAllocator
from seambench_impl.merge import LogIndex, batch_of
from seambench_impl.scan.resolve import resolve_batch
from seambench_impl.tables.hudi.delete_events import delete_keys, delete_ordering
from seambench_impl.tables.hudi.gaps import FilledLog, Presence, fill_gaps
from seambench_impl.tables.hudi.log import LogBlock, read_blocks
from seambench_impl.tables.hudi.log_order import order_blocks
from seambench_impl.tables.hudi.merge_rules import FillRule
from seambench_impl.tables.hudi.properties import TableConfig
from seambench_impl.tables.hudi.row_events import (
    default_deletes,
    deleted_rows,
    is_java_integer,
    ordering_columns,
)
from seambench_impl.tables.hudi.slices import FileSlice
from seambench_impl.tables.hudi.timeline import Timeline
from seambench_impl.tables.hudi.window import Window
from seambench_impl.tables.storage import Storage

__all__ = [
    "RECORD_KEY",
    "LogView",
    "SliceLog",
    "key_field",
    "partial_columns",
    "read_ordered_blocks",
    "read_slice_log",
    "refuse_merge",
]

RECORD_KEY = "_hoodie_record_key"

_LEAST_PIECE_BYTES = 64 * 1024
_SUPPORTED_KINDS = ("avro", "parquet", "delete")


@dataclass(frozen=True)
class LogView:
    """What a read needs to know to make sense of any slice's logs.

    Attributes:
        storage: the table's folder.
        config: its properties.
        timeline: its instants.
        schema: the columns to read: those wanted, and those that `key_columns` and the ordering
            need.
        window: which instants count.
        strict: refuse damage that Hudi's own reader skips.
        allocator: where decoded rows live.
        held_bytes: what the rows of one slice's logs may take in memory while they are collected;
            the others wait on local disk. None for no bound.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    schema: pa.Schema
    window: Window
    strict: bool
    allocator: TrackedAllocator
    held_bytes: int | None = None

    @property
    def ordering(self) -> tuple[str, ...]:
        """The ordering columns, or none under commit-time ordering."""
        return self.config.ordering_fields if self.config.merge.mode == "event-time" else ()

    def valid_block(self, instant: str) -> bool:
        """Whether a data or delete block counts. From version 8 on the file name decides."""
        if not self.window.sees(instant):
            return False
        return self.config.version >= 8 or self.timeline.is_committed(instant)


@dataclass
class SliceLog:
    """The folded logs of a slice.

    Attributes:
        data: the log's rows with the view's schema; `index` refers to them.
        exported: the same as C structures.
        index: the folded events.
        keys: columns of the base that make up its key, in the order of the index's.
        ordering: columns of the base to be compared; empty if none need be.
        least: the smallest ordering value of any event, if that is one whole number.
        kind: the type it is of.
        filled: the rows with their gaps filled, if versions of a record are put together.
    """

    data: pa.RecordBatch
    exported: ExportedBatch
    index: LogIndex
    keys: tuple[str, ...]
    ordering: tuple[str, ...]
    least: int | None
    kind: pa.DataType | None
    filled: FilledLog | None = None

    def outranks(self, greatest: Callable[[str, pa.DataType], int | None]) -> bool:
        """Whether no base row can win against an event, so that its ordering need not be read.

        Args:
            greatest: the largest value of a base column in a type, or None if that is not known.
        """
        if self.least is None or self.kind is None:
            return False
        most = greatest(self.ordering[0], self.kind)
        if most is not None and is_java_integer(self.kind):  # where a null is a 0
            most = max(most, 0)
        return most is not None and most <= self.least


@dataclass
class _Events:
    """Events in scan order, piece by piece."""

    data: HeldRows
    keys: list[pa.RecordBatch] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    ordering: list[pa.RecordBatch] = field(default_factory=list)
    flags: list[np.ndarray] = field(default_factory=list)
    columns: list[frozenset[str] | None] = field(default_factory=list)  # None: the block has all
    data_rows: list[int] = field(default_factory=list)


def read_ordered_blocks(
    slice_: FileSlice, view: LogView, warnings: list[ScanWarning]
) -> list[LogBlock]:
    """The data and delete blocks of a slice that count, in the order in which they apply.

    Raises:
        InputError: a file is missing or broken beyond what Hudi's reader tolerates.
        RefusedError: a block of a kind that is not supported.
    """
    blocks: list[LogBlock] = []
    for log in slice_.logs:
        name = view.storage.full(log.path)
        content = memoryview(view.storage.map(log.path))
        blocks += read_blocks(content, file=name, warnings=warnings, strict=view.strict)
    return order_blocks(blocks, view.valid_block)


def read_slice_log(
    slice_: FileSlice, view: LogView, names: Sequence[str], warnings: list[ScanWarning]
) -> SliceLog:
    """Decode, order and fold the logs of one slice.

    Args:
        slice_: the slice; it has logs.
        view: how to read them.
        names: the columns that will be handed out; the result's data has just these.
        warnings: receives what was skipped.
    """
    refuse_merge(slice_, view)
    blocks = read_ordered_blocks(slice_, view, warnings)
    key_names = _key_columns(blocks, view)
    schema = _decoded_schema(view, key_names, names)
    handed_out = pa.schema([view.schema.field(name) for name in names])
    events = _Events(HeldRows(handed_out, view.held_bytes))
    for run in _runs(blocks):
        if run[0].kind == "delete":
            _add_deletes(events, run[0], key_names, view)
        else:
            held = partial_columns(run[0])
            for batch in _decode(run, view, schema):
                _add_rows(events, batch, key_names, names, view, run[0].file)
                events.columns.append(held)
    return _fold(events, key_names, names, view, f"{view.storage.root}: {slice_.file_id}")


def refuse_merge(slice_: FileSlice, view: LogView) -> None:
    """Slices with logs cannot be read where code of the user's merges records.

    Nor where the column that marks deletes is missing.
    """
    marker = view.config.merge.delete_marker
    if slice_.logs and marker is not None and view.schema.get_field_index(marker.column) < 0:
        raise RefusedError(
            f"{view.storage.root}: deletes are marked by the column '{marker.column}', which the "
            "table has not"
        )
    if view.config.merge.mode == "custom" and slice_.logs:
        payload = view.config.raw.get("hoodie.compaction.payload.class", "a custom merger")
        raise RefusedError(
            f"{view.storage.root}: file group {slice_.file_id} has logs, and records are merged "
            f"by {payload}, which is not supported"
        )


def _key_columns(blocks: Sequence[LogBlock], view: LogView) -> tuple[str, ...]:
    """Typed key columns if they tell records apart as the key's text does, else the text.

    A delete block has the text alone; it can be read back into integers.
    """
    names = view.config.record_keys
    partial = any(block.is_partial for block in blocks)  # those leave the key columns out
    if partial or any(view.schema.get_field_index(name) < 0 for name in names):
        return (RECORD_KEY,)
    kinds = [view.schema.field(name).type for name in names]
    tests = [pa.types.is_integer]
    if not any(block.kind == "delete" for block in blocks):
        tests += [pa.types.is_string, pa.types.is_date]
    typed = all(any(test(kind) for test in tests) for kind in kinds)
    return names if typed and names else (RECORD_KEY,)


def _runs(blocks: Sequence[LogBlock]) -> list[list[LogBlock]]:
    """Neighbouring Avro blocks of one writer schema are decoded into one batch."""
    runs: list[list[LogBlock]] = []
    for block in blocks:
        if block.kind not in _SUPPORTED_KINDS:
            raise RefusedError(
                f"{block.where}: log blocks of kind '{block.kind}' are not supported"
            )
        last = runs[-1][0] if runs else None
        if (
            last is not None
            and block.kind == "avro" == last.kind
            and (block.schema, block.is_partial) == (last.schema, last.is_partial)
        ):
            runs[-1].append(block)
        else:
            runs.append([block])
    return runs


def _decoded_schema(view: LogView, key_names: Sequence[str], names: Sequence[str]) -> pa.Schema:
    """The view's columns, without the key's text where typed columns stand for it."""
    spared = {RECORD_KEY}.difference(key_names, names)
    return pa.schema([field for field in view.schema if field.name not in spared])


def _decode(run: Sequence[LogBlock], view: LogView, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a run: in one batch, or piece by piece where memory is bounded."""
    first = run[0]
    if first.kind == "parquet":
        yield _decode_parquet(first, schema)
        return
    assert first.schema is not None  # read_blocks refuses an Avro block without one
    decoder = AvroDecoder(first.schema, schema, view.allocator, source=first.file)
    if view.held_bytes is None:
        for block in run:
            decoder.decode(block.content, source=block.where)
        yield decoder.finish()
        return
    for block in run:
        piece_bytes = max(view.held_bytes // 8, _LEAST_PIECE_BYTES)
        yield from decoder.decode_in_pieces(block.content, piece_bytes, source=block.where)


def _decode_parquet(block: LogBlock, schema: pa.Schema) -> pa.RecordBatch:
    if len(block.content) == 0:  # Hudi writes nothing at all for no records
        return _empty(schema)
    where = block.where
    try:
        file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(block.content)))
        present = [n for n in schema.names if n in file.schema_arrow.names]
        table = file.read(columns=present, use_threads=False).combine_chunks()
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{where} is not readable: {error}") from error
    batches = table.to_batches()
    return resolve_batch(batches[0], schema, where) if batches else _empty(schema)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return batch_of([pa.array([], field.type) for field in schema], schema, 0)


def _add_rows(
    events: _Events,
    batch: pa.RecordBatch,
    key_names: Sequence[str],
    names: Sequence[str],
    view: LogView,
    source: str,
) -> None:
    n = batch.num_rows
    begin = events.data.num_rows
    if begin + n > np.iinfo(np.int32).max:
        raise RefusedError(f"{source}: the logs of one slice have more than 2^31 rows")
    rows = np.arange(begin, begin + n, dtype=np.int32)
    deleted = deleted_rows(batch, view.config.merge.delete_marker, source)
    if deleted is not None:
        rows[deleted] = -1
    keys = batch.select(list(key_names))
    for name, column in zip(key_names, keys.columns, strict=True):
        if column.null_count:
            raise InputError(f"{source}: a record without a key (column '{name}' is null)")
    events.keys.append(keys)
    events.rows.append(rows)
    events.data.add(batch.select(list(names)))
    events.data_rows.append(n)
    if view.ordering:
        events.ordering.append(ordering_columns(batch, view.ordering))
        flags = default_deletes(events.ordering[-1], rows)
        if not view.config.merge.ordered_deletes:
            flags[rows < 0] = lib.SEAM_EVENT_DEFAULT
        events.flags.append(flags)


def _add_deletes(events: _Events, block: LogBlock, key_names: Sequence[str], view: LogView) -> None:
    deletes = block.delete_keys(view.allocator)
    fields = [key_field(name, view) for name in key_names]
    events.keys.append(delete_keys(deletes, fields, block.where))
    events.rows.append(np.full(len(deletes), -1, dtype=np.int32))
    if view.ordering:
        columns = [view.schema.field(name) for name in view.ordering]
        ordering, unordered = delete_ordering(deletes, columns, block.where)
        if not view.config.merge.ordered_deletes:
            unordered[:] = 1
        events.ordering.append(ordering)
        events.flags.append(unordered * lib.SEAM_EVENT_DEFAULT | lib.SEAM_EVENT_LISTED)


def _fold(
    events: _Events, key_names: tuple[str, ...], names: Sequence[str], view: LogView, source: str
) -> SliceLog:
    data = events.data.take_out()
    key_schema = pa.schema([key_field(name, view) for name in key_names])
    rows = np.concatenate([*events.rows, np.empty(0, dtype=np.int32)])
    ordering = flags = None
    if view.ordering:
        kinds = pa.schema([pa.field(n, view.schema.field(n).type) for n in view.ordering])
        ordering = concat_batches(events.ordering, kinds)
        flags = np.concatenate([*events.flags, np.empty(0, dtype=np.uint8)])
    partial = any(columns is not None for columns in events.columns)
    filling = partial or view.config.merge.fill_rule is not None
    keys = concat_batches(events.keys, key_schema)
    events.keys.clear()  # two copies of all keys may be more than there is memory for
    index = LogIndex(
        keys,
        rows,
        ordering,
        flags,
        view.allocator,
        filling_rows=data.num_rows if filling else 0,
        source=source,
    )
    filled = None
    if filling and data.num_rows:
        rule = None if partial else view.config.merge.fill_rule
        presence = [_presence(name, data, events, rule) for name in names]
        filled = fill_gaps(data, presence, index.below(), rule)
        data = filled.data
    least, kind = _least(ordering, flags)
    exported = ExportedBatch(data)
    return SliceLog(data, exported, index, key_names, view.ordering, least, kind, filled)


def _least(
    ordering: pa.RecordBatch | None, flags: np.ndarray | None
) -> tuple[int | None, pa.DataType | None]:
    """The smallest of ordering values that are whole numbers or times, and their type.

    A tie goes to the log, and so does a delete without a value.
    """
    if ordering is None or ordering.num_columns != 1 or not ordering.num_rows:
        return None, None
    column = ordering.column(0)
    whole = pa.types.is_signed_integer(column.type) or pa.types.is_temporal(column.type)
    if not whole or column.type.bit_width not in (32, 64):
        return None, None
    words = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    counted = (
        words if flags is None else words.filter(pa.array(flags & lib.SEAM_EVENT_DEFAULT == 0))
    )
    if counted.null_count:
        return None, None
    least = pc.min(counted).as_py()
    return (np.iinfo(np.int64).max if least is None else least), column.type


def _presence(name: str, data: pa.RecordBatch, events: _Events, rule: FillRule | None) -> Presence:
    """Which values of a column count: by the table's rule, or else by what each block holds."""
    if rule is not None:
        return rule.present(data.column(name))
    held = [columns is None or name in columns for columns in events.columns]
    if all(held):
        return None
    return np.repeat(held, events.data_rows)


def partial_columns(block: LogBlock) -> frozenset[str] | None:
    """The columns that a block of partial updates holds; None for a block of whole rows.

    Raises:
        InputError: its schema is broken.
    """
    if not block.is_partial:
        return None
    try:
        return frozenset(f["name"] for f in json.loads(block.schema or "")["fields"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{block.where}: the schema is not an Avro record") from error


def key_field(name: str, view: LogView) -> pa.Field:
    """A column as base and log are read with; the key's text need not be in the view's schema."""
    return pa.field(name, pa.string() if name == RECORD_KEY else view.schema.field(name).type)

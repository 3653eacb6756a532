"""From the logs of a slice to merge events: data rows, deletes, and what orders them.

The order of blocks is `log_order`'s; here each block's records become rows of one batch, keys and
ordering values become typed columns, and deletes join them. Rules: docs/hudi.md, "Merge".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seamkit.core._seam import lib
from seamkit.core.arrow_data import ExportedBatch, array_of, batch_of, numbers
from seamkit.core.held_rows import HeldRows, concat_batches
from seamkit.files.roaring import Positions
from seamkit.scan.merging.log_index import LogIndex
from seamkit.tables.hudi.config.merge_rules import FillRule
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.log.positions import usable_positions
from seamkit.tables.hudi.merge.delete_events import delete_ordering
from seamkit.tables.hudi.merge.gaps import Presence, fill_gaps
from seamkit.tables.hudi.merge.keys import RECORD_KEY, SliceKeys, choose_keys
from seamkit.tables.hudi.merge.log_rows import WantedRecords, decode_run
from seamkit.tables.hudi.merge.row_events import (
    default_deletes,
    deleted_rows,
    ordering_columns,
    root_of,
)
from seamkit.tables.hudi.merge.slice_log import SliceLog
from seamkit.tables.hudi.merge.view import (
    LogView,
    partial_columns,
    read_ordered_blocks,
    refuse_merge,
    with_operation,
)

__all__ = ["read_columns", "read_slice_log"]


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


def read_slice_log(
    slice_: FileSlice, view: LogView, names: Sequence[str], warnings: list[ScanWarning]
) -> SliceLog | Positions:
    """Decode, order and fold the logs of one slice.

    What they come to may be positions of rows of the base file alone, which are gone.

    Args:
        slice_: the slice; it has logs.
        view: how to read them.
        names: the columns that will be handed out; the result's data has just these.
        warnings: receives what was skipped.
    """
    refuse_merge(slice_, view)
    blocks = read_ordered_blocks(slice_, view, warnings)
    view = with_operation(view, blocks)
    keys, positions = _keys_of(slice_, blocks, view)
    schema = _decoded_schema(view, keys, names)
    partial = any(block.is_partial for block in blocks)
    # A record that fills gaps looks for those below it.
    wanted = WantedRecords(None if partial or keys.by_position else view.key_test, view)
    handed_out = pa.schema([view.schema.field(name) for name in names])
    events = _Events(HeldRows(handed_out, view.held_bytes))
    for run in _runs(blocks, view):
        own = _of_run(positions, run)
        if run[0].kind == "delete":
            _add_deletes(events, run[0], keys, own, view)
            continue
        held, rows = partial_columns(run[0]), 0
        for batch in decode_run(run, view, schema, wanted):
            piece = None if own is None else own[rows : rows + batch.num_rows]
            _add_rows(events, batch, _row_keys(keys, batch, piece, run[0].where), names, view)
            events.columns.append(held)
            rows += batch.num_rows
        _check_all_used(own, rows, run[0].where)
    if keys.by_position and _only_remove(events, view):
        return np.unique(np.concatenate([_positions_of(columns) for columns in events.keys]))
    folded = _fold(events, keys, names, view, f"{view.storage.root}: {slice_.file_id}")
    return replace(folded, whole=not wanted.left_out)


def read_columns(slice_: FileSlice, view: LogView, warnings: list[ScanWarning]) -> pa.RecordBatch:
    """The view's columns of all data records of a slice, in the order of `read_slice_log`.

    Args:
        slice_: the slice, whose records are whole rows.
        view: how to read its logs; all records are wanted.
        warnings: receives what was skipped.
    """
    rows = HeldRows(view.schema, view.held_bytes)
    for run in _runs(read_ordered_blocks(slice_, view, warnings), view):
        if run[0].kind != "delete":
            for batch in decode_run(run, view, view.schema):
                rows.add(batch)
    return rows.take_out(threads=view.threads)


def _only_remove(events: _Events, view: LogView) -> bool:
    """Whether all events are deletes that win against any row of the base."""
    if not events.keys or any((rows >= 0).any() for rows in events.rows):
        return False
    return not view.ordering or all((f & lib.SEAM_EVENT_UNORDERED).all() for f in events.flags)


def _positions_of(keys: pa.RecordBatch) -> Positions:
    return numbers(keys.column(0))


def _keys_of(
    slice_: FileSlice, blocks: Sequence[LogBlock], view: LogView
) -> tuple[SliceKeys, dict[int, Positions] | None]:
    """What tells records apart; and positions by the number of the block, if they do."""
    if view.positions and slice_.base is not None:
        found = usable_positions(blocks, slice_.base.instant)
        if found is not None:
            by_block = {id(block): own for block, own in zip(blocks, found, strict=True)}
            return SliceKeys.by_row(), by_block
    keys = choose_keys(
        view.config,
        view.schema,
        view.storage.root,
        with_deletes=any(block.kind == "delete" for block in blocks),
        partial=any(block.is_partial for block in blocks),
    )
    return keys, None


def _of_run(positions: dict[int, Positions] | None, run: Sequence[LogBlock]) -> Positions | None:
    return None if positions is None else np.concatenate([positions[id(block)] for block in run])


def _row_keys(
    keys: SliceKeys, batch: pa.RecordBatch, positions: Positions | None, where: str
) -> pa.RecordBatch:
    if positions is None:
        return keys.of_rows(batch, where)
    if len(positions) != batch.num_rows:
        raise InputError(f"{where}: there are fewer record positions than records")
    return keys.of_positions(positions)


def _check_all_used(positions: Positions | None, rows: int, where: str) -> None:
    if positions is not None and len(positions) != rows:
        raise InputError(f"{where}: there are {len(positions)} record positions, {rows} records")


def _runs(blocks: Sequence[LogBlock], view: LogView) -> list[list[LogBlock]]:
    """Neighbouring Avro blocks of one writer schema are decoded into one batch."""
    renamed = view.timeline.schema_history is not None  # then the same names may be other columns
    runs: list[list[LogBlock]] = []
    for block in blocks:
        last = runs[-1][0] if runs else None
        if (
            last is not None
            and block.kind == "avro" == last.kind
            and (block.schema, block.is_partial) == (last.schema, last.is_partial)
            and (not renamed or block.instant == last.instant)
        ):
            runs[-1].append(block)
        else:
            runs.append([block])
    return runs


def _decoded_schema(view: LogView, keys: SliceKeys, names: Sequence[str]) -> pa.Schema:
    """The view's columns, without the key's text where something else stands for it."""
    spared = {RECORD_KEY}.difference(keys.roots, names)
    return pa.schema([field for field in view.schema if field.name not in spared])


def _add_rows(
    events: _Events,
    batch: pa.RecordBatch,
    keys: pa.RecordBatch,
    names: Sequence[str],
    view: LogView,
) -> None:
    n = batch.num_rows
    begin = events.data.num_rows
    if begin + n > np.iinfo(np.int32).max:
        raise RefusedError(f"{view.storage.root}: the logs of one slice have more than 2^31 rows")
    rows = np.arange(begin, begin + n, dtype=np.int32)
    deleted = deleted_rows(batch, view.config.merge.delete_marker, view.storage.root)
    if deleted is not None:
        rows[deleted] = -1
    ordering = ordering_columns(batch, view.ordering)
    if view.held_bytes is not None:
        keys, ordering = _copy(keys), _copy(ordering)
    events.keys.append(keys)
    events.rows.append(rows)
    events.data.add(batch.select(list(names)))
    events.data_rows.append(n)
    if view.ordering:
        events.ordering.append(ordering)
        flags = default_deletes(events.ordering[-1], rows)
        if not view.config.merge.ordered_deletes:
            flags[rows < 0] = lib.SEAM_EVENT_UNORDERED
        events.flags.append(flags)


def _copy(columns: pa.RecordBatch) -> pa.RecordBatch:
    """The same values on their own: one column of a decoded batch keeps all others in memory."""
    copies = [pa.concat_arrays([column]) for column in columns.columns]
    return batch_of(copies, columns.schema, columns.num_rows)


def _add_deletes(
    events: _Events,
    block: LogBlock,
    keys: SliceKeys,
    positions: Positions | None,
    view: LogView,
) -> None:
    deletes = block.delete_keys(view.allocator)
    _check_all_used(positions, len(deletes), block.where)
    if positions is None:
        events.keys.append(keys.of_deletes(deletes, block.where))
    else:
        events.keys.append(keys.of_positions(positions))
    events.rows.append(np.full(len(deletes), -1, dtype=np.int32))
    if view.ordering:
        ordering, unordered = delete_ordering(deletes, list(view.ordering_types), block.where)
        if not view.config.merge.ordered_deletes:
            unordered[:] = 1
        events.ordering.append(ordering)
        events.flags.append(unordered * lib.SEAM_EVENT_UNORDERED | lib.SEAM_EVENT_YIELDING)


def _fold(
    events: _Events, keys: SliceKeys, names: Sequence[str], view: LogView, source: str
) -> SliceLog:
    data = events.data.take_out(threads=view.threads)
    rows = np.concatenate([*events.rows, np.empty(0, dtype=np.int32)])
    ordering = flags = None
    if events.ordering:
        ordering = concat_batches(events.ordering, view.ordering_types)
        flags = np.concatenate([*events.flags, np.empty(0, dtype=np.uint8)])
    partial = any(columns is not None for columns in events.columns)
    filling = partial or view.config.merge.fill_rule is not None
    key_columns = concat_batches(events.keys, keys.schema)
    events.keys.clear()  # two copies of all keys may be more than there is memory for
    index = LogIndex(
        key_columns,
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
    fields = () if ordering is None else view.ordering
    roots = tuple(root_of(name, view.schema.names) for name in fields)
    return SliceLog(data, exported, index, keys, fields, roots, least, kind, source, filled)


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
        words if flags is None else words.filter(array_of(flags & lib.SEAM_EVENT_UNORDERED == 0))
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

"""The logs of a slice folded into merge events, which the rows of its base file meet.

Each block's records become rows of one batch, keys and ordering values become typed columns, and
deletes join them; the core folds them by key. Where versions hold some columns only, their gaps are
filled: a value of a row counts or leaves a gap, because its block lacks the column, or because the
table says that such a value changes nothing; a gap is filled by the version below, at last by the
base row. The core says what lies below each row (`seam/merge.h`). Rules: docs/merge.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.border import (
    ExportedBatch,
    HeldRows,
    array_of,
    batch_of,
    concat_batches,
    numpy_of,
)
from seamkit.core.memory import TrackedAllocator
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.scan.core_merges import (
    KEEP,
    REMOVE,
    UNORDERED,
    YIELDING,
    LogIndex,
    RowNumbers,
    assemble,
)
from seamkit.scan.units import LoadedEvents, ReadContext
from seamkit.tables.hudi.config.properties import FillRule
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.listing.log_blocks import read_ordered_blocks
from seamkit.tables.hudi.log.deletes import DeleteKeys
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.merge.keys import (
    RECORD_KEY,
    LogSource,
    NullKeyFieldError,
    SliceKeys,
    choose_keys,
    partial_columns,
    refuse_merge,
    root_of,
    usable_positions,
)
from seamkit.tables.hudi.merge.records import (
    RecordReader,
    delete_ordering,
    deleted_rows,
    is_default,
    ordering_columns,
)

# A log is not compressed, and is decoded faster than as many bytes of a Parquet file.
_MOST_TIMES_BASE = 4


@dataclass(frozen=True)
class SliceChanges:
    """The logs of one slice: `seamkit.scan.units.Keyed`."""

    slice_: FileSlice  # base file, logs, or both
    source: LogSource  # what it shares with the others

    @property
    def key_columns(self) -> frozenset[str]:
        """The record key, which never changes, and fields that it tells.

        By position the rows of a base file must all be there, and records that fill gaps look for
        those they fill.
        """
        config = self.source.config
        if self.source.positions or config.merge.fill_rule is not None:
            return frozenset()
        return frozenset((RECORD_KEY, *self.source.told_by_keys))

    def identity(self) -> Hashable | None:
        """The table's state, and the slice's files as they are now; see `Keyed.identity`."""
        base = self.slice_.base
        if self.source.identity is None or (base is not None and base.external is not None):
            return None
        paths = [log.path for log in self.slice_.logs] + ([base.path] if base is not None else [])
        files = tuple(map(self.source.storage.file_identity, paths))
        return None if None in files else (self.source.identity, self.slice_.file_id, files)

    def load(self, names: Sequence[str], context: ReadContext) -> LoadedEvents | Positions:
        """Decode, order and fold the logs; see `Keyed.load`.

        By several threads only where logs are most of the slice: to cut them into pieces and to put
        these together takes time, too, and the base file is read meanwhile.
        """
        base = self.slice_.base
        log_bytes = sum(log.size_bytes for log in self.slice_.logs)
        if base is not None and log_bytes < _MOST_TIMES_BASE * base.size_bytes:
            context = replace(context, threads=1)
        if not self.key_columns:
            context = replace(context, condition=None)
        return read_slice_log(self.slice_, self.source.reading(names), names, context)

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """Decode some columns of all records; see `Keyed.further`."""
        source, context = self.source, replace(context, threads=1, condition=None)
        schema = pa.schema([source.schema.field(name) for name in names])
        blocks = read_ordered_blocks(self.slice_, source, context.warnings)
        reader = RecordReader(source, context)
        rows = HeldRows(schema, context.held_bytes)
        for alike in _neighbours(blocks, source):
            if alike[0].kind != "delete":
                for batch in reader.batches(alike, schema):
                    rows.add(batch)
        return rows.take_out()


class _Collected:
    """Events in scan order, piece by piece; `schema` has the columns to hand out."""

    def __init__(
        self, source: LogSource, context: ReadContext, keys: SliceKeys, schema: pa.Schema
    ) -> None:
        self._source = source
        self._context = context
        self._keys = keys
        self._schema = schema
        self._data = HeldRows(schema, context.held_bytes)
        self._key_columns: list[pa.RecordBatch] = []
        self._rows: list[np.ndarray] = []
        self._ordering: list[pa.RecordBatch] = []
        self._flags: list[np.ndarray] = []
        self._held: list[tuple[frozenset[str] | None, int]] = []
        self._before: tuple[int, int] | None = None

    def add_partial(self) -> None:
        """Note that a partial update comes now; what lies before the first is merged by itself."""
        self._before = self._before or (len(self._rows), self._data.num_rows)

    def add_rows(
        self, batch: pa.RecordBatch, keys: pa.RecordBatch, held: frozenset[str] | None
    ) -> None:
        """Add rows of data blocks with these columns, some of which stand for deletes."""
        source, n = self._source, batch.num_rows
        begin = self._data.num_rows
        if begin + n > np.iinfo(np.int32).max:
            root = source.storage.root
            raise RefusedError(f"{root}: the logs of one slice have more than 2^31 rows")
        rows = np.arange(begin, begin + n, dtype=np.int32)
        deleted = deleted_rows(batch, source.config.merge.delete_marker, source.storage.root)
        if deleted is not None:
            rows[deleted] = -1
        ordering = ordering_columns(batch, source.config.ordered_by)
        if self._context.held_bytes is not None:
            keys, ordering = _copy(keys), _copy(ordering)
        self._data.add(batch.select(self._schema.names))
        self._held.append((held, n))
        without = (rows < 0) & is_default(ordering) if source.config.ordered_by else None
        self._add(keys, rows, ordering, without)

    def add_deletes(self, deletes: DeleteKeys, positions: Positions | None, where: str) -> None:
        """Add the records of a delete block, by their positions where they are given."""
        if positions is None:
            keys = self._keys.of_deletes(deletes, where)
        else:
            keys = self._keys.of_positions(positions)
        rows = np.full(len(deletes), -1, dtype=np.int32)
        ordering = without = None
        if self._source.config.ordered_by:
            fields = list(self._source.ordering_types)
            ordering, without = delete_ordering(deletes, fields, where)
        self._add(keys, rows, ordering, without, YIELDING)

    def _add(
        self,
        keys: pa.RecordBatch,
        rows: np.ndarray,
        ordering: pa.RecordBatch | None,
        without: npt.NDArray[np.bool_] | None,
        flags: int = 0,
    ) -> None:
        """Add events; `without` says which deletes have no ordering value."""
        self._key_columns.append(keys)
        self._rows.append(rows)
        if ordering is not None and without is not None:
            if self._source.config.merge.runs_class:
                without = rows < 0
            self._ordering.append(ordering)
            self._flags.append(without * np.uint8(UNORDERED) | np.uint8(flags))

    def only_positions(self) -> Positions | None:
        """Positions of base rows that are gone, where the events come to nothing else."""
        if not self._keys.by_position or not self._key_columns:
            return None
        if any((rows >= 0).any() for rows in self._rows):
            return None
        if self._source.config.ordered_by and not all((f & UNORDERED).all() for f in self._flags):
            return None
        found = [numpy_of(columns.column(0)) for columns in self._key_columns]
        return np.unique(np.concatenate(found))

    def folded(self, where: str) -> SliceLog:
        """All events folded by key; `where` is what messages call the file group."""
        source, names = self._source, self._schema.names
        data = self._data.take_out(threads=self._context.threads)
        rows = np.concatenate([*self._rows, np.empty(0, dtype=np.int32)])
        ordering, flags = self._order()
        partial = any(held is not None for held, _ in self._held)
        rule = None if partial else source.config.merge.fill_rule
        filling = partial or rule is not None
        if partial:
            data = self._filled_by_rule(data, where)
        key_columns = concat_batches(self._key_columns, self._keys.schema)
        self._key_columns.clear()  # two copies of all keys may be more than there is memory for
        order = ordering, flags, self._context.allocator
        filling_rows = data.num_rows if filling else 0
        index = LogIndex(key_columns, rows, *order, filling_rows=filling_rows, source=where)
        filled = None
        if filling_rows:
            presence = [self._presence(name, data, rule) for name in names]
            filled = fill_gaps(data, presence, index.below(), rule)
            data = filled.data
        least, kind = _least(ordering, flags)
        fields = () if ordering is None else source.config.ordered_by
        roots = tuple(root_of(name, source.schema.names) for name in fields)
        exported = ExportedBatch(data)
        keys = self._keys
        return SliceLog(data, exported, index, keys, fields, roots, least, kind, where, filled)

    def _order(
        self, events: int | None = None
    ) -> tuple[pa.RecordBatch | None, npt.NDArray[np.uint8] | None]:
        """Ordering values and flags of the first pieces, or of all; None where there are none."""
        if not self._ordering:
            return None, None
        values = concat_batches(self._ordering[:events], self._source.ordering_types)
        return values, np.concatenate(self._flags[:events])

    def _filled_by_rule(self, data: pa.RecordBatch, where: str) -> pa.RecordBatch:
        """Fill rows before the first partial update from each other, if the table has a rule."""
        # Hudi 1.2.0 merges these by it as they come (KeyBasedFileGroupRecordBuffer).
        rule, (events, count) = self._source.config.merge.fill_rule, self._before or (0, 0)
        if rule is None or not count:
            return data
        keys = concat_batches(self._key_columns[:events], self._keys.schema)
        rows, order = np.concatenate(self._rows[:events]), self._order(events)
        own = *order, self._context.allocator
        index = LogIndex(keys, rows, *own, filling_rows=count, source=where)
        first = data.slice(0, count)
        presence = [rule.present(column) for column in first.columns]
        filled = fill_gaps(first, presence, index.below(), rule).data
        return concat_batches([filled, data.slice(count)], data.schema)

    def _presence(self, name: str, data: pa.RecordBatch, rule: FillRule | None) -> Presence:
        """Which values of a column count: by the table's rule, or by what each block holds."""
        if rule is not None:
            return rule.present(data.column(name))
        has = [held is None or name in held for held, _ in self._held]
        return None if all(has) else np.repeat(has, [rows for _, rows in self._held])


def read_slice_log(
    slice_: FileSlice, source: LogSource, names: Sequence[str], context: ReadContext
) -> SliceLog | Positions:
    """Decode, order and fold the logs of one slice.

    What they come to may be positions of rows of the base file alone, which are gone. `names` are
    the columns handed out: the result's data has just these.
    """
    refuse_merge(slice_, source)
    blocks = read_ordered_blocks(slice_, source, context.warnings)
    source = source.with_operation(blocks)
    keys, positions = _keys_of(slice_, blocks, source)
    if keys.spares_text and context.file is not None and _may_lack(context.file(), keys):
        keys = SliceKeys.by_text()
    try:
        return _folded(slice_, blocks, source, names, context, keys, positions)
    except NullKeyFieldError:
        return _folded(slice_, blocks, source, names, context, SliceKeys.by_text(), None)


def _may_lack(base: FileReader, keys: SliceKeys) -> bool:
    """Whether a row of a base file may lack a field of its key, as far as its statistics tell."""
    known = base.statistics(keys.schema).columns
    return any(name not in known or known[name].nulls != 0 for name in keys.fields)


def _folded(
    slice_: FileSlice,
    blocks: Sequence[LogBlock],
    source: LogSource,
    names: Sequence[str],
    context: ReadContext,
    keys: SliceKeys,
    positions: Mapping[int, Positions] | None,
) -> SliceLog | Positions:
    """The records of some blocks, told apart by these keys."""
    partial = any(block.is_partial for block in blocks)
    # A record that fills gaps looks for those below it.
    test = None if partial or keys.by_position else source.key_test(context.condition)
    reader = RecordReader(source, context, test)
    handed_out = pa.schema([source.schema.field(name) for name in names])
    events = _Collected(source, context, keys, handed_out)
    # The key's text is spared where something else stands for it.
    spared = {RECORD_KEY}.difference(keys.roots, names)
    decoded = pa.schema([field for field in source.schema if field.name not in spared])
    for alike in _neighbours(blocks, source):
        where, rows = alike[0].where, 0
        own = None
        if positions is not None:
            own = np.concatenate([positions[id(block)] for block in alike])
        if alike[0].kind == "delete":
            deletes = alike[0].delete_keys(context.allocator)
            _check_all_used(own, len(deletes), where)
            events.add_deletes(deletes, own, where)
            continue
        held = partial_columns(alike[0])
        if held is not None:
            events.add_partial()
        for batch in reader.batches(alike, decoded):
            piece = None if own is None else own[rows : rows + batch.num_rows]
            events.add_rows(batch, _row_keys(keys, batch, piece, where), held)
            rows += batch.num_rows
        _check_all_used(own, rows, where)
    gone = events.only_positions()
    if gone is not None:
        return gone
    folded = events.folded(f"{source.storage.root}: {slice_.file_id}")
    return replace(folded, whole=not reader.left_out)


def _keys_of(
    slice_: FileSlice, blocks: Sequence[LogBlock], source: LogSource
) -> tuple[SliceKeys, dict[int, Positions] | None]:
    """What tells records apart; and positions by the number of the block, if they do."""
    if source.positions and slice_.base is not None:
        positions = usable_positions(blocks, slice_.base.instant)
        if positions is not None:
            by_block = {id(block): own for block, own in zip(blocks, positions, strict=True)}
            return SliceKeys.by_row(), by_block
    keys = choose_keys(
        source.config,
        source.schema,
        source.storage.root,
        with_deletes=any(block.kind == "delete" for block in blocks),
        partial=any(block.is_partial for block in blocks),
    )
    return keys, None


def _row_keys(
    keys: SliceKeys, batch: pa.RecordBatch, positions: Positions | None, where: str
) -> pa.RecordBatch:
    if positions is None:
        found = keys.of_rows(batch, where)
        if keys.spares_text and any(column.null_count for column in found.columns):
            raise NullKeyFieldError(f"{where}: a record that lacks a field of its key")
        return found
    if len(positions) != batch.num_rows:
        raise InputError(f"{where}: there are fewer record positions than records")
    return keys.of_positions(positions)


def _check_all_used(positions: Positions | None, rows: int, where: str) -> None:
    if positions is not None and len(positions) != rows:
        raise InputError(
            f"{where}: there are "
            f"{counted(len(positions), 'record position')}, {counted(rows, 'record')}"
        )


def _neighbours(blocks: Sequence[LogBlock], source: LogSource) -> list[list[LogBlock]]:
    """Neighbouring Avro blocks of one writer schema, which are decoded into one batch."""
    renamed = source.timeline.schema_history is not None  # the same names may be other columns
    found: list[list[LogBlock]] = []
    for block in blocks:
        last = found[-1][0] if found else None
        if (
            last is not None
            and block.kind == "avro" == last.kind
            and (block.schema, block.is_partial) == (last.schema, last.is_partial)
            and (not renamed or block.instant == last.instant)
        ):
            found[-1].append(block)
        else:
            found.append([block])
    return found


def _copy(columns: pa.RecordBatch) -> pa.RecordBatch:
    """The same values on their own: one column of a decoded batch keeps all others in memory."""
    copies = [pa.concat_arrays([column]) for column in columns.columns]
    return batch_of(copies, columns.schema, columns.num_rows)


def _least(
    ordering: pa.RecordBatch | None, flags: np.ndarray | None
) -> tuple[int | None, pa.DataType | None]:
    """The smallest of ordering values that are whole numbers or times, and their type."""
    # A tie goes to the log, and so does a delete without a value.
    if ordering is None or ordering.num_columns != 1 or not ordering.num_rows:
        return None, None
    column = ordering.column(0)
    whole = pa.types.is_signed_integer(column.type) or pa.types.is_temporal(column.type)
    if not whole or column.type.bit_width not in (32, 64):
        return None, None
    words = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    counted = words if flags is None else words.filter(array_of(flags & UNORDERED == 0))
    if counted.null_count:
        return None, None
    least = pc.min(counted).as_py()
    return (np.iinfo(np.int64).max if least is None else least), column.type


Presence = npt.NDArray[np.bool_] | None
"""For each row of a column whether its value counts; None when all do."""


@dataclass(frozen=True)
class _Group:
    """Columns with the same gaps."""

    columns: list[int]  # their positions
    log: pa.RecordBatch  # their filled rows
    exported: ExportedBatch  # the same as C structures
    gap: npt.NDArray[np.bool_] | None  # rows that no version fills; None when there are none


@dataclass(frozen=True)
class FilledLog:
    """The rows of a log with their gaps filled from below, as far as the log can."""

    data: pa.RecordBatch  # the rows; a gap that is left holds what the lowest version has
    groups: list[_Group]  # its columns by what gaps are left
    # what makes a gap of a base row's value, where one stays above its log; or None
    rule: FillRule | None

    def assemble(
        self,
        base: pa.RecordBatch,
        sources: RowNumbers,
        losers: RowNumbers,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        """The merged batch; the base rows are taken over, as `merge.assemble` does.

        `sources` says where each row's values come from, `losers` which row of the log a base row
        stays above, or -1.
        """
        columns: dict[int, pa.Array] = {}
        rows = len(sources) - int(np.count_nonzero(sources == REMOVE))
        for group in self.groups:
            own = base.select(group.columns)
            words = self._sources(group, own, sources, losers)
            merged = assemble(own, group.log, group.exported, words, allocator)
            columns |= zip(group.columns, merged.columns, strict=True)
        return batch_of([columns[i] for i in range(base.num_columns)], base.schema, rows)

    def _sources(
        self, group: _Group, base: pa.RecordBatch, sources: RowNumbers, losers: RowNumbers
    ) -> RowNumbers:
        words = sources
        if group.gap is not None:
            words = sources.copy()
            words[(sources >= 0) & group.gap[np.maximum(sources, 0)]] = KEEP
        if self.rule is None:
            return words
        present = self.rule.present(base.column(0))
        if present is not None:
            filled = ~present & (losers >= 0)
            if group.gap is not None:
                filled &= ~group.gap[np.maximum(losers, 0)]
            words = np.where(filled, losers, words)
        return words


def fill_gaps(
    data: pa.RecordBatch,
    presence: Sequence[Presence],
    below: npt.NDArray[np.int32],
    rule: FillRule | None,
) -> FilledLog:
    """Fill each row's gaps from the row below it (-1 for none).

    With the table's `rule` a base row can have gaps too; its columns are then kept apart.
    """
    members: dict[bytes | int, list[int]] = {}
    for i, counts in enumerate(presence):
        alike = i if rule is not None else b"" if counts is None else np.packbits(counts).tobytes()
        members.setdefault(alike, []).append(i)
    groups = [_group(data, columns, presence[columns[0]], below) for columns in members.values()]
    columns = {i: c for g in groups for i, c in zip(g.columns, g.log.columns, strict=True)}
    filled = batch_of([columns[i] for i in range(len(presence))], data.schema, data.num_rows)
    return FilledLog(filled, groups, rule)


def _group(
    data: pa.RecordBatch, columns: list[int], counts: Presence, below: npt.NDArray[np.int32]
) -> _Group:
    own, gap = data.select(columns), None
    if counts is not None:
        rows = _filling_rows(counts, below)
        own = own.take(array_of(rows))
        left = ~counts[rows]
        gap = left if left.any() else None
    return _Group(columns, own, ExportedBatch(own), gap)


def _filling_rows(
    counts: npt.NDArray[np.bool_], below: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """For each row the highest one from it downwards whose value counts, or else the lowest."""
    rows = np.arange(len(counts), dtype=np.int32)
    gaps = np.flatnonzero(~counts & (below >= 0))
    while len(gaps):
        rows[gaps] = below[rows[gaps]]
        gaps = gaps[~counts[rows[gaps]] & (below[rows[gaps]] >= 0)]
    return rows


@dataclass
class SliceLog:
    """The folded logs of a slice: `seamkit.scan.units.Events`."""

    data: pa.RecordBatch  # the log's rows with the columns to hand out; `index` refers to them
    exported: ExportedBatch  # the same as C structures
    index: LogIndex  # the folded events
    keys: SliceKeys  # what tells its records and the base's apart
    # fields of the base to be compared, which may lie inside structs; empty if none need be
    ordering: tuple[str, ...]
    roots: tuple[str, ...]  # the columns that hold them
    least: int | None  # the smallest ordering value of any event, if that is one whole number
    kind: pa.DataType | None  # the type it is of
    source: str  # the file group, for messages
    # the rows with their gaps filled, if versions of a record are put together
    filled: FilledLog | None = None
    whole: bool = True  # whether no record was left out; see `Events.whole`

    @property
    def fills(self) -> bool:
        """Whether versions of a record fill each other's gaps."""
        return self.filled is not None

    def columns(self, reader: FileReader) -> Sequence[str]:
        """The key columns, and the ordering columns where a base row may win against an event."""
        return self.keys.roots if self._outranks(reader) else (*self.keys.roots, *self.roots)

    def _outranks(self, reader: FileReader) -> bool:
        """Whether no base row can win against an event, so that its ordering need not be read."""
        if self.least is None or self.kind is None:
            return False
        most = reader.greatest(self.ordering[0], self.kind)
        return most is not None and most <= self.least

    def meet(
        self, batch: pa.RecordBatch, first_row: int, source: str, losers: RowNumbers | None
    ) -> RowNumbers:
        """Where the values of each base row come from; see `Events.meet`."""
        if self.keys.by_position:
            keys = self.keys.of_positions(np.arange(first_row, first_row + batch.num_rows))
        else:
            keys = self.keys.of_rows(batch, source)
        compared = self.ordering and set(self.roots).issubset(batch.schema.names)
        ordering = ordering_columns(batch, self.ordering) if compared else None
        return self.index.probe(keys, ordering, losers)

    def put_together(
        self,
        batch: pa.RecordBatch,
        sources: RowNumbers,
        losers: RowNumbers | None,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        """The rows that are left; see `Events.put_together`."""
        if self.filled is None or losers is None:
            return assemble(batch, self.data, self.exported, sources, allocator)
        return self.filled.assemble(batch, sources, losers, allocator)

    def rest(self) -> RowNumbers:
        """Rows that only the logs have."""
        rest = self.index.rest()
        if self.keys.by_position and len(rest):
            raise InputError(
                f"{self.source}: the logs of the file group name rows that its base file has not"
            )
        return rest

    def over(self, data: pa.RecordBatch) -> SliceLog:
        """The same events with other columns of their rows."""
        return replace(self, data=data, exported=ExportedBatch(data))

    def fork(self, names: Sequence[str], allocator: TrackedAllocator) -> SliceLog:
        """The same events for another read."""
        data = self.data.select(list(names))
        index = self.index.fork(allocator)
        return replace(self, data=data, exported=ExportedBatch(data), index=index)

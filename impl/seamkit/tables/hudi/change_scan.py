"""What changed, row by row: inserted, updated or deleted, before and after.

For each write in the window the file groups that it touched are read as they were before and after
it, and rows are matched by partition and record key. So every table with meta fields has its
changes told, whether or not it keeps change logs, as long as no cleaner has removed what it was.
Columns and their words are those of Hudi's own change data (`op`, `ts_ms`, `before`, `after`), the
rows structs instead of JSON.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import filter_columns
from seambase.scan import ScanReport, ToldWarnings
from seambase.wording import counted
from seamkit.core.border import HeldRows, concat_batches
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import ReadRows, UnitScan
from seamkit.tables.hudi.timeline.window import COMMIT_TIME
from seamkit.tables.states import image_schema, not_in_both, ranks, same_rows

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_KEY = ("_hoodie_partition_path", "_hoodie_record_key")

Moment = tuple[str, Callable[[], UnitScan], Callable[[], UnitScan]]
"""A write's requested instant, and scans of the groups it touched before and after it. Both hand
out `_hoodie_commit_time`, the key's columns and the table's own, in this order."""


class ChangeScan(Scan):
    """The changes of a window, the oldest write first.

    Where memory is limited, both states of a write wait on local disk as far as they pass a quarter
    of the limit each, and their keys, which stay in memory, count against it. `schema` has the
    table's own columns, without `_hoodie_*`, and `moments` are the writes of the window, the oldest
    first. `columns` are among `op`, `ts_ms`, `before` and `after` (None for all); the condition is
    over these, too.
    """

    def __init__(
        self,
        schema: pa.Schema,
        moments: Sequence[Moment],
        options: ScanOptions,
        columns: Sequence[str] | None = None,
        condition: pc.Expression | None = None,
    ) -> None:
        self._all = image_schema(schema)
        self._columns = list(self._all.names if columns is None else columns)
        filter_columns(condition, self._all)
        self._condition = condition
        self._moments = moments
        self._options = options
        self._other_path: tuple[str, ReadRows] | None = None
        self._only_merged = False
        self._warnings = ToldWarnings()
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        """The columns asked for, in that order."""
        return pa.schema([self._all.field(name) for name in self._columns])

    @property
    def whole_schema(self) -> pa.Schema:
        """The columns of changes."""
        return self._all

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> ChangeScan:
        """See `Scan.narrowed`."""
        filter_columns(condition, self._all)
        piece = copy.copy(self)
        piece._columns = list(columns)
        if condition is not None:
            own = self._condition
            piece._condition = condition if own is None else own & condition
        return piece

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches, the oldest write first."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def dataset(self) -> ds.Dataset:
        """The changes as a dataset; both states of each write are read whatever is asked of it."""
        from seambase.dataset import ScanDataset

        return ScanDataset(self.schema, lambda names, c: self.narrowed(names, c).to_reader())

    def report(self) -> ScanReport:
        """What the reads so far came to, over all writes."""
        return self._report

    def explain(self, *, engine: bool = False) -> str:
        """The writes that are compared; no engine's own reader takes part."""
        del engine
        lines = [f"{counted(len(self._moments), 'write')}, each compared before and after"]
        return "\n".join([*lines, *(f"  {instant}" for instant, _, _ in self._moments)])

    @property
    def n_parts(self) -> int:
        """As many parts as writes."""
        return len(self._moments)

    def part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> ChangeScan:
        """The changes of one write; see `Scan.part`."""
        piece = self.narrowed(columns, condition)
        piece._moments, piece._report = [self._moments[number]], ScanReport()
        return piece

    def read_by(self, path: str, read: ReadRows, *, only_merged: bool = False) -> ChangeScan:
        """The same changes, told by states that a function reads; see `UnitScan.read_by`."""
        other = copy.copy(self)
        other._other_path, other._only_merged = (path, read), only_merged
        other._report = ScanReport()
        return other

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for instant, before, after in self._moments:
            for changes in self._changes(instant, self._read(before()), self._read(after())):
                kept = changes if self._condition is None else changes.filter(self._condition)
                self._report.rows += kept.num_rows
                if kept.num_rows:
                    yield from kept.select(self._columns).to_batches()

    def _read(self, scan: UnitScan) -> pa.RecordBatch:
        """One state, in the order of the plan; what all states are doubted for is told once."""
        scan = scan.beside(self._warnings)
        if self._other_path is not None:
            scan = scan.read_by(*self._other_path, only_merged=self._only_merged)
        limit = self._options.memory_limit_bytes
        if limit is None:
            rows = concat_batches(scan.to_table().to_batches(), scan.schema)
        else:
            held = HeldRows(scan.schema, limit // 4)
            for number in range(scan.n_parts):
                for batch in scan.part(number, scan.schema.names, None).to_reader():
                    held.add(batch)
            rows = held.take_out()
        self._add_report(scan.report())
        return rows

    def _add_report(self, report: ScanReport) -> None:
        own = self._report
        own.warnings += [w for w in report.warnings if w not in own.warnings]
        own.pages += report.pages
        own.unread_pages += report.unread_pages
        own.peak_bytes = max(own.peak_bytes or 0, report.peak_bytes or 0)
        for path, count in report.paths.items():
            own.paths[path] = own.paths.get(path, 0) + count

    def _changes(
        self, instant: str, before: pa.RecordBatch, after: pa.RecordBatch
    ) -> Iterator[pa.Table]:
        """What one write did: rows that bear its instant, others that differ, keys that are gone.

        A row may come back with an older instant: what was written now has undone a delete.
        """
        old_keys, new_keys = _keys(before), _keys(after)
        allocator = TrackedAllocator(self._options.memory_limit_bytes or 0)
        if _doubled(old_keys) or _doubled(new_keys):
            with allocator.reserve(2 * (before.nbytes + after.nbytes)):
                before, after = _touched(before, after, instant)
                old_keys, new_keys = _numbered(_keys(before)), _numbered(_keys(after))
        with allocator.reserve(2 * (old_keys.nbytes + new_keys.nbytes)):  # with a table of hashes
            found = pc.index_in(new_keys, value_set=old_keys)
            told = pc.or_(_written(after, instant), pc.is_null(found)).to_numpy(
                zero_copy_only=False
            )
            # A write that lost may have filled a gap, or brought back what another row hid.
            others = np.flatnonzero(~told)
            pairs = found.take(pa.array(others)), pa.array(others)
            own = [field.name for field in self._all.field("after").type]
            told[others] = ~same_rows(before, after, *pairs, own)
            written = pc.indices_nonzero(pa.array(told))
            found = found.take(written)
            gone = pc.indices_nonzero(pc.invert(pc.is_in(old_keys, value_set=new_keys)))
        old_rows, new_rows = _rows(before, self._all), _rows(after, self._all)
        most = self._options.most_rows
        for begin in range(0, len(written), most):
            old, new = found.slice(begin, most), written.slice(begin, most)
            ops = pc.if_else(pc.is_valid(old), "u", "i")
            yield self._batch(instant, ops, old_rows.take(old), new_rows.take(new))
        for begin in range(0, len(gone), most):
            rows = old_rows.take(gone.slice(begin, most))
            none = pa.nulls(len(rows), rows.type)
            yield self._batch(instant, pa.repeat("d", len(rows)), rows, none)

    def _batch(self, instant: str, ops: pa.Array, before: pa.Array, after: pa.Array) -> pa.Table:
        instants = pa.repeat(instant, len(ops))
        return pa.table([ops, instants, before, after], schema=self._all)


def _keys(rows: pa.RecordBatch) -> pa.Array:
    """Partition and record key as one text; neither holds a NUL."""
    parts = [pc.fill_null(rows.column(name), "") for name in _KEY]
    return pc.binary_join_element_wise(*parts, "\0")


def _written(rows: pa.RecordBatch, instant: str) -> pa.Array:
    return pc.fill_null(pc.equal(rows.column(COMMIT_TIME), instant), False)


def _doubled(keys: pa.Array) -> bool:
    return bool(pc.count_distinct(keys, mode="all").as_py() < len(keys))


def _touched(
    before: pa.RecordBatch, after: pa.RecordBatch, instant: str
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Both states without the rows that a write left as they were.

    Where rows share a key, only these tell which of them it met.
    """
    own = _written(after, instant)
    left = after.filter(pc.invert(own))
    columns = [name for name in before.schema.names if name != COMMIT_TIME]
    was, became = not_in_both(before, left, columns)
    rows = [after.filter(own), left.filter(pa.array(became))]
    return before.filter(pa.array(was)), concat_batches(rows, after.schema)


def _numbered(keys: pa.Array) -> pa.Array:
    """Keys with a number each: the first of its rows, the second, ...."""
    places = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    numbers = pa.array(ranks(places)).cast(pa.string())
    return pc.binary_join_element_wise(keys, numbers, "\0")


def _rows(rows: pa.RecordBatch, schema: pa.Schema) -> pa.Array:
    fields = list(schema.field("after").type)
    columns = [rows.column(field.name) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields)

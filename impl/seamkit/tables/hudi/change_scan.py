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

import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import filter_columns
from seambase.scan import ScanReport
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import ReadRows, UnitScan
from seamkit.tables.hudi.timeline.window import COMMIT_TIME

if TYPE_CHECKING:
    import pyarrow.dataset as ds

__all__ = ["ChangeScan", "Moment"]

_KEY = ("_hoodie_partition_path", "_hoodie_record_key")

Moment = tuple[str, Callable[[], UnitScan], Callable[[], UnitScan]]
"""A write's requested instant, and how to plan the groups it touched before and after it. Both
scans hand out `_hoodie_commit_time`, the key's columns and the table's own, in this order."""


class ChangeScan(Scan):
    """The changes of a window, the oldest write first.

    Args:
        schema: the table's own columns, without `_hoodie_*`.
        moments: the writes of the window, the oldest first.
        columns: which of `op`, `ts_ms`, `before` and `after` to hand out; None for all.
        condition: changes to keep, over any of these columns; None for all.

    Raises:
        UsageError: a condition that does not fit them.
    """

    def __init__(
        self,
        schema: pa.Schema,
        moments: Sequence[Moment],
        columns: Sequence[str] | None = None,
        condition: pc.Expression | None = None,
    ) -> None:
        row = pa.struct(list(schema))
        self._all = pa.schema(
            {"op": pa.string(), "ts_ms": pa.string(), "before": row, "after": row}
        )
        self._columns = list(self._all.names if columns is None else columns)
        filter_columns(condition, self._all)
        self._condition = condition
        self._moments = moments
        self._other_path: tuple[str, ReadRows] | None = None
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        """The columns asked for, in that order."""
        return pa.schema([self._all.field(name) for name in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches, the oldest write first."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def dataset(self) -> ds.Dataset:
        """The changes as a dataset; both states of each write are read whatever is asked of it."""
        from seambase.dataset import ScanDataset

        return ScanDataset(self.schema, lambda names, c: self._narrowed(names, c).to_reader())

    def report(self) -> ScanReport:
        """What the reads so far came to, over all writes."""
        return self._report

    def explain(self, *, engine: bool = False) -> str:
        """The writes that are compared; no engine's own reader takes part."""
        del engine
        lines = [f"{len(self._moments)} writes, each compared before and after"]
        return "\n".join([*lines, *(f"  {instant}" for instant, _, _ in self._moments)])

    @property
    def n_parts(self) -> int:
        """As many parts as writes."""
        return len(self._moments)

    def part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> ChangeScan:
        """The changes of one write; see `Scan.part`."""
        piece = self._narrowed(columns, condition)
        piece._moments, piece._report = [self._moments[number]], ScanReport()
        return piece

    def read_by(self, path: str, read: ReadRows) -> ChangeScan:
        """The same changes, told by states that a function reads; see `UnitScan.read_by`."""
        other = copy.copy(self)
        other._other_path, other._report = (path, read), ScanReport()
        return other

    def _narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> ChangeScan:
        """The same changes with some columns, and a further condition."""
        piece = copy.copy(self)
        piece._columns = list(columns)
        if condition is not None:
            own = self._condition
            piece._condition = condition if own is None else own & condition
        return piece

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for instant, before, after in self._moments:
            changes = _changes(instant, self._read(before()), self._read(after()), self._all)
            if self._condition is not None:
                changes = changes.filter(self._condition)
            self._report.rows += changes.num_rows
            yield from changes.select(self._columns).to_batches()

    def _read(self, scan: UnitScan) -> pa.Table:
        if self._other_path is not None:
            scan = scan.read_by(*self._other_path)
        table = scan.to_table()
        told = scan.report()
        self._report.warnings += [w for w in told.warnings if w not in self._report.warnings]
        for path, count in told.paths.items():
            self._report.paths[path] = self._report.paths.get(path, 0) + count
        return table


def _changes(instant: str, before: pa.Table, after: pa.Table, schema: pa.Schema) -> pa.Table:
    """What one write did: rows that bear its instant, keys that are new, and keys that are gone.

    A row may come back with an older instant: a delete has been undone by what was written now.
    """
    old_keys, new_keys = _keys(before), _keys(after)
    own = pc.fill_null(pc.equal(after.column(COMMIT_TIME), instant), False)
    written = after.filter(pc.or_(own, pc.invert(pc.is_in(new_keys, value_set=old_keys))))
    found = pc.index_in(_keys(written), value_set=old_keys)
    updated = pc.is_valid(found)
    gone = before.filter(pc.invert(pc.is_in(old_keys, value_set=new_keys)))
    ops = pc.if_else(updated, "u", "i")
    none = pa.nulls(gone.num_rows, schema.field("after").type)
    return pa.table(
        [
            pa.chunked_array([ops, pa.array(["d"] * gone.num_rows, pa.string())]),
            pa.array([instant] * (written.num_rows + gone.num_rows), pa.string()),
            pa.chunked_array([_rows(before, schema).take(found), _rows(gone, schema)]),
            pa.chunked_array([_rows(written, schema), none]),
        ],
        schema=schema,
    )


def _keys(table: pa.Table) -> pa.Array:
    """Partition and record key as one text; neither holds a NUL."""
    parts = [pc.fill_null(table.column(name), "").combine_chunks() for name in _KEY]
    return pc.binary_join_element_wise(*parts, "\0")


def _rows(table: pa.Table, schema: pa.Schema) -> pa.Array:
    """The table's own columns as structs."""
    fields = list(schema.field("after").type)
    columns = [table.column(field.name).combine_chunks() for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields)

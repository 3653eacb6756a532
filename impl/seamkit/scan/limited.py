"""Scans of at most so many rows."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.filters import apply_filter, filter_columns
from seambase.scan import ScanReport
from seambase.statistics import TableStatistics
from seamkit.scan.scan import Scan

if TYPE_CHECKING:
    import pyarrow.dataset as ds

__all__ = ["LimitedScan"]


class LimitedScan(Scan):
    """At most so many rows of another scan; which, is left to chance, and to each read.

    Args:
        scan: where they come from.
        rows: how many.
        columns: those to hand out; None for all of that scan's.
        condition: of the rows within the limit, those to keep; None for all.

    Raises:
        UsageError: a negative number.
    """

    def __init__(
        self,
        scan: Scan,
        rows: int,
        columns: Sequence[str] | None = None,
        condition: pc.Expression | None = None,
    ) -> None:
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise UsageError(f"a limit of {rows!r} rows: a whole number from 0 on is meant")
        self._scan = scan
        self._rows = rows
        self._columns = list(scan.schema.names if columns is None else columns)
        self._condition = condition

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return pa.schema([self._scan.schema.field(name) for name in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; what comes after the last row is not read."""
        cut = pa.RecordBatchReader.from_batches(self._scan.schema, self._cut())
        return apply_filter(cut, self._condition, self._columns)

    def dataset(self) -> ds.Dataset:
        """The rows as a dataset. They are read at once: a filter is for rows within the limit."""
        from seambase.dataset import ScanDataset

        rows = self.to_table()

        def open_stream(
            columns: list[str], condition: pc.Expression | None
        ) -> pa.RecordBatchReader:
            read = dict.fromkeys([*columns, *filter_columns(condition, self.schema)])
            return apply_filter(rows.select(list(read)).to_reader(), condition, columns)

        return ScanDataset(self.schema, open_stream)

    def report(self) -> ScanReport:
        """What the scan below did."""
        return self._scan.report()

    def statistics(self, *, footers: bool = True) -> TableStatistics:
        """Bounds, as the scan below tells them; see `Scan.statistics`."""
        below = self._scan.statistics(footers=footers)
        return below.of_some_rows(self._columns, self._rows)

    def explain(self, *, engine: bool = False) -> str:
        """The plan of the scan below, and the limit; all rows pass here, none by an engine."""
        del engine
        return f"{self._scan.explain()}\n  at most {self._rows} rows"

    @property
    def n_parts(self) -> int:
        """One: parts could not know how many rows the others have."""
        return 1

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """The only part; see `Scan.part`. The condition is for rows within the limit."""
        if number != 0:
            raise UsageError(f"there is no part {number} of a scan with a limit, which has one")
        both = [c for c in (self._condition, condition) if c is not None]
        whole = functools.reduce(operator.and_, both) if both else None
        return LimitedScan(self._scan, self._rows, columns, whole)

    def _cut(self) -> Iterator[pa.RecordBatch]:
        left = self._rows
        if left == 0:
            return
        with self._scan.to_reader() as reader:
            for batch in reader:
                yield batch.slice(0, left)
                left -= min(left, batch.num_rows)
                if left == 0:
                    return

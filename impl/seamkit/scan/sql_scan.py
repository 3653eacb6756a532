"""Scans with a condition in an engine's words: a scan tests what it can, the engine the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from seambase.scan import ScanReport
from seambase.statistics import TableStatistics
from seambase.where import filter_engine, parse_filter
from seamkit.scan.scan import Scan

if TYPE_CHECKING:
    import pyarrow.dataset as ds

# DuckDB's operator that reads a dataset of pyarrow's.
_SCAN = "PYTHON_ARROW_SCAN"


class RowTest(Protocol):
    """A condition that an engine tests, a batch after another."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that it reads."""

    def test(self) -> AbstractContextManager[Callable[[pa.RecordBatch], pa.Array]]:
        """What says of each row of a batch whether it is true."""


@dataclass(frozen=True)
class EngineCondition:
    """A condition in an engine's words that fits a schema."""

    test: RowTest
    # what holds for every row that meets it, as an Arrow expression that scans can push down; None
    # where the engine finds nothing of that kind
    implied: pc.Expression | None
    # every row for which that holds meets the condition, so that nothing is left to be tested
    is_whole: bool


def sql_condition(text: str, schema: pa.Schema) -> EngineCondition:
    """Read a condition in SQL."""
    from seambase.dataset import ScanDataset, without_views

    pushed: list[pc.Expression | None] = []
    shown = without_views(schema)

    def note(columns: list[str], expression: pc.Expression | None) -> pa.RecordBatchReader:
        pushed.append(expression)
        return pa.RecordBatchReader.from_batches(
            pa.schema([shown.field(name) for name in columns]), []
        )

    with filter_engine() as connection:
        condition = parse_filter(text, schema, "filter", connection)
        # No row is there to be read: what DuckDB asks the dataset for is what it pushes down.
        connection.register("rows", ScanDataset(shown, note))
        query = f"SELECT 1 FROM rows WHERE {condition.sql}"  # noqa: S608 - bound and checked
        connection.execute(query).fetchall()
        [(_, plan)] = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    if len(pushed) != 1:
        return EngineCondition(condition, None, is_whole=False)
    return EngineCondition(condition, pushed[0], is_whole=_only_scans(json.loads(plan)))


def _only_scans(plan: list[dict[str, Any]]) -> bool:
    """Whether DuckDB tests no row itself: what it pushes into a scan it leaves to the scan."""
    if len(plan) != 1:
        return False
    name, below = plan[0]["name"].strip(), plan[0]["children"]
    return _only_scans(below) if name == "PROJECTION" else name == _SCAN and not below


class SqlScan(Scan):
    """The rows of another scan for which a condition is true that an engine tests.

    That scan has the columns handed out, and those that the condition reads.

    Attributes:
        below: the scan whose rows are tested.
        condition: what they must meet.
    """

    def __init__(self, scan: Scan, columns: Sequence[str], condition: RowTest) -> None:
        self.below = scan
        self._columns = list(columns)
        self.condition = condition

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return pa.schema([self.below.schema.field(name) for name in self._columns])

    @property
    def whole_schema(self) -> pa.Schema:
        """All columns of the scan below, whichever it hands out."""
        return self.below.whole_schema

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> SqlScan:
        """See `Scan.narrowed`."""
        names = self._read(columns)
        return SqlScan(self.below.narrowed(names, condition), columns, self.condition)

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches."""
        return self._tested(self.below.to_reader(), self._columns)

    def dataset(self) -> ds.Dataset:
        """A dataset that DuckDB and Polars query, with columns and filters pushed down."""
        from seambase.dataset import ScanDataset

        inner = self.below.dataset()

        def open_stream(
            columns: list[str], condition: pc.Expression | None
        ) -> pa.RecordBatchReader:
            names = self._read(columns)
            reader = inner.scanner(columns=names, filter=condition).to_reader()
            return self._tested(reader, columns)

        return ScanDataset(self.schema, open_stream)

    def report(self) -> ScanReport:
        """What the scan below did; its rows are those before the condition."""
        return self.below.report()

    def statistics(self, *, footers: bool = True) -> TableStatistics:
        """Bounds, as the scan below tells them; see `Scan.statistics`."""
        return self.below.statistics(footers=footers).of_some_rows(self._columns)

    def explain(self, *, engine: bool = False) -> str:
        """The plan of the scan below, and the condition; all rows pass here, none by an engine."""
        del engine
        return f"{self.below.explain()}\n  tested by {self.condition}"

    @property
    def n_parts(self) -> int:
        """As many parts as the scan below."""
        return self.below.n_parts

    def part_bytes(self) -> list[int]:
        """Those of the scan below."""
        return self.below.part_bytes()

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> SqlScan:
        """One part of the scan; see `Scan.part`."""
        names = self._read(columns)
        return SqlScan(self.below.part(number, names, condition), columns, self.condition)

    def _read(self, columns: Sequence[str]) -> list[str]:
        """Columns to hand out, and those that the condition reads."""
        return list(dict.fromkeys([*columns, *self.condition.columns]))

    def _tested(self, reader: pa.RecordBatchReader, columns: Sequence[str]) -> Any:
        schema = pa.schema([reader.schema.field(name) for name in columns], reader.schema.metadata)
        return pa.RecordBatchReader.from_batches(schema, self._kept(reader, list(columns)))

    def _kept(self, reader: pa.RecordBatchReader, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with reader, self.condition.test() as keep:
            for batch in reader:
                yield batch.filter(keep(batch)).select(columns)

"""What every scan offers to those who read it, whatever the table format and the query."""

from __future__ import annotations

import heapq
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.extras import needs
from seambase.filters import all_of, apply_filter, filter_columns
from seambase.scan import ScanReport
from seambase.statistics import ColumnStatistics, TableStatistics
from seambase.where import require_c_names
from seambase.wording import counted
from seamkit.engines.files import EnginePlan, MaskedPart
from seamkit.scan.hints import Hinted
from seamkit.scan.shown import Progress, html_of, schema_lines

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame, SparkSession

    from seamkit.scan.arguments import Filter

_PLANS = "seamkit.ranges.plan_file"
"""Writes and makes scans, so it is above them and found by its name."""


_ENGINES = "call lazy() of Polars or relation(connection) of DuckDB, which can"
_INSTEAD = {
    **dict.fromkeys(
        ("agg", "aggregate", "group_by", "join", "order_by", "sort", "sort_by"), _ENGINES
    ),
    "[]": "call select('a', 'b') for columns, head(10) for first rows",
    "collect": "call to_table(), to_polars() or lazy().collect()",
    "columns": "ask schema.names",
    "count": "call count_rows()",
    "df": "call to_pandas()",
    "drop": "call select() with the columns that stay",
    "fetchall": "call to_table().to_pylist()",
    "fetchone": "call head(1)",
    "first": "call head(1)",
    "iter_batches": "call to_batches()",
    "iter_rows": "call to_polars().iter_rows()",
    "num_rows": "call count_rows(), which reads",
    "sample": "rows have no order: call head(), or lazy()",
    "scan_plan": "call explain()",
    "shape": "call count_rows(), which reads, and schema.names",
    "show": "call head()",
    "tail": "rows have no order: call head()",
    "take": "call head()",
    "to_dataframe": "call to_pandas() or to_polars()",
    "to_df": "call to_pandas() or to_polars()",
    "to_dicts": "call to_table().to_pylist()",
    "to_duckdb": "call relation(connection)",
    "to_list": "call to_table().to_pylist()",
    "to_parquet": "call to_polars().write_parquet(), or `seamkit scan TABLE -o FILE.parquet`",
    "to_pyarrow_dataset": "call dataset()",
    "to_pyarrow_table": "call to_table()",
    "to_pydict": "call to_table().to_pydict()",
    "to_pylist": "call to_table().to_pylist()",
    "where": "call filter()",
    "with_columns": "call lazy(), relation() or to_table(), which have columns made",
}


class Scan(Hinted, ABC):
    """A planned read of a table. Each call of a `to_...` method reads anew.

    `filter`, `select` and `limit` give a scan of fewer rows or columns: one after the other they
    read what the arguments of a table's `scan` would. A loop over a scan has its batches.

    A scan is cut into parts for engines that read with several processes: it can be pickled, and
    all its parts together give its rows, each once.
    """

    instead = _INSTEAD
    called = "Scan"

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""

    @property
    @abstractmethod
    def whole_schema(self) -> pa.Schema:
        """All columns that `filter` and `select` may name."""

    @abstractmethod
    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """The same scan with other columns and a further condition, both of `whole_schema`."""

    @abstractmethod
    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; those of different units come in any order."""

    @abstractmethod
    def dataset(self) -> ds.Dataset:
        """A dataset that DuckDB and Polars query, with columns and filters pushed down."""

    @abstractmethod
    def report(self) -> ScanReport:
        """Which paths the units take, and what reads so far came to."""

    @abstractmethod
    def explain(self, *, engine: bool = False) -> str:
        """The plan in words, a line for each unit: its path, its files, and why.

        Args:
            engine: as `relation`, `lazy` and `spark_frame` read: files that go to the engine's own
                reader have the path `engine`, and of all others it is said why they stay.
        """

    def statistics(self, *, footers: bool = True) -> TableStatistics:
        """What is known of the rows before one is read: exact figures, bounds, or nothing.

        Args:
            footers: files may be opened for what the table's metadata does not tell; of each few
                bytes are read.

        Raises:
            InputError: a file that is opened is missing or broken.
        """
        del footers
        return TableStatistics(columns={name: ColumnStatistics() for name in self.schema.names})

    def engine_plan(self, *, masks: bool = False, by_query: bool = False) -> EnginePlan:
        """The scan for engines: all rows by our reader, unless a scan knows better.

        `masks`: the engine's reader leaves out rows that are said to be gone. `by_query`: for
        queries of columns that only we read it leaves files to us.
        """
        del masks, by_query
        return EnginePlan([], self, self.schema)

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of DuckDB.

        Parquet files are read by DuckDB itself where their rows stay as they are or are gone, which
        is fastest; it does not hold their pages to their checksums. All other rows come through
        `dataset`, those that replace rows of such a file among them. Columns and filters reach
        both. The files are those of the moment of this call.

        Args:
            connection: of DuckDB, where the relation lives.

        Raises:
            InputError: a file is missing or broken.
            RefusedError: DuckDB would show a column under the name of another, or cut at a NUL.
            UsageError: the scan has no columns, or the connection is none.
        """
        if not self.schema.names:
            raise UsageError("a relation of DuckDB has at least one column: name some")
        if not hasattr(connection, "from_arrow"):
            raise UsageError(f"connection is {connection!r}: duckdb.connect() makes one")
        from seamkit.engines.in_duckdb import duckdb_relation

        plan = self.engine_plan(masks=True)
        rest = None if plan.rest is None else plan.rest.dataset()
        return duckdb_relation(plan, rest, connection)

    def spark_frame(self, session: SparkSession) -> DataFrame:
        """The rows as a DataFrame of Spark; files are shared out as `relation` does.

        What stays with our reader is read by tasks, part by part, when Spark asks for it: see
        docs/spark.md for what workers need, and for the types that columns have there.

        Args:
            session: the Spark session whose tasks read.

        Raises:
            InputError: a file is missing or broken.
            RefusedError: a column of a type that Spark does not have.
        """
        from seamkit.engines.spark_source import spark_frame

        return spark_frame(self.engine_plan(), session)

    def lazy(self) -> pl.LazyFrame:
        """The rows as a lazy frame of Polars; files are shared out as `relation` does.

        Filters mean what they mean in Polars: NaN equals itself and is greater than all numbers.

        Raises:
            InputError: a file is missing or broken.
            RefusedError: the name of a column has a NUL, at which Polars would end it.
            UnavailableError: Polars is not installed.
            UsageError: the scan has no columns.
        """
        with needs("polars", "a lazy frame of Polars"):
            import polars  # noqa: F401, ICN001
        from seamkit.engines.in_polars import polars_frame

        return polars_frame(self.engine_plan(by_query=True))

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """How many parts there are."""

    @abstractmethod
    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """One part of the scan, from 0: some columns, and a further condition over any of them."""

    @property
    def part_values(self) -> frozenset[str]:
        """Columns that may have one value in all rows of a part, so that files may lack them."""
        return frozenset()

    def masked_part(
        self, number: int, columns: Sequence[str], condition: pc.Expression | None
    ) -> MaskedPart:
        """One part, split between an engine's own reader and ours; all is ours unless known better.

        The condition is of the rows that come from us; the engine tests those of the file itself.
        """
        return MaskedPart(None, np.empty(0, np.bool_), self.part(number, columns, condition))

    def groups(self, count: int) -> list[list[int]]:
        """The parts, shared out so that whoever reads a group has about as much to do as others.

        Args:
            count: of workers.

        Returns:
            Numbers of parts, at most `count` groups, none of them empty, each part in one.

        Raises:
            UsageError: fewer than one worker.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UsageError(f"{count!r} groups: a whole number from 1 on is meant")
        # The heaviest first, each to the group that has least so far.
        weights = self.part_bytes()
        groups: list[list[int]] = [[] for _ in range(min(count, len(weights)))]
        loads = [(0, number) for number in range(len(groups))]
        for part in sorted(range(len(weights)), key=lambda part: (-weights[part], part)):
            load, number = heapq.heappop(loads)
            groups[number].append(part)
            heapq.heappush(loads, (load + weights[part], number))
        return [sorted(group) for group in groups]

    def plans(self, groups: Sequence[Sequence[int]]) -> tuple[list[str], Callable[[str], Scan]]:
        """The parts as data for other processes: for each group of them a plan as JSON.

        Args:
            groups: numbers of parts, as `groups` gives them.

        Returns:
            A plan for each group (docs/plans.md), and what reads one: a function of a module, which
            also holds the keys and secrets of the storage, as they are never part of a plan.

        Raises:
            RefusedError: the scan has no such plan: one with a limit, or with what no word exists
                for. It can be pickled.
        """
        written: tuple[list[str], Callable[[str], Scan]] = importlib.import_module(
            _PLANS
        ).scan_to_tasks(self, groups)
        return written

    def part_bytes(self) -> list[int]:
        """What there is to read for each part, as far as it is known; 1 each where it is not."""
        return [1] * self.n_parts

    def to_table(self) -> pa.Table:
        """All rows."""
        with Progress() as progress, self.to_reader() as reader:
            return pa.Table.from_batches(list(progress.counted(reader)), reader.schema)

    to_arrow = to_table

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The batches, one after the other; those of different units come in any order."""
        with self.to_reader() as reader:
            yield from reader

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.to_batches()

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """All rows as a pandas data frame.

        Integers among nulls come as doubles, and as Python's own where a double would cut one off.

        Args:
            **options: of `pyarrow.Table.to_pandas`.

        Raises:
            RefusedError: a column of a type of which Arrow makes none of pandas.
            UnavailableError: pandas is not installed.
        """
        with needs("pandas", "a data frame"):
            import pandas  # noqa: F401, ICN001 - Arrow makes the frame, with pandas' classes
        from seamkit.engines.in_pandas import pandas_frame

        return pandas_frame(self.to_table(), options)

    def to_polars(self) -> pl.DataFrame:
        """All rows as a Polars data frame.

        Raises:
            RefusedError: the name of a column has a NUL, at which Polars would end it.
            UnavailableError: Polars is not installed.
        """
        with needs("polars", "a Polars data frame"):
            import polars  # noqa: F401, ICN001
        from seamkit.engines.in_polars import frame_of

        return frame_of(self.to_table())

    def head(self, rows: int = 10) -> pa.Table:
        """The first rows that come; the rest is not read.

        Raises:
            UsageError: a negative number.
        """
        return self.limit(rows).to_table()

    def filter(self, condition: Filter) -> Scan:
        """A scan of those of its rows that meet a further condition.

        Behind a `limit` the rows within the limit are tested, as an engine would.

        Args:
            condition: of any kind that `filter=` of a table's `scan` takes. It may name columns
                that the scan does not hand out, but for those that a limit has left behind.

        Raises:
            UsageError: a condition that does not fit the columns.
            UnavailableError: a condition in SQL without DuckDB.
        """
        from seamkit.scan.arguments import filtered_scan

        return filtered_scan(self.narrowed, self.schema.names, condition, self.whole_schema)

    def select(self, *columns: str | Sequence[str]) -> Scan:
        """A scan of the same rows with other columns, in the order wanted.

        Args:
            *columns: names, or a list of them, as for `columns=` of a table's `scan`.

        Raises:
            UsageError: an unknown column, or one twice.
        """
        from seamkit.scan.arguments import chosen_columns

        is_list = len(columns) == 1 and not isinstance(columns[0], str | None)
        names: Any = columns[0] if is_list else columns
        chosen = chosen_columns(names, self.whole_schema, (), "select")
        return self.narrowed(chosen, None)

    def limit(self, rows: int) -> Scan:
        """A scan of at most so many of these rows, whichever come first.

        Raises:
            UsageError: a negative number.
        """
        return LimitedScan(self, rows)

    def count_rows(self) -> int:
        """How many rows there are; none is kept."""
        with Progress() as progress, self.to_reader() as reader:
            return sum(batch.num_rows for batch in progress.counted(reader))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        require_c_names(self.schema)
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return "\n".join([f"<{self._title()}>", *schema_lines(self.schema)])

    def _repr_html_(self) -> str:
        return html_of(self._title(), self.schema, self.head)

    def _title(self) -> str:
        columns, parts = counted(len(self.schema), "column"), counted(self.n_parts, "part")
        return f"{self.called} of {columns}; {parts}"


def checked_number(what: str, number: object, count: int, owner: str) -> int:
    """The number of a part or a unit, as it was given; there are so many, from 0 on."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < count:
        raise UsageError(f"there is no {what} {number!r}: the {owner} has {count}, from 0 on")
    return number


class LimitedScan(Scan):
    """At most so many rows of another scan; which, is left to chance, and to each read.

    The columns are of that scan, the condition of the rows within the limit.
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

    @property
    def whole_schema(self) -> pa.Schema:
        """The columns of the scan below."""
        return self._scan.schema

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """See `Scan.narrowed`. The condition is for rows within the limit."""
        filter_columns(condition, self.whole_schema)
        both = all_of(self._condition, condition)
        return LimitedScan(self._scan, self._rows, columns, both)

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
        return f"{self._scan.explain()}\n  at most {counted(self._rows, 'row')}"

    @property
    def n_parts(self) -> int:
        """One: parts could not know how many rows the others have."""
        return 1

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """The only part; see `Scan.part`. The condition is for rows within the limit."""
        checked_number("part", number, 1, "scan with a limit")
        return self.narrowed(columns, condition)

    def _cut(self) -> Iterator[pa.RecordBatch]:
        left = self._rows
        if left == 0:
            return
        with self._scan.to_reader() as reader:
            for batch in reader:
                yield (few := batch.slice(0, min(left, batch.num_rows)))
                left -= few.num_rows
                if left == 0:
                    return

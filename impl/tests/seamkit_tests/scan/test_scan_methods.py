"""What every scan offers, over one that holds its rows in memory."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.dataset import ScanDataset
from seambase.errors import RefusedError, UnavailableError, UsageError
from seambase.filters import apply_filter, filter_columns
from seambase.scan import ScanReport
from seamkit.scan.arguments import filtered_scan
from seamkit.scan.scan import Scan
from seamkit.scan.sql_scan import SqlScan
from seamkit_tests.samples.batch_scan import BatchScan

if TYPE_CHECKING:
    import pyarrow.dataset as ds

ROWS = pa.table(
    {
        "a": pa.array([1, 2, 3, 4, None], pa.int64()),
        "f": pa.array([1.0, float("nan"), None, -1.0, 9.0]),
        "s": ["one", "two", None, "four", "five"],
        "d": pa.array([Decimal(n) / 2 for n in range(5)], pa.decimal128(15, 2)),
    }
)


class MemoryScan(Scan):
    """A scan of `ROWS`, two rows to a batch; notes the conditions that it was planned with."""

    def __init__(self, columns: Sequence[str], condition: pc.Expression | None) -> None:
        self.columns = list(columns)
        self.condition = condition
        self.batches_read = 0

    @property
    def schema(self) -> pa.Schema:
        """The columns asked for."""
        return ROWS.select(self.columns).schema

    @property
    def whole_schema(self) -> pa.Schema:
        """All columns."""
        return ROWS.schema

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """Those of its rows."""
        return self.part(0, columns, condition)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows that meet the condition."""
        return self._open(self.columns, None)

    def _open(self, columns: list[str], more: pc.Expression | None) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            for batch in ROWS.to_batches(max_chunksize=2):
                self.batches_read += 1
                yield batch

        reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
        return apply_filter(apply_filter(reader, self.condition, ROWS.schema.names), more, columns)

    def dataset(self) -> ds.Dataset:
        """Columns and filters are pushed down."""
        return ScanDataset(self.schema, self._open)

    def report(self) -> ScanReport:
        """Nothing."""
        return ScanReport()

    def explain(self, *, engine: bool = False) -> str:
        """One line."""
        del engine
        return "memory"

    @property
    def n_parts(self) -> int:
        """One."""
        return 1

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """All of it."""
        assert number == 0
        both = [c for c in (self.condition, condition) if c is not None]
        return MemoryScan(columns, functools.reduce(operator.and_, both) if both else None)


def whole() -> MemoryScan:
    """All rows."""
    return MemoryScan(ROWS.schema.names, None)


def test_rows_in_every_dress() -> None:
    """Arrow, pandas, Polars, a count and a stream: the same rows."""
    names = ["a", "s", "d"]  # a NaN is not even equal to itself
    scan = MemoryScan(names, None)
    assert scan.to_table() == ROWS.select(names)
    assert scan.to_pandas()["s"].tolist()[:2] == ["one", "two"]
    assert scan.to_polars()["a"].to_list() == [1, 2, 3, 4, None]
    assert scan.count_rows() == 5
    assert pa.table(scan) == ROWS.select(names)


_LONG = (1 << 53) + 1
_AT_DEPTHS = [
    (pa.int64(), [1, None, _LONG]),
    (pa.int64(), [None, -_LONG, 1]),
    (pa.uint64(), [None, (1 << 64) - 1, 1]),
    (pa.list_(pa.int64()), [[_LONG, None], None, []]),
    (pa.struct([("x", pa.int64())]), [{"x": _LONG}, {"x": None}, None]),
    (pa.list_(pa.struct([("x", pa.int64())])), [[{"x": _LONG}, {"x": None}], None, [None]]),
    (pa.map_(pa.string(), pa.list_(pa.int64())), [[("k", [_LONG, None])], None, []]),
]


def _python(value: object) -> object:
    """Pandas' lists, which are arrays of NumPy's, as Python's; all others as they are."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _python(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_python, value))
    return value


@pytest.mark.parametrize(("kind", "values"), _AT_DEPTHS, ids=lambda one: str(one)[:40])
def test_no_integer_becomes_another_in_pandas(kind: pa.DataType, values: list[object]) -> None:
    """An integer beside nulls is the same in pandas, at every depth, and over several batches."""
    rows = pa.table({"v": pa.array(values, kind)})
    scan = BatchScan(
        rows.schema, *(lambda n=n: [rows.slice(n, 1).to_batches()[0]] for n in (0, 1, 2))
    )
    assert list(map(_python, scan.to_pandas()["v"].tolist())) == values


def test_integers_that_doubles_hold_are_doubles_in_pandas() -> None:
    """Only what would be cut is no column of numbers; an option of the caller counts always."""
    held, cut = pa.table({"v": [None, 1 << 53]}), pa.table({"v": [None, _LONG]})
    whole = {name: BatchScan(t.schema, t.to_batches) for name, t in (("held", held), ("cut", cut))}
    assert whole["held"].to_pandas()["v"].dtype == "float64"
    assert whole["cut"].to_pandas()["v"].dtype == "object"
    assert whole["cut"].to_pandas(integer_object_nulls=False)["v"].dtype == "float64"
    full = pa.table({"v": [1, _LONG]})
    assert BatchScan(full.schema, full.to_batches).to_pandas()["v"].dtype == "int64"


def test_what_pandas_has_no_column_for_is_refused_by_name() -> None:
    """A type that Arrow does not turn into pandas' is told with its column."""
    items = pa.ListArray.from_arrays(pa.array([0, 1]), pa.array([b"0" * 16], pa.uuid()))
    # Of a struct of them it makes one.
    fine = pa.StructArray.from_arrays([items.values], ["id"])
    rows = pa.table({"k": [1], "fine": fine, "ids": items})
    scan = BatchScan(rows.schema, rows.to_batches)
    with pytest.raises(RefusedError, match="column 'ids': Arrow makes no column of pandas of list"):
        scan.to_pandas()


@pytest.mark.parametrize("method", ["to_pandas", "to_polars"])
def test_a_frame_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Frames come from packages that people know by their names."""
    package = method.removeprefix("to_")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnavailableError, match=f"pip install {package}"):
        getattr(whole(), method)()


def test_head_and_limit_read_no_further() -> None:
    """So many rows and no more, whatever the batches; a dataset over them is of them alone."""
    scan = whole()
    assert scan.head(3)["a"].to_pylist() == [1, 2, 3]
    assert scan.batches_read == 2
    assert scan.head(0) == ROWS.slice(0, 0)
    assert scan.limit(9).count_rows() == 5
    few = scan.limit(2)
    assert few.dataset().to_table(filter=pc.field("a") > 1).num_rows == 1
    assert few.n_parts == 1
    assert few.part(0, ["s"], pc.field("a") > 1).to_table().to_pylist() == [{"s": "two"}]
    assert few.limit(1).to_table() == ROWS.slice(0, 1)


@pytest.mark.parametrize("rows", [-1, 1.5, True, "3"])
def test_a_limit_that_is_no_number_of_rows_is_refused(rows: object) -> None:
    """Whole numbers from 0 on."""
    with pytest.raises(UsageError, match="a whole number from 0 on"):
        whole().limit(rows)  # type: ignore[arg-type]


def test_a_repr_stays_short() -> None:
    """A line a column, twenty at most."""
    assert repr(whole()).splitlines() == [
        "<Scan of 4 columns; 1 part>",
        "  a: int64",
        "  f: double",
        "  s: string",
        "  d: decimal128(15, 2)",
    ]
    wide = pa.schema([pa.field(f"c{n}", pa.int8()) for n in range(30)])
    assert repr(BatchScan(wide)).splitlines()[-1] == "  ... and 10 more"


@pytest.mark.parametrize(
    "condition",
    [
        "a > 1",
        "d > 1",
        "d = 1.5 OR s LIKE 'f%'",
        "s IS NULL",
        "f > 0",
        "f >= 0 AND a < 4",
        "NOT (s = 'one')",
        "length(s) = 4",
        "a IN (1, 3) AND d BETWEEN 0 AND 1",
        "1 = 1",
        "a > NULL",
        "isnan(f)",
    ],
)
def test_a_filter_in_sql_keeps_the_rows_that_duckdb_keeps(condition: str) -> None:
    """The condition is DuckDB's, the rows stay in Arrow's types and in their order."""
    scan = filtered_scan(MemoryScan, ["s", "d"], condition, ROWS.schema)
    with duckdb.connect() as connection:
        connection.register("rows", ROWS)
        query = f"SELECT s, d FROM rows WHERE {condition}"  # noqa: S608
        expected = connection.execute(query).fetchall()
    assert scan.schema == ROWS.select(["s", "d"]).schema
    assert [tuple(row.values()) for row in scan.to_table().to_pylist()] == expected
    assert scan.dataset().to_table(columns=["d"]).num_rows == len(expected)
    assert scan.part(0, ["d"], None).count_rows() == len(expected)


def test_a_filter_in_sql_is_pushed_down_as_far_as_it_goes() -> None:
    """What DuckDB pushes into a dataset reaches the scan's own condition."""
    made: list[pc.Expression | None] = []

    def make(columns: list[str], condition: pc.Expression | None) -> Scan:
        made.append(condition)
        return MemoryScan(columns, condition)

    filtered_scan(make, ["s"], "a > 1 AND length(s) = 3", ROWS.schema)
    filtered_scan(make, ["s"], "length(s) = 3", ROWS.schema)

    assert str(made[0]) == "(a > 1)"
    assert made[1] is None


@pytest.mark.parametrize(
    ("condition", "left_to_duckdb"),
    [
        ("a > 1 AND d < 3", False),
        ("a IN (1, 3) OR s = 'one'", False),
        ("1 = 1", False),
        ("f > 0", True),
        ("a > 1 AND length(s) = 3", True),
        ("a > 1 AND random() > 2", True),
        ("a > NULL", True),
    ],
)
def test_duckdb_tests_no_row_of_a_filter_that_a_scan_can_test(
    condition: str, left_to_duckdb: bool
) -> None:
    """Where DuckDB's own plan filters nothing above the dataset, nothing is filtered twice."""
    scan = filtered_scan(MemoryScan, ["s"], condition, ROWS.schema)
    assert isinstance(scan, SqlScan) == left_to_duckdb


def test_a_filter_may_list_long_texts_in_any_script() -> None:
    """Arrow's own words for it are no UTF-8: they are cut within a character."""
    for length in range(50, 60):
        condition = pc.field("s").isin(["é漢😀" * length, "one"])
        assert filter_columns(condition, ROWS.schema) == ["s"]
        with pytest.raises(
            UsageError, match=r"(?s)^the filter .*is_in\(.*there is no column 'missing'"
        ):
            filter_columns(condition & pc.field("missing").is_valid(), ROWS.schema)


def test_a_filter_in_sql_without_duckdb_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SQL is read by DuckDB, which the library does without otherwise."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UnavailableError, match="a filter in SQL needs the package 'duckdb'"):
        filtered_scan(MemoryScan, ["s"], "a > 1", ROWS.schema)


def test_a_filter_that_fails_on_a_row_is_the_caller_s() -> None:
    """A cast that a value does not take is told with the filter, as it was given, in one line."""
    scan = filtered_scan(MemoryScan, ["s"], "CAST(s AS INTEGER) > 1", ROWS.schema)
    with pytest.raises(UsageError, match=r"filter \(CAST\(s AS INTEGER\) > 1\) fails on a row"):
        scan.to_table()
    assert "DuckDB: (CAST(s AS INTEGER) > 1)" in scan.explain().splitlines()[-1]


def test_a_dataset_shows_its_columns() -> None:
    """In the words of Arrow's types, and of no column where it has none."""
    shown = "a: int64, f: double, s: string, d: decimal128(15, 2)"
    assert repr(MemoryScan(ROWS.column_names, None).dataset()) == f"<ScanDataset of {shown}>"
    assert repr(MemoryScan([], None).dataset()) == "<ScanDataset of no column>"

"""Engines get the same rows through a dataset as from a plain table."""

import datetime as dt
import decimal
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase import filters
from seambase.dataset import ScanDataset, original_errors
from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.filters import apply_filter, filter_columns
from seambench.contracts.scan import ScanRequest
from seambench.engines.stream_dataset import StreamDataset
from seambench_tests.samples.fakes import MemoryScanner

REQUEST = ScanRequest(table="nowhere")
ROWS = 40


def source() -> pa.Table:
    """A table of every flat kind, each column with NULLs and repeated values."""

    def some(values: list[object], kind: pa.DataType, step: int) -> pa.Array:
        return pa.array([values[(i * step) % len(values)] for i in range(ROWS)], kind)

    def cents(*values: str | None) -> list[object]:
        return [None if v is None else decimal.Decimal(v) for v in values]

    def days(*values: str | None) -> list[object]:
        return [None if v is None else dt.date.fromisoformat(v) for v in values]

    words: list[object] = ["", "a", None, "b", "green", "ä%_", "a much longer text than twelve"]
    moments: list[object] = [None, dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 1)]
    return pa.table(
        {
            "i": some([1, 2, None, -3, 0, 7], pa.int64(), 1),
            "n": some([None, 5, -1], pa.int32(), 1),
            "q": some(cents("1.50", None, "-0.01", "0.00", "24.00"), pa.decimal128(15, 2), 1),
            "d": some(days("1995-01-01", "1970-01-01", None, "1998-12-01"), pa.date32(), 1),
            "s": some(words, pa.string(), 1),
            "e": some(["x", None, "y"], pa.string(), 1).dictionary_encode(),
            "f": some([1.5, None, float("nan"), -0.0, 0.0], pa.float64(), 1),
            "b": some([True, None, False], pa.bool_(), 1),
            "t": some(moments, pa.timestamp("us"), 1),
        }
    )


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that has the rows twice: `dataset` through the dataset, `plain` as a table."""
    with duckdb.connect() as connection:
        connection.register("rows", source())
        connection.execute("CREATE TABLE plain AS SELECT * FROM rows")
        connection.unregister("rows")
        connection.register("dataset", StreamDataset(MemoryScanner(source()), REQUEST))
        yield connection


def answer(con: duckdb.DuckDBPyConnection, table: str, what: str, where: str) -> list[str]:
    """Rows of a query as sorted text: NaN is then equal to itself."""
    query = f"SELECT {what} FROM {table} WHERE {where}"  # noqa: S608 - made by these tests
    return sorted(map(repr, con.execute(query).fetchall()))


LITERALS = {
    "i": ["1", "2", "0", "-3", "99", "NULL"],
    "n": ["5", "-1", "0", "NULL"],
    "q": ["1.50", "0", "-0.01", "0.005", "24", "NULL"],
    "d": ["DATE '1995-01-01'", "DATE '1970-01-01'", "DATE '2100-01-01'", "NULL"],
    "s": ["''", "'a'", "'b'", "'ä%_'", "'zzz'", "NULL"],
    "e": ["'x'", "'y'", "''", "NULL"],
    "f": ["1.5::DOUBLE", "0::DOUBLE", "'nan'::DOUBLE", "NULL"],
    "b": ["TRUE", "FALSE", "NULL"],
    "t": ["TIMESTAMP '2024-01-01'", "TIMESTAMP '2024-01-01 00:00:00.000001'", "NULL"],
}


@st.composite
def terms(draw: st.DrawFn) -> str:
    """One predicate over one column."""
    column = draw(st.sampled_from(sorted(LITERALS)))
    literal = st.sampled_from(LITERALS[column])
    shape = draw(st.sampled_from(["compare", "null", "in", "between", "distinct", "like"]))
    negation = draw(st.sampled_from(["", "NOT "]))
    if shape == "compare":
        operator = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
        return f"{column} {operator} {draw(literal)}"
    if shape == "null":
        return f"{column} IS {negation}NULL"
    if shape == "in":
        return f"{column} {negation}IN ({', '.join(draw(st.lists(literal, min_size=1)))})"
    if shape == "between":
        return f"{column} {negation}BETWEEN {draw(literal)} AND {draw(literal)}"
    if shape == "distinct":
        return f"{column} IS {negation}DISTINCT FROM {draw(literal)}"
    return f"s {negation}LIKE {draw(st.sampled_from(['%a%', 'a', '_', '', 'g%n', '%']))!r}"


PREDICATES = st.recursive(
    terms(),
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
        st.builds("(CASE WHEN {} THEN i > 0 ELSE NULL END)".format, inner),
    ),
    max_leaves=6,
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    where=PREDICATES, what=st.sampled_from(["*", "i", "s, q", "count(*)", "e, f", "1", "max(d)"])
)
def test_any_filter_gives_the_rows_of_a_plain_table(
    con: duckdb.DuckDBPyConnection, where: str, what: str
) -> None:
    """Whatever DuckDB pushes down or keeps, the rows are those of a plain table, NULLs included."""
    assert answer(con, "dataset", what, where) == answer(con, "plain", what, where)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT i FROM dataset", ["i"]),
        ("SELECT i FROM dataset WHERE q > 1.00", ["i", "q"]),
        ("SELECT sum(i) FROM dataset WHERE d < DATE '1996-01-01' AND s = 'a'", ["i", "d", "s"]),
    ],
)
def test_only_the_columns_needed_are_opened(query: str, columns: list[str]) -> None:
    """The reader sees the columns of the answer and of the filter, no more."""
    scanner = MemoryScanner(source())
    dataset = StreamDataset(scanner, REQUEST)
    with duckdb.connect() as con:
        con.register("dataset", dataset)
        con.execute(query).fetchall()
    assert list(scanner.opened[-1].columns or []) == columns


def test_filter_handed_over_is_not_applied_again() -> None:
    """DuckDB trusts a filter that it pushed down, so a dataset must apply all of it."""
    table = pa.table({"a": [1, 2, 3]})

    def careless(columns: list[str], _: pc.Expression | None) -> pa.RecordBatchReader:
        return table.select(columns).to_reader()

    with duckdb.connect() as con:
        con.register("dataset", ScanDataset(table.schema, careless))

        assert con.execute("SELECT count(*) FROM dataset WHERE a > 1").fetchall() == [(3,)]


def test_count_asks_for_one_narrow_column() -> None:
    """Counting rows reads one narrow column when the engine names none."""
    scanner = MemoryScanner(source())
    dataset = StreamDataset(scanner, REQUEST)
    assert dataset.scanner(columns=[]).to_table().num_rows == ROWS
    assert scanner.opened[-1].columns == ["b"]
    assert dataset.count_rows() == ROWS
    assert dataset.count_rows(filter=pc.field("i") == 1) == 7


def test_a_table_may_be_read_twice_in_one_query(con: duckdb.DuckDBPyConnection) -> None:
    """Each mention of the table in a query is a scan of its own."""
    query = "SELECT count(*) FROM {0} a JOIN {0} b ON a.i = b.n WHERE a.q > 0"
    expected = con.execute(query.format("plain")).fetchall()
    assert con.execute(query.format("dataset")).fetchall() == expected


def test_limit_stops_a_stream_early() -> None:
    """A reader that is not drained is closed, and the query ends."""
    closed = []
    schema = pa.schema([("a", pa.int64())])

    def endless() -> Iterator[pa.RecordBatch]:
        try:
            while True:
                yield pa.record_batch({"a": list(range(1000))})
        finally:
            closed.append(True)

    dataset = ScanDataset(schema, lambda *_: pa.RecordBatchReader.from_batches(schema, endless()))
    with duckdb.connect() as con:
        con.register("dataset", dataset)

        assert con.execute("SELECT a FROM dataset LIMIT 2").fetchall() == [(0,), (1,)]
    assert closed == [True]


def test_a_query_that_stops_early_leaves_nothing_running() -> None:
    """The interpreter ends cleanly after a LIMIT over a reader that has much more to give."""
    program = """
import time, duckdb, pyarrow as pa
from seambase.dataset import ScanDataset
from seambase.filters import apply_filter
schema = pa.schema([("a", pa.int64())])
def slow():
    while True:
        time.sleep(0.01)
        yield pa.record_batch({"a": list(range(5000))})
def open_stream(columns, condition):
    return apply_filter(pa.RecordBatchReader.from_batches(schema, slow()), condition, columns)
con = duckdb.connect()
con.register("dataset", ScanDataset(schema, open_stream))
print(con.sql("SELECT a FROM dataset WHERE a > 1 LIMIT 1").to_arrow_reader().read_all().num_rows)
con.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize("rows", [0, 1, 3, ROWS, ROWS + 1])
def test_head_reads_no_further(rows: int) -> None:
    """`head` gives the first rows, `take` chosen ones, and `to_batches` respects a size."""
    dataset = StreamDataset(MemoryScanner(source()), REQUEST)
    assert dataset.head(rows, columns=["i"]) == source().select(["i"]).slice(0, rows)
    assert dataset.take([3, 1], columns=["i"]) == source().select(["i"]).take([3, 1])
    assert {batch.num_rows for batch in dataset.to_batches(columns=["i"], batch_size=1)} == {1}


@pytest.mark.parametrize(
    "expression",
    [
        pc.field("i") > 1,
        ~(pc.field("i") > 1),
        pc.field("s").is_null(),
        pc.field("e") == "x",
        pc.field("i").isin([1, 2]) | (pc.field("n") == 5),
        pc.field("d") <= dt.date(1995, 1, 1),
    ],
    ids=str,
)
def test_polars_and_pyarrow_get_the_same_rows(expression: pc.Expression) -> None:
    """Polars and pyarrow's own calls see exactly the rows of the table."""
    dataset = StreamDataset(MemoryScanner(source()), REQUEST)
    expected = source().filter(expression).select(["i", "s"])
    assert dataset.to_table(columns=["i", "s"], filter=expression) == expected
    assert dataset.filter(expression).to_table(columns=["i", "s"]) == expected
    frame = pl.scan_pyarrow_dataset(dataset.filter(expression)).select("i", "s").collect()
    assert frame.rows() == [tuple(row.values()) for row in expected.to_pylist()]


def test_polars_pushes_down(con: duckdb.DuckDBPyConnection) -> None:
    """A Polars filter gives the rows that SQL gives."""
    frame = pl.scan_pyarrow_dataset(StreamDataset(MemoryScanner(source()), REQUEST))
    rows = frame.filter((pl.col("i") > 0) & pl.col("s").is_not_null()).select("i", "s").collect()
    expected = con.execute("SELECT i, s FROM plain WHERE i > 0 AND s IS NOT NULL").fetchall()
    assert sorted(rows.rows()) == sorted(expected)


def test_views_become_strings() -> None:
    """A reader that hands out string views is shown, and filtered, as plain strings."""
    views = pa.table({"s": pa.array(["a", None, "b"]).cast(pa.string_view()), "i": [1, 2, 3]})
    dataset = StreamDataset(MemoryScanner(views), REQUEST)
    with duckdb.connect() as con:
        con.register("dataset", dataset)
        assert dataset.schema.field("s").type == pa.string()
        assert con.execute("SELECT i FROM dataset WHERE s = 'b'").fetchall() == [(3,)]


def test_views_are_refused_where_nobody_casts_them() -> None:
    """A schema with views would switch push-down off without a word, so it is refused."""
    schema = pa.schema([("s", pa.string_view())])
    with pytest.raises(RefusedError, match="'s' is a string_view"):
        ScanDataset(schema, lambda *_: schema.empty_table().to_reader())


def test_a_decimal_is_compared_with_decimals() -> None:
    """Arrow compares decimals with no plain int; what to write instead is said."""
    schema = pa.schema([("d", pa.decimal128(15, 2))])
    assert filter_columns(pc.field("d") > decimal.Decimal(5), schema) == ["d"]
    with pytest.raises(UsageError, match=r"write decimal\.Decimal\('5'\) for 5"):
        filter_columns(pc.field("d") > 5, schema)


def test_filter_columns_names_what_a_filter_reads() -> None:
    """Exactly the columns that the expression mentions, in the order of the schema."""
    schema = source().schema
    assert filter_columns(None, schema) == []
    assert filter_columns((pc.field("s") == "a") & pc.field("i").is_null(), schema) == ["i", "s"]


@pytest.mark.parametrize("text", [None, "", "is_in(...)"])
def test_filter_columns_of_thousands_take_few_looks(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether an expression names its columns in its text or not, few bindings find them."""
    schema = pa.schema([(f"c{number}", pa.int64()) for number in range(5000)])
    looks, bind = [], filters._binding_problem

    def look(*own: Any) -> str | None:
        looks.append(own)
        return bind(*own)

    monkeypatch.setattr(filters, "_binding_problem", look)
    if text is not None:
        monkeypatch.setattr(filters, "filter_text", lambda _: text)
    condition = (pc.field("c4321") > 5) & pc.field("c7").isin([1]) & (pc.field("c4999") < 3)
    assert filter_columns(condition, schema) == ["c7", "c4321", "c4999"]
    assert len(looks) < 100


def test_apply_filter_leaves_unknown_rows_out() -> None:
    """A row whose filter is NULL is left out, and a projection to nothing keeps the count."""
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", "z"]})
    kept = apply_filter(table.to_reader(), pc.field("a") < 3, ["b"]).read_all()
    assert kept.to_pydict() == {"b": ["x"]}
    assert apply_filter(table.to_reader(), pc.field("a").is_valid(), []).read_all().num_rows == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"columns": ["absent"]}, "there is no column 'absent'"),
        ({"columns": {"x": pc.field("i")}}, "list of names"),
        ({"filter": pc.field("absent") == 1}, "does not fit"),
        ({"filter": pc.field("s") > pa.scalar(1, pa.int64())}, "does not fit"),
    ],
)
def test_a_wrong_request_is_refused(arguments: dict[str, Any], reason: str) -> None:
    """Unknown columns and filters that do not bind raise before anything is read."""
    dataset = StreamDataset(MemoryScanner(source()), REQUEST)
    with pytest.raises(UsageError, match=reason):
        dataset.scanner(**arguments)


@pytest.mark.parametrize("name", ["get_fragments", "sort_by", "join", "join_asof"])
def test_what_needs_fragments_is_refused(name: str) -> None:
    """Calls that would reach for a missing C++ dataset raise instead of crashing."""
    dataset = StreamDataset(MemoryScanner(source()), REQUEST)
    with pytest.raises(RefusedError, match=name):
        getattr(dataset, name)()
    with pytest.raises(RefusedError, match="replace_schema"):
        dataset.replace_schema(dataset.schema)
    with pytest.raises(RefusedError, match="pickling"):
        pickle.dumps(dataset)


def test_the_readers_own_error_comes_through() -> None:
    """A reader that fails half way fails the query with its own sentence, not the engine's."""
    scanner = MemoryScanner(source())
    scanner.fails_with = InputError("base.parquet: footer is cut off at byte 12")
    dataset = StreamDataset(scanner, REQUEST)
    with duckdb.connect() as con:
        con.register("dataset", dataset)
        with pytest.raises(InputError, match="cut off at byte 12"), original_errors(dataset):
            con.execute("SELECT sum(i) FROM dataset").fetchall()


def test_a_stream_of_other_columns_is_an_error() -> None:
    """A callback that hands out other columns than asked for is told so."""
    table = pa.table({"a": [1], "b": [2]})
    dataset = ScanDataset(table.schema, lambda *_: table.to_reader())
    with pytest.raises(SeambenchError, match=r"asked for columns \['b'\]"):
        dataset.to_table(columns=["b"])


def test_reports_add_up() -> None:
    """The dataset's report counts the slices and rows of every scan it opened."""
    dataset = StreamDataset(MemoryScanner(source()), REQUEST)
    dataset.to_table(columns=["i"])
    dataset.to_table(columns=["s"])
    assert dataset.report().paths == {"memory": 2}
    assert dataset.report().rows == 2 * ROWS

"""Spark SQL over native batches: values, plans, and every handle released once, come what may."""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambench_tests.samples.documents import python_blocks
from seamkit.spark import NativeSpark
from seamkit.spark.session import own_error
from seamkit_tests.samples.batch_scan import BatchScan
from seamkit_tests.samples.hive_tables import text_table
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.pyspark_marks import QUIET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.jvm, *QUIET]

_ZONE = pa.timestamp("us", "UTC")
ROWS = pa.RecordBatch.from_pydict(
    {
        "id": pa.array(range(300), pa.int64()),
        "flag": pa.array([True, None, False] * 100),
        "tiny": pa.array([-128, 127, None] * 100, pa.int8()),
        "small": pa.array([None, -32768, 7] * 100, pa.int16()),
        "real": pa.array([1.5, float("inf"), None] * 100, pa.float32()),
        "price": pa.array([Decimal("-1.25"), None, Decimal("99999.99")] * 100, pa.decimal128(7, 2)),
        "wide": pa.array([Decimal(-1), Decimal(10**37), None] * 100, pa.decimal128(38, 0)),
        "text": pa.array(["", "naïve", None] * 100),
        "raw": pa.array([b"\xff\x00", b"", None] * 100),
        "day": pa.array([dt.date(1969, 12, 31), None, dt.date(2024, 2, 29)] * 100),
        "at": pa.array([0, -1, None] * 100, pa.int64()).cast(_ZONE),
        "clock": pa.array([None, 1, 2] * 100, pa.int64()).cast(pa.timestamp("us")),
        "list": pa.array([[1, None], [], None] * 100, pa.list_(pa.int32())),
        "map": pa.array([[("k", 1)], [], None] * 100, pa.map_(pa.string(), pa.int64())),
        "both": pa.array([{"a b": 1, "c": "x"}, None, {"a b": None, "c": None}] * 100),
    }
)


@pytest.fixture(scope="module", params=["native", "arrow"])
def spark(request: pytest.FixtureRequest) -> Iterator[NativeSpark]:
    """Spark in this process, with either backend; skipped without a Java.

    Its converters take few rows a call, and make small batches.
    """
    with OrSkipped():
        native = NativeSpark(
            threads=2,
            threshold_bytes=8192,
            batch_rows=70,
            backend=request.param,
            # So small a table is kept in columns that Spark's own code reads.
            conf={"spark.sql.inMemoryColumnarStorage.enableVectorizedReader": "true"},
        )
    with native:
        yield native


def _operators(spark: NativeSpark, frame: DataFrame) -> list[str]:
    """Names of the operators in the plan that gives a frame's batches, from the top."""
    lines = spark.explain(frame).split("+- == Initial Plan ==")[0].splitlines()
    found = [re.sub(r"^[ +:*()0-9-]*", "", line).split() for line in lines]
    return [words[0] for words in found if words]


def _is_native(spark: NativeSpark) -> bool:
    """Whether a session's batches lie behind handles."""
    return _operators(spark, spark.session.range(1))[0] == "NativeRowToColumnar"


@pytest.fixture(autouse=True)
def _all_released(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test every handle is closed, and every reader and converter ended."""
    yield
    spark = request.getfixturevalue("spark")
    deadline = time.monotonic() + 30  # tasks of a job that failed may still be ending
    while spark.in_use() and time.monotonic() < deadline:
        time.sleep(0.01)
    counters = spark.handles.counters()
    assert spark.in_use() == 0
    assert counters.closed == counters.opened
    assert counters.released == counters.opened + counters.retained


def scan(*parts: Sequence[pa.RecordBatch]) -> BatchScan:
    """A scan of some parts of batches."""
    return BatchScan(parts[0][0].schema, *(lambda part=part: part for part in parts))


def test_every_type_comes_through(spark: NativeSpark) -> None:
    """What Spark collects, and what comes back as Arrow, are the rows of the scan."""
    frame = spark.register("typed", scan([ROWS.slice(0, 100)], [ROWS.slice(100), ROWS.slice(0, 0)]))
    back = spark.to_arrow(frame)
    assert back.to_pylist() == ROWS.to_pylist()
    rows = spark.session.sql("SELECT id, price, wide, text, day, list FROM typed").collect()
    names = ["id", "price", "wide", "text", "day", "list"]
    assert [row.asDict() for row in rows] == ROWS.select(names).to_pylist()


def test_the_plan_has_the_native_operators(spark: NativeSpark) -> None:
    """`explain` shows them where Spark would have put its own."""
    frame = spark.register("planned", scan([ROWS])).filter("id > 3").select("text")
    native = ["NativeRowToColumnar", "Project", "Filter", "NativeColumnarToRow", "BatchScan"]
    # Spark's operator stands in a stage of compiled code, above which is a line of its own.
    arrow = ["ArrowRowToColumnar", "Project", "Filter", "ColumnarToRow", "BatchScan"]
    assert _operators(spark, frame) == (native if _is_native(spark) else arrow)


def test_what_a_scan_gives_leaves_as_it_is(spark: NativeSpark) -> None:
    """Where nothing changes a scan's batches they are not turned into rows and back."""
    frame = spark.register("passed", scan([ROWS.slice(0, 9), ROWS.slice(9)])).select("id", "text")
    assert _operators(spark, frame) == ["BatchScan"]
    assert spark.to_arrow(frame).to_pylist() == ROWS.select(["id", "text"]).to_pylist()


def test_scans_that_are_put_together(spark: NativeSpark) -> None:
    """Spark hands batches of a union on as they are, which the operator above has to know."""
    spark.register("first", scan([ROWS.slice(0, 5)]))
    spark.register("second", scan([ROWS.slice(5, 20)], [ROWS.slice(25)]))
    frame = spark.session.sql("SELECT * FROM first UNION ALL SELECT * FROM second")
    assert "Union" in _operators(spark, frame)
    assert spark.to_arrow(frame).to_pylist() == ROWS.to_pylist()
    assert [row["id"] for row in frame.collect()] == list(range(300))
    count = spark.session.sql("SELECT sum(id) FROM (SELECT * FROM first UNION ALL TABLE second)")
    assert count.collect()[0][0] == sum(range(300))


def test_rows_become_batches_within_a_plan(spark: NativeSpark) -> None:
    """A union of a scan and of a table that Spark keeps in columns of its own has one kind."""
    names = ["id", "small", "real"]
    spark.register("ours", scan([ROWS.slice(0, 200)]))
    kept = spark.register("others", scan([ROWS.slice(200)])).select(*names).cache()
    assert kept.count() == 100
    kept.createOrReplaceTempView("kept")
    frame = spark.session.table("ours").select(*names).unionAll(spark.session.table("kept"))
    want = duckdb.from_arrow(ROWS).select(", ".join(names))
    totals = ["sum(id) AS a", "count(small) AS b", "max(id) AS c"]
    for wanted, rows in (
        (frame, want),
        (frame.selectExpr(*totals), want.aggregate(", ".join(totals))),
    ):
        assert [tuple(row) for row in wanted.collect()] == rows.fetchall()
        found = [tuple(row.values()) for row in spark.to_arrow(wanted).to_pylist()]
        assert found == rows.fetchall()
    operators = _operators(spark, frame)
    own = "NativeRowToColumnar" if _is_native(spark) else "ArrowRowToColumnar"
    assert own in operators[operators.index("Union") :]
    kept.unpersist(blocking=True)


def test_plans_that_change_as_they_run_end_in_batches(spark: NativeSpark) -> None:
    """Spark itself asks for batches on top of such a plan, and gets the backend's."""
    spark.register("grouped", scan([ROWS.slice(0, 100)], [ROWS.slice(100)]))
    frame = spark.session.sql("SELECT text, count(*) AS n, sum(price) AS p FROM grouped GROUP BY 1")
    want = duckdb.from_arrow(ROWS).aggregate("text, count(*) AS n, sum(price) AS p", "text")
    found = spark.to_arrow(frame).to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, want.to_arrow_table().to_pylist()))
    operators = _operators(spark, frame)
    assert operators[0] == "AdaptiveSparkPlan"
    assert ("NativeRowToColumnar" if _is_native(spark) else "ArrowRowToColumnar") in operators
    assert "RowToColumnar" not in operators


def test_plain_sources_keep_sparks_own_operator(spark: NativeSpark, tmp_path: object) -> None:
    """The rule changes nothing where batches are not native."""
    path = f"{tmp_path}/plain"
    spark.session.range(10).write.parquet(path)
    frame = spark.session.read.parquet(path)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "NativeColumnarToRow" not in plan
    assert "ColumnarToRow" in plan
    assert sorted(spark.to_arrow(frame).column("id").to_pylist()) == list(range(10))


def test_batches_without_columns_or_rows(spark: NativeSpark) -> None:
    """A batch without columns has no handle and counts; one without rows gives none."""
    spark.register("counted", scan([ROWS, ROWS.slice(0, 0)], [ROWS.slice(0, 7)]))
    assert spark.session.sql("SELECT count(*) FROM counted").collect()[0][0] == 307
    assert spark.to_arrow(spark.session.sql("SELECT * FROM counted WHERE id < 0")).num_rows == 0
    none = spark.to_arrow(spark.session.table("counted").select())
    assert (none.num_rows, none.num_columns) == (307, 0)


def test_lists_of_nothing_need_no_offsets_within(spark: NativeSpark) -> None:
    """Where all lists are empty, Arrow lets the array of their items go without any buffer."""
    bare = pa.Array.from_buffers(pa.string(), 0, [None, None, pa.py_buffer(b"")])
    inner = pa.Array.from_buffers(pa.list_(pa.string()), 0, [None, None], children=[bare])
    columns = [
        pa.ListArray.from_arrays(pa.array([0, 0, 0], pa.int32()), one) for one in (bare, inner)
    ]
    spark.register("bare", scan([pa.record_batch(columns, ["texts", "lists"])]))
    rows = spark.session.sql("SELECT texts, lists FROM bare").collect()
    assert [tuple(row) for row in rows] == [([], []), ([], [])]


@pytest.mark.parametrize(
    "condition",
    [
        *("id = 7", "id < 7", "id <= 7 AND day IS NOT NULL", "id > 290 OR text = 'naïve'"),
        *("day >= DATE '2000-01-01'", "price > 5", "real > 1", "text IN ('', 'x')", "tiny = 127"),
        *("id = 6 AND flag", "NOT (id > 5)", "text >= '' AND small IS NULL"),
    ],
)
def test_filters_that_travel_to_the_reader_lose_nothing(spark: NativeSpark, condition: str) -> None:
    """The rows are those that another engine finds among all rows."""
    frame = spark.register("filtered", scan([ROWS])).filter(condition).select("id")
    want = duckdb.from_arrow(ROWS).filter(condition).select("id").fetchall()
    assert want
    assert sorted(tuple(row) for row in frame.collect()) == sorted(want)


def test_a_limit_ends_readers_early(spark: NativeSpark) -> None:
    """A task that wants no more rows ends its reader, its converter and its last handle."""
    endless = BatchScan(ROWS.schema, _endless(lambda: None))
    frame = spark.register("endless", endless)
    assert len(frame.limit(3).collect()) == 3
    assert spark.to_arrow(frame.limit(5)).num_rows == 5


def _endless(look: Callable[[], None]) -> Callable[[], Iterator[pa.RecordBatch]]:
    def batches() -> Iterator[pa.RecordBatch]:
        while True:
            look()
            yield ROWS

    return batches


def test_an_error_of_a_reader_keeps_its_class_and_sentence(spark: NativeSpark) -> None:
    """The part that breaks ends the query; handles of the other parts go back."""

    def broken() -> Iterator[pa.RecordBatch]:
        yield ROWS
        raise InputError("file x: it ends at byte 7")

    frame = spark.register("broken", BatchScan(ROWS.schema, lambda: [ROWS], broken))
    with pytest.raises(InputError, match=r"^file x: it ends at byte 7$"):
        spark.to_arrow(frame)


def test_python_is_asked_once_a_task(spark: NativeSpark, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many batches a task has, it opens and ends what it needs once."""
    asked: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        method = getattr(spark._calls, name)

        def call(*arguments: Any) -> Any:
            asked[name] += 1
            return method(*arguments)

        return call

    for name in ("openPart", "closePart", "openConverter", "keep", "vectorsToColumns"):
        monkeypatch.setattr(spark._calls, name, counted(name))
    frame = spark.register("often", scan([ROWS] * 40)).filter("id > 3").select("text")
    assert spark.to_arrow(frame).num_rows == 40 * 296
    own = asked.pop("vectorsToColumns", 0)
    assert (own == 0) is _is_native(spark)
    once = {"openPart": 1, "closePart": 1, "keep": 1}
    assert asked == ({**once, "openConverter": 2} if _is_native(spark) else once)


def test_what_the_core_refuses_java_throws(spark: NativeSpark) -> None:
    """A native method throws the error that Python has, by its class and sentence."""
    code = spark._classes.java_class("seamkit.NativeCode")
    for use in (code.retain, code.release, code.arrowArray):
        with pytest.raises(spark._classes.jpype.JException) as caught:
            use(code.batches, 1 << 40)
        told = own_error(caught.value)
        assert isinstance(told, UsageError)
        assert str(told) == f"there never was a handle {1 << 40}"
    kept, code.batches = code.batches, 0  # as once the session has ended
    try:
        with pytest.raises(spark._classes.jpype.JException, match="no session"):
            code.handles()
    finally:
        code.batches = kept


def test_text_that_is_none_is_refused(spark: NativeSpark) -> None:
    """Spark takes any bytes for text where it is told to; Arrow's columns hold UTF-8 alone."""
    frame = spark.session.sql("SELECT CAST(X'61FF' AS STRING) AS t")
    with pytest.raises(InputError, match=r"(?i)utf-?8"):
        spark.to_arrow(frame)


def test_what_a_backend_has_no_vector_for_is_refused(spark: NativeSpark) -> None:
    """Arrow's Java library has none of Spark's calendar intervals; rows hold them."""
    frame = spark.session.sql("SELECT make_interval(1, 2, 0, 3) AS gap")
    if _is_native(spark):
        assert spark.to_arrow(frame).num_rows == 1
    else:
        with pytest.raises(RefusedError, match=r"column gap: .* interval"):
            spark.to_arrow(frame)


def test_an_error_of_a_query_frees_what_was_made(spark: NativeSpark) -> None:
    """Spark's own errors come as one sentence, from whichever task."""
    spark.register("asserted", scan([ROWS], [ROWS]))
    query = "SELECT id, assert_true(id < 250, 'too many') FROM asserted"
    with pytest.raises(SeambenchError, match="too many"):
        spark.to_arrow(spark.session.sql(query))


def test_cancelled_queries_free_what_was_made(spark: NativeSpark) -> None:
    """Tasks that are cancelled while they read end their readers, and keep nothing."""
    reading = threading.Event()
    frame = spark.register("cancelled", BatchScan(ROWS.schema, _endless(reading.set)))
    caught: list[BaseException] = []

    def run() -> None:
        try:
            spark.to_arrow(frame)
        except SeambenchError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert reading.wait(60)
    while not caught and thread.is_alive():
        spark.session.sparkContext.cancelAllJobs()
        thread.join(0.1)
    thread.join()
    assert "cancelled" in str(caught[0])


def test_what_spark_has_no_type_for_is_refused(spark: NativeSpark) -> None:
    """By the column's name, before anything is read."""
    rows = pa.RecordBatch.from_pydict({"n": pa.array([1], pa.uint64())})
    with pytest.raises(RefusedError, match="'n'"):
        spark.register("refused", scan([rows]))


def test_a_backend_that_is_none_is_refused(spark: NativeSpark) -> None:
    """By its name, whatever session there is."""
    del spark
    with pytest.raises(UsageError, match=r"velox.*native, arrow"):
        NativeSpark(backend="velox")  # type: ignore[arg-type]


def test_one_session_at_a_time(spark: NativeSpark) -> None:
    """A process has one Spark; a second is refused and the first goes on."""
    with pytest.raises(UsageError, match="already"):
        NativeSpark()
    assert spark.session.range(3).count() == 3


def test_the_documents_block_runs(
    spark: NativeSpark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """docs/spark.md's second block, in the session that there is, as a process has but one."""
    monkeypatch.setattr("seamkit.spark.NativeSpark", lambda: nullcontext(spark))
    folder = text_table(tmp_path, {"o_orderpriority": "string"}, "1-URGENT\n5-LOW\n5-LOW\n")
    block = python_blocks("docs/spark.md")[1]
    names: dict[str, Any] = {}
    exec(block.replace("/data/orders", str(folder)), names)  # noqa: S102
    shown = capsys.readouterr().out
    assert ("NativeColumnarToRow" if _is_native(spark) else "ColumnarToRow") in shown
    rows = sorted(tuple(row.values()) for row in names["table"].to_pylist())
    assert rows == [("1-URGENT", 1), ("5-LOW", 2)]

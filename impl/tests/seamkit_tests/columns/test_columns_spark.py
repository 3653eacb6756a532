"""Off-heap tables across the border to Spark's classes in this process, both ways."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench_impl.peers.spark.rows import SparkJvmSerde
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.decode import slots
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind, arrow_type, parse
from seamkit.offheap.engine.columns import EngineSchema, fill
from seamkit_tests.samples.column_values import column_values
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.spark_batch import SparkBatch

pytestmark = pytest.mark.jvm

_LONG = "naïve 日本 😀" * 9

#: Plain values of a column by its type string. Spark's getter for the type comes first.
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "boolean": ("getBoolean", [True, None, False]),
    "tinyint": ("getByte", [0, 127, None, -128]),
    "smallint": ("getShort", [0, 32767, None, -32768]),
    "int": ("getInt", [0, 2**31 - 1, None, -(2**31)]),
    "bigint": ("getLong", [0, 2**63 - 1, None, -(2**63)]),
    "float": ("getFloat", [0.0, 1.5, None, float("-inf")]),
    "double": ("getDouble", [0.0, 5e-324, None, float("inf")]),
    "date": ("getInt", [date(1970, 1, 1), date(1, 1, 1), None, date(9999, 12, 31)]),
    "timestamp": ("getLong", [datetime(1970, 1, 1), None, datetime(1969, 12, 31, 23, 59, 59, 1)]),
    "timestamp-micros": ("getLong", [datetime(1, 1, 1), None, datetime(9999, 12, 31, 23, 59)]),
    "timestamp-millis": ("getLong", [datetime(2020, 1, 1, 0, 0, 1), None]),
    "decimal(5,2)": ("", [Decimal("0.00"), None, Decimal("-999.99")]),
    "decimal(18,0)": ("", [Decimal(10**18 - 1), None, Decimal(-1)]),
    "decimal(38,4)": ("", [Decimal("-0.0004"), None, Decimal("9" * 34 + ".9999")]),
    "string": ("", ["", None, "a", _LONG]),
    "varchar(9)": ("", ["", None, "ninechars"]),
    "binary": ("", [b"", None, b"\x00\xff"]),
    "array<int>": ("", [[1, None, 3], None, [], [4]]),
    "array<array<string>>": ("", [[["a"], None, []], None, [[None, _LONG]]]),
    "map<string,bigint>": ("", [[("a", 1), ("b", None)], None, [], [("c", -1)]]),
    "map<int,array<date>>": ("", [[(1, [date(2020, 1, 1), None])], [(2, None)]]),
    "struct<a:int,b:string>": ("", [{"a": 1, "b": "x"}, None, {"a": None, "b": ""}]),
    "struct<a:struct<b:struct<c:decimal(38,4)>>>": (
        "",
        [{"a": {"b": {"c": Decimal("1.0000")}}}, {"a": None}, None, {"a": {"b": None}}],
    ),
    "array<map<string,struct<x:timestamp,y:array<boolean>>>>": (
        "",
        [[[("k", {"x": datetime(2020, 1, 1), "y": [True, None]})], None, []], None],
    ),
    "variant": ("", [{"metadata": b"\x01", "value": b""}, None]),
}
EPOCH = datetime(1970, 1, 1)


@pytest.fixture(scope="module", autouse=True)
def _spark() -> None:
    """Without a Java the tests are skipped by name."""
    with OrSkipped():
        SparkJvmSerde()


def rows_of(text: str, zero_rows: bool) -> pa.RecordBatch:
    """A batch of one column, `c0`."""
    values = [] if zero_rows else COLUMNS[text][1]
    return pa.RecordBatch.from_arrays([pa.array(values, arrow_type(parse(text)))], names=["c0"])


@pytest.mark.parametrize("zero_rows", [False, True])
@pytest.mark.parametrize("off_heap", [False, True])
@pytest.mark.parametrize("text", sorted(COLUMNS))
def test_spark_reads_our_table(
    text: str, off_heap: bool, zero_rows: bool, allocator: TrackedAllocator
) -> None:
    """What the core laid out, Spark's Platform finds behind the addresses of the meta chain."""
    expected = rows_of(text, zero_rows)
    with OffHeapTable([parse(text)], 1, allocator) as table:
        table.append_batch(expected)
        batch = SparkBatch.from_table(table, off_heap=off_heap)
    with batch:
        assert batch.num_rows == expected.num_rows
        assert batch.to_arrow() == expected


@pytest.mark.parametrize("zero_rows", [False, True])
@pytest.mark.parametrize("text", sorted(COLUMNS))
def test_we_read_a_table_that_java_wrote(
    text: str, zero_rows: bool, allocator: TrackedAllocator
) -> None:
    """What Java laid out with Platform, the engine side and the plain decoder find."""
    expected = rows_of(text, zero_rows)
    column = parse(text)
    with SparkBatch.from_arrow([column], expected) as batch, batch.to_table() as table:
        chain = table.chain()
        found = fill(chain, EngineSchema(expected.schema, [column]), allocator)
        num_rows, parts = slots(chain.address, [column])
        plain = column_values(num_rows, column, parts)
    assert found == expected
    assert pa.array(plain, expected.schema.field(0).type) == expected.column(0)
    del found


@pytest.mark.parametrize("text", [text for text, (getter, _) in COLUMNS.items() if getter])
def test_getters_of_spark_give_the_values(text: str, allocator: TrackedAllocator) -> None:
    """Dates are days and timestamps microseconds since 1970; the rest are the plain values."""
    getter, values = COLUMNS[text]
    with OffHeapTable([parse(text)], 1, allocator) as table:
        table.append_batch(rows_of(text, False))
        batch = SparkBatch.from_table(table)
    with batch:
        for index, value in enumerate(values):
            row = batch.java.getRow(index)
            assert row.isNullAt(0) == (value is None)
            if isinstance(value, datetime):
                assert row.getLong(0) == (value - EPOCH) // (datetime.resolution)
            elif isinstance(value, date):
                assert row.getInt(0) == (value - EPOCH.date()).days
            elif value is not None:
                assert getattr(row, getter)(0) == value


def test_time_is_seconds_and_a_missing_column_is_void(allocator: TrackedAllocator) -> None:
    """Spark has no type for a time of day: its double keeps the column's own seconds."""
    times = pa.array([0, 86399999, None], pa.int32()).view(pa.time32("ms"))
    with OffHeapTable([parse("time"), UNKNOWN], 3, allocator) as table:
        table.append_arrow(0, times)
        table.num_rows = 3
        batch = SparkBatch.from_table(table, ["t", "gone"])
    with batch:
        found = batch.to_arrow()
        with batch.to_table() as java:
            rows, parts = slots(java.chain().address, [parse("time"), UNKNOWN])
    assert found.to_pydict() == {"t": [0.0, 86399.999, None], "gone": [None] * 3}
    assert column_values(rows, parse("time"), parts[:2]) == [0.0, 86399.999, None]
    assert parts[2].content is None


@pytest.mark.parametrize("kind", [Kind.DECIMAL32, Kind.DECIMALV2])
def test_decimals_of_other_widths(kind: Kind) -> None:
    """Decimals of 4 bytes and decimalv2 have no type string, but engines have them."""
    column = ColumnType(kind, 9, 2)
    values = pa.array([Decimal("-1.50"), None, Decimal("9999999.99")], pa.decimal128(9, 2))
    with (
        SparkBatch.from_arrow([column], pa.RecordBatch.from_arrays([values], ["d"])) as batch,
        batch.to_table() as table,
    ):
        rows, parts = slots(table.chain().address, [column])
    assert column_values(rows, column, parts) == values.to_pylist()


def test_sixteen_columns_become_unsafe_rows(allocator: TrackedAllocator) -> None:
    """Rows that Spark projects from an off-heap table hold the table's values."""
    texts = [text for text in COLUMNS if text not in ("timestamp", "variant")]
    batches = [rows_of(text, False).slice(0, 2) for text in texts]
    whole = pa.RecordBatch.from_arrays([one.column(0) for one in batches], names=texts)
    with OffHeapTable([parse(text) for text in texts], 2, allocator) as table:
        table.append_batch(whole)
        batch = SparkBatch.from_table(table, texts)
    with batch:
        data = batch.to_unsafe_rows()
        assert len(data) % 8 == 0
        assert batch.to_arrow() == whole


def test_no_columns_but_rows(allocator: TrackedAllocator) -> None:
    """`count(*)` needs no column."""
    with OffHeapTable([], 0, allocator) as table:
        table.num_rows = 7
        batch = SparkBatch.from_table(table)
    with batch, batch.to_table() as java:
        assert batch.num_rows == 7
        assert batch.to_arrow().num_rows == 7
        assert fill(java.chain(), EngineSchema(pa.schema([])), allocator).num_rows == 7


def test_a_released_table_has_no_chain() -> None:
    """Memory that went back is not handed out again; giving it back twice is harmless."""
    with SparkBatch.from_arrow([parse("int")], rows_of("int", False)) as batch:
        table = batch.to_table()
        table.release()
        table.release()
        with pytest.raises(UsageError, match="released"):
            table.chain()


def test_what_spark_cannot_hold_is_refused(allocator: TrackedAllocator) -> None:
    """A decimal of more digits than its type has, and types that Spark lacks, are named."""
    wide = pa.array([Decimal(123456)], pa.decimal128(18, 0))
    with OffHeapTable([ColumnType(Kind.DECIMAL64, 18, 0)], 1, allocator) as table:
        table.append_batch(pa.RecordBatch.from_arrays([wide], ["d"]))
        table.types = (ColumnType(Kind.DECIMAL64, 5, 0),)
        with pytest.raises(InputError, match="cannot hold"):
            SparkBatch.from_table(table)
    half = ColumnType.map(parse("int"), None)
    with pytest.raises(RefusedError, match="no column"):
        SparkBatch.from_arrow([half], rows_of("int", True))
    with pytest.raises(UsageError, match="'c0'"):
        SparkBatch.from_arrow([parse("int")], rows_of("string", False))

"""Off-heap tables: both ways of appending, and the way back through the chain."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import Chain, OffHeapTable
from seamkit.offheap.columns.types import ColumnType, from_arrow, parse
from seamkit.offheap.connector.append import bind
from seamkit.offheap.engine.columns import EngineSchema, fill, move

INT = EngineSchema(pa.schema([("c", pa.int32())]))


def _append(table: OffHeapTable, index: int, items: list[Any]) -> None:
    appender = bind(table, index, f"c{index}")
    for item in items:
        appender.put(item)
    appender.flush()


def _through(column: ColumnType, array: Any, wanted: Any, allocator: TrackedAllocator) -> Any:
    """A column that went into a table and out of its chain, as a type of Arrow's."""
    with OffHeapTable([column], len(array), allocator) as table:
        table.append_arrow(0, array)
        table.num_rows = len(array)
        batch = fill(table.chain(), EngineSchema(pa.schema([("c", wanted)])), allocator)
    batch.validate(full=True)
    assert batch.schema.field("c").type == wanted
    return batch.column(0)


@pytest.mark.parametrize(
    ("arrow", "text", "values", "stored"),
    [
        (pa.timestamp("s"), "timestamp-millis", [0, -1], [0, -1_000_000]),
        (pa.timestamp("ms"), "timestamp-millis", [1, -1], [1000, -1000]),
        (pa.timestamp("ns"), "timestamp-micros", [1999, -1], [1, -1]),
        (pa.timestamp("us", "UTC"), "timestamp-micros", [5, -5], [5, -5]),
    ],
    ids=str,
)
def test_timestamp_units(
    allocator: TrackedAllocator, arrow: Any, text: str, values: list[int], stored: list[int]
) -> None:
    """Any unit becomes microseconds; what is finer is cut towards the past, as StarRocks does."""
    assert str(from_arrow(arrow)) == text
    moments = pa.array(values, pa.int64()).cast(arrow)
    found = _through(from_arrow(arrow), moments, pa.timestamp("us"), allocator)
    assert found.cast(pa.int64()).to_pylist() == stored


@pytest.mark.parametrize("arrow", [pa.large_string(), pa.string_view(), pa.string()], ids=str)
def test_other_dresses_of_strings(allocator: TrackedAllocator, arrow: Any) -> None:
    """Large strings and views go in as strings and come out as what the schema asks for."""
    values = ["a", None, "", "a string that is longer than a view holds"]
    found = _through(parse("string"), pa.array(values, arrow), arrow, allocator)
    assert found.to_pylist() == values


def test_columns_release_as_they_are_filled(allocator: TrackedAllocator) -> None:
    """Each column goes back once it is copied, so two of three never live twice."""
    rows = 10_000
    table = OffHeapTable([parse("bigint")] * 3, rows, allocator)
    numbers = pa.array(range(rows), pa.int64())
    table.append_batch(pa.record_batch([numbers] * 3, ["a", "b", "c"]))
    expected = EngineSchema(pa.schema([(name, pa.int64()) for name in "abc"]))
    before = allocator.counters().current_bytes
    batch = fill(table.chain(), expected, allocator, table)
    assert allocator.counters().peak_bytes < before + 2 * 8 * rows
    with pytest.raises(UsageError, match="released"):
        table.vector(0)
    table.release_column(0)
    table.release()
    table.release()
    assert batch.column(2).equals(numbers)


def test_batches_outlive_the_allocator() -> None:
    """Arrow keeps what it was given, although table and allocator are gone."""
    allocator = TrackedAllocator()
    with OffHeapTable([parse("timestamp")], 1, allocator) as table:
        _append(table, 0, [datetime(2020, 1, 1, tzinfo=UTC)])
        table.num_rows = 1
        batch = fill(table.chain(), EngineSchema(pa.schema([("t", pa.timestamp("us"))])), allocator)
    del table, allocator
    assert batch.to_pydict() == {"t": [datetime(2020, 1, 1)]}


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda table: table.vector(0), "the table is released"),
        (lambda table: table.append_arrow(0, pa.array([1], pa.int32())), "the table is released"),
        (lambda table: table.append_batch(pa.record_batch({"c": [1]})), "the table is released"),
        (lambda table: setattr(table, "num_rows", 1), "the table is released"),
        (lambda table: table.chain(), "the table is released"),
        (lambda table: fill(Chain(0), INT, table.allocator, table), "the table is released"),
        (lambda table: move(table, INT), "the table is released"),
        (lambda table: table.release_column(1), "no column 1"),
    ],
)
def test_a_released_table_is_no_empty_one(
    allocator: TrackedAllocator, use: Callable[[OffHeapTable], Any], says: str
) -> None:
    """Whoever goes on with it is told, as 0 rows would end a stream; releases come in any order."""
    table = OffHeapTable([parse("int")], 1, allocator)
    table.release()
    table.release_column(0)
    with pytest.raises(UsageError, match=says):
        use(table)
    table.renew()
    assert table.chain().n_words == 3
    table.release()


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda table: setattr(table, "num_rows", -1), "-1 rows"),
        (lambda table: setattr(table, "num_rows", 2), "column 0 has 1 rows, the table states 2"),
        (lambda table: table.release_column(0), "column 0 is released"),
        (lambda table: move(table, INT), "column 0 is released"),
    ],
)
def test_calls_out_of_turn_are_the_callers_mistake(
    allocator: TrackedAllocator, use: Callable[[OffHeapTable], Any], says: str
) -> None:
    """A chain is of columns that are there, and of as many rows as the table states."""
    with OffHeapTable([parse("int")], 1, allocator) as table:
        table.append_batch(pa.record_batch({"c": pa.array([1], pa.int32())}))
        with pytest.raises(UsageError, match=says):  # noqa: PT012 - either step may tell
            use(table)
            table.chain()


def test_a_table_that_could_not_be_renewed_is_released(allocator: TrackedAllocator) -> None:
    """Without memory for the next chunk there is no table, and that is told."""
    with OffHeapTable([parse("int")], 1, allocator) as table:
        allocator.fail_after(1)
        with pytest.raises(NativeMemoryError):
            table.renew()
        allocator.fail_after(0)
        with pytest.raises(UsageError, match="released"):
            table.chain()

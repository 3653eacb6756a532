"""Off-heap tables: both ways of appending, and the way back through the chain."""

import ctypes
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.decode import Slot, slots
from seamkit.offheap.columns.table import Chain, OffHeapTable
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, from_arrow, parse
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


def test_bytes_under_an_arrow_null_do_not_cross(allocator: TrackedAllocator) -> None:
    """Arrow lets a NULL string have bytes; an off-heap NULL repeats the offset before it."""
    buffers = [pa.py_buffer(b"\x05"), pa.py_buffer(struct.pack("<4i", 0, 1, 3, 4)), b"abcd"]
    array = pa.Array.from_buffers(pa.string(), 3, [*buffers[:2], pa.py_buffer(buffers[2])])
    assert array.to_pylist() == ["a", None, "d"]
    with OffHeapTable([parse("string")], 3, allocator) as table:
        table.append_arrow(0, array)
        table.num_rows = 3
        _, parts = slots(table.chain().address, table.types)
    assert parts[1:] == [
        Slot("offsets", 0, struct.pack("<4i", 0, 1, 1, 2)),
        Slot("bytes", 0, b"ad"),
    ]


@pytest.mark.parametrize(
    ("text", "array"),
    [
        ("int", pa.array([1], pa.int64())),
        ("bigint", pa.array([1], pa.uint64())),
        ("date", pa.array([0], pa.date64())),
        ("time", pa.array([0], pa.time64("us"))),
        ("timestamp", pa.array([0], pa.timestamp("us", "Europe/Paris"))),
        ("decimal(15,2)", pa.array([Decimal(1)], pa.decimal128(15, 3))),
        ("decimal(15,2)", pa.array([Decimal(1)], pa.decimal256(15, 2))),
        ("string", pa.array([b"x"], pa.binary())),
        ("binary", pa.array([b"x"], pa.binary(1))),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_arrow_types_that_do_not_fit_are_refused(
    allocator: TrackedAllocator, text: str, array: Any
) -> None:
    """An Arrow column of another type is refused and leaves no trace."""
    with OffHeapTable([parse(text)], 1, allocator) as table:
        with pytest.raises(RefusedError, match="column 0"):
            table.append_arrow(0, array)
        assert table.chain().address


def test_a_value_beyond_the_column_leaves_no_trace(allocator: TrackedAllocator) -> None:
    """An Arrow decimal wider than 64 bits is not cut to a decimal(18,0): nothing is appended."""
    wide = pa.array([Decimal(1), Decimal(2**63)], pa.decimal128(19, 0))
    with OffHeapTable([parse("decimal(18,0)")], 0, allocator) as table:
        with pytest.raises(InputError, match="row 1 of an Arrow array does not fit a decimal64"):
            table.append_arrow(0, wide)
        table.append_arrow(0, wide[:1])
        table.num_rows = 1
        assert slots(table.chain().address, table.types)[0] == 1


def test_missing_columns_are_null_in_every_row(allocator: TrackedAllocator) -> None:
    """A word of 0 stands for a whole column: the engine makes every row NULL and reads on."""
    with OffHeapTable([UNKNOWN, parse("int"), UNKNOWN], 2, allocator) as table:
        table.append_arrow(1, pa.array([1, None], pa.int32()))
        table.num_rows = 2
        wanted = pa.schema([("a", pa.string()), ("b", pa.int32()), ("c", pa.decimal128(30, 2))])
        batch = fill(table.chain(), EngineSchema(wanted), allocator)
    batch.validate(full=True)
    assert batch.to_pydict() == {"a": [None, None], "b": [1, None], "c": [None, None]}


def test_an_engine_asks_for_nullable_columns(allocator: TrackedAllocator) -> None:
    """A NOT NULL column is refused by name, as the engine's rule says."""
    assert allocator.counters().live_blocks == 0
    with pytest.raises(RefusedError, match="NOT NULL column 'k' is not supported"):
        EngineSchema(pa.schema([pa.field("k", pa.int32(), nullable=False)]))


@pytest.mark.parametrize(
    ("written", "read"),
    [("bigint", pa.int32()), ("decimal(18,2)", pa.decimal128(19, 2)), ("int", pa.string())],
    ids=str,
)
def test_a_chain_of_other_widths_is_refused(
    allocator: TrackedAllocator, written: str, read: Any
) -> None:
    """With the sizes that an in-process chain carries, a column of another width is found out."""
    with OffHeapTable([parse(written)], 1, allocator) as table:
        _append(table, 0, [None])
        table.num_rows = 1
        with pytest.raises(InputError, match="column 'c' of the meta chain"):
            fill(table.chain(), EngineSchema(pa.schema([("c", read)])), allocator)


def test_broken_offsets_are_found_without_sizes(allocator: TrackedAllocator) -> None:
    """A bare address carries no sizes; offsets that fall are still refused."""
    with OffHeapTable([parse("string")], 2, allocator) as table:
        table.append_arrow(0, pa.array(["ab", "c"]))
        table.num_rows = 2
        chain = table.chain()
        words = (ctypes.c_int64 * chain.n_words).from_address(chain.address)
        (ctypes.c_int32 * 3).from_address(words[2])[1] = 7
        expected = EngineSchema(pa.schema([("s", pa.string())]))
        with pytest.raises(InputError, match="offsets fall"):
            fill(Chain(chain.address), expected, allocator)


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


def test_the_memory_limit_is_an_error() -> None:
    """An allocator's limit stops a table that grows beyond it, and everything comes back."""
    allocator = TrackedAllocator(limit_bytes=2000)
    with (
        pytest.raises(NativeMemoryError, match="limit of 2000 bytes"),
        OffHeapTable([parse("string")], 10, allocator) as table,
    ):
        table.append_arrow(0, pa.array(["x" * 3000]))
    assert allocator.counters().live_blocks == 0


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

"""Nested columns from Arrow: every row arrives, by whatever array it is told, or none does."""

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.decode import slots
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, parse
from seamkit.offheap.engine.columns import EngineSchema, fill
from seamkit_tests.samples.column_values import column_values
from seamkit_tests.samples.nested_samples import array_of, as_stored, columns

SETTINGS = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


def read_back(table: OffHeapTable, rows: int) -> list[list[Any]]:
    """Every column's values, by the plain decoder."""
    table.num_rows = rows
    count, parts = slots(table.chain().address, table.types)
    return [
        column_values(count, column, [part for part in parts if part.column == index])
        for index, column in enumerate(table.types)
    ]


def crossed(column: ColumnType, arrays: Sequence[Any], capacity: int = 1) -> list[Any]:
    """What is read back of arrays that were appended one after the other."""
    with TrackedAllocator() as allocator, OffHeapTable([column], capacity, allocator) as table:
        for array in arrays:
            table.append_arrow(0, array)
        return read_back(table, sum(map(len, arrays)))[0]


@SETTINGS
@given(sample=columns(), capacity=st.integers(0, 20), cut=st.integers(0, 12))
def test_what_went_in_is_read_back(
    sample: tuple[ColumnType, list[Any]], capacity: int, cut: int
) -> None:
    """Rows of any nesting, in two slices that start anywhere, are the chain's rows."""
    column, rows = sample
    array = array_of(column, rows)
    found = crossed(column, [array[:cut], array[cut:]], capacity)
    assert found == [as_stored(column, value) for value in rows]


@SETTINGS
@given(samples=st.lists(columns(), min_size=1, max_size=3), capacity=st.integers(0, 20))
def test_the_engine_and_the_plain_decoder_agree(
    samples: list[tuple[ColumnType, list[Any]]], capacity: int
) -> None:
    """The core's reading side and the plain decoder read a chain alike, and as it was written."""
    rows = max(len(values) for _, values in samples)
    types = [column for column, _ in samples]
    filled = [values + [None] * (rows - len(values)) for _, values in samples]
    arrays = [array_of(column, values) for column, values in zip(types, filled, strict=True)]
    batch = pa.record_batch(arrays, [f"c{i}" for i in range(len(types))])
    allocator = TrackedAllocator()
    with OffHeapTable(types, capacity, allocator) as table:
        table.append_batch(batch)
        read = fill(table.chain(), EngineSchema(batch.schema, types), allocator)
        decoded = read_back(table, rows)
    read.validate(full=True)
    for index, column in enumerate(types):
        expected = [as_stored(column, value) for value in filled[index]]
        assert decoded[index] == expected
        engine = read.column(index).to_pylist()
        assert [as_stored(column, value) for value in engine] == expected
    del read
    assert allocator.counters().live_blocks == 0


@SETTINGS
@given(sample=columns(3), data=st.data())
def test_dictionaries_and_runs_are_what_they_stand_for(
    sample: tuple[ColumnType, list[Any]], data: st.DataObject
) -> None:
    """Rows told by a dictionary or by runs, of any type and sliced, are the rows they stand for."""
    column, rows = sample
    values = array_of(column, rows)
    indexes = data.draw(
        st.lists(st.none() | st.integers(0, len(rows) - 1), max_size=12) if rows else st.just([])
    )
    kind = data.draw(st.sampled_from([pa.int8(), pa.uint16(), pa.int32(), pa.uint64()]))
    dictionary = pa.DictionaryArray.from_arrays(pa.array(indexes, kind), values)
    lengths = data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    ends = [sum(lengths[: i + 1]) for i in range(len(rows))]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)
    start = data.draw(st.integers(0, 3))
    found = crossed(column, [dictionary[start:], runs[start:]])
    stood_for = [None if index is None else rows[index] for index in indexes][start:]
    repeated = [row for row, length in zip(rows, lengths, strict=True) for _ in range(length)]
    assert found == [as_stored(column, value) for value in stood_for + repeated[start:]]


def _masked_list() -> Any:
    mask = pa.array([False, True, False, True])
    return pa.ListArray.from_arrays([0, 2, 3, 4, 6], pa.array(list("abcdef")), mask=mask)


def _masked_large_list() -> Any:
    mask = pa.array([True, False, False])
    inner = pa.array([[1, 2], None, [3]], pa.list_(pa.int32()))
    return pa.LargeListArray.from_arrays([0, 1, 3, 3], inner, mask=mask)


def _masked_struct() -> Any:
    fields = [pa.array([1, 2, 3], pa.int32()), pa.array([["x"], ["y", "z"], []])]
    inner = pa.StructArray.from_arrays(fields, ["n", "l"])
    return pa.StructArray.from_arrays(
        [inner, pa.array(["p", "q", "r"])], ["s", "t"], mask=pa.array([False, True, False])
    )


def _masked_map() -> Any:
    keys, items = pa.array(["a", "b", "c"]), pa.array([1, 2, 3], pa.int64())
    return pa.MapArray.from_arrays([0, 1, 2, 3], keys, items, mask=pa.array([False, True, False]))


@pytest.mark.parametrize(
    ("text", "make", "expected"),
    [
        ("array<string>", _masked_list, [["a", "b"], None, ["d"], None]),
        ("array<array<int>>", _masked_large_list, [None, [None, [3]], []]),
        (
            "struct<s:struct<n:int,l:array<string>>,t:string>",
            _masked_struct,
            [{"s": {"n": 1, "l": ["x"]}, "t": "p"}, None, {"s": {"n": 3, "l": []}, "t": "r"}],
        ),
        ("map<string,bigint>", _masked_map, [[("a", 1)], None, [("c", 3)]]),
    ],
)
@pytest.mark.parametrize("start", [0, 1])
def test_what_lies_under_nulls_stays_behind(
    text: str, make: Callable[[], Any], expected: list[Any], start: int
) -> None:
    """Arrow lets null lists have entries and null structs have values; they do not cross."""
    column = parse(text)
    assert make().to_pylist() == expected
    assert crossed(column, [make()[start:]]) == expected[start:]
    with TrackedAllocator() as allocator, OffHeapTable([column], 0, allocator) as table:
        table.append_arrow(0, make())
        table.num_rows = len(expected)
        _, masked = slots(table.chain().address, table.types)
        with OffHeapTable([column], 0, allocator) as plain:
            plain.append_arrow(0, array_of(column, expected))
            plain.num_rows = len(expected)
            assert slots(plain.chain().address, plain.types)[1] == masked


def test_fields_are_found_by_name() -> None:
    """A struct's fields go where their names say; what the column lacks is not read."""
    array = pa.array([{"a": 1, "b": "x", "c": 2.0}, None])
    types = [parse("struct<c:double,a:bigint>"), parse("struct<b:string>")]
    missing = ColumnType.struct({"zz": UNKNOWN, "b": parse("string")})
    keys = ColumnType.map(parse("string"), None)
    both = ColumnType.map(None, None)
    maps = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32()))
    batch = pa.record_batch([array, array, array, maps, maps], list("vwxyz"))
    with (
        TrackedAllocator() as allocator,
        OffHeapTable([*types, missing, UNKNOWN, keys, both], 0, allocator) as table,
    ):
        table.append_batch(batch)
        assert read_back(table, 2) == [
            [{"c": 2.0, "a": 1}, None],
            [{"b": "x"}, None],
            [{"zz": None, "b": "x"}, None],
            [None, None],
            [[("k", None)], []],
            [[(None, None)], []],
        ]


_ENTRIES = pa.ListArray.from_arrays(
    pa.array([0, 1], pa.int32()), pa.array(["x"], pa.string_view()).dictionary_encode()
)
_TWO = pa.StructArray.from_arrays([pa.array([1], pa.int32())] * 2, ["a", "a"])


@pytest.mark.parametrize(
    ("text", "array", "reason"),
    [
        ("array<int>", pa.array([["x"]]), "'item' of format 'u' cannot be appended to a int"),
        ("array<int>", pa.array([1], pa.int32()), "format 'i' cannot be appended to a array"),
        ("array<int>", pa.array([[1]], pa.list_(pa.int32(), 1)), "column 'item'|is not supported"),
        ("array<string>", _ENTRIES, "'item'|has no flat view"),
        ("map<string,int>", pa.array([[("a", "b")]], pa.map_("string", "string")), "'value'"),
        ("map<string,int>", pa.array([[1]], pa.list_(pa.int32())), "cannot be appended to a map"),
        ("struct<b:bigint>", pa.array([{"a": 1}]), "has not one field 'b'"),
        ("struct<b:bigint,a:int>", _TWO, "has not one field 'b'"),
        ("struct<z:int,a:int>", _TWO, "has not one field 'z'"),
        ("variant", pa.array([{"metadata": b"", "value": b"", "typed_value": 1}]), "to a variant"),
        ("variant", pa.array([{"metadata": b"", "payload": b""}]), "has not one field 'value'"),
        ("int", pa.array(["x"]).dictionary_encode(), "format 'u' cannot be appended to a int"),
    ],
    ids=str,
)
def test_other_types_are_refused_by_name(text: str, array: Any, reason: str) -> None:
    """A part of another type is refused with its name, also when there are no rows."""
    for part in (array, array[:0]):
        with TrackedAllocator() as allocator, OffHeapTable([parse(text)], 0, allocator) as table:
            with pytest.raises(RefusedError, match=reason):
                table.append_arrow(0, part)
            assert read_back(table, 0) == [[]]


def _bad(values: Any, rows: int = 1) -> Any:
    """Lists of structs of a string, a list and a decimal, the last of which does not fit."""
    items = [{"s": "x" * i, "l": [i], "d": Decimal(value)} for i, value in enumerate(values)]
    kind = pa.struct([("s", pa.string()), ("l", pa.list_(pa.int32())), ("d", pa.decimal128(20, 0))])
    return pa.array([items] * rows, pa.list_(kind))


def test_a_failure_leaves_no_trace_at_any_level() -> None:
    """A value that does not fit, deep in a nested row, takes back all that its array brought."""
    column = parse("array<struct<s:string,l:array<int>,d:decimal(18,0)>>")
    good = _bad([1, -5], rows=2)
    expected = good.to_pylist()
    with (
        TrackedAllocator() as allocator,
        OffHeapTable([parse("array<string>"), column], 0, allocator) as table,
    ):
        first = pa.array([["a"], []])
        table.append_batch(pa.record_batch([first, good], ["a", "b"]))
        wide = _bad([3, 10**19], rows=2)
        with pytest.raises(InputError, match="does not fit a decimal64"):
            table.append_arrow(1, pa.chunked_array([good, wide]))
        with pytest.raises(InputError, match="does not fit a decimal64"):
            table.append_batch(pa.record_batch([first, wide], ["a", "b"]))
        assert table.num_rows == 2
        assert read_back(table, 2) == [[["a"], []], expected]
        table.append_batch(pa.record_batch([first, good], ["a", "b"]))
        assert read_back(table, 4) == [[["a"], []] * 2, expected * 2]


def _offsets(format_: str, *values: int) -> Any:
    return pa.py_buffer(struct.pack(f"<{len(values)}{format_}", *values))


def _large_list(*offsets: int) -> Any:
    """Lists of nulls: a million of them need no memory."""
    entries = pa.nulls(2**32)
    kind = pa.large_list(pa.null())
    buffers = [None, _offsets("q", *offsets)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers, children=[entries])


@pytest.mark.parametrize(
    ("text", "make", "reason"),
    [
        ("int", lambda: pa.nulls(2**31), "limit is 2147483632"),
        ("struct<a:int>", lambda: pa.nulls(2**31 - 15), "limit is 2147483632"),
        ("array<int>", lambda: _large_list(0, 2**31), "more than 2147483632 entries"),
        ("array<int>", lambda: _large_list(0, 2**30, 2**31), "more than 2147483632 entries"),
    ],
    ids=["int", "struct", "one list", "two lists"],
)
def test_limits_are_told_before_anything_is_written(
    text: str, make: Callable[[], Any], reason: str
) -> None:
    """What 32-bit offsets cannot count is refused without asking for its memory."""
    array = make()
    with TrackedAllocator(10_000) as allocator, OffHeapTable([parse(text)], 0, allocator) as table:
        with pytest.raises(InputError, match=reason):
            table.append_arrow(0, array)
        assert read_back(table, 0) == [[]]


def test_a_dictionary_may_stand_for_too_much() -> None:
    """A short dictionary that stands for more bytes than a column holds is refused in time."""
    array = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int16()), ["x" * 1_000_000])
    with (
        TrackedAllocator(200_000) as allocator,
        OffHeapTable([parse("string")], 0, allocator) as table,
        pytest.raises(InputError, match="limit is 2147483632"),
    ):
        table.append_arrow(0, array)

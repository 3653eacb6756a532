"""The engine's side of off-heap columns: chains of any nesting, sound and broken, into Arrow."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind, from_arrow, parse
from seamkit.offheap.engine.columns import EngineColumns, EngineSchema, fill
from seamkit.offheap.engine.schema import carried_type
from seamkit_tests.samples.chain_writer import HandChain, nested_columns, write
from seamkit_tests.samples.column_samples import VALUES

Sample = tuple[ColumnType, list[Any]]


@st.composite
def _samples(draw: st.DrawFn) -> list[Sample]:
    """Columns of one length, NULLs among their values."""
    columns = draw(st.lists(nested_columns(VALUES, 4), min_size=1, max_size=3))
    rows = draw(st.integers(0, 20))
    return [
        (column, draw(st.lists(st.none() | values, min_size=rows, max_size=rows)))
        for column, values in columns
    ]


def _wanted(samples: list[Sample]) -> Any:
    return pa.schema([(f"c{i}", carried_type(column)) for i, (column, _) in enumerate(samples)])


def _chain(samples: list[Sample]) -> HandChain:
    buffers = [buffer for column, values in samples for buffer in write(column, values)]
    return HandChain(len(samples[0][1]), buffers)


def _fill(hand: HandChain, expected: EngineSchema, allocator: TrackedAllocator) -> Any:
    return fill(hand.chain(), expected, allocator)


def _fill_by_columns(hand: HandChain, expected: EngineSchema, allocator: TrackedAllocator) -> Any:
    columns = EngineColumns(expected, allocator)
    columns.fill(hand.chain())
    return columns.to_arrow()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(samples=_samples(), sizes=st.booleans())
def test_chains_of_any_nesting_become_the_values_they_were_written_from(
    samples: list[Sample], sizes: bool
) -> None:
    """In one pass or by way of engine columns, with or without sizes: Arrow holds the values."""
    allocator = TrackedAllocator()
    hand = _chain(samples)
    expected = EngineSchema(_wanted(samples), [column for column, _ in samples])
    one_pass = fill(hand.chain(sizes=sizes), expected, allocator)
    columns = EngineColumns(expected, allocator)
    columns.fill(hand.chain(sizes=sizes))
    by_columns = columns.to_arrow()
    for batch in (one_pass, by_columns):
        batch.validate(full=True)
        for index, (_, values) in enumerate(samples):
            assert batch.column(index).to_pylist() == values
    del batch, one_pass, by_columns
    assert allocator.counters().live_blocks == 0


@st.composite
def _damage(draw: st.DrawFn, buffers: list[bytes | None]) -> list[bytes | None]:
    """Some buffers lost, cut, lengthened, exchanged or changed in a few bytes."""
    found = list(buffers)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(found) - 1))
        content = bytearray(found[at] or b"")
        what = draw(st.sampled_from(["bytes", "size", "lose", "double", "swap", "zero"]))
        if what == "bytes" and content:
            for _ in range(draw(st.integers(1, 4))):
                content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
            found[at] = bytes(content)
        elif what == "size":
            found[at] = bytes(content[: draw(st.integers(0, len(content)))]) + draw(st.binary())
        elif what == "lose" and len(found) > 1:
            del found[at]
        elif what == "double":
            found.insert(at, found[at])
        elif what == "swap":
            other = draw(st.integers(0, len(found) - 1))
            found[at], found[other] = found[other], found[at]
        elif what == "zero":
            found[at] = None
    return found


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), samples=_samples())
def test_broken_chains_are_refused_or_mean_something(
    data: st.DataObject, samples: list[Sample]
) -> None:
    """With sizes, no damage crashes: an error by name, or arrays that keep Arrow's rules."""
    allocator = TrackedAllocator()
    buffers = data.draw(_damage(list(_chain(samples).buffers)))
    rows = data.draw(st.just(len(samples[0][1])) | st.integers(-1, 30))
    hand = HandChain(rows, buffers)
    expected = EngineSchema(_wanted(samples), [column for column, _ in samples])
    outcomes: list[str] = []
    for read in (_fill, _fill_by_columns):
        try:
            batch = read(hand, expected, allocator)
        except (InputError, RefusedError) as error:
            outcomes.append(str(error))
        else:
            batch.validate(full=True)
            assert batch.num_rows == rows
            outcomes.append("rows")
            del batch
    assert outcomes[0] == outcomes[1]
    assert allocator.counters().live_blocks == 0


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (ColumnType.map(parse("string"), None), pa.map_(pa.string(), pa.null())),
        (ColumnType.map(None, parse("int")),
         pa.list_(pa.struct([("key", pa.null()), ("value", pa.int32())]))),
        (ColumnType.map(None, None),
         pa.list_(pa.struct([("key", pa.null()), ("value", pa.null())]))),
    ],
    ids=["keys", "values", "neither"],
)  # fmt: skip
def test_maps_without_a_side(allocator: TrackedAllocator, column: ColumnType, wanted: Any) -> None:
    """What was not asked for takes no word in the chain and is null in Arrow; offsets stay."""
    hand = _chain([(column, [[("a", 1), ("b", None)], None, []])])
    batch = fill(hand.chain(), EngineSchema(pa.schema([("m", wanted)]), [column]), allocator)
    batch.validate(full=True)
    assert carried_type(column) == wanted
    keys = ["a", "b"] if column.child("$0") else [None, None]
    items = [1, None] if column.child("$1") else [None, None]
    found = [None if row is None else [tuple(e.values()) if isinstance(e, dict) else e for e in row]
             for row in batch.column(0).to_pylist()]  # fmt: skip
    assert found == [list(zip(keys, items, strict=True)), None, []]
    del batch


def test_elements_that_must_not_be_null(allocator: TrackedAllocator) -> None:
    """A list of NOT NULL elements is read; a NULL among them is an error, never a value."""
    column = ColumnType.array(parse("int"))
    wanted = pa.schema([("l", pa.list_(pa.field("item", pa.int32(), nullable=False)))])
    expected = EngineSchema(wanted, [column])
    batch = _fill(_chain([(column, [[1, 2], None])]), expected, allocator)
    assert batch.schema == wanted
    assert batch.column(0).to_pylist() == [[1, 2], None]
    del batch
    with pytest.raises(InputError, match=r"'l\.item'.*no room for its NULLs \(1\)"):
        _fill(_chain([(column, [[1, None]])]), expected, allocator)


@pytest.mark.parametrize(
    "wanted",
    [
        pa.struct([pa.field("a", pa.int32(), nullable=False)]),
        pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False)),
        pa.list_(pa.struct([pa.field("a", pa.int32(), nullable=False)])),
    ],
    ids=str,
)
def test_fields_and_map_values_are_nullable(wanted: Any) -> None:
    """The engine's rule for top-level columns holds for fields of structs and values of maps."""
    with pytest.raises(RefusedError, match=r"NOT NULL column 'c\..*' is not supported"):
        EngineSchema(pa.schema([("c", wanted)]))


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (parse("array<int>"), pa.int32()),
        (parse("int"), pa.list_(pa.int32())),
        (parse("array<int>"), pa.list_(pa.int64())),
        (parse("struct<a:int>"), pa.struct([("b", pa.int32())])),
        (parse("struct<a:int,b:int>"), pa.struct([("a", pa.int32())])),
        (parse("map<int,int>"), pa.list_(pa.int32())),
        (ColumnType.map(None, parse("int")), pa.map_(pa.int32(), pa.int32())),
        (ColumnType(Kind.BYTE), pa.int8()),
        (parse("string"), pa.decimal128(3, 1)),
    ],
    ids=str,
)
def test_columns_that_cannot_be_read_as_wanted(column: ColumnType, wanted: Any) -> None:
    """A type that does not fit is refused with column and both types, before anything is read."""
    with pytest.raises(RefusedError, match="column"):
        EngineSchema(pa.schema([("c", wanted)]), [column])


def test_as_many_types_as_fields() -> None:
    """Types are given for all fields or for none."""
    with pytest.raises(UsageError, match="1 field has 2 column types"):
        EngineSchema(pa.schema([("c", pa.int32())]), [parse("int"), parse("int")])


def test_types_without_columns_are_filled_only_by_default(allocator: TrackedAllocator) -> None:
    """A decimalv2 column is refused by name; where the file lacks it, it is NULL."""
    column = ColumnType(Kind.DECIMALV2, 27, 9)
    expected = EngineSchema(pa.schema([("d", pa.decimal128(27, 9))]), [column])
    batch = _fill(HandChain(2, [None]), expected, allocator)
    batch.validate(full=True)
    assert batch.column(0).to_pylist() == [None, None]
    del batch
    with pytest.raises(RefusedError, match=r"'d'.*decimalv2 is not supported"):
        _fill(HandChain(1, [b"\0", bytes(16)]), expected, allocator)


_DRESSES = {
    "large": pa.large_list(pa.large_string()),
    "utc": pa.list_(pa.timestamp("us", "UTC")),
    "seconds": pa.list_(pa.timestamp("s")),
    "fields": pa.struct([("a", pa.large_string()), ("b", pa.list_(pa.large_binary()))]),
    "map": pa.map_(pa.large_string(), pa.timestamp("ms", "UTC")),
}


@pytest.mark.parametrize("name", _DRESSES)
def test_other_dresses_of_the_same_values(allocator: TrackedAllocator, name: str) -> None:
    """Large and other units of nested types come out as asked for, from the column they fit."""
    wanted = _DRESSES[name]
    column = from_arrow(wanted)
    samples: dict[str, list[Any]] = {
        "large": [["a", None], None],
        "utc": [[None], []],
        "seconds": [[None], None],
        "fields": [{"a": "é", "b": [b"x"]}, None],
        "map": [[("k", None)], None],
    }
    hand = _chain([(column, samples[name])])
    batch = fill(hand.chain(), EngineSchema(pa.schema([("c", wanted)])), allocator)
    assert batch.schema.field(0).type == wanted
    assert batch.column(0).to_pylist() == samples[name]
    del batch


def test_handing_on_needs_a_fill(allocator: TrackedAllocator) -> None:
    """Columns are handed on once; after that, and after a failed fill, there are none."""
    expected = EngineSchema(pa.schema([("c", pa.int32())]))
    columns = EngineColumns(expected, allocator)
    with pytest.raises(UsageError, match="fill them first"):
        columns.to_arrow()
    for items in ([1], [2, None]):  # the second fill overwrites the first
        hand = _chain([(parse("int"), items)])
        columns.fill(hand.chain())
    assert columns.to_arrow().column(0).to_pylist() == [2, None]
    with pytest.raises(UsageError):
        columns.to_arrow()
    hand = HandChain(1, [b"\2", bytes(4)])
    with pytest.raises(InputError, match="neither 0 nor 1"):
        columns.fill(hand.chain())
    with pytest.raises(UsageError):
        columns.to_arrow()


def test_missing_fields_take_the_type_wanted(allocator: TrackedAllocator) -> None:
    """What the file lacks, at any depth, is NULL of the type asked for."""
    column = ColumnType.struct({"a": parse("int"), "gone": UNKNOWN})
    wanted = pa.struct([("a", pa.int32()), ("gone", pa.list_(pa.string()))])
    hand = _chain([(column, [{"a": 1, "gone": None}, None])])
    batch = fill(hand.chain(), EngineSchema(pa.schema([("s", wanted)]), [column]), allocator)
    batch.validate(full=True)
    assert batch.column(0).to_pylist() == [{"a": 1, "gone": None}, None]
    assert batch.schema.field(0).type == wanted
    del batch

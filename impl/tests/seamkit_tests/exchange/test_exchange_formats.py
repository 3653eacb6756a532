"""What a chunk gives back: the batch in the schema of the exchange, whatever the bytes lack."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambase.types import IpAddressType
from seambench.seams.serde.values import plain_values
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.formats.formats import FORMATS, chunk_format
from seamkit.exchange.formats.retyped import Bound

_SURE = pa.field("item", pa.int32(), nullable=False)
_INNER = [("a", pa.large_string()), pa.field("b", pa.int32(), nullable=False)]
_WORDS = ["x", None, "", "x", "é"]
_LISTS = [[1, 2], None, [], [1, 2], [7]]
_RECORDS: list[Any] = [{"a": "x", "b": 1}, None, {"a": None, "b": 2}, {"a": "", "b": 3}, None]
_COLUMNS: dict[str, pa.Array] = {
    "large-string": pa.array(_WORDS, pa.large_string()),
    "large-binary": pa.array([b"x", None, b"", b"\xff", b"y"], pa.large_binary()),
    "large-list": pa.array(_LISTS, pa.large_list(pa.int32())),
    "list-of-large": pa.array([["x", None], None, [], [""], ["y"]], pa.list_(pa.large_string())),
    "list-without-nulls": pa.array(_LISTS, pa.list_(_SURE)),
    "large-list-without-nulls": pa.array(_LISTS, pa.large_list(_SURE)),
    "struct": pa.array(_RECORDS, pa.struct(_INNER)),
    "structs-in-lists": pa.array(
        [_RECORDS, None, [], [None], _RECORDS[2:]], pa.large_list(pa.struct(_INNER))
    ),
    "map": pa.array(
        [[("x", 1)], None, [], [("", None), ("y", 2)], [("z", 3)]],
        pa.map_(pa.large_string(), pa.int64()),
    ),
    "map-without-nulls": pa.array(
        [[(1, 1)], None, [], [(2, 2), (3, 3)], [(4, 4)]],
        pa.map_(pa.int32(), pa.field("value", pa.int32(), nullable=False)),
    ),
}
_ENCODED: dict[str, pa.Array] = {
    "dictionary": pa.array(_WORDS).dictionary_encode(),
    "dictionary-of-numbers": pa.array([7, None, 7, -1, 7], pa.int32()).dictionary_encode(),
    "dictionary-of-large": pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0, 1, 2], pa.uint8()), pa.array(["", "x", "é"], pa.large_string())
    ),
    "dictionary-in-order": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1, 0, 2], pa.int8()), ["", "x", "é"], ordered=True
    ),
    "dictionary-of-lists": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 2, 0, 3], pa.int16()), pa.array(_LISTS, pa.list_(_SURE))
    ),
    "dictionaries-in-lists": pa.ListArray.from_arrays(
        pa.array([0, 2, None, 2, 4, 5], pa.int32()), pa.array(_WORDS).dictionary_encode()
    ),
    "runs-of-dictionaries": pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 4, 5], pa.int32()), pa.array([1.5, None, -0.0]).dictionary_encode()
    ),
    "runs": pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 4, 5], pa.int16()), pa.array(["x", None, ""])
    ),
    "runs-of-structs": pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 4, 5], pa.int64()), pa.array(_RECORDS[:3], pa.struct(_INNER))
    ),
}

#: What StarRocks has no columns for: parts within others that can be no null.
_WITHOUT_NULLS = ("struct", "structs-in-lists", "map-without-nulls", "runs-of-structs")


def _batch(column: pa.Array) -> pa.RecordBatch:
    field = pa.field("c", column.type, metadata={"from": "here"})
    schema = pa.schema([field, pa.field("n", pa.int64(), nullable=False)], {"whose": "ours"})
    columns = [column, pa.array(range(len(column)), pa.int64())]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _check(found: pa.RecordBatch, batch: pa.RecordBatch) -> None:
    found.validate(full=True)
    assert found.schema.equals(batch.schema, check_metadata=True)
    for one, given in zip(found.columns, batch.columns, strict=True):
        assert plain_values(one) == plain_values(given)
        if pa.types.is_list(given.type):
            assert one.values.type == given.values.type


@pytest.mark.parametrize("name", [*_COLUMNS, *_ENCODED])
@pytest.mark.parametrize("format_", ["arrow", "presto", "starrocks", "unsaferow"])
def test_a_batch_comes_back_in_its_own_schema(format_: str, name: str) -> None:
    """Wide offsets, encodings, and what can be no null are not in every format's bytes."""
    column = (_COLUMNS | _ENCODED)[name]
    if format_ == "starrocks" and name in _WITHOUT_NULLS:
        with pytest.raises(RefusedError, match="NOT NULL column"):
            chunk_format(format_, _batch(column).schema)
        return
    for batch in (_batch(column), _batch(column.slice(1, 3)), _batch(column.slice(2, 0))):
        bound = chunk_format(format_, batch.schema)
        _check(bound.decode(memoryview(bound.encode(batch))), batch)


def _loose(kind: pa.DataType) -> pa.DataType:
    """The same type, in which everything may be null."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _loose(part.type)) for part in kind])
    if pa.types.is_map(kind):
        return pa.map_(_loose(kind.key_type), _loose(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _loose(kind.value_type)))
    return kind


_DENIED: dict[str, tuple[pa.Field, list[Any], list[Any]]] = {
    "column": (pa.field("c", pa.int32(), nullable=False), [1, None], [1]),
    "items": (pa.field("c", pa.list_(_SURE)), [[1, None]], [[1], None, []]),
    "fields": (
        pa.field("c", pa.struct(_INNER)),
        [{"a": "x", "b": None}],
        [None, {"a": None, "b": 1}],
    ),
    "values": (
        pa.field("c", pa.map_(pa.int32(), pa.field("value", pa.int32(), nullable=False))),
        [[(1, None)]],
        [None, [(1, 2)], []],
    ),
    "fields in items": (
        pa.field("c", pa.list_(pa.struct(_INNER))),
        [[None, {"a": "x", "b": None}]],
        [[None, {"a": None, "b": 1}], None],
    ),
    "items of fields": (
        pa.field("c", pa.struct([("l", pa.list_(_SURE))])),
        [{"l": None}, {"l": [None]}],
        [{"l": None}, None, {"l": [1]}],
    ),
}


#: Arrow's streams say themselves what is null within others, StarRocks has no such fields.
_SAYING = [
    (format_, name)
    for name in _DENIED
    for format_ in ("arrow", "arrow-batch", "presto", "starrocks", "unsaferow")
    if not (
        (format_ == "arrow" and name != "column")
        or (format_ == "starrocks" and name in ("fields", "fields in items", "values"))
    )
]


@pytest.mark.parametrize(("format_", "name"), _SAYING)
def test_a_null_where_a_schema_has_none_is_refused(format_: str, name: str) -> None:
    """The bytes are of somebody for whom it may be null; nulls around it, and none, are read."""
    field, wrong, right = _DENIED[name]
    schema = pa.schema([pa.field("n", pa.int64()), field])
    loose = pa.schema([schema.field(0), pa.field("c", _loose(field.type))])

    def sent(rows: list[Any]) -> bytes:
        columns = [pa.array(range(len(rows)), pa.int64()), pa.array(rows, loose.types[1])]
        batch = pa.RecordBatch.from_arrays(columns, schema=loose)
        return bytes(memoryview(chunk_format(format_, loose).encode(batch)))

    reader = chunk_format(format_, schema)
    plain = pa.array(right, loose.types[1])
    assert plain_values(reader.decode(sent(right)).column(1)) == plain_values(plain)
    with pytest.raises(InputError, match=r"(?i)null"):
        reader.decode(sent(wrong))


@pytest.mark.parametrize("name", _DENIED)
def test_the_place_of_a_null_is_named(name: str) -> None:
    """Each column that has none is looked at, and its path told."""
    field, wrong, _ = _DENIED[name]
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), field])
    columns = [pa.array(range(len(wrong)), pa.int64()), pa.array(wrong, field.type)]
    batch = pa.RecordBatch.from_arrays(columns, names=["n", "c"])
    path = {"column": "c", "items": "c.item", "fields": "c.b", "values": "c.value"}
    path |= {"fields in items": "c.item.b", "items of fields": "c.l.item"}
    with pytest.raises(InputError, match=f"a null in '{path[name]}', which"):
        Bound(schema)(batch)


_HIDDEN: Any = pa.array([1, None, 2], pa.int32())
_OFFSETS: Any = pa.array([0, 1, 2, 3], pa.int32())


@pytest.mark.parametrize(
    "column",
    [
        pa.ListArray.from_arrays(_OFFSETS, _HIDDEN, mask=pa.array([False, True, False])),
        pa.MapArray.from_arrays(
            _OFFSETS, pa.array([1, 2, 3]), _HIDDEN, mask=pa.array([False, True, False])
        ),
    ],
    ids=["list", "map"],
)
def test_what_lies_beneath_a_null_may_be_null(column: pa.Array) -> None:
    """Nobody sees it, nor what a slice leaves out."""
    parts = {
        "list": lambda: pa.list_(pa.field("item", pa.int32(), nullable=False)),
        "map": lambda: pa.map_(pa.int64(), pa.field("value", pa.int32(), nullable=False)),
    }
    kind = parts["map" if pa.types.is_map(column.type) else "list"]()
    bound = Bound(pa.schema([pa.field("c", kind)]))
    whole = pa.RecordBatch.from_arrays([column], names=["c"])
    for batch in (whole, whole.slice(2), whole.slice(0, 1)):
        assert bound(batch).column(0).to_pylist() == batch.column(0).to_pylist()


@pytest.mark.parametrize("name", [*_COLUMNS, *_ENCODED])
def test_small_batches_that_became_one_page_come_back_in_their_schema(name: str) -> None:
    """A gathered page has values alone; its rows are those of all batches."""
    column = (_COLUMNS | _ENCODED)[name]
    batch = _batch(column)
    bound = chunk_format("presto", batch.schema)
    assert bound.gather is not None
    with TrackedAllocator() as allocator:
        gatherer = bound.gather(allocator)
        gatherer.append(batch)
        gatherer.append(batch.slice(1, 3))
        found = bound.decode(memoryview(gatherer.take()))
        del gatherer
    _check(found, pa.concat_batches([batch, batch.slice(1, 3)]))


@pytest.mark.parametrize("name", _ENCODED)
def test_pages_with_encodings_are_read_into_plain_columns_and_back(name: str) -> None:
    """Who sends decides what a block is: Presto and Velox send runs of constants to anybody."""
    batch = _batch(_ENCODED[name])
    values = plain_values(batch.column(0))
    page = chunk_format("presto", batch.schema).encode(batch)
    kind = batch.schema.types[0]
    in_list = pa.types.is_list(kind)
    plain = pa.list_(pa.string()) if in_list else kind.value_type
    schema = batch.schema.set(0, batch.schema.field(0).with_type(plain))
    found = chunk_format("presto", schema).decode(memoryview(page))
    found.validate(full=True)
    assert found.schema.equals(schema)
    assert plain_values(found.column(0)) == values
    back = chunk_format("presto", schema).encode(found)
    _check(chunk_format("presto", batch.schema).decode(memoryview(back)), batch)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (pa.dictionary(pa.int8(), pa.int64()), 129),
        (pa.dictionary(pa.int8(), pa.list_(pa.int64())), 129),
        (pa.run_end_encoded(pa.int16(), pa.int64()), 32768),
    ],
)
def test_more_values_than_an_encoding_counts_are_refused(kind: Any, rows: int) -> None:
    """A chunk of many batches can have more values than indices of the schema tell apart."""
    listed = pa.types.is_list(kind.value_type)
    plain = pa.schema([("c", kind.value_type)])
    bound = chunk_format("presto", pa.schema([("c", kind)]))
    for count in (rows - 1, rows):
        numbers = [[number] for number in range(count)] if listed else list(range(count))
        batch = pa.record_batch([pa.array(numbers, kind.value_type)], schema=plain)
        page = memoryview(chunk_format("presto", plain).encode(batch))
        if count == rows:
            with pytest.raises(RefusedError, match="a chunk has more values than"):
                bound.decode(page)
        else:
            assert plain_values(bound.decode(page).column(0)) == numbers


@pytest.mark.parametrize("format_", [name for name in FORMATS if name != "starrocks"])
def test_rows_without_columns_are_counted(format_: str) -> None:
    """Rows of which no column is asked for, as for a count of all, are as many as before."""
    rows = pa.array([{}] * 3, pa.struct([]))
    batch = pa.RecordBatch.from_struct_array(rows).replace_schema_metadata({"whose": "ours"})
    bound = chunk_format(format_, batch.schema)
    found = bound.decode(memoryview(bound.encode(batch)))
    assert (found.num_rows, found.num_columns) == (3, 0)
    assert found.schema.equals(batch.schema, check_metadata=True)


def test_a_stream_of_another_schema_is_no_chunk() -> None:
    """Arrow's streams tell their schema, which must be the exchange's."""
    batch = _batch(_COLUMNS["large-string"])
    other = batch.schema.set(0, batch.schema.field(0).with_type(pa.string()))
    stream = memoryview(chunk_format("arrow", batch.schema).encode(batch))
    with pytest.raises(InputError, match="a chunk"):
        chunk_format("arrow", other).decode(stream)


def test_a_run_longer_than_its_ends_count_is_refused() -> None:
    """A constant column of StarRocks comes as one run: the schema's type may not reach its end."""
    kinds = [pa.run_end_encoded(ends, pa.string()) for ends in (pa.int32(), pa.int16())]
    wide, narrow = [chunk_format("starrocks", pa.schema([("c", kind)])) for kind in kinds]
    for rows in (32767, 32768):
        column = pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), ["x"], kinds[0])
        chunk = memoryview(wide.encode(pa.record_batch([column], ["c"])))
        if rows > 32767:
            with pytest.raises(RefusedError, match="a chunk has more values than"):
                narrow.decode(chunk)
        else:
            assert narrow.decode(chunk).column(0).run_ends.to_pylist() == [rows]


def test_a_small_index_counts_what_is_distinct() -> None:
    """Rows are as many as they like, where their values are few."""
    batch = pa.record_batch({"c": pa.array([number % 100 for number in range(1000)])})
    page = memoryview(chunk_format("presto", batch.schema).encode(batch))
    kind = pa.dictionary(pa.int8(), pa.int64())
    found = chunk_format("presto", pa.schema([("c", kind)])).decode(page)
    assert plain_values(found.column(0)) == batch.column(0).to_pylist()


def test_addresses_in_a_dictionary_come_back() -> None:
    """Of types that Arrow itself does not know, it does not find the distinct ones."""
    addresses = pa.ExtensionArray.from_storage(
        IpAddressType(), pa.array([bytes(16)], pa.binary(16))
    )
    indices = pa.array([0, None, 0], pa.int16())
    batch = _batch(pa.DictionaryArray.from_arrays(indices, addresses))
    plain = _batch(addresses.take(indices))
    for one in (batch, plain):
        page = memoryview(chunk_format("presto", one.schema).encode(one))
        _check(chunk_format("presto", batch.schema).decode(page), batch)


def test_times_in_another_unit_than_the_schemas_are_no_chunk_of_it() -> None:
    """What the bytes do say must be as the schema says: units are not changed."""
    batch = pa.record_batch({"t": pa.array([1, None], pa.timestamp("ms"))})
    bound = chunk_format("presto", batch.schema, {"dialect": "velox", "timestamps": "micros"})
    with pytest.raises(InputError, match="a chunk of another schema"):
        bound.decode(memoryview(chunk_format("presto", batch.schema).encode(batch)))


@pytest.mark.parametrize(
    "kind",
    [
        pa.dictionary(pa.int8(), pa.int64()),
        pa.run_end_encoded(pa.int32(), pa.dictionary(pa.int8(), pa.int64())),
    ],
)
@pytest.mark.parametrize("value", [7, None])
def test_a_constant_comes_in_the_type_of_the_schema(kind: Any, value: int | None) -> None:
    """StarRocks sends any column as a constant where it is one."""
    runs = pa.run_end_encoded(pa.int32(), pa.int64())
    values = pa.array([value], pa.int64())
    column = pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), values, runs)
    batch = pa.record_batch([column], ["c"])
    chunk = memoryview(chunk_format("starrocks", batch.schema).encode(batch))
    found = chunk_format("starrocks", pa.schema([("c", kind)])).decode(chunk)
    found.validate(full=True)
    assert plain_values(found.column(0)) == values.to_pylist() * 3


@pytest.mark.parametrize("format_", ["presto", "starrocks", "unsaferow"])
def test_a_dictionary_of_dictionaries_comes_back(format_: str) -> None:
    """Arrow does not find the distinct ones among what is a dictionary already."""
    indices = pa.array([3, None, 1, 2, 3], pa.int16())
    column = pa.DictionaryArray.from_arrays(indices, pa.array(_WORDS).dictionary_encode())
    offsets = pa.array([0, 2, 2, 3, 4, 5], pa.int32())
    for one in (column, pa.ListArray.from_arrays(offsets, column)):
        batch = _batch(one)
        bound = chunk_format(format_, batch.schema)
        _check(bound.decode(memoryview(bound.encode(batch))), batch)


def test_a_dictionary_of_narrow_decimals_comes_back() -> None:
    """Arrow counts no distinct decimals of 4 or 8 bytes."""
    entries = pa.array([Decimal("1.25"), None, Decimal("-0.01")], pa.decimal32(9, 2))
    batch = _batch(pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 1], pa.int8()), entries))
    bound = chunk_format("starrocks", batch.schema)
    _check(bound.decode(memoryview(bound.encode(batch))), batch)


def test_lossless_timestamps_of_velox_come_back() -> None:
    """Velox's workers send each other seconds and nanoseconds unless told otherwise."""
    options = {"dialect": "velox", "timestamps": "lossless"}
    times = pa.array([0, None, -1, 10**18 + 1, -(2**63)], pa.timestamp("ns"))
    lists = pa.LargeListArray.from_arrays(pa.array([0, 1, 1, 3, 4, 5], pa.int64()), times)
    for column in (times, lists, times.dictionary_encode()):
        batch = _batch(column)
        bound = chunk_format("presto", batch.schema, options)
        _check(bound.decode(memoryview(bound.encode(batch))), batch)
    with pytest.raises(UsageError, match=r"timestamp\[ns\], not timestamp\[ms\]: cast it"):
        chunk_format("presto", pa.schema([("t", pa.list_(pa.timestamp("ms")))]), options)
    with pytest.raises(RefusedError, match=r"no type of Presto holds Arrow's timestamp\[ns\]"):
        chunk_format("presto", batch.schema)

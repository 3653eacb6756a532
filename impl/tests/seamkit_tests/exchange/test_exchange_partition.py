"""Where rows go. Worked hashes: StarRocks (hash_util.hpp, shuffler.h), Spark 3.5.9, Iceberg."""

import itertools
import json
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from seamkit.core._seam import ffi, lib

from seambase.encodings import made_anew, plain_schema
from seambase.errors import RefusedError, UsageError
from seambench.seams.serde.values import plain_values
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.partition import Partitioner, PartitionRule, hash_rows, parts_of
from seamkit_tests import GOLDEN
from seamkit_tests.samples.failing import bears_failures

_GOLDEN = GOLDEN


def _hash(function: Any, *columns: pa.Array) -> int:
    names = [f"c{i}" for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays(list(columns), names)
    return int(hash_rows(batch, PartitionRule(names, 1, function=function))[0])


def _int(value: int | None) -> pa.Array:
    return pa.array([value], pa.int32())


_ABC = pa.array(["abc"])
_NOON = datetime(2020, 1, 1, 0, 0, 1)


def _shown(value: object) -> str:
    """A parameter in a test's name: the same in every process, as an array's own text is not."""
    if isinstance(value, list):
        return " ".join(f"{column.type} {column.to_pylist()[0]}" for column in value)
    return str(value)


@pytest.mark.parametrize(
    ("columns", "fnv", "crc32", "xxh3"),
    [
        ([_int(0)], 0x4B95F515, 0x2144DF1C, 0x00569298),
        ([_int(1)], 0xFB69B604, 0x99F8B879, 0x7E022A66),
        ([_int(42)], 0x72D84DDF, 0xEECB9046, 0x885B9D7F),
        ([_int(-1)], 0xE3160FB1, 0xFFFFFFFF, 0xC7E9D4DA),
        ([pa.array([1], pa.int64())], 0x3E801244, 0xA988DFF7, 0xAC0C6012),
        ([pa.array([True])], 0x040C5B8C, 0xA505DF1B, 0x626335F3),
        ([pa.array(["a"])], 0xE40C292C, 0xE8B7BE43, 0xBB042098),
        ([_ABC], 0x1A47E90B, 0x352441C2, 0xD740ED4F),
        ([pa.array([""])], 0x811C9DC5, 0x00000000, 0x9E3779B1),
        ([_int(None)], 0x84BA8FAF, 0x2144DF1C, 0xCD94BDD4),
        ([pa.array([date(2020, 1, 1)])], 0xF9BE0306, 0x22BFD923, 0xF09D0969),
        ([pa.array([_NOON], pa.timestamp("us"))], 0x160E9661, 0x24AE1A64, 0x491AE810),
        ([pa.array([_NOON.replace(microsecond=500_000)], pa.timestamp("us"))], 0xB262CF57,
         0xE754F8DC, 0x6ADD9BEC),
        ([pa.array([Decimal("12.34")], pa.decimal128(9, 2))], 0xD1E84A5B, 0xAA1006D2, 0x70D6886F),
        ([pa.array([Decimal("12.34")], pa.decimal128(10, 2))], 0x525D550B, 0xD5558A1B, 0xF6CB4365),
        ([pa.array([Decimal("12.34")], pa.decimal128(38, 2))], 0x78C20B6B, 0x75C32EC5, 0xF5E05F04),
        ([pa.array([Decimal("12.34")], pa.decimal128(27, 9))], 0xE1CCED38, 0x024DA3D6, 0x8A2C8D88),
        ([_int(1), _ABC], 0x774C600C, 0xF17E4C1A, 0x80D32886),
        ([_int(None), _ABC], 0x02F45701, 0x570947AE, 0x09D478B8),
        ([pa.array([[1, 2]], pa.list_(pa.int32()))], 0xD4664044, 0x0DB8A623, 0xA5509189),
        ([pa.array([[]], pa.list_(pa.int32()))], 0x9BE17165, 0x6522DF69, 0x5D8D860B),
        ([pa.array([[(1, 10), (2, 20)]], pa.map_(pa.int32(), pa.int32()))], 0x8054DA64, 0xE55A1063,
         0xC2FB4222),
        ([pa.array([[(2, 20), (1, 10)]], pa.map_(pa.int32(), pa.int32()))], 0x8054DA64, 0xE55A1063,
         0xC2FB4222),
    ],
    ids=_shown,
)  # fmt: skip
def test_worked_hashes_of_starrocks(
    columns: list[pa.Array], fnv: int, crc32: int, xxh3: int
) -> None:
    """FNV-1a, CRC-32 and XXH3 flow through the columns as StarRocks' column classes feed them.

    Those of XXH3 were worked with the library xxhash over the bytes that each kind feeds.
    """
    assert _hash("fnv", *columns) == fnv
    assert _hash("crc32", *columns) == crc32
    assert _hash("xxh3", *columns) == xxh3


@pytest.mark.parametrize("function", ["fnv", "crc32", "xxh3", "spark", "presto", "velox"])
def test_encodings_do_not_change_a_hash(function: Any) -> None:
    """A dictionary, runs, views and a slice hash as the values they stand for."""
    words = pa.array(["x", None, "long enough to be no inline string", "x", ""] * 3)
    plain = hash_rows(pa.record_batch({"c": words}), PartitionRule(["c"], 1, function=function))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 16), pa.int32()), words)
    others = [words.dictionary_encode(), runs, pa.concat_arrays([words[:4], words]).slice(4)]
    others.append(words.cast(pa.string_view()))
    for other in others:
        batch = pa.record_batch({"c": other})
        found = hash_rows(batch, PartitionRule(["c"], 1, function=function))
        assert found.tolist() == plain.tolist()


@given(st.binary(max_size=1200), st.integers(0, 2**32 - 1))
def test_functions_on_bytes_agree_with_their_libraries(content: bytes, seed: int) -> None:
    """XXH3-64 with a seed, CRC-32 continued from a state, and XXH64 with seed 0, over any bytes."""
    pointer = ffi.cast("uint8_t *", ffi.from_buffer(content))
    assert lib.seam_xxh3(pointer, len(content), seed) == xxhash.xxh3_64_intdigest(content, seed)
    assert lib.seam_crc32(seed, pointer, len(content)) == zlib.crc32(content, seed)
    assert lib.seam_xxh64(pointer, len(content)) == xxhash.xxh64_intdigest(content)


def _spark_array(kind: str, value: Any) -> pa.Array:
    plain = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "array<int>": pa.list_(pa.int32()),
    }
    if kind in plain:
        number = float(value) if kind in ("float", "double") else value
        return pa.array([number], plain[kind])
    if kind == "date":
        return pa.array([date.fromisoformat(value)])
    if kind == "timestamp":
        moment = datetime.strptime(value, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
        return pa.array([moment], pa.timestamp("us", "UTC"))
    if kind == "binary":
        return pa.array([bytes.fromhex(value)])
    if kind.startswith("decimal"):
        precision, scale = map(int, kind[8:-1].split(","))
        return pa.array([Decimal(value)], pa.decimal128(precision, scale))
    struct = pa.struct([("a", pa.int32()), ("b", pa.string())])
    return pa.array([dict(zip("ab", value, strict=True))], struct)


@pytest.mark.parametrize(
    "case",
    json.loads((_GOLDEN / "spark-murmur3.json").read_text())["values"],
    ids=lambda case: f"{case['type']}-{case['value']}",
)
def test_hashes_of_spark(case: dict[str, Any]) -> None:
    """Spark's own `hash(value)` and `hash(7, value)`, as signed 32-bit numbers."""
    column = _spark_array(case["type"], case["value"])
    assert np.int32(np.uint32(_hash("spark", column))) == case["hash"]
    assert np.int32(np.uint32(_hash("spark", _int(7), column))) == case["after_int_7"]


_PRINTED = json.loads((_GOLDEN / "starrocks-hashes.json").read_text())


@pytest.mark.parametrize(
    ("function", "case"),
    [(function, case) for function in ("crc32", "fnv") for case in _PRINTED[function]],
    ids=lambda one: one if isinstance(one, str) else f"{one['type']}-{one['value']}",
)
@pytest.mark.parametrize("encoding", ["plain", "dictionary", "sliced"])
def test_hashes_that_starrocks_prints(function: Any, case: dict[str, Any], encoding: str) -> None:
    """Values that its own tests expect of its own classes, all 32 bits."""
    column = _spark_array(case["type"], case["value"])
    if encoding == "dictionary":
        column = column.dictionary_encode()
    elif encoding == "sliced":
        column = pa.concat_arrays([column, column]).slice(1)
    assert _hash(function, column) == case["hash"]


@pytest.mark.parametrize("drivers", [97, 1000, 1024])
@pytest.mark.parametrize("case", _PRINTED["xorshift32"], ids=lambda case: hex(case["state"]))
def test_the_turn_of_a_hash_that_starrocks_prints(case: dict[str, int], drivers: int) -> None:
    """A row's driver comes of its turned hash, by the rest or by its share of 32 bits."""
    state, turned = np.array([case["state"]], np.uint32), case["turned"]
    assert parts_of(state, 1, drivers, "modulo").tolist() == [turned % drivers]
    assert parts_of(state, 1, drivers, "multiply").tolist() == [turned * drivers >> 32]


@pytest.mark.parametrize(
    ("function", "unit"),
    [("presto", "ms"), *itertools.product(["fnv", "crc32", "xxh3", "spark"], ["s", "ms"])],
)
def test_timestamps_without_microseconds_are_refused(function: Any, unit: str) -> None:
    """Microseconds are hashed: what 64 bits of them cannot count is refused, in front and behind.

    The last that they can count, and whatever stands under a null, are hashed.
    """
    most = (2**63 - 1) // {"s": 1_000_000, "ms": 1000}[unit]
    rule = PartitionRule(["a"], 2, function=function)

    def hashed(value: int, valid: bytes = b"\xff") -> int:
        buffers = [pa.py_buffer(valid), pa.py_buffer(value.to_bytes(8, "little", signed=True))]
        array = pa.Array.from_buffers(pa.timestamp(unit), 1, buffers)
        return len(hash_rows(pa.RecordBatch.from_arrays([array], names=["a"]), rule))

    assert hashed(most) == hashed(-most) == hashed(most + 1, b"\0") == 1
    for value in (most + 1, -most - 1, 2**63 - 1, -(2**63)):
        with pytest.raises(RefusedError, match="row 0 of column 'a' is a timestamp beyond 64"):
            hashed(value)


def test_routing_of_eight_keys() -> None:
    """Keys 0 to 7 over 3 channels of 4 drivers, as StarRocks' rules work out by hand."""
    batch = pa.record_batch({"k": pa.array(range(8), pa.int32())})
    hashes = hash_rows(batch, PartitionRule(["k"], 3))
    parts = parts_of(hashes, 3, 4)
    assert parts.tolist() == [1, 9, 10, 5, 0, 8, 10, 7]
    dealt = Partitioner(batch.schema, PartitionRule(["k"], 3, drivers=4)).split(batch)
    assert [(part, rows["k"].to_pylist()) for part, rows in dealt] == [
        (0, [4]),
        (1, [0]),
        (5, [3]),
        (7, [7]),
        (8, [5]),
        (9, [1]),
        (10, [2, 6]),
    ]
    buckets = parts_of(hash_rows(batch, PartitionRule(["k"], 3, function="crc32")), 3, 4, "modulo")
    routes = [divmod(part, 4) for part in buckets.tolist()]
    assert routes == [(1, 3), (1, 2), (0, 0), (1, 1), (2, 0), (2, 1), (2, 3), (2, 2)]


def _columns(rows: int) -> pa.RecordBatch:
    """Columns of every layout, with nulls, nesting and encodings."""
    numbers = range(rows)
    words = [None if i % 5 == 2 else "word " * (i % 9) for i in numbers]
    lists = [None if i % 7 == 3 else list(range(i % 4)) for i in numbers]
    structs = [None if i % 6 == 5 else {"a": i, "b": [str(i)] * (i % 3)} for i in numbers]
    struct = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])
    pairs = [None if i % 8 == 1 else [(str(k), k) for k in range(i % 3)] for i in numbers]
    return pa.record_batch(
        {
            "k": pa.array(numbers, pa.int64()),
            "bit": pa.array([None if i % 3 == 0 else i % 2 == 0 for i in numbers]),
            "small": pa.array([i % 100 for i in numbers], pa.int8()),
            "money": pa.array([Decimal(i) for i in numbers], pa.decimal128(20, 2)),
            "id": pa.array([bytes([i % 256]) * 5 for i in numbers], pa.binary(5)),
            "word": pa.array(words, pa.string()),
            "large": pa.array(words, pa.large_string()),
            "coded": pa.array(words, pa.string()).dictionary_encode(),
            "nothing": pa.nulls(rows),
            "list": pa.array(lists, pa.list_(pa.int16())),
            "struct": pa.array(structs, struct),
            "map": pa.array(pairs, pa.map_(pa.string(), pa.int32())),
        }
    )


@pytest.mark.parametrize("rows", [0, 1, 100, 9000])
@pytest.mark.parametrize(("channels", "drivers"), [(1, 1), (3, 1), (5, 3)])
def test_every_row_comes_out_once_in_its_part_and_in_order(
    rows: int, channels: int, drivers: int
) -> None:
    """What a part hands out is what pyarrow takes for it, chunk after chunk."""
    batch = _columns(rows).slice(min(rows, 1))
    rule = PartitionRule(["k", "word"], channels, drivers, chunk_rows=50)
    allocator = TrackedAllocator()
    found = _dealt([batch.slice(0, 60), batch.slice(60)], rule, allocator)
    parts = parts_of(hash_rows(batch, rule), channels, drivers)
    for part in range(channels * drivers):
        rows_of_part = pa.array(np.flatnonzero(parts == part), pa.int64())
        assert found.pop(part, []) == batch.take(rows_of_part).to_pylist()
    assert not found
    assert allocator.counters().live_blocks == 0


@pytest.mark.parametrize(("rows", "parts"), [(0, 3), (1, 3), (100, 1), (100, 70), (1000, 8)])
def test_a_batch_is_split_into_its_parts_at_once(rows: int, parts: int) -> None:
    """Each part with rows gets what pyarrow takes for it, whatever waits from other batches."""
    batch = _columns(rows).slice(min(rows, 1))
    rule = PartitionRule(["k", "word"], parts)
    partitioner = Partitioner(batch.schema, rule)
    waiting = list(partitioner.append(batch))
    for _ in range(2):
        found = dict(partitioner.split(batch))
        routes = parts_of(hash_rows(batch, rule), parts)
        assert sorted(found) == sorted(set(routes.tolist()))
        for part, chunk in found.items():
            chunk.validate(full=True)
            rows_of_part = pa.array(np.flatnonzero(routes == part), pa.int64())
            assert chunk.to_pylist() == batch.take(rows_of_part).to_pylist()
    waiting += partitioner.flush()
    assert sum(chunk.num_rows for _, chunk in waiting) == batch.num_rows


def _dealt(
    batches: list[pa.RecordBatch], rule: PartitionRule, allocator: TrackedAllocator
) -> dict[int, list[dict[str, Any]]]:
    """Rows by part, as plain values: nothing of the allocator's is left when they are returned."""
    partitioner = Partitioner(batches[0].schema, rule, allocator)
    found: dict[int, list[dict[str, Any]]] = {}
    for batch in batches:
        for part, chunk in (*partitioner.append(batch), *partitioner.flush()):
            chunk.validate(full=True)
            found.setdefault(part, []).extend(chunk.to_pylist())
    return found


def test_chunks_are_finished_before_they_grow_beyond_their_rows() -> None:
    """A part that would get too many rows hands its chunk out first; what is left is counted."""
    rule = PartitionRule(["k"], 1, chunk_rows=100)
    batch = pa.record_batch({"k": pa.array(range(60), pa.int64())})
    partitioner = Partitioner(batch.schema, rule)
    assert list(partitioner.append(batch)) == []
    assert (partitioner.rows(0), partitioner.bytes(0)) == (60, 480)
    assert [(part, chunk.num_rows) for part, chunk in partitioner.append(batch)] == [(0, 60)]
    assert [chunk.num_rows for _, chunk in partitioner.flush()] == [60]
    assert partitioner.rows(0) == 0


def test_a_batch_of_another_schema_is_a_wrong_use() -> None:
    """Chunks have one schema; so have the batches they are made of."""
    batch = _columns(3)
    partitioner = Partitioner(batch.schema, PartitionRule(["k"], 2))
    with pytest.raises(UsageError, match="another schema"):
        partitioner.append(batch.select(["k"]))


def test_keys_and_functions_that_are_not_there_are_named() -> None:
    """A key column is looked up by name, and a function without a rule for a type says so."""
    batch = _columns(3)
    with pytest.raises(UsageError, match="no column 'nope'"):
        hash_rows(batch, PartitionRule(["nope"], 2))
    with pytest.raises(UsageError, match="unknown partition function 'md5'"):
        hash_rows(batch, PartitionRule(["k"], 2, function="md5"))  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match="Spark does not hash a map"):
        hash_rows(batch, PartitionRule(["map"], 2, function="spark"))
    with pytest.raises(UsageError, match="at least one"):
        parts_of(np.zeros(1, np.uint32), 0)


def test_a_memory_limit_is_an_error_that_leaves_nothing() -> None:
    """Chunks that wait count against the limit; when it is reached no block stays behind."""
    allocator = TrackedAllocator(limit_bytes=200_000)
    batch = _columns(9000)
    partitioner = Partitioner(batch.schema, PartitionRule(["k"], 4), allocator)
    with pytest.raises(NativeMemoryError, match="memory limit"):
        partitioner.append(batch)
    del partitioner
    assert allocator.counters().live_blocks == 0


def test_any_allocation_may_fail() -> None:
    """The first, the second, ... allocation fails: an error each time, and no block left."""
    batch = _columns(40)

    def deal(allocator: TrackedAllocator) -> list[int]:
        partitioner = Partitioner(batch.schema, PartitionRule(["k"], 2), allocator)
        chunks = [*partitioner.append(batch), *partitioner.flush()]
        return [
            sum(int(chunk.num_rows) for _, chunk in dealt)
            for dealt in (chunks, partitioner.split(batch))
        ]

    assert bears_failures(deal) == [40, 40]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=60), st.integers(1, 7))
def test_random_texts_are_dealt_completely(words: list[str | None], channels: int) -> None:
    """No text is lost, cut or mixed up with its neighbour, whatever its length."""
    batch = pa.record_batch({"w": pa.array(words, pa.string())})
    partitioner = Partitioner(batch.schema, PartitionRule(["w"], channels))
    chunks = [*partitioner.append(batch), *partitioner.flush()]
    for dealt in (chunks, partitioner.split(batch)):
        found = [word for _, chunk in dealt for word in chunk.column(0).to_pylist()]
        assert sorted(found, key=repr) == sorted(words, key=repr)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=70), max_size=300), st.integers(1, 9), st.integers(0, 5))
def test_random_texts_without_nulls_stay_with_their_keys(
    words: list[str], channels: int, skipped: int
) -> None:
    """Texts are copied in long words where there is room: never over a neighbour, in any part."""
    keys = pa.array(range(len(words)), pa.int64())
    batch = pa.record_batch({"k": keys, "w": pa.array(words, pa.string())}).slice(skipped)
    partitioner = Partitioner(batch.schema, PartitionRule(["k"], channels))
    expected = {number: words[number] for number in range(skipped, len(words))}
    chunks = [*partitioner.append(batch), *partitioner.append(batch), *partitioner.flush()]
    for dealt, times in ((chunks, 2), (partitioner.split(batch), 1)):
        rows = [row for _, chunk in dealt for row in chunk.to_pylist()]
        assert len(rows) == times * len(expected)
        assert all(expected[row["k"]] == row["w"] for row in rows)


@pytest.mark.parametrize("function", ["fnv", "crc32", "xxh3", "spark", "presto", "velox"])
@pytest.mark.parametrize(
    "kind",
    [pa.decimal32(9, 2), pa.decimal32(3, 1), pa.decimal64(18, 2), pa.decimal64(5, 2)],
    ids=str,
)
def test_narrow_decimals_hash_as_wide_ones(function: Any, kind: Any) -> None:
    """Arrow has decimals of 4 and 8 bytes, too: which it is does not change where a row goes."""
    most = Decimal(10**kind.precision - 1).scaleb(-kind.scale)
    column = pa.array([most, None, Decimal(0), -most, Decimal(-1), Decimal("0.1")], kind)
    for narrow in (
        column,
        column.slice(2),
        pa.DictionaryArray.from_arrays(pa.array([5, 0, None, 1, 3], pa.int8()), column),
        pa.ListArray.from_arrays(pa.array([0, 2, 2, 6], pa.int32()), column),
        pa.StructArray.from_arrays([column], ["a"]),
    ):
        inner = pa.decimal128(kind.precision, kind.scale)
        wide = narrow.cast(made_anew(narrow.type, lambda one: inner if one == kind else one))  # noqa: B023
        hashes = [
            hash_rows(pa.record_batch([array], ["c"]), PartitionRule(["c"], 1, function=function))
            for array in (narrow, wide)
        ]
        assert hashes[0].tolist() == hashes[1].tolist()


_VIEWS = pa.array(["a", None, "a text that is longer than a view holds", "", "b"], pa.string_view())


@pytest.mark.parametrize(
    "column",
    [
        pa.ListArray.from_arrays(pa.array([0, 2, None, 3, 5], pa.int32()), _VIEWS),
        pa.LargeListArray.from_arrays(pa.array([0, 0, 2, 4, 5], pa.int64()), _VIEWS),
        pa.StructArray.from_arrays([_VIEWS.slice(1), _VIEWS.cast(pa.binary_view()).slice(1)], "ab"),
        pa.MapArray.from_arrays(
            pa.array([0, 2, 2, None, 3], pa.int32()), pa.array(["k", "l", "k"]), _VIEWS.slice(0, 3)
        ),
        pa.DictionaryArray.from_arrays(pa.array([2, None, 1, 2], pa.int8()), _VIEWS),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int16()), _VIEWS.slice(0, 3)),
    ],
    ids=lambda column: str(column.type),
)
def test_views_at_any_depth_are_dealt_as_large_texts(column: pa.Array) -> None:
    """Lists, structs, maps, dictionaries and runs of views travel, as keys and beside them."""
    whole = pa.record_batch([pa.array(range(4), pa.int64()), column], ["k", "c"])
    for batch, key in ((whole, "k"), (whole.slice(1), "k"), (whole.slice(1, 2), "c")):
        partitioner = Partitioner(batch.schema, PartitionRule([key], 3))
        assert partitioner.plain == plain_schema(batch.schema)
        parts = [chunk for _, chunk in [*partitioner.append(batch), *partitioner.flush()]]
        found = dict(row for chunk in parts for row in zip(*map(plain_values, chunk), strict=True))
        assert found == dict(zip(*map(plain_values, batch), strict=True))

"""The iterative Presto serializer against a plain writer, and pages read from any ranges."""

import io
import struct
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, UsageError
from seambase.pages.reader import PageOptions, frame
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import parse_presto, schema_of
from seambench.seams.serde.plain_pages import payload_of
from seambench.seams.serde.values import plain_values
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.byte_stream import ByteInputStream, ByteOutputStream
from seamkit.serde.stream.presto import (
    PrestoIterativeSerializer,
    PrestoVectorSerde,
    append_partitions,
)
from seamkit.serde.stream.result import PAGE_BYTES, StreamArena, VectorResult, flattened
from seamkit_tests.samples.stream_samples import PRESTO_FLAT, random_batch, random_type

OPTIONS: list[dict[str, Any]] = [
    {},
    {"dialect": "velox", "nulls_first": True, "timestamps": "lossless"},
    {"dialect": "velox", "timestamps": "micros"},
]


def _fields(rng: Random, depth: int = 4) -> list[SerdeField]:
    count = rng.randint(1, 3)
    return [SerdeField(f"c{i}", random_type(rng, PRESTO_FLAT, depth)) for i in range(count)]


def _batch(rng: Random, fields: list[SerdeField], options: Mapping[str, Any], rows: int) -> Any:
    return random_batch(rng, schema_of(SerdeRequest("presto", fields, options)), rows)


def _expected(
    fields: list[SerdeField], options: Mapping[str, Any], picked: list[tuple[Any, list[int]]]
) -> bytes:
    """What a plain writer makes of the rows: (batch, its rows) after each other."""
    columns: list[list[Any]] = [[] for _ in fields]
    for batch, rows in picked:
        for values, column in zip(columns, batch.columns, strict=True):
            plain = plain_values(column)
            values.extend(plain[row] for row in rows)
    known = {k: v for k, v in options.items() if k in ("nulls_first", "timestamps")}
    return payload_of(columns, [parse_presto(f.type) for f in fields], PageOptions(**known))


def _flushed(serializer: PrestoIterativeSerializer) -> bytes:
    out = io.BytesIO()
    assert serializer.flush(out) == len(out.getvalue()) == serializer.max_serialized_size
    return out.getvalue()


@settings(deadline=None, max_examples=120)
@given(seed=st.integers(0, 2**32), options=st.sampled_from(OPTIONS))
def test_appended_rows_are_what_a_plain_writer_writes(seed: int, options: dict[str, Any]) -> None:
    """Any selections of any batches, in any dress, give the page of their values, byte for byte."""
    rng = Random(seed)
    fields = _fields(rng)
    arena = StreamArena(TrackedAllocator())
    serializer = PrestoVectorSerde().iterative(fields, options, arena)
    picked = []
    for _ in range(rng.randint(0, 4)):
        batch = _batch(rng, fields, options, rng.choice((0, 1, 9, 70)))
        rows: Any = None
        numbers = list(range(batch.num_rows))
        if batch.num_rows and rng.random() < 0.6:
            numbers = [rng.randrange(batch.num_rows) for _ in range(rng.choice((0, 1, 40)))]
            rows = numbers
        elif rng.random() < 0.5:
            begin = rng.randint(0, batch.num_rows)
            rows, numbers = range(begin, batch.num_rows), numbers[begin:]
        serializer.append(batch, rows)
        picked.append((batch, numbers))
    page = _flushed(serializer)
    assert page[21:] == _expected(fields, options, picked)
    assert int.from_bytes(page[:4], "little") == serializer.num_rows
    assert _flushed(serializer) == page
    serializer.clear()
    arena.clear()
    assert _flushed(serializer)[21:] == _expected(fields, options, [])
    serializer.clear()
    del serializer
    assert arena.allocator.counters().live_blocks == 0


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), options=st.sampled_from(OPTIONS))
def test_estimates_are_upper_bounds(seed: int, options: dict[str, Any]) -> None:
    """A page is never larger than the empty page, the rows' estimates and a byte a column."""
    rng = Random(seed)
    fields = _fields(rng)
    batch = _batch(rng, fields, options, rng.choice((1, 9, 70)))
    arena = StreamArena(TrackedAllocator())
    serializer = PrestoVectorSerde().iterative(fields, options, arena)
    empty = serializer.max_serialized_size
    sizes = serializer.estimate(batch)
    serializer.append(batch)
    columns = sum(str(parse_presto(field.type)).count("SerdeType(") for field in fields)
    assert len(sizes) == batch.num_rows
    assert serializer.max_serialized_size <= empty + int(sizes.sum()) + columns
    serializer.clear()
    arena.clear()


@pytest.mark.parametrize("nulls", [0, 1])
def test_estimates_are_close(allocator: TrackedAllocator, nulls: int) -> None:
    """At most a byte a row and a bit a value above what is written."""
    rows = 1000
    batch = pa.RecordBatch.from_pydict(
        {
            "a": pa.array([None if nulls and i % 2 else i for i in range(rows)], pa.int64()),
            "b": pa.array([None if nulls and i % 3 else "x" * (i % 20) for i in range(rows)]),
        }
    )
    arena = StreamArena(allocator)
    fields = [SerdeField("a", "bigint"), SerdeField("b", "varchar")]
    serializer = PrestoVectorSerde(allocator).iterative(fields, {}, arena)
    empty = serializer.max_serialized_size
    estimate = int(serializer.estimate(batch).sum())
    serializer.append(batch)
    written = serializer.max_serialized_size - empty
    assert written <= estimate + 2 <= written + rows + 2 * rows // 8 + 2
    serializer.clear()
    arena.clear()


def test_partitions_of_a_batch(allocator: TrackedAllocator) -> None:
    """64 destinations appended at once hold what 64 appends would, whoever's arena they share."""
    rng = Random(7)
    fields = _fields(rng)
    batch = _batch(rng, fields, {}, 2000)
    serde = PrestoVectorSerde(allocator)
    shared, own = StreamArena(allocator), [StreamArena(allocator) for _ in range(64)]
    together = [serde.iterative(fields, {}, shared) for _ in own]
    alone = [serde.iterative(fields, {}, arena) for arena in own]
    selections = [np.arange(i, 2000, 64, dtype=np.int32) for i in range(64)]
    append_partitions(together, together[0].open(batch), selections)
    for serializer, rows in zip(alone, selections, strict=True):
        serializer.append(batch, rows)
    for a, b in zip(together, alone, strict=True):
        assert a.num_rows == b.num_rows
        assert _flushed(a) == _flushed(b)
        a.clear()
        b.clear()
    for arena in (shared, *own):
        arena.clear()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_page_is_read_the_same_however_it_is_cut(
    allocator: TrackedAllocator, options: dict[str, Any]
) -> None:
    """Cut at every byte, or a byte at a time: any value may straddle a border."""
    rng = Random(3)
    fields = [SerdeField("a", "bigint"), SerdeField("b", "row(x varchar,y array(integer))")]
    batch = _batch(rng, fields, options, 6)
    serde = PrestoVectorSerde(allocator)
    out = io.BytesIO()
    serde.batch(fields, {**options, "checksum": True}).serialize(batch, out)
    page = out.getvalue() + b"next"
    expected = [plain_values(column) for column in batch.columns]
    cuts = [[page[:at], page[at:]] for at in range(len(page) + 1)]
    for ranges in (*cuts, [page[i : i + 1] for i in range(len(page))]):
        source = ByteInputStream(ranges, allocator)
        read = serde.deserialize(source, fields, options).batch()
        assert source.remaining() == 4
        assert [plain_values(column) for column in read.columns] == expected
        del read, source


def test_a_page_that_ends_too_early_is_refused(allocator: TrackedAllocator) -> None:
    """At every length: an error that says how much remains, and a result as it was."""
    fields = [SerdeField("a", "varchar")]
    serde = PrestoVectorSerde(allocator)
    out = io.BytesIO()
    batch = pa.RecordBatch.from_pydict({"a": ["one", None, "three"]})
    serde.batch(fields, {}).serialize(batch, out)
    result = serde.deserialize(ByteInputStream([out.getvalue()], allocator), fields, {})
    for size in range(len(out.getvalue())):
        short = ByteInputStream([out.getvalue()[:size]], allocator)
        with pytest.raises(InputError, match="remain"):
            serde.deserialize(short, fields, {}, result)
        del short
    assert result.num_rows == 3
    del result


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_pages_are_appended_into_the_same_columns(seed: int) -> None:
    """A second page continues the columns of the first, whatever either is encoded as."""
    rng = Random(seed)
    fields = _fields(rng, 3)
    serde = PrestoVectorSerde()
    allocator = TrackedAllocator()
    stream = io.BytesIO()
    batches = [_batch(rng, fields, {}, rng.choice((0, 1, 30))) for _ in range(3)]
    for batch in batches:
        serde.batch(fields, {}).serialize(batch, stream)
    source = ByteInputStream([stream.getvalue()], allocator)
    result = VectorResult()
    for _ in batches:
        assert serde.deserialize(source, fields, {}, result) is result
    joined = result.batch()
    assert (source.remaining(), joined.num_rows) == (0, result.num_rows)
    for index, column in enumerate(joined.columns):
        whole = [value for b in batches for value in plain_values(b.column(index))]
        assert plain_values(column) == whole
        assert flattened(column).type == column.type


def _name(encoding: str) -> bytes:
    return struct.pack("<i", len(encoding)) + encoding.encode()


# Keys 7 and 8, values "a" and null, laid out by hand.
_KEYS = _name("INT_ARRAY") + struct.pack("<ib2i", 2, 0, 7, 8)
_VALUES = _name("VARIABLE_WIDTH") + struct.pack("<3iBBi", 2, 1, 1, 1, 0x40, 1) + b"a"
_SEVEN = _name("INT_ARRAY") + struct.pack("<ibi", 1, 0, 7)
_NULL = _name("VARIABLE_WIDTH") + struct.pack("<2iBBi", 1, 0, 1, 0x80, 0)
_MAP = SerdeField("m", "map(integer,varchar)")
_ROW = SerdeField("r", "row(x integer,y varchar)")
_OF_MAP = pa.array([[(1, "z")], [(7, "a"), (8, None)]], pa.map_(pa.int32(), pa.string()))
_OF_ROW = pa.array([None, {"x": 7, "y": None}], pa.struct({"x": pa.int32(), "y": pa.string()}))


@pytest.mark.parametrize(
    ("field", "column", "content"),
    [
        (_MAP, _OF_MAP, _name("MAP_ELEMENT") + _KEYS + _VALUES + struct.pack("<i", -1)),
        (_ROW, _OF_ROW, _name("ROW_ELEMENT") + struct.pack("<i", 2) + _SEVEN + _NULL),
    ],
    ids=["map", "row"],
)
def test_one_value_alone(
    allocator: TrackedAllocator, field: SerdeField, column: Any, content: bytes
) -> None:
    """A map or row by itself has no count, offsets or flags (Presto 0.296, SingleMapBlock)."""
    serde = PrestoVectorSerde(allocator)
    assert bytes(serde.serialize_value(field, {}, column.slice(1))) == content
    source = ByteInputStream([content, b"rest"], allocator)
    found = serde.deserialize_column(source, field, {})
    found.validate(full=True)
    assert found.to_pylist() == column.to_pylist()[1:]
    assert source.remaining() == 4
    del found
    for end in range(len(content)):
        with pytest.raises(InputError, match="at byte"):
            serde.deserialize_column(ByteInputStream([content[:end]], allocator), field, {})


def test_hash_tables_of_single_maps_are_passed_over(allocator: TrackedAllocator) -> None:
    """Two slots for each entry may follow; another number is refused where it stands."""
    content = _name("MAP_ELEMENT") + _KEYS + _VALUES
    table = struct.pack("<5i", 4, 0, -1, 1, -1)
    serde = PrestoVectorSerde(allocator)
    found = serde.deserialize_column(ByteInputStream([content + table], allocator), _MAP, {})
    assert found.to_pylist() == _OF_MAP.to_pylist()[1:]
    del found
    source = ByteInputStream([content + struct.pack("<2i", 1, 0)], allocator)
    with pytest.raises(InputError, match=rf"hash table.*at byte {len(content)}"):
        serde.deserialize_column(source, _MAP, {})


def test_single_values_are_no_columns(allocator: TrackedAllocator) -> None:
    """A page, or a part of a column, cannot be one map; and only maps and rows stand alone."""
    content = _name("MAP_ELEMENT") + _KEYS + _VALUES + struct.pack("<i", -1)
    page = frame(1, struct.pack("<i", 1) + content)
    serde = PrestoVectorSerde(allocator)
    with pytest.raises(InputError, match=r"MAP_ELEMENT.*at byte 25"):
        serde.deserialize(ByteInputStream([page], allocator), [_MAP], {})
    with pytest.raises(InputError, match="MAP_ELEMENT"):
        serde.deserialize_column(ByteInputStream([content], allocator), _ROW, {})
    for field, column in (
        (SerdeField("a", "bigint"), pa.array([1])),
        (_MAP, _OF_MAP),
        (_ROW, _OF_ROW.slice(0, 1)),
    ):
        with pytest.raises(UsageError, match="one map or one row"):
            serde.serialize_value(field, {}, column)


@pytest.mark.parametrize(
    ("type_", "value", "pages"),
    [
        ("bigint", 7, 8),
        ("array(real)", [0.5], 4 + 4),
        ("row(x integer)", {"x": 1}, 4 + 4),
        ("map(integer, bigint)", [(1, 2)], 4 + 4 + 8),
        ("varchar", "01234567", 8 + 2),  # for 10 bytes of each: an arena's range may be shorter
        ("boolean", True, 2),  # one is enough; an arena takes two
    ],
)
def test_ranges_are_set_aside_for_rows_to_come(
    allocator: TrackedAllocator, type_: str, value: Any, pages: int
) -> None:
    """For 4096 rows as many pages as a row has bytes: then no append takes memory but for flags."""
    fields = [SerdeField("a", type_)]
    arena = StreamArena(allocator)
    serializer = PrestoVectorSerde(allocator).iterative(fields, {}, arena, 4096)
    before = arena.size_bytes
    assert before == pages * 4096
    with pytest.raises(UsageError, match="1 stream writes to this"):
        arena.clear()
    schema = schema_of(SerdeRequest("presto", fields, {}))
    batch = pa.RecordBatch.from_pydict({"a": [value] * 4096}, schema)
    serializer.append(batch)
    assert arena.size_bytes - before == (8192 if type_ == "varchar" else 0)
    assert _flushed(serializer)[21:] == _expected(fields, {}, [(batch, list(range(4096)))])
    serializer.clear()
    arena.clear()
    assert arena.size_bytes == 0
    serializer.append(batch, [0])
    assert arena.size_bytes == 2 * 4096
    serializer.clear()
    arena.clear()


@pytest.mark.parametrize("rows", [-1, 1 << 31])
def test_no_memory_is_set_aside_for_rows_that_cannot_be(
    allocator: TrackedAllocator, rows: int
) -> None:
    """A page has fewer than 2^31 rows, and not less than none; memory that is not there is told."""
    fields = [SerdeField("a", "bigint")]
    with pytest.raises(UsageError, match=f"0 rows to 2\\^31 - 1, not for {rows}"):
        PrestoVectorSerde(allocator).iterative(fields, {}, StreamArena(allocator), rows)
    small = TrackedAllocator(100_000)
    arena = StreamArena(small)
    with pytest.raises(NativeMemoryError):
        PrestoVectorSerde(small).iterative(fields, {}, arena, 1 << 20)
    arena.clear()


def test_an_output_stream_over_an_arena_takes_pages(allocator: TrackedAllocator) -> None:
    """Pages go to scattered ranges as well, one behind the other."""
    fields = [SerdeField("a", "bigint")]
    arena = StreamArena(allocator)
    serializer = PrestoVectorSerde(allocator).iterative(fields, {}, arena)
    out = ByteOutputStream(arena)
    batch = pa.RecordBatch.from_pydict({"a": range(3000)})
    serializer.append(batch)
    serializer.flush(out)
    serializer.flush(out)
    assert out.getvalue() == _flushed(serializer) * 2
    with pytest.raises(UsageError, match="2 streams write to this"):
        arena.clear()
    out.clear()
    serializer.clear()
    arena.clear()


def test_wrong_calls_are_refused(allocator: TrackedAllocator) -> None:
    """Rows, columns and serializers that do not fit leave everything as it was."""
    arena = StreamArena(allocator)
    serde = PrestoVectorSerde(allocator)
    fields = [SerdeField("a", "bigint")]
    first, other = (
        serde.iterative(fields, {}, arena),
        serde.iterative([SerdeField("a", "integer")], {}, arena),
    )
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
    wrong: list[Any] = [range(4), range(-1, 1), range(1, 5, 2), [0, 3], [-1], [[0]], [0.5]]
    for rows in wrong:
        with pytest.raises(UsageError):
            first.append(batch, rows)
    with pytest.raises(UsageError, match="column 'a'"):
        other.append(batch)
    with pytest.raises(UsageError, match="other columns"):
        append_partitions([first, other], batch, [None, None])
    with pytest.raises(UsageError, match="1 selection came for 2"):
        append_partitions([first, first], batch, [None])
    for wrong_option in ({"layout": "builder"}, {"layout": "preserve"}, {"hash_tables": True}):
        with pytest.raises(UsageError, match="use the batch serializer"):
            serde.iterative(fields, wrong_option, arena)
    strict = serde.iterative([SerdeField("a", "bigint", nullable=False)], {}, arena)
    with pytest.raises(UsageError, match="column 'a' must not hold nulls"):
        strict.append(pa.RecordBatch.from_pydict({"a": [1, None]}))
    assert first.num_rows == other.num_rows == strict.num_rows == 0
    first.clear()
    other.clear()
    arena.clear()


def test_a_null_key_closes_the_serializer_until_it_is_cleared(allocator: TrackedAllocator) -> None:
    """A map's key is never null; what was appended before is not flushed by half."""
    # A null that hides behind an index, which Arrow's own check of keys does not see.
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["a", None]))
    column = pa.MapArray.from_arrays(pa.array([0, 2], pa.int32()), keys, pa.array([1, 2]))
    arena = StreamArena(allocator)
    fields = [SerdeField("m", "map(varchar,bigint)")]
    serializer = PrestoVectorSerde(allocator).iterative(fields, {}, arena)
    with pytest.raises(InputError, match="key of map 'm' is null"):
        serializer.append(pa.RecordBatch.from_arrays([column], names=["m"]))
    with pytest.raises(UsageError, match="clear it first"):
        serializer.flush(io.BytesIO())
    serializer.clear()
    arena.clear()
    assert serializer.flush(io.BytesIO()) > 0
    serializer.clear()


def test_memory_of_many_destinations(allocator: TrackedAllocator) -> None:
    """One row of 100 bigints to each of 50 destinations: under 260 bytes a column, not a page."""
    columns, destinations = 100, 50
    fields = [SerdeField(f"c{i}", "bigint") for i in range(columns)]
    batch = pa.RecordBatch.from_pydict({f.name: range(destinations) for f in fields})
    serde = PrestoVectorSerde(allocator)
    arenas = [StreamArena(allocator) for _ in range(destinations)]
    serializers = [serde.iterative(fields, {}, arena) for arena in arenas]
    append_partitions(serializers, batch, [[i] for i in range(destinations)])
    held = allocator.counters().current_bytes
    assert held < (260 * columns + 2 * PAGE_BYTES) * destinations
    for serializer, arena in zip(serializers, arenas, strict=True):
        serializer.clear()
        arena.clear()


class _Calls:
    """An output stream that keeps every piece apart."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: memoryview) -> None:
        """Take the bytes."""
        self.pieces.append(bytes(data))


@pytest.mark.parametrize("nulls_first", [False, True])
@pytest.mark.parametrize("tiny_ranges", [False, True])
def test_large_pages_leave_in_pieces(
    allocator: TrackedAllocator, tiny_ranges: bool, nulls_first: bool
) -> None:
    """Thousands of rows in ranges cut anywhere are the witness's page, large ranges not joined.

    With a checksum the page leaves as one, and holds the same payload.
    """
    rng = np.random.default_rng(3)
    rows = 20_000
    texts = pa.array([None if i % 11 == 0 else "x" * (i % 40) for i in range(rows)])
    full = pa.array([f"{i:0{i % 29}d}" for i in range(rows)])
    inner = pa.StructArray.from_arrays([full, pa.array(np.arange(rows))], names=["s", "n"])
    numbers = pa.array(rng.integers(0, 1 << 60, rows))
    columns = [texts, full, numbers, full, inner]
    batch = pa.RecordBatch.from_arrays(columns, names=list("tfngr"))
    types = ["varchar", "varchar", "bigint", "varchar", "row(s varchar, n bigint)"]
    fields = [SerdeField(name, kind) for name, kind in zip("tfngr", types, strict=True)]
    options = {"dialect": "velox", "nulls_first": nulls_first}
    arena = StreamArena(allocator, tiny_ranges=tiny_ranges)
    serde = PrestoVectorSerde(allocator)
    serializer = serde.iterative(fields, options, arena)
    checked = serde.iterative(fields, {**options, "checksum": True}, arena)
    other = serde.iterative(fields, options, arena)  # its ranges lie between the others
    picked = []
    for count in (3, 600, 1, 15_000, 777):
        listed = rng.permutation(rows)[:count].astype(np.int32)
        begin = int(rng.integers(0, rows - count))
        for one in (serializer, checked):
            one.append(batch, listed)
            one.append(batch, range(begin, begin + count))
        other.append(batch, range(count % 7))
        picked += [(batch, listed.tolist()), (batch, list(range(begin, begin + count)))]
    out, whole = _Calls(), _Calls()
    size = serializer.flush(out)
    checked.flush(whole)
    page = b"".join(out.pieces)
    assert len(page) == size == serializer.max_serialized_size
    assert page[21:] == _expected(fields, options, picked) == whole.pieces[0][21:]
    assert page == bytes(serializer.page())
    assert (len(out.pieces) > 4, len(whole.pieces)) == (True, 1)
    for one in (serializer, checked, other):
        one.clear()
    arena.clear()

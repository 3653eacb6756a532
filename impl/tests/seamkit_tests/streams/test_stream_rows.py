"""Serializers of rows by the stream against a plain writer, and the registry of all serdes."""

import io
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import parse_spark, schema_of
from seambench.seams.serde.plain_rows import compact_row, framed, unsafe_row
from seambench.seams.serde.values import plain_values
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.registry import (
    VectorSerde,
    register_serde,
    serde_named,
    serde_names,
    unregister_serde,
)
from seamkit.serde.stream.result import StreamArena, VectorResult
from seamkit.serde.stream.rows import RowVectorSerde, append_row_partitions
from seamkit_tests.samples.stream_samples import SPARK_FLAT, random_batch, random_type

FORMATS = ("unsaferow", "compactrow")


def _serde(format_: Any, allocator: TrackedAllocator | None = None) -> RowVectorSerde:
    return RowVectorSerde("rows", format_, allocator)


def _fields(rng: Random) -> list[SerdeField]:
    count = rng.randint(1, 3)
    return [SerdeField(f"c{i}", random_type(rng, SPARK_FLAT, 3)) for i in range(count)]


def _batch(rng: Random, fields: list[SerdeField], rows: int) -> Any:
    return random_batch(rng, schema_of(SerdeRequest("unsaferow", fields)), rows)


def _expected(format_: str, fields: list[SerdeField], batch: Any, rows: list[int]) -> list[bytes]:
    types = [parse_spark(field.type) for field in fields]
    columns = [plain_values(column) for column in batch.columns]
    write = unsafe_row if format_ == "unsaferow" else compact_row
    return [write([column[row] for column in columns], types) for row in rows]


def _flushed(serializer: Any) -> bytes:
    out = io.BytesIO()
    size = serializer.max_serialized_size
    assert serializer.flush(out) == len(out.getvalue()) == size
    return out.getvalue()


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32), format_=st.sampled_from(FORMATS))
def test_appended_rows_are_what_a_plain_writer_writes(seed: int, format_: str) -> None:
    """Any selections of any batches give one group of their rows, byte for byte, and only once."""
    rng = Random(seed)
    fields = _fields(rng)
    arena = StreamArena(TrackedAllocator())
    serializer = _serde(format_).iterative(fields, {}, arena)
    expected = []
    for _ in range(rng.randint(0, 3)):
        batch = _batch(rng, fields, rng.choice((0, 1, 20)))
        rows = [rng.randrange(batch.num_rows) for _ in range(10)] if batch.num_rows else []
        sizes = serializer.estimate(batch, rows)
        serializer.append(batch, rows)
        wanted = _expected(format_, fields, batch, rows)
        assert sizes.tolist() == [4 + len(row) for row in wanted]
        expected += wanted
    assert serializer.num_rows == len(expected)
    assert _flushed(serializer) == framed(expected, "velox-group")
    assert serializer.num_rows == 0
    assert _flushed(serializer) == framed([], "velox-group")
    serializer.clear()
    arena.clear()
    assert arena.allocator.counters().live_blocks == 0


@pytest.mark.parametrize("format_", FORMATS)
def test_partitions_of_a_batch(allocator: TrackedAllocator, format_: str) -> None:
    """16 destinations appended at once hold their own rows, and ranges do as well as lists."""
    rng = Random(5)
    fields = _fields(rng)
    batch = _batch(rng, fields, 100)
    serde = _serde(format_, allocator)
    arenas = [StreamArena(allocator) for _ in range(16)]
    serializers = [serde.iterative(fields, {}, arena) for arena in arenas]
    selections: list[Any] = [range(i, 100, 16) for i in range(14)] + [range(3, 9), None]
    append_row_partitions(serializers, batch, selections)
    for serializer, rows, arena in zip(serializers, selections, arenas, strict=True):
        numbers = list(range(100) if rows is None else rows)
        assert _flushed(serializer) == framed(
            _expected(format_, fields, batch, numbers), "velox-group"
        )
        serializer.clear()
        arena.clear()


@pytest.mark.parametrize("format_", FORMATS)
def test_groups_are_read_the_same_however_they_are_cut(
    allocator: TrackedAllocator, format_: str
) -> None:
    """Two groups behind each other, cut at every byte or a byte at a time, into one result."""
    rng = Random(9)
    fields = [SerdeField("a", "bigint"), SerdeField("b", "array<string>")]
    batch = _batch(rng, fields, 4)
    serde = _serde(format_, allocator)
    out = io.BytesIO()
    for codec in ("none", "lz4"):
        serde.batch(fields, {"codec": codec}).serialize(batch, out, [0, 1, 2, 3, 0, 0, 0, 0])
    stream = out.getvalue()
    expected = [[plain_values(c)[i] for i in [0, 1, 2, 3, 0, 0, 0, 0] * 2] for c in batch.columns]
    cuts = [[stream[:at], stream[at:]] for at in range(len(stream) + 1)]
    for ranges in (*cuts, [stream[i : i + 1] for i in range(len(stream))]):
        source = ByteInputStream(ranges, allocator)
        result = VectorResult()
        while source.remaining():
            serde.deserialize(source, fields, {"codec": "lz4"}, result)
        assert [plain_values(column) for column in result.batch().columns] == expected
        del source


@pytest.mark.parametrize("format_", FORMATS)
def test_broken_groups_are_refused(allocator: TrackedAllocator, format_: str) -> None:
    """A group cut off anywhere, or one whose header contradicts itself."""
    fields = [SerdeField("a", "string")]
    serde = _serde(format_, allocator)
    out = io.BytesIO()
    serde.batch(fields, {}).serialize(pa.RecordBatch.from_pydict({"a": ["one", None]}), out)
    group = out.getvalue()
    broken = [group[:size] for size in range(len(group))]
    broken += [b"\x01" + group[1:], group[:8] + b"\x02" + group[9:], b"\xff" * 9, group[:9] * 2]
    for data in broken:
        source = ByteInputStream([data], allocator)
        with pytest.raises(InputError):
            serde.deserialize(source, fields, {})
        del source


def test_wrong_calls_are_refused(allocator: TrackedAllocator) -> None:
    """Rows, columns, framings and serializers that do not fit."""
    arena = StreamArena(allocator)
    fields = [SerdeField("a", "bigint")]
    serde = _serde("unsaferow", allocator)
    first = serde.iterative(fields, {}, arena)
    other = serde.iterative(fields, {"writer": "velox"}, arena)
    batch = pa.RecordBatch.from_pydict({"a": [1, 2]})
    with pytest.raises(UsageError, match="not all in a batch of 2 rows"):
        first.append(batch, [2])
    with pytest.raises(UsageError, match="another format"):
        append_row_partitions([first, other], batch, [None, None])
    with pytest.raises(UsageError, match="2 selections came for 1"):
        append_row_partitions([first], batch, [None, None])
    with pytest.raises(UsageError, match="a stream of vectors is of groups"):
        serde.iterative(fields, {"framing": "packed"}, arena)
    assert first.num_rows == other.num_rows == 0


@pytest.mark.parametrize(
    ("name", "type_"), [("Presto", "bigint"), ("CompactRow", "bigint"), ("UnsafeRow", "bigint")]
)
def test_every_serde_by_its_name(allocator: TrackedAllocator, name: str, type_: str) -> None:
    """The same calls for every format: append, estimate, flush, read."""
    serde = serde_named(name)
    assert serde is serde_named(name)
    assert isinstance(serde, VectorSerde)
    fields = [SerdeField("a", type_)]
    arena = StreamArena(allocator)
    serializer = serde.iterative(fields, {}, arena)
    batch = pa.RecordBatch.from_pydict({"a": [1, None, 3]})
    serializer.append(batch, [2, 0])
    serializer.append(batch)
    assert len(serializer.estimate(batch)) == 3
    out = io.BytesIO()
    most = serializer.max_serialized_size
    assert serializer.flush(out) <= most
    serde.batch(fields, {}).serialize(batch, out, [1])
    serializer.clear()
    arena.clear()
    source = ByteInputStream([out.getvalue()], allocator)
    result = serde.deserialize(source, fields, {})
    result = serde.deserialize(source, fields, {}, result)
    assert result.batch().column(0).to_pylist() == [3, 1, 1, None, 3, None]
    del source


#: Flushes that libvelox of pyvelox 0.2.0 did not compress after each that did not pay, while 34
#: compressible ones followed it (Presto's pages and CompactRow, lz4 and zstd).
_VELOX_SKIPPED = [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize(("name", "flag"), [("Presto", 4), ("CompactRow", 8), ("UnsafeRow", 8)])
def test_compression_is_left_out_as_velox_does(name: str, flag: int, codec: str) -> None:
    """A serializer counts over all its flushes, clear or not, whatever the format."""
    rng = Random(9)
    fields = [SerdeField("a", "varbinary" if name == "Presto" else "binary")]
    arena = StreamArena(TrackedAllocator())
    serializer = serde_named(name).iterative(fields, {"codec": codec}, arena)

    def compressed(value: bytes) -> bool:
        out = io.BytesIO()
        serializer.append(pa.record_batch({"a": pa.array([value], pa.binary())}))
        serializer.flush(out)
        serializer.clear()
        arena.clear()
        return bool(out.getvalue()[flag] & 1)

    assert compressed(bytes(2000))
    found = []
    for _ in _VELOX_SKIPPED:
        assert not compressed(rng.randbytes(2000))
        flags = [compressed(bytes(2000)) for _ in range(34)]
        found.append(flags.index(True))
        assert all(flags[found[-1] :])
    assert found == _VELOX_SKIPPED


def test_outsiders_join_by_name() -> None:
    """A serde of somebody else's is found by its name, but takes nobody's place."""

    class Theirs:
        name = "Theirs"
        iterative = batch = deserialize = print

    theirs: Any = Theirs()
    register_serde(theirs)
    register_serde(theirs)  # the same one again changes nothing
    try:
        assert serde_named("Theirs") is theirs
        assert serde_names() == ["CompactRow", "Presto", "Theirs", "UnsafeRow"]
        with pytest.raises(UsageError, match="named 'Theirs' already"):
            register_serde(type("Other", (Theirs,), {})())
        with pytest.raises(UsageError, match="named 'Presto' already"):
            register_serde(type("Other", (Theirs,), {"name": "Presto"})())
        unfit: Any = object()
        with pytest.raises(UsageError, match="lacks a method"):
            register_serde(unfit)
    finally:
        unregister_serde("Theirs")
    with pytest.raises(UsageError, match="no serde named 'Theirs', only: CompactRow, Presto"):
        serde_named("Theirs")

"""UnsafeRows against Spark's own bytes, and against what must be refused."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError, UsageError
from seambase.serde import SerdeField
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.rows.codec import UnsafeRows
from seamkit_tests.samples.row_samples import fields_of, golden_names, load_golden

SMALL_BYTES = 700


def _words(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}Q", *(word & (2**64 - 1) for word in words))


def _slot(offset: int, size: int) -> int:
    return offset << 32 | size


def _read(types: dict[str, str], *rows: bytes) -> pa.RecordBatch:
    return UnsafeRows(fields_of(**types)).deserialize(
        b"".join(rows), lengths=[len(row) for row in rows]
    )


@pytest.mark.parametrize("name", golden_names())
def test_golden_values_become_the_same_bytes(name: str) -> None:
    """Bytes equal Spark 3.5.9's in a dirty buffer; those of null calendar intervals are zeros.

    Spark leaves them to chance; of zeros, equal rows have equal bytes.
    """
    golden = load_golden(name)
    out = bytearray(b"\xaa" * len(golden.data))
    rows = UnsafeRows(golden.fields).serialize(golden.batch, framing=golden.framing, out=out)
    assert golden.masked(rows.data) == golden.masked(golden.data)
    assert rows.offsets.tolist() == golden.offsets
    assert rows.lengths.tolist() == golden.lengths
    assert UnsafeRows(golden.fields).sizes(golden.batch).tolist() == golden.lengths
    for offset, length in golden.dont_care:
        assert bytes(rows.data[offset : offset + length]) == bytes(length)


def test_void_takes_eight_bytes_in_arrays() -> None:
    """Spark 3.5.9 gives each void element a word; a struct without fields is empty."""
    batch = pa.RecordBatch.from_pydict(
        {"a": pa.array([[None] * 3], pa.list_(pa.null())), "b": pa.array([{}], pa.struct([]))}
    )
    codec = UnsafeRows(fields_of(a="array<void>", b="struct<>"))
    data = bytes(codec.serialize(batch, framing="packed").data)
    assert data == _words(0, _slot(24, 40), _slot(64, 0), 3, 0b111, 0, 0, 0)
    assert codec.deserialize(data, lengths=[64]).equals(batch)


BROKEN: dict[str, tuple[dict[str, str], bytes, str]] = {
    "shorter than its slots": ({"a": "int", "b": "int"}, _words(0, 1), "at least 24"),
    "not a multiple of 8": ({"a": "int"}, _words(0, 1) + b"\0", "multiple of 8"),
    "string beyond the row": ({"a": "string"}, _words(0, _slot(16, 9), 0), "beyond the end"),
    "negative offset": ({"a": "string"}, _words(0, _slot(2**32 - 8, 4), 0), "beyond the end"),
    "string in the head": ({"a": "string"}, _words(0, _slot(8, 4), 0), "overlaps"),
    "strings over each other": (
        {"a": "string", "b": "binary"},
        _words(0, _slot(24, 4), _slot(26, 4), 0),
        "'b' overlaps",
    ),
    "bad UTF-8": ({"a": "string"}, _words(0, _slot(16, 2), 0xFFC3), "UTF-8"),
    "boolean of 2": ({"a": "boolean"}, _words(0, 2), "neither 0 nor 1"),
    "short decimal too long": ({"a": "decimal(2,0)"}, _words(0, 100), "more digits"),
    "long decimal too long": (
        {"a": "decimal(19,0)"},
        _words(0, _slot(16, 16), 0x7F, 0),
        "more digits",
    ),
    "decimal of 17 bytes": ({"a": "decimal(19,0)"}, _words(0, _slot(16, 17), 0, 0, 0), "16 bytes"),
    "decimal of no bytes": ({"a": "decimal(19,0)"}, _words(0, _slot(16, 0)), "of no"),
    "interval of 8 bytes": ({"a": "interval"}, _words(0, _slot(16, 8), 0), "other than 16"),
    "void with a value": ({"a": "void"}, _words(0, 0), "void"),
    "negative count": ({"a": "array<int>"}, _words(0, _slot(16, 8), -1), "longer than"),
    "huge count": ({"a": "array<void>"}, _words(0, _slot(16, 8), 2**62), "longer than"),
    "more elements than bytes": ({"a": "array<int>"}, _words(0, _slot(16, 16), 1, 0), "longer"),
    "array of four bytes": ({"a": "array<int>"}, _words(0, _slot(16, 4), 0), "longer than"),
    "map whose keys pass its end": ({"a": "map<int,int>"}, _words(0, _slot(16, 8), 9), "keys"),
    "map of more keys than values": (
        {"a": "map<bigint,int>"},
        _words(0, _slot(16, 40), 24, 1, 0, 7, 0),
        "fewer keys",
    ),
    "null key": ({"a": "map<bigint,int>"}, _words(0, _slot(16, 56), 24, 1, 1, 0, 1, 0, 0), "null"),
    "struct too short": ({"a": "struct<x:int>"}, _words(0, _slot(16, 8), 0), "too short"),
    "element over its array's head": (
        {"a": "array<string>"},
        _words(0, _slot(16, 32), 1, 0, _slot(8, 4), 0),
        "overlaps",
    ),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_broken_rows_are_named(case: str) -> None:
    """What breaks the layout is refused with the column, the reason and the byte."""
    types, row, reason = BROKEN[case]
    with pytest.raises(InputError, match=reason) as caught:
        _read(types, row)
    assert "at byte" in str(caught.value)


def test_older_null_decimals_are_read() -> None:
    """Before SPARK-41395 a null long decimal's slot was 0; Velox still writes it so."""
    assert _read({"a": "decimal(38,0)"}, _words(1, 0)).column(0).to_pylist() == [None]


def test_padding_and_unused_bytes_do_not_matter() -> None:
    """Readers of either engine ignore what fills up a slot or a string; the check reports it."""
    row = _words(0xF0, 0x1122334400000007, _slot(24, 1), 0x4141414141414141)
    found = _read({"a": "int", "b": "string"}, row)
    assert found.to_pylist() == [{"a": 7, "b": "A"}]


def test_nulls_are_refused_where_none_may_be() -> None:
    """A column that is said to hold no nulls is held to it, in both directions."""
    codec = UnsafeRows([SerdeField("a", "int", nullable=False)])
    batch = pa.RecordBatch.from_pydict({"a": pa.array([1, None, 3], pa.int32())})
    with pytest.raises(InputError, match="row 1: column 'a' is null"):
        codec.serialize(batch)
    with pytest.raises(InputError, match="row 0: column 'a' is null"):
        codec.deserialize(_words(1, 0), lengths=[16])


def test_decimals_are_held_to_their_digits() -> None:
    """Arrow does not check digits by itself; a row of Spark never has more than its type."""
    wide = pa.array([1, -(10**17), 10**20], pa.decimal128(38, 0))
    for digits, row in ((17, 1), (20, 2)):
        type_ = pa.decimal128(digits, 0)
        batch = pa.RecordBatch.from_arrays(
            [pa.Array.from_buffers(type_, 3, wide.buffers())], names=["a"]
        )
        with pytest.raises(InputError, match=f"row {row}: column 'a' has more digits"):
            UnsafeRows(fields_of(a=f"decimal({digits},0)")).serialize(batch)


def test_wrong_batches_and_choices_are_usage_errors() -> None:
    """Another type, number of columns or row is the caller's mistake, and named."""
    codec = UnsafeRows(fields_of(a="int"))
    batch = pa.RecordBatch.from_pydict({"a": pa.array([1], pa.int32())})
    with pytest.raises(UsageError, match="'a': int is int32"):
        codec.serialize(pa.RecordBatch.from_pydict({"a": pa.array([1], pa.int64())}))
    with pytest.raises(UsageError, match="2 columns"):
        codec.serialize(batch.append_column("b", batch.column(0)))
    with pytest.raises(UsageError, match="row 1 was chosen"):
        codec.serialize(batch, [1])
    with pytest.raises(UsageError, match="whole numbers"):
        codec.serialize(batch, np.array([0.5]))
    with pytest.raises(UsageError, match="`out` has 19"):
        codec.serialize(batch, out=bytearray(19))


@pytest.mark.parametrize(
    ("lengths", "offsets", "error", "reason"),
    [
        ([16, 16], None, InputError, "said to take 32"),
        ([-16, 32], None, InputError, "said to take 16"),
        ([16], [8], InputError, "not within"),
        ([16], [-8], InputError, "not within"),
        ([2**62], [2**62], InputError, "not within"),
        ([16], [0, 0], UsageError, "2 offsets of rows come with 1"),
        (None, [0], UsageError, "need the lengths"),
    ],
)
def test_frames_are_checked(lengths: Any, offsets: Any, error: Any, reason: str) -> None:
    """Offsets and lengths that come beside the bytes are trusted no more than the bytes."""
    with pytest.raises(error, match=reason):
        UnsafeRows(fields_of(a="int")).deserialize(_words(0, 1), lengths=lengths, offsets=offsets)


def test_encoded_and_large_columns_are_taken_as_they_come() -> None:
    """Dictionaries, runs and 64-bit offsets give the rows that plain columns give, nested too."""
    texts = pa.array(["x", None, "yy", "x"])
    lists = pa.array([["x"], None, ["yy", None], []], pa.list_(pa.string()))
    inner = pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())
    encoded = [
        texts.dictionary_encode(),
        pa.compute.run_end_encode(texts),
        texts.cast(pa.large_string()),
        inner.filter(pa.array([True] * 4)),
        lists.cast(pa.large_list(pa.large_string())),
    ]
    plain_ = [texts, texts, texts, pa.array([["x"], [], ["yy", None], []], lists.type), lists]
    fields = fields_of(a="string", b="string", c="string", d="array<string>", e="array<string>")
    names = [field.name for field in fields]
    codec = UnsafeRows(fields)
    expected = codec.serialize(pa.RecordBatch.from_arrays(plain_, names=names)).data
    assert codec.serialize(pa.RecordBatch.from_arrays(encoded, names=names)).data == expected


def test_memory_is_counted_and_given_back() -> None:
    """Rows and batches belong to the allocator given, and a limit on it holds."""
    batch = pa.RecordBatch.from_pydict({"a": pa.array(["x" * 100] * 1000)})
    with TrackedAllocator() as allocator:
        codec = UnsafeRows(fields_of(a="string"), allocator=allocator)
        rows = codec.serialize(batch)
        assert allocator.counters().current_bytes == len(rows.data)
        back = codec.deserialize(rows.data)
        assert back.equals(batch)
        del rows, back
    small = UnsafeRows(fields_of(a="string"), allocator=TrackedAllocator(50_000))
    with pytest.raises(MemoryError, match="memory limit of 50000"):
        small.serialize(batch)


def test_reading_sets_little_aside() -> None:
    """A batch takes what its columns take, and at most a sixteenth of its text more."""
    batch = pa.RecordBatch.from_pydict(
        {"a": pa.array(range(20_000)), "b": pa.array(["t" * (i % 60) for i in range(20_000)])}
    )
    codec = UnsafeRows(fields_of(a="bigint", b="string"))
    data = codec.serialize(batch).data
    reader = UnsafeRows(codec.program, allocator=TrackedAllocator())
    back = reader.deserialize(data)
    assert back.equals(batch)
    assert reader.allocator.counters().peak_bytes < back.nbytes * 17 // 16 + (1 << 20)

"""CompactRows against bytes worked out by hand from Velox's description and code."""

import contextlib
import struct
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.serde.rows.codec import UnsafeRows
from seamkit.serde.rows.serde import CompactRows
from seamkit_tests.samples.row_samples import fields_of

LISTS = pa.list_(pa.list_(pa.int32()))
TEXTS = pa.map_(pa.string(), pa.int8())
PAIR = pa.struct([("x", pa.int16()), ("y", pa.string())])


def _i32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


# Each: Spark type, Arrow type, value, bytes of a row that holds the value and then the number 7.
# The second column shows that the reader finds its way past the first (velox#5812, #6194).
CASES: dict[str, tuple[str, pa.DataType, Any, bytes]] = {
    "int": ("int", pa.int32(), 5, b"\0" + _i32(5)),
    "null int": ("int", pa.int32(), None, b"\1" + _i32(0)),
    "boolean": ("boolean", pa.bool_(), True, b"\0\1"),
    "null boolean": ("boolean", pa.bool_(), None, b"\1\0"),
    "bigint": ("bigint", pa.int64(), -2, b"\0\xfe" + b"\xff" * 7),
    "short decimal": ("decimal(18,0)", pa.decimal128(18, 0), -1, b"\0" + b"\xff" * 8),
    "long decimal": ("decimal(19,0)", pa.decimal128(19, 0), -2, b"\0\xfe" + b"\xff" * 15),
    "null long decimal": ("decimal(19,0)", pa.decimal128(19, 0), None, b"\1" + bytes(16)),
    "string": ("string", pa.string(), "Abc", b"\0" + _i32(3) + b"Abc"),
    "empty string": ("string", pa.string(), "", b"\0" + _i32(0)),
    "null string": ("string", pa.string(), None, b"\1"),
    "void": ("void", pa.null(), None, b"\1"),
    "array": ("array<int>", pa.list_(pa.int32()), [1, None], b"\0" + _i32(2) + b"\2" + _i32(1, 0)),
    "empty array": ("array<int>", pa.list_(pa.int32()), [], b"\0" + _i32(0)),
    "null array": ("array<int>", pa.list_(pa.int32()), None, b"\1"),
    "array of strings": (
        "array<string>",
        pa.list_(pa.string()),
        ["a", None, ""],
        b"\0" + _i32(3) + b"\2" + _i32(1) + b"a" + _i32(0),
    ),
    # velox: a bitmap follows the count of unknown elements too (bytedance/bolt#798).
    "array of void": ("array<void>", pa.list_(pa.null()), [None] * 9, b"\0" + _i32(9) + b"\xff\1"),
    "array of arrays": (
        "array<array<int>>",
        LISTS,
        [[1], None, []],
        b"\0" + _i32(3) + b"\2" + _i32(25, 12, 0, 21) + _i32(1) + b"\0" + _i32(1) + _i32(0),
    ),
    "empty array of arrays": ("array<array<int>>", LISTS, [], b"\0" + _i32(0)),
    "map": (
        "map<string,tinyint>",
        TEXTS,
        [("k", 1), ("", None)],
        b"\0" + _i32(2) + b"\0" + _i32(1) + b"k" + _i32(0) + _i32(2) + b"\2\1\0",
    ),
    "empty map": ("map<string,tinyint>", TEXTS, [], b"\0" + _i32(0, 0)),
    "null map": ("map<string,tinyint>", TEXTS, None, b"\1"),
    "struct": (
        "struct<x:smallint,y:string>",
        PAIR,
        {"x": 1, "y": "z"},
        b"\0" + b"\0\1\0" + _i32(1) + b"z",
    ),
    "struct of nulls": (
        "struct<x:smallint,y:string>",
        PAIR,
        {"x": None, "y": None},
        b"\0" + b"\3\0\0",
    ),
    "null struct": ("struct<x:smallint,y:string>", PAIR, None, b"\1"),
    "array of structs": (
        "array<struct<x:smallint,y:string>>",
        pa.list_(PAIR),
        [None, {"x": 1, "y": None}],
        b"\0" + _i32(2) + b"\1" + _i32(11, 0, 8) + b"\2\1\0",
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_bytes_are_those_of_the_description(case: str) -> None:
    """Velox, CompactRow.cpp (snapshot of August 2026): null bits, then fields without padding."""
    text, type_, value, row = CASES[case]
    codec = CompactRows(fields_of(a=text, sentinel="tinyint"))
    batch = pa.RecordBatch.from_arrays(
        [pa.array([value], type_), pa.array([7], pa.int8())], names=["a", "sentinel"]
    )
    data = codec.serialize(batch, framing="packed").data
    assert bytes(data) == row + b"\7"
    assert codec.sizes(batch).tolist() == [len(row) + 1]
    assert codec.deserialize(data, lengths=[len(data)]).equals(batch)


def test_the_size_of_nested_elements_does_not_count_itself() -> None:
    """Velox's description gives 55 bytes for three arrays of six integers; its code writes 51."""
    batch = pa.RecordBatch.from_arrays([pa.array([[[1, 2, 3], [4, 5], [6]]], LISTS)], names=["a"])
    data = CompactRows(fields_of(a="array<array<int>>")).serialize(batch, framing="packed").data
    (size,) = struct.unpack_from("<i", data, 6)
    assert size == len(data) - 10 == 51


def test_sizes_are_smaller_than_those_of_unsafe_rows() -> None:
    """Velox's own comparison: an integer 4 against 8 bytes, "Abc" 7 against 16, null 0 against 8.

    Beside them a row has one byte of null bits here and eight there.
    """
    for text, value, compact, unsafe in (
        ("int", 1, 4, 8),
        ("string", "", 4, 8),
        ("string", "Abc", 7, 16),
        ("string", None, 0, 8),
    ):
        fields = fields_of(a=text)
        batch = pa.RecordBatch.from_arrays(
            [pa.array([value], pa.int32() if text == "int" else pa.string())], names=["a"]
        )
        assert CompactRows(fields).sizes(batch).tolist() == [1 + compact]
        assert UnsafeRows(fields).sizes(batch).tolist() == [8 + unsafe]


@pytest.mark.parametrize("case", sorted(CASES))
def test_every_flipped_byte_is_an_error_or_another_value(case: str) -> None:
    """A changed byte is refused by name, or is another value and the batch is sound."""
    text, _, _, row = CASES[case]
    codec = CompactRows(fields_of(a=text, sentinel="tinyint"))
    for at in range(len(row) + 1):
        for flip in range(1, 256):
            data = bytearray(row + b"\7")
            data[at] ^= flip
            with contextlib.suppress(InputError):
                codec.deserialize(data, lengths=[len(data)]).validate(full=True)


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "no null bits": ("int", b"", "null bits take 1"),
    "cut int": ("int", b"\0\1\2", "cut off"),
    "bytes left over": ("int", b"\0" + _i32(1) + b"x", "1 bytes after its last field"),
    "string beyond the row": ("string", b"\0" + _i32(4) + b"abc", "cut off"),
    "negative string": ("string", b"\0" + _i32(-1), "cut off"),
    "bad UTF-8": ("string", b"\0" + _i32(1) + b"\xff", "UTF-8"),
    "boolean of 3": ("boolean", b"\0\3", "neither 0 nor 1"),
    "void with a value": ("void", b"\0", "void"),
    "decimal too long": ("decimal(3,0)", b"\0" + struct.pack("<q", 1000), "more digits"),
    "long decimal too long": ("decimal(19,0)", b"\0" + b"\xff" * 15 + b"\x7f", "more digits"),
    "negative count": ("array<int>", b"\0" + _i32(-1), "cut off"),
    "more elements than bytes": ("array<int>", b"\0" + _i32(2) + b"\0" + _i32(1), "cut off"),
    "huge count of void": ("array<void>", b"\0" + _i32(2**31 - 1) + b"\xff" * 9, "cut off"),
    "offset beyond the array": (
        "array<array<int>>",
        b"\0" + _i32(1) + b"\0" + _i32(8, 9) + _i32(0),
        "leaves its array",
    ),
    "offset into the offsets": (
        "array<array<int>>",
        b"\0" + _i32(1) + b"\0" + _i32(8, 0) + _i32(0),
        "overlaps",
    ),
    "size beyond the row": ("array<array<int>>", b"\0" + _i32(1) + b"\0" + _i32(99, 4), "cut off"),
    "more keys than values": ("map<tinyint,int>", b"\0" + _i32(1) + b"\0\1" + _i32(0), "fewer"),
    "null key": ("map<tinyint,int>", b"\0" + _i32(1) + b"\1\1", "null"),
}


@pytest.mark.parametrize("case", sorted(BROKEN))
def test_broken_rows_are_named(case: str) -> None:
    """What breaks the layout is refused with the reason and the byte."""
    text, row, reason = BROKEN[case]
    with pytest.raises(InputError, match=reason) as caught:
        CompactRows(fields_of(a=text)).deserialize(row, lengths=[len(row)])
    assert "at byte" in str(caught.value)


@pytest.mark.parametrize("text", ["interval", "array<struct<x:interval>>"])
def test_calendar_intervals_are_refused(text: str) -> None:
    """Velox has no such type, so there are no bytes for it, in either direction."""
    with pytest.raises(RefusedError, match="Velox does not have"):
        CompactRows(fields_of(a=text)).deserialize(b"\1", lengths=[1])


@pytest.mark.parametrize("row", [1, 200])
def test_a_decimal_with_too_many_digits_is_named_by_its_row(row: int) -> None:
    """Arrow does not check digits by itself; whoever wrote the wrong one is told where it is."""
    values = pa.array([5 if i != row else 1000 for i in range(300)], pa.decimal128(4, 0))
    narrow = pa.Array.from_buffers(pa.decimal128(3, 0), 300, values.buffers())
    batch = pa.RecordBatch.from_arrays([narrow], names=["a"])
    with pytest.raises(InputError, match=f"row {row}: column 'a' has more digits"):
        CompactRows(fields_of(a="decimal(3,0)")).serialize(batch)

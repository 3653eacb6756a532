"""CompactRows that must be refused; golden bytes of Velox say what rows are."""

import struct

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.serde.rows.serde import CompactRows
from seamkit_tests.samples.row_samples import fields_of


def _i32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


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

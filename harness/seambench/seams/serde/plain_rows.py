"""Plain writers of Spark's UnsafeRow and Velox's CompactRow: witnesses, not fast.

UnsafeRow as Spark 3.5.9 writes it (UnsafeRowWriter, UnsafeArrayWriter), or as Velox does
(UnsafeRowFast, August 2026): arrays unpadded, long decimals in as many words as they need, no place
kept for a null. CompactRow as Velox's row/CompactRow (August 2026). Framings: big-endian lengths
(Spark's UnsafeRowSerializer), none, and Velox's groups.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from seambase.errors import UsageError
from seambase.types import SerdeType

_WIDTH: Mapping[str, int] = {
    **dict.fromkeys(("boolean", "tinyint"), 1),
    "smallint": 2,
    **dict.fromkeys(("int", "date", "float", "interval year to month"), 4),
    **dict.fromkeys(("bigint", "double", "timestamp", "timestamp_ntz"), 8),
    "interval day to second": 8,
}
_LETTER = {1: "b", 2: "h", 4: "i", 8: "q"}
_SHORT_DECIMAL = 18
_PLACE_BYTES = 16


def _width(type_: SerdeType) -> int:
    """Bytes of a fixed-width value; 0 for what lies elsewhere."""
    if type_.kind == "decimal" and type_.precision <= _SHORT_DECIMAL:
        return 8
    return _WIDTH.get(type_.kind, 0)


def _unscaled(value: Any) -> int:
    sign, digits, _ = value.as_tuple()
    magnitude = int("".join(map(str, digits)))
    return -magnitude if sign else magnitude


def _fixed(value: Any, type_: SerdeType) -> bytes:
    if type_.kind == "decimal":
        return struct.pack("<q", _unscaled(value))
    if type_.kind in ("float", "double"):
        return struct.pack("<f" if type_.kind == "float" else "<d", value)
    return struct.pack(f"<{_LETTER[_width(type_)]}", value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _null_bits(values: Sequence[Any], unit: int) -> bytes:
    """A bit per value, least significant first, in whole units of bytes."""
    bits = sum(1 << at for at, value in enumerate(values) if value is None)
    return bits.to_bytes((len(values) + 8 * unit - 1) // (8 * unit) * unit, "little")


def unsafe_row(values: Sequence[Any], types: Sequence[SerdeType], writer: str = "spark") -> bytes:
    """One UnsafeRow of plain values, as `spark` or `velox` writes it: their choices differ."""
    bits = _null_bits(values, 8)
    slots, tail = b"", b""
    start = len(bits) + 8 * len(values)
    for value, type_ in zip(values, types, strict=True):
        tail = _padded(tail)
        width = _width(type_)
        if type_.kind == "void" or (width and value is None):
            slots += bytes(8)
        elif width:
            slots += _padded(_fixed(value, type_))
        else:
            size, body = _unsafe_body(value, type_, writer)
            place = start + len(tail)
            slots += bytes(8) if size < 0 else struct.pack("<ii", size, place)
            tail += body
    return bits + slots + _padded(tail)


def _unsafe_body(value: Any, type_: SerdeType, writer: str) -> tuple[int, bytes]:
    """Size for the slot (-1: the slot is empty) and bytes for the tail."""
    keeps_place = writer == "spark" and type_.kind in ("decimal", "interval")
    if value is None:
        size = _PLACE_BYTES if type_.kind == "interval" else 0
        return (size, bytes(_PLACE_BYTES)) if keeps_place else (-1, b"")
    body = _unsafe_value(value, type_, writer)
    padded = body.ljust(_PLACE_BYTES, b"\0") if keeps_place else body
    return len(body), padded


def _unsafe_value(value: Any, type_: SerdeType, writer: str) -> bytes:
    """Bytes of a value that does not fit a slot."""
    kind, children = type_.kind, type_.children
    if kind == "decimal":
        number = _unscaled(value)
        length = (number if number >= 0 else ~number).bit_length() // 8 + 1
        return number.to_bytes(length, "big", signed=True)
    if kind == "interval":
        return struct.pack("<iiq", *value)
    if kind == "array":
        return _unsafe_array(value, children[0], writer)
    if kind == "map":
        keys = _unsafe_array([key for key, _ in value], children[0], writer)
        items = _unsafe_array([item for _, item in value], children[1], writer)
        return struct.pack("<q", len(keys)) + keys + items
    if kind == "struct":
        return unsafe_row(value, children, writer)
    return value.encode() if isinstance(value, str) else bytes(value)


def _unsafe_array(values: Sequence[Any], type_: SerdeType, writer: str) -> bytes:
    """An array: count, null bits, elements, tail. No element keeps a place when null."""
    head = struct.pack("<q", len(values)) + _null_bits(values, 8)
    width = _width(type_)
    if width:  # a void element of Spark takes a place of 8 bytes, as what has no width of its own
        data = b"".join(bytes(width) if v is None else _fixed(v, type_) for v in values)
        return head + (_padded(data) if writer == "spark" else data)
    if type_.kind == "void" and writer == "velox":
        return head  # its elements take no bytes there
    slots, tail = b"", b""
    start = len(head) + 8 * len(values)
    for value in values:
        tail = _padded(tail)
        if value is None:
            slots += bytes(8)
        else:
            body = _unsafe_value(value, type_, writer)
            slots += struct.pack("<ii", len(body), start + len(tail))
            tail += body
    return head + slots + _padded(tail)


def compact_row(values: Sequence[Any], types: Sequence[SerdeType]) -> bytes:
    """One CompactRow: null bits, then the fields without any padding."""
    fields = [_compact(value, type_) for value, type_ in zip(values, types, strict=True)]
    return _null_bits(values, 1) + b"".join(fields)


def _compact(value: Any, type_: SerdeType) -> bytes:
    """A field or element; fixed widths take their bytes even when null."""
    width = _compact_width(type_)
    if value is None:
        return bytes(width)
    if type_.kind == "decimal" and width > 8:
        return _unscaled(value).to_bytes(width, "little", signed=True)
    if width:
        return _fixed(value, type_)
    if type_.kind == "array":
        return _compact_array(value, type_.children[0])
    if type_.kind == "map":
        keys = _compact_array([key for key, _ in value], type_.children[0])
        return keys + _compact_array([item for _, item in value], type_.children[1])
    if type_.kind == "struct":
        return compact_row(value, type_.children)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return struct.pack("<i", len(data)) + data


def _compact_width(type_: SerdeType) -> int:
    if type_.kind == "interval":
        raise UsageError("Velox has no calendar interval, so no CompactRow holds one")
    return 16 if type_.kind == "decimal" and not _width(type_) else _width(type_)


def _compact_array(values: Sequence[Any], type_: SerdeType) -> bytes:
    """Count and null bits; elements of nested types are found through offsets behind a size."""
    head = struct.pack("<i", len(values)) + _null_bits(values, 1)
    elements = [_compact(value, type_) for value in values]
    if type_.kind not in ("array", "map", "struct") or not values:
        return head + b"".join(elements)
    ends = list(accumulate(map(len, elements), initial=4 * len(values)))
    offsets = [0 if v is None else at for v, at in zip(values, ends, strict=False)]
    return head + struct.pack(f"<{len(values) + 1}i", ends[-1], *offsets) + b"".join(elements)


def framed(rows: Sequence[bytes], framing: str) -> bytes:
    """Rows as they stand in a stream: `be32`, `packed`, or one plain `velox-group`."""
    lengths: Callable[[], bytes] = lambda: b"".join(  # noqa: E731 - not every framing has them
        struct.pack(">I", len(row)) + row for row in rows
    )
    if framing == "packed":
        return b"".join(rows)
    if framing == "be32":
        return lengths()
    if framing == "velox-group":
        body = lengths()
        return struct.pack("<iiB", len(body), len(body), 0) + body
    raise UsageError(f"framing {framing!r}: one of be32, packed, velox-group is meant")

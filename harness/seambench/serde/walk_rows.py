"""Walking over rows field by field, for explanations: UnsafeRow (Spark 3.5.9) and CompactRow.

Rows carry no types, so a walk needs the schema. CompactRow is as Velox's row/CompactRow.cpp
(August 2026) writes it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal

from seambench.errors import UsageError
from seambench.seams import SerdeRequest
from seambench.serde.cursor import Cursor, Met
from seambench.serde_types import SerdeType, parse_schema

__all__ = ["walk_rows"]

_LETTERS = {
    **dict.fromkeys(("boolean", "tinyint"), "b"),
    "smallint": "h",
    **dict.fromkeys(("int", "date", "interval year to month"), "i"),
    "float": "f",
    "double": "d",
    **dict.fromkeys(("bigint", "timestamp", "timestamp_ntz", "interval day to second"), "q"),
}
_SHORT_DECIMAL = 18
_MOST_SHOWN = 1 << 20


def walk_rows(request: SerdeRequest, data: bytes, met: list[Met]) -> None:
    """Add every field of a stream of rows to `met`, also before an error.

    Raises:
        BrokenError: the bytes break the format.
        UsageError: a framing that a file alone does not tell, such as `packed` without lengths.
    """
    types = parse_schema(request)
    cursor = Cursor(data, met=met)
    for number, (begin, end) in enumerate(_frames(request, cursor)):
        cursor.note(cursor.at, f"row {number}")
        row = Cursor(data, begin, end, met)
        row.depth = 1
        if request.format == "unsaferow":
            _unsafe_row(row, types, [field.name for field in request.fields])
        else:
            _compact_row(row, types, [field.name for field in request.fields])
            if row.left:
                raise row.broken(f"row {number}", f"{row.left} bytes follow its last field")
        cursor.at = end


def _frames(request: SerdeRequest, cursor: Cursor) -> Sequence[tuple[int, int]]:
    """Where rows begin and end; yields as it goes, so that what was met is in order."""
    framing = str(request.options.get("framing", "be32"))
    if framing == "packed":
        lengths = request.options.get("lengths")
        if lengths is None:
            raise UsageError("packed rows need the option lengths")
        ends = [sum(lengths[: at + 1]) for at in range(len(lengths))]
        return [(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    return _LengthPrefixed(cursor, framing)  # type: ignore[return-value]


class _LengthPrefixed:
    """Rows with lengths before them, alone or in groups of Velox."""

    def __init__(self, cursor: Cursor, framing: str) -> None:
        if framing not in ("be32", "velox-group"):
            raise UsageError(f"framing {framing!r}: one of be32, packed, velox-group is meant")
        self._cursor = cursor
        self._grouped = framing == "velox-group"
        self._group_end = 0

    def __iter__(self) -> _LengthPrefixed:
        return self

    def __next__(self) -> tuple[int, int]:
        cursor = self._cursor
        if not cursor.left:
            raise StopIteration
        if self._grouped and cursor.at >= self._group_end:
            self._group()
        length = cursor.number(">i", "length of the row")
        if not 0 <= length <= cursor.left:
            raise cursor.broken(
                "length of the row", f"{length} bytes, {cursor.left} are left", cursor.at - 4
            )
        return cursor.at, cursor.at + length

    def _group(self) -> None:
        cursor = self._cursor
        uncompressed = cursor.count("uncompressed size of the group")
        size = cursor.count("size of the group", cursor.left)
        if cursor.number("<B", "compressed"):
            raise UsageError(f"the group at byte {cursor.at - 9} is compressed; decode it instead")
        if size != uncompressed:
            raise cursor.broken("size of the group", f"{size} differs from {uncompressed}")
        self._group_end = cursor.at + size


def _nulls(cursor: Cursor, count: int, unit: int) -> list[bool]:
    """Null bits, least significant first, in whole units of bytes."""
    raw = cursor.take((count + 8 * unit - 1) // (8 * unit) * unit, "null bits")
    return [bool(raw[at >> 3] >> (at & 7) & 1) for at in range(count)]


def _width(type_: SerdeType) -> int:
    """Bytes of a fixed-width value; 0 for what lies elsewhere."""
    if type_.kind == "decimal":
        return 8 if type_.precision <= _SHORT_DECIMAL else 0
    return struct.calcsize(_LETTERS[type_.kind]) if type_.kind in _LETTERS else 0


def _value(raw: bytes, type_: SerdeType) -> object:
    """A fixed-width value."""
    if type_.kind == "decimal":
        return Decimal(int.from_bytes(raw, "little", signed=True)).scaleb(-type_.scale)
    return struct.unpack(f"<{_LETTERS[type_.kind]}", raw)[0]


def _unsafe_row(cursor: Cursor, types: Sequence[SerdeType], names: Sequence[str]) -> None:
    """A row or struct that fills its cursor."""
    base = cursor.at
    nulls = _nulls(cursor, len(types), 8)
    for name, type_, null in zip(names, types, nulls, strict=True):
        _unsafe_slot(cursor, base, f"{name} {type_.text}", type_, null, 8)


def _unsafe_slot(
    cursor: Cursor, base: int, what: str, type_: SerdeType, null: bool, slot: int
) -> None:
    """A field or element: its slot, and what lies in the tail."""
    width = _width(type_)
    if type_.kind == "void" and slot != 8:
        return
    if null or type_.kind == "void":
        cursor.take(min(slot, width) if slot != 8 and width else 8, f"{what}: null")
        return
    if width:
        raw = bytes(cursor.data[cursor.at : cursor.at + width])
        if len(raw) < width or cursor.left < width:
            raise cursor.broken(what, f"{width} bytes are needed, {cursor.left} are left")
        cursor.take(slot if slot == 8 else width, what, _value(raw, type_))
        return
    begin = cursor.at
    size, offset = struct.unpack("<ii", cursor.take(8, f"{what}: size and offset"))
    if size < 0 or offset < 0 or base + offset + size > cursor.end:
        reason = f"{size} bytes at {offset} do not lie in the row"
        raise cursor.broken(what, reason, begin)
    body = Cursor(cursor.data, base + offset, base + offset + size, cursor.met)
    body.depth = cursor.depth + 1
    _unsafe_body(body, what, type_)


def _unsafe_body(cursor: Cursor, what: str, type_: SerdeType) -> None:
    """What lies in the tail."""
    if type_.kind == "array":
        _unsafe_array(cursor, type_.children[0])
    elif type_.kind == "map":
        size = cursor.number("<q", "bytes of the keys")
        if not 0 <= size <= cursor.left:
            raise cursor.broken("bytes of the keys", f"{size}, {cursor.left} are left")
        keys = Cursor(cursor.data, cursor.at, cursor.at + size, cursor.met)
        items = Cursor(cursor.data, cursor.at + size, cursor.end, cursor.met)
        keys.depth = items.depth = cursor.depth + 1
        _unsafe_array(keys, type_.children[0])
        _unsafe_array(items, type_.children[1])
    elif type_.kind == "struct":
        _unsafe_row(cursor, type_.children, type_.names)
    elif type_.kind == "decimal":
        raw = bytes(cursor.data[cursor.at : cursor.end])
        unscaled = Decimal(int.from_bytes(raw, "big", signed=True))
        cursor.take(len(raw), f"{what}: value", unscaled.scaleb(-type_.scale))
    elif type_.kind == "interval":
        for part, layout in (("months", "<i"), ("days", "<i"), ("microseconds", "<q")):
            cursor.number(layout, part)
    else:
        _leaf(cursor, what, type_, cursor.left)


def _leaf(cursor: Cursor, what: str, type_: SerdeType, size: int) -> None:
    """Text or binary."""
    if not 0 <= size <= cursor.left:
        raise cursor.broken(what, f"{size} bytes are needed, {cursor.left} are left")
    raw = bytes(cursor.data[cursor.at : cursor.at + size])
    value = raw.hex() if type_.kind == "binary" else repr(raw.decode("utf-8", "backslashreplace"))
    cursor.take(size, f"{what}: bytes", value)


def _count(cursor: Cursor, layout: str) -> int:
    """A number of elements that the bytes may hold."""
    begin = cursor.at
    count = cursor.number(layout, "elements")
    if not 0 <= count <= max(8 * cursor.left, _MOST_SHOWN if count < _MOST_SHOWN else 0):
        raise cursor.broken("elements", f"{count}, {cursor.left} bytes are left", begin)
    return count


def _unsafe_array(cursor: Cursor, type_: SerdeType) -> None:
    """An array that begins where its cursor stands."""
    base = cursor.at
    count = _count(cursor, "<q")
    nulls = _nulls(cursor, count, 8)
    slot = _width(type_) or (0 if type_.kind == "void" else 8)
    for number, null in enumerate(nulls):
        _unsafe_slot(cursor, base, f"[{number}]", type_, null, slot)


def _compact_row(cursor: Cursor, types: Sequence[SerdeType], names: Sequence[str]) -> None:
    """A row or struct."""
    nulls = _nulls(cursor, len(types), 1)
    for name, type_, null in zip(names, types, nulls, strict=True):
        _compact_value(cursor, f"{name} {type_.text}", type_, null)


def _compact_value(cursor: Cursor, what: str, type_: SerdeType, null: bool) -> None:
    """A field or element; fixed widths take their bytes even when null."""
    wide = type_.kind == "decimal" and type_.precision > _SHORT_DECIMAL
    width = 16 if wide else _width(type_)
    if null or type_.kind == "void":
        cursor.take(width, f"{what}: null")
    elif width:
        raw = bytes(cursor.data[cursor.at : min(cursor.at + width, cursor.end)])
        cursor.take(width, what, _value(raw, type_) if len(raw) == width else None)
    elif type_.kind == "array":
        cursor.note(cursor.at, what)
        with cursor.deeper():
            _compact_array(cursor, type_.children[0])
    elif type_.kind == "map":
        cursor.note(cursor.at, what)
        with cursor.deeper():
            _compact_array(cursor, type_.children[0])
            _compact_array(cursor, type_.children[1])
    elif type_.kind == "struct":
        cursor.note(cursor.at, what)
        with cursor.deeper():
            _compact_row(cursor, type_.children, type_.names)
    else:
        _leaf(cursor, what, type_, cursor.number("<i", f"{what}: length"))


def _compact_array(cursor: Cursor, type_: SerdeType) -> None:
    """Count, null bits, and elements, of nested types behind a size and offsets."""
    count = _count(cursor, "<i")
    nulls = _nulls(cursor, count, 1)
    if type_.kind in ("array", "map", "struct") and count:
        cursor.number("<i", "size of offsets and elements")
        cursor.numbers("i", count, "offsets")
    for number, null in enumerate(nulls):
        _compact_value(cursor, f"[{number}]", type_, null)

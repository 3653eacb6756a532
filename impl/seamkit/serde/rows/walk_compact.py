"""CompactRows field by field (Velox, CompactRow, snapshot of August 2026)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from seambase.types import SerdeType
from seambase.walk import BrokenError
from seamkit.serde.rows.walk import Walk, fixed_layout

_LONG_BYTES = 16
_NESTED = ("array", "map", "struct")


def _width(type_: SerdeType) -> int:
    """Bytes of a value that takes them even when null; 0 for others."""
    if type_.kind == "decimal" and not fixed_layout(type_):
        return _LONG_BYTES
    return struct.calcsize(fixed_layout(type_)) if fixed_layout(type_) else 0


class CompactWalk(Walk):
    """See `Walk`. Positions only move forward; `end` is where the row or array around them ends."""

    def row(
        self, begin: int, length: int, fields: Sequence[tuple[str, SerdeType]], depth: int = 1
    ) -> None:
        """See `Walk.row`."""
        at = self._fields(begin, begin + length, fields, "row", depth)
        if at != begin + length:
            raise BrokenError(at, "row", f"{begin + length - at} bytes follow its last field")

    def _take(self, at: int, end: int, count: int, name: str) -> int:
        if count < 0 or count > end - at:
            raise BrokenError(at, name, f"{count} bytes are meant where {end - at} are left")
        return at + count

    def _number(self, at: int, end: int, name: str, what: str, depth: int) -> int:
        self._take(at, end, 4, name)
        number: int = struct.unpack_from("<i", self.data, at)[0]
        self.note(at, 4, depth, f"{name}: {what}", number)
        return number

    def _null_bits(self, at: int, end: int, count: int, name: str, depth: int) -> int:
        size = (count + 7) // 8
        self._take(at, end, size, name)
        bits = int.from_bytes(self.data[at : at + size], "little")
        if size:
            nulls = [i for i in range(count) if bits >> i & 1]
            self.note(at, size, depth, f"{name}: null bits", nulls)
        return bits

    def _fields(
        self, at: int, end: int, fields: Sequence[tuple[str, SerdeType]], name: str, depth: int
    ) -> int:
        bits = self._null_bits(at, end, len(fields), name, depth)
        at += (len(fields) + 7) // 8
        for i, (field, type_) in enumerate(fields):
            at = self._value(at, end, field, type_, bool(bits >> i & 1), depth)
        return at

    def _value(self, at: int, end: int, name: str, type_: SerdeType, null: bool, depth: int) -> int:
        width = _width(type_)
        done = self._take(at, end, width, name)
        if null:
            self.note(at, width, depth, name, "null")
            return done
        if type_.kind in ("void", "interval"):
            raise BrokenError(at, name, f"{type_.kind} has no bytes")
        if width == _LONG_BYTES:
            number = int.from_bytes(self.data[at:done], "little", signed=True)
            self.note(at, width, depth, name, self.decimal(number, at, name, type_))
        elif width:
            self.note(at, width, depth, name, self.fixed(at, name, type_))
        elif type_.kind in _NESTED:
            return self._nested(at, end, name, type_, depth)
        else:
            size = self._number(at, end, name, "bytes", depth)
            done = self._take(at + 4, end, size, name)
            self.note(at + 4, size, depth, name, self.text(at + 4, size, name, type_))
        return done

    def _nested(self, at: int, end: int, name: str, type_: SerdeType, depth: int) -> int:
        if type_.kind == "struct":
            pairs = zip(type_.names, type_.children, strict=True)
            fields = [(f"{name}.{field}", child) for field, child in pairs]
            return self._fields(at, end, fields, name, depth + 1)
        if type_.kind == "array":
            return self._array(at, end, name, type_.children[0], depth + 1)[0]
        key, value = type_.children
        begin = at
        at, keys = self._array(at, end, f"{name}.key", key, depth + 1)
        bits = int.from_bytes(self.data[begin + 4 : begin + 4 + (keys + 7) // 8], "little")
        if bits & ((1 << keys) - 1):
            raise BrokenError(begin + 4, name, "a key is null")
        at, values = self._array(at, end, f"{name}.value", value, depth + 1)
        if keys != values:
            raise BrokenError(begin, name, f"{keys} keys and {values} values")
        return at

    def _array(self, at: int, end: int, name: str, type_: SerdeType, depth: int) -> tuple[int, int]:
        """Returns where it ends, and the number of its elements."""
        count = self._number(at, end, name, "elements", depth)
        if count < 0:
            raise BrokenError(at, name, f"{count} elements")
        bits = self._null_bits(at + 4, end, count, name, depth)
        at += 4 + (count + 7) // 8
        if type_.kind in _NESTED and count:
            return self._elements(at, end, name, type_, bits, count, depth), count
        for i in range(count):
            at = self._value(at, end, f"{name}[{i}]", type_, bool(bits >> i & 1), depth)
        return at, count

    def _elements(
        self, at: int, end: int, name: str, type_: SerdeType, bits: int, count: int, depth: int
    ) -> int:
        """Elements that lie where offsets say, which count from behind the size."""
        size = self._number(at, end, name, "bytes of offsets and elements", depth)
        body = at + 4
        stop = self._take(body, end, size, name)
        at = self._take(body, stop, 4 * count, name)
        offsets = struct.unpack_from(f"<{count}i", self.data, body)
        self.note(body, 4 * count, depth, f"{name}: offsets", list(offsets))
        for i, offset in enumerate(offsets):
            null = bool(bits >> i & 1)
            if not null and not at <= body + offset <= stop:
                raise BrokenError(body + 4 * i, name, f"offset {offset} of element {i}")
            at = at if null else body + offset
            at = self._value(at, stop, f"{name}[{i}]", type_, null, depth)
        return stop

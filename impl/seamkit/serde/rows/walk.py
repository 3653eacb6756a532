"""Rows read field by field in plain Python, by the description alone.

UnsafeRows are Spark's (Spark 3.5.9: UnsafeRow, UnsafeArrayData, UnsafeMapData), CompactRows Velox's
(CompactRow, snapshot of August 2026). Nothing here is shared with the core, so that each is a
witness for the other.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seambase.types import SerdeType
from seambase.walk import BrokenError, ByteField
from seambase.wording import counted

_LAYOUTS = {
    "boolean": "?",
    "tinyint": "b",
    "smallint": "h",
    "int": "i",
    "date": "i",
    "interval year to month": "i",
    "float": "f",
    "bigint": "q",
    "timestamp": "q",
    "timestamp_ntz": "q",
    "interval day to second": "q",
    "double": "d",
}
_SHORT_DIGITS = 18


def fixed_layout(type_: SerdeType) -> str:
    """How a value of one width lies, in `struct`'s letter; empty for other types."""
    if type_.kind == "decimal":
        return "q" if type_.precision <= _SHORT_DIGITS else ""
    return _LAYOUTS.get(type_.kind, "")


def decimal_text(unscaled: int, scale: int) -> str:
    """A decimal as people write it."""
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    text = f"{digits[: len(digits) - scale]}.{digits[len(digits) - scale :]}" if scale else digits
    return f"-{text}" if unscaled < 0 else text


@dataclass(frozen=True)
class Oddity:
    """Something that readers let pass but Spark does not write."""

    offset: int  # byte of the stream
    what: str  # a sentence's worth
    place: bool = False  # whether a value could not be updated in its row because of it


class Walk(ABC):
    """One row on its way; `walked` and `odd` fill up as it is walked."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.walked: list[ByteField] = []
        self.odd: list[Oddity] = []

    @abstractmethod
    def row(
        self, begin: int, length: int, fields: Sequence[tuple[str, SerdeType]], depth: int = 1
    ) -> object:
        """Walk the row at `begin`."""

    def note(self, offset: int, length: int, depth: int, what: str, value: Any = None) -> None:
        """Add a field to `walked`."""
        self.walked.append(ByteField(offset, length, depth, what, value))

    def fixed(self, at: int, name: str, type_: SerdeType) -> Any:
        """A value of one width, which the caller found to be there."""
        layout = fixed_layout(type_)
        if layout == "?" and self.data[at] > 1:
            raise BrokenError(at, name, f"{self.data[at]} is no boolean")
        (value,) = struct.unpack_from("<" + layout, self.data, at)
        return self.decimal(value, at, name, type_) if type_.kind == "decimal" else value

    def decimal(self, unscaled: int, at: int, name: str, type_: SerdeType) -> str:
        """A decimal's text."""
        if abs(unscaled) >= 10**type_.precision:
            raise BrokenError(at, name, f"{unscaled} has more digits than {type_.text}")
        return decimal_text(unscaled, type_.scale)

    def text(self, at: int, size: int, name: str, type_: SerdeType) -> str:
        """A string, or a binary value as hex."""
        content = bytes(self.data[at : at + size])
        if type_.kind == "binary":
            return content.hex()
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise BrokenError(at + error.start, name, "not valid UTF-8") from error


_PLACE_BYTES = 16


def _align(size: int) -> int:
    return (size + 7) & ~7


@dataclass
class _Region:
    """A row or an array: where it is, and what of its tail has been walked."""

    begin: int
    size: int
    used: int
    in_row: bool
    seen: int = 0  # as `used`, places of nulls included
    place_end: int = 0  # of the last value that may be updated in place

    @property
    def next(self) -> int:
        """Where Spark would put the next value."""
        return max(_align(self.used), self.place_end)


class UnsafeWalk(Walk):
    """See `Walk`. `free` are (offset, length) of bytes that may hold anything."""

    def __init__(self, data: memoryview) -> None:
        super().__init__(data)
        self.free: list[tuple[int, int]] = []

    def row(
        self, begin: int, length: int, fields: Sequence[tuple[str, SerdeType]], depth: int = 1
    ) -> None:
        """See `Walk.row`; also a struct within a row."""
        bits_size = (len(fields) + 63) // 64 * 8
        head = bits_size + 8 * len(fields)
        if length < head or length % 8:
            raise BrokenError(
                begin,
                "row",
                f"{counted(length, 'byte')}: {head} at least, and a multiple of 8, are meant",
            )
        bits = self._null_bits(begin, bits_size, len(fields), depth)
        region = _Region(begin, length, head, in_row=True, seen=head)
        for i, (name, type_) in enumerate(fields):
            at = begin + bits_size + 8 * i
            visit = self._null if bits >> i & 1 else self._value
            visit(region, at, 8, name, type_, depth)
        self._finish(region)

    def _odd(self, offset: int, what: str, *, place: bool = False) -> None:
        self.odd.append(Oddity(offset, what, place))

    def _null_bits(self, begin: int, size: int, count: int, depth: int) -> int:
        bits = int.from_bytes(self.data[begin : begin + size], "little")
        if bits >> count:
            self._odd(begin, "null bits behind the last field are set")
        if size:
            self.note(begin, size, depth, "null bits", [i for i in range(count) if bits >> i & 1])
        return bits

    def _zeros(self, begin: int, end: int, what: str) -> None:
        if any(self.data[begin:end]):
            self._odd(begin, f"{what} is not zero")

    def _value(
        self, region: _Region, at: int, width: int, name: str, type_: SerdeType, depth: int
    ) -> None:
        """A slot of a row or an element of an array that is not null."""
        layout = fixed_layout(type_)
        if type_.kind == "void":
            raise BrokenError(at, name, "void, but not null")
        if layout:
            self.note(at, width, depth, name, self.fixed(at, name, type_))
            self._zeros(at + struct.calcsize(layout), at + width, f"the rest of {name}'s slot")
        else:
            self._tail(region, at, name, type_, depth)

    def _null(
        self, region: _Region, at: int, width: int, name: str, type_: SerdeType, depth: int
    ) -> None:
        kept = type_.kind == "interval" or (type_.kind == "decimal" and not fixed_layout(type_))
        if not (kept and region.in_row):
            self.note(at, width, depth, name, "null")
            self._zeros(at, at + width, f"the slot of null {name}")
            return
        size, offset = struct.unpack_from("<II", self.data, at)
        wanted = _PLACE_BYTES if type_.kind == "interval" else 0
        end = offset + _PLACE_BYTES
        if size != wanted or offset < region.next or end > region.size:
            self.note(at, width, depth, name, "null without a place")
            self._odd(at, f"null {name} keeps no place", place=True)
            return
        self.note(at, width, depth, name, f"null, place at +{offset}")
        begin = region.begin + offset
        self.note(begin, _PLACE_BYTES, depth + 1, f"{name}: place")
        if type_.kind == "interval":
            self.free.append((begin, _PLACE_BYTES))
        else:
            self._zeros(begin, begin + _PLACE_BYTES, f"the place of null {name}")
        region.place_end = region.seen = end

    def _tail(self, region: _Region, at: int, name: str, type_: SerdeType, depth: int) -> None:
        size, offset = struct.unpack_from("<II", self.data, at)
        self.note(at, 8, depth, name, f"{counted(size, 'byte')} at +{offset}")
        if offset + size > region.size:
            raise BrokenError(
                at,
                name,
                f"{counted(size, 'byte')} at +{offset} pass the end, which is +{region.size}",
            )
        if size and offset < region.used:
            raise BrokenError(at, name, f"+{offset} overlaps what ends at +{region.used}")
        self._check_begin(region, at, offset, size, name)
        self._content(region.begin + offset, size, name, type_, depth + 1)
        if type_.kind in ("array", "map", "struct") and size % 8:
            self._odd(at, f"{name} has {counted(size, 'byte')}, no multiple of 8")
        if size:
            region.used = region.seen = offset + size
        updatable = type_.kind in ("decimal", "interval") and region.in_row
        if updatable and offset + _PLACE_BYTES > region.size:
            self._odd(at, f"{name} has a place of less than 16 bytes", place=True)
        elif updatable:
            region.place_end = offset + _PLACE_BYTES

    def _check_begin(self, region: _Region, at: int, offset: int, size: int, name: str) -> None:
        if size and offset < region.place_end:
            self._odd(at, f"{name} shares the place of the value before it", place=True)
            return
        gap = region.begin + region.seen, region.begin + min(region.next, region.size)
        self._zeros(*gap, f"the padding before {name}")
        if offset != region.next:
            self._odd(at, f"{name} begins at +{offset}, not at +{region.next}")

    def _finish(self, region: _Region) -> None:
        end = region.begin + region.size
        self._zeros(region.begin + region.seen, end, "what follows the last value")
        if region.next != _align(region.size):
            self._odd(
                region.begin + region.used,
                f"{counted(region.size - region.used, 'byte', 'are')} left over",
            )

    def _content(self, at: int, size: int, name: str, type_: SerdeType, depth: int) -> None:
        if type_.kind == "decimal":
            if not 1 <= size <= _PLACE_BYTES:
                raise BrokenError(at, name, f"a decimal of {counted(size, 'byte')}")
            number = int.from_bytes(self.data[at : at + size], "big", signed=True)
            self.note(at, size, depth, name, self.decimal(number, at, name, type_))
            if (number if number >= 0 else ~number).bit_length() // 8 + 1 != size:
                self._odd(at, f"{name} takes more bytes than it needs")
        elif type_.kind == "interval":
            if size != _PLACE_BYTES:
                raise BrokenError(at, name, f"an interval of {counted(size, 'byte')}")
            parts = struct.unpack_from("<iiq", self.data, at)
            self.note(
                at, size, depth, name, dict(zip(("months", "days", "micros"), parts, strict=True))
            )
        elif type_.kind == "array":
            self._array(at, size, name, type_.children[0], depth)
        elif type_.kind == "map":
            self._map(at, size, name, type_, depth)
        elif type_.kind == "struct":
            pairs = zip(type_.names, type_.children, strict=True)
            self.row(at, size, [(f"{name}.{field}", child) for field, child in pairs], depth)
        else:
            self.note(at, size, depth, name, self.text(at, size, name, type_))

    def _array(self, at: int, size: int, name: str, type_: SerdeType, depth: int) -> int:
        layout = fixed_layout(type_)
        width = struct.calcsize(layout) if layout else 8
        width = 8 if type_.kind == "decimal" else width
        if size < 8:
            raise BrokenError(at, name, f"an array of {counted(size, 'byte')}")
        count: int = struct.unpack_from("<q", self.data, at)[0]
        head = 8 + (count + 63) // 64 * 8
        if type_.kind == "void" and head == size:
            width = 0  # Velox's, whose elements of void take no bytes
        if count < 0 or head + count * width > size:
            raise BrokenError(at, name, f"{counted(count, 'element')} in {counted(size, 'byte')}")
        self.note(at, 8, depth, f"{name}: elements", count)
        bits = self._null_bits(at + 8, head - 8, count, depth)
        used = head + count * width
        region = _Region(at, size, used, in_row=False, seen=used)
        for i in range(count):
            visit = self._null if bits >> i & 1 else self._value
            visit(region, at + head + i * width, width, f"{name}[{i}]", type_, depth)
        self._finish(region)
        return count

    def _map(self, at: int, size: int, name: str, type_: SerdeType, depth: int) -> None:
        keys_size = struct.unpack_from("<q", self.data, at)[0] if size >= 8 else -1
        if not 0 <= keys_size <= size - 8:
            raise BrokenError(at, name, f"keys of {counted(keys_size, 'byte')} in a map of {size}")
        self.note(at, 8, depth, f"{name}: bytes of keys", keys_size)
        if keys_size % 8:
            self._odd(at, f"the keys of {name} have {counted(keys_size, 'byte')}, no multiple of 8")
        key, value = type_.children
        values_at = at + 8 + keys_size
        keys = self._array(at + 8, keys_size, f"{name}.key", key, depth)
        bits = int.from_bytes(self.data[at + 16 : at + 16 + (keys + 63) // 64 * 8], "little")
        if bits & ((1 << keys) - 1):
            raise BrokenError(at + 16, name, "a key is null")
        values = self._array(values_at, size - 8 - keys_size, f"{name}.value", value, depth)
        if keys != values:
            raise BrokenError(at, name, f"{counted(keys, 'key')} and {counted(values, 'value')}")


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
            raise BrokenError(
                at, "row", f"{counted(begin + length - at, 'byte', 'follow')} its last field"
            )

    def _take(self, at: int, end: int, count: int, name: str) -> int:
        if count < 0 or count > end - at:
            raise BrokenError(
                at, name, f"{counted(count, 'byte', 'are')} meant where {end - at} are left"
            )
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
            raise BrokenError(begin, name, f"{counted(keys, 'key')} and {counted(values, 'value')}")
        return at

    def _array(self, at: int, end: int, name: str, type_: SerdeType, depth: int) -> tuple[int, int]:
        """Returns where it ends, and the number of its elements."""
        count = self._number(at, end, name, "elements", depth)
        if count < 0:
            raise BrokenError(at, name, f"{counted(count, 'element')}")
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

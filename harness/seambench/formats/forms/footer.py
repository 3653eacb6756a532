"""Footers of Parquet files as trees that can be changed: structs of Thrift's compact protocol.

Field numbers are those of parquet.thrift. Unknown fields are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

#: Physical types of Parquet by number.
BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTES, FIXED = range(8)

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_MAGIC = b"PAR1"


@dataclass
class Number:
    """An integer or a boolean, with its kind in the protocol."""

    kind: int
    value: int


@dataclass
class Binary:
    """Bytes or text."""

    value: bytes


@dataclass
class Listed:
    """Values of one kind."""

    kind: int
    items: list[Any]


class Struct(dict[int, Any]):
    """Fields by number."""

    def text(self, field: int) -> str:
        """A field that holds text."""
        return bytes(self[field].value).decode()

    def whole(self, field: int, default: int = 0) -> int:
        """A field that holds an integer."""
        return int(self[field].value) if field in self else default


class Reader:
    """Reads a struct of the compact protocol, value after value."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def varint(self) -> int:
        """A number in groups of seven bits."""
        value, self.at = read_varint(self.data, self.at)
        return value

    def bytes(self, size: int) -> bytes:
        """So many bytes."""
        begin, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise IndexError(f"{size} bytes at {begin} end beyond the end")
        return self.data[begin : self.at]

    def member(self, begin: int, name: str, kind: int, *, listed: bool) -> Any:
        """A field by its number, which begins at its head; or an item of a list, called `*`."""
        del begin, name
        return self.value(kind, listed=listed)

    def value(self, kind: int, *, listed: bool) -> Any:
        """A value of a kind; booleans of lists have a byte of their own."""
        if kind in (_TRUE, _FALSE):
            if listed:
                kind = self.data[self.at]
                self.at += 1
            return Number(kind, int(kind == _TRUE))
        if kind in (_BYTE, _DOUBLE):
            return (kind, self.bytes(1 if kind == _BYTE else 8))
        if kind == _BINARY:
            return Binary(self.bytes(self.varint()))
        if kind in (_LIST, _SET):
            head = self.data[self.at]
            self.at += 1
            size = head >> 4 if head >> 4 < 15 else self.varint()
            kind = head & 15
            items = [self.member(self.at, "*", kind, listed=True) for _ in range(size)]
            return Listed(kind, items)
        if kind == _STRUCT:
            return self.struct()
        raw = self.varint()
        return Number(kind, raw >> 1 ^ -(raw & 1))

    def struct(self) -> Struct:
        """Fields to the end of a struct."""
        found, field = Struct(), 0
        while head := self.data[self.at]:
            begin, self.at = self.at, self.at + 1
            delta, kind = head >> 4, head & 15
            if delta:
                field += delta
            else:
                raw = self.varint()
                field = raw >> 1 ^ -(raw & 1)
            found[field] = self.member(begin, str(field), kind, listed=False)
        self.at += 1
        return found


def read_struct(data: bytes, at: int = 0) -> Struct:
    """The struct that begins at an offset."""
    return struct_to_end(data, at)[0]


def struct_to_end(data: bytes, at: int) -> tuple[Struct, int]:
    """The struct that begins at an offset, and where it ends."""
    reader = Reader(data, at)
    return reader.struct(), reader.at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and where it ends."""
    value = 0
    for end in range(at, at + 10):
        byte = data[end]
        value |= (byte & 0x7F) << 7 * (end - at)
        if byte < 0x80:
            return value, end + 1
    raise ValueError(f"a number at {at} has more than ten bytes")


def varint(value: int) -> bytes:
    """A whole number from 0 on, seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _kind(value: Any) -> int:
    if isinstance(value, Number):
        if value.kind in (_TRUE, _FALSE):
            return _TRUE if value.value else _FALSE
        return value.kind
    if isinstance(value, tuple):
        return int(value[0])
    return {Binary: _BINARY, Listed: _LIST, Struct: _STRUCT}[type(value)]


def _bytes(value: Any, *, listed: bool = False) -> bytes:
    if isinstance(value, Number):
        if value.kind in (_TRUE, _FALSE):
            return bytes([_kind(value)]) if listed else b""
        return varint(value.value << 1 if value.value >= 0 else (-value.value << 1) - 1)
    if isinstance(value, tuple):
        return bytes(value[1])
    if isinstance(value, Binary):
        return varint(len(value.value)) + value.value
    if isinstance(value, Listed):
        size = len(value.items)
        head = bytes([min(size, 15) << 4 | value.kind]) + (varint(size) if size > 14 else b"")
        return head + b"".join(_bytes(item, listed=True) for item in value.items)
    out, before = bytearray(), 0
    for field in sorted(value):
        inner, delta = value[field], field - before
        if 0 < delta < 16:
            out.append(delta << 4 | _kind(inner))
        else:
            out.append(_kind(inner))
            out += varint(field << 1)
        out += _bytes(inner)
        before = field
    return bytes([*out, 0])


@dataclass(frozen=True)
class Leaf:
    """A column of values: its place in the schema, and what a reader decodes it by.

    `annotated` is one whose values mean something else than numbers or bytes of that type.
    """

    path: tuple[str, ...]
    physical: int
    length: int
    definition: int
    repetition: int
    annotated: bool = False


def leaves(schema: Listed) -> list[Leaf]:
    """The leaves of a schema, in order."""
    items = iter(schema.items)

    def below(path: tuple[str, ...], levels: tuple[int, int], count: int) -> Iterator[Leaf]:
        for _ in range(count):
            if (element := next(items, None)) is None:
                raise ValueError("the schema has fewer elements than it tells of")
            kind = element.whole(3)  # required, optional, repeated
            deeper = (levels[0] + (kind != 0), levels[1] + (kind == 2))
            here = (*path, element.text(4))
            if element.whole(5):
                yield from below(here, deeper, element.whole(5))
            else:
                annotated = 6 in element or 10 in element
                yield Leaf(here, element.whole(1), element.whole(2), *deeper, annotated)

    return list(below((), (0, 0), next(items, Struct()).whole(5)))


def subtree_end(schema: Listed, at: int) -> int:
    """Number behind the last element of the subtree that begins at one."""
    end = at + 1
    for _ in range(schema.items[at].whole(5)):
        end = subtree_end(schema, end)
    return end


def is_decimal(element: Struct) -> bool:
    """Whether the values of an element of a schema are decimals."""
    return element.whole(6, -1) == 5 or 5 in element.get(10, ())


class Footer:
    """The footer of a file, changed and written again behind bytes that stay as they are."""

    def __init__(self, data: bytes) -> None:
        at = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        self._before = data[:at]
        self.tree = read_struct(data, at)

    @property
    def schema(self) -> Listed:
        """The elements of the schema, depth first."""
        found: Listed = self.tree[2]
        return found

    @schema.setter
    def schema(self, schema: Listed) -> None:
        self.tree[2] = schema
        paths = [leaf.path for leaf in leaves(schema)]
        for group in self.tree[4].items:
            for chunk, path in zip(group[1].items, paths, strict=True):
                chunk[3][3] = Listed(_BINARY, [Binary(name.encode()) for name in path])

    def chunks(self) -> Iterator[tuple[Leaf, Struct]]:
        """Each column chunk of each row group, with its leaf."""
        known = leaves(self.schema)
        for group in self.tree[4].items:
            yield from zip(known, group[1].items, strict=True)

    def put_text(self, key: str, value: str) -> None:
        """Set one entry of the key-value metadata."""
        entries = self.tree.setdefault(5, Listed(_STRUCT, [])).items
        entries[:] = [entry for entry in entries if entry.text(1) != key]
        entries.append(Struct({1: Binary(key.encode()), 2: Binary(value.encode())}))

    def file(self) -> bytes:
        """The whole file."""
        footer = _bytes(self.tree)
        return self._before + footer + len(footer).to_bytes(4, "little") + _MAGIC

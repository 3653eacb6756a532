"""Delete blocks of writers before Hudi 0.14: Java objects, as Kryo 4 writes them.

Version 1 has an array of `HoodieKey`, version 2 one of `DeleteRecord`, which has a key and an
ordering value. A class is a number: 0 for null, 1 where its name follows (the number of the name,
and the name itself where it is new), else two more than the one under which Kryo knows it. An
object is a number, too, in front of it: 0 for null, 1 for a new one, else two more than that of
one that was there before; numbers and flags have none. Fields come in the order of their names.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from seambase.errors import InputError, RefusedError
from seambase.values import decimal_of
from seambase.wording import counted
from seamkit.core.varints import signed

_MODEL = "org.apache.hudi.common.model."
_KEY, _RECORD = f"{_MODEL}HoodieKey", f"{_MODEL}DeleteRecord"
_DECIMAL = "java.math.BigDecimal"
_ITEMS = {1: _KEY, 2: _RECORD}
_INT_BYTES, _LONG_BYTES = 5, 9  # at most
_MOST_DIGITS = 38


class JavaDelete(NamedTuple):
    """A delete: its keys, and the type and value of what orders it; see `DeleteKeys`."""

    record_key: str | None
    partition_path: str | None
    word: str
    value: Any


def read_java_deletes(data: memoryview, version: int, where: str) -> list[JavaDelete]:
    """The deletes of a block's array, which fills its bytes."""
    objects = _Objects(bytes(data), where)
    try:
        deletes = objects.deletes(_ITEMS[version])
    except (IndexError, ValueError, TypeError, struct.error) as error:
        raise InputError(
            f"{where}: broken at byte {objects.at} of the delete records ({error})"
        ) from error
    if objects.at != len(data):
        left = counted(len(data) - objects.at, "byte", "follow")
        raise InputError(f"{where}: {left} the delete records")
    return deletes


@dataclass
class _Objects:
    """Reads objects; IndexError, ValueError and TypeError where the bytes are none."""

    data: bytes
    where: str
    at: int = 0
    classes: list[str] = field(default_factory=list)
    known: list[Any] = field(default_factory=list)

    def deletes(self, item: str) -> list[JavaDelete]:
        self.of_class(f"[L{item};")
        read = self.key if item == _KEY else self.record
        return list(self.referred(lambda: self.items(item, read)))

    def items(self, item: str, read: Callable[[], JavaDelete]) -> list[JavaDelete]:
        found = []
        for _ in range(self.number(_INT_BYTES) - 1):
            self.of_class(item)
            found.append(self.expected(JavaDelete, self.referred(read)))
        return found

    def key(self) -> JavaDelete:
        partition_path, record_key = self.referred(self.text), self.referred(self.text)
        for text in (partition_path, record_key):
            self.expected(str | None, text)
        return JavaDelete(record_key, partition_path, "null", None)

    def record(self) -> JavaDelete:
        self.of_class(_KEY)
        key: JavaDelete = self.expected(JavaDelete, self.referred(self.key))
        kind = self.class_()
        if kind is None:
            return key
        if kind not in _VALUES:
            raise RefusedError(
                f"{self.where}: a delete has an ordering value of the Java class {kind!r}, which "
                "is not supported; compact the table with Hudi, so that no log is left"
            )
        word, read = _VALUES[kind]
        return key._replace(word=word, value=read(self))

    def of_class(self, wanted: str) -> None:
        kind = self.class_()
        if kind != wanted:
            raise ValueError(f"a {kind!r:.80} where a {wanted} is expected")

    def class_(self) -> str | int | None:
        """A class by its name, or by the number under which Kryo knows it."""
        number = self.number(_INT_BYTES)
        if number != 1:
            return number - 2 if number else None
        name = self.number(_INT_BYTES)
        if name == len(self.classes):
            self.classes.append(self.expected(str, self.text()))
        return self.classes[name]

    def referred(self, read: Callable[[], Any]) -> Any:
        """A new object, one that was there before, or null."""
        mark = self.number(_INT_BYTES)
        if mark > 1:
            return self.known[mark - 2]
        if mark == 0:
            return None
        at = len(self.known)
        self.known.append(...)  # until it is read
        self.known[at] = read()
        return self.known[at]

    def expected(self, kind: Any, value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"a {type(value).__name__} where another object is expected")
        return value

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise IndexError(f"{counted(size, 'byte')} where {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, most: int) -> int:
        """Seven bits a byte, the lowest first; the ninth byte of a long has eight."""
        value = 0
        for i in range(most):
            (byte,) = self.take(1)
            if i == _LONG_BYTES - 1:
                return value | byte << 7 * i
            value |= (byte & 0x7F) << 7 * i
            if byte < 0x80:
                return value
        raise ValueError(f"a number of more than {counted(most, 'byte')}")

    def int_(self) -> int:
        value = self.signed(_INT_BYTES)
        if not -(1 << 31) <= value < 1 << 31:
            raise ValueError(f"{value} is no int")
        return value

    def signed(self, most: int) -> int:
        return signed(self.number(most))

    def text(self) -> str | None:
        """Letters of ASCII up to one with its highest bit set, or their number and UTF-8."""
        if self.data[self.at] < 0x80:
            end = next((i for i in range(self.at, len(self.data)) if self.data[i] >= 0x80), -1)
            *letters, last = self.take(end + 1 - self.at)
            return bytes([*letters, last & 0x7F]).decode()
        count = self.letters() - 1
        return self.units(count) if count >= 0 else None

    def letters(self) -> int:
        """A number whose first byte has six bits, below a flag that says whether more follow."""
        (first,) = self.take(1)
        more = self.number(_INT_BYTES) if first & 0x40 else 0
        return first & 0x3F | more << 6

    def units(self, count: int) -> str:
        """Each half of a letter beyond the first 65,536 has three bytes of its own."""
        begin = self.at
        for _ in range(count):
            byte = self.data[self.at]
            self.take(1 if byte < 0x80 else 2 if byte < 0xE0 else 3)
        halves = self.data[begin : self.at].decode("utf-8", "surrogatepass")
        return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le")

    def decimal(self) -> Decimal:
        unscaled = int.from_bytes(self.take(self.number(_INT_BYTES) - 1), "big", signed=True)
        scale = self.int_()
        if not 0 <= scale <= _MOST_DIGITS:
            raise ValueError(f"a decimal of {scale} digits behind its point")
        return decimal_of(unscaled, scale)


_VALUES: Mapping[str | int, tuple[str, Callable[[_Objects], Any]]] = {
    0: ("int", _Objects.int_),
    1: ("string", lambda own: own.expected(str, own.referred(own.text))),
    2: ("float", lambda own: struct.unpack(">f", own.take(4))[0]),
    3: ("boolean", lambda own: own.take(1) != b"\0"),
    7: ("long", lambda own: own.signed(_LONG_BYTES)),
    8: ("double", lambda own: struct.unpack(">d", own.take(8))[0]),
    _DECIMAL: ("decimal", lambda own: own.expected(Decimal, own.referred(own.decimal))),
}

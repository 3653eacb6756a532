"""Walking over bytes with a note of what stands where: for witnesses and for explanations."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from seambase.errors import InputError
from seambase.wording import counted


class BrokenError(InputError):
    """Bytes that break their format.

    Attributes:
        offset: where, counted like the offsets of `ByteField`.
    """

    def __init__(self, offset: int, what: str, reason: str) -> None:
        super().__init__(f"at byte {offset}, {what}: {reason}")
        self.offset = offset


@dataclass(frozen=True)
class ByteField:
    """One field of a format as it was walked.

    Attributes:
        offset: byte offset; within the payload once that had to be decompressed.
        length: bytes.
        depth: level of nesting, for indentation.
        what: the field's name.
        value: what it says; None for bytes that speak for themselves.
    """

    offset: int
    length: int
    depth: int
    what: str
    value: Any = None


class Cursor:
    """A place in bytes, not copied, that moves forward and never past the end.

    Every field is added to `walked`.
    """

    def __init__(
        self,
        data: bytes | memoryview,
        begin: int = 0,
        end: int | None = None,
        walked: list[ByteField] | None = None,
    ) -> None:
        self.data = memoryview(data)
        self.at = begin
        self.end = len(self.data) if end is None else end
        self.walked = [] if walked is None else walked
        self.depth = 0

    @property
    def left(self) -> int:
        """Bytes before the end."""
        return self.end - self.at

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """What is noted inside is one level deeper."""
        self.depth += 1
        yield
        self.depth -= 1

    def broken(self, what: str, reason: str, at: int | None = None) -> BrokenError:
        """An error at a place, the present one unless `at` names another."""
        return BrokenError(self.at if at is None else at, what, reason)

    def note(self, begin: int, what: str, value: Any = None) -> None:
        """Note a field that reaches from `begin` to the present place."""
        walked = ByteField(begin, self.at - begin, self.depth, what, value)
        self.walked.append(walked)

    def take(self, count: int, what: str, value: Any = None) -> bytes:
        """The next bytes."""
        if not 0 <= count <= self.left:
            raise self.broken(what, f"{counted(count, 'byte', 'are')} needed, {self.left} are left")
        begin, self.at = self.at, self.at + count
        self.note(begin, what, value)
        return bytes(self.data[begin : self.at])

    def text(self, count: int, what: str) -> str:
        """The next bytes as ASCII; others show as question marks."""
        if not 0 <= count <= self.left:
            raise self.broken(what, f"{counted(count, 'byte', 'are')} needed, {self.left} are left")
        begin, self.at = self.at, self.at + count
        value = bytes(self.data[begin : self.at]).decode("ascii", "replace")
        self.note(begin, what, value)
        return value

    def number(self, layout: str, what: str) -> int:
        """One number in `struct`'s notation."""
        size = struct.calcsize(layout)
        if size > self.left:
            raise self.broken(what, f"{counted(size, 'byte', 'are')} needed, {self.left} are left")
        begin, self.at = self.at, self.at + size
        value: int = struct.unpack_from(layout, self.data, begin)[0]
        self.note(begin, what, value)
        return value

    def count(self, what: str, limit: int | None = None) -> int:
        """A little-endian i32 that may not be negative, nor beyond a limit."""
        value = self.number("<i", what)
        if value < 0 or (limit is not None and value > limit):
            reason = f"{value} is {'negative' if value < 0 else f'more than {limit}'}"
            raise self.broken(what, reason, self.at - 4)
        return value

    def numbers(self, layout: str, count: int, what: str) -> list[int]:
        """`count` little-endian numbers of a `struct` letter."""
        size = count * struct.calcsize(f"<{layout}")
        if size > self.left:
            raise self.broken(what, f"{counted(size, 'byte', 'are')} needed, {self.left} are left")
        begin, self.at = self.at, self.at + size
        values = list(struct.unpack_from(f"<{count}{layout}", self.data, begin))
        self.note(begin, what, values)
        return values

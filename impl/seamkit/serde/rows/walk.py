"""Rows read field by field in plain Python, by the description alone.

Nothing here is shared with the core, so that each is a witness for the other.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seambase.types import SerdeType
from seambase.walk import BrokenError, Met

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
    """Something that readers let pass but Spark does not write.

    Attributes:
        offset: byte of the stream.
        what: a sentence's worth.
        place: whether a value could not be updated in its row because of it.
    """

    offset: int
    what: str
    place: bool = False


class Walk(ABC):
    """One row on its way; `met` and `odd` fill up as it is walked.

    Args:
        data: the whole stream; offsets count from its start.
    """

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.met: list[Met] = []
        self.odd: list[Oddity] = []

    @abstractmethod
    def row(
        self, begin: int, length: int, fields: Sequence[tuple[str, SerdeType]], depth: int = 1
    ) -> object:
        """Walk the row at `begin`.

        Raises:
            BrokenError: the bytes break the format.
        """

    def note(self, offset: int, length: int, depth: int, what: str, value: Any = None) -> None:
        """Add a field to `met`."""
        self.met.append(Met(offset, length, depth, what, value))

    def fixed(self, at: int, name: str, type_: SerdeType) -> Any:
        """A value of one width, which the caller found to be there.

        Raises:
            BrokenError: no such value.
        """
        layout = fixed_layout(type_)
        if layout == "?" and self.data[at] > 1:
            raise BrokenError(at, name, f"{self.data[at]} is no boolean")
        (value,) = struct.unpack_from("<" + layout, self.data, at)
        return self.decimal(value, at, name, type_) if type_.kind == "decimal" else value

    def decimal(self, unscaled: int, at: int, name: str, type_: SerdeType) -> str:
        """A decimal's text.

        Raises:
            BrokenError: it has more digits than its type.
        """
        if abs(unscaled) >= 10**type_.precision:
            raise BrokenError(at, name, f"{unscaled} has more digits than {type_.text}")
        return decimal_text(unscaled, type_.scale)

    def text(self, at: int, size: int, name: str, type_: SerdeType) -> str:
        """A string, or a binary value as hex.

        Raises:
            BrokenError: a string that is not UTF-8.
        """
        content = bytes(self.data[at : at + size])
        if type_.kind == "binary":
            return content.hex()
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise BrokenError(at + error.start, name, "not valid UTF-8") from error

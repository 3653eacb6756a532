"""Hive's types: their texts, and what they are in Arrow."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from seambase.errors import RefusedError, UsageError

_MOST_DIGITS = 38
_MOST_DEPTH = 24
_MOST_CHARACTERS = 65535
_WORD = re.compile(r"[a-z_][a-z0-9_ ]*", re.IGNORECASE)
_NUMBER = re.compile(r"\s*(\d{1,5})\s*")

_PLAIN = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "double precision": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "string": pa.string(),
    "binary": pa.binary(),
}
_REFUSED_TYPES = (
    "uniontype",
    "interval_year_month",
    "interval_day_time",
    "timestamp with local time zone",
    "timestamplocaltz",
)


@dataclass(frozen=True)
class HiveType:
    """A type of a Hive table."""

    word: str  # its name, in lower case: `int`, `varchar`, `struct`
    arrow: pa.DataType  # what it is in Arrow; a timestamp is a clock on the wall, in microseconds
    length: int = 0  # characters of a `varchar` or `char`
    # item of an array, key and value of a map, fields of a struct
    children: tuple[HiveType, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.length <= _MOST_CHARACTERS or self._meant() != self.arrow:
            raise ValueError(f"the Hive type {self.word!r} is not stored as {self.arrow}")

    def _meant(self) -> pa.DataType | None:
        """The type in Arrow by all the others; None where they are no type."""
        below = [child.arrow for child in self.children]
        if self.word == "array" and len(below) == 1:
            return pa.list_(below[0])
        if self.word == "map" and len(below) == 2:
            return pa.map_(below[0], below[1])
        if self.word == "struct" and len(below) == len(self.names):
            return pa.struct(list(zip(self.names, below, strict=True)))
        if below:
            return None
        if self.word == "decimal":
            return self.arrow if pa.types.is_decimal128(self.arrow) else None
        return pa.string() if self.word in ("varchar", "char") else _PLAIN.get(self.word)


def parse_type(text: str, where: str) -> HiveType:
    """Read a type as Hive spells it; names of fields become lower case, as Hive has them."""
    if not isinstance(text, str):
        raise UsageError(f"{where}: its type is {text!r}, no text")
    reader = _Reader(text, where)
    kind = reader.type(0)
    if reader.left():
        raise reader.wrong()
    return kind


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self._text, self._where, self._at = text, where, 0

    def left(self) -> str:
        return self._text[self._at :].strip()

    def wrong(self) -> UsageError:
        return UsageError(f"{self._where}: {self._text!r} is no type of Hive")

    def type(self, depth: int) -> HiveType:
        if depth > _MOST_DEPTH:
            raise RefusedError(f"{self._where}: its type is nested over {_MOST_DEPTH} times")
        self._skip()
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self.wrong()
        word = " ".join(match[0].lower().split())
        self._at = match.end()
        if word in _REFUSED_TYPES:
            raise RefusedError(f"{self._where}: columns of type {word} are not supported")
        if word in _PLAIN:
            return HiveType("int" if word == "integer" else word.split()[0], _PLAIN[word])
        if word in ("decimal", "numeric"):
            return self._decimal()
        if word in ("varchar", "char"):
            [length] = self._numbers(1)
            if not 1 <= length <= (_MOST_CHARACTERS if word == "varchar" else 255):
                raise self.wrong()
            return HiveType(word, pa.string(), length)
        if word in ("array", "map", "struct"):
            return self._nested(word, depth)
        raise self.wrong()

    def _decimal(self) -> HiveType:
        self._skip()
        digits, scale = 10, 0
        if self._text.startswith("(", self._at):
            numbers = self._numbers(2)
            digits, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if not (1 <= digits <= _MOST_DIGITS and scale <= digits):
            raise self.wrong()
        return HiveType("decimal", pa.decimal128(digits, scale))

    def _numbers(self, most: int) -> list[int]:
        numbers: list[int] = []
        self._take("(")
        while True:
            match = _NUMBER.match(self._text, self._at)
            if match is None or len(numbers) == most:
                raise self.wrong()
            numbers.append(int(match[1]))
            self._at = match.end()
            if not self._takes(","):
                self._take(")")
                return numbers

    def _nested(self, word: str, depth: int) -> HiveType:
        names: list[str] = []
        children: list[HiveType] = []
        self._take("<")
        while True:
            if word == "struct":
                names.append(self._name())
            children.append(self.type(depth + 1))
            if not self._takes(","):
                break
        self._take(">")
        if word == "array" and len(children) == 1:
            return HiveType(word, pa.list_(children[0].arrow), 0, tuple(children))
        if word == "map" and len(children) == 2 and not children[0].children:
            kind = pa.map_(children[0].arrow, children[1].arrow)
            return HiveType(word, kind, 0, tuple(children))
        if word == "struct" and len(set(names)) == len(names):
            fields = [(name, child.arrow) for name, child in zip(names, children, strict=True)]
            return HiveType(word, pa.struct(fields), 0, tuple(children), tuple(names))
        raise self.wrong()

    def _name(self) -> str:
        end = self._text.find(":", self._at)
        name = self._text[self._at : end].strip().strip("`").lower()
        if end < 0 or not name:
            raise self.wrong()
        self._at = end + 1
        return name

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _takes(self, mark: str) -> bool:
        self._skip()
        if not self._text.startswith(mark, self._at):
            return False
        self._at += 1
        return True

    def _take(self, mark: str) -> None:
        if not self._takes(mark):
            raise self.wrong()

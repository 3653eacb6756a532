"""Type strings as StarRocks reads them, mistakes included.

`parse_leniently` does what the parser of the JNI connector does (`ColumnType` and its string
scanner, commit 37c7c51e), so that one can tell beforehand what becomes of a string there. It cuts
words at fixed signs and looks at little else: what follows the first complete type is ignored,
numbers of children are not checked, a word that begins with `decimal`, `char` or `varchar` takes
all up to the next `)`.
"""

from __future__ import annotations

import re
from typing import Literal, NoReturn

from seambase.errors import InputError
from seamkit.offheap.columns.types import (
    DEPTH_LIMIT,
    KEYWORDS,
    ColumnType,
    Kind,
    decimal_type,
    shown,
)

#: How StarRocks gives up: the text ends where more is needed or a number is missing; a word is no
#: type; what should be a number is none.
Reason = Literal["index-out-of-range", "unsupported-type", "bad-number"]

_STOP = re.compile(r"[<,>()]")
#: What Java's `Integer.parseInt` takes: digits of any script that 16 bits hold.
_NUMBER = re.compile(r"[+-]?(?:(?![\U00010000-\U0010ffff])\d)+")
#: What Java's `String.trim` takes away.
_TRIMMED = "".join(map(chr, range(0x21)))


class TypeStringError(InputError):
    """StarRocks' parser would raise an exception.

    Attributes:
        reason: which.
        token: the word it did not know, for `unsupported-type`; else None.
    """

    def __init__(self, text: str, at: int, reason: Reason, token: str | None = None) -> None:
        named = "" if token is None else f" '{token}'"
        super().__init__(f"column type '{shown(text)}', character {at + 1}: {reason}{named}")
        self.reason = reason
        self.token = token


def parse_leniently(text: str) -> ColumnType:
    """The tree StarRocks makes of a type string.

    It may be one that no table takes: an array of two types, a scale beyond the precision.
    """
    return _Parser(text).type(1)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, reason: Reason, token: str | None = None) -> NoReturn:
        raise TypeStringError(self.text, min(self.at, len(self.text)), reason, token)

    def peek(self) -> str:
        if self.at >= len(self.text):
            self.fail("index-out-of-range")
        return self.text[self.at]

    def token(self) -> str:
        """The next word. What it begins with decides where the cursor goes."""
        start = self.at
        if start > len(self.text):
            self.fail("index-out-of-range")
        stop = _STOP.search(self.text, start)
        self.at = stop.start() if stop else len(self.text)
        word = self.text[start : self.at]
        if word.startswith(("decimal", "char", "varchar")):
            close = self.text.find(")", start)
            self.at = close + 1 if close >= 0 else len(self.text) + 1
            if word.startswith("decimal"):
                if close < 0:
                    self.fail("index-out-of-range")
                return self.text[start : self.at]
        return word

    def type(self, depth: int) -> ColumnType:
        if depth > DEPTH_LIMIT:
            raise InputError(f"column type '{shown(self.text)}': nested deeper than {DEPTH_LIMIT}")
        word = self.token()
        if word.startswith("decimal"):
            return self.decimal(word)
        if word in ("char", "varchar"):
            return ColumnType(Kind.STRING)
        if word in KEYWORDS:
            return ColumnType(KEYWORDS[word])
        if word in ("array", "map"):
            children = self.children(depth, named=False)
        elif word == "struct":
            children = self.children(depth, named=True)
        else:
            self.fail("unsupported-type", word)
        names, types = [name for name, _ in children], [column for _, column in children]
        return ColumnType(Kind[word.upper()], children=tuple(types), names=tuple(names))

    def children(self, depth: int, *, named: bool) -> list[tuple[str, ColumnType]]:
        found: list[tuple[str, ColumnType]] = []
        while self.peek() != ">":
            self.at += 1  # a '<' or ',', or whatever stands there
            name = self.name() if named else f"${len(found)}"
            found.append((name, self.type(depth + 1)))
        self.at += 1
        return found

    def name(self) -> str:
        colon = self.text.find(":", self.at)
        if colon < 0:
            self.fail("index-out-of-range")
        name = self.text[self.at : colon]
        self.at = colon + 1
        return name

    def decimal(self, word: str) -> ColumnType:
        parts = word[word.find("(") + 1 : word.index(")")].split(",")
        if len(parts) > 1:  # as Java's split does, drop empty strings at the end
            while parts and not parts[-1]:
                parts.pop()
        if not parts:
            self.fail("index-out-of-range")
        precision = self.number(parts[0])
        if len(parts) < 2:
            self.fail("index-out-of-range")
        return decimal_type(precision, self.number(parts[1]))

    def number(self, text: str) -> int:
        match = _NUMBER.fullmatch(text.strip(_TRIMMED))
        if match is None or not -(2**31) <= int(match[0]) < 2**31:
            self.fail("bad-number")
        return int(match[0])

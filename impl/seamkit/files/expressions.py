"""The parts of a filter.

An expression of Arrow's does not show its parts, but its serialised form does: a batch of one row
with its literals, whose metadata spells the calls.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core._seam import ffi
from seamkit.core.arrow_data import exported_schema

__all__ = ["Call", "Column", "Literal", "Part", "parts_of"]


@dataclass
class Call:
    """A call, with its arguments and, if it has some, its options as Python's values."""

    name: str
    arguments: list[Call | Column | Literal] = field(default_factory=list)
    options: Any = None


@dataclass(frozen=True)
class Column:
    """A column by its name."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A value, as Python's."""

    value: Any


Part = Call | Column | Literal

# A read asks for the parts of one condition again and again, for each of its files and columns.
# Expressions have no hash, nor an equality that says so: what is known of one is known by itself.
_LATEST: deque[tuple[pc.Expression, Part | None]] = deque(maxlen=4)


def parts_of(condition: pc.Expression) -> Part | None:
    """The parts of an expression, not to be changed; None where their form is not known here."""
    for known, parts in tuple(_LATEST):
        if known is condition:
            return parts
    try:
        parts = _parsed(condition)
    except (ValueError, LookupError, TypeError, ArithmeticError, StopIteration, pa.ArrowException):
        parts = None  # another version's form
    _LATEST.append((condition, parts))
    return parts


def _parsed(condition: pc.Expression) -> Part:
    [data] = condition.__reduce__()[1]
    table = pa.ipc.open_file(data).read_all()
    literals = [column[0].as_py() for column in table.columns]
    words = _pairs(table.schema)
    return _part(words, literals, *next(words))


def _pairs(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """The metadata of a schema in its order, and with all pairs of one key.

    Python is given a dictionary of it, so it is read from the C data interface: behind format and
    name stands the address of a count and, for each pair, of two lengths and their bytes.
    """
    exported = exported_schema(schema)
    metadata = ffi.cast("char **", exported)[2]
    at = 0

    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(ffi.buffer(metadata + at - 4, 4)[:], sys.byteorder, signed=True)

    def text() -> str:
        nonlocal at
        size = number()
        at += size
        return bytes(ffi.buffer(metadata + at - size, size)[:]).decode()

    pairs = [(text(), text()) for _ in range(number())] if metadata != ffi.NULL else []
    del exported
    return iter(pairs)


def _part(words: Iterator[tuple[str, str]], literals: list[Any], kind: str, text: str) -> Part:
    if kind == "field_ref":
        return Column(text)
    if kind == "literal":
        return Literal(literals[int(text)])
    if kind == "nested_field_ref":
        return Call(kind, [_part(words, literals, *next(words)) for _ in range(int(text))])
    if kind != "call":
        raise ValueError(kind)
    call = Call(text)
    for kind, text in words:
        if kind == "end":
            return call
        if kind == "options":
            call.options = literals[int(text)]
        else:
            call.arguments.append(_part(words, literals, kind, text))
    raise ValueError("an expression without its end")

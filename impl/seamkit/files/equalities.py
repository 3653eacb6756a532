"""Which values a filter leaves to a column, where it names them one by one.

An expression of Arrow's does not show its parts, but its serialised form does: a batch of one row
with its literals, whose metadata spells the calls. What is not understood leaves any value.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core._seam import ffi
from seamkit.core.arrow_data import exported_schema

__all__ = ["named_values"]

_BOTH = ("and", "and_kleene")
_EITHER = ("or", "or_kleene")

Values = frozenset[Any] | None
"""Values of one column, as Python's; None for any."""


@dataclass
class _Call:
    """A call, with its arguments: calls, names of columns, literals."""

    name: str
    arguments: list[_Call | _Column | _Literal] = field(default_factory=list)
    options: Any = None


@dataclass(frozen=True)
class _Column:
    name: str


@dataclass(frozen=True)
class _Literal:
    value: Any


def named_values(condition: pc.Expression, column: str) -> Values:
    """The values of a column of which a row that meets a condition has one.

    Args:
        condition: a filter.
        column: a name.

    Returns:
        None where the condition does not name them: by equality, as one of a list, or by several
        such tests joined with and, and or.
    """
    try:
        root = _parsed(condition)
    except (ValueError, KeyError, IndexError, TypeError, StopIteration, pa.ArrowException):
        return None  # another version's form
    return _values(root, column)


def _values(part: _Call | _Column | _Literal, column: str) -> Values:
    if not isinstance(part, _Call):
        return None
    if part.name == "equal":
        return _compared(part, column)
    if part.name == "is_in" and part.arguments == [_Column(column)]:
        listed = part.options.get("value_set") if isinstance(part.options, dict) else None
        return None if listed is None else frozenset(listed)
    if part.name == "if_else" and part.arguments[2:] == [_Literal(None)]:
        return _values(part.arguments[1], column)  # where the test is of no null, else null
    sides = [_values(side, column) for side in part.arguments]
    known = [side for side in sides if side is not None]
    if part.name in _BOTH and known:
        return frozenset.intersection(*known)
    if part.name in _EITHER and len(known) == len(sides):
        return frozenset.union(*known)
    return None


def _compared(part: _Call, column: str) -> Values:
    sides = part.arguments
    literals = [side.value for side in sides if isinstance(side, _Literal)]
    return frozenset(literals) if _Column(column) in sides and len(literals) == 1 else None


def _parsed(condition: pc.Expression) -> _Call | _Column | _Literal:
    """The parts of an expression."""
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


def _part(
    words: Iterator[tuple[str, str]], literals: list[Any], kind: str, text: str
) -> _Call | _Column | _Literal:
    if kind == "field_ref":
        return _Column(text)
    if kind == "literal":
        return _Literal(literals[int(text)])
    if kind == "nested_field_ref":
        return _Call(kind, [_part(words, literals, *next(words)) for _ in range(int(text))])
    if kind != "call":
        raise ValueError(kind)
    call = _Call(text)
    for kind, text in words:
        if kind == "end":
            return call
        if kind == "options":
            call.options = literals[int(text)]
        else:
            call.arguments.append(_part(words, literals, kind, text))
    raise ValueError("an expression without its end")

"""The parts of a filter.

An expression of Arrow's does not show its parts, but its serialised form does: a batch of one row
with its literals, whose metadata spells the calls. That form is not documented; see
`private_forms.py`.

Arrow's documented form, Substrait, cannot take its place. It needs the types of all columns that a
filter names; makes of `isin` a chain of comparisons, which loses that a null among the values meets
a null in the column; and refuses casts, the comparison of an unsigned column or of a decimal with a
Python number, nanoseconds, decimals of 256 bits, `match_like` and functions of texts
(`test_private_forms.py` tells when a release of Arrow changes that).
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
from seamkit.files.private_forms import PrivateForm


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
    if not CONDITIONS.is_open:
        return None
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


def _trial() -> bool:
    """Whether a filter with all that is known of the form has the parts that it was made of."""
    key, text = pc.field("k"), pc.field("s", "t")
    listed = pc.is_in(key, value_set=pa.array([1, None, -3]))
    made = (key == 5) & (listed | (text > "x\0"))
    nested = Call("nested_field_ref", [Column("s"), Column("t")])
    root = _parsed(made)
    assert isinstance(root, Call)
    one, other = root.arguments
    assert isinstance(other, Call)
    is_in, compared = other.arguments
    return (
        (root.name, other.name) == ("and_kleene", "or_kleene")
        and one == Call("equal", [Column("k"), Literal(5)])
        and compared == Call("greater", [nested, Literal("x\0")])
        and isinstance(is_in, Call)
        and (is_in.name, is_in.arguments) == ("is_in", [Column("k")])
        and is_in.options["value_set"] == [1, None, -3]
    )


CONDITIONS = PrivateForm(
    "conditions",
    "look-ups by key read whatever statistics leave of files and logs, as other filters do",
    _trial,
)

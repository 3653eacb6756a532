"""The parts of a filter.

An expression of Arrow's does not show its parts, but its serialised form does: a batch of one row
with its literals, whose metadata spells the calls. That form is not documented; see
`private_forms.py`.

Arrow's documented form, Substrait, cannot take its place. It needs the types of all columns that a
filter names; makes of `isin` a chain of comparisons, which loses that a null among the values meets
a null in the column; and refuses casts, the comparison of an unsigned column or of a decimal with a
Python number, nanoseconds, decimals of 256 bits, `match_like` and functions of texts
(`test_private_forms.py` tells when a release of Arrow changes that).

Which values a filter leaves to a column, and which rows as far as some columns tell.
"""

from __future__ import annotations

import datetime as dt
import functools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core._seam import ffi
from seamkit.core.border import exported_schema
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
    """The metadata of a schema in its order, and with all pairs of one key."""
    # Python is given a dictionary of it, so it is read from the C data interface: behind format and
    # name stands the address of a count and, for each pair, of two lengths and their bytes.
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


_BOTH = ("and", "and_kleene")
_EITHER = ("or", "or_kleene")

Values = frozenset[Any] | None
"""Values of one column, as Python's; None for any."""


def named_values(condition: pc.Expression, column: str) -> Values:
    """The values of a column of which a row that meets a condition has one.

    None where the condition does not name them: by equality, as one of a list, or by several such
    tests joined with and, and or.
    """
    root = parts_of(condition)
    return None if root is None else _values(root, column)


def _values(part: Part, column: str) -> Values:
    if not isinstance(part, Call):
        return None
    if part.name == "equal":
        return _compared(part, column)
    if part.name == "is_in" and part.arguments == [Column(column)]:
        listed = part.options.get("value_set") if isinstance(part.options, dict) else None
        return None if listed is None else frozenset(listed)
    if part.name == "if_else" and part.arguments[2:] == [Literal(None)]:
        return _values(part.arguments[1], column)  # where the test is of no null, else null
    sides = [_values(side, column) for side in part.arguments]
    known = [side for side in sides if side is not None]
    if part.name in _BOTH and known:
        return frozenset.intersection(*known)
    if part.name in _EITHER and len(known) == len(sides):
        return frozenset.union(*known)
    return None


def _compared(part: Call, column: str) -> Values:
    sides = part.arguments
    literals = [side.value for side in sides if isinstance(side, Literal)]
    return frozenset(literals) if Column(column) in sides and len(literals) == 1 else None


@dataclass(frozen=True)
class RowTest:
    """What some columns tell of which rows meet a filter."""

    columns: frozenset[str]  # the columns that it looks at
    # false for each row that surely does not meet the filter; never null. A null of a column counts
    # as any value
    may_match: Callable[[pa.RecordBatch], pa.BooleanArray]


_ORDERED = {
    "equal": "equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def row_test(condition: pc.Expression, columns: pa.Schema) -> RowTest | None:
    """Which rows may meet a condition, as far as the columns whose values will be known tell.

    None where they tell nothing: only comparisons of whole numbers, texts and dates with values of
    their own kind, and lists of such, joined with and, and or, are understood.
    """
    root = parts_of(condition)
    return None if root is None else _test_of(root, columns)


def _test_of(part: Part, columns: pa.Schema) -> RowTest | None:
    if not isinstance(part, Call):
        return None
    if part.name in _ORDERED and len(part.arguments) == 2:
        return _comparison(part.name, part.arguments[0], part.arguments[1], columns)
    if part.name == "is_in" and isinstance(part.options, dict):
        return _is_in(part.arguments, part.options.get("value_set"), columns)
    if part.name == "if_else" and part.arguments[2:] == [Literal(None)]:
        return _test_of(part.arguments[1], columns)
    sides = [_test_of(side, columns) for side in part.arguments]
    known = [side for side in sides if side is not None]
    if part.name in _BOTH and known:
        return _joined(pc.and_, known)
    if part.name in _EITHER and known and len(known) == len(sides):
        return _joined(pc.or_, known)
    return None


def _joined(join: Callable[[Any, Any], pa.BooleanArray], sides: list[RowTest]) -> RowTest:
    columns = frozenset[str]().union(*(side.columns for side in sides))
    return RowTest(columns, lambda rows: functools.reduce(join, [s.may_match(rows) for s in sides]))


def _comparison(name: str, left: Part, right: Part, columns: pa.Schema) -> RowTest | None:
    if isinstance(left, Literal):
        name, left, right = _ORDERED[name], right, left
    if not isinstance(left, Column) or not isinstance(right, Literal):
        return None
    values = _values_like(left.name, [right.value], columns)
    if values is None:
        return None
    column, compare = left.name, getattr(pc, name)

    def may_match(rows: pa.RecordBatch) -> pa.BooleanArray:
        return pc.fill_null(compare(rows.column(column), values[0]), True)

    return RowTest(frozenset([column]), may_match)


def _is_in(arguments: list[Part], listed: Any, columns: pa.Schema) -> RowTest | None:
    if len(arguments) != 1 or not isinstance(arguments[0], Column) or listed is None:
        return None
    column = arguments[0].name
    values = _values_like(column, list(listed), columns)
    if values is None:
        return None

    def may_match(rows: pa.RecordBatch) -> pa.BooleanArray:
        own = rows.column(column)
        return pc.or_(pc.is_in(own, value_set=values), own.is_null())

    return RowTest(frozenset([column]), may_match)


def _values_like(column: str, values: list[Any], columns: pa.Schema) -> pa.Array | None:
    """Values in a column's type; None where one is of another kind."""
    if column not in columns.names:
        return None
    kind = columns.field(column).type
    if pa.types.is_integer(kind):
        fits = all(type(value) is int for value in values)
    elif pa.types.is_string(kind):
        fits = all(type(value) is str for value in values)
    else:
        fits = pa.types.is_date32(kind) and all(type(value) is dt.date for value in values)
    try:
        return pa.array(values, kind) if fits else None
    except (pa.ArrowException, OverflowError):
        return None

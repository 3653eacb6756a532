"""Which values a filter leaves to a column, where it names them one by one."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from seamkit.files.expressions import Call, Column, Literal, Part, parts_of

__all__ = ["named_values"]

_BOTH = ("and", "and_kleene")
_EITHER = ("or", "or_kleene")

Values = frozenset[Any] | None
"""Values of one column, as Python's; None for any."""


def named_values(condition: pc.Expression, column: str) -> Values:
    """The values of a column of which a row that meets a condition has one.

    Args:
        condition: a filter.
        column: a name.

    Returns:
        None where the condition does not name them: by equality, as one of a list, or by several
        such tests joined with and, and or.
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

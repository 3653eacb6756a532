"""Plain values: decimals, keys of an order, and classes of what a table may have very many of."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")

#: For arithmetic with decimals: that of Python's own context rounds to 28 digits, or to what the
#: caller has set, even where only the sign or the point is changed.
EXACT = Context(prec=120)


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """The decimal of which a whole number has the digits, `scale` of them behind the point."""
    return EXACT.scaleb(Decimal(unscaled), -scale)


def rounded(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """A decimal with `scale` digits behind the point, halves away from zero.

    None where it has more than `precision` digits then.
    """
    try:
        found = value.quantize(decimal_of(1, scale), ROUND_HALF_UP, EXACT)
    except InvalidOperation:
        return None
    return found if len(found.as_tuple().digits) <= precision else None


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(kind: type[_Class]) -> type[_Class]:
    """A dataclass whose objects nobody changes, as the type checker sees to.

    To see to it at run time makes each take two to three times as long to make.
    """
    return dataclass(slots=True, unsafe_hash=True)(kind)


@dataclass(frozen=True)
class SortKey:
    """One key of an order: `nulls_first` says where its nulls stand, whatever the direction."""

    column: str
    descending: bool = False
    nulls_first: bool = False

"""Plain values: keys of an order, and the classes of those of which a table may have very many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


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

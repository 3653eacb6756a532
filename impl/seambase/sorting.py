"""Keys of an order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SortKey:
    """One key of an order: `nulls_first` says where its nulls stand, whatever the direction."""

    column: str
    descending: bool = False
    nulls_first: bool = False

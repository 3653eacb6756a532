"""Layouts of data sets: none, since no row of a Hive table is ever changed."""

from __future__ import annotations

from collections.abc import Mapping

from seambase.errors import UsageError
from seambench.contracts.tables import Layout

__all__ = ["SPELLING", "make", "parse"]

SPELLING = "(none: rows of Hive tables are never changed)"


def parse(name: str) -> Layout | None:
    """No name is one of a Hive data set."""
    del name
    return None


def make(ratio: float, share: float, knobs: Mapping[str, str]) -> Layout:
    """No layout.

    Raises:
        UsageError: always.
    """
    del ratio, share, knobs
    raise UsageError("rows of Hive tables are never changed, so there are no data sets of them")

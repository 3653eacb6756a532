"""The table formats of the library, each known by what it says of itself: the one list of them."""

from __future__ import annotations

import difflib
import importlib
from functools import cache

from seambase.errors import UsageError
from seamkit.tables.table_format import TableFormat

#: A module for each, whose `FORMAT` says how its tables are known and who opens them.
_MODULES = (
    "seamkit.tables.hudi.table_format",
    "seamkit.tables.delta.table_format",
    "seamkit.tables.iceberg.table_format",
    "seamkit.tables.paimon.table_format",
    "seamkit.tables.hive.table_format",
)


@cache
def table_formats() -> tuple[TableFormat, ...]:
    """All formats."""
    return tuple(importlib.import_module(module).FORMAT for module in _MODULES)


def find_format(name: str) -> TableFormat:
    """The format of a name."""
    known = {one.name: one for one in table_formats()}
    if not isinstance(name, str) or name not in known:
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"format is {name!r}: one of {', '.join(known)} is meant{hint}")
    return known[name]

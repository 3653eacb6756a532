"""Reads of one table as an engine makes them, whose answers are small: what a reader costs in it.

Each has one or few rows for an answer, so that nothing of an engine's way to hand rows over is
timed, and every engine's SQL understands it. A maximum of each column makes an engine read them
all. Keys are those that the generator makes at scale 1; at others they may not be there, which is
an answer too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_COLUMNS = (
    *("l_orderkey", "l_partkey", "l_suppkey", "l_linenumber", "l_quantity", "l_extendedprice"),
    *("l_discount", "l_tax", "l_returnflag", "l_linestatus", "l_shipdate", "l_commitdate"),
    *("l_receiptdate", "l_shipinstruct", "l_shipmode", "l_comment"),
)
_OF_Q6 = ("l_shipdate", "l_discount", "l_quantity", "l_extendedprice")
_KEYS = tuple(n * 59_969 // 32 * 32 + n % 7 + 1 for n in range(100))


def _most(names: Sequence[str]) -> str:
    found = ", ".join(f"max({name}) AS {name}" for name in names)
    return f"SELECT count(*) AS n, {found} FROM lineitem"  # noqa: S608 - ours


def _rows(condition: str) -> str:
    names = ", ".join(_COLUMNS)
    order = "ORDER BY l_orderkey, l_linenumber"
    return f"SELECT {names} FROM lineitem WHERE {condition} {order}"  # noqa: S608 - ours


class ReadsSuite:
    """All columns, four, one; one key, and a hundred."""

    queries: Mapping[int, str] = {
        1: _most(_COLUMNS),
        2: _most(_OF_Q6),
        3: _most(("l_extendedprice",)),
        4: _rows("l_orderkey = 1234567"),
        5: _rows(f"l_orderkey IN ({', '.join(map(str, _KEYS))})"),
    }

    def ordered(self, number: int) -> bool:
        """Whether the order of a query's rows is part of its answer."""
        return number > 3


SUITE = ReadsSuite()

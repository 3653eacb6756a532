"""Rows that every writer is given: edges of the flat types, nested values, nulls."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import pyarrow as pa

from seambench_suites.writers.keeping import Recipe, Row

FLAT = {
    "b": "boolean",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "s": "string",
    "y": "binary",
    "day": "date",
    "ts": "timestamp",
    "n9": "decimal(9,2)",
    "n18": "decimal(18,4)",
    "n38": "decimal(38,10)",
}
"""Columns of the flat types that all formats have."""

NESTED = {
    "li": "array<int>",
    "st": "struct<a:int,b:string>",
    "ma": "map<string,bigint>",
    "ls": "array<struct<a:int,b:string>>",
    "ll": "array<array<int>>",
    "sl": "struct<l:array<string>,s:struct<d:double>>",
    "ml": "map<string,array<int>>",
}
"""Columns of nested types."""

TYPES = {**FLAT, "wall": "timestamp", **NESTED}
"""Columns of all these, and of moments without a zone."""

WALL = {"wall": pa.timestamp("us")}
"""Columns of moments without a zone, with Arrow's type."""

HOLES = {
    "li": "array<int>",
    "lt": "array<string>",
    "ls": "array<struct<a:int,b:string>>",
    "ll": "array<array<int>>",
    "ma": "map<string,bigint>",
    "ml": "map<string,array<int>>",
    "ms": "map<string,struct<a:int>>",
    "sl": "struct<l:array<decimal(9,2)>,m:map<string,date>>",
}
"""Columns of nested types in which there are nulls at every depth."""


EDGES = {
    "k": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "s": "string",
    "n": "decimal(38,0)",
    "day": "date",
    "ts": "timestamp",
    "lf": "array<double>",
    "st": "struct<f:float,d:double>",
}
"""Columns of values that a reader changes which passes them through another type."""


EDGES_NOTE = "digits beyond a double's, zeros with signs, odd texts, far days; nothing but nulls"


def sample(columns: Iterable[str] = TYPES) -> list[Row]:
    """Three rows of columns of `TYPES`: plain values, edges, nulls."""
    walls = [dt.datetime(2024, 2, 29, 12, 34, 56, 123456), dt.datetime(1969, 12, 31), None]
    rows = [
        flat | {"wall": wall} | nested
        for flat, wall, nested in zip(_flat_rows(), walls, _nested_rows(), strict=True)
    ]
    return [{name: row[name] for name in columns} for row in rows]


def keep_types(
    at: Recipe, append: Callable[[Sequence[Row], str], int], rows: Sequence[Row]
) -> None:
    """Append the sample's rows, those of values and that of nulls, and keep the table."""
    step = append(rows[:2], "append two rows")
    append(rows[2:], "append a row of nulls")
    at.ask("newest", rows)
    at.ask("first", rows[:2], step=step)
    at.keep()


def _flat_rows() -> list[Row]:
    return [
        {
            "b": True,
            "i": 1,
            "l": 2,
            "f": 1.5,
            "d": 2.5,
            "s": "text é 漢 😀",
            "y": b"\x00\xff",
            "day": dt.date(2024, 2, 29),
            "ts": dt.datetime(2024, 2, 29, 12, 34, 56, 123456, dt.UTC),
            "n9": Decimal("1.23"),
            "n18": Decimal("4.5678"),
            "n38": Decimal("9.0123456789"),
        },
        {
            "b": False,
            "i": -(2**31),
            "l": -(2**63),
            "f": math.nan,
            "d": -math.inf,
            "s": "",
            "y": b"",
            "day": dt.date(1969, 12, 31),
            "ts": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC),
            "n9": Decimal("-9999999.99"),
            "n18": Decimal("-99999999999999.9999"),
            "n38": Decimal("-9999999999999999999999999999.9999999999"),
        },
        dict.fromkeys(FLAT),
    ]


def _nested_rows() -> list[Row]:
    """Values, with nulls in structs; empty; null."""
    return [
        {
            "li": [1, -2, 3],
            "st": {"a": 1, "b": None},
            "ma": {"x": 1, "y": -2},
            "ls": [{"a": 1, "b": "q"}, {"a": None, "b": ""}],
            "ll": [[1], [], [2, 3]],
            "sl": {"l": ["m", ""], "s": {"d": 0.5}},
            "ml": {"k": [1, 2], "e": []},
        },
        {
            "li": [],
            "st": {"a": None, "b": None},
            "ma": {},
            "ls": [],
            "ll": [],
            "sl": {"l": None, "s": {"d": None}},
            "ml": {},
        },
        dict.fromkeys(NESTED),
    ]


def rows_with_holes() -> list[Row]:
    """Four rows of `HOLES`: nulls beside values; nothing but nulls; values alone; null."""
    return [
        {
            "li": [1, None, 3],
            "lt": ["", None],
            "ls": [None, {"a": None, "b": "q"}, {"a": 1, "b": None}],
            "ll": [None, [None], [], [2, None]],
            "ma": {"x": None, "y": -2},
            "ml": {"k": [1, None], "n": None, "e": []},
            "ms": {"n": None, "s": {"a": None}},
            "sl": {"l": [None, Decimal("1.50")], "m": {"d": None}},
        },
        {
            "li": [None],
            "lt": [None, None],
            "ls": [None],
            "ll": [None],
            "ma": {"x": None},
            "ml": {"n": None},
            "ms": {"n": None},
            "sl": {"l": [None], "m": {"d": None, "e": None}},
        },
        {
            "li": [4],
            "lt": ["t"],
            "ls": [{"a": 2, "b": "r"}],
            "ll": [[5]],
            "ma": {"z": 6},
            "ml": {"v": [7]},
            "ms": {"s": {"a": 8}},
            "sl": {"l": [Decimal("-0.01")], "m": {"d": dt.date(1969, 12, 31)}},
        },
        dict.fromkeys(HOLES),
    ]


def rows_of_edges() -> list[Row]:
    """Six rows of `EDGES`: digits beyond a double's, signs of zero, odd texts, far days; null."""
    late = dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC)
    texts = ["  x ", "a\0b\r\nc", "null", "\\N", f"e\u0301{'é' * 200}"]
    rows: list[Row] = [
        {
            "k": k,
            "l": sign * (2**power + 1),
            "f": -0.0,
            "d": sign * 5e-324,
            "s": text,
            "n": Decimal(sign * (10**37 + 1)),
            "day": late.date() if k % 2 else dt.date(1600, 1, 1),
            "ts": late if k % 2 else dt.datetime(1600, 1, 1, 0, 0, 0, 1, dt.UTC),
            "lf": [-0.0, math.nan, 0.0],
            "st": {"f": -0.0, "d": -0.0},
        }
        for k, (text, sign, power) in enumerate(
            zip(texts, (1, -1, 1, -1, 1), (53, 53, 61, 61, 55), strict=True)
        )
    ]
    return [*rows, dict.fromkeys(EDGES)]

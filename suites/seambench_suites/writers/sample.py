"""Rows that every writer is given: edges of the flat types, nested values, nulls."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

from seambench_suites.writers.keeping import Row

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


def flat_rows() -> list[Row]:
    """Three rows of `FLAT`: plain values, edges, nulls."""
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


def nested_rows() -> list[Row]:
    """Three rows of `NESTED`: values, with nulls in structs; empty; null."""
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

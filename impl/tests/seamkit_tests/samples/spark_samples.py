"""Columns of every Spark type, as Arrow arrays with corner values and nulls."""

from decimal import Decimal
from typing import Any

_WORDS = ["", "1234567", None, "12345678", "naïve 日本 😀", "x" * 300]
_MAX = 2**63 - 1

#: Values of a column by its Spark type; extension types are given by their storage.
SAMPLES: dict[str, list[Any]] = {
    "boolean": [True, None, False, True],
    "tinyint": [0, 127, None, -128],
    "smallint": [0, 32767, None, -32768],
    "int": [0, 2**31 - 1, None, -(2**31)],
    "bigint": [0, 1, -1, None, _MAX, -_MAX - 1],
    "float": [0.0, -0.0, 1.5, None, float("inf"), float("-inf")],
    "double": [0.0, -0.0, 1.5, None, float("inf"), 5e-324],
    "string": _WORDS,
    "varchar(9)": _WORDS[:4],
    "char(9)": _WORDS[:4],
    "binary": [b"", b"\x00\xff", None, bytes(range(256))],
    "void": [None, None, None],
    "date": [0, 19000, None, -719162],
    "timestamp": [0, -1, None, 253402300799999999],
    "timestamp_ntz": [0, -1, None, 1700000000123456],
    "interval year to month": [0, -13, None, 2**31 - 1],
    "interval day to second": [0, -1, None, 2**62],
    "interval": [
        {"months": 1, "days": -2, "micros": 3},
        None,
        {"months": -(2**31), "days": 2**31 - 1, "micros": _MAX},
    ],
    "decimal(5,2)": [Decimal("0.00"), Decimal("-999.99"), None],
    "decimal(18,0)": [Decimal(10**18 - 1), None, Decimal(-1)],
    "decimal(19,0)": [Decimal(-1), Decimal(2**63), None, Decimal(-(2**63))],
    "decimal(38,0)": [Decimal(10**38 - 1), None, Decimal(-(2**120))],
    "decimal(38,4)": [Decimal("-0.0004"), None, Decimal("9" * 34 + ".9999")],
    "array<int>": [[1, None, -3], [], None, [4]],
    "array<boolean>": [[True, None], [], None, [False]],
    "array<string>": [["a", None], [], None, ["naïve"]],
    "array<interval>": [[{"months": 1, "days": 2, "micros": 3}, None], [], None],
    "array<decimal(38,0)>": [[Decimal(-1), None, Decimal(10**30)], None],
    "array<void>": [[None, None], [], None],
    "struct<a:void,b:int>": [{"a": None, "b": 1}, None, {"a": None, "b": None}],
    "array<array<bigint>>": [[[1], None, []], None, [[None, 2]]],
    "map<string,bigint>": [[("a", 1), ("b", None)], None, [], [("c", -1)]],
    "map<int,string>": [[(1, "x"), (2, None)], None],
    "map<int,array<date>>": [[(1, [0, None])], [(2, None), (3, [])]],
    "struct<a:int,b:string>": [{"a": 1, "b": "x"}, None, {"a": None, "b": ""}, None],
    "struct<a:int,b:array<string>>": [{"a": 1, "b": ["q", None]}, None, {"a": None, "b": None}],
    "struct<a:struct<b:struct<c:decimal(38,4)>>>": [
        {"a": {"b": {"c": Decimal("1.0000")}}},
        {"a": None},
        None,
        {"a": {"b": None}},
        {"a": {"b": {"c": None}}},
    ],
    "array<map<string,struct<x:decimal(20,4),y:array<boolean>>>>": [
        [[("k", {"x": Decimal("-1.5000"), "y": [True, None]})], None, []],
        None,
        [[("l", None)]],
    ],
}

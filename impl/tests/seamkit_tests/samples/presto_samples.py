"""Columns of every Presto type, as Arrow arrays with corner values and nulls."""

from decimal import Decimal
from typing import Any

_BYTES16 = [bytes(range(16)), b"\xff" * 16, None, b"\x00" * 16]
_WORDS = ["", "a", None, "naïve 日本 😀", "x" * 300]
_BINARY = [b"", b"\x00\xff", None, bytes(range(256))]
_LONGS = [0, 1, -1, None, 2**63 - 1, -(2**63), 1 << 32]

#: Values of a column by its Presto type; extension types are given by their storage.
SAMPLES: dict[str, list[Any]] = {
    "boolean": [True, None, False, True],
    "tinyint": [0, 127, None, -128],
    "smallint": [0, 32767, None, -32768],
    "integer": [0, 2**31 - 1, None, -(2**31), 65536],
    "bigint": _LONGS,
    "real": [0.0, -0.0, 1.5, None, float("inf"), float("-inf")],
    "double": [0.0, -0.0, 1.5, None, float("inf"), 5e-324],
    "varchar": _WORDS,
    "varchar(5)": _WORDS[:3],
    "char(8)": _WORDS[:3],
    "varbinary": _BINARY,
    "json": ['{"a":[1,null]}', None, "3"],
    "hyperloglog": _BINARY,
    "tdigest(double)": _BINARY,
    "uuid": _BYTES16,
    "ipaddress": _BYTES16,
    "ipprefix": [bytes(range(17)), None, b"\xff" * 17],
    "date": [0, 19000, None, -719528],
    "time": [0, 86399999, None],
    "timestamp": [0, -1, None, 253402300799999],
    "timestamp microseconds": [0, -1, None, 1700000000123456],
    "time with time zone": [0, 4096, None, -4095],
    "timestamp with time zone": [0, (1700000000123 << 12) | 1825, None, -(1 << 12) | 841],
    "interval year to month": [0, -13, None, 2**31 - 1],
    "interval day to second": [0, -1, None, 2**62],
    "decimal(10,2)": [Decimal("0.00"), Decimal("-99999999.99"), None, Decimal("0.01")],
    "decimal(18,0)": [Decimal(10**18 - 1), None, Decimal(-1)],
    "decimal(19,0)": [Decimal(-1), Decimal(2**63), None, Decimal(-(2**63))],
    "decimal(38,4)": [Decimal("-0.0004"), None, Decimal("9" * 34 + ".9999"), Decimal(2**64)],
    "unknown": [None, None],
    "array(integer)": [[1, None, -3], [], None, [4]],
    "array(array(varchar))": [[["a"], None, []], None, [[None, "bc"]]],
    "map(varchar,bigint)": [[("a", 1), ("b", None)], None, [], [("c", -1)]],
    "map(bigint,array(date))": [[(1, [0, None])], [(2, None), (3, [])]],
    "row(a integer,b varchar)": [{"a": 1, "b": "x"}, None, {"a": None, "b": ""}, None],
    "row(a row(b row(c bigint)))": [
        {"a": {"b": {"c": 1}}},
        {"a": None},
        None,
        {"a": {"b": None}},
        {"a": {"b": {"c": None}}},
    ],
    "array(map(varchar,row(x decimal(38,4),y array(boolean))))": [
        [[("k", {"x": Decimal("-1.5000"), "y": [True, None]})], None, []],
        None,
        [[("l", None)]],
    ],
}

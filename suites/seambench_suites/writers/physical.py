"""Rows as groups of Parquet's physical types: one logical type in each form that it may have."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import Any

from seambench.conformance.plain import parts_of
from seambench_suites.writers.keeping import Row

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_JULIAN_EPOCH = 2440588
_PLAIN = {
    "boolean": "boolean",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
}
_ITEMS = {"three": ("list", "element"), "hive": ("bag", "array_element")}


class Physical:
    """The physical types of a file.

    Timestamps have the unit `MILLIS`, `MICROS` or `NANOS`, or are `INT96`. Decimals are `int` where
    that is wide enough, else `fixed`, or `binary`. Lists have `three` levels, `hive`'s names of
    these, or `two` levels; `maps` names a map's entries, whose keys may be null if they are
    `optional`, as some writers have them.
    """

    def __init__(
        self,
        times: str = "MICROS",
        decimals: str = "fixed",
        lists: str = "three",
        maps: str = "key_value",
        keys: str = "required",
    ) -> None:
        self._times = times
        self._decimals = decimals
        self._lists = lists
        self._maps = maps
        self._keys = keys

    def kept(self, row: Row) -> Row:
        """What a row becomes: milliseconds hold no micros."""
        if self._times != "MILLIS" or not row.get("ts"):
            return row
        return row | {"ts": row["ts"].replace(microsecond=row["ts"].microsecond // 1000 * 1000)}

    def field(self, name: str, kind: str, repetition: str = "optional") -> str:
        """A field in Parquet's words."""
        head, _, inner = kind.partition("<")
        if head == "struct":
            fields = " ".join(self.field(one, of) for one, of in _fields(kind))
            return f"{repetition} group {name} {{ {fields} }}"
        if head == "map":
            key, value = parts_of(inner[:-1])
            entry = f"{self.field('key', key, self._keys)} {self.field('value', value)}"
            entries = f"repeated group {self._maps} {{ {entry} }}"
            return f"{repetition} group {name} (MAP) {{ {entries} }}"
        if head == "array":
            return f"{repetition} group {name} (LIST) {{ {self._items(inner[:-1])} }}"
        primitive, annotation = self._primitive(kind)
        return f"{repetition} {primitive} {name} {annotation};"

    def _items(self, kind: str) -> str:
        if self._lists == "two":
            return self.field("array", kind, "repeated")
        outer, item = _ITEMS[self._lists]
        return f"repeated group {outer} {{ {self.field(item, kind)} }}"

    def _primitive(self, kind: str) -> tuple[str, str]:
        """A physical type, and what is annotated."""
        if kind in _PLAIN:
            return _PLAIN[kind], ""
        if kind.startswith("decimal"):
            precision, scale = map(int, kind[8:-1].split(","))
            physical = self._decimals
            if physical == "int":
                physical = "int32" if precision < 10 else "int64" if precision < 19 else "fixed"
            if physical == "fixed":
                physical = f"fixed_len_byte_array({_width(precision)})"
            return physical, f"(DECIMAL({precision},{scale}))"
        if kind == "timestamp":
            annotation = "" if self._times == "INT96" else f"(TIMESTAMP({self._times},true))"
            return ("int96" if self._times == "INT96" else "int64"), annotation
        return {
            "string": ("binary", "(UTF8)"),
            "binary": ("binary", ""),
            "date": ("int32", "(DATE)"),
        }[kind]

    def value(self, value: Any, kind: str) -> Any:
        """A value as the program takes it: bytes in hexadecimal, groups as objects."""
        if value is None:
            return None
        head, _, inner = kind.partition("<")
        if head == "struct":
            return {one: self.value(value.get(one), of) for one, of in _fields(kind)}
        if head == "map":
            key, of = parts_of(inner[:-1])
            pairs = value.items()
            entries = [{"key": self.value(k, key), "value": self.value(v, of)} for k, v in pairs]
            return {self._maps: entries}
        if head == "array":
            items = [self.value(one, inner[:-1]) for one in value]
            if self._lists == "two":
                return {"array": items}
            outer, item = _ITEMS[self._lists]
            return {outer: [{item: one} for one in items]}
        return self._flat(value, kind)

    def _flat(self, value: Any, kind: str) -> Any:
        if kind in ("float", "double"):
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
        if isinstance(value, Decimal):
            return self._decimal(value, kind)
        if isinstance(value, dt.datetime):
            return self._moment((value - EPOCH) // dt.timedelta(microseconds=1))
        if isinstance(value, dt.date):
            return (value - EPOCH.date()).days
        if isinstance(value, str | bytes):
            return (value.encode() if isinstance(value, str) else value).hex()
        return value

    def _decimal(self, value: Decimal, kind: str) -> int | str:
        precision, scale = map(int, kind[8:-1].split(","))
        whole = int(value.scaleb(scale, Context(prec=76)))
        physical = self._primitive(kind)[0]
        if physical in ("int32", "int64"):
            return whole
        width = _width(precision)
        if physical == "binary":
            width = (whole + (whole < 0)).bit_length() // 8 + 1
        return whole.to_bytes(width, "big", signed=True).hex()

    def _moment(self, micros: int) -> int | str:
        if self._times != "INT96":
            return {"MILLIS": micros // 1000, "MICROS": micros, "NANOS": micros * 1000}[self._times]
        day, rest = divmod(micros, 86_400_000_000)
        nanos = (rest * 1000).to_bytes(8, "little")
        return (nanos + (day + _JULIAN_EPOCH).to_bytes(4, "little")).hex()


def _fields(kind: str) -> list[tuple[str, str]]:
    parts = (part.partition(":") for part in parts_of(kind[7:-1]))
    return [(name, of) for name, _, of in parts]


def _width(precision: int) -> int:
    """The bytes that any number of so many digits needs."""
    return int((10**precision).bit_length()) // 8 + 1

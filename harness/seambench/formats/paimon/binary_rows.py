"""Paimon's binary rows, and an order in which their values and those of Arrow columns compare.

Numbers, dates (days) and times of day (milliseconds) compare as integers, timestamps as
nanoseconds, texts as bytes. Floats compare as Java's `compareTo` does it: -0.0 below 0.0, NaN above
all; their bits turned into integers have that order.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seambench.formats.lint.values import key, unit_of
from seambench.formats.lint.values import ordered as order_of_floats
from seambench.formats.murmur import finish, mix

_SPELLED = re.compile(r"([A-Z_]+)(?:\((\d+)(?:, *(\d+))?\))?( WITH LOCAL TIME ZONE)?( NOT NULL)?")
_SLOTS = {
    "BOOLEAN": "?",
    "TINYINT": "b",
    "SMALLINT": "h",
    "INT": "i",
    "INTEGER": "i",
    "BIGINT": "q",
    "DATE": "i",
    "TIME": "i",
    "FLOAT": "f",
    "DOUBLE": "d",
}
_TEXTS = ("CHAR", "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES")
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ")
#: A decimal of no more digits, and a timestamp of no more, lie in their slot.
_SHORT_DECIMAL, _SHORT_TIME = 18, 3
#: Of Arrow columns, how a value lies in a slot.
_ARROW_SLOTS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "date32[day]": "i",
    "float": "f",
    "double": "d",
}
#: Bytes of a text that lie in its slot.
_IN_SLOT = 7


@dataclass(frozen=True)
class Kind:
    """A type of Paimon: its root and digits; `NESTED` where it has types inside, or is unknown."""

    root: str
    digits: int = 0
    scale: int = 0
    nullable: bool = True

    @property
    def compares(self) -> bool:
        """Whether bounds of such a column are known here."""
        return self.root in (*_SLOTS, *_TEXTS, *_TIMES, "DECIMAL")


def kind_of(type_: Any) -> Kind:
    """What the type of a field in a schema file says, a text or an object."""
    if isinstance(type_, dict):
        return Kind("NESTED", nullable="NOT NULL" not in str(type_.get("type")))
    match = _SPELLED.fullmatch(str(type_))
    if not match:
        return Kind("NESTED", nullable="NOT NULL" not in str(type_))
    default = {"DECIMAL": 10, "TIMESTAMP": 6, "TIMESTAMP_LTZ": 6}.get(match[1], 0)
    return Kind(match[1], int(match[2] or default), int(match[3] or 0), match[5] is None)


def decode(data: bytes, kinds: Sequence[Kind]) -> list[Any]:
    """Values of a row with its number of fields in front; None for nulls and nested ones.

    Raises:
        InputError: it has another number of fields, or ends too soon.
    """
    if len(data) < 4 or (count := struct.unpack_from(">i", data)[0]) != len(kinds):
        says = struct.unpack_from(">i", data)[0] if len(data) >= 4 else "no"
        raise InputError(f"the binary row has {says} fields, not {len(kinds)}")
    row, header = data[4:], -(-(count + 8) // 64) * 8
    if len(row) < header + 8 * count:
        raise InputError(f"the binary row of {count} fields has {len(row)} bytes")
    found = []
    for at, kind in enumerate(kinds):
        null = row[(at + 8) // 8] >> (at % 8) & 1
        found.append(None if null else _value(row, header + 8 * at, kind))
    return found


def _value(row: bytes, at: int, kind: Kind) -> Any:
    if kind.root in _SLOTS:
        return struct.unpack_from("<" + _SLOTS[kind.root], row, at)[0]
    (long,) = struct.unpack_from("<q", row, at)
    if kind.root == "DECIMAL":
        short = kind.digits <= _SHORT_DECIMAL
        whole = long if short else int.from_bytes(_beyond(row, long), "big", signed=True)
        digits = tuple(int(one) for one in str(abs(whole)))
        return Decimal((int(whole < 0), digits, -kind.scale))
    if kind.root in _TIMES:
        if kind.digits <= _SHORT_TIME:
            return long * 10**6
        millis = struct.unpack("<q", _beyond(row, long >> 32 << 32 | 8))[0]
        return millis * 10**6 + (long & 0xFFFFFFFF)
    if kind.root not in _TEXTS:
        return None
    inside = row[at + _IN_SLOT]
    return row[at : at + (inside & 0x7F)] if inside & 0x80 else _beyond(row, long)


def _beyond(row: bytes, long: int) -> bytes:
    begin, size = long >> 32, long & 0xFFFFFFFF
    if begin < 0 or begin + size > len(row):
        raise InputError(f"a value of the binary row lies at {begin} + {size}, beyond its end")
    return row[begin : begin + size]


def ordered(value: Any) -> Any:
    """A decoded value as one that compares by Python's operators."""
    return key(math.nan if value != value else value)


def ordered_column(column: pa.ChunkedArray, kind: Kind) -> pa.ChunkedArray | None:
    """A column with the order of `ordered`; None where its type is not one of the kind's."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    type_ = column.type
    timed = kind.root in _TIMES
    if not kind.compares or pa.types.is_nested(type_) or pa.types.is_timestamp(type_) != timed:
        return None
    if pa.types.is_floating(type_):
        gaps = np.asarray(column.is_null())
        values = np.asarray(pc.fill_null(column.cast(pa.float64()), 0.0))
        numbers = order_of_floats(np.where(np.isnan(values), np.nan, values))
        return pa.chunked_array([pa.array(numbers, mask=gaps)])
    if pa.types.is_timestamp(type_):
        wide = column.cast(pa.int64()).cast(pa.decimal128(19, 0))
        return pc.multiply(wide, pa.scalar(Decimal(unit_of(type_)), pa.decimal128(10, 0)))
    if pa.types.is_date32(type_) or pa.types.is_time32(type_):
        return column.cast(pa.int32())
    if kind.root in _TEXTS:
        return column.cast(pa.binary())
    return column


def bounds(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The least and the greatest value of a column of `ordered_column`; None where all are null."""
    found = pc.min_max(column).as_py()
    return found["min"], found["max"]


def narrow(name: str, stated: tuple[Any, Any], ends: tuple[Any, Any]) -> Iterator[tuple[str, str]]:
    """Of stated bounds of a column, decoded, those that its ordered ends lie beyond."""
    low, high = map(ordered, stated)
    if None not in (low, ends[0]) and low > ends[0]:
        yield "min-values", f"the least {name} is stated as {stated[0]!r}, {ends[0]!r} is there"
    if None not in (high, ends[1]) and high < ends[1]:
        yield "max-values", f"the greatest {name} is stated as {stated[1]!r}, {ends[1]!r} is there"


def binary_rows(rows: pa.Table) -> list[bytes] | None:
    """Rows as Paimon writes them, their number of fields in front; None if it has other types."""
    kinds = [str(column.type).removeprefix("large_") for column in rows.columns]
    if not set(kinds) <= {*_ARROW_SLOTS, "string", "binary"}:
        return None
    fixed = -(-(len(kinds) + 8) // 64) * 8 + 8 * len(kinds)
    columns = [
        (column.cast(pa.int32()) if kind.startswith("date") else column).to_pylist()
        for kind, column in zip(kinds, rows.columns, strict=True)
    ]
    values = zip(*columns, strict=True) if columns else repeat((), rows.num_rows)
    return [_packed(row, kinds, fixed) for row in values]


def _packed(values: Sequence[Any], kinds: Sequence[str], fixed: int) -> bytes:
    slots, beyond, nulls = b"", b"", 0
    for at, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        if value is None:
            nulls |= 1 << (at + 8)
            slots += bytes(8)
        elif slot := _ARROW_SLOTS.get(kind):
            slots += struct.pack("<" + slot, value).ljust(8, b"\0")
        else:
            data = value if kind == "binary" else value.encode()
            if len(data) <= _IN_SLOT:
                slots += data.ljust(_IN_SLOT, b"\0") + bytes([0x80 | len(data)])
            else:
                slots += struct.pack("<ii", len(data), fixed + len(beyond))
                beyond += data.ljust(-(-len(data) // 8) * 8, b"\0")
    header = nulls.to_bytes(fixed - 8 * len(kinds), "little")
    return struct.pack(">i", len(kinds)) + header + slots + beyond


def buckets_of(rows: Sequence[bytes], buckets: int) -> npt.NDArray[np.int64]:
    """Buckets of keys by Paimon's default function, of rows as `binary_rows` has them."""
    found = np.zeros(len(rows), np.int64)
    sizes = np.array([len(row) for row in rows])
    for size in np.unique(sizes):
        places = np.flatnonzero(sizes == size)
        words = np.frombuffer(b"".join(rows[int(at)][4:] for at in places), np.uint32)
        code = np.full(len(places), 42, np.uint32)
        for word in words.reshape(len(places), -1).T:
            code = mix(code, word)
        hashed = finish(code, int(size) - 4).view(np.int32).astype(np.int64)
        found[places] = np.abs(hashed) % buckets
    return found

"""Type strings of off-heap columns, and the Arrow types they stand for.

The grammar, of which the nested half is refused by name for now:

    T := keyword | decimal(p,s) | varchar(n) | char(n) | array<T> | map<T,T> | struct<name:T,...>

Words are lower-case and hold no blanks. The parser of StarRocks' JNI connector takes more than that
(what follows the first complete type, `decimal32(9,2)`, precisions no decimal has); here those are
errors, because it reads them as something other than what they say. `varchar` and `char` without a
length are taken, and so is `byte`, though no table takes a column of that kind.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambench.errors import InputError, RefusedError

__all__ = ["UNKNOWN", "ColumnType", "Kind", "arrow_type", "from_arrow", "parse"]


class Kind(enum.IntEnum):
    """Kinds as the core numbers them (`enum seam_column_kind`), which is how Java does."""

    UNKNOWN = 0
    BYTE = 1
    BOOLEAN = 2
    SHORT = 3
    INT = 4
    FLOAT = 5
    LONG = 6
    DOUBLE = 7
    STRING = 8
    BINARY = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    DATETIME_MICROS = 13
    DATETIME_MILLIS = 14
    DECIMALV2 = 15
    DECIMAL32 = 16
    DECIMAL64 = 17
    DECIMAL128 = 18
    ARRAY = 19
    MAP = 20
    STRUCT = 21
    TINYINT = 22

    @property
    def is_decimal(self) -> bool:
        """Whether precision and scale count."""
        return self in (Kind.DECIMAL32, Kind.DECIMAL64, Kind.DECIMAL128)

    @property
    def is_datetime(self) -> bool:
        """Whether values are packed Julian days and microseconds."""
        return self in (Kind.DATETIME, Kind.DATETIME_MICROS, Kind.DATETIME_MILLIS)

    @property
    def has_offsets(self) -> bool:
        """Whether values are found through offsets."""
        return self in (Kind.STRING, Kind.BINARY)


@dataclass(frozen=True)
class ColumnType:
    """A column's type.

    Attributes:
        kind: how values are stored.
        precision: digits, decimals only, else 0.
        scale: digits behind the point, decimals only, else 0.
        text: the type string it came from, or the plainest one that means it.
        children: an array's element; a map's key and value, of which pruning may have taken one;
            a struct's fields.
        names: of the children: `$0` for an element, `$0` and `$1` for key and value, else the
            fields' own.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    text: str = ""
    children: tuple[ColumnType, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text or _print(self)


#: A column that the file lacks: it has no type string.
UNKNOWN = ColumnType(Kind.UNKNOWN, text="unknown")

_KEYWORDS = {
    "boolean": Kind.BOOLEAN,
    "byte": Kind.BYTE,
    "tinyint": Kind.TINYINT,
    "short": Kind.SHORT,
    "smallint": Kind.SHORT,
    "int": Kind.INT,
    "bigint": Kind.LONG,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "timestamp": Kind.DATETIME,
    "timestamp-micros": Kind.DATETIME_MICROS,
    "timestamp-millis": Kind.DATETIME_MILLIS,
    "string": Kind.STRING,
    "varchar": Kind.STRING,
    "char": Kind.STRING,
    "binary": Kind.BINARY,
}
_PLAIN = {kind: word for word, kind in reversed(_KEYWORDS.items())} | {Kind.STRING: "string"}
_REFUSED = re.compile(r"(array|map|struct)<.*|variant|decimalv2\(.*")
_DECIMAL = re.compile(r"decimal\((\d{1,9}),(\d{1,9})\)", re.ASCII)
_SIZED = re.compile(r"(?:varchar|char)\(\d{1,9}\)", re.ASCII)


def parse(text: str) -> ColumnType:
    """The type a type string names.

    Raises:
        RefusedError: a nested type or `variant`.
        InputError: the text is no type string.
    """
    if text in _KEYWORDS:
        return ColumnType(_KEYWORDS[text], text=text)
    if _SIZED.fullmatch(text):
        return ColumnType(Kind.STRING, text=text)
    if found := _DECIMAL.fullmatch(text):
        return _decimal(int(found[1]), int(found[2]), text)
    if _REFUSED.fullmatch(text):
        word = re.split(r"[<(]", text)[0]
        raise RefusedError(f"column type '{text}': {word} columns are not supported")
    raise InputError(
        f"column type '{text}' is not understood; expected one of {', '.join(_KEYWORDS)}, "
        "decimal(p,s), varchar(n), char(n)"
    )


def _decimal(precision: int, scale: int, text: str) -> ColumnType:
    if not 1 <= precision <= 38 or scale > precision:
        raise InputError(f"column type '{text}': a decimal has 1 to 38 digits, scale included")
    kind = Kind.DECIMAL64 if precision <= 18 else Kind.DECIMAL128
    return ColumnType(kind, precision, scale, text)


def _print(column: ColumnType) -> str:
    if column.kind.is_decimal:
        return f"decimal({column.precision},{column.scale})"
    if column.kind is Kind.STRUCT:
        fields = zip(column.names, column.children, strict=True)
        return f"struct<{','.join(f'{name}:{child}' for name, child in fields)}>"
    if column.kind in (Kind.ARRAY, Kind.MAP):
        return f"{column.kind.name.lower()}<{','.join(map(str, column.children))}>"
    return _PLAIN[column.kind]


_TO_ARROW: dict[Kind, Any] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time32("ms"),
    Kind.DATETIME: pa.timestamp("us"),
    Kind.DATETIME_MICROS: pa.timestamp("us"),
    Kind.DATETIME_MILLIS: pa.timestamp("us"),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
}


def arrow_type(column: ColumnType) -> Any:
    """The `pyarrow.DataType` in which the engine side hands such a column out."""
    if column.kind.is_decimal:
        return pa.decimal128(column.precision, column.scale)
    if column.kind not in _TO_ARROW:
        raise RefusedError(f"a column of kind {column.kind.name.lower()} has no Arrow type")
    return _TO_ARROW[column.kind]


def from_arrow(data_type: Any) -> ColumnType:
    """The column type for a `pyarrow.DataType`.

    Timestamps become `timestamp-millis` or `timestamp-micros` by their unit (nanoseconds lose what
    is finer than a microsecond); zones other than UTC are refused.

    Raises:
        RefusedError: no column type holds it.
    """
    if pa.types.is_decimal128(data_type):
        if data_type.scale < 0:
            raise RefusedError(f"no column type holds Arrow's {data_type}: its scale is negative")
        return parse(f"decimal({data_type.precision},{data_type.scale})")
    if pa.types.is_timestamp(data_type) and data_type.tz in (None, "UTC", "+00:00"):
        return parse("timestamp-millis" if data_type.unit in ("s", "ms") else "timestamp-micros")
    if pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type):
        return parse("string")
    if pa.types.is_large_binary(data_type) or pa.types.is_binary_view(data_type):
        return parse("binary")
    for kind, arrow in _TO_ARROW.items():
        if arrow == data_type:
            return parse(_PLAIN[kind])
    raise RefusedError(f"no off-heap column type holds Arrow's {data_type}")

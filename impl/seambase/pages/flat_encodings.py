"""In which encoding a page holds the values of each type of Presto.

Presto 0.296, the block encodings of com.facebook.presto.common.block and the types' own blocks.
"""

from __future__ import annotations

from collections.abc import Mapping

from seambase.types import SerdeType

#: Encoding and struct format of the types whose values are numbers.
FLAT: Mapping[str, tuple[str, str]] = {
    "boolean": ("BYTE_ARRAY", "b"),
    "tinyint": ("BYTE_ARRAY", "b"),
    "unknown": ("BYTE_ARRAY", "b"),
    "smallint": ("SHORT_ARRAY", "h"),
    "integer": ("INT_ARRAY", "i"),
    "date": ("INT_ARRAY", "i"),
    "interval year to month": ("INT_ARRAY", "i"),
    "real": ("INT_ARRAY", "f"),
    "bigint": ("LONG_ARRAY", "q"),
    "time": ("LONG_ARRAY", "q"),
    "interval day to second": ("LONG_ARRAY", "q"),
    "double": ("LONG_ARRAY", "d"),
    "timestamp": ("LONG_ARRAY", "q"),
    "timestamp microseconds": ("LONG_ARRAY", "q"),
    "timestamp with time zone": ("LONG_ARRAY", "q"),
    "time with time zone": ("LONG_ARRAY", "q"),
}
#: Most digits of a decimal that is a word.
SHORT_DECIMAL = 18


def encoding_of(type_: SerdeType) -> str:
    """Name of the encoding that values of a type have where they are written flat."""
    if type_.kind in FLAT:
        return FLAT[type_.kind][0]
    if type_.kind in ("array", "map", "row"):
        return type_.kind.upper()
    if type_.kind == "decimal":
        return "LONG_ARRAY" if type_.precision <= SHORT_DECIMAL else "INT128_ARRAY"
    return "INT128_ARRAY" if type_.kind in ("uuid", "ipaddress") else "VARIABLE_WIDTH"

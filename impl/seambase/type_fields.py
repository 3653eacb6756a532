"""Fields of a request from an Arrow schema: the way back of `seambase.types.arrow_type`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambase.serde import SerdeField
from seambase.types import FLAT_TYPES, Language

_BRACKETS = {"presto": ("(", ")"), "spark": ("<", ">")}
#: Words that come first in their table and are not what a plain Arrow type means.
_SPECIAL = frozenset({"char", "varchar", "json", "hyperloglog", "time with time zone"})


def fields_of(schema: pa.Schema, language: Language) -> list[SerdeField]:
    """A field for each column, typed in an engine's words."""
    return [
        SerdeField(field.name, _named(field, language), nullable=field.nullable) for field in schema
    ]


def _named(field: pa.Field, language: Language) -> str:
    try:
        return type_text(field.type, language)
    except RefusedError as error:
        raise RefusedError(f"column '{field.name}': {error}") from None


def type_text(data_type: Any, language: Language) -> str:
    """The type whose values are held by an Arrow type; encodings count as what they stand for."""
    kinds = pa.types
    if kinds.is_dictionary(data_type) or kinds.is_run_end_encoded(data_type):
        return type_text(data_type.value_type, language)
    if kinds.is_list(data_type) or kinds.is_large_list(data_type):
        return _nested("array", [type_text(data_type.value_type, language)], language)
    if kinds.is_map(data_type):
        parts = [data_type.key_type, data_type.item_type]
        return _nested("map", [type_text(part, language) for part in parts], language)
    if kinds.is_struct(data_type):
        return _record(list(data_type), language)
    if kinds.is_decimal128(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if kinds.is_large_string(data_type) or kinds.is_string(data_type):
        return "varchar" if language == "presto" else "string"
    if kinds.is_large_binary(data_type) or kinds.is_binary(data_type):
        return "varbinary" if language == "presto" else "binary"
    for word, held in FLAT_TYPES[language].items():
        if held == data_type and word not in _SPECIAL:
            return word
    raise RefusedError(f"no type of {language.capitalize()} holds Arrow's {data_type}")


def _nested(word: str, parts: Sequence[str], language: Language) -> str:
    opening, closing = _BRACKETS[language]
    return f"{word}{opening}{','.join(parts)}{closing}"


def _record(fields: Sequence[pa.Field], language: Language) -> str:
    if language == "presto":
        parts = [
            f'"{field.name.replace(chr(34), chr(34) * 2)}" {type_text(field.type, language)}'
            for field in fields
        ]
        return _nested("row", parts, language)
    parts = [
        f"`{field.name.replace('`', '``')}`:{type_text(field.type, language)}" for field in fields
    ]
    return _nested("struct", parts, language)

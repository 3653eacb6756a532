"""Paimon's types, as schemas spell them, and the Arrow types of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import Key, Place

__all__ = ["Field", "parse_fields", "places_of"]

_FLAT: Mapping[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BYTES": pa.binary(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "DATE": pa.date32(),
}
_SPELLING = re.compile(r"([A-Z_ ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?((?: [A-Z]+)*)")
_DECIMAL_DIGITS = (1, 38)
_TIMESTAMP_DIGITS = 6
_LOCAL = " WITH LOCAL TIME ZONE"
_PLAIN_TIME = " WITHOUT TIME ZONE"
_DEPTH = 60


@dataclass(frozen=True)
class Field:
    """A column, or a field of a row in one.

    Attributes:
        id: for life; names and types may change.
        name: as the schema calls it.
        spelling: the type as the schema spells it, without nullability; `ROW` and such for nested.
        type: its Arrow type.
        nullable: whether it may be null.
        children: fields of a row; the element of an array or multiset; key and value of a map. Only
            those of a row have ids and names of their own.
    """

    id: int
    name: str
    spelling: str
    type: pa.DataType
    nullable: bool
    children: Sequence[Field] = ()

    @property
    def keys(self) -> Sequence[Key]:
        """By which schemas know it; see `seamkit.files.columns`."""
        return (self.id,)


def places_of(fields: Sequence[Field]) -> list[Place]:
    """Where files that were written by a schema have its fields."""
    return [Place(own.name, own.keys, places_of(own.children)) for own in fields]


def parse_fields(declared: Any, where: str, depth: int = 0) -> list[Field]:
    """The fields of a schema, or of a row.

    Raises:
        InputError: the declaration is broken, or a name or id is there twice.
        RefusedError: a type that is not supported.
    """
    try:
        fields = [_field(own["id"], own["name"], own["type"], where, depth) for own in declared]
    except (KeyError, TypeError) as error:
        raise InputError(f"{where}: its fields are not readable ({error!r})") from error
    for what, keys in (("name", [f.name for f in fields]), ("id", [str(f.id) for f in fields])):
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{where}: two fields have the {what} {twice!r}")
    return fields


def _field(id_: Any, name: Any, declared: Any, where: str, depth: int) -> Field:
    if not isinstance(id_, int) or not isinstance(name, str):
        raise InputError(f"{where}: a field has the id {id_!r} and the name {name!r}")
    where = f"{where}, field {name!r}"
    if depth > _DEPTH:
        raise RefusedError(f"{where}: types are nested deeper than {_DEPTH}")
    if isinstance(declared, str):
        spelling, nullable = _without_not_null(declared)
        return Field(id_, name, spelling, _flat(spelling, where), nullable)
    word, nullable = _without_not_null(declared["type"])
    if word == "ROW":
        children = parse_fields(declared["fields"], where, depth + 1)
        kind: pa.DataType = pa.struct([pa.field(c.name, c.type) for c in children])
    elif word == "ARRAY":
        children = [_field(-1, "element", declared["element"], where, depth + 1)]
        kind = pa.list_(children[0].type)
    elif word in ("MAP", "MULTISET"):
        key = declared["key" if word == "MAP" else "element"]
        value = declared["value"] if word == "MAP" else "INT"
        children = [
            _field(-1, part, of, where, depth + 1) for part, of in (("key", key), ("value", value))
        ]
        kind = pa.map_(children[0].type, children[1].type)
    else:
        raise RefusedError(f"{where}: the type {word!r} is not supported")
    return Field(id_, name, word, kind, nullable, children)


def _without_not_null(text: Any) -> tuple[str, bool]:
    if not isinstance(text, str):
        raise TypeError(f"a type is {text!r}")
    bare = text.strip().removesuffix("NOT NULL").strip()
    return bare, bare == text.strip()


def _flat(spelling: str, where: str) -> pa.DataType:
    match = _SPELLING.fullmatch(spelling)
    word, first, second, rest = match.groups() if match else ("", None, None, "")
    if word in _FLAT and not rest:
        return _FLAT[word]
    if word in ("DECIMAL", "NUMERIC", "DEC") and not rest:
        digits, scale = int(first or 10), int(second or 0)
        if _DECIMAL_DIGITS[0] <= digits <= _DECIMAL_DIGITS[1] and scale <= digits:
            return pa.decimal128(digits, scale)
    if word.startswith("TIMESTAMP") or word == "TIME":
        whole = word.partition(" ")[2]
        rest = (f" {whole}" if whole else "") + rest
        word = word.partition(" ")[0]
        if word == "TIME" and rest in ("", _PLAIN_TIME):
            return pa.time32("ms")
        digits = 6 if first is None else int(first)
        if word == "TIMESTAMP_LTZ" and not rest:
            rest = _LOCAL
        if word.startswith("TIMESTAMP") and digits <= 9 and rest in ("", _LOCAL, _PLAIN_TIME):
            unit = "ms" if digits <= 3 else "us" if digits <= _TIMESTAMP_DIGITS else "ns"
            return pa.timestamp(unit, "UTC" if rest == _LOCAL else None)
    raise RefusedError(f"{where}: the type {spelling!r} is not supported")

"""Schemas of Iceberg: fields known by their ids, with the Arrow types that hold their values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import VARIANT, Key

__all__ = ["BY_NAME", "Field", "Schema", "field_path", "read_schema", "schema_fields"]

_FLAT: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "uuid": pa.uuid(),
    "binary": pa.binary(),
    "unknown": pa.null(),
}
STATED = "iceberg.type"
"""Under which name a field's metadata have a type that Arrow lacks."""
BY_NAME = -1
"""The id of the parts of a variant, which a file has by their names."""
_GEO = re.compile(r"geo(metry|graphy)(\(.*\))?")
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d{1,9})\s*\]")
_MOST_DIGITS = 38
_MOST_FIELDS = 100_000
_LAST_ID = 2147483446  # those above are columns of Iceberg's own


@dataclass(frozen=True)
class Field:
    """A field of the table, or of a type within it.

    Attributes:
        id: for life.
        name: as the table shows it; `element`, `key` and `value` in lists and maps.
        type: its Arrow type.
        required: whether it has a value in every row.
        default: what rows hold that were written before it was added, in JSON; None for null.
        children: fields of a struct; the element of a list; key and value of a map.
        stated: the type as metadata spell it, where Arrow's does not tell: of shapes on the earth,
            which are well-known binary (WKB), and whose bounds are none of these bytes.
    """

    id: int
    name: str
    type: pa.DataType
    required: bool
    default: Any = None
    children: Sequence[Field] = ()
    stated: str = ""

    @property
    def keys(self) -> Sequence[Key]:
        """By which files know it; see `seamkit.files.columns`."""
        return (self.name,) if self.id == BY_NAME else (self.id,)

    @property
    def is_variant(self) -> bool:
        """Whether it is one, and no struct of the same two fields."""
        return bool(self.children) and self.children[0].id == BY_NAME

    @property
    def arrow(self) -> pa.Field:
        """As Arrow has it; null where a file lacks it."""
        return pa.field(self.name, self.type, metadata={STATED: self.stated} if self.stated else {})


@dataclass(frozen=True)
class Schema:
    """One schema of a table.

    Attributes:
        id: its number.
        fields: the columns in order.
    """

    id: int
    fields: Sequence[Field]

    @property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow has them; all may be null, as files may lack them."""
        return pa.schema([own.arrow for own in self.fields])


def read_schema(declared: Any, where: str) -> Schema:
    """A schema out of the JSON of metadata."""
    try:
        if declared.get("type", "struct") != "struct":
            raise InputError(f"{where}: a schema is no struct")
        number = declared.get("schema-id", 0)
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(f"{where}: a schema has the id {number!r}")
        fields = _fields(declared["fields"], f"{where}, schema {number}")
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: a schema is not readable ({error!r})") from error
    seen: set[int] = set()
    for field in schema_fields(fields):
        if field.id in seen and field.id != BY_NAME:
            raise InputError(f"{where}, schema {number}: the field id {field.id} is there twice")
        seen.add(field.id)
    if len(seen) > _MOST_FIELDS:
        raise InputError(f"{where}, schema {number}: it has more than {_MOST_FIELDS} fields")
    return Schema(number, fields)


def schema_fields(fields: Sequence[Field]) -> Iterator[Field]:
    """Fields and all within them."""
    for field in fields:
        yield field
        yield from schema_fields(field.children)


def field_path(fields: Sequence[Field], id_: int) -> list[Field] | None:
    """The fields that lead to the one of an id through structs alone, itself last; None if none."""
    for field in fields:
        if field.id == id_:
            return [field]
        if pa.types.is_struct(field.type):
            below = field_path(field.children, id_)
            if below is not None:
                return [field, *below]
    return None


def _fields(declared: Any, where: str) -> list[Field]:
    fields = [_field(own, where) for own in declared]
    for name, count in Counter(field.name for field in fields).items():
        if count > 1:
            raise InputError(f"{where}: two fields have the name {name!r}")
    return fields


def _field(declared: Any, where: str) -> Field:
    name, id_ = declared["name"], declared["id"]
    if not isinstance(name, str) or isinstance(id_, bool) or not isinstance(id_, int):
        raise InputError(f"{where}: a field has the name {name!r} and the id {id_!r}")
    made = _of_type(name, id_, declared["type"], f"{where}, field {name!r}")
    return replace(
        made, required=declared["required"] is True, default=declared.get("initial-default")
    )


def _of_type(name: str, id_: Any, declared: Any, where: str) -> Field:
    """A field of a type, neither required nor with a default."""
    if isinstance(id_, bool) or not isinstance(id_, int) or not 0 <= id_ <= _LAST_ID:
        raise InputError(f"{where}: it has the id {id_!r}, which no field can have")
    if declared == "variant":
        parts = tuple(Field(BY_NAME, own.name, own.type, required=False) for own in VARIANT)
        return Field(id_, name, VARIANT, required=False, children=parts)
    if isinstance(declared, str) and _GEO.fullmatch(declared):
        return Field(id_, name, pa.binary(), required=False, stated=declared)
    if isinstance(declared, str):
        return Field(id_, name, _flat(declared, where), required=False)
    kind = declared["type"]
    if kind == "struct":
        inner = _fields(declared["fields"], where)
        struct = pa.struct([own.arrow for own in inner])
        return Field(id_, name, struct, required=False, children=tuple(inner))
    if kind == "list":
        item = _of_type("element", declared["element-id"], declared["element"], where)
        item = replace(item, required=declared.get("element-required") is True)
        return Field(id_, name, pa.list_(item.type), required=False, children=(item,))
    if kind == "map":
        key = _of_type("key", declared["key-id"], declared["key"], where)
        value = _of_type("value", declared["value-id"], declared["value"], where)
        key = replace(key, required=True)
        value = replace(value, required=declared.get("value-required") is True)
        map_ = pa.map_(key.type, value.type)
        return Field(id_, name, map_, required=False, children=(key, value))
    raise RefusedError(f"{where}: the type {kind!r} is not supported")


def _flat(text: str, where: str) -> pa.DataType:
    if text in _FLAT:
        return _FLAT[text]
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        if not 1 <= precision <= _MOST_DIGITS or scale > precision:
            raise InputError(f"{where}: {text!r} is no decimal of Iceberg's")
        return pa.decimal128(precision, scale)
    if (match := _FIXED.fullmatch(text)) and int(match[1]):
        return pa.binary(int(match[1]))
    raise RefusedError(f"{where}: the type {text!r} is not supported")

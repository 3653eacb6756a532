"""Avro schemas: parsed, names resolved, and the Arrow types that hold their values."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError

# Types within types: above any real schema's, below what Python's stack and the core bear.
_MAX_DEPTH = 100
# All types of a schema: far more than the columns of any real table.
_MOST_TYPES = 100_000
_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))


@dataclass
class AvroType:
    """One type of a writer's schema, names resolved.

    A named type that refers to itself is one object that is its own descendant.
    """

    kind: str  # Avro's word for it; "union" for a JSON list
    logical: str = ""  # the logical type, or "" (also for one that its base type cannot carry)
    # fields of a record, branches of a union, the item of an array or map
    children: list[AvroType] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # field names of a record, symbols of an enum
    # by field name, for the fields that have a default
    defaults: dict[str, Any] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)  # fields that have other names, too
    size: int = 0  # bytes of a fixed
    precision: int = 0
    scale: int = 0
    # all that the schema says of a fixed, words of others' among it
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def value_type(self) -> AvroType:
        """The type behind a union of one type and null; the type itself otherwise."""
        if self.kind == "union" and len(self.children) == 2:
            first, second = self.children
            if first.kind == "null":
                return second
            if second.kind == "null":
                return first
        return self

    @property
    def nullable(self) -> bool:
        """Whether a datum may be null."""
        return self.kind == "null" or any(
            branch.kind == "null" for branch in self.children if self.kind == "union"
        )


_LOGICAL_BASES: dict[str, frozenset[str]] = {
    "decimal": frozenset(("bytes", "fixed")),
    "uuid": frozenset(("string", "fixed")),
    "date": frozenset(("int",)),
    "time-millis": frozenset(("int",)),
    "time-micros": frozenset(("long",)),
    "timestamp-millis": frozenset(("long",)),
    "timestamp-micros": frozenset(("long",)),
    "local-timestamp-millis": frozenset(("long",)),
    "local-timestamp-micros": frozenset(("long",)),
}


class _Parser:
    """Turns schema JSON into types, keeping the named ones."""

    def __init__(self) -> None:
        self.named: dict[str, AvroType] = {}
        self._depth = 0
        self._types = 0

    def parse(self, schema: Any, namespace: str, where: str) -> AvroType:
        if self._depth == _MAX_DEPTH:
            raise InputError(f"Avro schema: more than {_MAX_DEPTH} types are nested.")
        self._depth += 1
        self._types += 1
        if self._types > _MOST_TYPES:
            raise InputError(f"Avro schema: it has more than {_MOST_TYPES} types.")
        parsed = self._parse(schema, namespace, where)
        self._depth -= 1
        return parsed

    def _parse(self, schema: Any, namespace: str, where: str) -> AvroType:
        if isinstance(schema, str):
            return self._reference(schema, namespace, where)
        if isinstance(schema, list):
            return AvroType("union", children=[self.parse(s, namespace, where) for s in schema])
        if not isinstance(schema, dict) or "type" not in schema:
            raise InputError(f"Avro schema: {where} has no type: {schema!r}.")
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.parse(kind, namespace, where)
        if kind in ("record", "error", "enum", "fixed"):
            return self._named(schema, kind, namespace, where)
        if kind in ("array", "map"):
            item = schema.get("items" if kind == "array" else "values")
            return AvroType(kind, children=[self.parse(item, namespace, f"{where}.{kind}")])
        return _with_logical(self._reference(kind, namespace, where), schema, where)

    def _reference(self, name: str, namespace: str, where: str) -> AvroType:
        if name in _PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        known = self.named.get(full, self.named.get(name))
        if known is None:
            raise InputError(f"Avro schema: {where} refers to the unknown type {name!r}.")
        return known

    def _named(self, schema: Mapping[str, Any], kind: str, namespace: str, where: str) -> AvroType:
        name = schema.get("name")
        if not isinstance(name, str):
            raise InputError(f"Avro schema: {where} is a {kind} without a name.")
        if "." in name:
            namespace = name.rpartition(".")[0]
        else:
            namespace = schema.get("namespace", namespace) or ""
            name = f"{namespace}.{name}" if namespace else name
        made = AvroType("record" if kind == "error" else kind)
        self.named[name] = made
        if made.kind == "record":
            self._fields(made, schema, namespace, where)
        elif kind == "enum":
            made.names = [str(symbol) for symbol in schema.get("symbols", ())]
        else:
            made.size = _whole(schema, "size", where)
            made.attributes = schema
        return _with_logical(made, schema, where)

    def _fields(
        self, made: AvroType, schema: Mapping[str, Any], namespace: str, where: str
    ) -> None:
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise InputError(f"Avro schema: {where} is a record without fields.")
        known: set[str] = set()
        for entry in fields:
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise InputError(f"Avro schema: {where} has a field without a name: {entry!r}.")
            name = entry["name"]
            inner = f"{where}.{name}" if where != "the schema" else f"field {name!r}"
            if name in known:
                raise InputError(f"Avro schema: {inner} is defined twice.")
            known.add(name)
            made.names.append(name)
            made.children.append(self.parse(entry.get("type"), namespace, inner))
            if "default" in entry:
                made.defaults[name] = entry["default"]
            if entry.get("aliases"):
                made.renamed.add(name)


def _whole(schema: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    value = schema.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 2**31 - 1:
        raise InputError(f"Avro schema: {where} has {key} {value!r}, not a whole number.")
    return value


def _with_logical(made: AvroType, schema: Mapping[str, Any], where: str) -> AvroType:
    """Note the logical type; one that does not fit its base is ignored, as Avro says."""
    logical = schema.get("logicalType", "")
    if made.kind not in _LOGICAL_BASES.get(logical, ()):
        return made
    made.logical = logical
    if logical == "decimal":
        made.precision = _whole(schema, "precision", where)
        made.scale = _whole(schema, "scale", where, 0)
    return made


def parse_schema(schema: str | bytes | Mapping[str, Any] | list[Any]) -> AvroType:
    """Parse an Avro schema (JSON text, or JSON already loaded).

    Slices of a table mostly have the same one, so that the types of a text are kept and shared;
    nobody changes them.
    """
    if isinstance(schema, str | bytes):
        return (_kept if len(schema) <= _LONGEST_KEPT else _parse_text)(schema)
    return _Parser().parse(schema, "", "the schema")


def _parse_text(text: str | bytes) -> AvroType:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Avro schema: not JSON: {error}.") from error
    return _Parser().parse(loaded, "", "the schema")


_LONGEST_KEPT = 1 << 16  # characters
_kept = functools.lru_cache(maxsize=64)(_parse_text)


LOGICAL_TYPES: dict[tuple[str, str], pa.DataType] = {
    ("null", ""): pa.null(),
    ("boolean", ""): pa.bool_(),
    ("int", ""): pa.int32(),
    ("long", ""): pa.int64(),
    ("float", ""): pa.float32(),
    ("double", ""): pa.float64(),
    ("string", ""): pa.string(),
    ("bytes", ""): pa.binary(),
    ("enum", ""): pa.string(),
    ("string", "uuid"): pa.string(),
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}


def arrow_type(avro: AvroType, where: str = "the schema") -> pa.DataType:
    """The Arrow type that holds the values of an Avro type."""
    return _arrow_type(avro, where, ())


def _arrow_type(avro: AvroType, where: str, inside: tuple[int, ...]) -> pa.DataType:
    avro = avro.value_type()
    if id(avro) in inside:
        raise RefusedError(f"{where}: a type that holds itself has no Arrow type.")
    inside = (*inside, id(avro))
    if avro.logical == "decimal":
        if not 1 <= avro.precision <= 38 or avro.scale > avro.precision:
            raise RefusedError(
                f"{where}: decimal({avro.precision},{avro.scale}) is beyond decimal128."
            )
        return pa.decimal128(avro.precision, avro.scale)
    if avro.kind == "fixed":
        return pa.binary(avro.size)
    if avro.kind == "array":
        item = avro.children[0]
        return pa.list_(
            pa.field("element", _arrow_type(item, f"{where}.element", inside), item.nullable)
        )
    if avro.kind == "map":
        value = avro.children[0]
        value_type = _arrow_type(value, f"{where}.value", inside)
        return pa.map_(pa.string(), pa.field("value", value_type, value.nullable))
    if avro.kind == "record":
        return pa.struct(_arrow_fields(avro, f"{where}.", inside))
    if avro.kind == "union":
        names = ", ".join(branch.kind for branch in avro.children)
        raise RefusedError(f"{where}: a union of [{names}] is not supported.")
    return LOGICAL_TYPES[avro.kind, avro.logical]


def _arrow_fields(avro: AvroType, prefix: str, inside: tuple[int, ...]) -> list[pa.Field]:
    return [
        pa.field(name, _arrow_type(child, f"field '{prefix}{name}'", inside), child.nullable)
        for name, child in zip(avro.names, avro.children, strict=True)
    ]


@functools.lru_cache(maxsize=64)
def field_paths(schema: str) -> frozenset[str]:
    """The fields of a record at every depth, dotted, through unions, arrays and maps as well.

    Kept for the newest schemas: files of one writer have the same.
    """
    found: set[str] = set()

    def walk(kind: AvroType, prefix: str, inside: tuple[int, ...]) -> None:
        if id(kind) in inside:  # it refers to itself
            return
        names = kind.names if kind.kind == "record" else [""] * len(kind.children)
        for name, child in zip(names, kind.children, strict=True):
            path = f"{prefix}{name}"
            if name:
                found.add(path)
            walk(child, f"{path}." if name else prefix, (*inside, id(kind)))

    walk(parse_schema(schema), "", ())
    return frozenset(found)


def arrow_schema(schema: str | bytes | Mapping[str, Any] | AvroType) -> pa.Schema:
    """The Arrow schema of a table whose rows are records of an Avro schema.

    Fields are nullable exactly if their union has null. Enums and uuids become strings, fixed
    becomes a fixed-size binary, `timestamp-*` has the zone UTC, `local-timestamp-*` has none.
    """
    avro = schema if isinstance(schema, AvroType) else parse_schema(schema)
    if avro.kind != "record":
        raise InputError(f"Avro schema: a table's schema is a record, not {avro.kind}.")
    return pa.schema(_arrow_fields(avro, "", (id(avro),)))

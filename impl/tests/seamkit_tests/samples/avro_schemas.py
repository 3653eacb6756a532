"""Avro's schemas as JSON, and records without a header."""

import io
from collections.abc import Iterable, Mapping
from typing import Any

import fastavro

from seambench.formats.forms.footer import varint

Schema = dict[str, Any]


def record(_name: str = "r", /, **fields: Any) -> Schema:
    """A record of fields by name."""
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "record", "name": _name, "fields": listed}


def optional(kind: Any) -> list[Any]:
    """A type, or null."""
    return ["null", kind]


def array(items: Any) -> Schema:
    """An array."""
    return {"type": "array", "items": items}


def map_of(values: Any) -> Schema:
    """A map."""
    return {"type": "map", "values": values}


def logical(kind: str, meaning: str, /, **more: Any) -> Schema:
    """A type that means another one."""
    return {"type": kind, "logicalType": meaning, **more}


def datum(schema: Any, value: Any) -> bytes:
    """A value's bytes alone."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def container(schema: Any, records: Iterable[Mapping[str, Any]], **options: Any) -> bytes:
    """A file of records."""
    out = io.BytesIO()
    fastavro.writer(out, schema, records, **options)
    return out.getvalue()


def zigzag(value: int) -> bytes:
    """A whole number, as Avro spells it."""
    return varint((value << 1) ^ (value >> 63))

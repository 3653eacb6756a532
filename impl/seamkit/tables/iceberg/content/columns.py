"""What files say of their columns: places known by field ids, at every depth.

Files without a single id are matched by the table's name mapping; a name never stands in for an id
in files that have some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import Place, field_id, id_and_name, inner_fields, places

__all__ = ["NameMapping", "avro_columns", "file_columns", "name_mapping"]

NameMapping = Sequence[Mapping[str, Any]]
"""`schema.name-mapping.default`, parsed: names of fields by their ids."""


def name_mapping(text: str, where: str) -> NameMapping:
    """Parse a name mapping.

    Raises:
        InputError: it is broken.
    """
    try:
        parsed = json.loads(text)
        _check_mapping(parsed)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{where}: the name mapping is not readable ({error!r})") from error
    found: NameMapping = parsed
    return found


def _check_mapping(parsed: Any) -> None:
    for one in parsed:
        if not all(isinstance(name, str) for name in one["names"]):
            raise TypeError("a name that is no text")
        if one.get("field-id") is not None and not isinstance(one["field-id"], int):
            raise TypeError("an id that is no number")
        _check_mapping(one.get("fields") or ())


def file_columns(schema: pa.Schema, mapping: NameMapping | None, where: str) -> Place:
    """The columns of a file, as children of a place that stands for its rows.

    Args:
        schema: as the file has it.
        mapping: of the table; None if it has none.
        where: the file, for messages.

    Raises:
        RefusedError: the file has no ids, and the table no mapping.
    """
    if not schema.names or _has_ids(list(schema)):
        return Place("", (), places(schema, id_and_name))
    if mapping is None:
        raise RefusedError(
            f"{where}: its columns have no field ids and the table no name mapping, so what "
            "they are is not known"
        )
    known = [_mapped(field, mapping) for field in schema]
    return Place("", (), [one for one in known if len(one.keys) > 1])  # others are not the table's


def avro_columns(schema: bytes, where: str) -> Place | None:
    """The columns of an Avro file, as children of a place that stands for its rows.

    Args:
        schema: the writer's, JSON.
        where: the file, for messages.

    Returns:
        None where no field has an id.

    Raises:
        RefusedError: a map whose keys are no texts, which Iceberg writes as a list.
        InputError: the schema is broken.
    """
    try:
        columns = _of_avro(None, "", json.loads(schema), where)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: its schema is not readable ({error!r})") from error
    return columns if any(len(one.keys) > 1 for one in columns.children) else None


def _of_avro(id_: Any, name: str, kind: Any, where: str) -> Place:
    if isinstance(kind, list):  # of null and another type
        kind = next((one for one in kind if one != "null"), "null")
    children: list[Place] = []
    if isinstance(kind, dict) and isinstance(kind["type"], dict | list):
        return _of_avro(id_, name, kind["type"], where)
    if isinstance(kind, dict) and kind["type"] == "record":
        children = [
            _of_avro(one.get("field-id"), one["name"], one["type"], where) for one in kind["fields"]
        ]
    elif isinstance(kind, dict) and kind["type"] == "array":
        if kind.get("logicalType") == "map":
            raise RefusedError(
                f"{where}: maps whose keys are no texts ({name!r}) are not supported in Avro"
            )
        children = [_of_avro(None, "element", kind["items"], where)]
    elif isinstance(kind, dict) and kind["type"] == "map":
        children = [Place("key"), _of_avro(None, "value", kind["values"], where)]
    return Place(name, (id_, name) if isinstance(id_, int) else (name,), children)


def _has_ids(fields: Sequence[pa.Field]) -> bool:
    return any(field_id(one) is not None or _has_ids(inner_fields(one.type)) for one in fields)


def _mapped(field: pa.Field, mapping: NameMapping, name: str | None = None) -> Place:
    """A field whose id the mapping gives; `name` is what it calls parts of lists and maps."""
    name = field.name if name is None else name
    found = next((one for one in mapping if name in one["names"]), None) or {}
    below: NameMapping = found.get("fields") or ()
    inner = inner_fields(field.type)
    names: Sequence[str | None] = [None] * len(inner)
    if inner and not pa.types.is_struct(field.type):
        names = ["element"] if len(inner) == 1 else ["key", "value"]
    children = [_mapped(one, below, own) for one, own in zip(inner, names, strict=True)]
    id_ = found.get("field-id")
    return Place(field.name, (field.name,) if id_ is None else (id_, field.name), children)

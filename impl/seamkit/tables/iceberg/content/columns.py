"""What the columns of a table are called in a file: found by field ids, at every depth.

Files without a single id are matched by the table's name mapping; a name never stands in for an id
in files that have some.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.renamed import NOWHERE
from seamkit.tables.iceberg.metadata.schema import BY_NAME, Field

__all__ = [
    "FileColumns",
    "NameMapping",
    "avro_columns",
    "file_columns",
    "in_file",
    "name_mapping",
]

_IDS = (b"PARQUET:field_id", b"iceberg.id", b"field-id")


@dataclass(frozen=True)
class FileColumns:
    """A field of a file.

    Attributes:
        id: its field id; None where it has none.
        name: as the file calls it.
        children: fields of a struct; the element of a list; key and value of a map.
        mapped: of all columns of a file: whether their ids are the table's name mapping's.
    """

    id: int | None
    name: str
    children: Sequence[FileColumns] = ()
    mapped: bool = False

    def child(self, own: Field) -> FileColumns | None:
        """What a field of the table is directly within this one: by its id, or its name."""
        if own.id == BY_NAME:
            return next((one for one in self.children if one.name == own.name), None)
        return next((one for one in self.children if one.id == own.id), None)


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


def file_columns(schema: pa.Schema, mapping: NameMapping | None, where: str) -> FileColumns:
    """The columns of a file, as children of a field that stands for its rows.

    Args:
        schema: as the file has it.
        mapping: of the table; None if it has none.
        where: the file, for messages.

    Raises:
        RefusedError: the file has no ids, and the table no mapping.
        InputError: an id is there twice.
    """
    fields = list(schema)
    if fields and not _has_ids(fields):
        if mapping is None:
            raise RefusedError(
                f"{where}: its columns have no field ids and the table no name mapping, so what "
                "they are is not known"
            )
        return FileColumns(None, "", [_mapped(field, mapping) for field in fields], mapped=True)
    columns = FileColumns(None, "", [_with_ids(field) for field in fields])
    _check_ids(columns, where)
    return columns


def avro_columns(schema: bytes, where: str) -> FileColumns | None:
    """The columns of an Avro file, as children of a field that stands for its rows.

    Args:
        schema: the writer's, JSON.
        where: the file, for messages.

    Returns:
        None where no field has an id.

    Raises:
        RefusedError: a map whose keys are no texts, which Iceberg writes as a list.
        InputError: the schema is broken, or an id is there twice.
    """
    try:
        columns = _of_avro(None, "", json.loads(schema), where)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: its schema is not readable ({error!r})") from error
    _check_ids(columns, where)
    return columns if any(one.id is not None for one in columns.children) else None


def _of_avro(id_: Any, name: str, kind: Any, where: str) -> FileColumns:
    if isinstance(kind, list):  # of null and another type
        kind = next((one for one in kind if one != "null"), "null")
    children: list[FileColumns] = []
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
        children = [_of_avro(kind.get("element-id"), "element", kind["items"], where)]
    elif isinstance(kind, dict) and kind["type"] == "map":
        key = FileColumns(kind.get("key-id"), "key")
        children = [key, _of_avro(kind.get("value-id"), "value", kind["values"], where)]
    return FileColumns(id_ if isinstance(id_, int) else None, name, children)


def _check_ids(columns: FileColumns, where: str) -> None:
    ids = [one.id for one in columns.children if one.id is not None]
    if len(set(ids)) < len(ids):
        raise InputError(f"{where}: two fields have the same id")
    for one in columns.children:
        _check_ids(one, where)


def _inner(kind: pa.DataType) -> list[pa.Field]:
    """The fields within a type."""
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return []


def _has_ids(fields: Sequence[pa.Field]) -> bool:
    return any(_id_of(field) is not None or _has_ids(_inner(field.type)) for field in fields)


def _id_of(field: pa.Field) -> int | None:
    metadata = field.metadata or {}
    text = next((metadata[key] for key in _IDS if key in metadata), b"")
    return int(text) if text.isdigit() else None


def _with_ids(field: pa.Field) -> FileColumns:
    return FileColumns(_id_of(field), field.name, [_with_ids(one) for one in _inner(field.type)])


def _mapped(field: pa.Field, mapping: NameMapping, name: str | None = None) -> FileColumns:
    """A field whose id the mapping gives; `name` is what it calls parts of lists and maps."""
    name = field.name if name is None else name
    found = next((one for one in mapping if name in one["names"]), None)
    below: NameMapping = () if found is None else found.get("fields") or ()
    inner = _inner(field.type)
    names: Sequence[str | None] = [None] * len(inner)
    if inner and not pa.types.is_struct(field.type):
        names = ["element"] if len(inner) == 1 else ["key", "value"]
    children = [_mapped(one, below, own) for one, own in zip(inner, names, strict=True)]
    return FileColumns(None if found is None else found.get("field-id"), field.name, children)


def in_file(field: Field, wanted: pa.Field, found: FileColumns | None, where: str) -> pa.Field:
    """A field of the table as a file calls it, and the fields within it.

    Args:
        field: the table's.
        wanted: its Arrow field, whose type may hold fewer fields.
        found: the file's; None where it has none, and then the name is one that no file has.
        where: the file, for messages.

    Raises:
        InputError: the field lacks parts of the type that is wanted.
        RefusedError: a variant in pieces.
    """
    name = NOWHERE + wanted.name if found is None else found.name
    return pa.field(name, _type_in_file(field, wanted.type, found, where))


def _type_in_file(
    field: Field, kind: pa.DataType, found: FileColumns | None, where: str
) -> pa.DataType:
    def part(at: int, inner: pa.DataType) -> pa.DataType:
        if at >= len(field.children):
            raise InputError(f"{where}: the field {field.name!r} of type {kind} lacks part {at}")
        child = None if found is None or at >= len(found.children) else found.children[at]
        return _type_in_file(field.children[at], inner, child, where)

    if pa.types.is_struct(kind):
        known = {one.name: one for one in field.children}
        if missing := [one.name for one in kind if one.name not in known]:
            raise InputError(
                f"{where}: the field {field.name!r} of type {kind} lacks its field {missing[0]!r}"
            )
        _refuse_shredded(field, found, where)
        return pa.struct(
            [
                in_file(
                    known[one.name],
                    one,
                    None if found is None else found.child(known[one.name]),
                    where,
                )
                for one in kind
            ]
        )
    if pa.types.is_list(kind):
        return pa.list_(part(0, kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(part(0, kind.key_type), part(1, kind.item_type))
    return kind


def _refuse_shredded(field: Field, found: FileColumns | None, where: str) -> None:
    """Refuse a variant in pieces, of which the value is but what is left over."""
    parts = () if found is None else found.children
    is_variant = bool(field.children) and field.children[0].id == BY_NAME
    if is_variant and any(one.name == "typed_value" for one in parts):
        raise RefusedError(
            f"{where}: column {field.name!r} holds variants in pieces (shredded), which is not "
            "supported"
        )

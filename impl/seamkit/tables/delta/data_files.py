"""Data files of a Delta table, opened under the table's names and types.

Columns are found by name (the physical one where columns are mapped) or by the field ids that the
Parquet file carries, at every depth; a name never stands in for an id. Elements of arrays, keys and
values of maps are Parquet's own levels and have neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.renamed import NOWHERE, RenamedReader
from seamkit.tables.delta.log.actions import AddFile
from seamkit.tables.delta.log.paths import TableFiles
from seamkit.tables.delta.schema import VARIANT, Field, TableSchema
from seamkit.tables.delta.stats import counted
from seamkit.tables.delta.widening import DeltaTypes

__all__ = ["open_data_file"]

_FIELD_ID = b"PARQUET:field_id"


def open_data_file(
    files: TableFiles,
    add: AddFile,
    schema: TableSchema,
    types: DeltaTypes,
) -> FileReader:
    """Open a data file.

    Args:
        files: of the table.
        add: the file, as the log has it.
        schema: of the version that is read.
        types: which types of a file become the table's.

    Raises:
        InputError: the file is missing, no Parquet file, not the one that the log describes, or
            lacks the field ids by which its columns are found.
        RefusedError: it holds variants in pieces.
    """
    storage, plain = files.locate(add.path)
    reader = ParquetReader(storage, plain, types, int96_unit="us")
    own = reader.schema
    if schema.mode == "id" and own.names and all(_id_of(field) is None for field in own):
        raise InputError(f"{reader.name}: its columns are found by field ids, of which it has none")
    file_schema = partial(_file_schema, schema.fields, own if schema.mode == "id" else None)
    _check(reader, add, schema, file_schema(schema.arrow).names)
    if any(VARIANT in _types_within(kind) for kind in schema.arrow.types):
        _refuse_shredded(reader)
    return reader if schema.mode == "none" else RenamedReader(reader, file_schema)


def _check(reader: ParquetReader, add: AddFile, schema: TableSchema, names: Sequence[str]) -> None:
    """Hold a file to what the log says of it: its size, its rows, and columns that hold values.

    Args:
        reader: the file.
        add: what the log says.
        schema: the table's.
        names: the columns of the table as the file calls them.
    """
    if reader.size_bytes != add.size_bytes:
        raise InputError(f"{reader.name}: {reader.size_bytes} bytes, the log says {add.size_bytes}")
    rows, valued = counted(add)
    if rows is not None and rows != reader.num_rows:
        raise InputError(f"{reader.name}: {reader.num_rows} rows, the log says {rows}")
    present = set(reader.schema.names)
    for field, name in zip(schema.fields, names, strict=True):
        if field.physical in valued and name not in present:
            raise InputError(
                f"{reader.name}: it lacks the column {field.physical!r}, of which the log says "
                "that it has values"
            )


def _refuse_shredded(reader: ParquetReader) -> None:
    """Refuse a file that holds variants in pieces, of which the value is but what is left over."""
    for column in reader.schema:
        for kind in _types_within(column.type):
            names = {own.name for own in _struct_fields(kind)}
            if names >= {"metadata", "typed_value"}:
                raise RefusedError(
                    f"{reader.name}: column {column.name!r} holds variants in pieces (shredded), "
                    "which is not supported"
                )


def _types_within(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type, and those of all that lies in it."""
    yield kind
    for index in range(kind.num_fields):
        yield from _types_within(kind.field(index).type)


def _file_schema(fields: Sequence[Field], own: pa.Schema | None, wanted: pa.Schema) -> pa.Schema:
    """Columns of the table as a file calls them.

    Args:
        fields: the table's.
        own: the file's columns where they are found by id; None where by physical name.
        wanted: columns of the table.
    """
    return pa.schema([_in_file(field, fields, own) for field in wanted])


def _in_file(wanted: pa.Field, fields: Sequence[Field], own: Sequence[pa.Field] | None) -> pa.Field:
    """One field as the file calls it, and the fields within it."""
    field = next((known for known in fields if known.name == wanted.name), None)
    if field is None:
        raise InputError(f"the table's schema has no field {wanted.name!r}")
    name, found = field.physical, None
    if own is not None:
        # Columns that a writer adds beside the table's have no id.
        found = next((o for o in own if _is_same(o, field)), None)
        name = NOWHERE + wanted.name if found is None else found.name
    inner = None if own is None else pa.null() if found is None else found.type
    return pa.field(name, _type_in_file(wanted.type, field, inner))


def _type_in_file(kind: pa.DataType, field: Field, own: pa.DataType | None) -> pa.DataType:
    """A type with the names of a file; `own` is the file's type, None where names decide."""
    if pa.types.is_struct(kind):
        children = None if own is None else _struct_fields(own)
        return pa.struct([_in_file(child, field.children, children) for child in kind])
    if pa.types.is_list(kind):
        item = own.value_type if own is not None and pa.types.is_list(own) else own
        return pa.list_(_type_in_file(kind.value_type, field.children[0], item))
    if pa.types.is_map(kind):
        inner = (own, own)
        if own is not None and pa.types.is_map(own):
            inner = own.key_type, own.item_type
        key, value = field.children
        return pa.map_(
            _type_in_file(kind.key_type, key, inner[0]),
            _type_in_file(kind.item_type, value, inner[1]),
        )
    return kind


def _struct_fields(kind: pa.DataType) -> Sequence[pa.Field]:
    return list(kind) if pa.types.is_struct(kind) else []


def _is_same(own: pa.Field, field: Field) -> bool:
    return own.name == field.physical if field.id is None else _id_of(own) == field.id


def _id_of(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(_FIELD_ID)
    return None if text is None else int(text)

"""Data files of a Delta table, opened under the table's names and types.

Columns are found by name (the physical one where columns are mapped) or by the field ids that the
Parquet file carries, at every depth; a name never stands in for an id. Elements of arrays, keys and
values of maps are Parquet's own levels and have neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seambase.errors import InputError
from seamkit.files.columns import Finder, FoundReader, Place, field_id, id_and_name, places
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.variants.reader import with_whole_variants
from seamkit.tables.agreement import check_stated
from seamkit.tables.delta.log.actions import AddFile, TableFiles
from seamkit.tables.delta.row_ids import RowTracking, find_with_row_ids
from seamkit.tables.delta.schema import DeltaTypes, Field, TableSchema
from seamkit.tables.delta.stats import counted, file_statistics


def open_data_file(
    files: TableFiles,
    add: AddFile,
    schema: TableSchema,
    types: DeltaTypes,
    tracking: RowTracking | None,
) -> FileReader:
    """Open a data file; `tracking` tells how ids of rows are found, if they may be asked for."""
    storage, plain = files.locate(add.path)
    reader = ParquetReader(storage, plain, types, int96_unit="us")
    own = reader.schema
    if schema.mode == "id" and own.names and all(field_id(field) is None for field in own):
        raise InputError(f"{reader.name}: its columns are found by field ids, of which it has none")
    finder = Finder(schema.by_name, Place("", (), places(own, id_and_name)), reader.name)
    _check(reader, add, schema, finder.file)
    whole = with_whole_variants(reader, schema.fields, finder.file)
    found = whole if schema.mode == "none" else FoundReader(whole, finder)
    of_all = add.vector is None

    def check() -> None:
        stated = file_statistics(add, schema.plain, schema.by_name)
        check_stated(found, stated, "the log", of_all=of_all)

    reader.once(("as stated", add.stats, of_all), check)
    if tracking is None:
        return found
    return FoundReader(whole, find_with_row_ids(finder, add, tracking))


def _check(reader: ParquetReader, add: AddFile, schema: TableSchema, own: Place) -> None:
    """Hold a file to what the log says of it: its size, its rows, and columns that hold values."""
    if reader.size_bytes != add.size_bytes:
        raise InputError(f"{reader.name}: {reader.size_bytes} bytes, the log says {add.size_bytes}")
    rows, nulls = counted(add)
    if rows is None:
        return
    if rows != reader.num_rows:
        raise InputError(f"{reader.name}: {reader.num_rows} rows, the log says {rows}")
    _check_columns(schema.fields, nulls, own, reader)


def _check_columns(
    fields: Sequence[Field], nulls: Mapping[str, Any], own: Place, reader: FileReader
) -> None:
    """Make sure that a file has the columns, and fields of structs, that have values."""
    for field in fields:
        count, found = nulls.get(field.physical), own.child(field, reader.name)
        if found is not None and isinstance(count, dict):
            _check_columns(field.children, count, found, reader)
        elif found is None and _has_values(count, reader.num_rows):
            raise InputError(
                f"{reader.name}: it lacks the column {field.physical!r}, of which the log says "
                "that it has values"
            )


def _has_values(nulls: Any, rows: int) -> bool:
    """Whether a column, or a field within, has fewer nulls than rows."""
    if isinstance(nulls, dict):
        return any(_has_values(inner, rows) for inner in nulls.values())
    return isinstance(nulls, int) and nulls < rows

"""Parquet, ORC and Avro files of a Hive table, under the table's names and types.

Columns are found by name, in any case of letters, at every depth: Hive's names are in lower case.
They are found by position where the table's properties say so, or where an ORC file has names of
positions alone (`_col0`, `_col1`, ...), as Hive's first versions wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.avro.data_file import AvroReader
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import LosslessTypes
from seamkit.files.reader import FileReader
from seamkit.files.renamed import NOWHERE, RenamedReader
from seamkit.files.storage import Storage
from seamkit.tables.hive.descriptor import Description

__all__ = ["open_column_file"]

_PLACES = re.compile(r"_col\d+")
_BY_POSITION = ("parquet.column.index.access", "orc.force.positional.evolution")


class HiveTypes(LosslessTypes):
    """Type rules: a file's types widen to the table's.

    An instant becomes what a clock in UTC shows; the smaller integers of Hive are ints in Avro, and
    must fit.
    """

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        kinds = pa.types
        if kinds.is_timestamp(have) and kinds.is_timestamp(want):
            return True
        if kinds.is_int32(have) and kinds.is_integer(want):
            return True
        return super().promotes(have, want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the table's type; digits below its unit are cut off."""
        have = column.type
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            utc = pc.cast(column, pa.timestamp(have.unit, None))
            return pc.cast(utc, want, safe=False)
        return super().promote(column, want)


_TYPES = HiveTypes()


def open_column_file(storage: Storage, path: str, description: Description) -> FileReader:
    """Open a data file of a table whose format is `parquet`, `orc` or `avro`.

    Args:
        storage: the table's folder.
        path: the file below it.
        description: the table.

    Raises:
        InputError: the file is missing or broken, or two of its columns have one name.
        RefusedError: it holds what is not supported.
    """
    reader = _reader(storage, path, description.format)
    own = list(reader.schema)
    if any(description.properties.get(name, "").lower() == "true" for name in _BY_POSITION) or (
        description.format == "orc" and own and all(_PLACES.fullmatch(f.name) for f in own)
    ):
        places = {name: own[i] for i, name in enumerate(description.columns) if i < len(own)}
    else:
        places = _by_name(own, reader.name)
    return RenamedReader(reader, partial(_file_schema, places, reader.name))


def _reader(storage: Storage, path: str, kind: str) -> FileReader:
    if kind == "parquet":
        return ParquetReader(storage, path, _TYPES, int96_unit="us")
    if kind == "orc":
        return OrcReader(storage, path, _TYPES)
    return AvroReader(storage, path, _TYPES)


def _by_name(fields: Sequence[pa.Field], where: str) -> dict[str, pa.Field]:
    """Fields by their names in lower case."""
    found: dict[str, pa.Field] = {}
    for field in fields:
        if field.name.lower() in found:
            raise InputError(f"{where}: two columns are called {field.name.lower()!r}")
        found[field.name.lower()] = field
    return found


def _file_schema(places: dict[str, pa.Field], where: str, wanted: pa.Schema) -> pa.Schema:
    """Columns of the table as the file calls them."""
    return pa.schema([_in_file(field, places.get(field.name), where) for field in wanted])


def _in_file(wanted: pa.Field, own: pa.Field | None, where: str) -> pa.Field:
    if own is None:
        return wanted.with_name(NOWHERE + wanted.name)
    return pa.field(own.name, _type_in_file(wanted.type, own.type, where))


def _type_in_file(wanted: pa.DataType, own: pa.DataType, where: str) -> pa.DataType:
    """The table's type with the names that the file has in it."""
    kinds = pa.types
    if kinds.is_struct(wanted) and kinds.is_struct(own):
        places = _by_name(list(own), where)
        return pa.struct([_in_file(field, places.get(field.name), where) for field in wanted])
    if kinds.is_list(wanted) and kinds.is_list(own):
        return pa.list_(_type_in_file(wanted.value_type, own.value_type, where))
    if kinds.is_map(wanted) and kinds.is_map(own):
        return pa.map_(wanted.key_type, _type_in_file(wanted.item_type, own.item_type, where))
    return wanted

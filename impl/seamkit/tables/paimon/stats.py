"""Statistics of data files in manifests: what holds for all rows of a file.

They are binary rows of smallest and largest values, in the order of the columns of the file's own
schema, or of those that the manifest names. They serve to leave files out, and for nothing else.
Texts may be cut, where the largest one is rounded up or left out; floating-point numbers are passed
over: writers differ in what NaN does to them.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from seambase.errors import InputError
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.tables.paimon.metadata.binary_row import row_values
from seamkit.tables.paimon.metadata.manifests import FileEntry
from seamkit.tables.paimon.metadata.schemas import Schemas, TableSchema

__all__ = ["file_statistics"]


def file_statistics(
    file: FileEntry, schema: TableSchema, schemas: Schemas, among: Collection[str]
) -> FileStatistics:
    """What the manifest says of a file and of its columns among some.

    Statistics that are broken say nothing: they are optional.
    """
    written = schema if file.schema_id == schema.id else schemas.load(file.schema_id)
    names = file.value_stats_columns
    if names is None:
        names = [own.name for own in written.fields]
    low_bytes, high_bytes, nulls = file.value_stats
    if nulls is None or len(nulls) != len(names):
        return FileStatistics(file.rows)
    try:
        fields = [written.field(name) for name in names]
        types = [pa.null() if own.children else own.type for own in fields]
        lows = row_values(low_bytes, types, file.where)
        highs = row_values(high_bytes, types, file.where)
    except (InputError, StopIteration):
        return FileStatistics(file.rows)
    by_id = {own.id: own for own in schema.fields}
    found = {}
    for own, low, high, count in zip(fields, lows, highs, nulls, strict=True):
        now = by_id.get(own.id)
        if now is None or now.name not in among or now.type != own.type or own.children:
            continue
        if not pa.types.is_floating(own.type):
            found[now.name] = _of_column(low, high, count)
    return FileStatistics(file.rows, found)


def _of_column(low: pa.Scalar, high: pa.Scalar, nulls: int | None) -> ColumnRange:
    exact = not (pa.types.is_string(low.type) or pa.types.is_binary(low.type))
    least, greatest = (end if end.is_valid else None for end in (low, high))
    return ColumnRange(nulls, least, greatest, (exact, exact))

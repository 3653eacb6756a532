"""Statistics of data files in manifests: what holds for all rows of a file.

They are binary rows of smallest and largest values, in the order of the columns of the file's own
schema, or of those that the manifest names. They serve to leave files out, and for nothing else.
Texts may be cut, where the largest one is rounded up or left out; floating-point numbers are passed
over: writers differ in what NaN does to them.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.statistics import bounds
from seamkit.tables.paimon.metadata.binary_row import row_values
from seamkit.tables.paimon.metadata.manifests import FileEntry
from seamkit.tables.paimon.metadata.schemas import Schemas, TableSchema

__all__ = ["file_guarantee"]


def file_guarantee(
    file: FileEntry, schema: TableSchema, schemas: Schemas, among: Collection[str]
) -> pc.Expression | None:
    """What a file's statistics say of the columns among some; None if nothing.

    Statistics that are broken say nothing: they are optional.
    """
    written = schema if file.schema_id == schema.id else schemas.load(file.schema_id)
    names = file.value_stats_columns
    if names is None:
        names = [own.name for own in written.fields]
    low_bytes, high_bytes, nulls = file.value_stats
    if nulls is None or len(nulls) != len(names):
        return None
    try:
        fields = [written.field(name) for name in names]
        types = [pa.null() if own.children else own.type for own in fields]
        lows = row_values(low_bytes, types, file.where)
        highs = row_values(high_bytes, types, file.where)
    except (InputError, StopIteration):
        return None
    parts: list[pc.Expression] = []
    by_id = {own.id: own for own in schema.fields}
    for own, low, high, count in zip(fields, lows, highs, nulls, strict=True):
        now = by_id.get(own.id)
        if now is not None and now.name in among and now.type == own.type and not own.children:
            parts += _of_column(now.name, low, high, count, file.rows)
    return functools.reduce(operator.and_, parts) if parts else None


def _of_column(
    name: str, low: pa.Scalar, high: pa.Scalar, nulls: int | None, rows: int
) -> Iterator[pc.Expression]:
    if nulls is None or pa.types.is_floating(low.type):
        return
    if nulls == rows:
        yield pc.field(name).is_null()
    yield from bounds(name, low, high, nullable=nulls > 0)

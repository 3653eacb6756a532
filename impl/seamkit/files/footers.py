"""What the footer of a Parquet file tells of all its rows.

Writers may cut long values of a chunk's statistics (`Statistics` in parquet.thrift), and pyarrow
does not show whether they did: texts and binaries are bounded, all other values are the file's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seamkit.files.statistics import ColumnRange, FileStatistics

__all__ = ["footer_statistics"]


def footer_statistics(file: pq.ParquetFile, schema: pa.Schema) -> FileStatistics:
    """What is known of some columns.

    Args:
        file: the open file.
        schema: columns as the file calls them; those that it lacks are null in all rows.

    Raises:
        ValueError: a value is none of its column's type.
    """
    footer, own = file.metadata, file.schema_arrow
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    found = {}
    for wanted in schema:
        name, kind = wanted.name, wanted.type
        if name not in own.names:
            found[name] = ColumnRange(footer.num_rows)
        elif not _is_ordered(kind) or own.field(name).type != kind or paths.count(name) != 1:
            continue
        else:
            chunks = [group.column(paths.index(name)).statistics for group in groups]
            rows = [group.num_rows for group in groups]
            found[name] = _of_column(chunks, rows, kind)
    return FileStatistics(footer.num_rows, found)


def _is_ordered(kind: pa.DataType) -> bool:
    kinds = pa.types
    return not (kinds.is_nested(kind) or kinds.is_floating(kind) or kinds.is_null(kind))


def _of_column(chunks: Sequence[Any], rows: Sequence[int], kind: pa.DataType) -> ColumnRange:
    """What the statistics of all chunks of a column say together.

    Args:
        chunks: `pyarrow.parquet.Statistics`, or None; one for each row group.
        rows: of the row groups.
        kind: the column's type.
    """
    is_counted = all(one is not None and one.has_null_count for one in chunks)
    nulls = sum(one.null_count for one in chunks) if is_counted else None
    valued = [
        one
        for one, n in zip(chunks, rows, strict=True)
        if n and not (is_counted and one.null_count == n)
    ]
    if not valued or any(one is None or not one.has_min_max for one in valued):
        return ColumnRange(nulls)
    ends = [[_value(one, end, kind) for one in valued] for end in ("min", "max")]
    least, greatest = pc.min(pa.array(ends[0], kind)), pc.max(pa.array(ends[1], kind))
    is_cut = pa.types.is_binary(kind) or pa.types.is_string(kind)
    return ColumnRange(nulls, least, greatest, (not is_cut, not is_cut))


def _value(known: Any, end: str, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # What pyarrow makes of it may lack the last digits.
        return pa.scalar(getattr(known, f"{end}_raw"), pa.int64()).cast(kind)
    return pa.scalar(getattr(known, end), kind)

"""What is known of values before they are read, and what it rules out."""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from seamkit.files.footers.chunks import orders_bytes


@dataclass(frozen=True)
class ColumnRange:
    """What is known of a column's values in a file.

    Attributes:
        nulls: how many are null; None where nobody knows.
        least: no value is less than it; None where there is none, or nobody knows.
        greatest: likewise, no value is greater.
        exact: which of both, `least` and `greatest`, are values of the column.
    """

    nulls: int | None = None
    least: pa.Scalar | None = None
    greatest: pa.Scalar | None = None
    exact: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class FileStatistics:
    """What is known of a file without reading its rows.

    Attributes:
        rows: in it; None where nobody knows.
        columns: by name; never of nested types or of floating-point numbers, as writers differ in
            what NaN does to them.
    """

    rows: int | None = None
    columns: Mapping[str, ColumnRange] = field(default_factory=dict)


def guarantee_of(known: FileStatistics) -> pc.Expression | None:
    """What statistics say of all rows, as a condition that these meet; None if nothing."""
    parts: list[pc.Expression] = []
    for name, one in known.columns.items():
        if one.nulls and one.nulls == known.rows:
            parts.append(pc.field(name).is_null())
        parts += bounds(name, one.least, one.greatest, nullable=one.nulls != 0)
    return functools.reduce(operator.and_, parts) if parts else None


def bounds(
    name: str, least: pa.Scalar | None, most: pa.Scalar | None, *, nullable: bool
) -> Iterator[pc.Expression]:
    """What bounds say of a column, as expressions that all hold.

    Args:
        name: the column.
        least: no value is less; None or NULL where that is not known.
        most: no value is greater; likewise.
        nullable: whether there may be rows without a value.
    """
    column = pc.field(name)
    if least is not None and least.is_valid:
        yield or_null(column >= least, column, nullable=nullable)
    if most is not None and most.is_valid:
        yield or_null(column <= most, column, nullable=nullable)


def or_null(comparison: pc.Expression, column: pc.Expression, *, nullable: bool) -> pc.Expression:
    """A comparison that holds for all values of a column, of which some may be NULL.

    pyarrow reasons about a column with NULLs only where each comparison stands with `is_null` by
    itself.
    """
    return comparison | column.is_null() if nullable else comparison


def that_may_match(
    guarantees: Sequence[pc.Expression | None], condition: pc.Expression, schema: pa.Schema
) -> list[int]:
    """Numbers of those whose guarantee leaves room for rows that meet a condition.

    pyarrow's datasets do the reasoning: a guarantee is to them what all rows of a file have in
    common. No file is opened.

    Args:
        guarantees: what holds for all rows of each, or None where nothing is known.
        condition: a filter.
        schema: the columns that guarantees and condition name.
    """
    import pyarrow.dataset as ds

    format_, nowhere = ds.ParquetFileFormat(), pafs.LocalFileSystem()
    known = {number: one for number, one in enumerate(guarantees) if one is not None}
    fragments = [format_.make_fragment(str(n), nowhere, one) for n, one in known.items()]
    planned = ds.FileSystemDataset(fragments, schema, format_, nowhere)
    try:
        left = {int(fragment.path) for fragment in planned.get_fragments(filter=condition)}
    except pa.ArrowInvalid:
        # A bound that the condition's type does not hold: 2**53 + 1 compared with a fraction.
        return list(range(len(guarantees)))
    return [number for number in range(len(guarantees)) if number in left or number not in known]


def footer_statistics(
    file: pq.ParquetFile, schema: pa.Schema, row_groups: Sequence[int] | None = None
) -> FileStatistics:
    """What the footer of a Parquet file tells of all its rows, or of those of some row groups.

    Writers may cut long values of a chunk's statistics (`Statistics` in parquet.thrift), and
    pyarrow does not show whether they did: texts and binaries are bounded, all others are values.

    Args:
        file: the open file.
        schema: columns as the file calls them; those that it lacks are null in all rows.
        row_groups: numbers of those meant; None for all.
    """
    footer, own = file.metadata, file.schema_arrow
    paths = [footer.schema.column(i).path for i in range(footer.num_columns)]
    numbers = range(footer.num_row_groups) if row_groups is None else row_groups
    groups = [footer.row_group(i) for i in numbers]
    rows = [group.num_rows for group in groups]
    ordered, found = orders_bytes(footer), {}
    for wanted in schema:
        name, kind = wanted.name, wanted.type
        if name not in own.names:
            found[name] = ColumnRange(sum(rows))
        elif not _is_ordered(kind) or own.field(name).type != kind or paths.count(name) != 1:
            continue
        else:
            chunks = [group.column(paths.index(name)).statistics for group in groups]
            known = _of_chunks(chunks, rows, kind)
            is_bytes = footer.schema.column(paths.index(name)).physical_type.endswith("ARRAY")
            found[name] = known if ordered or not is_bytes else ColumnRange(known.nulls)
    return FileStatistics(sum(rows), found)


def _is_ordered(kind: pa.DataType) -> bool:
    kinds = pa.types
    return not (kinds.is_nested(kind) or kinds.is_floating(kind) or kinds.is_null(kind))


def _of_chunks(chunks: Sequence[Any], rows: Sequence[int], kind: pa.DataType) -> ColumnRange:
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
    try:
        ends = [[_value(one, end, kind) for one in valued] for end in ("min", "max")]
    except pa.ArrowNotImplementedError:  # decimals, to releases of early 2025
        return ColumnRange(nulls)
    if len(valued) == 1:
        ((least,), (greatest,)) = ends
    else:
        least, greatest = pc.min(pa.array(ends[0], kind)), pc.max(pa.array(ends[1], kind))
    is_cut = pa.types.is_binary(kind) or pa.types.is_string(kind)
    return ColumnRange(nulls, least, greatest, (not is_cut, not is_cut))


def _value(known: Any, end: str, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        # What pyarrow makes of it may lack the last digits.
        return pa.scalar(getattr(known, f"{end}_raw"), pa.int64()).cast(kind)
    value = getattr(known, end)
    if pa.types.is_string(kind):
        # Whatever makes a value of Python's imports pandas first, where that is installed.
        text = value.encode()
        offsets = pa.py_buffer(struct.pack("=ii", 0, len(text)))
        return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(text))[0]
    return pa.scalar(value, kind)

"""What a manifest says of the values of a data file."""

from __future__ import annotations

from collections.abc import Sequence

from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.tables.iceberg.metadata.manifests import Entry
from seamkit.tables.iceberg.metadata.schema import Field, bound_value, in_order


def file_statistics(entry: Entry, fields: Sequence[Field]) -> FileStatistics:
    """What the manifest says of a file and of some columns that are not nested."""
    return FileStatistics(entry.records, {field.name: _of_column(entry, field) for field in fields})


def _of_column(entry: Entry, field: Field) -> ColumnRange:
    """Bounds are never said to be values: the format does not promise that they are."""
    nulls = entry.null_counts.get(field.id)
    if entry.value_counts.get(field.id) != entry.records:
        nulls = None
    lower, upper = entry.lower.get(field.id), entry.upper.get(field.id)
    if field.stated:
        return ColumnRange(nulls, None, None)
    first = None if lower is None else bound_value(lower, field.type)
    last = None if upper is None else bound_value(upper, field.type)
    if first is not None and last is not None and not in_order(first, last):
        return ColumnRange(nulls, None, None)  # bounds that contradict each other say nothing
    return ColumnRange(nulls, first, last)

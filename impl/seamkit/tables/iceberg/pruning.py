"""What metadata says of all rows of a data file or a manifest, by which a filter leaves them out.

Bounds need not be values themselves: texts are cut, the upper one rounded up. So they serve to
leave files out, and for nothing else. Those of numbers with a floating point are passed over: they
say nothing of what is not a number. By bucket transforms a filter that names values of a column
leaves files of their buckets alone.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.core.bucket_hash import iceberg_buckets
from seamkit.files.equalities import named_values
from seamkit.files.statistics import bounds, or_null, that_may_match
from seamkit.tables.iceberg.data_files import LINEAGE
from seamkit.tables.iceberg.metadata.document import PartitionField, PartitionSpec, TableMetadata
from seamkit.tables.iceberg.metadata.manifests import Entry, Manifest, PartitionSummary
from seamkit.tables.iceberg.metadata.schema import Field, Schema, bound_value, in_order
from seamkit.tables.iceberg.transforms import BUCKET, STARTS, is_spelled_once, values_of


def guarantee(
    entry: Entry, spec: PartitionSpec, fields: Sequence[Field], names: Collection[str]
) -> pc.Expression | None:
    """What a file's partition says of all its rows; None where it says nothing.

    None of the fields is nested or has one value in the file; only `names` are of interest.
    """
    by_id = {field.id: field for field in fields if field.name in names}
    parts: list[pc.Expression] = []
    for one in spec.fields:
        source = by_id.get(-1 if one.source_id is None else one.source_id)
        if source is not None:
            value = entry.partition.values[one.id]
            parts += _of_partition(one, (value, value), source)
    return _all(parts)


def manifest_guarantee(
    summaries: Sequence[PartitionSummary], spec: PartitionSpec, fields: Sequence[Field]
) -> pc.Expression | None:
    """What holds for all rows of all files of a manifest; None where nothing is known.

    There is no summary, or one for each field of the spec.
    """
    by_id = {field.id: field for field in fields}
    parts: list[pc.Expression] = []
    for one, summary in zip(spec.fields, summaries, strict=True) if summaries else ():
        source = by_id.get(-1 if one.source_id is None else one.source_id)
        if source is not None and not source.children and not source.stated:
            parts += _of_summary(one, summary, source)
    return _all(parts)


def _of_summary(
    one: PartitionField, summary: PartitionSummary, source: Field
) -> Sequence[pc.Expression]:
    if pa.types.is_floating(source.type):
        return []  # what is not a number is neither null nor within bounds
    if summary.lower is None or summary.upper is None:
        return _of_partition(one, (None, None), source) if summary.has_null else []
    kind = pa.int32() if one.transform in STARTS else source.type
    lower, upper = (bound_value(end, kind) for end in (summary.lower, summary.upper))
    if lower is None or upper is None or not in_order(lower, upper):
        return []
    if one.transform == "identity":
        return list(bounds(source.name, lower, upper, nullable=summary.has_null))
    ends = lower.as_py(), upper.as_py()
    column, found = pc.field(source.name), _of_partition(one, ends, source)
    return [or_null(each, column, nullable=summary.has_null) for each in found]


def _all(parts: Sequence[pc.Expression]) -> pc.Expression | None:
    return functools.reduce(operator.and_, parts) if parts else None


def _of_partition(
    one: PartitionField, ends: tuple[Any, Any], source: Field
) -> Sequence[pc.Expression]:
    """What the least and the greatest transformed value say of the column they are made of."""
    column = pc.field(source.name)
    if one.transform == "void":
        return []
    least, most = ends
    if least is None:
        return [column.is_null()]
    try:
        first, last = (values_of(one.transform, end, source.type) for end in (least, most))
    except (ValueError, OverflowError, TypeError, pa.ArrowException):
        return []
    if first is None or last is None:
        return []
    found = [column >= first[0]]
    return found if last[1] is None else [*found, column < last[1]]


_MOST_VALUES = 1000


@dataclass(frozen=True)
class ColumnBuckets:
    """How rows are spread by one column; see `seamkit.scan.units.Buckets`."""

    column: str
    type: pa.DataType
    count: int

    def numbers(self, condition: pc.Expression) -> Collection[int] | None:
        """Of the values that a condition names; None for all where it names none, or is in doubt.

        Nulls are in no bucket: files of theirs have no number.
        """
        named = named_values(condition, self.column)
        if named is None or len(named) > _MOST_VALUES:
            return None
        try:
            values = pa.array([value for value in named if value is not None], self.type)
            return frozenset(iceberg_buckets(values, self.count).to_pylist())
        except (pa.ArrowException, TypeError, ValueError, OverflowError, RefusedError):
            return None  # a value that the column cannot have, or that has several spellings


def bucket_fields(
    spec: PartitionSpec, fields: Sequence[Field]
) -> Sequence[tuple[int, ColumnBuckets]]:
    """The ids of a spec's fields by which files of other buckets can be left out, and how."""
    by_id = {field.id: field for field in fields}
    found = []
    for one in spec.fields:
        source = by_id.get(-1 if one.source_id is None else one.source_id)
        match = BUCKET.fullmatch(one.transform)
        if source is not None and match and is_spelled_once(source.type):
            found.append((one.id, ColumnBuckets(source.name, source.type, int(match[1]))))
    return found


def manifests_that_may_match(
    listed: Sequence[Manifest],
    metadata: TableMetadata,
    schema: Schema,
    counted: Sequence[Field],
    condition: pc.Expression | None,
) -> Sequence[Manifest]:
    """The manifests that may have files with rows that meet a condition.

    A delete applies to data files of its own partition under the same spec, or its spec has no
    fields and its manifest no summaries: what is left out takes no row out of what is kept.
    `schema` has the columns that the condition names, those of row lineage besides; `counted` are
    those of which manifests say what files hold.
    """
    if condition is None:
        return listed
    arrow = schema.arrow
    for own in LINEAGE:
        arrow = arrow if own.name in arrow.names else arrow.append(pa.field(own.name, own.type))
    guarantees = [
        manifest_guarantee(one.summaries, metadata.specs[one.spec_id], counted) for one in listed
    ]
    left = set(that_may_match(guarantees, condition, arrow))
    return [
        one
        for number, one in enumerate(listed)
        if number in left and _has_buckets(one, metadata, schema, condition)
    ]


def _has_buckets(
    manifest: Manifest, metadata: TableMetadata, schema: Schema, condition: pc.Expression
) -> bool:
    """Whether a manifest may have files of buckets in which rows may meet a condition."""
    spec = metadata.specs[manifest.spec_id]
    if not manifest.summaries:
        return True
    summaries = dict(zip((one.id for one in spec.fields), manifest.summaries, strict=True))
    for id_, buckets in bucket_fields(spec, schema.fields):
        own = summaries[id_]
        if own.has_null or own.lower is None or own.upper is None:
            continue
        if len(own.lower) != 4 or len(own.upper) != 4:
            continue
        [least, most] = struct.unpack("<ii", own.lower + own.upper)
        numbers = buckets.numbers(condition)
        if numbers is not None and not any(least <= number <= most for number in numbers):
            return False
    return True

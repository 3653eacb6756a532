"""Bucket transforms: a filter that names values of a column leaves files of their buckets alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.files.equalities import named_values
from seamkit.tables.iceberg.metadata.document import PartitionSpec
from seamkit.tables.iceberg.metadata.schema import Field

__all__ = ["ColumnBuckets", "bucket_fields"]

_BUCKET = re.compile(r"bucket\[([1-9]\d{0,8})\]")
_MOST_VALUES = 1000


@dataclass(frozen=True)
class ColumnBuckets:
    """How rows are spread by one column; see `seamkit.scan.units.Buckets`.

    Attributes:
        column: its name.
        type: its type.
        count: of the buckets.
    """

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
        from seamkit.exchange.partition import iceberg_buckets

        try:
            values = pa.array([value for value in named if value is not None], self.type)
            return frozenset(iceberg_buckets(values, self.count).to_pylist())
        except (pa.ArrowException, TypeError, ValueError, OverflowError, RefusedError):
            return None  # a value that the column cannot have, or that has several spellings


def bucket_fields(
    spec: PartitionSpec, fields: Sequence[Field]
) -> Sequence[tuple[int, ColumnBuckets]]:
    """The ids of a spec's fields by which files of other buckets can be left out, and how.

    Args:
        spec: how files are partitioned.
        fields: the table's columns.
    """
    by_id = {field.id: field for field in fields}
    found = []
    for one in spec.fields:
        source = by_id.get(-1 if one.source_id is None else one.source_id)
        match = _BUCKET.fullmatch(one.transform)
        if source is not None and match and _is_spelled_once(source.type):
            found.append((one.id, ColumnBuckets(source.name, source.type, int(match[1]))))
    return found


def _is_spelled_once(kind: pa.DataType) -> bool:
    """Whether Python's value and the column's hash alike."""
    tests = pa.types
    return bool(
        tests.is_integer(kind)
        or tests.is_string(kind)
        or tests.is_date32(kind)
        or tests.is_decimal(kind)
        or kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.binary())
    )

"""Which manifests a filter leaves to be opened, by what their list says of their partitions."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.statistics import that_may_match
from seamkit.tables.iceberg.buckets import bucket_fields
from seamkit.tables.iceberg.content.reader import LINEAGE
from seamkit.tables.iceberg.guarantees import manifest_guarantee
from seamkit.tables.iceberg.metadata.document import TableMetadata
from seamkit.tables.iceberg.metadata.manifests import Manifest
from seamkit.tables.iceberg.metadata.schema import Field, Schema

__all__ = ["manifests_that_may_match"]


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

    Args:
        listed: of a snapshot.
        metadata: of the table.
        schema: whose columns the condition names, those of row lineage besides.
        counted: those of its columns of which manifests say what files hold.
        condition: a filter; None for none.
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

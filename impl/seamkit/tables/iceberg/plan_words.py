"""What plans of Iceberg tables are made of."""

from __future__ import annotations

from seamkit.tables.iceberg.buckets import ColumnBuckets
from seamkit.tables.iceberg.changes import CommitChanges, all_but_new, load_inverted
from seamkit.tables.iceberg.content.equality_deletes import DeletedKeys
from seamkit.tables.iceberg.content.open_file import FileOpener
from seamkit.tables.iceberg.content.position_deletes import PositionDeletes, deleted_rows
from seamkit.tables.iceberg.content.reader import FileRows
from seamkit.tables.iceberg.content.vectors import read_vector
from seamkit.tables.iceberg.metadata.document import PartitionField, PartitionSpec
from seamkit.tables.iceberg.metadata.location import TableFiles
from seamkit.tables.iceberg.metadata.manifests import Entry
from seamkit.tables.iceberg.metadata.schema import Field
from seamkit.tables.iceberg.planning import bounds_of, statistics_of

__all__ = ["WORDS"]

WORDS = (
    ColumnBuckets,
    CommitChanges,
    DeletedKeys,
    DeletedKeys.test,
    Entry,
    Field,
    FileOpener,
    FileOpener.open,
    FileRows,
    PartitionField,
    PartitionSpec,
    PositionDeletes,
    TableFiles,
    all_but_new,
    bounds_of,
    deleted_rows,
    load_inverted,
    read_vector,
    statistics_of,
)
"""Classes and functions; see `seamkit.ranges.words`."""

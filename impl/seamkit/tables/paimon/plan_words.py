"""What plans of Paimon tables are made of."""

from __future__ import annotations

from seamkit.tables.paimon.change_rows import changelog_rows, retracts_of
from seamkit.tables.paimon.data_files import open_data_file
from seamkit.tables.paimon.differences import Differences
from seamkit.tables.paimon.merging.engines import Aggregation, FieldRule, PartialUpdate
from seamkit.tables.paimon.metadata.manifests import FileEntry, VectorRange
from seamkit.tables.paimon.metadata.schemas import Schemas, TableSchema
from seamkit.tables.paimon.metadata.types import Field
from seamkit.tables.paimon.stats import file_statistics
from seamkit.tables.paimon.vectors import read_vector

__all__ = ["WORDS"]

WORDS = (
    Aggregation,
    Differences,
    Field,
    FieldRule,
    FileEntry,
    PartialUpdate,
    Schemas,
    TableSchema,
    VectorRange,
    changelog_rows,
    file_statistics,
    open_data_file,
    read_vector,
    retracts_of,
)
"""Classes and functions; see `seamkit.ranges.words`."""

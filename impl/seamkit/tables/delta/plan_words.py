"""What plans of Delta tables are made of."""

from __future__ import annotations

from seamkit.tables.delta.changes import all_but
from seamkit.tables.delta.data_files import open_data_file
from seamkit.tables.delta.log.actions import AddFile, VectorDescriptor
from seamkit.tables.delta.log.paths import TableFiles
from seamkit.tables.delta.row_ids import RowTracking
from seamkit.tables.delta.schema import Field, TableSchema
from seamkit.tables.delta.stats import file_statistics
from seamkit.tables.delta.vectors import read_vector
from seamkit.tables.delta.widening import DeltaTypes

__all__ = ["WORDS"]

WORDS = (
    AddFile,
    DeltaTypes,
    Field,
    RowTracking,
    TableFiles,
    TableSchema,
    VectorDescriptor,
    all_but,
    file_statistics,
    open_data_file,
    read_vector,
)
"""Classes and functions; see `seamkit.ranges.words`."""

"""What plans of Hudi tables are made of."""

from __future__ import annotations

from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.config.merge_rules import DeleteMarker, FillRule, MergeRules
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.indexes.buckets import SimpleBuckets
from seamkit.tables.hudi.indexes.metadata import (
    BloomIndex,
    ColumnStats,
    PartitionStats,
    known_bounds,
    may_hold_keys,
    partition_bounds,
)
from seamkit.tables.hudi.listing.files import BaseFile, External, FileSlice, LogFile
from seamkit.tables.hudi.merge.blocks import LogSource
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.timeline.archive import Archive
from seamkit.tables.hudi.timeline.instants import Instant
from seamkit.tables.hudi.timeline.schema_history import FileNames
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

__all__ = ["WORDS"]

WORDS = (
    Archive,
    BaseFile,
    BloomIndex,
    ColumnStats,
    DeleteMarker,
    External,
    FileNames,
    FileSlice,
    FillRule,
    Instant,
    LogFile,
    LogSource,
    MergeRules,
    PartitionStats,
    SimpleBuckets,
    SliceChanges,
    TableConfig,
    Timeline,
    Window,
    known_bounds,
    may_hold_keys,
    open_slice_base,
    partition_bounds,
)
"""Classes and functions; see `seamkit.ranges.words`."""

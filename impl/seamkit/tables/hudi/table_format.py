"""How Hudi tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.table_format import TableFormat

__all__ = ["FORMAT"]

FORMAT = TableFormat(
    name="hudi",
    title="Hudi",
    table="seamkit.tables.hudi.table:HudiTable",
    words=(
        "base_files:open_slice_base",
        "indexes.metadata:may_hold_keys",
        "indexes.buckets:SimpleBuckets",
        "indexes.metadata:known_bounds",
        "indexes.metadata:partition_bounds",
        "merge.fold:SliceChanges",
    ),
    mark=".hoodie",
)

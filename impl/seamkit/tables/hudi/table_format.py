"""How Hudi tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.opening import TableFormat

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""Columns that Hudi adds to every table; they are read only when asked for."""

HIDDEN = frozenset((*META_COLUMNS, "_hoodie_operation"))
"""These, and one that only some tables have. `_hoodie_is_deleted` is a column of the user's."""

FORMAT = TableFormat(
    name="hudi",
    title="Hudi",
    table="seamkit.tables.hudi.table:HudiTable",
    words=(
        "base_files:open_slice_base",
        "changes:WriteChanges",
        "indexes.metadata:may_hold_keys",
        "indexes.key_filters:SimpleBuckets",
        "indexes.metadata:known_bounds",
        "indexes.metadata:known_ranges",
        "merge.fold:SliceChanges",
    ),
    mark=".hoodie",
    meta_columns=META_COLUMNS,
    inspect_table="seamkit.tables.hudi.inspection:inspect_table",
    inspect_log="seamkit.tables.hudi.inspection:inspect_log",
    log_magic=b"#HUDI#",
)

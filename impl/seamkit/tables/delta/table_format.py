"""How Delta tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.opening import TableFormat

FORMAT = TableFormat(
    name="delta",
    title="Delta",
    table="seamkit.tables.delta.table:DeltaTable",
    words=(
        "changes:all_but",
        "planning:LiveFile",
        "vectors:read_vector",
    ),
    mark="_delta_log",
)

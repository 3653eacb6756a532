"""How Hive's tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.hive.row_format import DESCRIPTOR
from seamkit.tables.opening import TableFormat

FORMAT = TableFormat(
    name="hive",
    title="Hive",
    table="seamkit.tables.hive.table:HiveTable",
    words=("data_files:open_data_file",),
    mark=DESCRIPTOR,
    is_file=True,
)

"""How Hudi tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.table_format import TableFormat

__all__ = ["FORMAT"]

FORMAT = TableFormat(
    name="hudi",
    title="Hudi",
    table="seamkit.tables.hudi.table:HudiTable",
    words="seamkit.tables.hudi.plan_words:WORDS",
    mark=".hoodie",
)

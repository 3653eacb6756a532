"""How Paimon tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.table_format import TableFormat

__all__ = ["FORMAT"]

FORMAT = TableFormat(
    name="paimon",
    title="Paimon",
    table="seamkit.tables.paimon.table:PaimonTable",
    words="seamkit.tables.paimon.plan_words:WORDS",
    mark="schema",
    holds="schema-",
)

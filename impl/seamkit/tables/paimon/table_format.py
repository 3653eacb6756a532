"""How Paimon tables are known, for the list of formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamkit.tables.opening import TableFormat


def _facts(table: Any) -> Iterator[tuple[str, str]]:
    return (("tag", tag) for tag in table.tags)


FORMAT = TableFormat(
    name="paimon",
    title="Paimon",
    table="seamkit.tables.paimon.table:PaimonTable",
    words=(
        "change_rows:changelog_rows",
        "change_rows:retracts_of",
        "change_rows:with_kinds",
        "data_files:open_data_file",
        "change_rows:Differences",
        "merge_engines.engines:Aggregation",
        "merge_engines.engines:PartialUpdate",
        "data_files:file_statistics",
        "data_files:read_vector",
        "evolution:open_parts",
        "evolution:parts_statistics",
    ),
    mark="schema",
    holds="schema-",
    facts=_facts,
)

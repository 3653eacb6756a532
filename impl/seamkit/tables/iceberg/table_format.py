"""How Iceberg tables are known, for the list of formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamkit.catalogs.iceberg import ENDINGS, METADATA, SCHEME
from seamkit.tables.opening import TableFormat


def _facts(table: Any) -> Iterator[tuple[str, str]]:
    for name, reference in sorted(table.references.items()):
        yield f"{reference.kind} {name}", f"snapshot {reference.snapshot_id}"


FORMAT = TableFormat(
    name="iceberg",
    title="Iceberg",
    table="seamkit.tables.iceberg.table:IcebergTable",
    words=(
        "pruning:ColumnBuckets",
        "changes:CommitChanges",
        "changes:all_but_new",
        "changes:load_inverted",
        "deletes:DeletedKeys.test",
        "deletes:deleted_rows",
        "deletes:read_vector",
        "planning:LiveFile",
        "planning:LiveFile.bounds",
    ),
    mark=METADATA,
    holds=".metadata.json",
    # A table's name in a catalog, or a metadata file.
    schemes=(SCHEME,),
    endings=ENDINGS,
    facts=_facts,
)

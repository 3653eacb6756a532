"""How Iceberg tables are known, for the list of formats."""

from __future__ import annotations

from seamkit.tables.iceberg.catalog import SCHEME
from seamkit.tables.iceberg.metadata.location import ENDINGS, METADATA
from seamkit.tables.table_format import TableFormat

__all__ = ["FORMAT"]


def _is_address(address: str) -> bool:
    """A metadata file, or a table's name in a catalog."""
    return address.startswith(SCHEME) or address.endswith(ENDINGS)


FORMAT = TableFormat(
    name="iceberg",
    title="Iceberg",
    table="seamkit.tables.iceberg.table:IcebergTable",
    words="seamkit.tables.iceberg.plan_words:WORDS",
    mark=METADATA,
    holds=".metadata.json",
    is_address=_is_address,
)

"""Tables that Spark and Iceberg wrote, unpacked from the suites' golden files."""

from __future__ import annotations

import zipfile
from pathlib import Path

from seamkit_tests import SUITES_GOLDEN

__all__ = ["ICEBERG_GOLDEN", "iceberg_table_names", "unpack_iceberg"]

ICEBERG_GOLDEN = SUITES_GOLDEN / "iceberg"


def iceberg_table_names() -> list[str]:
    """The names that `unpack_iceberg` knows."""
    return sorted(path.parent.name for path in ICEBERG_GOLDEN.glob("*/table.zip"))


def unpack_iceberg(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder; returns that folder."""
    table = folder / name
    with zipfile.ZipFile(ICEBERG_GOLDEN / name / "table.zip") as archive:
        archive.extractall(table)
    return table

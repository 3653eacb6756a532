"""Hive tables, unpacked from the suites' golden files, and tables of texts written here."""

from __future__ import annotations

import zipfile
from pathlib import Path

from seamkit_tests import SUITES_GOLDEN

_GOLDEN = SUITES_GOLDEN / "hive"


def hive_table_names() -> list[str]:
    """The names that `unpack_hive` knows."""
    return sorted(path.parent.name for path in _GOLDEN.glob("*/table.zip"))


def unpack_hive(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder; returns that folder."""
    table = folder / name
    with zipfile.ZipFile(_GOLDEN / name / "table.zip") as archive:
        archive.extractall(table)
    return table

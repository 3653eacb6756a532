"""Tables that Spark and Paimon wrote, unpacked from the suites' golden files, and their rows."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests import SUITES_GOLDEN

_GOLDEN = SUITES_GOLDEN / "paimon"


def paimon_table_names() -> list[str]:
    """The names that `unpack_paimon` knows."""
    return sorted(path.parent.name for path in _GOLDEN.glob("*/table.zip"))


def witnessed_paimon_tables() -> list[str]:
    """Those among them of which an engine's own answers are kept."""
    return [name for name in paimon_table_names() if (_GOLDEN / name / "witness.json").exists()]


def unpack_paimon(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder; returns that folder."""
    table = folder / name
    with zipfile.ZipFile(_GOLDEN / name / "table.zip") as archive:
        archive.extractall(table)
    return table


def rows_of_table(table: Path, **how: Any) -> pa.Table:
    """All rows of a table."""
    return PaimonTable(str(table)).scan(threads=1, **how).to_table()

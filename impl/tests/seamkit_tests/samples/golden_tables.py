"""Tables that Spark and Hudi wrote, unpacked from the suites' golden files."""

from __future__ import annotations

import zipfile
from pathlib import Path

from seamkit_tests import SUITES_GOLDEN

_GOLDEN = SUITES_GOLDEN / "hudi"


def golden_table_names() -> list[str]:
    """The names that `unpack_table` knows; those of variants have a slash."""
    return sorted(str(file.parent.relative_to(_GOLDEN)) for file in _GOLDEN.rglob("table.zip"))


def unpack_table(name: str, folder: Path) -> Path:
    """Unpack a table below a folder; returns the table's own folder."""
    with zipfile.ZipFile(_GOLDEN / name / "table.zip") as archive:
        archive.extractall(folder)
    (found,) = {path.parent for path in folder.rglob(".hoodie") if path.parent.name != "metadata"}
    return found

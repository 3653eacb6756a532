"""Tables that real writers wrote, unpacked from the suites' golden files; names of Hudi's."""

import zipfile
from pathlib import Path

from seamkit_tests import SUITES_GOLDEN

_GOLDEN = SUITES_GOLDEN / "hudi"


def golden_table_names() -> list[str]:
    """The names that `unpack_table` knows; those of variants have a slash."""
    return sorted(str(file.parent.relative_to(_GOLDEN)) for file in _GOLDEN.rglob("table.zip"))


def unpack(name: str, folder: Path) -> Path:
    """Make a folder the table of a format and name, `hudi/mor-v9-event`; returns that folder."""
    with zipfile.ZipFile(SUITES_GOLDEN / name / "table.zip") as archive:
        archive.extractall(folder)
    return folder


def unpack_table(name: str, folder: Path) -> Path:
    """Unpack a table of Hudi; see `unpack`."""
    return unpack(f"hudi/{name}", folder)

"""What is wrong with the files of a Hive table, which states nothing of its rows besides them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from seambase.errors import UsageError
from seambench.contracts.formats import Fault
from seambench.formats.hive.golden import DESCRIPTOR
from seambench.formats.lint.parquet import judged


def lint(table: Path) -> Iterator[Fault]:
    """What is wrong with the Parquet files of a folder; names that Hive hides are none of them.

    Raises:
        UsageError: its files are others.
    """
    stated = json.loads((table / DESCRIPTOR).read_text(encoding="utf-8"))
    if stated["format"] != "parquet":
        raise UsageError(f"{table}: there is no linter of files of {stated['format']}")
    for file in sorted(path for path in table.rglob("*") if path.is_file()):
        place = file.relative_to(table)
        if not any(part.startswith(("_", ".")) for part in place.parts):
            yield from judged(file, place.as_posix()).faults

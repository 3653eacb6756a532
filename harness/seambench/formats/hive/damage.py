"""What edits name in Hive's tables: data files. The descriptor is `path:_hive_table.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seambench.formats.plain_damage import PlainDamage


def _data_files(table: Path) -> Sequence[Path]:
    files = (file for file in table.rglob("*") if file.is_file())
    hidden = ("_", ".")
    return [
        file
        for file in files
        if not any(part.startswith(hidden) for part in file.relative_to(table).parts)
    ]


#: Kinds of files that edits name.
FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {"data": _data_files}

DAMAGE = PlainDamage(FILES)

"""What edits name in Hive's tables: data files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from seambase.errors import UsageError

__all__ = ["FILES", "name_parts", "position"]


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


def position(data: bytes, name: str) -> int:
    """No place in the files of a Hive table has a name of its own.

    Raises:
        UsageError: always.
    """
    raise UsageError(f"{name!r} is no position: start or end, with +N or -N, in {len(data)} bytes")


def name_parts(name: str) -> Mapping[str, str]:
    """None: names of data files tell nothing."""
    del name
    return {}

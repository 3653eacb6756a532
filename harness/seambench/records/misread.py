"""Tables that somebody misread, kept beside a record: small archives, one a case.

Those of `runs/NAME/DATE/RUN.json` lie in `runs/NAME/DATE/RUN.tables`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 64 << 10
"""Of an archive; a larger one is not kept."""


def pack(table: Path, folder: Path, case: str) -> None:
    """Keep a table, unless it is large; an archive of the same files is the same bytes."""
    from seambench.formats import golden  # not where pages are made

    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / archive_name(case)
    golden.pack(table, archive, side_files=True, below="table/")
    if archive.stat().st_size > MOST_BYTES:
        archive.unlink()


def archive_name(case: str) -> str:
    """The name of a case's archive."""
    return f"{case.replace('/', '--')}.zip"


def keep(folder: Path, record: Path) -> None:
    """Move archives to where those of a record lie."""
    if folder.is_dir():
        shutil.copytree(folder, record.with_suffix(".tables"))


def record_of(archive: Path) -> Path | None:
    """The record beside which an archive would lie; None for what is no archive."""
    folder = archive.parent
    is_kept = archive.suffix == ".zip" and folder.suffix == ".tables"
    return folder.with_suffix(".json") if is_kept else None


def kept(record: Path) -> Iterator[Path]:
    """The archives of a record."""
    yield from sorted(record.with_suffix(".tables").glob("*.zip"))

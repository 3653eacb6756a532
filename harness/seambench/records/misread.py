"""Tables that somebody misread, kept beside a record: small archives, one a case.

Those of `runs/NAME/DATE/RUN.json` lie in `runs/NAME/DATE/RUN.tables`.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 64 << 10
"""Of an archive; a larger one is not kept."""
_BEGIN = (1980, 1, 1, 0, 0, 0)


def pack(table: Path, folder: Path, case: str) -> None:
    """Keep a table, unless it is large; an archive of the same files is the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / archive_name(case)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(file for file in table.rglob("*") if file.is_file()):
            name = zipfile.ZipInfo(f"table/{file.relative_to(table).as_posix()}", _BEGIN)
            packed.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED)
    if archive.stat().st_size > MOST_BYTES:
        archive.unlink()


def archive_name(case: str) -> str:
    """The name of a case's archive."""
    return f"{case.replace('/', '--')}.zip"


def keep(folder: Path, record: Path) -> None:
    """Move archives to where those of a record lie."""
    if folder.is_dir():
        shutil.copytree(folder, record.with_suffix(".tables"))


def kept(record: Path) -> Iterator[Path]:
    """The archives of a record."""
    yield from sorted(record.with_suffix(".tables").glob("*.zip"))

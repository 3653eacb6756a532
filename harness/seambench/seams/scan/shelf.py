"""Golden tables on disk, unpacked once a process and lent to one case after the other.

Each case gets its table at a path of its own, so that nothing that a reader keeps by path from one
case can reach another: the unpacked folder is renamed. A table that comes back changed is thrown
away, and one that is edited for a case is never lent again.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from seambench.contracts.outcomes import NotOffered
from seambench.contracts.tables import Edit
from seambench.formats.golden import GoldenTable
from seambench.formats.placing import placed

_Files = list[tuple[str, int, int]]
"""Path, size and date in nanoseconds of each file of a table."""

_NUMBERS = itertools.count()
_Key = tuple[Path, str]
"""The folder of an archive, and the form that its table is in."""
#: The folder around each unpacked table, its files, and its home.
_UNPACKED: dict[_Key, tuple[Path, _Files, Path | None]] = {}


@contextmanager
def lent(table: GoldenTable, edits: Sequence[Edit] = (), form: str = "") -> Iterator[Path]:
    """A golden table in a form as a folder for a while, edited; it is there at its home, too."""
    around = Path(_room().name) / str(next(_NUMBERS))
    folder = around / table.spec.name
    key = (table.folder, form)
    files: _Files | None = None
    home: Path | None = None
    try:
        if not edits and key in _UNPACKED:
            kept, files, home = _UNPACKED.pop(key)
            kept.rename(around)
        else:
            home = table.unpack(folder, edits)
            if form and not table.format.form(form).change(folder):
                raise NotOffered(f"{form} changes nothing of {table.spec.name}")
            files = None if edits else _files(folder)
        with placed(folder, home):
            yield folder
    finally:
        if files is not None and folder.exists() and _files(folder) == files:
            _UNPACKED[key] = (around, files, home)
            if form:
                _only_form(key)
        else:
            shutil.rmtree(around, ignore_errors=True)


def _only_form(key: _Key) -> None:
    """Throws away tables in other forms than the one that was lent last."""
    for other in [one for one in _UNPACKED if one[1] and one != key]:
        shutil.rmtree(_UNPACKED.pop(other)[0], ignore_errors=True)


@cache
def _room() -> tempfile.TemporaryDirectory[str]:
    """Where all of them lie; removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="seambench-case-", ignore_cleanup_errors=True)


def _files(folder: Path) -> _Files:
    found = []
    folders, above = [str(folder)], len(str(folder)) + 1
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                facts = entry.stat(follow_symlinks=False)
                # A folder's date changes with its entries, which are listed themselves.
                is_folder = entry.is_dir(follow_symlinks=False)
                size, date = (0, 0) if is_folder else (facts.st_size, facts.st_mtime_ns)
                found.append((entry.path[above:], size, date))
    return sorted(found)

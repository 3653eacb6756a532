"""Paths in a Delta log: percent-encoded URIs, relative to the table or absolute."""

from __future__ import annotations

import re
from urllib.parse import unquote

from seambase.errors import InputError
from seamkit.files.storage import Storage

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_LOCAL = re.compile(r"file:(//)?(?=/(?!/))", re.IGNORECASE)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


def canonical(path: str) -> str:
    """What is the same for all spellings of a path: `/x`, `file:/x` and `file:///x` are one file.

    The percent-encoding is taken off, once.
    """
    return _decoded(_LOCAL.sub("", path))


def _decoded(path: str) -> str:
    """A path without its percent-encoding."""
    if _BROKEN_ESCAPE.search(path):
        raise InputError(f"the path {path!r} has a broken percent-escape")
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        raise InputError(f"the path {path!r} is no UTF-8 under its percent-encoding") from error


class TableFiles:
    """Opens the files that a log names.

    Args:
        storage: the table's folder.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._outside: dict[str, Storage] = {}

    def locate(self, path: str) -> tuple[Storage, str]:
        """The storage that holds a file, and the file's path in it.

        Args:
            path: as the log spells it.
        """
        plain = _decoded(path)
        if _SCHEME.match(path) or path.startswith("/"):
            folder, _, name = plain.rpartition("/")
            if folder not in self._outside:
                self._outside[folder] = self.storage.elsewhere(folder)
            return self._outside[folder], name
        if ".." in plain.split("/") or not plain or "\0" in plain:
            raise InputError(f"{self.storage.root}: the path {path!r} leads out of the table")
        return self.storage, plain

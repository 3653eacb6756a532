"""Which metadata file is the newest, and where the files that it names lie now.

Without a catalog the table's folder tells (Hadoop's rule): `version-hint.text` holds a number, and
versions are walked on from there, since the hint may be stale. Where writers name files by other
rules, only their catalog knows which counts, unless the hint holds the name of a file, as pyiceberg
and DuckDB take it.

Paths in metadata are absolute texts. Those that begin with the `location` that the metadata states
are files of the table's folder, wherever that lies now: a table that was moved or copied reads its
own files. All others are taken as they stand.

Tables that a catalog names are found by `seamkit.catalogs.iceberg`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from seambase.errors import InputError, UsageError
from seamkit.catalogs.iceberg import SCHEME
from seamkit.files.storage import WHOLE, Storage

METADATA = "metadata"
_HINT = f"{METADATA}/version-hint.text"
ENDINGS = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
_VERSIONED = re.compile(r"v(\d{1,18})(\.metadata\.json|\.gz\.metadata\.json|\.metadata\.json\.gz)")
_NUMBERED = re.compile(r"(\d{1,18})-[^/]*\.metadata\.json")


def split_address(address: str) -> tuple[str, str | None]:
    """A table's folder, and the metadata file that is meant, below it; None for the newest.

    The address is a folder, or a metadata file in its folder `metadata`.
    """
    if not address.endswith(ENDINGS):
        return address, None
    if "/" not in address.removeprefix(f"{METADATA}/"):  # from within one of these folders
        address = str(Path(address).absolute())
    folder, _, name = address.rpartition("/")
    root, _, last = folder.rpartition("/")
    if last != METADATA:
        raise UsageError(
            f"{address}: a metadata file is read where it lies in the table's folder {METADATA!r}"
        )
    return root or "/", f"{METADATA}/{name}"


def newest_metadata(storage: Storage) -> str:
    """The newest metadata file of a folder, below it."""
    names = {entry.name for entry in storage.list(METADATA) if entry.size_bytes is not None}
    versions: dict[int, str] = {}
    for name in sorted(names):
        if match := _VERSIONED.fullmatch(name):
            number = int(match[1])
            if number in versions:
                raise InputError(
                    f"{storage.full(METADATA)}: version {number} is there twice, as "
                    f"{versions[number]} and as {name}"
                )
            versions[number] = name
    hint = ""
    if "version-hint.text" in names:
        hint = storage.read(_HINT, most_bytes=1 << 10).decode("utf-8", "replace").strip()
    named = next((hint + end for end in ("", *ENDINGS) if hint + end in names), None)
    if named is not None and not _VERSIONED.fullmatch(named) and named.endswith(ENDINGS):
        return f"{METADATA}/{named}"
    if not versions:
        if any(name.endswith(ENDINGS) for name in names):
            likely = _highest_number(names)
            such = f", such as {storage.full(f'{METADATA}/{likely}')}" if likely else ""
            raise UsageError(
                f"{storage.full(METADATA)}: metadata files are named as a catalog names them, and "
                f"only the catalog knows the newest: name the table by it, {SCHEME}CATALOG/"
                f"NAMESPACE.TABLE, or give the path of the file that is meant{such}"
            )
        raise InputError(f"{storage.full(METADATA)}: there is no metadata file")
    is_number = re.fullmatch(r"\d{1,18}", hint)
    number = int(hint) if is_number else max(versions)
    if number not in versions:
        raise InputError(f"{storage.full(_HINT)}: it names version {number}, which is missing")
    while number + 1 in versions:
        number += 1
    return f"{METADATA}/{versions[number]}"


def _highest_number(names: Collection[str]) -> str:
    """Of files that catalogs have numbered the last; empty where none is.

    It need not be the newest: who loses a race leaves a file with the same number, or a higher one.
    """
    numbered = {name: int(match[1]) for name in names if (match := _NUMBERED.match(name))}
    return max(numbered, key=lambda name: (numbered[name], name), default="")


@dataclass
class TableFiles:
    """Finds the files that metadata names.

    Attributes:
        location: what the metadata says that this folder is called.
    """

    storage: Storage
    location: str
    _outside: dict[str, Storage] = field(default_factory=dict)

    def locate(self, path: str) -> tuple[Storage, str]:
        """The storage that holds a file, and its path there, as metadata spells it."""
        whole = _unschemed(path)
        plain = whole.removeprefix(self._prefix)
        if "\0" in path or ".." in plain.split("/"):
            raise InputError(f"{self.storage.root}: the path {path!r} leads out of its folder")
        if plain != whole:
            return self.storage, plain
        if not WHOLE.match(path):
            raise InputError(f"{self.storage.root}: the path {path!r} is not absolute")
        folder, _, name = path.rpartition("/")
        if folder not in self._outside:
            self._outside[folder] = self.storage.elsewhere(folder)
        return self._outside[folder], name

    def shown(self, path: str) -> str:
        """A path as plans show it: below the table where it lies there."""
        return _unschemed(path).removeprefix(self._prefix)

    def place(self, path: str) -> str:
        """Where a file lies, for people and other libraries."""
        return self.storage.place(self.shown(path))

    @cached_property
    def _prefix(self) -> str:
        return _unschemed(self.location).rstrip("/") + "/"


def _unschemed(path: str) -> str:
    """A path without `file:` and `./`, which Hadoop writes here and leaves out there."""
    if path.startswith("file:///"):
        return path.removeprefix("file://")
    return path.removeprefix("file:" if path.startswith("file:/") else "./")

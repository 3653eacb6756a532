"""Which metadata file is the newest, and where the files that it names lie now.

Without a catalog the table's folder tells (Hadoop's rule): `version-hint.text` holds a number, and
versions are walked on from there, since the hint may be stale. Where writers name files by other
rules, only their catalog knows which counts, unless the hint holds the name of a file, as pyiceberg
and DuckDB take it.

Paths in metadata are absolute texts. Those that begin with the `location` that the metadata states
are files of the table's folder, wherever that lies now: a table that was moved or copied reads its
own files. All others are taken as they stand.

A catalog (SQL, REST, Hive, Glue, ...) is asked by pyiceberg, as that is configured: in
`.pyiceberg.yaml` or by variables of the environment. What is taken from it is where the table's
newest metadata file lies, and how an S3 store is reached: as the catalog is configured, or as its
server says for this table, with credentials that it hands out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.extras import needs
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


_S3 = ("s3://", "s3a://", "s3n://")
# What Iceberg calls an argument of s3fs: of S3 alone, or of all of AWS.
_S3_ARGUMENTS = {
    "key": ("s3.access-key-id", "client.access-key-id"),
    "secret": ("s3.secret-access-key", "client.secret-access-key"),
    "token": ("s3.session-token", "client.session-token"),
    "endpoint_url": ("s3.endpoint",),
}
_S3_REGION = ("s3.region", "client.region")

SCHEME = "iceberg://"
_MOST_TEXT = 300


def metadata_address(address: str) -> tuple[str, Mapping[str, Any] | None]:
    """Where the newest metadata file of a table lies, and the storage options to read it with.

    Any other address than `iceberg://CATALOG/NAMESPACE.TABLE` is returned as it is. There are no
    options for a table that is not on S3, or of which its catalog tells none.
    """
    if not address.startswith(SCHEME):
        return address, None
    name, _, table = address.removeprefix(SCHEME).partition("/")
    if not name or "." not in table or "/" in table:
        raise UsageError(f"{address}: {SCHEME}CATALOG/NAMESPACE.TABLE is meant")
    with needs("seamkit[iceberg]", "a table of an Iceberg catalog"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    try:
        found = load_catalog(name).load_table(table)
        location = str(found.metadata_location)
        is_s3 = location.startswith(_S3)
        return location, _s3_options(found.io.properties) if is_s3 else None
    except (NoSuchNamespaceError, NoSuchTableError) as error:
        raise InputError(f"{address}: the catalog has no such table ({_brief(error)})") from error
    except ValueError as error:
        raise UsageError(f"{address}: {_brief(error)}") from error
    except Exception as error:  # whatever the catalog's own library raises
        raise UnavailableError(
            f"{address}: the catalog does not answer ({_brief(error)})"
        ) from error


def _s3_options(properties: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Arguments of s3fs that stand for Iceberg's properties of S3."""
    options: dict[str, Any] = {}
    for argument, names in _S3_ARGUMENTS.items():
        value = next((properties[name] for name in names if properties.get(name)), None)
        if value is not None:
            options[argument] = value
    region = next((properties[name] for name in _S3_REGION if properties.get(name)), None)
    if region is not None:
        options["client_kwargs"] = {"region_name": region}
    return options or None


def _brief(error: Exception) -> str:
    """What a catalog said, on one line: servers answer with whole pages."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."

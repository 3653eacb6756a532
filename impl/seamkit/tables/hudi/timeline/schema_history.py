"""The names that columns had when a file was written, where columns were renamed.

With `hoodie.schema.on.read.enable` every change of the schema is kept in `.hoodie/.schema`: a file
`*.schemacommit` holds JSON, `{"schemas": [...]}`, with all versions so far. A version has the
`version_id` of the instant that made it (0: before the first change), and its fields, at every
depth, have an `id` that stays when their name changes. A file or log block was written with the
latest version that is not younger than its instant (Hudi 1.2.0, `InternalSchemaUtils`). A column
that was dropped and added again has another id, so older values stay away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seambase.errors import InputError
from seamkit.files.columns import Finder, Place
from seamkit.files.storage import Storage

__all__ = ["HISTORY", "FileNames", "SchemaHistory", "load_history"]

HISTORY = ".hoodie/.schema"
_COMMIT = re.compile(r"^(\d{14}|\d{17})(?:_\d+)?\.schemacommit$")


@dataclass(frozen=True)
class FileNames:
    """How a file's names differ from the table's.

    Attributes:
        table: the columns of the version that a read shows.
        file: those of the version that the file was written with.
    """

    table: Sequence[Place]
    file: Sequence[Place]

    def finder(self, where: str) -> Finder:
        """Finds columns in the file; those that are not from the history never changed names."""
        table = {place.name: place for place in self.table}
        return Finder(table, Place("", (), self.file), where, has_others=True)


@dataclass(frozen=True)
class SchemaHistory:
    """All versions of a table's schema, oldest first, with the instants that made them."""

    versions: Sequence[tuple[int, Sequence[Place]]]

    def at(self, instant: str | None) -> tuple[int, Sequence[Place]]:
        """The version of an instant, or the latest one."""
        best = self.versions[-1 if instant is None else 0]
        for version in self.versions:
            if instant is not None and version[0] <= int(instant):
                best = version
        return best


def load_history(storage: Storage, committed: Any) -> SchemaHistory | None:
    """The newest history of a table, or None if its schema never changed in this way.

    Args:
        storage: the table's folder.
        committed: tells of an instant whether it is completed.

    Raises:
        InputError: the history is broken.
    """
    found = []
    for status in storage.list(HISTORY):
        match = _COMMIT.match(status.name)
        if match is not None and status.size_bytes and committed(match[1]):
            found.append((match[1], status.path))
    if not found:
        return None
    path = max(found)[1]
    try:
        content = json.loads(storage.read(path))
        versions = [(int(s["version_id"]), _places(s)) for s in content["schemas"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{storage.full(path)}: not readable as a history of schemas ({error!r})"
        ) from error
    if not versions:
        raise InputError(f"{storage.full(path)}: a history without a schema")
    return SchemaHistory(sorted(versions, key=lambda version: version[0]))


def _places(kind: Any) -> list[Place]:
    """The fields within a type, by their ids."""
    if not isinstance(kind, dict):
        return []
    if kind["type"] == "record":
        return [Place(f["name"], (int(f["id"]),), _places(f["type"])) for f in kind["fields"]]
    if kind["type"] == "array":
        return [Place("element", (), _places(kind["element"]))]
    if kind["type"] == "map":
        return [Place("key"), Place("value", (), _places(kind["value"]))]
    return []

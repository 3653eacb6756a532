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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambase.errors import InputError
from seamkit.files.renamed import NOWHERE
from seamkit.files.storage import Storage

if TYPE_CHECKING:
    from seamkit.tables.hudi.timeline.timeline import Timeline
    from seamkit.tables.hudi.timeline.window import Window

__all__ = ["HISTORY", "FileNames", "SchemaHistory", "file_names", "load_history"]

HISTORY = ".hoodie/.schema"
_COMMIT = re.compile(r"^(\d{14}|\d{17})(?:_\d+)?\.schemacommit$")


@dataclass(frozen=True)
class HistoricType:
    """What a type says of names.

    Attributes:
        fields: of a record: id and type by name.
        items: of an array's elements or a map's values.
    """

    fields: Mapping[str, tuple[int, HistoricType]] = field(default_factory=dict)
    items: HistoricType | None = None


_LEAF = HistoricType()


@dataclass(frozen=True)
class FileNames:
    """How a file's names differ from the table's.

    Attributes:
        table: the version that a read shows.
        file: the version that the file was written with.
    """

    table: HistoricType
    file: HistoricType

    def asked(self, schema: pa.Schema) -> pa.Schema:
        """Columns of the table under the names that they have in the file.

        A column that the file lacks gets a name that no file has.
        """
        return pa.schema([_asked(f, self.table, self.file) for f in schema])


def _asked(wanted: pa.Field, table: HistoricType, file: HistoricType) -> pa.Field:
    known = table.fields.get(wanted.name)
    if known is None:  # not from the history: such a column never changed its name
        return wanted
    number, own = known
    for name, (other, theirs) in file.fields.items():
        if other == number:
            return pa.field(name, _asked_type(wanted.type, own, theirs), wanted.nullable)
    return wanted.with_name(NOWHERE + wanted.name)


def _asked_type(kind: pa.DataType, table: HistoricType, file: HistoricType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_asked(child, table, file) for child in kind])
    items = table.items or _LEAF, file.items or _LEAF
    if pa.types.is_list(kind):
        child = kind.value_field
        return pa.list_(child.with_type(_asked_type(child.type, *items)))
    if pa.types.is_map(kind):
        child = kind.item_field
        return pa.map_(kind.key_type, child.with_type(_asked_type(child.type, *items)))
    return kind


@dataclass(frozen=True)
class SchemaHistory:
    """All versions of a table's schema, oldest first, with the instants that made them."""

    versions: Sequence[tuple[int, HistoricType]]

    def at(self, instant: str | None) -> tuple[int, HistoricType]:
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
        versions = [(int(s["version_id"]), _type_of(s)) for s in content["schemas"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{storage.full(path)}: not readable as a history of schemas ({error!r})"
        ) from error
    if not versions:
        raise InputError(f"{storage.full(path)}: a history without a schema")
    return SchemaHistory(sorted(versions, key=lambda version: version[0]))


def _type_of(kind: Any) -> HistoricType:
    if not isinstance(kind, dict):
        return _LEAF
    if kind["type"] == "record":
        return HistoricType(
            {f["name"]: (int(f["id"]), _type_of(f["type"])) for f in kind["fields"]}
        )
    if kind["type"] in ("array", "map"):
        inner = "element" if kind["type"] == "array" else "value"
        return HistoricType(items=_type_of(kind[inner]))
    return _LEAF


def file_names(timeline: Timeline, window: Window, instant: str) -> FileNames | None:
    """How the names in a file or block of an instant differ from those that a read shows, if so."""
    history = timeline.schema_history
    if history is None:
        return None
    shown = history.at(None if window.is_incremental else window.up_to)
    written = history.at(instant)
    return None if shown[0] == written[0] else FileNames(shown[1], written[1])

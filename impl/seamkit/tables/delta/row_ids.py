"""Row tracking: an id for each row, and the version that wrote it (PROTOCOL.md, "Row Tracking").

A row's id is that of its file's first row plus its place in the file; its version is that of the
file. Where rows were written anew, the file has columns of its own for both, under names that the
table's properties tell, and what stands there counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from seambase.errors import InputError
from seamkit.files.columns import Finder, Make, OrValue, Source, or_number
from seamkit.tables.delta.log.actions import AddFile
from seamkit.tables.delta.schema import Field, TableSchema

_ROW_ID = "_row_id"
_VERSION = "_row_commit_version"
#: By column, the property that names what files call it.
_PROPERTIES = {
    _ROW_ID: "delta.rowTracking.materializedRowIdColumnName",
    _VERSION: "delta.rowTracking.materializedRowCommitVersionColumnName",
}


@dataclass(frozen=True)
class RowTracking:
    """The columns of row tracking that a table shows where they are named.

    Attributes:
        fields: `_row_id` and `_row_commit_version`, as files call them.
    """

    fields: Sequence[Field]


def row_tracking(
    configuration: Mapping[str, str], schema: TableSchema, root: str
) -> RowTracking | None:
    """What a table says of the ids of its rows; None where it keeps none.

    A column of its own under such a name counts.
    """
    if configuration.get("delta.enableRowTracking", "false").lower() != "true":
        return None
    fields = []
    for name, key in _PROPERTIES.items():
        if name in schema.arrow.names:
            continue
        physical = configuration.get(key)
        if not physical:
            raise InputError(f"{root}: rows have ids, and the property {key} is missing")
        fields.append(Field(name, physical, None, pa.int64()))
    return RowTracking(fields)


def find_with_row_ids(
    finder: Finder, add: AddFile, tracking: RowTracking
) -> Callable[[pa.Field], Source]:
    """Says where columns of a data file come from, those of row tracking among them."""
    tracked = {field.name: field for field in tracking.fields}

    def find(wanted: pa.Field) -> Source:
        if wanted.name not in tracked:
            return finder(wanted)
        found = finder.file.child(tracked[wanted.name], finder.where)
        read = None if found is None else wanted.with_name(found.name)
        return Source(wanted, read, wanted.type, _of_log(wanted.name, add, finder.where))

    return find


def _of_log(name: str, add: AddFile, where: str) -> Make:
    """What the log says of a file's rows."""
    is_id = name == _ROW_ID
    stated = add.base_row_id if is_id else add.row_commit_version
    if stated is None:
        what = "baseRowId" if is_id else "defaultRowCommitVersion"
        raise InputError(f"{where}: rows have ids, and the log tells no {what} of this file")
    return partial(or_number, stated) if is_id else OrValue(pa.scalar(stated, pa.int64()))

"""Row tracking: an id for each row, and the version that wrote it (PROTOCOL.md, "Row Tracking").

A row's id is that of its file's first row plus its place in the file; its version is that of the
file. Where rows were written anew, the file has columns of its own for both, under names that the
table's properties tell, and what stands there counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.core.arrow_data import batch_of
from seamkit.files.positions import positions_of
from seamkit.files.reader import FileReader, OverReader, Renaming
from seamkit.files.roaring import Positions
from seamkit.files.statistics import FileStatistics
from seamkit.tables.delta.log.actions import AddFile
from seamkit.tables.delta.schema import Field, TableSchema

__all__ = ["RowTracking", "open_with_row_ids", "row_tracking"]

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

    @property
    def in_files(self) -> Sequence[Field]:
        """The same columns under the names that files have for them."""
        return [replace(field, name=field.physical) for field in self.fields]


def row_tracking(
    configuration: Mapping[str, str], schema: TableSchema, root: str
) -> RowTracking | None:
    """What a table says of the ids of its rows; None where it keeps none.

    Args:
        configuration: its properties.
        schema: its columns; one of its own under such a name counts.
        root: the table, for messages.

    Raises:
        InputError: it keeps ids, and does not say what files call them.
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


def open_with_row_ids(
    opened: Callable[[], FileReader], add: AddFile, tracking: RowTracking
) -> FileReader:
    """Open a data file that can be asked for the columns of row tracking, too."""
    return _TrackedReader(opened(), add, {field.name: field for field in tracking.fields})


class _TrackedReader(OverReader):
    """A `FileReader` that fills in what the log says of a file's rows."""

    def __init__(self, reader: FileReader, add: AddFile, tracked: Mapping[str, Field]) -> None:
        super().__init__(reader)
        self._add = add
        self._tracked = tracked

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """See `FileReader.batches`.

        Raises:
            InputError: the file is broken, or the log does not tell the ids of its rows.
        """
        numbered = [name for name in schema.names if name in self._tracked]
        if not numbered:
            yield from self._reader.batches(
                schema, batch_rows, use_threads=use_threads, encoded=encoded, row_groups=row_groups
            )
            return
        positions = positions_of(self._reader, row_groups)
        for batch in self._reader.batches(
            self._in_file(schema), batch_rows, use_threads=use_threads, row_groups=row_groups
        ):
            at, positions = positions[: batch.num_rows], positions[batch.num_rows :]
            columns = [
                pc.coalesce(column, self._inherited(name, at)) if name in numbered else column
                for name, column in zip(schema.names, batch.columns, strict=True)
            ]
            yield batch_of(columns, schema, batch.num_rows)

    def as_it_stands(self, schema: pa.Schema) -> FileReader:
        """The file's own reader where no column of row tracking is asked for; see `Renaming`."""
        if any(name in self._tracked for name in schema.names):
            return self
        return (
            self._reader.as_it_stands(schema)
            if isinstance(self._reader, Renaming)
            else self._reader
        )

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """By the statistics of the table's own columns; those of row tracking do not count."""
        tracked = [name for name in schema.names if name in self._tracked]
        if not tracked:
            return self._reader.row_groups_that_may_match(condition, schema, counted)
        known = schema.names if counted is None else counted
        left = [name for name in known if name not in tracked]
        if not left:
            return list(range(self.num_row_groups))
        return self._reader.row_groups_that_may_match(condition, schema, left)

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file's statistics tell; see `FileReader.greatest`."""
        return None if name in self._tracked else self._reader.greatest(name, kind)

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """What the file's statistics tell of the table's own columns."""
        own = [field for field in schema if field.name not in self._tracked]
        return self._reader.statistics(pa.schema(own))

    def _in_file(self, schema: pa.Schema) -> pa.Schema:
        """Columns with those of row tracking under the names that files have for them."""
        own = [
            self._tracked[f.name].physical if f.name in self._tracked else f.name for f in schema
        ]
        return pa.schema([f.with_name(name) for f, name in zip(schema, own, strict=True)])

    def _inherited(self, name: str, positions: Positions) -> pa.Array:
        """What the log says of rows at some places.

        Raises:
            InputError: it says nothing.
        """
        is_id = name == _ROW_ID
        told = self._add.base_row_id if is_id else self._add.row_commit_version
        if told is None:
            what = "baseRowId" if is_id else "defaultRowCommitVersion"
            raise InputError(
                f"{self.name}: rows have ids, and the log tells no {what} of this file"
            )
        if is_id:
            return pa.array(positions + told, pa.int64())
        return pa.repeat(pa.scalar(told, pa.int64()), len(positions))

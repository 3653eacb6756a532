"""Files whose columns are not called as the table calls them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core._seam import ffi
from seamkit.files.reader import FileReader, OverReader
from seamkit.files.statistics import FileStatistics

__all__ = ["NOWHERE", "FileSchema", "RenamedReader", "renamed"]

NOWHERE = "\0"
"""In front of a name: no file has such a column."""

FileSchema = Callable[[pa.Schema], pa.Schema]
"""Columns of the table under the names that they have in a file, at every depth; one that the file
lacks has a name that no file has."""


def renamed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same columns under the names of a schema that differs in names alone; nothing is copied.

    Args:
        batch: as the file calls its columns.
        schema: as the table does.
    """
    if not batch.num_columns:
        return batch
    array = ffi.new("struct ArrowArray *")
    address = int(ffi.cast("uintptr_t", array))
    batch._export_to_c(address)
    return pa.RecordBatch._import_from_c(address, schema)


class RenamedReader(OverReader):
    """A file under the names that the table gives its columns: a `FileReader` too.

    Args:
        reader: the file.
        file_schema: what columns of the table are called in it.
    """

    def __init__(self, reader: FileReader, file_schema: FileSchema) -> None:
        super().__init__(reader)
        self._file_schema = file_schema

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """See `FileReader.batches`; `schema` has the table's names, and texts come as they are.

        Raises:
            InputError: as the file's own reader.
        """
        del encoded
        own = self._file_schema(schema)
        for batch in self._reader.batches(
            own, batch_rows, use_threads=use_threads, row_groups=row_groups
        ):
            yield renamed(batch, schema)

    def as_it_stands(self, schema: pa.Schema) -> FileReader:
        """The file's own reader where the table's names are the file's; see `Renaming`."""
        return self._reader if self._file_schema(schema).equals(schema) else self

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """All: the condition has names that the file's statistics do not know."""
        del condition, schema, counted
        return list(range(self.num_row_groups))

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file's statistics tell; see `FileReader.greatest`."""
        [own] = self._file_schema(pa.schema([(name, kind)])).names
        return self._reader.greatest(own, kind)

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """What the file's statistics tell; see `FileReader.statistics`."""
        own = self._file_schema(schema)
        known = self._reader.statistics(own)
        names = dict(zip(own.names, schema.names, strict=True))
        return replace(known, columns={names[name]: one for name, one in known.columns.items()})

"""Base files from before columns were renamed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.reader import FileReader
from seamkit.tables.hudi.timeline.schema_history import FileNames

__all__ = ["RenamedReader"]


class RenamedReader:
    """A base file under the names that its columns have now: a `FileReader` too.

    Args:
        reader: the file.
        names: how its names differ from the table's.
    """

    def __init__(self, reader: FileReader, names: FileNames) -> None:
        self.name = reader.name
        self.num_rows = reader.num_rows
        self.num_row_groups = reader.num_row_groups
        self._reader = reader
        self._names = names

    @property
    def schema(self) -> pa.Schema:
        """The file's own columns, as it calls them."""
        return self._reader.schema

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
        asked = self._names.asked(schema)
        for batch in self._reader.batches(
            asked, batch_rows, use_threads=use_threads, row_groups=row_groups
        ):
            yield self._names.named(batch, schema)

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """Rows of some row groups, or of all (None)."""
        return self._reader.rows_in(row_groups)

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, told: Collection[str] | None = None
    ) -> list[int]:
        """All: the condition has names that the file's statistics do not know."""
        del condition, schema, told
        return list(range(self.num_row_groups))

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file's statistics tell; see `FileReader.greatest`."""
        (asked,) = self._names.asked(pa.schema([(name, kind)])).names
        return self._reader.greatest(asked, kind)

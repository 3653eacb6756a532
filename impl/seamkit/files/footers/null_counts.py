"""Nulls that were read of a Parquet file, held against those that its footer counts.

Whether a column may have nulls is one number in a schema without a checksum. Where it says
otherwise, levels are taken for values or not looked at, and rows come that nobody wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seamkit.files.footers.chunks import is_by_parquet_mr


class NullCounts:
    """Counts the nulls of columns that are read.

    Columns within lists and maps are passed over, and those within structs of other writers than
    parquet-mr: writers differ in what they count there.

    Args:
        footer: of the file.
        row_groups: those whose rows will all come; None for all.
    """

    def __init__(self, footer: pq.FileMetaData, row_groups: Sequence[int] | None) -> None:
        groups = range(footer.num_row_groups) if row_groups is None else row_groups
        self._chunks = [footer.row_group(group) for group in groups]
        self._schema = footer.schema
        self._within = is_by_parquet_mr(footer)
        self._read: dict[str, int] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count those of a batch."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for path, nulls in self._nulls(name, column):
                self._read[path] = self._read.get(path, 0) + nulls

    def check(self, where: str) -> None:
        """Hold them against the footer, after all batches; `where` names the file."""
        for number in range(len(self._schema)):
            path = self._schema.column(number).path
            told = self._told(number) if path in self._read else None
            if told is not None and told != self._read[path]:
                raise InputError(
                    f"{where}: column {path!r} has {self._read[path]} nulls, and its footer counts "
                    f"{told}"
                )

    def _told(self, number: int) -> int | None:
        """Nulls of a column as the footer counts them; None where it does not."""
        total = 0
        for group in self._chunks:
            known = group.column(number).statistics
            if known is None or not known.has_null_count:
                return None
            total += known.null_count
        return total

    def _nulls(self, path: str, column: pa.Array) -> Iterator[tuple[str, int]]:
        if pa.types.is_struct(column.type):
            inside = column.flatten() if self._within else ()
            for field, inner in zip(column.type, inside, strict=False):
                yield from self._nulls(f"{path}.{field.name}", inner)
        elif not pa.types.is_nested(column.type):
            yield path, column.null_count

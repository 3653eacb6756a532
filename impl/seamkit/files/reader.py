"""What every reader of base files offers, whatever the file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.roaring import Positions
from seamkit.files.statistics import FileStatistics

__all__ = ["FileReader", "NoStatistics", "OneGroup", "OverReader", "Renaming", "positions_of"]


class FileReader(Protocol):
    """One open base file.

    Attributes:
        name: the file, as messages name it.
        num_row_groups: parts that can be read on their own.
    """

    name: str
    num_row_groups: int

    @property
    def num_rows(self) -> int:
        """All of its rows; of some files nobody knows before they are read."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """The file's own columns, as it calls them."""
        ...

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """All rows, with the columns and types of `schema`.

        Args:
            schema: the columns wanted; those that the file lacks are null.
            batch_rows: most rows in a batch.
            use_threads: let pyarrow decode columns in parallel, where it can.
            encoded: texts that the caller takes as dictionaries too. They come so where the file
                holds them so and its reader knows how, which spares a copy of each text.
            row_groups: numbers of those wanted, in order; None for all. Of no use to a file that
                counts as one.

        Raises:
            InputError: the file is broken, rows are missing, or a type does not promote.
        """
        ...

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """Rows of some row groups, or of all (None)."""
        ...

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """Numbers of the row groups that statistics, or filters of values, do not rule out.

        Args:
            condition: a filter.
            schema: the columns that it reads, in the table's types.
            counted: the columns of which they count; None for all. Others may hold any value.

        Raises:
            InputError: the statistics are not readable.
        """
        ...

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """The largest value of a column of whole numbers, as its file's statistics tell.

        Args:
            name: the column.
            kind: the type that the caller compares in; times count in its unit.

        Returns:
            None if the column holds a null, is of another type, or nobody knows.
        """
        ...

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """The least value of a column in each row group, as statistics tell.

        Args:
            name: the column.
            kind: its type.

        Returns:
            Nothing if the column holds a null, is of another type, or nobody knows.
        """
        ...

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """What the file tells of all its rows without that any is read.

        Args:
            schema: columns under the names and in the types that `batches` would give them.

        Returns:
            Nothing of columns that the file has in another type.

        Raises:
            InputError: its statistics are not readable.
        """
        ...


@runtime_checkable
class Renaming(Protocol):
    """A reader that shows another one's columns under other names or in other shapes."""

    def as_it_stands(self, schema: pa.Schema) -> FileReader:
        """The reader below, if it gives these columns as this one does; else this one."""
        ...


@runtime_checkable
class Fetching(Protocol):
    """A reader of a file that may be far away."""

    def fetch(self, names: Collection[str], row_groups: Sequence[int]) -> None:
        """Ask for columns of some row groups at once, which `batches` will read in several calls.

        They come in the background, and stay until two further calls have asked for others.
        """
        ...


class OverReader:
    """The part of a reader that shows another one's columns otherwise: what they have in common.

    Args:
        reader: the file's own.
    """

    def __init__(self, reader: FileReader) -> None:
        self.name = reader.name
        self.num_rows = reader.num_rows
        self.num_row_groups = reader.num_row_groups
        self._reader = reader

    @property
    def schema(self) -> pa.Schema:
        """The file's own columns, as it calls them."""
        return self._reader.schema

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """Rows of some row groups, or of all (None)."""
        return self._reader.rows_in(row_groups)

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """Nothing: the column may have another name or other values in the file."""
        del name, kind
        return ()

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """The rows alone: columns may have other names or other values in the file."""
        del schema
        return FileStatistics(self._reader.statistics(pa.schema([])).rows)


class NoStatistics:
    """The part of a reader whose file is not asked for statistics."""

    num_row_groups: int

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """All: nothing rules one out."""
        del condition, schema, counted
        return list(range(self.num_row_groups))

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """None: nobody knows."""
        del name, kind
        return None

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """Nothing: nobody knows."""
        del name, kind
        return ()

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """Nothing: nobody knows."""
        del schema
        return FileStatistics()


class OneGroup(NoStatistics):
    """The part of a reader whose file counts as one row group, and is not asked for statistics."""

    num_rows: int
    num_row_groups = 1

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """All rows or none."""
        return self.num_rows if row_groups is None or len(row_groups) else 0


def positions_of(reader: FileReader, row_groups: Sequence[int] | None) -> Positions:
    """Places in the file of the rows of some row groups, or of all (None), in their order."""
    if row_groups is None:
        return np.arange(reader.num_rows, dtype=np.int64)
    groups = range(reader.num_row_groups)
    ends = np.cumsum([reader.rows_in([group]) for group in groups], dtype=np.int64)
    ranges = [np.arange(ends[group] - reader.rows_in([group]), ends[group]) for group in row_groups]
    return np.concatenate(ranges) if ranges else np.empty(0, np.int64)

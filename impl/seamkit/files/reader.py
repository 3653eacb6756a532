"""What every reader of base files offers, whatever the file.

Texts of files, which are UTF-8 or broken, and names in metadata.

Arrow's readers hand out the bytes of a text as the file has them, and whoever decodes one that is
no UTF-8 fails far from here.

In metadata without a checksum an unknown name is passed over, as a later writer's may be; so a
flipped bit of a known one would take away what it says without a word. One that is a letter away
from a known one is damage.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seambase.foreign_arrow import is_plain, is_text
from seambase.wording import counted
from seamkit.core.border import batch_of
from seamkit.files.roaring import Positions
from seamkit.files.statistics import FileStatistics


@dataclass(frozen=True, slots=True)
class RowsWanted:
    """What to read of a file."""

    # the columns wanted, in the table's types; those that the file lacks are null
    schema: pa.Schema
    batch_rows: int  # most rows in a batch
    use_threads: bool  # let pyarrow decode columns in parallel, where it can
    # texts that the caller takes as dictionaries too. They come so where the file holds them so and
    # its reader knows how, which spares a copy of each text
    encoded: Collection[str] = ()
    # numbers of those wanted, in order; None for all. Of no use to a file that counts as one
    row_groups: Sequence[int] | None = None


class FileReader(ABC):
    """One open base file; by itself it counts as one row group and tells no statistics.

    Attributes:
        name: the file, as messages name it.
        size_bytes: of the file.
        num_row_groups: parts that can be read on their own.
        has_footer: whether it ends in a footer that says which ranges of values it has.
        schema: the file's own columns, as it calls them.
    """

    name: str
    size_bytes: int
    num_row_groups: int = 1
    has_footer: bool = False
    schema: pa.Schema

    @cached_property
    def num_rows(self) -> int:
        """All of its rows; where nobody knows them, the file is read for that."""
        return sum(b.num_rows for b in self.batches(pa.schema([]), 1 << 20, use_threads=False))

    @property
    def created_by(self) -> str:
        """The program that wrote the file, as it says itself; empty if it does not."""
        return ""

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Rows with the columns and types of `schema`; see `RowsWanted` for the arguments."""
        return self.read(RowsWanted(schema, batch_rows, use_threads, encoded, row_groups))

    @abstractmethod
    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """The same, which each kind of file does in its own way."""

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """Rows of some row groups, or of all (None)."""
        return self.num_rows if row_groups is None or len(row_groups) else 0

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """Numbers of the row groups that statistics, or filters of values, do not rule out.

        Types are the table's. Columns that are not `counted` may hold any value.
        """
        del condition, schema, counted
        return list(range(self.num_row_groups))

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """The largest value of a column of whole numbers, as its file's statistics tell.

        `kind` is what the caller compares in; times count in its unit. None if the column holds a
        null, is of another type, or nobody knows.
        """
        del name, kind
        return None

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """The least value of a column in each row group, as statistics tell.

        Nothing if the column holds a null, is of another type, or nobody knows.
        """
        del name, kind
        return ()

    def statistics(
        self, schema: pa.Schema, row_groups: Sequence[int] | None = None
    ) -> FileStatistics:
        """What the file tells of all its rows, or of some row groups', without that any is read.

        Columns have the names and types that `batches` would give them; those that the file has
        in another type are left out.
        """
        del schema, row_groups
        return FileStatistics()

    def once(self, what: Hashable, check: Callable[[], None]) -> None:
        """Check something of the file: once, as long as the file is known to stay as it is.

        `what` names the check, and all that its outcome depends on beside the file.
        """
        del what
        check()

    def stored(self, schema: pa.Schema) -> tuple[FileReader, Sequence[pa.Field | pa.Scalar]] | None:
        """Where columns come from, for who reads the file in place of this reader.

        Args:
            schema: the columns, in the table's types.

        Returns:
            The reader of the file itself and, for each column, how it would be asked for it: the
            file's name in the table's type; or the value that it has in all rows, null where the
            file lacks it. None where this reader does more to a column than that.
        """
        own = frozenset(self.schema.names)
        return self, [one if one.name in own else pa.scalar(None, one.type) for one in schema]

    def fetch(self, names: Collection[str], row_groups: Sequence[int]) -> None:
        """Ask at once for columns of row groups of a file far away, read by several calls later.

        They come in the background, and stay until two further calls have asked for others.
        """
        del names, row_groups


def rows_of_nulls(schema: pa.Schema, rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Rows of which nothing is read: a count, or columns that the file lacks."""
    for begin in range(0, rows, batch_rows):
        n = min(batch_rows, rows - begin)
        yield batch_of([pa.nulls(n, field.type) for field in schema], schema, n)


def check_rows(rows: int, stated: int, where: str) -> None:
    """Hold the rows that were read of a file to those that its footer states."""
    if rows != stated:
        raise InputError(f"{where}: {counted(rows, 'row')}, but its footer says {stated}")


def check_size(reader: FileReader, size_bytes: int | None, rows: int | None, by: str) -> None:
    """Hold a file to its stated length and number of rows; None where nobody states them.

    `by` says whose metadata these are, for messages.
    """
    if size_bytes is not None and reader.size_bytes != size_bytes:
        raise InputError(
            f"{reader.name}: {counted(reader.size_bytes, 'byte')}, {by} says {size_bytes}"
        )
    if rows is not None and reader.num_rows != rows:
        raise InputError(f"{reader.name}: {counted(reader.num_rows, 'row')}, {by} says {rows}")


class OverReader(FileReader):
    """A reader over another one whose columns it shows otherwise.

    Whatever a file tells must be handed on here: what is not, counts as unknown.
    """

    def __init__(self, reader: FileReader) -> None:
        self.name = reader.name
        self.num_rows = reader.num_rows
        self.num_row_groups = reader.num_row_groups
        self.has_footer = reader.has_footer
        self._reader = reader

    @cached_property
    def schema(self) -> pa.Schema:
        """The file's own columns, as it calls them."""
        return self._reader.schema

    @property
    def created_by(self) -> str:
        """See `FileReader.created_by`."""
        return self._reader.created_by

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """See `FileReader.rows_in`."""
        return self._reader.rows_in(row_groups)

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """What the file's statistics tell; see `FileReader.row_groups_that_may_match`."""
        return self._reader.row_groups_that_may_match(condition, schema, counted)

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file's statistics tell; see `FileReader.greatest`."""
        return self._reader.greatest(name, kind)

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """What the file's statistics tell; see `FileReader.leasts`."""
        return self._reader.leasts(name, kind)

    def statistics(
        self, schema: pa.Schema, row_groups: Sequence[int] | None = None
    ) -> FileStatistics:
        """What the file's statistics tell; see `FileReader.statistics`."""
        return self._reader.statistics(schema, row_groups)


class PageCounts:
    """Counts pages of column chunks of which the page index said what to read.

    Threads may share it.

    Attributes:
        pages: of such chunks, those of dictionaries aside.
        unread: those among them that were not read.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.unread = 0
        self._lock = threading.Lock()

    def add(self, pages: int, read: int) -> None:
        """Count a column chunk."""
        with self._lock:
            self.pages += pages
            self.unread += pages - read


def positions_of(reader: FileReader, row_groups: Sequence[int] | None) -> Positions:
    """Places in the file of the rows of some row groups, or of all (None), in their order."""
    if row_groups is None:
        return np.arange(reader.num_rows, dtype=np.int64)
    groups = range(reader.num_row_groups)
    ends = np.cumsum([reader.rows_in([group]) for group in groups], dtype=np.int64)
    ranges = [np.arange(ends[group] - reader.rows_in([group]), ends[group]) for group in row_groups]
    return np.concatenate(ranges) if ranges else np.empty(0, np.int64)


def check_texts(batch: pa.RecordBatch, source: str) -> None:
    """Make sure that all texts of a batch are UTF-8, at every depth.

    Its buffers are as long as they must be.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for texts in _texts_in(column):
            if not is_plain(texts):
                try:
                    texts.validate(full=True)
                except pa.ArrowInvalid as error:
                    raise InputError(f"{source}: column {name!r} is no text ({error})") from error


def _texts_in(column: pa.Array) -> Iterator[pa.Array]:
    kind = column.type
    if is_text(kind):
        yield column
    elif pa.types.is_dictionary(kind):
        yield from _texts_in(column.dictionary)
    elif pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            yield from _texts_in(column.field(number))
    elif pa.types.is_map(kind):
        yield from _texts_in(column.keys)
        yield from _texts_in(column.items)
    elif pa.types.is_nested(kind):  # lists of any kind
        yield from _texts_in(column.values)


def check_names(names: Iterable[str], known: Collection[str], where: str, what: str) -> None:
    """Refuse names that are one letter away from one that is read."""
    for name in names:
        if name in known:
            continue
        for other in sorted(known):
            if len(other) == len(name) and sum(map(str.__ne__, name, other)) == 1:
                raise InputError(f"{where}: the {what} {name!r} is one letter away from {other!r}")

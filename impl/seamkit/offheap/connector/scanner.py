"""The scanner's side of the row-at-a-time seam, and the loop an engine runs over it."""

from __future__ import annotations

import abc
import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, Self

import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import Chain, OffHeapTable
from seamkit.offheap.columns.types import ColumnType, CTypes, Kind, from_arrow
from seamkit.offheap.connector.append import Appender, bind
from seamkit.offheap.connector.arrow_columns import append_array, has_zones
from seamkit.offheap.connector.gather import BadItemError
from seamkit.offheap.connector.value import ColumnValue, PlainValue
from seamkit.offheap.engine.columns import EngineSchema, fill


@dataclass
class Counters:
    """What a scanner did. Names in brackets are the engine's own counters.

    Attributes:
        open_seconds: time in `open` (ReaderInit).
        read_seconds: time to make chunks (ColumnReadTime).
        convert_seconds: time to fill engine columns from them (ColumnConvertTime).
        raw_rows: rows that the scanner read, those it filters out included (RawRowsRead).
        rows: rows that crossed (RowsRead).
        bytes: bytes of the buffers that crossed.
        chunks: off-heap tables that crossed, the empty one at the end included.
    """

    open_seconds: float = 0.0
    read_seconds: float = 0.0
    convert_seconds: float = 0.0
    raw_rows: int = 0
    rows: int = 0
    bytes: int = 0
    chunks: int = 0


class ConnectorScanner(abc.ABC):
    """A reader that appends one value at a time to off-heap tables.

    Names the Java class `ConnectorScanner`. An engine calls `open`, then in turn
    `get_next_off_heap_chunk`, `release_column` for each column and `release_table`, until a chunk
    has no rows; then `close`. Subclasses write `open`, `get_next` and `close`.

    Unlike in Java, any error in `get_next` releases the table, not only an I/O exception.

    Args:
        fields: names of the columns, in the order of the chain.
        types: their types; kind UNKNOWN for a column that the source lacks.
        fetch_size: rows for which each table has room before anything grows.
        allocator: where all memory comes from; a new one without limit by default.
        sources: types of the columns in the source, where `types` are parts of them.
        zone: of the clocks that show timestamps with a zone (Java: the parameter `time_zone`).
        predicate: a condition on the rows as the engine wrote it. It is handed through: a scanner
            may leave out rows that do not meet it, and says in `counters` how many it read.

    Attributes:
        counters: what the scanner did so far.
        table: the current table, or None.
        appenders: one per column that the source has, in the order of `fields`.
        row_number: rows of the chunks before this one.
    """

    #: Class of the values that `get_next` appends.
    values: type[ColumnValue] = PlainValue

    def __init__(
        self,
        fields: Sequence[str],
        types: Sequence[ColumnType],
        fetch_size: int = 4096,
        allocator: TrackedAllocator | None = None,
        *,
        sources: Sequence[ColumnType] | None = None,
        zone: tzinfo = UTC,
        predicate: str = "",
    ) -> None:
        if len(fields) != len(types):
            raise UsageError(f"{counted(len(fields), 'field')} with {counted(len(types), 'type')}")
        if fetch_size < 0:
            raise UsageError(f"a fetch size is 0 or more, not {fetch_size}")
        self.fields = tuple(fields)
        self._c_types = CTypes(types)  # made once: tables come by the thousand
        self.types = self._c_types.types
        self.fetch_size = fetch_size
        self.sources = tuple(types if sources is None else sources)
        self.zone = zone
        self.predicate = predicate
        self.allocator = allocator or TrackedAllocator()
        self.counters = Counters()
        self.table: OffHeapTable | None = None
        self.appenders: list[Appender] = []
        self.row_number = 0
        self._flushed = 0

    @abc.abstractmethod
    def open(self) -> None:
        """Get ready to read (Java: `open`)."""

    @abc.abstractmethod
    def get_next(self) -> int:
        """Append the next rows (Java: `getNext`).

        Item by item through the `put` of each appender (Java: `appendData(index, ColumnValue)`),
        row by row through `append_rows`, or column by column through `append_batch`.

        Returns:
            The number of rows appended to each column. 0 means the end of the stream: a scanner
            that meets an empty batch on its way must read on.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what `open` took (Java: `close`); repeatable."""

    def append_rows(self, rows: Sequence[Sequence[Any]]) -> None:
        """Put the items of many rows, each as long as `appenders` and in their order."""
        width = len(self.appenders)
        if set(map(len, rows)) - {width}:
            at, row = next((i, r) for i, r in enumerate(rows) if len(r) != width)
            before = self.row_number + self._flushed
            raise InputError(
                f"row {before + at} has {counted(len(row), 'value')} for {counted(width, 'column')}"
            )
        columns = zip(*rows, strict=True)
        for appender, column in zip(self.appenders, columns, strict=bool(rows)):
            appender.items.extend(column)

    def append_batch(self, batch: pa.RecordBatch) -> int:
        """Append whole Arrow columns, vectorised; the number of rows.

        There is one column per appender, in their order, each of the type that
        `columns.types.arrow_type` names for the source's column. A chunk must be being made.
        """
        if self.table is None:
            raise UsageError("rows are appended while a chunk is made: in get_next")
        self._flush()
        known = self._known()
        if batch.num_columns != len(known):
            raise InputError(f"{counted(batch.num_columns, 'column')} cannot fill {len(known)}")
        for index, column in zip(known, batch.columns, strict=True):
            own, wanted = self.sources[index], self.types[index]
            vector, name = self.table.vector(index), self.fields[index]
            append_array(vector, column, own, wanted, self.zone, name)
        self._flushed += batch.num_rows
        return int(batch.num_rows)

    def get_next_off_heap_chunk(self) -> Chain:
        """Make a new table, fill it, and tell where it lies (Java: `getNextOffHeapChunk`).

        The table is the scanner's until `release_table`; one table at a time.
        """
        self.release_table()
        self.table = OffHeapTable(self._c_types, self.fetch_size, self.allocator)
        try:
            self.appenders = [self._bind(index) for index in self._known()]
            rows = self._next_rows()
            self._flush()
            self.table.num_rows = rows
            self.row_number += rows
            return self.table.chain()
        except BaseException:
            self.release_table()
            raise

    def _next_rows(self) -> int:
        rows = self.get_next()
        if rows is None:  # a `return` was forgotten
            raise UsageError("get_next tells how many rows it appended, not None")
        return rows

    def _known(self) -> list[int]:
        return [i for i, column in enumerate(self.types) if column.kind is not Kind.UNKNOWN]

    def _bind(self, index: int) -> Appender:
        assert self.table is not None
        name, source = self.fields[index], self.sources[index]
        return bind(self.table, index, name, self.values, source=source, zone=self.zone)

    def _flush(self) -> None:
        """Append what the appenders gathered, all or nothing; the first row's bad item counts."""
        # `append_batch` does this first, so that rows keep their order.
        first: BadItemError | None = None
        starts = [appender.rows for appender in self.appenders]
        rows = max((len(appender.items) for appender in self.appenders), default=0)
        for appender in self.appenders:
            try:
                appender.flush()
            except BadItemError as bad:
                if first is None or bad.row < first.row:
                    first = bad
        if first is not None:
            for appender, start in zip(self.appenders, starts, strict=True):
                appender.truncate(start)
            raise first.as_error(self.row_number + self._flushed) from first.reason
        self._flushed += rows

    def release_column(self, index: int) -> None:
        """Give one column back (Java: `releaseOffHeapColumnVector`); repeatable."""
        if self.table is not None:
            self.table.release_column(index)

    def release_table(self) -> None:
        """Give the current table back (Java: `releaseOffHeapTable`); repeatable."""
        self.appenders = []  # they hold pointers into the table
        self._flushed = 0
        if self.table is not None:
            self.table.release()
            self.table = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release_table()
        self.close()


def _expected(scanner: ConnectorScanner, schema: Any) -> EngineSchema:
    names = [field.name for field in schema]
    if names != list(scanner.fields):
        raise UsageError(f"the scanner's columns are {list(scanner.fields)}, not {names}")
    for field in schema:
        if scanner.zone is not UTC and has_zones(field.type):
            raise UsageError(
                f"column '{field.name}': what the clocks of {scanner.zone} show is no "
                f"{field.type}; ask for timestamps without a zone"
            )
    types = [
        from_arrow(field.type) if column.kind is Kind.UNKNOWN else column
        for field, column in zip(schema, scanner.types, strict=True)
    ]
    return EngineSchema(schema, types)


def _size(chain: Chain) -> int:
    return sum((ctypes.c_int64 * chain.n_words).from_address(chain.extents))


def stream(scanner: ConnectorScanner, schema: Any) -> Iterator[Any]:
    """Open a scanner and read it to its end, as an engine does.

    Each chunk is copied into a batch of the schema, whose names are the scanner's, in order, and
    whose memory is the scanner's allocator's; then its columns are released, then its table. When
    the stream ends, fails or is dropped, table and scanner are released, too; the `counters` are
    kept.
    """
    expected = _expected(scanner, schema)
    counters = scanner.counters
    clock = time.perf_counter
    with scanner:
        started = clock()
        scanner.open()
        counters.open_seconds += clock() - started
        while True:
            started = clock()
            chain = scanner.get_next_off_heap_chunk()
            read = clock()
            counters.read_seconds += read - started
            counters.chunks += 1
            counters.bytes += _size(chain)
            rows = scanner.table.num_rows if scanner.table else 0
            if rows == 0:
                return
            batch = fill(chain, expected, scanner.allocator, scanner.table)
            scanner.release_table()
            counters.convert_seconds += clock() - read
            counters.rows += rows
            yield batch
            del batch  # or it would live on while the next chunk is made

"""The scanner's side of the row-at-a-time seam, and the loop an engine runs over it."""

from __future__ import annotations

import abc
import ctypes
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from seambench.errors import UsageError
from seambench_impl.columns.engine import EngineSchema, fill
from seambench_impl.columns.table import Chain, OffHeapTable
from seambench_impl.columns.types import ColumnType, Kind, from_arrow
from seambench_impl.connector.append import Appender, bind
from seambench_impl.connector.value import ColumnValue, PlainValue
from seambench_impl.memory import TrackedAllocator

__all__ = ["ConnectorScanner", "Counters", "stream"]


@dataclass
class Counters:
    """What a scanner did. Names in brackets are the engine's own counters.

    Attributes:
        open_seconds: time in `open` (ReaderInit).
        read_seconds: time to make chunks (ColumnReadTime).
        convert_seconds: time to fill engine columns from them (ColumnConvertTime).
        rows: rows that crossed (RowsRead).
        bytes: bytes of the buffers that crossed.
        chunks: off-heap tables that crossed, the empty one at the end included.
    """

    open_seconds: float = 0.0
    read_seconds: float = 0.0
    convert_seconds: float = 0.0
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
    """

    #: Class of the values that `get_next` appends.
    values: type[ColumnValue] = PlainValue

    def __init__(
        self,
        fields: Sequence[str],
        types: Sequence[ColumnType],
        fetch_size: int = 4096,
        allocator: TrackedAllocator | None = None,
    ) -> None:
        if len(fields) != len(types):
            raise UsageError(f"{len(fields)} fields have {len(types)} types")
        if fetch_size < 0:
            raise UsageError(f"a fetch size is 0 or more, not {fetch_size}")
        self.fields = tuple(fields)
        self.types = tuple(types)
        self.fetch_size = fetch_size
        self.allocator = allocator or TrackedAllocator()
        self.counters = Counters()
        self.table: OffHeapTable | None = None
        self.appenders: list[Appender] = []

    @abc.abstractmethod
    def open(self) -> None:
        """Get ready to read (Java: `open`)."""

    @abc.abstractmethod
    def get_next(self) -> int:
        """Append the next rows through `appenders` (Java: `getNext`).

        `appenders` has one function per column that the source has, in the order of `fields`.

        Returns:
            The number of rows appended to each column. 0 means the end of the stream: a scanner
            that meets an empty batch on its way must read on.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what `open` took (Java: `close`)."""

    def get_next_off_heap_chunk(self) -> Chain:
        """Make a new table, fill it, and tell where it lies (Java: `getNextOffHeapChunk`).

        The table is the scanner's until `release_table`; one table at a time.
        """
        self.release_table()
        self.table = OffHeapTable(self.types, self.fetch_size, self.allocator)
        try:
            self.appenders = [
                bind(self.table, index, name, self.values)
                for index, name in enumerate(self.fields)
                if self.types[index].kind is not Kind.UNKNOWN
            ]
            self.table.num_rows = self.get_next()
            return self.table.chain()
        except BaseException:
            self.release_table()
            raise

    def release_column(self, index: int) -> None:
        """Give one column back (Java: `releaseOffHeapColumnVector`); repeatable."""
        if self.table is not None:
            self.table.release_column(index)

    def release_table(self) -> None:
        """Give the current table back (Java: `releaseOffHeapTable`); repeatable."""
        self.appenders = []  # they hold pointers into the table
        if self.table is not None:
            self.table.release()
            self.table = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release_table()
        self.close()


def _expected(scanner: ConnectorScanner, schema: Any) -> EngineSchema:
    names = [field.name for field in schema]
    if names != list(scanner.fields):
        raise UsageError(f"the scanner's columns are {list(scanner.fields)}, not {names}")
    types = [
        from_arrow(field.type) if column.kind is Kind.UNKNOWN else column
        for field, column in zip(schema, scanner.types, strict=True)
    ]
    return EngineSchema(schema, types)


def _size(chain: Chain) -> int:
    return sum((ctypes.c_int64 * chain.n_words).from_address(chain.extents))


def stream(scanner: ConnectorScanner, schema: Any) -> Iterator[Any]:
    """Open a scanner and read it to its end, as an engine does.

    Each chunk is copied into engine columns in the engine's order (fill column 0, release it, fill
    column 1, ...), then its table is released. When the stream ends, fails or is dropped, table and
    scanner are released, too.

    Args:
        scanner: not yet open. Its `counters` are kept.
        schema: `pyarrow.Schema` wanted; names as the scanner's, in order.

    Yields:
        `pyarrow.RecordBatch` per chunk. Their memory is the scanner's allocator's.

    Raises:
        seambench.errors.UsageError: other columns than the scanner's.
        seambench.errors.RefusedError: a column that cannot be read as asked for.
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
            batch = fill(chain, expected, scanner.allocator, scanner.release_column)
            scanner.release_table()
            counters.convert_seconds += clock() - read
            counters.rows += rows
            yield batch
            del batch  # or it would live on while the next chunk is made

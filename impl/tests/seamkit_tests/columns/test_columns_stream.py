"""Arrow C streams into off-heap tables, and tables as a stream."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.engine.columns import EngineSchema
from seamkit.offheap.engine.stream import TableStream, tables


def _rows(count: int) -> Any:
    return pa.table(
        {
            "k": pa.array(range(count), pa.int64()),
            "t": pa.array([None if i % 7 == 0 else f"é{i}" for i in range(count)], pa.string()),
            "l": pa.array(
                [None if i % 5 == 0 else [i, None] for i in range(count)], pa.list_(pa.int32())
            ),
        }
    )


class _Foreign:
    """Anything with the method: no class of Arrow's."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("rows", [1, 7, 100, 1000])
def test_streams_survive_the_way_through_tables(allocator: TrackedAllocator, rows: int) -> None:
    """Stream to tables to stream: the rows that went in, in chunks of the size asked for."""
    source = _rows(100)
    stream = TableStream(tables(_Foreign(source), rows, allocator), EngineSchema(source.schema))
    found = pa.table(stream)
    found.validate(full=True)
    assert found.schema == source.schema
    assert found.equals(source)
    assert {len(chunk) for chunk in found.column(0).chunks} <= {min(rows, 100), 100 % rows}
    del found


def test_another_engine_reads_the_stream(allocator: TrackedAllocator) -> None:
    """DuckDB takes the stream as it takes any."""
    source = _rows(50)
    stream = TableStream(tables(source, 20, allocator), EngineSchema(source.schema))
    with duckdb.connect() as connection:
        connection.register("stream", stream.to_reader())
        found = connection.execute("select count(*), sum(k), count(t) from stream").fetchall()
    assert found == [(50, 1225, 42)]


def test_a_stream_is_read_once(allocator: TrackedAllocator) -> None:
    """The second reader is told so, instead of seeing no rows."""
    source = _rows(3)
    stream = TableStream(tables(source, 2, allocator), EngineSchema(source.schema))
    assert pa.table(stream).num_rows == 3
    with pytest.raises(UsageError, match="read once"):
        stream.to_reader()


def test_a_stream_dropped_half_way_releases_its_tables(allocator: TrackedAllocator) -> None:
    """A reader that goes away takes the rest with it."""
    source = _rows(10)
    stream = TableStream(tables(source, 2, allocator), EngineSchema(source.schema))
    reader = stream.to_reader()
    assert reader.read_next_batch().num_rows == 2
    reader.close()
    del reader


def test_an_error_in_the_source_reaches_the_reader(allocator: TrackedAllocator) -> None:
    """Errors are not the end of the rows: a reader sees them, one of C at least their words."""

    def broken() -> Iterator[OffHeapTable]:
        yield from tables(_rows(2), 2, allocator)
        raise InputError("file x is cut short")

    expected = EngineSchema(_rows(0).schema)
    with pytest.raises(InputError, match="cut short"):
        TableStream(broken(), expected).to_reader().read_all()
    with pytest.raises(pa.ArrowInvalid, match="cut short"):
        pa.table(TableStream(broken(), expected))


@pytest.mark.parametrize(
    ("stream", "rows", "error"),
    [
        (pa.table({"k": [1]}), 0, UsageError),
        (pa.table({"m": pa.array([None], pa.month_day_nano_interval())}), 1, RefusedError),
    ],
    ids=["rows", "type"],
)
def test_streams_that_cannot_be_cut(
    allocator: TrackedAllocator, stream: Any, rows: int, error: type[Exception]
) -> None:
    """A wrong size and a type that no column holds are refused."""
    with pytest.raises(error):
        list(tables(stream, rows, allocator))


def test_batches_without_rows_make_no_table(allocator: TrackedAllocator) -> None:
    """An empty table would end the stream for an engine: there is none in the middle."""
    schema = pa.schema([("k", pa.int32())])
    batches = [pa.record_batch([pa.array(v, pa.int32())], schema=schema) for v in ([1], [], [2])]
    reader = pa.RecordBatchReader.from_batches(schema, batches)
    sizes = []
    for table in tables(reader, 10, allocator):
        with table:
            sizes.append(table.num_rows)
    assert sizes == [1, 1]

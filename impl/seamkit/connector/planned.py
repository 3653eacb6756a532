"""What a planner left in a read unit, and the rows of a unit's files as they stand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Self

import pyarrow as pa

from seambase.encodings import made_anew
from seambase.errors import RefusedError
from seambase.scan import ScanWarning
from seamkit.core.memory import TrackedAllocator
from seamkit.files.reader import FileReader
from seamkit.offheap.columns.types import ColumnType
from seamkit.offheap.connector.parameters import Common
from seamkit.offheap.connector.rows import RowScanner
from seamkit.scan.units import ReadContext, UnitFile

Row = Mapping[str, Any]
_BATCH_ROWS = 4096


def stated(call: Callable[..., Any]) -> Mapping[str, Any]:
    """The first arguments of a function that a planner bound, by the names of its parameters.

    They are what a plan written as JSON holds (`seamkit.ranges.codec`): files, schemas, vectors.
    The object of a method is `self`.
    """
    bare, given = (call.func, call.args) if isinstance(call, partial) else (call, ())
    owner = getattr(bare, "__self__", None)
    own = {} if owner is None else {"self": owner}
    return own | inspect.signature(bare).bind_partial(*given).arguments


def word(call: Callable[..., Any]) -> str:
    """The name of that function."""
    name: str = (call.func if isinstance(call, partial) else call).__name__
    return name


def file_rows(file: UnitFile, schema: pa.Schema) -> Iterator[Row]:
    """The rows of a file in order, each with the columns of a schema."""
    yield from reader_rows(file.open(), schema)


def reader_rows(reader: FileReader, schema: pa.Schema) -> Iterator[Row]:
    """The same of an open file."""
    return rows_of(reader.batches(schema, _BATCH_ROWS, use_threads=False))


def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    """Rows as Python values; points in time finer than Python's count nanoseconds."""
    for batch in batches:
        if not batch.num_columns:
            yield from ({} for _ in range(batch.num_rows))
            continue
        columns = [_whole(column).to_pylist() for column in batch.columns]
        names = batch.schema.names
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def is_fine(kind: pa.DataType) -> bool:
    """Whether Python has no value for a type's: points in time in nanoseconds."""
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


def plain(value: pa.Scalar) -> Any:
    """One value as Python has it."""
    return (value.cast(pa.int64()) if is_fine(value.type) else value).as_py()


def _whole(column: pa.Array) -> pa.Array:
    """A column with numbers in the place of points in time in nanoseconds, at any depth."""
    if "[ns" not in str(column.type):
        return column
    return column.cast(made_anew(column.type, lambda kind: pa.int64() if is_fine(kind) else kind))


def refuse_nan(value: Any, name: str, where: str) -> None:
    """Refuse to order rows by NaN, which Paimon's comparators take for equal to every number."""
    if isinstance(value, float) and value != value:
        raise RefusedError(
            f"{where}: the column {name!r}, by which rows are merged, has NaN, which has no "
            "place in the order of the table's own engine"
        )


class PlannedScanner(RowScanner):
    """The rows of what somebody planned.

    Attributes:
        warnings: what was skipped; complete at the end.
    """

    warnings: list[ScanWarning]

    @classmethod
    def over(
        cls,
        types: Mapping[str, ColumnType],
        rows: Callable[[ReadContext], Iterator[Row]],
        fetch_size: int,
        common: Common,
        allocator: TrackedAllocator | None,
    ) -> Self:
        """One whose rows have columns of these names and types."""
        warnings: list[ScanWarning] = []
        read = rows(ReadContext(allocator or TrackedAllocator(), warnings))
        scanner = cls(
            list(types),
            list(types.values()),
            (tuple(row[name] for name in types) for row in read),
            fetch_size,
            required=common.required,
            nested=common.nested,
            zone=common.zone,
            allocator=allocator,
        )
        scanner.warnings = warnings
        scanner.predicate = common.predicate
        return scanner

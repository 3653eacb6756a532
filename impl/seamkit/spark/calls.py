"""What Spark's tasks ask of this side: batches of scans, rows of batches, batches of rows.

Implements `NativeCalls` of `java/NativeBatches.java`. Tasks call it from threads of Java; the work
itself is done without the GIL. Readers, converters and collections have numbers, given out once.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, SeambenchError, UsageError
from seambase.serde import SerdeField
from seambase.type_fields import fields_of
from seamkit.core.memory import TrackedAllocator
from seamkit.engines.spark_source import condition_of
from seamkit.gluten.handles import HandleRegistry
from seamkit.gluten.rows import RowConverter
from seamkit.jvm.machine import start
from seamkit.scan.scan import Scan
from seamkit.serde.rows.codec import RowCodec
from seamkit.serde.rows.unsafe_row import UnsafeRows

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _told(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Errors of ours reach Java with the name of their class and their sentence on a line.

    Others by their words: Spark could not send Python's own from a task.
    """

    @wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            ours = (k for k in type(error).__mro__ if k.__module__ == SeambenchError.__module__)
            known = next(ours, None)
            name = f"\n{known.__module__}.{known.__name__}" if known else type(error).__name__
            text = f"{name}: {error}"
            raise start().JClass("java.lang.RuntimeException")(text) from error

    return call


@dataclass
class _Reader:
    """One part of a scan while a task reads it."""

    batches: pa.RecordBatchReader
    schema: pa.Schema
    #: Handle and rows of the last batch, where Java reads them.
    words: Any = field(default_factory=lambda: np.zeros(2, np.int64))


class _Rows:
    """Columns into rows, for one task."""

    def __init__(self, allocator: TrackedAllocator, threshold_bytes: int) -> None:
        self._allocator = allocator
        self._threshold = threshold_bytes
        self._converter: RowConverter | None = None
        self._words = np.zeros(4, np.int64)
        self._kept: object = None

    def convert(self, batch: pa.RecordBatch, first: int) -> int:
        if self._converter is None:  # a task's batches have one schema
            codec = UnsafeRows(fields_of(batch.schema, "spark"), allocator=self._allocator)
            self._converter = RowConverter(codec, self._threshold)
        rows = self._converter.convert(batch, first)
        data = np.frombuffer(rows.data, np.uint8)
        self._kept = rows
        self._words[:] = (
            len(rows.lengths),
            data.ctypes.data,
            rows.offsets.ctypes.data,
            rows.lengths.ctypes.data,
        )
        return int(self._words.ctypes.data)


def _words(address: int, count: int) -> np.ndarray[Any, Any]:
    """Words of memory that Java holds meanwhile."""
    return np.frombuffer(pa.foreign_buffer(address, 8 * count), np.int64)


def _array_of(words: Iterator[int], kind: pa.DataType) -> pa.Array:
    """The next vector that `VectorWords` of `java/ArrowBatches.java` tells, copied."""
    rows, count = next(words), next(words)
    buffers = [_copied(next(words), next(words)) for _ in range(count)]
    buffers += [None] * (kind.num_buffers - count)  # nulls alone have a place for a bitmap
    children = [_array_of(words, kind.field(i).type) for i in range(kind.num_fields)]
    return pa.Array.from_buffers(kind, rows, buffers, children=children)


def _copied(address: int, size: int) -> pa.Buffer:
    return pa.py_buffer(pa.foreign_buffer(address, size).to_pybytes() if size else b"")


@dataclass(frozen=True)
class KeptBatches:
    """Batches that tasks keep for somebody who waits for them.

    Attributes:
        number: by which tasks know it.
    """

    number: int
    _handles: HandleRegistry
    _kept: list[int]

    def batches(self) -> list[pa.RecordBatch]:
        """All that was kept so far, in the order in which it was."""
        return [self._handles.load(handle) for handle in self._kept]


class NativeCalls:
    """The native side of one session. Rows, and batches made of rows, are the allocator's."""

    def __init__(self, handles: HandleRegistry, allocator: TrackedAllocator) -> None:
        self._handles = handles
        self._allocator = allocator
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._scans: list[tuple[Scan, pa.Schema]] = []
        self._conditions: list[pc.Expression | None] = [None]
        self._readers: dict[int, _Reader] = {}
        self._rows: dict[int, _Rows] = {}
        self._columns: dict[int, RowCodec] = {}
        self._collections: dict[int, list[int]] = {}

    # ----------------------------------------------------------------------- for this language

    def add_scan(self, scan: Scan, schema: pa.Schema) -> int:
        """Take a scan that tasks will read, and the schema in which Spark takes its batches."""
        self._scans.append((scan, schema))
        return len(self._scans) - 1

    @contextmanager
    def collection(self) -> Iterator[KeptBatches]:
        """Keep batches that tasks make, until the block ends, however it ends."""
        number = next(self._numbers)
        self._collections[number] = []
        try:
            yield KeptBatches(number, self._handles, self._collections[number])
        finally:
            with self._lock:
                kept = self._collections.pop(number)
            for handle in kept:
                self._handles.release(handle)

    @property
    def in_use(self) -> int:
        """Readers and converters that no task has ended yet."""
        return len(self._readers) + len(self._rows) + len(self._columns)

    # ------------------------------------------------------------------------------- for Spark

    @_told
    def openPart(  # noqa: N802 - the interface's names
        self, scan: int, part: int, columns: Sequence[Any], condition: int
    ) -> int:
        """Begin to read a part; see `NativeCalls.java` for this and what follows."""
        planned, schema = self._scans[scan]
        names = [str(name) for name in columns]
        reader = planned.part(part, names, self._conditions[condition]).to_reader()
        target = pa.schema([schema.field(name) for name in names])
        number = next(self._numbers)
        self._readers[number] = _Reader(reader, target)
        return number

    @_told
    def nextBatch(self, reader: int) -> int:  # noqa: N802
        """The next batch of a reader; 0 at the end."""
        found = self._readers[reader]
        try:
            batch = found.batches.read_next_batch()
        except StopIteration:
            return 0
        if batch.schema != found.schema and batch.num_columns:
            batch = batch.cast(found.schema)
        native = self._handles.hold(batch)
        found.words[:] = native.indicator.handle if native.indicator else 0, batch.num_rows
        return int(found.words.ctypes.data)

    @_told
    def closePart(self, reader: int) -> None:  # noqa: N802
        """End a reader."""
        self._readers.pop(reader).batches.close()

    @_told
    def retain(self, handle: int) -> None:
        """One user more."""
        self._handles.retain(handle)

    @_told
    def release(self, handle: int) -> None:
        """One user less."""
        self._handles.release(handle)

    @_told
    def arrowArray(self, handle: int) -> int:  # noqa: N802
        """The C structure of a batch."""
        return self._handles.structure(handle)

    @_told
    def openRows(self, threshold: int) -> int:  # noqa: N802
        """Begin to turn batches into rows."""
        number = next(self._numbers)
        self._rows[number] = _Rows(self._allocator, threshold)
        return number

    @_told
    def columnsToRows(self, converter: int, handle: int, first: int) -> int:  # noqa: N802
        """Rows of a batch from one row on."""
        return self._rows[converter].convert(self._handles.load(handle), first)

    @_told
    def closeRows(self, converter: int) -> None:  # noqa: N802
        """End a converter."""
        del self._rows[converter]

    @_told
    def openColumns(self, names: Sequence[Any], types: Sequence[Any]) -> int:  # noqa: N802
        """Begin to turn rows into batches."""
        fields = [SerdeField(str(n), str(t)) for n, t in zip(names, types, strict=True)]
        number = next(self._numbers)
        self._columns[number] = UnsafeRows(fields, allocator=self._allocator)
        return number

    @_told
    def rowsToColumns(  # noqa: N802
        self, converter: int, address: int, lengths: int, rows: int
    ) -> int:
        """A batch of rows that lie end to end."""
        sizes = _words(lengths, rows)
        data = pa.foreign_buffer(address, int(sizes.sum()))
        return self._handle(self._columns[converter].deserialize(data, lengths=sizes))

    def _handle(self, batch: pa.RecordBatch) -> int:
        """A batch with columns behind a handle."""
        native = self._handles.hold(batch)
        assert native.indicator is not None
        return native.indicator.handle

    @_told
    def vectorsToColumns(self, converter: int, words: int) -> int:  # noqa: N802
        """A copy of vectors of Arrow's Java library."""
        count = int(_words(words, 1)[0])
        told = iter(_words(words + 8, count).tolist())
        schema = self._columns[converter].program.schema
        arrays = [_array_of(told, kind) for kind in schema.types]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        try:
            batch.validate(full=True)  # Spark looks into no text
        except pa.ArrowInvalid as error:
            raise InputError(f"Spark's rows hold what Arrow's columns cannot: {error}") from error
        return self._handle(batch)

    @_told
    def closeColumns(self, converter: int) -> None:  # noqa: N802
        """End a converter."""
        del self._columns[converter]

    @_told
    def keep(self, collection: int, handle: int) -> None:
        """One user more, until the collection ends."""
        with self._lock:
            if collection not in self._collections:
                raise UsageError("nobody waits for these results any more")
            self._handles.retain(handle)
            self._collections[collection].append(handle)

    @_told
    def pushFilters(self, scan: int, filters: Any) -> int:  # noqa: N802
        """The number of the condition that filters of Spark come to."""
        condition = condition_of(str(filters), self._scans[scan][0].schema)
        if condition is None:
            return 0
        self._conditions.append(condition)
        return len(self._conditions) - 1

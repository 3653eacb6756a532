"""What Spark's tasks ask of Python: readers of scans, and what tasks begin and end with.

Implements `NativeCalls` of `java/NativeBatches.java`. Tasks call it from threads of Java. Batches,
rows of them and batches of rows are none of it: Java calls the core (`NativeCode`). Readers and
collections have numbers, given out once.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, SeambenchError, UsageError
from seambase.serde import SerdeField
from seamkit.core._seam import ffi, lib
from seamkit.core.border import address, call
from seamkit.engines.spark_source import condition_of
from seamkit.gluten.handles import HandleRegistry
from seamkit.jvm.machine import start
from seamkit.scan.scan import Scan
from seamkit.serde.rows.program import RowProgram

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _named_errors(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Errors of ours reach Java with the name of their class and their sentence on a line."""
    # Others by their words: Spark could not send Python's own from a task.

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
    """One part of a scan while a task reads it, through the core's `struct ArrowArrayStream *`."""

    batches: pa.RecordBatchReader
    stream: Any


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
    """Batches that tasks keep for somebody who waits for them."""

    number: int  # by which tasks know it
    _handles: HandleRegistry
    _kept: list[int]

    def batches(self) -> list[pa.RecordBatch]:
        """All that was kept so far, in the order in which it was."""
        return [self._handles.load(handle) for handle in self._kept]


class NativeCalls:
    """What Java asks Python for in one session, mostly as tasks begin and end."""

    def __init__(self, handles: HandleRegistry) -> None:
        self._handles = handles
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._scans: list[tuple[Scan, pa.Schema]] = []
        self._conditions: list[pc.Expression | None] = [None]
        self._readers: dict[int, _Reader] = {}
        self._programs: dict[tuple[SerdeField, ...], RowProgram] = {}
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
        """Readers that no task has ended yet."""
        return len(self._readers)

    # ------------------------------------------------------------------------------- for Spark

    @_named_errors
    def openPart(  # noqa: N802 - the interface's names
        self, scan: int, part: int, columns: Sequence[Any], condition: int
    ) -> list[int]:
        """Begin to read a part; see `NativeCalls.java` for this and what follows."""
        planned, schema = self._scans[scan]
        names = [str(name) for name in columns]
        reader = planned.part(part, names, self._conditions[condition]).to_reader()
        target = pa.schema([schema.field(name) for name in names])
        if reader.schema != target and names:
            reader = reader.cast(target)
        stream = ffi.gc(ffi.new("struct ArrowArrayStream *"), lib.seam_stream_release)
        reader._export_to_c(address(stream))
        number = next(self._numbers)
        self._readers[number] = _Reader(reader, stream)
        return [number, address(stream), self._handles.form(target)]

    @_named_errors
    def closePart(self, reader: int) -> None:  # noqa: N802
        """End a reader."""
        ended = self._readers.pop(reader)
        ended.batches.close()
        ffi.release(ended.stream)

    @_named_errors
    def openConverter(  # noqa: N802
        self, names: Sequence[Any], types: Sequence[Any], threshold: int
    ) -> int:
        """A converter of the core for a task, which ends it."""
        program = self._program(names, types)
        form = self._handles.form(program.schema)
        made = ffi.new("struct seam_row_converter **")
        call(lib.seam_row_converter_new, self._handles.pointer, program.root, form, threshold, made)
        return int(ffi.cast("intptr_t", made[0]))

    def _program(self, names: Sequence[Any], types: Sequence[Any]) -> RowProgram:
        """That of some columns, kept as long as a converter may use it."""
        fields = tuple(SerdeField(str(n), str(t)) for n, t in zip(names, types, strict=True))
        with self._lock:
            if fields not in self._programs:
                self._programs[fields] = RowProgram(fields)
            return self._programs[fields]

    @_named_errors
    def vectorsToColumns(  # noqa: N802
        self, names: Sequence[Any], types: Sequence[Any], words: int
    ) -> int:
        """A copy of vectors of Arrow's Java library."""
        count = int(_words(words, 1)[0])
        numbers = iter(_words(words + 8, count).tolist())
        schema = self._program(names, types).schema
        arrays = [_array_of(numbers, kind) for kind in schema.types]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        try:
            batch.validate(full=True)  # Spark looks into no text
        except pa.ArrowInvalid as error:
            raise InputError(f"Spark's rows hold what Arrow's columns cannot: {error}") from error
        native = self._handles.hold(batch)
        assert native.indicator is not None
        return native.indicator.handle

    @_named_errors
    def keep(self, collection: int, handles: Sequence[int]) -> None:
        """Take over a user of each handle, until the collection ends."""
        with self._lock:
            if collection not in self._collections:
                raise UsageError("nobody waits for these results any more")
            self._collections[collection].extend(map(int, handles))

    @_named_errors
    def pushFilters(self, scan: int, filters: Any) -> int:  # noqa: N802
        """The number of the condition that filters of Spark come to."""
        condition = condition_of(str(filters), self._scans[scan][0].schema)
        if condition is None:
            return 0
        self._conditions.append(condition)
        return len(self._conditions) - 1

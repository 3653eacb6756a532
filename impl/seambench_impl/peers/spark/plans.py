"""Operators between columns and rows in one JVM, Spark's and those of our backends, run directly.

Each runs as a task would, on the calling thread, over batches or rows that are there already. A
timed run is many passes over the same ones, so that calls from Python do not show.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pyarrow as pa

from seambase.foreign_arrow import stream_of
from seambase.serde import SerdeRequest
from seambase.types import parse_schema
from seambench.contracts.common import Stage
from seambench_impl.peers.jvm import SOURCES, run_warm
from seambench_impl.peers.spark.chain import ArrowChain, chain_arrays, forms_of, spark_schema
from seamkit.core.border import batch_of
from seamkit.gluten.handles import NativeBatch
from seamkit.jvm.machine import JavaClasses
from seamkit.jvm.sources import compiled_package
from seamkit.spark.session import BackendName, NativeSpark, native_classes

_PASS_ROWS = 65_536
#: How long each step runs before it is timed, so that Java compiles it.
WARM_UP_SECONDS = 3.0
#: Bounds where a request states none: those of `NativeSpark`.
THRESHOLD_BYTES, BATCH_ROWS = 64 << 20, 4096


@functools.cache
def session() -> NativeSpark:
    """One session for all that is run; it ends with the process."""
    return NativeSpark(threads=1)


@functools.cache
def _classes() -> JavaClasses:
    return compiled_package(
        "seambench.spark", sorted(SOURCES.glob("Spark*.java")), native_classes()
    )


class Plans(ABC):
    """An engine's two operators for one schema.

    Args:
        request: its columns; options `threshold_bytes` and `batch_rows`.
    """

    def __init__(self, request: SerdeRequest) -> None:
        self.types = parse_schema(request)
        self.names = [field.name for field in request.fields]
        self.threshold = int(request.options.get("threshold_bytes", THRESHOLD_BYTES))
        self.batch_rows = int(request.options.get("batch_rows", BATCH_ROWS))
        self.session = session()
        self.java = _classes()
        self._plans = self.java.java_class("seambench.SparkPlans")
        self._columns = self.java.java_class("seambench.SparkColumns")
        self.row_class = self.java.java_class("seambench.SparkRows")
        with self.java.inside():
            self.schema = spark_schema(self.java, self.names, self.types)
        self.call("activate")

    def call(self, method: str, *arguments: Any) -> Any:
        """Call the Java side, where engines find their classes."""
        with self.java.inside():
            return getattr(self._plans, method)(*arguments)

    @abstractmethod
    def inputs(self, batches: Sequence[pa.RecordBatch]) -> AbstractContextManager[Any]:
        """Batches as the operator takes them, a Java list; they end with the context."""

    @abstractmethod
    def to_rows(self, inputs: Any, passes: int) -> Any:
        """The operator over batches of `inputs`, ready to run."""

    @abstractmethod
    def to_batches(self, rows: Any) -> list[pa.RecordBatch]:
        """What the other operator makes of a Java list of rows, once."""

    @abstractmethod
    def drain_batches(self, rows: Any, passes: int) -> Callable[[], Any]:
        """The same so often, for nothing but its time."""

    def calls(self, batches: Sequence[pa.RecordBatch]) -> list[list[bytes]]:
        """Rows of batches, by calls: those that lie behind each other."""
        with self.inputs(batches) as inputs:
            data, lengths, follows = self.call("bytesOfRows", self.to_rows(inputs, 1))
        content, at, found = bytes(data), 0, list[list[bytes]]()
        for length, follow in zip(map(int, lengths), map(bool, follows), strict=True):
            if not follow:
                found.append([])
            found[-1].append(content[at : at + length])
            at += length
        return found

    def packed(self, data: bytes, offsets: Sequence[int], lengths: Sequence[int]) -> Any:
        """Rows within bytes, as Java has them."""
        jpype = self.java.jpype
        ints = jpype.JArray(jpype.JInt)
        content = jpype.JArray(jpype.JByte)(memoryview(data).cast("b") if data else [])
        with self.java.inside():
            return self.row_class.readPacked(
                content, len(self.types), ints(list(offsets)), ints(list(lengths))
            )

    def vectors(self, batch: pa.RecordBatch) -> Any:
        """A batch in Spark's own vectors."""
        with self.java.inside():
            chain = ArrowChain(self.types, batch)
            return self._columns.batch(chain.address, self.schema, self._forms(), False)

    def batch(self, rows: Any) -> pa.RecordBatch:
        """Rows of Spark's as Arrow, as their getters give them."""
        with self.java.inside():
            chain = self._columns.chain(rows, self.schema, self._forms())
            arrays = chain_arrays(chain, self.types)
        return batch_of(arrays, self.names, len(rows))

    def _forms(self) -> Any:
        jpype = self.java.jpype
        return jpype.JArray(jpype.JInt)(forms_of(self.types))

    def stages(self, batch: pa.RecordBatch) -> Iterator[Stage]:
        """Both operators over a batch, warmed."""
        passes = max(1, _PASS_ROWS // max(batch.num_rows, 1))
        with self.java.inside():
            generic = self._columns.rows(self.vectors(batch))
        own = self.call("unsafeRows", generic, self.schema)
        size = sum(int(row.getSizeInBytes()) for row in own)
        held = self.inputs([batch])  # it ends with the step, which keeps it
        plan = self.to_rows(held.__enter__(), passes)
        runs: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
            "columnar-to-row": (
                partial(self._drained, plan, held),
                lambda _: self._again([batch]),
            ),
            "row-to-columnar": (
                self.drain_batches(own, passes),
                lambda _: pa.Table.from_batches(self.to_batches(own)),
            ),
        }
        for name, (run, rows) in runs.items():
            run_warm(partial(_once, run), WARM_UP_SECONDS)
            yield Stage(f"unsaferow/{name}", run, rows, size, passes)

    def _drained(self, plan: Any, _held: AbstractContextManager[Any]) -> Any:
        return self.call("drainRows", plan)

    def _again(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """Batches through rows, as the rows' getters give them."""
        rows = [row for call in self.calls(batches) for row in call]
        lengths = [len(row) for row in rows]
        offsets = [sum(lengths[:at]) for at in range(len(lengths))]
        return self.batch(self.packed(b"".join(rows), offsets, lengths))


def _once(run: Callable[[], Any], _: int) -> None:
    run()


class SparkOwn(Plans):
    """ColumnarToRowExec over Spark's own vectors, and RowToColumnarExec into them."""

    @contextmanager
    def inputs(self, batches: Sequence[pa.RecordBatch]) -> Iterator[Any]:
        """See `Plans`."""
        yield self.java.list(map(self.vectors, batches))

    def to_rows(self, inputs: Any, passes: int) -> Any:
        """See `Plans`."""
        return self.call("sparkRows", inputs, self.schema, passes)

    def _to_columns(self, rows: Any, passes: int) -> Any:
        setting = "spark.sql.inMemoryColumnarStorage.batchSize"
        self.session.session.conf.set(setting, self.batch_rows)
        return self.call("sparkColumns", rows, self.schema, passes)

    def to_batches(self, rows: Any) -> list[pa.RecordBatch]:
        """See `Plans`."""
        found = self.call("copiesByBatch", self._to_columns(rows, 1))
        return [self.batch(batch) for batch in found]

    def drain_batches(self, rows: Any, passes: int) -> Callable[[], Any]:
        """See `Plans`."""
        return partial(self.call, "drainBatches", self._to_columns(rows, passes))


class SparkArrow(SparkOwn):
    """The former over vectors of Arrow's Java library, and Spark's ArrowWriter into them."""

    @contextmanager
    def inputs(self, batches: Sequence[pa.RecordBatch]) -> Iterator[Any]:
        """See `Plans`."""
        streams = (stream_of([batch], batch.schema).to_pybytes() for batch in batches)
        handed = [self.call("arrowBatch", stream) for stream in streams]
        try:
            yield self.java.list(handed)
        finally:
            for one in handed:
                one.close()

    def _write(self, rows: Any, passes: int, copies: Any) -> Any:
        plan = self.call("onlyRows", rows, self.schema, passes)
        return self.call("writeArrow", plan, self.schema, self.batch_rows, copies)

    def to_batches(self, rows: Any) -> list[pa.RecordBatch]:
        """See `Plans`."""
        copies = self.java.list(())
        self._write(rows, 1, copies)
        return [self.batch(batch) for batch in copies]

    def drain_batches(self, rows: Any, passes: int) -> Callable[[], Any]:
        """See `Plans`."""
        plan = self.call("onlyRows", rows, self.schema, passes)
        return partial(self.call, "writeArrow", plan, self.schema, self.batch_rows, None)


class BackendPlans(Plans):
    """The operators of one of our backends."""

    backend_name: BackendName = "native"

    def __init__(self, request: SerdeRequest) -> None:
        super().__init__(request)
        backends = self.java.java_class("seamkit.Backends")
        self._backend = backends.of(self.backend_name, self.threshold, self.batch_rows)

    def behind_handle(self, batch: pa.RecordBatch) -> NativeBatch:
        """A batch as an operator of the backend finds it; its one user is to release it."""
        return self.session.handles.hold(batch)

    @contextmanager
    def inputs(self, batches: Sequence[pa.RecordBatch]) -> Iterator[Any]:
        """See `Plans`."""
        handed = []
        try:
            for batch in batches:
                held = self.behind_handle(batch)
                handle = held.indicator.handle if held.indicator else 0
                with self.java.inside():
                    handed.append(self._backend.batch(handle, self.schema, batch.num_rows))
            yield self.java.list(handed)
        finally:
            for one in handed:
                one.close()

    def to_rows(self, inputs: Any, passes: int) -> Any:
        """See `Plans`."""
        return self.call("backendRows", self._backend, inputs, self.schema, passes)

    def _to_columns(self, rows: Any, passes: int) -> Any:
        return self.call("backendColumns", self._backend, rows, self.schema, passes)

    def to_batches(self, rows: Any) -> list[pa.RecordBatch]:
        """See `Plans`."""
        plan = self._to_columns(rows, 1)
        with self.session.kept_batches() as kept:
            numbers = self.call("keepBatches", plan, self.schema, self._backend, kept.number)
            return [
                self.session.handles.load(number) if number > 0 else batch_of((), (), -number)
                for number in map(int, numbers)
            ]

    def drain_batches(self, rows: Any, passes: int) -> Callable[[], Any]:
        """See `Plans`."""
        return partial(self.call, "drainBatches", self._to_columns(rows, passes))


class TablePlans(BackendPlans):
    """Those of the native backend over off-heap tables, whose chains become rows."""

    def behind_handle(self, batch: pa.RecordBatch) -> NativeBatch:
        """See `BackendPlans`."""
        return self.session.handles.to_native(batch)


class ArrowPlans(BackendPlans):
    """Those of the other backend."""

    backend_name: BackendName = "arrow"

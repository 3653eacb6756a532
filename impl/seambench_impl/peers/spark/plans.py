"""Spark's operators between columns and rows, and the native ones, on one batch in one JVM.

`columnar-to-row` turns a batch into UnsafeRows and visits them; `row-to-columnar` turns UnsafeRows
into batches. Each runs the operator itself, as a task would, on the calling thread; a run is many
passes over the same batch, so that calls from Python do not show.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from seambase.foreign_arrow import stream_of
from seambase.serde import SerdeRequest
from seambase.type_fields import fields_of
from seambase.types import parse_schema
from seambench.contracts.common import Stage
from seambench_impl.peers.jvm import SOURCES, run_warm
from seambench_impl.peers.spark.chain import ArrowChain, chain_arrays, forms_of, spark_schema
from seamkit.jvm.machine import JavaClasses
from seamkit.spark.session import NativeSpark, native_classes

_PASS_ROWS = 65_536
#: How long each step runs before it is timed, so that Java compiles it.
WARM_UP_SECONDS = 3.0


@functools.cache
def session() -> NativeSpark:
    """One session for all that is timed; it ends with the process."""
    return NativeSpark(threads=1)


@functools.cache
def _classes() -> JavaClasses:
    return native_classes().compiled(SOURCES / "SparkColumns.java", SOURCES / "SparkPlans.java")


class SparkPlans:
    """One batch, as every operator wants it."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        request = SerdeRequest("unsaferow", fields_of(batch.schema, "spark"))
        self._types = parse_schema(request)
        self.session = session()
        self._java = _classes()
        self._plans = self._java.java_class("seambench.SparkPlans")
        self._columns = self._java.java_class("seambench.SparkColumns")
        self.schema = spark_schema(self._java, batch.schema.names, self._types)
        self.batch = batch
        self.passes = max(1, _PASS_ROWS // max(batch.num_rows, 1))
        self.call("activate")
        with self._java.inside():
            chain = ArrowChain(self._types, batch)
            self.vectors = self._columns.batch(chain.address, self.schema, self._forms(), False)
            rows = self._columns.rows(self.vectors)
            self.rows = self._plans.unsafeRows(rows, self.schema)
        held = self.session.handles.hold(batch)
        self.handle = held.indicator.handle if held.indicator else 0
        weakref.finalize(self, held.release)
        self.row_bytes = sum(int(row.getSizeInBytes()) for row in self.rows)

    def call(self, method: str, *arguments: Any) -> Any:
        """Call the Java side, where engines find their classes."""
        with self._java.inside():
            return getattr(self._plans, method)(*arguments)

    def items(self, *items: Any) -> Any:
        """A list for Java."""
        return self._java.list(items)

    def table(self, rows: Any) -> pa.Table:
        """Rows of Spark's as Arrow, as their getters give them."""
        with self._java.inside():
            chain = self._columns.chain(rows, self.schema, self._forms())
            try:
                arrays = chain_arrays(int(chain.address), int(chain.words), self._types)
            finally:
                chain.free()
        return pa.Table.from_arrays(arrays, names=self.batch.schema.names)

    def stage(
        self,
        name: str,
        drain: str,
        plan: Callable[[int], Any],
        rows: Callable[[Any], pa.RecordBatch | pa.Table],
    ) -> Stage:
        """A step, warmed: a run drains a plan of many passes, its rows come from one of one pass.

        `drain` is the method of Java that runs a plan.
        """
        long, short = plan(self.passes), plan(1)
        run = partial(self.call, drain, long)
        run_warm(lambda _: run(), WARM_UP_SECONDS)
        return Stage(name, run, lambda _: rows(short), self.row_bytes, self.passes)

    def _forms(self) -> Any:
        jpype = self._java.jpype
        return jpype.JArray(jpype.JInt)(forms_of(self._types))


def spark_stages(batch: pa.RecordBatch) -> list[Stage]:
    """Spark's ColumnarToRowExec over its own vectors, and its RowToColumnarExec into them."""
    plans = SparkPlans(batch)
    return [_spark_rows(plans, plans.vectors), _spark_columns(plans)]


def arrow_stages(batch: pa.RecordBatch) -> list[Stage]:
    """The same over vectors of Arrow's Java library; into them by Spark's ArrowWriter."""
    plans = SparkPlans(batch)
    vectors = plans.call("arrowBatch", stream_of([batch], batch.schema).to_pybytes())
    return [_spark_rows(plans, vectors), _arrow_columns(plans)]


def native_stages(batch: pa.RecordBatch) -> list[Stage]:
    """The native operators: over a batch behind a handle, and from rows to such batches."""
    plans = SparkPlans(batch)
    return [_native_rows(plans), _native_columns(plans)]


def _spark_rows(plans: SparkPlans, vectors: Any) -> Stage:
    def plan(passes: int) -> Any:
        return plans.call("sparkRows", plans.items(vectors), plans.schema, passes)

    return plans.stage(
        "columnar-to-row", "drainRows", plan, lambda one: plans.table(plans.call("copies", one))
    )


def _spark_columns(plans: SparkPlans) -> Stage:
    def plan(passes: int) -> Any:
        return plans.call("sparkColumns", plans.rows, plans.schema, passes)

    def rows(one: Any) -> pa.Table:
        return plans.table(plans.call("copiesOfBatches", one))

    return plans.stage("row-to-columnar", "drainBatches", plan, rows)


def _arrow_columns(plans: SparkPlans) -> Stage:
    long, short = (
        plans.call("onlyRows", plans.rows, plans.schema, passes) for passes in (plans.passes, 1)
    )
    size = plans.batch.num_rows

    def run() -> Any:
        return plans.call("writeArrow", long, plans.schema, size, None)

    def rows(_: Any) -> pa.Table:
        copies = plans.items()
        plans.call("writeArrow", short, plans.schema, size, copies)
        return plans.table(copies)

    run_warm(lambda _: run(), WARM_UP_SECONDS)
    return Stage("row-to-columnar", run, rows, plans.row_bytes, plans.passes)


def _native_rows(plans: SparkPlans) -> Stage:
    def plan(passes: int) -> Any:
        return plans.call("nativeRows", plans.handle, plans.batch.num_rows, plans.schema, passes)

    return plans.stage(
        "columnar-to-row", "drainRows", plan, lambda one: plans.table(plans.call("copies", one))
    )


def _native_columns(plans: SparkPlans) -> Stage:
    def plan(passes: int) -> Any:
        return plans.call("nativeColumns", plans.rows, plans.schema, passes)

    def rows(one: Any) -> pa.Table:
        with plans.session.kept_batches() as kept:
            plans.call("keepBatches", one, kept.number)
            return pa.Table.from_batches(kept.batches())

    return plans.stage("row-to-columnar", "drainBatches", plan, rows)

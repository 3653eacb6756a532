"""A Spark session in a JVM of this process, whose tasks read through native batches."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from weakref import WeakKeyDictionary

import pyarrow as pa

from seambase import errors
from seambase.encodings import spark_type
from seambase.errors import SeambenchError, UsageError
from seambase.extras import needs
from seambase.type_fields import fields_of
from seamkit.core._seam import ffi, lib
from seamkit.core.border import batch_of, call
from seamkit.core.memory import Closing, TrackedAllocator
from seamkit.engines.spark_source import FILTER_TEXT
from seamkit.gluten.handles import HandleRegistry
from seamkit.jvm.machine import JavaClasses, spark_classes
from seamkit.jvm.sources import compiled_package
from seamkit.scan.scan import Scan
from seamkit.spark.calls import KeptBatches, NativeCalls

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: How batches lie between operators; see `NativeSpark`.
BackendName = Literal["native", "arrow"]
_JAVA = Path(__file__).with_name("java")
_OWN_ERROR = re.compile(rf"^{re.escape(SeambenchError.__module__)}\.(\w+): (.+)$", re.MULTILINE)
_THRESHOLD_BYTES = 64 << 20
_BATCH_ROWS = 4096


@functools.cache
def native_classes() -> JavaClasses:
    """Spark's classes with the operators over native batches."""
    sources = [FILTER_TEXT, *_JAVA.glob("*.java")]
    return compiled_package("seamkit.spark", sorted(sources), spark_classes())


class NativeSpark(Closing):
    """Owns a Spark session in this process; ends it as a context manager, or with `stop`.

    Attributes:
        session: pyspark's session; `session.sql` queries what `register` named.
        handles: the native batches, with counters of who opened and released them.

    Args:
        threads: how many tasks run at a time; None for one a core.
        conf: further settings of Spark; they win over those made here.
        threshold_bytes: most bytes of rows that one call makes of a batch, or a batch is made of.
        batch_rows: most rows of a batch that is made of rows.
        backend: how batches lie between operators. `native`: behind handles, and native code
            turns them into rows and back. `arrow`: in vectors of Arrow's Java library, which
            Spark's own code reads and Java fills.

    Raises:
        UnavailableError: no Java, no pyspark, no jpype1.
        UsageError: this process has a Spark session already; a backend that is none.
    """

    def __init__(
        self,
        threads: int | None = None,
        conf: Mapping[str, str] | None = None,
        threshold_bytes: int = _THRESHOLD_BYTES,
        batch_rows: int = _BATCH_ROWS,
        backend: BackendName = "native",
    ) -> None:
        if backend not in get_args(BackendName):
            known = ", ".join(get_args(BackendName))
            raise UsageError(f"backend = {backend!r}: one of {known} is meant")
        if threshold_bytes < 1 or batch_rows < 1:
            raise UsageError("threshold_bytes and batch_rows are at least 1")
        with needs("seamkit[jvm]", "a Spark session in this process"):
            from pyspark import SparkContext
            from pyspark.sql import SparkSession
        if SparkContext._active_spark_context is not None:
            raise UsageError("this process has a Spark session already: stop it first")
        self._classes = native_classes()
        self._plans: WeakKeyDictionary[DataFrame, Any] = WeakKeyDictionary()
        self._allocator = TrackedAllocator()
        self.handles = HandleRegistry(self._allocator)
        self._calls = NativeCalls(self.handles)
        self._set_calls(
            self._classes.jpype.JProxy(
                self._classes.java_class("seamkit.NativeCalls"), inst=self._calls
            )
        )
        self._batches.backend = self._classes.java_class("seamkit.Backends").of(
            backend, threshold_bytes, batch_rows
        )
        self._server = self._start_server()
        atexit.register(self.stop)  # the server's threads would keep Java running
        try:
            context = self._start_context(threads, conf or {})
            self.session: SparkSession = SparkSession(context)
        except BaseException:
            self._end_server()
            raise

    # ---------------------------------------------------------------------------------- start

    @property
    def _batches(self) -> Any:
        return self._classes.java_class("seamkit.NativeBatches")

    def _set_calls(self, calls: Any) -> None:
        code = self._classes.java_class("seamkit.NativeCode")
        if calls is not None:
            with self._classes.inside():
                call(lib.seam_jni_operators)
        code.batches = int(ffi.cast("intptr_t", self.handles.pointer)) if calls is not None else 0
        self._batches.calls = calls

    def _start_server(self) -> Any:
        """The server through which pyspark calls this process's JVM."""
        conf = self._classes.java_class("org.apache.spark.SparkConf")(False)
        with self._classes.inside():  # its threads find the classes where this one does
            server = self._classes.java_class("org.apache.spark.api.python.Py4JServer")(conf)
            server.start()
        return server

    def _start_context(self, threads: int | None, conf: Mapping[str, str]) -> Any:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        settings = {
            "spark.app.name": "seamkit",
            "spark.master": f"local[{threads or '*'}]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": str(threads or os.cpu_count() or 1),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            **conf,
        }
        if not settings["spark.master"].startswith("local"):
            raise UsageError("native batches lie in this process: the master must be local")
        given = settings.get("spark.sql.extensions")
        ours = "seamkit.NativeExtension"
        settings["spark.sql.extensions"] = f"{given},{ours}" if given else ours
        variables = {
            "PYSPARK_GATEWAY_PORT": str(self._server.getListeningPort()),
            "PYSPARK_GATEWAY_SECRET": str(self._server.secret()),
        }
        with _environment(variables):
            gateway = launch_gateway()
        return SparkContext(
            gateway=gateway,
            conf=SparkConf(loadDefaults=False, _jvm=gateway.jvm).setAll(list(settings.items())),
        )

    # ------------------------------------------------------------------------------------ use

    def register(self, name: str, scan: Scan) -> DataFrame:
        """Let queries find a scan under a name; its parts are read by tasks.

        Columns come in Spark's types (see docs/spark.md); a scan is planned once, so it shows the
        table as it was then.

        Args:
            name: of the temporary view; an older one of that name is replaced.
            scan: for example `seamkit.open_table(path).scan()`.

        Returns:
            The view as a frame.

        Raises:
            RefusedError: a column that Spark has no type for.
        """
        schema = pa.schema(
            [pa.field(one.name, _in_utc(spark_type(one.type, one.name))) for one in scan.schema]
        )
        fields = fields_of(schema, "spark")
        number = self._calls.add_scan(scan, schema)
        java = self._java
        java.seamkit.NativeSource.view(
            self.session._jsparkSession,
            name,
            number,
            max(1, scan.n_parts),
            self._strings([one.name for one in fields]),
            self._strings([one.type for one in fields]),
        )
        return self.session.table(f"`{name.replace('`', '``')}`")

    def to_arrow(self, frame: DataFrame) -> pa.Table:
        """Run a query and take its rows as Arrow batches, which native code makes of Spark's rows.

        Raises:
            SeambenchError: the query failed; an error of a reader keeps its class and sentence.
        """
        from py4j.protocol import Py4JJavaError

        with self.kept_batches() as kept:
            try:
                java = self._java.seamkit.NativeOutput
                text = java.collect(frame._jdf, self._plan(frame), kept.number)
            except Py4JJavaError as error:
                raise _failure(error) from error
            numbers = [int(number) for number in text.split(",") if number]
            batches = [self.handles.load(number) for number in numbers if number > 0]
        rows = -sum(number for number in numbers if number < 0)
        return _table(frame, batches, rows)

    def explain(self, frame: DataFrame) -> str:
        """The plan that `to_arrow` runs, in Spark's words."""
        return str(self._plan(frame).toString())

    def _plan(self, frame: DataFrame) -> Any:
        """The plan of a frame's batches, the same one as long as there is the frame."""
        if frame not in self._plans:
            self._plans[frame] = self._java.seamkit.NativeOutput.plan(frame._jdf)
        return self._plans[frame]

    def in_use(self) -> int:
        """Readers, converters, handles and memory of Arrow's Java library that tasks hold.

        0 when no query runs.
        """
        java = self._classes.java_class("org.apache.spark.sql.util.ArrowUtils")
        held = int(java.rootAllocator().getAllocatedMemory() > 0)
        return self._calls.in_use + self.handles.in_use + held

    def kept_batches(self) -> AbstractContextManager[KeptBatches]:
        """For programs that run operators themselves: batches kept until the block ends."""
        return self._calls.collection()

    @property
    def _java(self) -> Any:
        return self.session.sparkContext._jvm

    def _strings(self, values: list[str]) -> Any:
        gateway = self.session.sparkContext._gateway
        array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    # ------------------------------------------------------------------------------------ end

    def close(self) -> None:
        """See `stop`."""
        self.stop()

    def stop(self) -> None:
        """End the session.

        Raises:
            AssertionError: native batches that nobody released; see `HandleRegistry.close`.
        """
        if self._server is None:
            return
        self.session.stop()
        self._end_server()
        self.handles.close()

    def _end_server(self) -> None:
        from pyspark import SparkContext

        atexit.unregister(self.stop)
        if SparkContext._gateway is not None:
            SparkContext._gateway.shutdown()
        self._server.shutdown()
        self._server = None
        SparkContext._gateway = None
        SparkContext._jvm = None
        self._set_calls(None)


@contextlib.contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """Spark's timestamps with a zone are instants, shown in the session's zone."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp("us", "UTC")
    return kind


def _table(frame: DataFrame, batches: list[pa.RecordBatch], rows: int) -> pa.Table:
    """Batches as one table, which has the frame's columns even where no batch came."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if batches:
        return pa.Table.from_batches(batches)
    if not frame.columns:
        return pa.Table.from_batches([batch_of((), (), rows)])
    return to_arrow_schema(frame.schema).empty_table()


def own_error(error: Exception) -> SeambenchError | None:
    """An error of ours that Java raised, and may have wrapped; None if it is another's."""
    if ours := _OWN_ERROR.findall(str(error)):
        name, message = ours[-1]
        kind: type[SeambenchError] = getattr(errors, name, SeambenchError)
        return kind(message)
    return None


def _failure(error: Exception) -> SeambenchError:
    """What a query failed with: an error of ours, or one with Spark's first line."""
    text = str(getattr(error, "java_exception", error)).splitlines()
    return own_error(error) or SeambenchError(
        f"Spark failed: {text[0] if text else 'no message'}"[:400]
    )

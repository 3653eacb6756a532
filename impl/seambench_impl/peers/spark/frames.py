"""A frame of Spark as a scan, and the process's session.

Rows come back through Parquet files in a temporary folder: Spark 3.5 has no Arrow output of its
own that does not hold all rows in the driver.
"""

from __future__ import annotations

import atexit
import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError
from seambase.scan import ScanReport, ScanWarning
from seambench.contracts.scan import Scan, Scanner, ScanRequest
from seambench.contracts.tables import SparkBundle
from seambench.engines.spark import SparkOptions, explain_failure, spark_session
from seambench_impl.peers.peer_scan import PeerScan, select_columns

_lock = threading.Lock()
_stack = contextlib.ExitStack()
_started: dict[str, tuple[Any, Path | None]] = {}
_plain: dict[Path, Any] = {}
"""Frames of folders of Parquet files, whose schema costs Spark a job."""


def session_of(bundle: SparkBundle) -> tuple[Any, Path | None]:
    """The process's session, started on first use and stopped when the process ends."""
    with _lock:
        if not _started:
            atexit.register(_stack.close)
        if bundle.title not in _started:
            options = SparkOptions(memory="6g", bundle=bundle)
            _started[bundle.title] = _stack.enter_context(spark_session(options))
        return _started[bundle.title]


def open_frame(
    scanner: Scanner,
    request: ScanRequest,
    bundle: SparkBundle,
    load: Callable[[Any], Any],
    warned: Callable[[], list[ScanWarning]] = list,
) -> SparkScan:
    """Start Spark if need be, with a table format's jars and settings, and let it plan a read.

    `warned` tells what whoever planned the frame doubts.
    """
    session, log = session_of(bundle)
    # Rows come out through Parquet files: old dates must leave as they are in the table, and
    # timestamps as the micro-seconds they are (INT96, the default, overflows before 1677).
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        frame = load(session)
        whole = _arrow_schema(frame)
    except Exception as error:
        raise InputError(str(explain_failure(error, log, f"opening {request.table}"))) from error
    return SparkScan(scanner, request, frame, select_columns(whole, request.columns), log, warned)


class SparkScan(PeerScan):
    """One planned read."""

    def __init__(
        self,
        scanner: Scanner,
        request: ScanRequest,
        frame: Any,
        schema: pa.Schema,
        log: Path | None,
        warned: Callable[[], list[ScanWarning]] = list,
    ) -> None:
        super().__init__(scanner, request, schema, self._read)
        self._frame = frame
        self._log = log
        self._warned = warned

    def report(self) -> ScanReport:
        """See `PeerScan.report`; what tasks are warned of stays with them."""
        return replace(super().report(), warnings=self._warned())

    def answer(self, sql: str, tables: Mapping[str, Scan | Path]) -> list[tuple[Any, ...]]:
        """The rows of a query in Spark SQL; see `seambench.contracts.scan.Answering`."""
        session = self._frame.sparkSession
        with self._failures():
            for name, table in tables.items():
                # Readers that share the session have tables of the same names.
                self._view(session, table).createOrReplaceTempView(name)
            return [tuple(row) for row in session.sql(sql).collect()]

    @staticmethod
    def _view(session: Any, table: Scan | Path) -> Any:
        if isinstance(table, SparkScan):
            return table._wanted(table.schema.names)
        assert isinstance(table, Path)
        if table not in _plain:
            _plain[table] = session.read.parquet(table.resolve().as_uri())
        return _plain[table]

    def _read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="seambench-spark-rows-") as folder:
            target = Path(folder) / "rows"
            with self._failures():
                writer = self._wanted(names).write.option("compression", "uncompressed")
                writer.parquet(target.as_uri())
            files = sorted(str(file) for file in target.glob("*.parquet"))
            if not files:
                return
            size = self._request.batch_rows or 131_072
            yield from ds.dataset(files, format="parquet").to_batches(batch_size=size)

    def _wanted(self, names: list[str]) -> Any:
        # Parquet cannot hold rows without columns; one is enough to count them.
        wanted = names or self._frame.columns[:1]
        return self._frame.select(*(f"`{name}`" for name in wanted))

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            doing = f"reading {self._request.table}"
            raise InputError(str(explain_failure(error, self._log, doing))) from error


def _arrow_schema(frame: Any) -> pa.Schema:
    """Arrow types of a frame as its Parquet files will have them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)

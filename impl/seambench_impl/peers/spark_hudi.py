"""Spark with Hudi's bundle: the reader that Hudi's own project ships.

Rows come back through Parquet files in a temporary folder: Spark 3.5 has no Arrow output of its
own that does not hold all rows in the driver. `SparkHudiScan.drop_rows` reads into Spark's noop
sink instead, which times the read alone.
"""

from __future__ import annotations

import atexit
import contextlib
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError
from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench.engines.spark import SparkOptions, explain_failure, spark_session
from seambench.formats.hudi import bundle
from seambench_impl.peers.peer_scan import (
    HUDI_READS,
    PeerScan,
    check_hudi_request,
    installed_version,
    select_columns,
)

__all__ = ["SparkHudiReader", "SparkHudiScan"]

_lock = threading.Lock()
_stack = contextlib.ExitStack()
_started: list[tuple[Any, Path | None]] = []


def _session() -> tuple[Any, Path | None]:
    """The process's session, started on first use and stopped when the process ends."""
    with _lock:
        if not _started:
            options = SparkOptions(memory="6g", bundle=bundle())
            _started.append(_stack.enter_context(spark_session(options)))
            atexit.register(_stack.close)
        return _started[0]


class SparkHudiReader:
    """Spark + Hudi on `local[*]`."""

    name = "spark-hudi"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {**HUDI_READS, "query.incremental": True}
    #: What conformance is known to find in it.
    xfails = Path(__file__).with_name("xfails") / "spark-hudi.toml"

    def __init__(self) -> None:
        self.version = installed_version("pyspark", self.name, "spark")

    def open(self, request: ScanRequest) -> SparkHudiScan:
        """Start Spark if need be, and let Hudi plan the read.

        Raises:
            UnavailableError: no pyspark, no Java, no jars.
            RefusedError: something this adapter has no word for.
            InputError: the folder is no table, or Hudi cannot read it.
            UsageError: an unknown column.
        """
        check_hudi_request(self, request)
        session, log = _session()
        # Rows come out through Parquet files: old dates must leave as they are in the table, and
        # timestamps as the micro-seconds they are (INT96, the default, overflows before 1677).
        session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        kind = request.query.replace("-", "_")
        reader = session.read.format("hudi").option("hoodie.datasource.query.type", kind)
        for option, value in _window(request).items():
            reader = reader.option(option, value)
        try:
            frame = reader.load(request.table)
            whole = _arrow_schema(frame)
        except Exception as error:
            raise InputError(
                str(explain_failure(error, log, f"opening {request.table}"))
            ) from error
        return SparkHudiScan(self, request, frame, select_columns(whole, request.columns), log)


def _window(request: ScanRequest) -> dict[str, str]:
    """Hudi's options for what a request sees of the timeline."""
    options = {
        "as.of.instant": request.as_of,
        "hoodie.datasource.read.begin.instanttime": request.begin,
        "hoodie.datasource.read.end.instanttime": request.end,
    }
    if request.query == "incremental" and request.begin is None:
        # Hudi's word for the table's beginning.
        options["hoodie.datasource.read.begin.instanttime"] = "000"
    return {option: value for option, value in options.items() if value is not None}


class SparkHudiScan(PeerScan):
    """One planned read."""

    def __init__(
        self,
        scanner: SparkHudiReader,
        request: ScanRequest,
        frame: Any,
        schema: pa.Schema,
        log: Path | None,
    ) -> None:
        super().__init__(scanner, request, schema, self._read)
        self._frame = frame
        self._log = log

    def drop_rows(self) -> float:
        """Read the columns into Spark's noop sink; the seconds that took."""
        begin = time.perf_counter()
        with self._failures():
            self._wanted(self.schema.names).write.format("noop").mode("overwrite").save()
        return time.perf_counter() - begin

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

"""A scan whose parts are read by tasks of Spark, each by the reader that planned it.

The driver plans: it lists the table and decides what is read. Each task is handed the plan of one
part as data, where the scan has such plans; other scans are pickled and broadcast. A task reads its
part as it would be read here, and its batches come back as Arrow. So the workers
need this package and the reader's, in the Python that Spark starts (PYSPARK_PYTHON), and see the
table under the same path as the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from seambase import errors
from seambase.dataset import ScanDataset
from seambase.errors import RefusedError, SeambenchError
from seambase.foreign_arrow import stream_of
from seambase.scan import ScanReport
from seambench.contracts.common import Kind
from seambench.contracts.scan import Parted, Scan, Scanner, ScanRequest, Written
from seambench.engines.spark import OWN_ERROR, explain_failure

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession


class SparkScanner:
    """A scanner that plans with another one and reads on Spark; see `contracts.scan.Scanner`.

    Scans of the other must be `Parted`; `log` is where Spark prints, if it was started for this.
    """

    kind: Kind = "reference"

    def __init__(self, scanner: Scanner, session: SparkSession, log: Path | None = None) -> None:
        self.name = f"{scanner.name} on Spark"
        self.version = scanner.version
        self.capabilities: Mapping[str, bool] = scanner.capabilities
        self._scanner = scanner
        self._session = session
        self._log = log

    def open(self, request: ScanRequest) -> SparkScan:
        """Plan a read on the driver; see `seambench.contracts.scan.Scanner.open`."""
        return SparkScan(_parted(self._scanner.open(request)), self._session, self._log)


class SparkScan:
    """A planned scan that tasks read; implements `seambench.contracts.scan.Scan`."""

    def __init__(self, scan: Parted, session: SparkSession, log: Path | None = None) -> None:
        self._scan = scan
        self._session = session
        self._log = log
        self._reports = _reports(session)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return self._scan.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; the driver holds those of one part at a time."""
        return self._reader(self.schema.names, None)

    def dataset(self) -> ds.Dataset:
        """A dataset to which engines push columns and filters; both travel to the tasks."""
        return ScanDataset(self.schema, self._reader)

    def report(self) -> ScanReport:
        """What the tasks that have ended report."""
        whole = ScanReport(paths=dict(self._scan.report().paths), peak_bytes=0)
        for report in self._reports.value:
            whole.rows += report.rows
            whole.pages += report.pages
            whole.unread_pages += report.unread_pages
            whole.warnings += [w for w in report.warnings if w not in whole.warnings]
            whole.peak_bytes = max(whole.peak_bytes or 0, report.peak_bytes or 0)
        return whole

    def _reader(
        self, columns: Sequence[str], condition: pc.Expression | None
    ) -> pa.RecordBatchReader:
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(columns, condition))

    def _batches(
        self, columns: Sequence[str], condition: pc.Expression | None
    ) -> Iterator[pa.RecordBatch]:
        """Batches as Arrow streams in binary values: no type of Arrow's is lost on the way."""
        reports = self._reports
        tasks, open_part = self._tasks()

        def read(handed: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for task in _each(handed):
                scan, number = open_part(task)
                part = scan.part(number, columns, condition)
                for batch in part.to_reader():
                    yield pa.record_batch([_stream(batch)], ["batch"])
                reports.add([part.report()])

        with _own_errors(self._log):
            frame = _one_task_each(self._session, tasks)
            for row in frame.mapInArrow(read, "batch binary").toLocalIterator():
                yield from pa.ipc.open_stream(pa.py_buffer(row.batch))

    def _tasks(self) -> tuple[list[str], Callable[[str], tuple[Parted, int]]]:
        """What each task is handed, and what makes of it a scan and the number of a part."""
        numbers = range(self._scan.n_parts)
        if isinstance(self._scan, Written):
            with suppress(RefusedError):
                plans, open_plan = self._scan.plans([[number] for number in numbers])
                return plans, lambda task: (open_plan(task), 0)
        whole = self._session.sparkContext.broadcast(self._scan)
        return list(map(str, numbers)), lambda task: (whole.value, int(task))


def _parted(scan: Scan) -> Parted:
    if not isinstance(scan, Parted):
        raise RefusedError(
            f"{type(scan).__name__} cannot be cut into parts, so tasks of Spark cannot share it; "
            "read with a reader whose scans can"
        )
    return scan


def _one_task_each(session: SparkSession, tasks: Sequence[str]) -> DataFrame:
    """Texts, each in a partition of its own."""
    rows = session.sparkContext.parallelize([(task,) for task in tasks], max(1, len(tasks)))
    return session.createDataFrame(rows, "task string")


def _stream(batch: pa.RecordBatch) -> pa.Array:
    """One binary value: the batch as an Arrow stream."""
    content = stream_of([batch], batch.schema)
    ends = pa.array([0, content.size], pa.int32())
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends.buffers()[1], content])


def _each(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _reports(session: SparkSession) -> Accumulator[list[ScanReport]]:
    """What tasks report, gathered on the driver."""
    from pyspark.accumulators import AccumulatorParam

    class Listing(AccumulatorParam):  # type: ignore[misc]  # pyspark comes without types
        def zero(self, _: list[ScanReport]) -> list[ScanReport]:
            return []

        def addInPlace(  # noqa: N802 - Spark's name
            self, value1: list[ScanReport], value2: list[ScanReport]
        ) -> list[ScanReport]:
            return value1 + value2

    return session.sparkContext.accumulator([], Listing())


@contextmanager
def _own_errors(log: Path | None) -> Iterator[None]:
    """Turns an error of ours that a task raised, and Spark wrapped, back into itself."""
    try:
        yield
    except SeambenchError:
        raise
    except Exception as error:
        ours = OWN_ERROR.findall(str(error))
        if not ours:
            raise explain_failure(error, log, "reading the table's slices") from error
        name, message = ours[-1]
        raise getattr(errors, name, SeambenchError)(message) from None

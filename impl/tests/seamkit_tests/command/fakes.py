"""Tables that misbehave, for the command: `python -m seamkit_tests.command.fakes KIND ARGUMENTS`.

Whatever table the arguments name, the command finds one of `KINDS` in its place.
"""

import sys
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa

from seambase.errors import InputError
from seambase.scan import ScanReport, ScanWarning
from seamkit.command import main, tables
from seamkit.scan.scan import Scan
from seamkit_tests.samples.batch_scan import BatchScan

_BATCH = pa.record_batch({"id": list(range(50))})


def _endless() -> Iterator[pa.RecordBatch]:
    while True:
        yield _BATCH
        print("reading", file=sys.stderr, flush=True)  # noqa: T201 - the test waits for it
        time.sleep(0.05)


def _broken() -> Iterator[pa.RecordBatch]:
    yield _BATCH
    raise InputError("base.parquet: footer is cut off at byte 12")


def _crashing() -> Iterator[pa.RecordBatch]:
    yield from ()
    raise ZeroDivisionError("a fault\nwith a second line")


def _whole() -> Iterator[pa.RecordBatch]:
    yield _BATCH


KINDS = {"endless": _endless, "broken": _broken, "crashing": _crashing, "warning": _whole}


class FakeScan(BatchScan):
    """A scan of made batches that warns of twelve places."""

    def __init__(self, kind: str) -> None:
        super().__init__(_BATCH.schema, KINDS[kind])

    def report(self) -> ScanReport:
        """Twelve warnings."""
        made = [ScanWarning("log.3", n, "block without footer") for n in range(3, 15)]
        return ScanReport(paths={"native": 1}, warnings=made)


class FakeTable:
    """A table whose scans are of a kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def scan(self, columns: Sequence[str] | None = None) -> Scan:
        """The scan of the kind."""
        del columns
        return FakeScan(self._kind)


if __name__ == "__main__":
    tables.opened_table = lambda _: FakeTable(sys.argv[1])  # type: ignore[assignment,return-value]
    main(sys.argv[2:])

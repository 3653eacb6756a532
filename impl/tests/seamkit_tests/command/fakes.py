"""Tables that misbehave, for the command: `python -m seamkit_tests.command.fakes KIND ARGUMENTS`.

Whatever table the arguments name, the command finds one of `KINDS` in its place.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seambase.scan import ScanReport, ScanWarning
from seamkit.command import main, tables
from seamkit.scan.scan import Scan

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


class FakeScan(Scan):
    """A scan of made batches that warns of twelve places."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @property
    def schema(self) -> pa.Schema:
        """One column."""
        return _BATCH.schema

    @property
    def whole_schema(self) -> pa.Schema:
        """The same."""
        return _BATCH.schema

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """Nobody asks."""
        raise NotImplementedError

    def to_reader(self) -> pa.RecordBatchReader:
        """The kind's batches."""
        return pa.RecordBatchReader.from_batches(_BATCH.schema, KINDS[self._kind]())

    def dataset(self) -> Any:
        """Nobody asks."""
        raise NotImplementedError

    def report(self) -> ScanReport:
        """Twelve warnings."""
        made = [ScanWarning("log.3", n, "block without footer") for n in range(3, 15)]
        return ScanReport(paths={"native": 1}, warnings=made)

    def explain(self, *, engine: bool = False) -> str:
        """Nothing."""
        return str(engine)

    @property
    def n_parts(self) -> int:
        """One."""
        return 1

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """Itself."""
        del number, columns, condition
        return self


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

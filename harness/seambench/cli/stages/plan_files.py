"""Plans as files: written by `seambench scan --plan`, executed by `seambench scan --unit`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from seambase.errors import InputError, RefusedError, UsageError
from seambase.whole_file import whole_file
from seambench.cli.shared.config import chosen_options
from seambench.contracts.scan import Planning, Scanner, ScanRequest

if TYPE_CHECKING:
    import pyarrow as pa

    from seambase.scan import ScanReport

__all__ = ["PlannedReading", "require_only", "write_plan"]

_MOST_BYTES = 1 << 30


def require_only(context: typer.Context, known: Collection[str], what: str) -> None:
    """Refuse what was typed and means nothing with an option.

    Raises:
        UsageError: there is such an option.
    """
    for one in chosen_options(context):
        if one.source == "command line" and one.option not in known:
            raise UsageError(f"--{one.option} means nothing with {what}")


def write_plan(scanner: Scanner, request: ScanRequest, file: Path) -> int:
    """Plan a read and write the plan, whole or not at all; the number of its units.

    Raises:
        UsageError: the file cannot be written.
        RefusedError: the reader's plans are no data.
    """
    import json

    text = _planning(scanner).write_plan(request)
    try:
        with whole_file(file) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--plan {file}: not writable ({error.strerror})") from error
    return len(json.loads(text)["units"])


class PlannedReading:
    """Reads units of a plan; see `seambench.engines.table_reading.TableReading`."""

    def __init__(
        self,
        scanner: Scanner,
        file: Path,
        units: Sequence[int] | None,
        storage_options: Mapping[str, Any],
    ) -> None:
        """Read a plan.

        Args:
            scanner: the reader.
            file: the plan.
            units: numbers of the units to read; None for all.
            storage_options: of the table's storage.

        Raises:
            UsageError: the file is not readable, or there is no such unit.
            InputError: it is no plan.
            RefusedError: the reader's plans are no data.
        """
        try:
            size = file.stat().st_size
            if size > _MOST_BYTES:
                raise InputError(f"{file}: {size} bytes, more than a plan may have")
            text = file.read_bytes()
        except OSError as error:
            raise UsageError(f"--unit {file}: not readable ({error.strerror})") from error
        self._scan = _planning(scanner).read_plan(text, units, storage_options or None, str(file))

    def report(self) -> ScanReport:
        """What the read did: paths and warnings."""
        return self._scan.report()

    @contextmanager
    def open(self) -> Iterator[pa.RecordBatchReader]:
        """A stream of the plan's columns."""
        with self._scan.to_reader() as stream:
            yield stream


def _planning(scanner: Scanner) -> Planning:
    if not isinstance(scanner, Planning):
        raise RefusedError(f"plans of the reader {scanner.name} are no data")
    return scanner

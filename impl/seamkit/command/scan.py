"""`seamkit scan`: read a table, or what a plan says, to the terminal or a file.

Plans as files: `seamkit plan` writes them, `seamkit scan --unit` reads what they say.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from seambase.command.export import check_target, export
from seambase.command.terminal import Status, plain_text, print_rows
from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seambase.written import whole_file
from seamkit.command.tables import READING, planned_scan, storage_options

if TYPE_CHECKING:
    import pyarrow as pa

    from seambase.scan import ScanReport
    from seamkit.scan.scan import Scan

_ROWS_SHOWN = 20
_WARNINGS_SHOWN = 10


def scan(given: argparse.Namespace) -> int:
    """Read to where the rows should go, and tell what was passed over."""
    if given.output is not None:
        check_target(given.output)
    planned = _planned(given)
    if given.limit is not None:
        planned = planned.limit(given.limit)
    rows = _read(planned, given.output)
    _tell(planned.report(), given.unit or given.table, rows, given.output)
    return 0


def _planned(given: argparse.Namespace) -> Scan:
    if given.unit is not None:
        return scan_of_plan(given)
    if given.table is None or given.index:
        raise UsageError("name a table" if given.table is None else "--index goes with --unit")
    return planned_scan(given)


def _read(planned: Scan, output: str | None) -> int:
    """Read all rows to where they should go; their number."""
    with Status("reading") as status:

        def count(rows: int) -> None:
            status.update(f"reading, {counted(rows, 'row')} so far")

        with planned.to_reader() as stream:
            plain = _without_views(stream)
            if output is not None:
                return export(plain, output, count)
            first, rows = [], 0
            for batch in plain:
                if rows < _ROWS_SHOWN and batch.num_rows:
                    first.append(batch.slice(0, _ROWS_SHOWN - rows))
                rows += batch.num_rows
                count(rows)
    show_rows(plain.schema.names, first, rows)
    return rows


def _without_views(stream: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same rows without Arrow's views, which CSV and older readers do not know."""
    import pyarrow as pa

    from seambase.dataset import without_views

    schema = without_views(stream.schema)
    if schema == stream.schema:
        return stream
    return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in stream))


def show_rows(names: list[str], first: list[pa.RecordBatch], rows: int) -> None:
    """Print the first rows as a table, and the number of all."""
    from seamkit.scan.shown import shown_values

    if names:
        shown = [zip(*map(shown_values, batch.columns), strict=True) for batch in first]
        print_rows(names, [row for batch in shown for row in batch])
    if rows > _ROWS_SHOWN:
        sys.stdout.write(f"... {rows - _ROWS_SHOWN:,} more\n")
    sys.stdout.write(f"{counted(rows, 'row')}\n")


def _tell(report: ScanReport, source: str, rows: int, output: str | None) -> None:
    """Remarks on standard error: warnings, the paths taken, the file."""
    for warning in report.warnings[:_WARNINGS_SHOWN]:
        sys.stderr.write(f"warning: {plain_text(str(warning))}\n")
    rest = len(report.warnings) - _WARNINGS_SHOWN
    if rest > 0:
        sys.stderr.write(f"warning: {rest} more places were skipped\n")
    paths = ", ".join(f"{path} {count}" for path, count in sorted(report.paths.items()))
    is_file = output is not None and output != "-"
    written = f"{counted(rows, 'row')} written to {output}" if is_file else source
    sys.stderr.write(plain_text(f"{written}{f' (units: {paths})' if paths else ''}") + "\n")
    if report.unread_pages:
        sys.stderr.write(
            f"{report.unread_pages:,} of {counted(report.pages, 'page')} left out by their index\n"
        )


_MOST_BYTES = 1 << 30


def plan(given: argparse.Namespace) -> int:
    """Plan a read, and write the plan, whole or not at all."""
    from seamkit.ranges.plan_file import scan_to_json

    text = scan_to_json(planned_scan(given))
    try:
        with whole_file(Path(given.output)) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {given.output}: not writable ({error.strerror})") from error
    count = counted(len(json.loads(text)["units"]), "unit")
    sys.stderr.write(plain_text(f"a plan of {count} written to {given.output}") + "\n")
    return 0


def scan_of_plan(given: argparse.Namespace) -> Scan:
    """What the plan of `--unit` says, or the units of it that `--index` names."""
    from seamkit.ranges.plan_file import scan_from_json

    if given.table is not None:
        raise UsageError("a plan says which table is read: name none with --unit")
    for name in (*READING, "allow", "limit"):
        if getattr(given, name) not in (None, False, []):
            raise UsageError(f"--{name.replace('_', '-')} means nothing with --unit")
    text = read_file(Path(given.unit), is_bounded=True)
    return scan_from_json(
        text, storage_options(given) or None, units=given.index or None, where=given.unit
    )


def read_file(file: Path, *, is_bounded: bool = False) -> bytes:
    """A file that was named on the command line; only what has a length may be of any."""
    try:
        with file.open("rb") as opened:
            most = _MOST_BYTES if is_bounded else max(_MOST_BYTES, file.stat().st_size)
            content = opened.read(most + 1)
    except OSError as error:
        raise UsageError(f"{file}: not readable ({error.strerror})") from error
    if len(content) > most:
        raise InputError(f"{file}: more than {counted(most, 'byte')}, which it may have at most")
    return content

"""What several commands share: option types, consoles, and small parsers. Imports nothing heavy."""

from __future__ import annotations

import decimal
import itertools
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seambase.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from seambench.records.model import Record

__all__ = [
    "JSON_SCHEMA",
    "NOTE",
    "Allow",
    "DataFolder",
    "Queries",
    "Readers",
    "Results",
    "Samples",
    "ScansOnly",
    "Site",
    "Threads",
    "console",
    "data_folder",
    "error_console",
    "parse_bytes",
    "parse_list",
    "parse_queries",
    "plain_text",
    "print_json",
    "print_rows",
    "tell_records",
]

#: Version of what `--json` prints.
JSON_SCHEMA = 1

NOTE = "Workload derived from TPC-H, not comparable with published TPC-H results."

DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Data folder (default: $SEAMBENCH_DATA, else ./data)."),
]
Results = Annotated[Path, typer.Option("--results", help="Folder for result records.")]
Site = Annotated[Path, typer.Option("--site", help="Folder for the page.")]
Readers = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        help="Reader, repeatable: a name from `seambench list`, package.module:Class, "
        "cmd:./reader or lib:./reader.so.",
    ),
]
Queries = Annotated[
    str, typer.Option("--queries", help="Query numbers, e.g. 1,6,10-14; `all` or `none`.")
]
ScansOnly = Annotated[
    list[str] | None,
    typer.Option("--scans-only", help="Reader that takes no part in the queries, repeatable."),
]
Samples = Annotated[int, typer.Option("--samples", min=1, help="Timed runs after the cold one.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        help="Folder's address on another host that the table's metadata may name, repeatable: "
        "hdfs://other:8020/data, or all of a scheme: s3://.",
    ),
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Tasks at once (default: one per core).")
]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_HIGHEST_QUERY = 22
_TEXT_CELLS = 48


def console() -> Console:
    """For tables: standard output."""
    from rich.console import Console

    # Off a terminal there is no width to keep to, and a cut table is of no use to a program.
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False)


def error_console() -> Console:
    """For progress and remarks: standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def plain_text(text: str) -> str:
    """A text on one line that no terminal takes for a command: all but what shows is escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )


def print_rows(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows of a table.

    On a terminal long texts are cut, and columns that do not fit are left out and named; numbers
    are never cut. Elsewhere everything is printed.
    """
    from rich.cells import cell_len, set_cell_size

    out = console()
    most = _TEXT_CELLS if out.is_terminal else sys.maxsize
    columns = [
        [plain_text(name), *(_cell(row[i], most) for row in rows)] for i, name in enumerate(names)
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    shown = len(names)
    if out.is_terminal:
        ends = itertools.accumulate(width + 2 for width in widths)
        shown = max(1, sum(end - 2 <= out.width for end in ends))
    for line in range(len(rows) + 1):
        cells = [set_cell_size(columns[i][line], widths[i]) for i in range(shown)]
        style = "bold" if line == 0 else None
        out.print("  ".join(cells).rstrip(), style=style, markup=False, soft_wrap=True)
    if shown < len(names):
        left = ", ".join(column[0] for column in columns[shown:])
        out.print(f"not shown, for want of width: {left}", markup=False, soft_wrap=True)


def _cell(value: object, most: int) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float | decimal.Decimal):
        return str(value)
    text = plain_text(value.hex() if isinstance(value, bytes) else str(value))
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def data_folder(given: Path | None) -> Path:
    """The data folder in use."""
    if given is not None:
        return given
    from seambench.data import default_data_folder

    return default_data_folder()


def print_json(value: Any) -> None:
    """One JSON value on one line of standard output."""
    sys.stdout.write(json.dumps(value, default=str) + "\n")


def parse_list(text: str | None) -> list[str] | None:
    """Names between commas; None stays None.

    Raises:
        UsageError: an empty name between two commas.
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{text!r} is no list of names between commas")
    return names


def parse_queries(text: str) -> tuple[int, ...]:
    """Query numbers: `1,6,10-14`, `all` or `none`.

    Raises:
        UsageError: anything else, or a number beyond 1 to 22.
    """
    if text == "all":
        return tuple(range(1, _HIGHEST_QUERY + 1))
    if text == "none":
        return ()
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,2})(?:-(\d{1,2}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= _HIGHEST_QUERY:
            raise UsageError(f"--queries {text!r}: {part.strip()!r} is no query from 1 to 22")
        numbers += range(first, last + 1)
    return tuple(dict.fromkeys(numbers))


def parse_bytes(text: str | None) -> int | None:
    """A number of bytes: `1073741824`, `512MiB`, `2G`.

    Raises:
        UsageError: anything else.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    if size < 1:
        raise UsageError(f"{text!r} is no size in bytes, such as 512MiB or 2G")
    return size


def tell_records(
    records: Sequence[Record],
    results: Path,
    show: Callable[[Console], None],
    *,
    as_json: bool = False,
    failures_shown: int | None = None,
) -> int:
    """The end of a run: write its records, print what they say and what failed; the exit code.

    Args:
        records: what came of it.
        results: folder of the records.
        show: prints them as a table.
        as_json: print the records themselves instead.
        failures_shown: most lines about failures; None for all.
    """
    import msgspec

    from seambench.records.files import write_record
    from seambench.records.writer import failures

    for one in records:
        write_record(results, one)
    if as_json:
        print_json(msgspec.to_builtins(records))
    else:
        show(console())
    failed, err = failures(records), error_console()
    for line in failed[:failures_shown]:
        err.print(f"failed: {line}", markup=False)
    if failures_shown is not None and len(failed) > failures_shown:
        err.print(f"... and {len(failed) - failures_shown} more")
    err.print(f"{len(records)} records in {results / 'runs'}", markup=False)
    return 1 if failed else 0

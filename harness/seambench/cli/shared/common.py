"""What several commands share: option types, consoles, and small parsers. Imports nothing heavy."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from seambase.command.terminal import print_json
from seambase.errors import UsageError
from seambase.wording import counted
from seambench.cli.shared import completing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from seambench.records.model import Record

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
        "package.module:function, cmd:./reader, http://HOST:PORT or lib:./reader.so.",
        autocompletion=completing.implementations,
    ),
]
Queries = Annotated[
    str, typer.Option("--queries", help="Query numbers, e.g. 1,6,10-14; `all` or `none`.")
]
ScansOnly = Annotated[
    list[str] | None,
    typer.Option(
        "--scans-only",
        help="Reader that takes no part in the queries, repeatable.",
        autocompletion=completing.implementations,
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        "--samples", min=1, help="Warm runs after the first one; fewer than 7 make no figure."
    ),
]
Wait = Annotated[
    float,
    typer.Option(
        "--wait",
        min=0,
        help="Seconds to wait at most until others leave the machine alone; a run beside others is "
        "marked, and its figures give way to quieter ones on the first page.",
    ),
]
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

Memory = Annotated[
    bool, typer.Option(help="Measure the memory of streamed scans, each in its own process.")
]
Jars = Annotated[
    list[str] | None,
    typer.Option(help="Jar to use instead of fetching the format's, repeatable."),
]

_HIGHEST_QUERY = 22
NARROW = 80
#: Below this width columns of sentences are put below each other.
WIDE = 120


def console(piped: int = 200) -> Console:
    """For tables: standard output; so wide where that is no terminal.

    Lines that are searched stay whole; what is only read, in a pager or a log, asks for `NARROW`,
    or as many columns as COLUMNS says.
    """
    from rich.console import Console

    known = sys.stdout.isatty() or (piped == NARROW and "COLUMNS" in os.environ)
    return Console(width=None if known else piped, highlight=False, emoji=False)


def plain_table(words: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """An empty table without lines: columns of words, which are folded, then of numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def narrow_table(
    out: Console, rows: Iterable[tuple[str, str, str]], *, whole: bool = False
) -> None:
    """A table for a terminal too narrow for columns: a styled word, a subject, maybe a remark.

    Where words are to stay `whole`, and one has no room, they stand below each other, so that a
    path can be copied.
    """
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    widest = max((len(Text.from_markup(word).plain) for word, _, _ in rows), default=0)
    longest = max((len(word) for _, *texts in rows for t in texts for word in t.split()), default=0)
    if whole and widest + 2 + longest > out.width:
        for word, *texts in rows:
            out.print(word, soft_wrap=True)
            for text in filter(None, texts):
                out.print(f"    {text}", markup=False, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for word, text, remark in rows:
        table.add_row(word, escape(text))
        if remark:
            table.add_row("", f"[dim]{escape(remark)}[/dim]")
    out.print(table)


def _broken(text: str, room: int) -> str:
    """A text whose lines break behind commas, since items of a list may be of several words."""
    lines = [""]
    for item in text.split(", "):
        line = f"{lines[-1]}, {item}" if lines[-1] else item
        if len(line) < room:  # a comma may follow
            lines[-1] = line
        else:
            lines.append(item)
    return ",\n".join(filter(None, lines))


def narrow_rows(
    out: Console,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    wraps: bool = False,
    whole: bool = False,
) -> bool:
    """Print rows below each other if columns do not fit a narrow terminal; whether they were.

    With `wraps` the last column is one whose lines break between words; with `whole` no word is
    broken.
    """
    if out.width >= WIDE:
        return False
    lines = [titles, *rows]
    widths = [2 + max(len(line[at]) for line in lines) for at in range(len(titles))]
    if wraps:
        widths[-1] = 2 + max(len(word) for line in lines for word in line[-1].split() or [""])
    if sum(widths) <= out.width:
        return False
    others = [zip(titles[2:], row[2:], strict=True) for row in rows]
    known = ["; ".join(f"{title}: {cell}" for title, cell in one if cell) for one in others]
    room = out.width - 2 - max((len(row[0]) for row in rows), default=0)
    known = [_broken(text, room) for text in known]
    pairs = zip(rows, known, strict=True)
    narrow_table(out, ((escape(a), b, more) for (a, b, *_), more in pairs), whole=whole)
    return True


def error_console() -> Console:
    """For progress and remarks: standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False)


def typed() -> str:
    """The command that was typed, for records."""
    return shlex.join(["seambench", *sys.argv[1:]])


def data_folder(given: Path | None) -> Path:
    """The data folder in use."""
    if given is not None:
        return given
    from seambench.data import default_data_folder

    return default_data_folder()


def parse_queries(text: str) -> tuple[int, ...]:
    """Query numbers: `1,6,10-14`, `all` or `none`."""
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


def _tell_noise(records: Sequence[Record], out: Console) -> None:
    """What makes times longer: the load before, and what others used meanwhile."""
    from seambench.records.ratios import disturbed

    loads = [load for one in records for load in one.machine.load_before[:1]]
    if loads:
        cores = records[0].machine.cores
        out.print(
            f"load when it began: {min(loads):.1f} to {max(loads):.1f} on {counted(cores, 'core')}"
        )
    for why in sorted({disturbed(one) or "" for one in records} - {""}):
        out.print(f"no quiet machine: {why}", markup=False)


def _tell_answers(records: Sequence[Record], out: Console) -> None:
    """What the records answer of the questions that are declared, in words."""
    from seambench.contracts import registry
    from seambench.records.tables import answers, load_tables

    for question, rows in answers(load_tables(registry.resolve_suite("tpch").tables), records):
        out.print(question, markup=False)
        for label, said in rows:
            out.print(f"  {label}: {said}", markup=False)


def tell_records(
    records: Sequence[Record],
    results: Path,
    show: Callable[[Console], None],
    *,
    as_json: bool = False,
    failures_shown: int | None = None,
) -> int:
    """The end of a run: write its records, print what they say and what failed; the exit code."""
    import msgspec

    from seambench.records.files import write_record
    from seambench.records.writer import failures

    for one in records:
        write_record(results, one)
    if as_json:
        print_json(msgspec.to_builtins(records))
    else:
        show(console())
        _tell_noise(records, console())
        _tell_answers(records, console())
    failed, err = failures(records), error_console()
    for line in failed[:failures_shown]:
        err.print(f"failed: {line}", markup=False)
    if failures_shown is not None and len(failed) > failures_shown:
        err.print(f"... and {len(failed) - failures_shown} more")
    err.print(f"{counted(len(records), 'record')} in {results / 'runs'}", markup=False)
    return 1 if failed else 0

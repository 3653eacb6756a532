"""`seambench inspect`: what pages, rows, a table or one of its logs say, piece by piece."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json
from seambase.errors import InputError, RefusedError, UsageError
from seambench.cli.shared.common import Allow
from seambench.cli.stages.statistics import show_statistics

if TYPE_CHECKING:
    from seambase.serde import SerdeRequest
    from seambase.walk import Met

__all__ = ["inspect"]

_FORMATS = ("presto", "unsaferow", "compactrow", "table", "parquet")
_PARQUET_MAGIC = b"PAR1"
_TEXT_WIDTH = 72


def inspect(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="File of pages or rows, a table's folder or address, a log."
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="presto, unsaferow, compactrow, table or parquet (default: table for folders and "
            "logs, parquet for Parquet files, else presto).",
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            help="`id bigint, tags array(varchar)`, for rows `id:bigint,tags:array<string>`, or "
            "a golden file's .json. Pages can do without."
        ),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE of the format, repeatable: codec=lz4.")
    ] = None,
    impl: Annotated[
        str | None,
        typer.Option(help="Who explains rows (default: seambench) or tables (default: auto)."),
    ] = None,
    statistics: Annotated[
        bool,
        typer.Option(
            "--statistics", help="Of a table: rows, bytes, nulls and ranges, and how sure they are."
        ),
    ] = False,
    allow: Allow = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per field.")] = False,
) -> None:
    """Explain bytes field by field with their offsets, and show where broken ones break.

    Offsets count from the beginning of the file, within a compressed page from its payload. Of a
    table it tells properties, history and files, of a log its blocks and their records, of a
    Parquet file its columns and row groups. With --statistics it tells what is known of a table's
    rows before one is read: exactly, as a bound, or not at all (?).
    """
    from seambase.command.terminal import parse_options
    from seambench.seams.serde.schema_text import request_of

    if format_ is None:
        format_ = _format_of(source)
    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_!r}: one of {', '.join(_FORMATS)} is meant")
    if statistics:
        show_statistics(source, format_, impl or "auto", allow or (), as_json=as_json)
        return
    options = parse_options(option or [])
    request = request_of(format_, schema, options) if schema is not None else None
    if request is None and format_ not in ("presto", "table", "parquet"):
        raise UsageError(f"--schema is needed: {format_} says nothing of its fields")
    met: list[Met] = []
    problem: Exception | None = None
    try:
        if format_ in ("table", "parquet"):
            _explain_table(source if "://" in source else Path(source), impl, allow or (), met)
        else:
            _walk(_read(Path(source)), request, options, impl, met)
    except InputError as error:
        problem = error
    for field in met:
        _tell(field, as_json)
    if problem is not None:
        raise InputError(f"{source}: broken {problem}") from problem


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: not readable ({error.strerror})") from error


def _format_of(source: str) -> str:
    """What a file is by its first bytes; what cannot be read is told by who reads it."""
    from seambench.contracts.formats import recognised_formats

    file = Path(source)
    if "://" in source or file.is_dir():
        return "table"
    try:
        with file.open("rb") as opened:
            begin = opened.read(len(_PARQUET_MAGIC))
    except OSError:
        return "presto"
    if begin == _PARQUET_MAGIC:
        return "parquet"
    return "table" if recognised_formats(file) else "presto"


def _explain_table(
    file: Path | str, impl: str | None, allow: Sequence[str], met: list[Met]
) -> None:
    """Meet what a table, a log or a Parquet file says, as an implementation tells it."""
    from seambench.contracts import registry

    scanner = registry.resolve("scan", impl or "auto")
    if not hasattr(scanner, "explain"):
        raise RefusedError(f"{impl} does not explain tables")
    for field in scanner.explain(file, allow):
        met.append(field)  # noqa: PERF402 - what came before an error must stay


def _walk(
    data: bytes,
    request: SerdeRequest | None,
    options: dict[str, Any],
    impl: str | None,
    met: list[Met],
) -> None:
    """Meet every field: of pages by the suite's own reader, of rows by an implementation."""
    from seambase.serde import SerdeRequest
    from seambase.types import parse_schema
    from seambench.contracts import registry
    from seambench.seams.serde.pages import read_pages
    from seambench.seams.serde.vectors import page_options

    if request is None or request.format == "presto":
        types = parse_schema(request) if request is not None else None
        read_pages(data, page_options(request or SerdeRequest("presto", (), options)), types, met)
        return
    serde = registry.resolve("serde", impl or "seambench")
    if not hasattr(serde, "explain"):
        raise RefusedError(f"{impl} does not explain rows")
    for field in serde.explain(request, data):
        met.append(field)  # noqa: PERF402 - what came before an error must stay


def _tell(field: Met, as_json: bool) -> None:
    """One line for a field."""
    if as_json:
        line = {"offset": field.offset, "length": field.length, "depth": field.depth}
        print_json({"schema": JSON_SCHEMA, **line, "what": field.what, "value": field.value})
        return
    text = "" if field.value is None else plain_text(str(field.value))
    if len(text) > _TEXT_WIDTH:
        text = f"{text[: _TEXT_WIDTH - 3]}..."
    indent = "  " * field.depth
    value = f"  {text}" if text else ""
    sys.stdout.write(
        f"{field.offset:>8} {field.length:>6}  {indent}{plain_text(field.what)}{value}\n"
    )

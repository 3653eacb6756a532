"""`seambench inspect`: what the bytes of a page or of rows say, field by field."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seambench.cli.common import JSON_SCHEMA, print_json
from seambench.errors import InputError, UsageError

if TYPE_CHECKING:
    from seambench.seams import SerdeRequest
    from seambench.serde.cursor import Met

__all__ = ["inspect"]

_FORMATS = ("presto", "unsaferow", "compactrow")
_TEXT_WIDTH = 72


def inspect(
    file: Annotated[Path, typer.Argument(help="File of pages or rows.")],
    format_: Annotated[
        str, typer.Option("--format", help="presto, unsaferow or compactrow.")
    ] = "presto",
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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per field.")] = False,
) -> None:
    """Explain bytes field by field with their offsets, and show where broken ones break.

    Offsets count from the beginning of the file, within a compressed page from its payload.
    """
    from seambench.serde.schema_text import parse_options, request_of

    if format_ not in _FORMATS:
        raise UsageError(f"--format {format_!r}: one of {', '.join(_FORMATS)} is meant")
    options = parse_options(option or [])
    request = request_of(format_, schema, options) if schema is not None else None
    if request is None and format_ != "presto":
        raise UsageError(f"--schema is needed: {format_} says nothing of its fields")
    met: list[Met] = []
    problem: Exception | None = None
    try:
        _walk(_read(file), request, options, met)
    except InputError as error:
        problem = error
    for field in met:
        _tell(field, as_json)
    if problem is not None:
        raise InputError(f"{file}: broken {problem}") from problem


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: not readable ({error.strerror})") from error


def _walk(
    data: bytes, request: SerdeRequest | None, options: dict[str, Any], met: list[Met]
) -> None:
    """Meet every field."""
    from seambench.seams import SerdeRequest
    from seambench.serde.pages import read_pages
    from seambench.serde.vectors import page_options
    from seambench.serde.walk_rows import walk_rows
    from seambench.serde_types import parse_schema

    if request is not None and request.format != "presto":
        walk_rows(request, data, met)
        return
    types = parse_schema(request) if request is not None else None
    read_pages(data, page_options(request or SerdeRequest("presto", (), options)), types, met)


def _tell(field: Met, as_json: bool) -> None:
    """One line for a field."""
    if as_json:
        line = {"offset": field.offset, "length": field.length, "depth": field.depth}
        print_json({"schema": JSON_SCHEMA, **line, "what": field.what, "value": field.value})
        return
    text = "" if field.value is None else str(field.value)
    if len(text) > _TEXT_WIDTH:
        text = f"{text[: _TEXT_WIDTH - 3]}..."
    indent = "  " * field.depth
    value = f"  {text}" if text else ""
    sys.stdout.write(f"{field.offset:>8} {field.length:>6}  {indent}{field.what}{value}\n")

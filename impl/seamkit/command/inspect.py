"""`seamkit inspect`: what pages, rows, a table or one of its logs say, piece by piece."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from seambase.command.terminal import JSON_SCHEMA, parse_options, plain_text, print_json
from seambase.errors import InputError, RefusedError, UsageError
from seamkit.command.scan import read_file

if TYPE_CHECKING:
    from seambase.serde import SerdeRequest
    from seambase.walk import ByteField
    from seamkit.tables.opening import TableFormat

_FORMATS = ("presto", "unsaferow", "compactrow", "table", "parquet")
_PARQUET_MAGIC = b"PAR1"
_TEXT_WIDTH = 72


def inspect(given: argparse.Namespace) -> int:
    """Explain field by field; what comes before a break is shown first."""
    kind = given.format or _format_of(given.table)
    if kind not in _FORMATS:
        raise UsageError(f"--format {kind!r}: one of {', '.join(_FORMATS)} is meant")
    if given.statistics:
        from seamkit.command.inspected import show_statistics

        if kind != "table":
            raise UsageError(f"--statistics are of a table, and {given.table} is none")
        show_statistics(given)
        return 0
    walked: list[ByteField] = []
    problem: InputError | RefusedError | None = None
    try:
        _walk(given, kind, walked)
    except (InputError, RefusedError) as error:
        problem = error
    # Of a table it is shown what its metadata say, which lies at no place.
    has_places = any(field.offset or field.length for field in walked)
    if has_places and not given.json:
        sys.stdout.write(f"{'offset':>8} {'bytes':>6}  what, and its value\n")
    for field in walked:
        _tell(field, given.json, has_places)
    if problem is not None:
        raise _with_name(given, kind, problem) from problem
    return 0


def _with_name(
    given: argparse.Namespace, kind: str, problem: InputError | RefusedError
) -> InputError | RefusedError:
    """The error with the file's name, which pages do not know, and what the file was taken for."""
    sentence = str(problem)
    is_refused = isinstance(problem, RefusedError)
    if not sentence.startswith(given.table.rstrip("/")):
        sentence = f"{given.table}: {'' if is_refused else 'broken '}{sentence}"
    if kind == "presto" and given.format is None:
        sentence += "; it was taken for pages of Presto: --format says what else"
    return RefusedError(sentence) if is_refused else InputError(sentence)


def _format_of(source: str) -> str:
    """What a file is by its first bytes; who reads it says what is wrong with it."""
    file = Path(source)
    if "://" in source or file.is_dir():
        return "table"
    if _begin(file, len(_PARQUET_MAGIC)) == _PARQUET_MAGIC:
        return "parquet"
    return "table" if _format_with_log(file) else "presto"


def _begin(file: Path, size: int) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except OSError:
        return b""


def _format_with_log(file: Path) -> TableFormat | None:
    """The format of which a file is a log."""
    from seamkit.tables.opening import table_formats

    marks = ((one, one.log_magic) for one in table_formats() if one.log_magic)
    return next((one for one, magic in marks if _begin(file, len(magic)) == magic), None)


def _walk(given: argparse.Namespace, kind: str, walked: list[ByteField]) -> None:
    """Meet every field; what came before an error stays."""
    options = parse_options(given.option)
    if kind == "presto":
        _walk_pages(given, options, walked)
        return
    explained = _rows(given, kind, options) if "row" in kind else _table(given, kind)
    for field in explained:
        walked.append(field)  # noqa: PERF402 - what came before an error must stay


def _walk_pages(
    given: argparse.Namespace, options: dict[str, object], walked: list[ByteField]
) -> None:
    from seambase.pages.reader import page_options, read_pages
    from seambase.serde import SerdeRequest
    from seambase.types import parse_schema

    request = _request(given, "presto", options)
    types = None if request is None else parse_schema(request)
    wanted = page_options(request or SerdeRequest("presto", (), options))
    read_pages(read_file(Path(given.table)), wanted, types, walked)


def _request(
    given: argparse.Namespace, kind: str, options: dict[str, object]
) -> SerdeRequest | None:
    from seamkit.command.page import request_of

    return None if given.schema is None else request_of(kind, given.schema, options)


def _rows(given: argparse.Namespace, kind: str, options: dict[str, object]) -> Iterator[ByteField]:
    """Every field of rows; UnsafeRows are graded at the end: whether they are as Spark's."""
    from seambase.walk import ByteField
    from seamkit.serde.rows.inspection import grade, inspect_rows

    request = _request(given, kind, options)
    if request is None:
        raise UsageError(f"--schema is needed: {kind} says nothing of its fields")
    data = read_file(Path(given.table))
    yield from inspect_rows(kind, data, request.fields, request.options)
    if kind == "unsaferow":
        yield ByteField(0, len(data), 0, "grade", grade(data, request.fields, request.options).text)


def _table(given: argparse.Namespace, kind: str) -> Iterator[ByteField]:
    from seamkit.command.inspected import inspect_parquet, inspected_log, inspected_table

    file = Path(given.table)
    if kind == "parquet":
        return inspect_parquet(file)
    if "://" not in given.table and file.is_file() and (log := _format_with_log(file)):
        return inspected_log(log, file)
    return inspected_table(given)


def _tell(field: ByteField, as_json: bool, has_places: bool) -> None:
    if as_json:
        line = {"offset": field.offset, "length": field.length, "depth": field.depth}
        print_json({"schema": JSON_SCHEMA, **line, "what": field.what, "value": field.value})
        return
    text = "" if field.value is None else plain_text(str(field.value))
    if len(text) > _TEXT_WIDTH:
        text = f"{text[: _TEXT_WIDTH - 3]}..."
    indent = "  " * field.depth
    value = f"  {text}" if text else ""
    place = f"{field.offset:>8} {field.length:>6}  " if has_places else ""
    sys.stdout.write(f"{place}{indent}{plain_text(field.what)}{value}\n")

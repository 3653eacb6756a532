"""What commands print: texts that command no terminal, tables, JSON, and a line of progress."""

from __future__ import annotations

import decimal
import itertools
import json
import math
import os
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

from seambase.errors import UsageError

#: Version of what `--json` prints.
JSON_SCHEMA = 1

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_TEXT_CELLS = 48
_SECONDS_BETWEEN = 0.1


def plain_text(text: str) -> str:
    """A text on one line that no terminal takes for a command: all but what shows is escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )


def print_json(value: Any) -> None:
    """One JSON value on one line of standard output."""
    sys.stdout.write(json_text(value, str) + "\n")


def json_text(value: Any, default: Callable[[Any], str], *, ensure_ascii: bool = True) -> str:
    """A value as JSON; numbers that it lacks are texts: "NaN", "Infinity", "-Infinity"."""
    write = partial(json.dumps, default=default, ensure_ascii=ensure_ascii, allow_nan=False)
    try:
        return write(value)
    except ValueError:
        return write(_spelled(value))


def _spelled(value: Any) -> Any:
    """A value whose numbers that JSON lacks are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {name: _spelled(inner) for name, inner in value.items()}
    return [*map(_spelled, value)] if isinstance(value, list | tuple) else value


def print_rows(
    names: Sequence[str], rows: Sequence[Sequence[object]], *, whole: bool = False
) -> None:
    """Print rows of a table.

    On a terminal long texts are cut unless they are to stay `whole`, and columns that do not fit
    are left out and named; numbers are never cut. Elsewhere everything is printed.
    """
    is_terminal = sys.stdout.isatty()
    most = _TEXT_CELLS if is_terminal and not whole else sys.maxsize
    columns = [
        [plain_text(name), *(_cell(row[i], most) for row in rows)] for i, name in enumerate(names)
    ]
    widths = [max(map(_width, column)) for column in columns]
    shown = len(names)
    if is_terminal:
        room = shutil.get_terminal_size().columns
        ends = itertools.accumulate(width + 2 for width in widths)
        shown = max(1, sum(end - 2 <= room for end in ends))
    for line in range(len(rows) + 1):
        cells = [columns[i][line] for i in range(shown)]
        padded = [cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(cells)]
        sys.stdout.write(_strong("  ".join(padded).rstrip(), line == 0 and is_terminal) + "\n")
    if shown < len(names):
        left = ", ".join(column[0] for column in columns[shown:])
        sys.stdout.write(f"not shown, for want of width: {left}\n")


def _strong(text: str, is_strong: bool) -> str:
    plain = os.environ.get("TERM", "dumb") == "dumb" or "NO_COLOR" in os.environ
    return f"\x1b[1m{text}\x1b[0m" if is_strong and not plain else text


def _width(text: str) -> int:
    """Cells of a terminal that a text takes: two for a wide character, none for a mark above."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _cell(value: object, most: int) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float | decimal.Decimal):
        return str(value)
    text = plain_text(value.hex() if isinstance(value, bytes) else str(value))
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


class Status:
    """What goes on, on standard error: one line that changes; off a terminal nothing."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_terminal = sys.stderr.isatty()
        self._shown = 0.0

    def __enter__(self) -> Self:
        if self._is_terminal:
            self._show(self._text)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def update(self, text: str) -> None:
        """Say what goes on now; a terminal is told ten times a second at most."""
        if self._is_terminal and time.monotonic() - self._shown >= _SECONDS_BETWEEN:
            self._show(text)

    def _show(self, text: str) -> None:
        self._shown = time.monotonic()
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{plain_text(text)[:room]}\x1b[K")
        sys.stderr.flush()


def parse_list(text: str | None) -> list[str] | None:
    """Names between commas; None stays None."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{text!r} is no list of names between commas")
    return names


def parse_bytes(text: str | None) -> int | None:
    """A number of bytes: `1073741824`, `512MiB`, `2G`."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]i?)?b?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    if size < 1:
        raise UsageError(f"{text!r} is no size in bytes, such as 512MiB or 2G")
    return size


def parse_options(given: Sequence[str], flag: str = "--option") -> dict[str, Any]:
    """Options `NAME=VALUE`; values are JSON where they can be read so, text otherwise."""
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} {text!r}: write NAME=VALUE, for example codec=lz4")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options

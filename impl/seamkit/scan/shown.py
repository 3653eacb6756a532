"""How tables and scans show themselves: a schema in terminals, the first rows in notebooks.

A line on a terminal while a read takes long.
"""

from __future__ import annotations

import dataclasses
import html
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import pyarrow as pa

from seambase.command.terminal import Status
from seambase.errors import SeambenchError
from seambase.wording import counted

_COLUMNS_SHOWN = 20
_ROWS_SHOWN = 10
_ENTRIES_SHOWN = 20
_TEXT = 60


def schema_lines(schema: pa.Schema) -> list[str]:
    """The columns and their types, a line each."""
    lines = [f"  {field.name}: {_cut(str(field.type))}" for field in schema]
    if len(lines) > _COLUMNS_SHOWN:
        lines[_COLUMNS_SHOWN:] = [f"  ... and {len(lines) - _COLUMNS_SHOWN} more"]
    return lines


def html_of(title: str, schema: pa.Schema, head: Callable[[int], pa.Table]) -> str:
    """A table of the columns, their types and the first rows.

    Where `head` fails, its error stands in place of the rows.
    """
    names = [[field.name, _cut(str(field.type))] for field in schema]
    try:
        first = head(_ROWS_SHOWN)
    except SeambenchError as error:
        return _html(f"{title}: {error}", names, ())
    columns = [["null" if v is None else v for v in shown_values(c)] for c in first.columns]
    rows = zip(*columns, strict=True)
    return _html(title, names, rows)


def shown_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column's values for people; moments that Python has no object for are their numbers."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_number(value) for value in column]


def _number(value: Any) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError):
        return getattr(value, "value", str(value))


Entry = TypeVar("Entry")


class Listing(list[Entry], Generic[Entry]):
    """A list of dataclasses of one kind that shows itself as a table.

    The dataclass' fields are the columns.
    """

    def __init__(self, kind: type[Entry], entries: Iterable[Entry] = ()) -> None:
        super().__init__(entries)
        self._names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = ": a list, which pandas.DataFrame(...) takes" if name == "to_pandas" else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def _cells(self, entries: Sequence[Entry]) -> list[list[str]]:
        return [[_cell(getattr(one, name)) for name in self._names] for one in entries]

    def __repr__(self) -> str:
        rows = [self._names, *self._cells(self[:_ENTRIES_SHOWN])]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        if len(self) > _ENTRIES_SHOWN:
            lines.append(f"... and {len(self) - _ENTRIES_SHOWN} more")
        return "\n".join(lines) if self else f"none ({', '.join(self._names)})"

    def _repr_html_(self) -> str:
        names = [[name] for name in self._names]
        return _html(counted(len(self), "entry"), names, self._cells(self[:_ENTRIES_SHOWN]))


def _html(title: str, names: Sequence[Sequence[str]], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{'<br>'.join(map(_escaped, name))}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td>{_escaped(_cell(value))}</td>' for value in row)}</tr>" for row in rows
    )
    return (
        f"<p>{_escaped(title)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _escaped(text: str) -> str:
    return html.escape(text)


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return "" if value is None else _cut(str(value))


def _cut(text: str) -> str:
    """A text with its middle left out where it is long: ends of paths tell more."""
    half = (_TEXT - 3) // 2
    return text if len(text) <= _TEXT else f"{text[:half]}...{text[-half:]}"


SWITCH = "SEAMKIT_PROGRESS"
"""The variable of the environment that is 0 where nobody wants to see it."""

_AFTER_S = 2.0
_EVERY_S = 0.2


class Progress:
    """How many rows a read has so far, on standard error, from its third second on.

    Only reads that hand out all rows at once show it, and only on a terminal: a stream's rows
    go where its reader writes, too.

    Attributes:
        rows: so far.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._ended = threading.Event()
        is_wanted = os.environ.get(SWITCH) != "0" and sys.stderr is not None
        self._thread = (
            threading.Thread(target=self._show, daemon=True)
            if is_wanted and sys.stderr.isatty()
            else None
        )

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def counted(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches as they come."""
        for batch in batches:
            self.rows += batch.num_rows
            yield batch

    def _show(self) -> None:
        began = time.monotonic()
        if self._ended.wait(_AFTER_S):
            return
        with Status(self._text(began)) as status:
            while not self._ended.wait(_EVERY_S):
                status.update(self._text(began))

    def _text(self, began: float) -> str:
        return f"reading, {counted(self.rows, 'row')} so far, {time.monotonic() - began:.0f} s"

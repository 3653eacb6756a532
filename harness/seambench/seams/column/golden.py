"""Golden files of off-heap columns: what must be in one before a case is made of it.

A file is a table with its chunks, or the list of type strings. Others bring folders of their own,
so that what is missing or of the wrong type is named with its file. Keys beyond those needed are
let pass: a file may say more about itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.data_files import build

T = TypeVar("T")
_HEX = re.compile(r"(?:[0-9a-f]{2}|\?\?)*")


@dataclass(frozen=True)
class _Table:
    fields: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    required_fields: Sequence[str]
    fetch_size: int
    chunks: Sequence[Mapping[str, Any]]
    nested_fields: Sequence[str] | None = None


@dataclass(frozen=True)
class _Chunk:
    num_rows: int
    slots: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class _Slot:
    kind: Literal["nulls", "data", "offsets", "bytes", "unknown"]
    column: str
    hex: str | None = None


@dataclass(frozen=True)
class _TypeString:
    input: str
    grammar: bool
    ok: bool
    parsed: Mapping[str, Any] | None = None
    error: str | None = None
    token: str | None = None


def read_golden(file: Path) -> Any:
    """The content of a golden file: keys of a table, or a list with a dict for each type string."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{file}: not readable as JSON ({error})") from error
    if not data or not isinstance(data, (dict, list)):
        raise UsageError(
            f"{file}: a golden file is a table or a list of type strings, and not empty"
        )
    if isinstance(data, list):
        for number, entry in enumerate(data, 1):
            _part(_TypeString, entry, f"{file}, entry {number}")
    else:
        _check_table(_part(_Table, data, str(file)), file)
    return data


def _part(cls: type[T], data: Any, where: str) -> T:
    """What is needed of a JSON object."""
    if not isinstance(data, dict):
        raise UsageError(f"{where}: an object is expected, not {data!r}")
    names = {field.name for field in fields(cls)}  # type: ignore[arg-type]
    return build(cls, {name: data[name] for name in data if name in names}, where)


def _check_table(table: _Table, file: Path) -> None:
    if len(table.fields) != len(table.types):
        raise UsageError(
            f"{file}: {counted(len(table.fields), 'field')} with "
            f"{counted(len(table.types), 'type')}"
        )
    for number, row in enumerate(table.rows, 1):
        if len(row) != len(table.fields):
            raise UsageError(
                f"{file}: row {number} has {counted(len(row), 'value')} for "
                f"{counted(len(table.fields), 'field')}"
            )
    if not table.chunks:
        raise UsageError(f"{file}: without chunks it tests nothing")
    rows = 0
    for number, entry in enumerate(table.chunks, 1):
        where = f"{file}, chunk {number}"
        chunk = _part(_Chunk, entry, where)
        rows += chunk.num_rows
        for at, slot in enumerate(chunk.slots, 1):
            _check_slot(_part(_Slot, slot, f"{where}, slot {at}"), f"{where}, slot {at}")
    if rows > len(table.rows):
        raise UsageError(
            f"{file}: the chunks have {counted(rows, 'row')}, the file {len(table.rows)}"
        )


def _check_slot(slot: _Slot, where: str) -> None:
    if slot.kind != "unknown" and not _HEX.fullmatch("-" if slot.hex is None else slot.hex):
        raise UsageError(f"{where}: hex is not pairs of 0-9, a-f or ??: {slot.hex!r}")

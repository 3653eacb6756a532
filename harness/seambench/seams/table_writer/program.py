"""A writer's class as a program of the door: `python -m seambench.seams.table_writer.program NAME`.

For writers whose packages do not go with ours: the program runs where they are installed.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts import registry
from seambench.contracts.table_writer import WriterStep


def main() -> None:
    """Do steps until standard input ends. What the writer prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    writer = registry.resolve("table-writer", sys.argv[1])
    for line in sys.stdin:
        try:
            writer.step(_step(json.loads(line)))
            answer: Mapping[str, Any] = {"done": True}
        except RefusedError as refusal:
            answer = {"refused": str(refusal)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _step(said: Mapping[str, Any]) -> WriterStep:
    with pa.OSFile(said["rows"]) as file:
        rows = pa.ipc.open_file(file).read_all()
    types = {field.name: field.type for field in rows.schema}
    where = [(name, how, _operand(how, value, types[name])) for name, how, value in said["where"]]
    kept = ("do", "format", "keys", "partitions", "properties", "column", "to", "name")
    return WriterStep(
        table=Path(said["table"]),
        rows=rows,
        where=where,
        assign={name: _value(value, types[name]) for name, value in said["assign"].items()},
        type=_type(said["type"]),
        **{name: said[name] for name in kept},
    )


def _operand(how: str, value: Any, type_: pa.DataType) -> Any:
    return [_value(one, type_) for one in value] if how == "in" else _value(value, type_)


def _value(value: Any, type_: pa.DataType) -> Any:
    """A value of JSON as the Python value of a type; see `seambench.seams.table_writer.doors`."""
    if not isinstance(value, str):
        return value
    if pa.types.is_decimal(type_):
        return Decimal(value)
    if pa.types.is_timestamp(type_):
        return dt.datetime.fromisoformat(value)
    if pa.types.is_date(type_):
        return dt.date.fromisoformat(value)
    return bytes.fromhex(value) if pa.types.is_binary(type_) else value


def _type(text: str) -> pa.DataType | None:
    """Arrow's word for a flat type; a column of another comes with the rows alone."""
    if not text:
        return None
    if text.startswith("decimal128"):
        return pa.decimal128(*map(int, text[11:-1].split(", ")))
    if text == "timestamp[us, tz=UTC]":
        return pa.timestamp("us", "UTC")
    try:
        return pa.type_for_alias(text)
    except ValueError as error:
        raise RefusedError(f"a column of type {text} cannot be added here") from error


if __name__ == "__main__":
    main()

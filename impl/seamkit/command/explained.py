"""What a table's metadata says, line by line: its state, properties, columns and files."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seambase.walk import Met
from seamkit.command.tables import format_of, opened_table
from seamkit.tables.table import Table
from seamkit.tables.table_format import TableFormat


def explained_log(format_: TableFormat, file: Path) -> Iterator[Met]:
    """What a log of a format says: its blocks, their records and offsets."""
    lines: Iterator[Met] = _function(format_.explain_log)(file)
    return lines


def explained_table(given: argparse.Namespace) -> Iterator[Met]:
    """What the table says that a command names."""
    table = opened_table(given)
    own: Table = getattr(table, "own", table)  # of a metastore's table
    format_ = format_of(own)
    if format_.explain_table:
        lines: Iterator[Met] = _function(format_.explain_table)(own)
        return lines
    return _explained(format_, own)


def _function(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _explained(format_: TableFormat, table: Table) -> Iterator[Met]:
    """The lines of formats that have none of their own."""
    known = table.describe()
    heading = ", ".join(filter(None, (known.version, known.state)))
    yield Met(0, 0, 0, f"{format_.title} table", heading)
    properties = {**getattr(table, "properties", {}), **known.properties}
    for name, value in sorted(properties.items()):
        # A separator of Hive's may be a control character.
        yield Met(0, 0, 1, name, value if value.isprintable() else repr(value))
    for name, value in format_.facts(table):
        yield Met(0, 0, 1, name, value)
    for column in table.schema:
        key = ", of the key" if column.name in known.key else ""
        null = "" if column.nullable else " not null"
        yield Met(0, 0, 1, column.name, f"{column.type}{null}{key}")
    for line in table.scan().explain().splitlines()[1:]:
        path, _, file = line.strip().partition(" ")
        yield Met(0, 0, 1, path, file.strip())

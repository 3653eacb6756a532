"""What a table's metadata or a Parquet file's footer says, line by line.

What is known of a table's rows before one is read: `seamkit inspect --statistics`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json, print_rows
from seambase.errors import InputError
from seambase.walk import ByteField
from seambase.wording import counted
from seamkit.command.tables import format_of, opened_table
from seamkit.files.parquet import open_parquet
from seamkit.tables.opening import TableFormat
from seamkit.tables.table import Table

if TYPE_CHECKING:
    from seambase.statistics import Figure

_TAIL_BYTES = 8  # of a Parquet file: the footer's length, and the magic again


def inspected_log(format_: TableFormat, file: Path) -> Iterator[ByteField]:
    """What a log of a format says: its blocks, their records and offsets."""
    lines: Iterator[ByteField] = _function(format_.inspect_log)(file)
    return lines


def inspected_table(given: argparse.Namespace) -> Iterator[ByteField]:
    """What the table says that a command names."""
    table = opened_table(given)
    own: Table = getattr(table, "own", table)  # of a metastore's table
    format_ = format_of(own)
    if format_.inspect_table:
        lines: Iterator[ByteField] = _function(format_.inspect_table)(own)
        return lines
    return _explained(format_, own)


def _function(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _explained(format_: TableFormat, table: Table) -> Iterator[ByteField]:
    """The lines of formats that have none of their own."""
    known = table.describe()
    heading = ", ".join(filter(None, (known.version, known.state)))
    yield ByteField(0, 0, 0, f"{format_.title} table", heading)
    properties = {**getattr(table, "properties", {}), **known.properties}
    for name, value in sorted(properties.items()):
        # A separator of Hive's may be a control character.
        yield ByteField(0, 0, 1, name, value if value.isprintable() else repr(value))
    for name, value in format_.facts(table):
        yield ByteField(0, 0, 1, name, value)
    for column in table.schema:
        key = ", of the key" if column.name in known.key else ""
        null = "" if column.nullable else " not null"
        yield ByteField(0, 0, 1, column.name, f"{column.type}{null}{key}")
    for line in table.scan().explain().splitlines()[1:]:
        path, _, file = line.strip().partition(" ")
        yield ByteField(0, 0, 1, path, file.strip())


def inspect_parquet(path: Path) -> Iterator[ByteField]:
    """The footer of a file, then its row groups and their columns."""
    try:
        content = pa.OSFile(str(path))
    except OSError as error:
        raise InputError(f"{path}: not readable ({error})") from error
    with content:
        footer, size = open_parquet(content, str(path)).metadata, content.size()
    begin = size - _TAIL_BYTES - footer.serialized_size
    about = f"{counted(footer.num_rows, 'row')}, version {footer.format_version}"
    yield ByteField(0, size, 0, "Parquet file", about)
    yield ByteField(begin, footer.serialized_size, 0, "footer", f"written by {footer.created_by}")
    for field in footer.schema.to_arrow_schema():
        yield ByteField(
            begin, 0, 1, field.name, f"{field.type}{'' if field.nullable else ' not null'}"
        )
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        columns = [group.column(i) for i in range(group.num_columns)]
        start = min((_first_byte(column) for column in columns), default=0)
        length = sum(column.total_compressed_size for column in columns)
        yield ByteField(start, length, 0, f"row group {number}", counted(group.num_rows, "row"))
        for column in columns:
            how = f"{column.physical_type}, {column.compression}, "
            how += " ".join(sorted(column.encodings))
            length = column.total_compressed_size
            yield ByteField(_first_byte(column), length, 1, column.path_in_schema, how)


def _first_byte(column: Any) -> int:
    """A column's dictionary, where there is one, lies before its data."""
    return int(column.dictionary_page_offset or column.data_page_offset)


def show_statistics(given: argparse.Namespace) -> None:
    """Print what is known of the rows of a table's newest state."""
    scan = opened_table(given).scan()
    known = scan.statistics()
    figures = {"rows": _plain(known.rows), "bytes": _plain(known.size_bytes)}
    columns = {
        field.name: {
            "type": str(field.type),
            "nulls": _plain(own.nulls),
            "least": _plain(own.least),
            "greatest": _plain(own.greatest),
            "distinct": _plain(own.distinct),
        }
        for field in scan.schema
        if (own := known.columns[field.name])
    }
    if given.json:
        print_json({"schema": JSON_SCHEMA, "table": given.table, **figures, "columns": columns})
        return
    for name, figure in figures.items():
        sys.stdout.write(plain_text(f"{name}: {_shown(figure)}") + "\n")
    heading = ("column", "type", "nulls", "least", "greatest")
    parts = ("nulls", "least", "greatest")
    print_rows(
        heading,
        [(n, one["type"], *(_shown(one[part]) for part in parts)) for n, one in columns.items()],
    )


def _plain(figure: Figure[Any] | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    value = figure.value
    return {"value": value if isinstance(value, int) else _text(value), "sure": figure.sure}


def _text(value: pa.Scalar) -> str:
    """A value for people: what is no text in hexadecimal digits."""
    if pa.types.is_binary(value.type) or pa.types.is_fixed_size_binary(value.type):
        return bytes(value.as_py()).hex()
    return str(value.cast(pa.string()))


def _shown(figure: Any) -> str:
    """A figure for people: exact where no word is before it, `?` where nobody knows."""
    if figure is None:
        return "?"
    sure = "" if figure["sure"] == "exact" else f"{figure['sure']} "
    return f"{sure}{figure['value']}"

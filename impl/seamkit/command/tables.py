"""Tables and scans as the options of a command say them; `seamkit tables` lists a catalog's."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from seambase.command.terminal import (
    JSON_SCHEMA,
    parse_bytes,
    parse_list,
    parse_options,
    print_json,
    print_rows,
)
from seambase.errors import SeambenchError, UsageError

if TYPE_CHECKING:
    from seamkit.scan.scan import Scan
    from seamkit.tables.catalog import Catalog
    from seamkit.tables.opening import TableFormat
    from seamkit.tables.table import Table

#: Options that say what is read and how, by the library's names.
READING = (
    "columns",
    "filter",
    "query",
    "as_of",
    "begin",
    "end",
    "changes_alone",
    "row_kinds",
    "threads",
    "batch_rows",
    "memory_limit",
    "strict",
    "meta",
)


def storage_options(given: argparse.Namespace) -> dict[str, Any]:
    """Arguments of the storage's file system."""
    return parse_options(given.storage_option, "--storage-option")


def opened_table(given: argparse.Namespace) -> Table:
    """The table that a command names; see `seamkit.open_table`."""
    from seamkit.tables.opening import open_table

    return open_table(given.table, storage_options(given) or None, allow=given.allow)


def format_of(table: Table) -> TableFormat:
    """The format of an opened table."""
    from seamkit.tables.opening import table_formats

    own = getattr(table, "own", table)  # of a metastore's table
    return next(one for one in table_formats() if one.class_name == type(own).__name__)


def planned_scan(given: argparse.Namespace) -> Scan:
    """The scan that the options say."""
    memory, names = parse_bytes(given.memory_limit), parse_list(given.columns)
    said = {name: getattr(given, name) for name in READING if name not in ("columns", "meta")}
    said["memory_limit_bytes"] = memory
    del said["memory_limit"]
    options = {name: value for name, value in said.items() if value not in (None, False)}
    from seamkit.scan.arguments import keywords_of

    table = opened_table(given)
    own: Table = getattr(table, "own", table)
    known = keywords_of(type(own).scan)
    for name in options:
        if name not in known:
            word = name.replace("_", "-")
            raise UsageError(f"--{word}: {format_of(table).title} tables have no such option")
    if given.meta:
        names = _with_meta(table, names, options)
    return table.scan(names, **options)


def _with_meta(table: Table, names: list[str] | None, options: dict[str, Any]) -> list[str]:
    """The format's meta columns before the others."""
    meta = format_of(table).meta_columns
    shown = table.scan(**options).schema.names if names is None else names
    return [*(name for name in meta if name not in shown), *shown]


_SHOWN = ("format", "columns", "problem")


def tables(given: argparse.Namespace) -> int:
    """List tables; with their columns, each is opened."""
    from seamkit.tables.catalog import open_catalog

    catalog = open_catalog(given.catalog, storage_options(given) or None)
    rows = []
    for name in catalog.tables(given.database):
        about = _opened(catalog, name, given) if given.columns else {}
        if given.json:
            print_json({"schema": JSON_SCHEMA, "table": name, **about})
        else:
            rows.append((name, *(_text(about.get(one)) for one in _SHOWN)))
    if not given.json:
        heading = ("table", *_SHOWN) if given.columns else ("table",)
        print_rows(heading, [row[: len(heading)] for row in rows])
    return 0


def _opened(catalog: Catalog, name: str, given: argparse.Namespace) -> dict[str, Any]:
    """What a table is, or why it cannot be opened."""
    try:
        table = catalog.open(name, allow=given.allow)
        columns = {field.name: str(field.type) for field in table.shown_schema}
    except SeambenchError as error:
        return {"problem": str(error)}
    return {"format": format_of(table).name, "columns": columns}


def _text(said: Any) -> str:
    if isinstance(said, dict):
        return ", ".join(f"{name} {kind}" for name, kind in said.items())
    return said or ""

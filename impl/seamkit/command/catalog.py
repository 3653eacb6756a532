"""`seamkit tables`: what a catalog holds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from seambase.command.terminal import JSON_SCHEMA, print_json, print_rows
from seambase.errors import SeambenchError
from seamkit.command.tables import format_of, storage_options

if TYPE_CHECKING:
    from seamkit.tables.catalog import Catalog

_SHOWN = ("format", "columns", "problem")


def tables(given: argparse.Namespace) -> int:
    """List tables; with their columns, each is opened."""
    from seamkit.tables.catalog import open_catalog

    catalog = open_catalog(given.catalog, storage_options(given) or None)
    rows = []
    for name in catalog.tables(given.database):
        found = _opened(catalog, name, given) if given.columns else {}
        if given.json:
            print_json({"schema": JSON_SCHEMA, "table": name, **found})
        else:
            rows.append((name, *(_text(found.get(one)) for one in _SHOWN)))
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

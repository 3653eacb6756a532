"""What is known of a table's rows before one is read: `seamkit inspect --statistics`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json, print_rows
from seamkit.command.tables import opened_table

if TYPE_CHECKING:
    import pyarrow as pa

    from seambase.statistics import Figure


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
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_binary(value.type) or kinds.is_fixed_size_binary(value.type):
        return bytes(value.as_py()).hex()
    return str(value.cast(pa.string()))


def _shown(figure: Any) -> str:
    """A figure for people: exact where no word is before it, `?` where nobody knows."""
    if figure is None:
        return "?"
    sure = "" if figure["sure"] == "exact" else f"{figure['sure']} "
    return f"{sure}{figure['value']}"

"""What is known of a table's rows before one is read: `seambench inspect --statistics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from seambase.command.terminal import JSON_SCHEMA, print_json, print_rows
from seambase.errors import RefusedError, UsageError
from seambench.cli.shared.common import console

if TYPE_CHECKING:
    import pyarrow as pa

    from seambase.statistics import Figure
    from seambench.contracts.scan import Scanner

__all__ = ["show_statistics"]


def show_statistics(
    table: str, format_: str, impl: str, allow: Sequence[str] = (), *, as_json: bool
) -> None:
    """Print what a reader tells of the rows of a table's newest state.

    Args:
        table: its folder or address.
        format_: what lies there.
        impl: name of the reader.
        allow: addresses on other hosts that its metadata may name.
        as_json: one JSON object in place of a table.

    Raises:
        UsageError: there is no table.
        RefusedError: the reader tells nothing of that kind.
    """
    if format_ != "table":
        raise UsageError(f"--statistics are of a table, and {table} is none")
    from seambench.contracts import registry
    from seambench.contracts.scan import Estimating, ScanRequest

    scan = cast("Scanner", registry.resolve("scan", impl)).open(ScanRequest(table, allow=allow))
    if not isinstance(scan, Estimating):
        raise RefusedError(f"{impl} tells no statistics of its scans")
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
    if as_json:
        print_json({"schema": JSON_SCHEMA, "table": table, **figures, "columns": columns})
        return
    out = console()
    for name, figure in figures.items():
        out.print(f"{name}: {_shown(figure)}", markup=False)
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

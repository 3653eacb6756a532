"""Whether an answer equals the oracle's, and if not, what the first difference is.

Integers, decimals, strings, dates, times and booleans must be equal and of one kind; doubles may
differ by one part in 10^9, since the order of a sum is the engine's own; NULL equals NULL only, NaN
equals NaN. Rows are compared in their order where the query has one, otherwise as a multiset.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from seambase.wording import counted
from seambench.engines.digest import quote

_RELATIVE = 1e-9
_SHOWN = 200

Row = Sequence[Any]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """A type without its encoding: large strings, views and dictionaries of strings are strings."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def schema_difference(expected: pa.Schema, actual: pa.Schema) -> str | None:
    """First difference in names, order or types; encodings and nullability do not count."""
    if expected.names != actual.names:
        return f"columns {expected.names} expected, {actual.names} found"
    for want, have in zip(expected, actual, strict=True):
        if plain_type(want.type) != plain_type(have.type):
            return f"column {want.name!r} must be {plain_type(want.type)}, it is {have.type}"
    return None


def row_difference(
    expected: Sequence[Row], actual: Sequence[Row], names: Sequence[str], *, ordered: bool
) -> str | None:
    """First difference of actual rows from expected ones, as a sentence; None if there is none."""
    for row in (*expected[:1], *actual[:1]):
        if len(row) != len(names):
            return f"{counted(len(names), 'column')} expected, a row has {len(row)}"
    if not ordered:
        expected, actual = sorted(expected, key=_sort_key), sorted(actual, key=_sort_key)
    for at, (want, have) in enumerate(zip(expected, actual, strict=False)):
        for name, wanted, found in zip(names, want, have, strict=True):
            if not _equal(wanted, found):
                place = f"row {at + 1}" if ordered else f"row {at + 1} in sorted order"
                return (
                    f"{place}, column {name!r}: {wanted!r} expected, {found!r} found; "
                    f"rows {_show(want)} and {_show(have)}"
                )
    if len(expected) != len(actual):
        longer, word = (expected, "missing") if len(expected) > len(actual) else (actual, "extra")
        row = longer[min(len(expected), len(actual))]
        wanted = counted(len(expected), "row")
        return f"{wanted} expected, {len(actual)} found; first {word}: {_show(row)}"
    return None


def settled(expected: Sequence[Row], actual: Sequence[Row], *, ordered: bool) -> Sequence[Row]:
    """Rows that do not differ from the oracle's, each double as the oracle has it."""
    if not ordered:
        expected, actual = sorted(expected, key=_sort_key), sorted(actual, key=_sort_key)
    return [
        tuple(
            wanted if isinstance(found, float) else found
            for wanted, found in zip(want, have, strict=True)
        )
        for want, have in zip(expected, actual, strict=True)
    ]


def doubles_for_decimals(expected: Sequence[Row], actual: Sequence[Row]) -> Sequence[Row]:
    """Rows of an engine that averages and divides decimals into decimals, as the oracle types them.

    A decimal where the oracle has a double becomes that double if it is within one unit of the
    decimal's last digit, which such an engine may have rounded more than once; else its own value
    as a double. Everything else stays. Rows are in the same order.
    """
    return [
        tuple(map(_as_double, want, have)) if len(want) == len(have) else have
        for want, have in zip(expected, actual, strict=False)
    ] + list(actual[len(expected) :])


def _as_double(expected: Any, actual: Any) -> Any:
    if not isinstance(expected, float) or not isinstance(actual, Decimal):
        return actual
    unit = Decimal(1).scaleb(int(actual.as_tuple().exponent))
    near = math.isfinite(expected) and abs(Decimal(expected) - actual) <= unit
    return expected if near else float(actual)


def relation_difference(
    con: duckdb.DuckDBPyConnection, expected: str, actual: str, columns: Sequence[str]
) -> str | None:
    """First difference between two relations as multisets of rows, as a sentence.

    They are tables, views or queries in parentheses, read more than once; without columns their
    numbers of rows are compared.
    """
    counts = [
        int(con.execute(f"SELECT count(*) FROM {side}").fetchall()[0][0])  # noqa: S608 - the caller's own relations
        for side in (expected, actual)
    ]
    problems = []
    if columns:
        listed = ", ".join(quote(name) for name in columns)
        for word, some, others in (("missing", expected, actual), ("extra", actual, expected)):
            rows = con.execute(
                f"SELECT {listed} FROM {some} EXCEPT ALL SELECT {listed} FROM {others} "  # noqa: S608 - names are quoted
                "ORDER BY ALL LIMIT 1"
            ).fetchall()
            problems += [f"first {word} row: {_show(row)}" for row in rows]
    if counts[0] != counts[1]:
        problems.insert(0, f"{counted(counts[0], 'row')} expected, {counts[1]} found")
    return "; ".join(problems) or None


def _equal(expected: Any, actual: Any) -> bool:
    if expected is None or actual is None:
        return expected is actual
    # 1, 1.0, True and Decimal(1) are equal in Python, yet are answers of different types.
    if type(expected) is not type(actual):
        return False
    if isinstance(expected, float):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return math.isclose(expected, actual, rel_tol=_RELATIVE, abs_tol=0.0)
    return bool(expected == actual)


def _sort_key(row: Row) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Exact values decide first, so that a double's last digit cannot move a row."""
    exact = tuple(
        "" if isinstance(value, float) else f"{value is not None}{value!r}" for value in row
    )
    doubles = tuple(
        (math.inf if math.isnan(value) else value) if isinstance(value, float) else 0.0
        for value in row
    )
    return exact, doubles


def _show(row: Row) -> str:
    text = "(" + ", ".join(str(value) for value in row) + ")"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

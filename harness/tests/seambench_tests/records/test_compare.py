"""Equal answers are equal, and any difference is told by its place."""

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from seambench.records.compare import relation_difference, row_difference, schema_difference

NAMES = ["k", "v"]
NAN = float("nan")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, 2),
        (1, None),
        (None, 1),
        (1, 1.0),
        (1, True),
        (Decimal("1.00"), 1),
        (Decimal("1.00"), Decimal("1.01")),
        (Decimal("12345678901234.55"), Decimal("12345678901234.56")),
        ("a", "a "),
        ("", None),
        (dt.date(1995, 1, 1), dt.date(1995, 1, 2)),
        (dt.date(1995, 1, 1), "1995-01-01"),
        (1.0, 1.0 + 2e-9),
        (0.0, 1e-300),
        (NAN, 0.0),
        (math.inf, 1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("ordered", [True, False])
def test_different_values_are_found(expected: Any, actual: Any, ordered: bool) -> None:
    """A wrong value is told with its column, what was expected and what was found."""
    problem = row_difference([(7, expected)], [(7, actual)], NAMES, ordered=ordered)
    assert problem is not None
    assert f"column 'v': {expected!r} expected, {actual!r} found" in problem


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (None, None),
        (Decimal("1.50"), Decimal("1.5")),
        (1.0, 1.0 + 5e-10),
        (0.0, -0.0),
        (NAN, NAN),
        (math.inf, math.inf),
    ],
    ids=str,
)
def test_equal_values(expected: Any, actual: Any) -> None:
    """Doubles may differ in their last digits, decimals in how they are written."""
    assert row_difference([(expected,)], [(actual,)], ["v"], ordered=True) is None


def test_order_counts_where_the_query_has_one() -> None:
    """The same rows in another order are wrong for an ordered query, right for any other."""
    rows = [(1, None), (2, "b"), (None, "a"), (1, None)]
    turned = rows[::-1]
    assert row_difference(rows, turned, NAMES, ordered=False) is None
    assert "row 2" in str(row_difference(rows, turned, NAMES, ordered=True))


def test_rounding_does_not_move_rows_apart() -> None:
    """A double that differs in its last digit still meets its own row."""
    expected = [(0.3, "b"), (0.1 + 0.2, "a")]
    actual = [(0.3, "a"), (0.1 + 0.2, "b")]
    assert row_difference(expected, actual, ["v", "k"], ordered=False) is None


@pytest.mark.parametrize(
    ("actual", "says"),
    [
        ([(1, "a")], r"3 rows expected, 1 found; first missing: \(2, b\)"),
        ([(1, "a"), (2, "b"), (2, "b"), (3, "c")], r"3 rows expected, 4 found; first extra: \(3"),
        ([], r"3 rows expected, 0 found; first missing: \(1, a\)"),
        ([(1,)], "2 columns expected, a row has 1"),
    ],
)
def test_missing_and_extra_rows_are_found(actual: list[tuple[Any, ...]], says: str) -> None:
    """Numbers of rows are told, with the first row that is too few or too many."""
    problem = row_difference([(1, "a"), (2, "b"), (2, "b")], actual, NAMES, ordered=True)
    assert problem is not None
    assert re.search(says, problem)


def test_relations_are_compared_as_multisets() -> None:
    """Repeated rows and NULLs count; the order does not."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE e AS SELECT * FROM (VALUES (1, 'a'), (1, 'a'), (NULL, 'b')) t(k, v)"
        )
        con.execute("CREATE TABLE same AS SELECT * FROM e ORDER BY k NULLS FIRST")
        con.execute("CREATE TABLE less AS SELECT DISTINCT * FROM e")
        con.execute("CREATE TABLE other AS SELECT k, coalesce(nullif(v, 'b'), 'c') AS v FROM e")
        assert relation_difference(con, "e", "same", NAMES) is None
        assert relation_difference(con, "e", "same", []) is None
        assert relation_difference(con, "e", "less", NAMES) == (
            "3 rows expected, 2 found; first missing row: (1, a)"
        )
        assert relation_difference(con, "e", "other", NAMES) == (
            "first missing row: (None, b); first extra row: (None, c)"
        )


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (pa.large_string(), None),
        (pa.string_view(), None),
        (pa.dictionary(pa.int8(), pa.large_string()), None),
        (pa.binary(), "column 's' must be string, it is binary"),
        (pa.int64(), "column 's' must be string, it is int64"),
    ],
    ids=str,
)
def test_types_are_checked_without_their_encoding(kind: pa.DataType, problem: str | None) -> None:
    """Strings may be encoded in any way; another type is a difference."""
    expected = pa.schema([pa.field("s", pa.string(), nullable=False)])
    assert schema_difference(expected, pa.schema([("s", kind)])) == problem


@pytest.mark.parametrize(
    "other", [pa.decimal128(15, 3), pa.decimal128(12, 2), pa.float64()], ids=str
)
def test_decimals_are_checked_with_precision_and_scale(other: pa.DataType) -> None:
    """A decimal of other precision or scale is another type."""
    expected = pa.schema([("q", pa.decimal128(15, 2))])
    assert "'q' must be decimal128(15, 2)" in str(
        schema_difference(expected, pa.schema([("q", other)]))
    )


def test_names_and_their_order_are_checked() -> None:
    """Columns must come under their names and in their order."""
    one = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    two = pa.schema([("b", pa.int64()), ("a", pa.int64())])
    assert schema_difference(one, two) == "columns ['a', 'b'] expected, ['b', 'a'] found"

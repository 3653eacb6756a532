"""Filters of Spark's become conditions that never leave out a row which passes."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seamkit.engines.spark_source import condition_of

TABLE = pa.table(
    {
        "i": pa.array([1, 2, 3, None], pa.int32()),
        "s": pa.array(["a", "b\u00e9", None, "d"]),
        "d": pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("-1.00")]),
        "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1969, 1, 1), dt.date(2021, 5, 5)]),
        "f": pa.array([1.0, float("nan"), None, 2.0]),
        "s.i": pa.array([5, 6, 7, 8]),
        "a`b": pa.array([5, 6, 7, 8]),
    }
)


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ([["EqualTo", "i", "2"]], [1]),
        ([["In", "i", "1", "3"]], [0, 2]),
        ([["GreaterThan", "i", "1"], ["IsNotNull", "s"]], [1]),
        ([["Or", ["LessThan", "i", "2"], ["EqualTo", "s", "d"]]], [0, 3]),
        ([["And", ["LessThanOrEqual", "i", "2"], None]], [0, 1]),
        ([["EqualTo", "s", "b\u00e9"]], [1]),
        ([["GreaterThanOrEqual", "d", "1.5"]], [0, 1]),
        ([["LessThan", "day", "1970-01-01"]], [2]),
        ([["EqualTo", "`s.i`", "6"]], [1]),
        ([["EqualTo", "`a``b`", "7"]], [2]),
    ],
)
def test_what_is_taken_over_keeps_the_rows_that_pass(filters: list[Any], rows: list[int]) -> None:
    """The rows are those that SQL's meaning of the filters lets through."""
    condition = condition_of(json.dumps(filters), TABLE.schema)
    assert condition is not None
    shown = TABLE.drop_columns("f")  # NaN equals nothing
    assert TABLE.filter(condition).drop_columns("f").to_pylist() == shown.take(rows).to_pylist()


@pytest.mark.parametrize(
    "filters",
    [
        [],
        [None],
        [["EqualTo", "f", "NaN"]],
        [["EqualTo", "i", None]],
        [["In", "i", "1", None]],
        [["Or", ["EqualTo", "i", "1"], None]],
        [["EqualTo", "elsewhere", "1"]],
        [["EqualTo", "day", "+12020-01-01"]],
        [["EqualTo", "d", "1.505"]],
        [["EqualTo", "s.i", "5"]],
        [["EqualTo", "`s`.i", "5"]],
        [["EqualTo", "`s`.`i`", "5"]],
    ],
)
def test_what_may_compare_otherwise_stays_with_spark(filters: list[Any]) -> None:
    """NaN, nulls, unknown columns, fields of structs, other kinds: nothing is left out below."""
    assert condition_of(json.dumps(filters), TABLE.schema) is None

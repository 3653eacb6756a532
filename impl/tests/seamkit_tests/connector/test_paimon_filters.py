"""What of a filter goes down to a reader that may rule rows out by some columns."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambench_impl.jni.paimon import ruling_out

k, t, m, d, f, b = map(pc.field, "ktmdfb")
COLUMNS = pa.schema(
    {
        "k": pa.int8(),
        "t": pa.string(),
        "m": pa.decimal128(5, 2),
        "d": pa.date32(),
        "f": pa.float64(),
        "b": pa.bool_(),
    }
)


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        (k == 5, ["equal", "k", "5"]),
        (k != 5, ["notEqual", "k", "5"]),
        (pc.scalar(5) < k, ["greaterThan", "k", "5"]),
        (pc.scalar(5) == k, ["equal", "k", "5"]),
        (t >= "é", ["greaterOrEqual", "t", "é"]),
        (m < Decimal("1.5"), ["lessThan", "m", "1.50"]),
        (d == dt.date(1969, 12, 31), ["equal", "d", "-1"]),
        (b == pa.scalar(True), ["equal", "b", "true"]),
        (k.isin([1, 2]), ["in", "k", "1", "2"]),
        (f.is_valid(), None),
        (k.is_null(), ["isNull", "k"]),
        ((k == 5) & (f > 1), ["equal", "k", "5"]),
        ((k == 5) & (t == "a"), ["and", ["equal", "k", "5"], ["equal", "t", "a"]]),
        ((k == 5) | (t == "a"), ["or", ["equal", "k", "5"], ["equal", "t", "a"]]),
        (pc.if_else(k.is_valid(), k == 5, pa.scalar(None, pa.bool_())), ["equal", "k", "5"]),
        # What may leave rows out that meet the condition stays with the scan.
        ((k == 5) | (pc.field("value") == 1), None),
        (~(k == 5), None),
        (pc.field("value") == 1, None),
        (f == 1.0, None),
        (k == 500, None),
        (k == 1.5, None),
        (m == Decimal("1.005"), None),
        (k.isin([1, None]), None),
        (k.isin([]), None),
        (k == t, None),
        (pc.utf8_lower(t) == "a", None),
        (k == pa.scalar(None, pa.int8()), None),
        (d == dt.datetime(2020, 1, 1), None),
        (None, None),
    ],
    ids=str,
)
def test_what_may_rule_rows_out(condition: pc.Expression | None, test: list[Any] | None) -> None:
    """Comparisons that Paimon makes as Arrow does, of columns that count."""
    found = ruling_out(condition, COLUMNS)
    assert (None if found is None else json.loads(found)) == test

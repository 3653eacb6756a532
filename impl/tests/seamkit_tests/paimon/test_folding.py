"""Aggregate functions over whole columns give what they give row by row."""

import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seamkit.tables.paimon.merge_engines.engines import make_function
from seamkit.tables.paimon.merge_engines.folding import folded

FLOATS = (0.0, -0.0, 1e16, 1.0, -1e16, math.nan, math.inf, -math.inf, 0.1, 1e308)
VALUES: dict[pa.DataType, tuple[Any, ...]] = {
    pa.int8(): (-128, 127, 1, 0, -1),
    pa.int64(): (-(2**63), 2**63 - 1, 5, -7, 0),
    pa.float32(): FLOATS[:-1],
    pa.float64(): FLOATS,
    pa.decimal128(9, 2): tuple(map(Decimal, ("0.01", "-3.50", "9999999.99", "-9999999.99", "1"))),
    pa.decimal128(5, 0): tuple(map(Decimal, ("1", "-20", "300"))),
    pa.decimal128(30, 3): tuple(map(Decimal, ("1.001", "-2.5", "100000000000000000000"))),
    pa.bool_(): (True, False),
    pa.string(): ("", "a", "ab", "\U0001f600", "z"),
    pa.date32(): (0, 1, -5),
}
NUMBERS = [kind for kind in VALUES if not pa.types.is_string(kind) and not pa.types.is_date(kind)]
ANY = ["last_value", "last_non_null_value", "first_value", "first_non_null_value", "max", "min"]
CASES = [(function, kind) for function in ANY for kind in VALUES]
CASES += [("sum", kind) for kind in NUMBERS if not pa.types.is_boolean(kind)]
CASES += [("bool_and", pa.bool_()), ("bool_or", pa.bool_())]


def _text(values: pa.Array) -> list[str]:
    """Values with the signs of zeros told apart."""
    return [repr(value) for value in values.to_pylist()]


@pytest.mark.parametrize(("function", "kind"), CASES, ids=str)
@pytest.mark.parametrize("share_of_nulls", [0, 0.4])
def test_both_ways_agree(function: str, kind: pa.DataType, share_of_nulls: float) -> None:
    """Also of rows that are passed over, of nulls, of sums that wrap or do not fit."""
    chance = random.Random(f"{function}{kind}{share_of_nulls}")
    compared = 0
    for _ in range(25):
        counts = [chance.randint(2, 6) for _ in range(chance.randint(1, 8))]
        starts = np.cumsum([0, *counts[:-1]]).astype(np.int32)
        values = [
            None if chance.random() < share_of_nulls else chance.choice(VALUES[kind])
            for _ in range(sum(counts) + 1)
        ]
        column = pa.array(values, kind).slice(1)  # an offset, as slices have
        counted = np.array([chance.random() < 0.8 for _ in range(len(column))])

        whole = folded(function, column, counted, starts, "here")

        rows = make_function(function, column, {}, "here")
        kept = []
        for begin, count in zip(starts.tolist(), counts, strict=True):
            rows.begin()
            one: Any = None
            for row in range(begin, begin + count):
                one = rows.agg(one, row) if counted[row] else one
            kept.append(one)
        if whole is not None:
            compared += 1
            assert whole.type == kind
            whole.validate(full=True)
            assert _text(whole) == _text(rows.result(kept))
    is_wide = pa.types.is_decimal(kind) and kind.precision > 18
    assert compared or (function == "sum" and (is_wide or kind == pa.decimal128(9, 2)))


def test_nulls_among_rows_in_an_array_are_left_out_of_what_is_put_together() -> None:
    """They have no key, and a retract does not take them back."""
    kind = pa.list_(pa.struct([("id", pa.int32()), ("v", pa.string())]))
    a, b, newer = {"id": 1, "v": "a"}, {"id": 2, "v": "b"}, {"id": 1, "v": "c"}
    column = pa.array([[None, a], [b, None, newer], [None, b]], kind)
    for options, expected in (({"nested-key": "id"}, [newer, b]), ({}, [a, b, newer])):
        function = make_function("nested_update", column, options, "here")
        kept = function.agg(function.agg(None, 0), 1)
        assert function.result([kept]).to_pylist() == [expected]
        left = [item for item in expected if item != b]
        assert function.result([function.retract(kept, 2)]).to_pylist() == [left]

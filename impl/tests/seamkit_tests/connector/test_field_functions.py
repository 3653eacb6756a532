"""Both readings of Paimon's aggregate functions: over columns, and one value after the other."""

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError
from seamkit.connector import field_functions
from seamkit.tables.paimon.merge_engines.engines import make_function

_ROW = pa.struct([("id", pa.int32()), ("v", pa.string())])
_ROWS = [
    {"id": 1, "v": "a"},
    {"id": 1, "v": None},
    {"id": 2, "v": "b"},
    {"id": None, "v": "\uffee"},
]
_TIMED = [
    {"id": at, "v": text} for at, text in enumerate(["10", "9", "\U0001f600", "\uffee", None])
]
_NUMBERS = (
    (pa.int8(), [-128, 127, 5, -7, 1]),
    (pa.int64(), [-(2**63), 2**63 - 1, 3, -2]),
    (pa.float32(), [0.5, -0.0, 3.0, 16777217.0]),
    (pa.float64(), [0.1, -0.0, 0.0, float("inf"), 1e308]),
    (pa.decimal128(9, 2), [Decimal(x) for x in ("0.01", "-3.50", "9999999.99", "0.25")]),
    (pa.decimal128(30, 5), [Decimal(x) for x in ("1.00001", "-2", "9999999999999999999999999.9")]),
)
_OTHERS: tuple[tuple[str, pa.DataType, list[Any], dict[str, str]], ...] = (
    *((name, kind, own, {}) for name in ("max", "min") for kind, own in _NUMBERS),
    ("max", pa.float64(), [float("nan"), 1.0, -0.0, 0.0], {}),
    *((name, pa.bool_(), [True, False], {}) for name in ("bool_and", "bool_or")),
    ("listagg", pa.string(), ["", "a", "a,b", " ", "b,,b"], {}),
    ("listagg", pa.string(), ["", "a", "a,b", " ", "b,,b"], {"distinct": "true"}),
    ("listagg", pa.string(), ["", "a", "a,b"], {"list-agg-delimiter": "--"}),
    ("collect", pa.list_(pa.int32()), [[1, 2, 1], [], [None, 2], [3]], {}),
    ("collect", pa.list_(pa.int32()), [[1, 2, 1], [], [None, 2], [3]], {"distinct": "true"}),
    ("collect", pa.list_(_ROW), [_ROWS, _ROWS[:1], []], {"distinct": "true"}),
    ("merge_map", pa.map_(pa.string(), pa.int32()), [[("a", 1)], [("a", None), ("b", 2)], []], {}),
    ("merge_map_with_keytime", pa.map_(pa.string(), _ROW),
     [[("x", row)] for row in _TIMED] + [[("x", None), ("y", _TIMED[0])]], {}),
    ("nested_update", pa.list_(_ROW), [_ROWS, [None, *_ROWS[:1]], [], _ROWS[2:]], {}),
    ("nested_update", pa.list_(_ROW), [_ROWS[1:], [None], _ROWS[:1]], {"nested-key": "id"}),
    ("nested_update", pa.list_(_ROW), [_ROWS, _ROWS[:2], []], {"count-limit": "3"}),
    ("nested_partial_update", pa.list_(_ROW), [_ROWS, _ROWS[1:], [None]], {"nested-key": "id"}),
    *(
        (name, pa.int32(), [1, 2, 3], {})
        for name in ("last_value", "last_non_null_value", "first_value", "first_non_null_value")
    ),
    *((name, kind, own, {}) for name in ("sum", "product") for kind, own in _NUMBERS),
)  # fmt: skip


def _told(step: Any, *given: Any) -> Any:
    """What a step comes to, or that it is refused."""
    try:
        return step(*given)
    except RefusedError:
        return RefusedError


@pytest.mark.parametrize(("name", "kind", "values", "options"), _OTHERS, ids=lambda x: str(x)[:40])
def test_both_readings_agree(
    name: str, kind: pa.DataType, values: list[Any], options: dict[str, str]
) -> None:
    """Of rows that come, come late, and are taken back, nulls among them, and of refusals."""
    chance = random.Random(f"{name}{kind}{options}")
    for _ in range(60):
        drawn = [chance.choice([*values, None]) for _ in range(chance.randint(2, 5))]
        steps = [chance.choice(("add", "add", "late", "retract")) for _ in drawn]
        column = pa.array(drawn, kind)
        one = make_function(name, column, options, "here")
        one.begin()
        other = field_functions.FUNCTIONS[name](name, kind, options, "here")
        kept, own = None, None
        for row, (step, value) in enumerate(zip(steps, column.to_pylist(), strict=True)):
            by_row = {"add": one.agg, "late": one.reverse, "retract": one.retract}[step]
            kept, own = _told(by_row, kept, row), _told(getattr(other, step), own, value)
            if RefusedError in (kept, own):
                break
        if RefusedError not in (kept, own):
            kept, own = (
                _told(one.result, [kept]),
                _told(lambda end=other.whole, k=own: pa.array([end(k)], kind)),
            )
        assert str(kept) == str(own), (drawn, steps)


@pytest.mark.parametrize("digits", [4, 18])
def test_sums_of_few_digits_are_those_of_64_bits(digits: int) -> None:
    """What is too large on the way comes back; at the end it is refused, as Paimon shows it."""
    kind = pa.decimal128(digits, 0)
    most = Decimal(10**digits - 1)
    column = pa.array([most, most, most], kind)
    for function in (
        make_function("sum", column, {}, "here"),
        field_functions.FUNCTIONS["sum"]("sum", kind, {}, "here"),
    ):
        is_witness = isinstance(function, field_functions.Function)
        values: Any = [most] * 3 if is_witness else range(3)
        add: Any = function.add if isinstance(function, field_functions.Function) else function.agg
        twice = add(add(None, values[0]), values[1])
        back = function.retract(twice, values[2])
        end: Any = function.whole if isinstance(function, field_functions.Function) else None
        finish = end or (lambda kept, f=function: f.result([kept]).to_pylist()[0])
        assert finish(back) == most
        with pytest.raises(RefusedError, match="with more digits than its type has"):
            finish(twice)

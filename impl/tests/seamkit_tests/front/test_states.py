"""Which rows of two states are alike, each pair of values of a type, told by Python's own."""

import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seamkit.tables.states import not_in_both, same_rows

_ODD_NAN = struct.unpack("<d", bytes(6) + b"\xf9\xff")[0]
_FLOATS = [0.0, -0.0, math.nan, _ODD_NAN, 1.5, None]
_LISTS = [None, [], [None], [0.0], [-0.0], [math.nan], [_ODD_NAN], [1.5, 2.5], [2.5, 1.5]]
_PAIRS = [None, [1.0, None], [None, None], [0.0, 2.0], [-0.0, 2.0], [2.0, math.nan]]
_ENTRIES = [None, [], [("a", 1)], [("a", None)], [("a", 1), ("b", 2)], [("b", 2), ("a", 1)]]
_STRUCTS = [None, {"a": None, "b": None}, {"a": 0.0, "b": "x"}, {"a": -0.0, "b": "x"},
            {"a": math.nan, "b": ""}, {"a": None, "b": ""}]  # fmt: skip
_FLOAT = pa.float64()
_STRUCT = pa.struct([("a", _FLOAT), ("b", pa.string())])
_VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (_FLOAT, _FLOATS),
    (pa.string(), ["", None, "a"]),
    (pa.int32(), [1, None, 2]),
    (pa.null(), [None, None]),
    (pa.uuid(), [b"a" * 16, b"b" * 16, None]),
    *((make(_FLOAT), _LISTS) for make in (pa.list_, pa.large_list, pa.list_view)),
    (pa.list_(_FLOAT, 2), _PAIRS),
    (pa.list_(pa.list_(_FLOAT, 2)), [None, [], [None], *([pair] for pair in _PAIRS[1:]), _PAIRS]),
    (pa.map_(pa.string(), pa.int32()), _ENTRIES),
    (_STRUCT, _STRUCTS),
    (pa.struct([]), [None, {}]),
    (pa.list_(_STRUCT), [None, [], *([one] for one in _STRUCTS), _STRUCTS]),
    (pa.struct([("m", pa.map_(pa.string(), pa.int32()))]), [None, *({"m": m} for m in _ENTRIES)]),
    (pa.map_(pa.string(), pa.list_(_FLOAT)), [[("a", [0.0])], [("a", [-0.0])], [("a", None)]]),
    (pa.list_(pa.null()), [None, [], [None], [None, None]]),
]  # fmt: skip


def _batch(kind: pa.DataType, values: list[Any]) -> pa.RecordBatch:
    """The values in a slice, with others before and behind them."""
    return pa.record_batch({"v": pa.array([*values[::-1], *values, values[0]], kind)}).slice(
        len(values), len(values)
    )


@pytest.mark.parametrize(("kind", "values"), _VALUES, ids=[str(kind) for kind, _ in _VALUES])
def test_values_are_alike_as_python_spells_them(kind: pa.DataType, values: list[Any]) -> None:
    """Null is null, NaN is NaN whatever its bits, zero has a sign; slices begin where they say."""
    batch, spelled = _batch(kind, values), [repr(value) for value in values]
    count = len(values)
    was, became = (pa.array(each.ravel()) for each in np.indices((count, count)))
    same = same_rows(batch, batch, was, became, ["v"]).reshape(count, count)
    assert same.tolist() == [[one == other for other in spelled] for one in spelled]
    for at in range(count):
        rest, gone = batch.slice(at), batch.slice(0, at)
        left = [sum(one == other for other in spelled[:at]) for one in spelled[at:]]
        ranks = [spelled[at:place].count(spelled[place]) for place in range(at, count)]
        assert not_in_both(rest, gone, ["v"])[0].tolist() == [
            rank >= pairs for rank, pairs in zip(ranks, left, strict=True)
        ]

"""What functions of arrays, maps and sets in bytes refuse, and do to rows and columns."""

import math
import random
import sys
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UnavailableError
from seambase.values import decimal_of
from seamkit.tables.paimon.merge_engines.engines import make_function
from seamkit.tables.paimon.merge_engines.folding import folded
from seamkit.tables.paimon.merge_engines.sketches import check_hll

ROW = pa.struct([("id", pa.int32()), ("v", pa.string())])
ROWS, MAP = pa.list_(ROW), pa.map_(pa.string(), ROW)
#: A sketch of 2^4 registers that Java wrote, of one value.
LISTED = "0201070403080100e2b4c80a"


def _union(name: str, first: bytes, second: bytes) -> Any:
    function = make_function(name, pa.array([first, second], pa.binary()), {}, "here")
    return function.agg(function.agg(None, 0), 1)


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("nested_update", ROWS, {"nested-key": "id,x"}),
        ("nested_update", ROWS, {"count-limit": "few"}),
        ("nested_partial_update", ROWS, {}),
        ("nested_partial_update", ROWS, {"nested-key": "x"}),
        ("merge_map_with_keytime", MAP, {"ts-field": "x"}),
    ],
)
def test_options_that_name_nothing_are_errors(
    name: str, kind: pa.DataType, options: dict[str, str]
) -> None:
    """Fields of a row that are not there, and limits that are no number."""
    with pytest.raises(InputError, match=r"^here: "):
        make_function(name, pa.array([], kind), options, "here")


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("nested_update", pa.list_(pa.int32()), {}),
        ("nested_partial_update", MAP, {"nested-key": "id"}),
        ("merge_map", ROWS, {}),
        ("merge_map", pa.map_(pa.float64(), pa.int32()), {}),
        ("merge_map_with_keytime", pa.map_(pa.string(), pa.string()), {}),
        ("merge_map_with_keytime", MAP, {"ts-field": "id"}),
        ("rbm32", pa.string(), {}),
        ("rbm64", pa.binary(), {}),
        ("listagg", pa.int32(), {}),
        ("bool_or", pa.int32(), {}),
        ("collect", pa.int32(), {}),
    ],
)
def test_types_that_a_function_does_not_take_are_refused(
    name: str, kind: pa.DataType, options: dict[str, str]
) -> None:
    """Before any row is looked at."""
    with pytest.raises(RefusedError, match=r"^here: "):
        make_function(name, pa.array([], kind), options, "here")


@pytest.mark.parametrize("name", ["nested_partial_update", "merge_map_with_keytime"])
def test_functions_that_take_nothing_back_refuse_retracts(name: str) -> None:
    """As Paimon's core does."""
    kind = ROWS if name.startswith("nested") else MAP
    function = make_function(name, pa.array([[]], kind), {"nested-key": "id"}, "here")
    with pytest.raises(RefusedError, match="takes no retracts"):
        function.retract(None, 0)


_FAR = {
    pa.timestamp("ns"): [1, -1, 10**18 + 1],
    pa.timestamp("us", "UTC"): [2**62, -(2**62), 0],
    pa.date32(): [2**31 - 1, -(2**31), 0],
    pa.time32("ms"): [86_399_999, 0, 1],
}


@pytest.mark.parametrize("kind", _FAR, ids=str)
def test_times_that_python_does_not_know_are_put_together(kind: pa.DataType) -> None:
    """In arrays, in rows of arrays and in maps, with all their digits."""
    numbers = pa.int32() if kind.bit_width == 32 else pa.int64()
    first, second, third = (pa.scalar(one, numbers).cast(kind) for one in _FAR[kind])
    rows = pa.list_(pa.struct([("id", pa.int32()), ("t", kind)]))
    for name, own, values, whole, options in (
        ("collect", pa.list_(kind), [[first, second], [third]], [first, second, third], {}),
        (
            "collect",
            pa.list_(kind),
            [[first, second], [first]],
            [first, second],
            {"distinct": "true"},
        ),
        ("nested_update", rows, [[(1, first)], [(1, second)]], [(1, second)], {"nested-key": "id"}),
        ("nested_update", rows, [[(1, first)], [(2, third)]], [(1, first), (2, third)], {}),
        (
            "merge_map",
            pa.map_(kind, kind),
            [[(first, first)], [(first, third)]],
            [(first, third)],
            {},
        ),
    ):
        function = make_function(name, pa.array(values, own), options, "here")
        kept = function.agg(function.agg(None, 0), 1)
        assert function.result([kept]).equals(pa.array([whole], own))


def test_bytes_that_java_does_not_tell_alike_are_refused() -> None:
    """Items of bytes may be collected where none is asked whether it equals another."""
    column = pa.array([[b"a"], [b"a"]], pa.list_(pa.binary()))
    function = make_function("collect", column, {}, "here")
    assert function.agg(function.agg(None, 0), 1) == [b"a", b"a"]
    with pytest.raises(RefusedError, match=r"^here: .* in Java none equal others"):
        function.retract([b"a"], 1)
    with pytest.raises(RefusedError, match=r"^here: .* in Java none equal others"):
        make_function("collect", column, {"distinct": "true"}, "here").agg(None, 0)


def test_what_comes_late_stands_in_front() -> None:
    """A row that is older than what was kept goes before it; a null changes nothing."""
    function = make_function("listagg", pa.array(["new", "old", None]), {}, "")
    kept = function.reverse(function.agg(None, 0), 1)
    assert (kept, function.reverse(kept, 2)) == ("old,new", "old,new")


def test_a_late_row_is_refused_where_a_limit_would_cut_rows_without_an_order() -> None:
    """With a key, Paimon keeps rows in the order of a hash map; where all fit, nothing is cut."""
    column = pa.array([[(1, "a"), (2, "b")], [(3, "c")]], ROWS)
    limited = make_function("nested_update", column, {"nested-key": "id", "count-limit": "2"}, "")
    with pytest.raises(RefusedError, match="count-limit"):
        limited.reverse(limited.agg(None, 0), 1)
    wide = make_function("nested_update", column, {"nested-key": "id", "count-limit": "3"}, "")
    assert len(wide.reverse(wide.agg(None, 0), 1)) == 3


def test_a_union_that_java_estimates_otherwise_is_refused() -> None:
    """A sketch with registers meets a listed one with fewer of them."""
    datasketches = pytest.importorskip("datasketches")
    wide = datasketches.hll_sketch(7)
    for value in range(100):
        wide.update(value)
    small, registers = bytes.fromhex(LISTED), wide.serialize_compact()
    with pytest.raises(RefusedError, match="a way of its own"):
        _union("hll_sketch", registers, small)
    assert _union("hll_sketch", small, registers)[3] == 7


def test_broken_sets_are_errors() -> None:
    """Any byte may be another one, and any may be missing: the libraries in C++ never see it."""
    datasketches = pytest.importorskip("datasketches")
    chance = random.Random(1)
    sketches: dict[str, list[bytes]] = {"hll_sketch": [], "theta_sketch": []}
    for count in (1, 9, 300):
        hll, theta = datasketches.hll_sketch(5), datasketches.update_theta_sketch(5)
        for value in range(count):
            hll.update(value)
            theta.update(value)
        sketches["hll_sketch"] += [hll.serialize_compact(), hll.serialize_updatable()]
        sketches["theta_sketch"].append(theta.compact().serialize())
    bitmap = "3b3001000300000500010000000000640064000a00"
    for name, whole in [*sketches.items(), ("rbm32", [bytes.fromhex(bitmap)])]:
        refused = 0
        for data in whole:
            if name != "rbm32":
                assert _union(name, data, data)
            for _ in range(100):
                broken = bytearray(data[: chance.choice([len(data), chance.randrange(len(data))])])
                if broken:
                    broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
                try:
                    _union(name, bytes(broken), data)
                except (InputError, RefusedError):
                    refused += 1
        assert refused > 50 * len(whole)


@pytest.mark.parametrize("digits", [3, 28])
@pytest.mark.parametrize("kind", [pa.decimal128(18, 3), pa.decimal128(38, 3)], ids=str)
def test_sums_of_decimals_are_exact(kind: pa.Decimal128Type, digits: int) -> None:
    """To their last digit, of a row that is taken back from nothing, too, whatever Python keeps."""
    most = decimal_of(10**kind.precision - 1, 3)
    column = pa.array([most, None, decimal_of(1, 3)], kind)
    sums = make_function("sum", column, {}, "here")
    with localcontext(prec=digits):
        kept = [sums.retract(None, 0), sums.agg(None, 0), sums.agg(sums.retract(None, 2), 0)]
        assert sums.result(kept).to_pylist() == [
            decimal_of(-(10**kind.precision) + 1, 3),
            most,
            decimal_of(10**kind.precision - 2, 3),
        ]


def test_sums_of_a_sketch_must_be_those_of_its_registers() -> None:
    """A register that is another one is not believed."""
    datasketches = pytest.importorskip("datasketches")
    for kind in ("HLL_4", "HLL_6", "HLL_8"):
        sketch = datasketches.hll_sketch(6, getattr(datasketches.tgt_hll_type, kind))
        for value in range(5000):
            sketch.update(value)
        data = bytearray(sketch.serialize_compact())
        check_hll(bytes(data))
        data[40] ^= 1
        with pytest.raises(ValueError, match="registers"):
            check_hll(bytes(data))


@pytest.mark.parametrize("name", ["theta_sketch", "hll_sketch"])
def test_without_the_library_it_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is an extra."""
    monkeypatch.setitem(sys.modules, "datasketches", None)
    with pytest.raises(UnavailableError, match=r"pip install 'seamkit\[sketches\]'"):
        make_function(name, pa.array([], pa.binary()), {}, "here")


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

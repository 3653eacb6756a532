"""Plain values: what counts as equal, and what a case may spell."""

import datetime as dt
import math
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seambench.conformance.plain import canonical, difference, rows_of, spelling, typed


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (math.nan, -math.nan, True),
        (0.0, -0.0, False),
        (1, 1.0, False),
        (1, True, False),
        (Decimal("1.0"), Decimal("1.00"), False),
        ("", None, False),
        (b"a", "a", False),
        (
            dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC),
            dt.datetime(2020, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
            True,
        ),
        (dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), False),
        (["a", "b"], ["a,str:b"], False),
        (["a", "b"], ['a",str:"b'], False),
        ([["a"], "b"], [["a", "b"]], False),
        ({"a": "x", "b": "y"}, {"a": "x,b=str:y"}, False),
        ({"a": "x"}, {'a"=str:"x': None}, False),
        ([("k", "v")], [["k", "v"]], True),
        (["a", None], ["a", "None"], False),
        ("[int:1]", [1], False),
    ],
)
def test_equal_text_means_equal_value(left: Any, right: Any, equal: bool) -> None:
    """Types and every bit count, NaN equals NaN, and instants are compared, not zones."""
    assert (canonical(left) == canonical(right)) == equal


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        ([(1,), (2,)], [(2,), (1,)], None),
        ([(1,)], [(1,), (1,)], "unexpected (a=int:1)"),
        ([(1,), (1,)], [(1,)], "missing (a=int:1)"),
        ([(1,)], [("1",)], "missing (a=int:1); unexpected (a=str:1)"),
        ([(n,) for n in range(9)], [], "and 6 more"),
    ],
)
def test_rows_are_multisets(
    expected: list[tuple[Any]], actual: list[tuple[Any]], says: str | None
) -> None:
    """The order of rows does not matter, how often each comes does."""
    found = difference(expected, actual, ["a"])
    assert found is None if says is None else says in str(found)


def test_nested_values_are_those_of_arrow() -> None:
    """Entries of a map are pairs, a struct has all its fields, decimals may be anywhere."""
    type_ = "map<string,array<struct<x:decimal(4,2), y:map<string,int>>>>"
    found = typed({"a": [{"x": "1.50"}, {"y": {"b": 1}}]}, type_)
    expected = [("a", [{"x": Decimal("1.50"), "y": None}, {"x": None, "y": [("b", 1)]}])]
    assert found == expected


_NULL = {"null": True}
_ID = uuid.UUID("00000000-0000-0000-0000-0000000000ff")


@pytest.mark.parametrize(
    ("spelled", "type_", "value"),
    [
        ([1, _NULL], "array<int>", [1, None]),
        ([_NULL, {"a": 1}, {}], "array<struct<a:int>>", [None, {"a": 1}, {"a": None}]),
        ([_NULL, [_NULL], []], "array<array<int>>", [None, [None], []]),
        ({"x": _NULL, "null": 1}, "map<string,int>", [("x", None), ("null", 1)]),
        ({"x": {}, "y": _NULL}, "map<string,map<string,int>>", [("x", []), ("y", None)]),
        ({"null": [_NULL]}, "struct<null:array<boolean>>", {"null": [None]}),
        ({"null": 1}, "map<string,int>", [("null", 1)]),
        ({"null": False}, "map<string,boolean>", [("null", False)]),
        ([dt.time(1, 2, 3, 4)], "array<time>", [dt.time(1, 2, 3, 4)]),
        ([str(_ID), _NULL], "array<uuid>", [_ID, None]),
        (["1.50", _NULL], "array<decimal(9,2)>", [Decimal("1.50"), None]),
        (["00ff", _NULL], "array<binary>", [b"\0\xff", None]),
    ],
)
def test_nulls_within_values_are_spelled(spelled: Any, type_: str, value: Any) -> None:
    """A table of `null = true` is null; no other table is, and every value has one spelling."""
    assert typed(spelled, type_) == value
    assert spelling(value, type_) == spelled


def test_a_null_by_itself_is_spelled_by_leaving_it_out() -> None:
    """Of a field of a struct, too; the table of a null is understood there as well."""
    assert typed(_NULL, "int") is None
    assert typed({"a": _NULL, "b": 1}, "struct<a:int,b:int>") == {"a": None, "b": 1}
    assert spelling({"a": None, "b": 1}, "struct<a:int,b:int>") == {"b": 1}


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("00000000-0000-0000-0000-0000000000FF", "uuid"),
        ("ff", "uuid"),
        ("12:00:00", "time"),
        ([{"null": 1}], "array<int>"),
        ([{"null": False}], "array<int>"),
        (True, "int"),
        (1, "boolean"),
        (1, "double"),
        ("1.5", "decimal(9,2)"),
        (1.5, "decimal(9,1)"),
        (dt.datetime(2020, 1, 1), "date"),
        ("a", "text"),
        ([1, "a"], "array<int>"),
        ({"a": 1}, "array<int>"),
        ({"b": 1}, "struct<a:int>"),
        ({"a": "1"}, "map<string,int>"),
        ({"a": 1}, "map<int,int>"),
    ],
)
def test_values_of_another_type_are_refused(value: Any, type_: str) -> None:
    """A case cannot pass off one type's value as another's."""
    with pytest.raises(UsageError):
        typed(value, type_)


def test_rows_keep_their_number_without_columns() -> None:
    """Rows without columns still count."""
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert rows_of([batch], []) == [(), (), ()]


_BROKEN = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"), pa.py_buffer(b"\xff\0\xfe")]
)
_EARLY = pa.array([-4_000_000, -5_000_000], pa.int32()).cast(pa.date32())


@pytest.mark.parametrize(
    "column",
    [
        _BROKEN,
        _BROKEN.dictionary_encode(),
        _EARLY,
        pa.StructArray.from_arrays([_EARLY, _BROKEN], ["a", "b"]),
        pa.ListArray.from_arrays([0, 1, 2], _EARLY),
        pa.MapArray.from_arrays([0, 1, 2], pa.array(["x", "x"]), _BROKEN),
    ],
    ids=lambda column: str(column.type),
)
def test_values_that_python_has_not_equal_themselves_alone(column: pa.Array) -> None:
    """At every depth: no two of a type are alike, and none is a text, or the bytes of one."""
    batch = pa.RecordBatch.from_arrays([column], ["a"])
    one, other = rows_of([batch], ["a"])
    assert difference([one, other], rows_of([batch], ["a"]), ["a"]) is None
    assert difference([one], [other], ["a"]) is not None
    assert difference([one], [(str(column.type),)], ["a"]) is not None
    assert difference([one], [(b"\xff",)], ["a"]) is not None


def test_a_day_that_python_has_not_is_its_number() -> None:
    """A reader's day before the year 1 ends no comparison, and is equal to no day of a case."""
    days = pa.array([-719164, 0, None], pa.int32()).cast(pa.date32())
    found = rows_of(pa.table({"d": days}).to_batches(), ["d"])
    assert found == [(-719164,), (dt.date(1970, 1, 1),), (None,)]


_NOON = dt.datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    ("table", "answer", "is_right"),
    [
        (pa.array([1], pa.int32()), pa.array([1], pa.int64()), True),
        (pa.array([1.5], pa.float32()), pa.array([1.5], pa.float64()), True),
        (pa.array([1], pa.int32()), pa.array([1.0]), False),
        (pa.array([Decimal("1.20")]), pa.array([Decimal("1.20")], pa.decimal256(50, 2)), True),
        (pa.array([Decimal("1.20")]), pa.array([Decimal("1.2")]), False),
        (pa.array([_NOON], pa.timestamp("us", "UTC")), pa.array([_NOON], pa.timestamp("us")), True),
        (pa.array([_NOON], pa.timestamp("us")), pa.array([_NOON], pa.timestamp("ns")), True),
        (pa.array(["a"]), pa.array(["a"], pa.large_string()), True),
        (pa.array(["a"]), pa.array(["a"], pa.string_view()), True),
        (pa.array(["a"]), pa.array(["a"]).dictionary_encode(), True),
        (pa.array(["a"]), pa.array([b"a"]), False),
    ],
)
def test_the_form_of_a_value_is_the_readers_own(
    table: pa.Array, answer: pa.Array, is_right: bool
) -> None:
    """Width, unit, zone and encoding may differ; kind, scale and the value itself may not."""
    left, right = (rows_of([pa.record_batch([one], ["a"])], ["a"]) for one in (table, answer))
    assert (difference(left, right, ["a"]) is None) == is_right

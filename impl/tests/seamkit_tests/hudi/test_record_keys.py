"""What tells records apart: typed columns, the key's text, or text made of the key fields."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.tables.hudi.merge.keys import RECORD_KEY, SliceKeys, check_fields, choose_keys

KINDS: dict[str, tuple[pa.DataType, Any, str]] = {
    "int": (pa.int32(), -5, "-5"),
    "bigint": (pa.int64(), 2**40, "1099511627776"),
    "string": (pa.string(), "a:b,c", "a:b,c"),
    "boolean": (pa.bool_(), True, "true"),
    "date": (pa.date32(), dt.date(2020, 1, 4), "2020-01-04"),
    "timestamp": (pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 4, 3), "1578106800000000"),
    "decimal": (pa.decimal128(10, 2), Decimal("4.00"), "4.00"),
    "float": (pa.float32(), 0.30000001192092896, "0.3"),
    "double": (pa.float64(), 1e10, "1.0E10"),
}


def choose(
    *kinds: pa.DataType,
    deletes: bool = False,
    partial: bool = False,
    virtual: bool = False,
    may_name: bool = False,
) -> SliceKeys:
    """The choice for a table whose key fields a, b, ... have these types."""
    names = tuple("abc"[: len(kinds)])
    own = {"virtual_keys": virtual, "delete_prefix": "", "may_name_key": may_name}
    config: Any = SimpleNamespace(record_keys=names, **own)
    fields = [pa.field(RECORD_KEY, pa.string()), *map(pa.field, names, kinds)]
    return choose_keys(config, pa.schema(fields), "t", with_deletes=deletes, partial=partial)


def listed(*texts: str | None) -> Any:
    """What a delete block says of its keys."""
    return SimpleNamespace(record_key_array=pa.array(texts, pa.string()))


def test_integers_stand_for_the_text_even_of_deletes() -> None:
    """A delete block's text is read back into integers: `5`, `a:5`, `a:5,b:-6`."""
    keys = choose(pa.int64(), deletes=True)
    assert keys.fields == ("a",)
    assert keys.of_deletes(listed("5", "a:-6"), "x").to_pydict() == {"a": [5, -6]}
    keys = choose(pa.int64(), pa.int32(), deletes=True)
    assert keys.of_deletes(listed("a:5,b:-6"), "x").to_pydict() == {"a": [5], "b": [-6]}
    assert keys.of_deletes(listed("a:__null__,b:1"), "x").to_pydict() == {"a": [None], "b": [1]}


@pytest.mark.parametrize("kind", [pa.string(), pa.date32()], ids=str)
def test_texts_and_dates_stand_for_the_text_where_nothing_is_deleted(kind: pa.DataType) -> None:
    """With delete blocks the text is compared."""
    assert choose(kind).fields == ("a",)
    assert choose(kind, deletes=True).fields == (RECORD_KEY,)


def test_other_types_go_by_the_text() -> None:
    """The text of a decimal or a timestamp is a key generator's own affair."""
    assert choose(pa.decimal128(10, 2)).fields == (RECORD_KEY,)
    assert choose(pa.int32(), pa.float64()).fields == (RECORD_KEY,)


def test_keys_that_may_name_their_field_go_by_the_text() -> None:
    """`5` and `a:5` are two records of one value, as the complex key generator made both."""
    assert choose(pa.int64(), may_name=True).fields == (RECORD_KEY,)
    assert choose(pa.int64(), deletes=True, may_name=True).fields == (RECORD_KEY,)


def test_partial_updates_go_by_the_text() -> None:
    """Their blocks hold the meta columns and what was changed."""
    assert choose(pa.int64(), partial=True).fields == (RECORD_KEY,)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_made_of_one_field(kind: str) -> None:
    """The text of Hudi's key generators; seen in delete blocks of Hudi 1.2.0 without meta columns.

    Integers are compared as such.
    """
    type_, value, text = KINDS[kind]
    keys = choose(type_, deletes=True, virtual=True)
    batch = pa.record_batch({"a": pa.array([value], type_)})
    deletes = keys.of_deletes(listed(text), "x")
    assert keys.of_rows(batch, "x").equals(deletes)


def test_keys_made_of_several_fields() -> None:
    """`name:text` with commas between; a null is `__null__`, an empty text `__empty__`."""
    keys = choose(pa.int32(), pa.string(), deletes=True, virtual=True)
    rows = {"a": pa.array([3, 3, 2, None], pa.int32()), "b": ["a", "", None, "y"]}
    made = keys.of_rows(pa.record_batch(rows), "x")
    assert made.column(0).to_pylist() == [
        "a:3,b:a",
        "a:3,b:__empty__",
        "a:2,b:__null__",
        "a:__null__,b:y",
    ]


def test_virtual_keys_are_typed_where_nothing_is_deleted() -> None:
    """Equal values have equal texts, so any flat type serves."""
    keys = choose(pa.decimal128(10, 2), pa.timestamp("us"), virtual=True)
    assert keys.fields == ("a", "b")
    assert not keys.made


@pytest.mark.parametrize("kind", [pa.binary(), pa.list_(pa.int32())], ids=str)
def test_virtual_keys_without_a_known_text_are_refused(kind: pa.DataType) -> None:
    """Java's text of bytes tells their number, not what they are."""
    with pytest.raises(
        RefusedError, match="t: deletes know records by the text of the key field 'a'"
    ):
        choose(kind, deletes=True, virtual=True)


@pytest.mark.parametrize("fields", [1, 2])
def test_a_row_needs_a_key(fields: int) -> None:
    """One null among several key fields is a value; nothing but nulls is no key."""
    keys = choose(*[pa.int64()] * fields)
    nothing = {name: pa.array([1, None], pa.int64()) for name in keys.fields}
    with pytest.raises(InputError, match=r"a\.log: a record without a key"):
        keys.of_rows(pa.record_batch(nothing), "a.log")
    if fields == 2:
        rows = pa.record_batch({"a": pa.array([1, None]), "b": pa.array([None, 1])})
        assert keys.of_rows(rows, "a.log").num_rows == 2


@pytest.mark.parametrize("text", ["x", "b:5", "a:5,b:6", "5 ", ""])
def test_a_delete_that_does_not_fit_is_refused(text: str) -> None:
    """A key that cannot be read back would delete nothing, in silence."""
    with pytest.raises(InputError, match=r"a\.log: the record key .* does not fit"):
        choose(pa.int64(), deletes=True).of_deletes(listed(text), "a.log")


def test_a_delete_needs_a_key() -> None:
    """A null names no record."""
    with pytest.raises(InputError, match=r"a\.log: a delete without a record key"):
        choose(pa.int64(), deletes=True).of_deletes(listed("5", None), "a.log")


def test_points_in_time_as_texts_of_the_clock_are_refused() -> None:
    """Hudi 1.2.0 makes `2020-01-01 01:02:03.456` of them on demand: milliseconds, and no zone."""
    clock = "2020-01-01 01:02:03.456"
    keys = choose(pa.timestamp("us", "UTC"), deletes=True, virtual=True)
    assert keys.of_deletes(listed("-5"), "x").to_pydict() == {RECORD_KEY: ["-5"]}
    with pytest.raises(RefusedError, match=f"{clock}.*'a'"):
        keys.of_deletes(listed("5", clock), "x")
    keys = choose(pa.string(), pa.timestamp("us", "UTC"), deletes=True, virtual=True)
    keys.of_deletes(listed("a:x,b:-5", "a:y,b:__null__"), "x")
    with pytest.raises(RefusedError, match=f"{clock}.*'b'"):
        keys.of_deletes(listed(f"a:x,b:{clock}"), "x")


def test_virtual_keys_may_lie_inside_structs() -> None:
    """A key field is named by its path, and a null struct has none of its fields."""
    inner = pa.struct([("id", pa.string()), ("x", pa.int32())])
    schema = pa.schema([("s", inner), ("b", pa.int64())])
    config: Any = SimpleNamespace(record_keys=("s.id", "b"), virtual_keys=True, delete_prefix="")
    keys = choose_keys(config, schema, "t", with_deletes=True, partial=False)
    assert keys.roots == ("s", "b")
    rows = pa.record_batch({"s": pa.array([{"id": "x"}, None], inner), "b": pa.array([1, 2])})
    texts = keys.of_rows(rows, "a.log").column(0).to_pylist()
    assert texts == ["s.id:x,b:1", "s.id:__null__,b:2"]


@pytest.mark.parametrize("names", [("s.other",), ("gone",), ("s.id.deeper",), ()])
def test_virtual_keys_that_are_no_fields_are_refused(names: tuple[str, ...]) -> None:
    """A key that cannot be made would match nothing, in silence."""
    schema = pa.schema([("s", pa.struct([("id", pa.string())]))])
    config: Any = SimpleNamespace(record_keys=names, virtual_keys=True)
    with pytest.raises(RefusedError, match=r"t: the key fields .* are not all in the schema"):
        check_fields(config, schema, "t")
    config = SimpleNamespace(record_keys=names, virtual_keys=False)
    check_fields(config, schema, "t")


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 60])
def test_the_key_of_a_delete_beyond_its_column_is_refused(text: str) -> None:
    """A text of digits need not be a bigint."""
    with pytest.raises(InputError, match="does not fit"):
        choose(pa.int64(), deletes=True).of_deletes(listed(text), "block")

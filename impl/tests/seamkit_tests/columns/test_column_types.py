"""Type strings: what StarRocks makes of them, and what is refused because of it."""

import contextlib
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts.column import ColumnRequest
from seambench_impl.column import OffHeapColumns
from seamkit.offheap.columns.lenient_types import TypeStringError, parse_leniently
from seamkit.offheap.columns.types import (
    DEPTH_LIMIT,
    KEYWORDS,
    UNKNOWN,
    ColumnType,
    CTypes,
    Kind,
    arrow_type,
    decimal_type,
    from_arrow,
    name_problem,
    parse,
)
from seamkit_tests import GOLDEN, SUITES_GOLDEN

ENTRIES = json.loads((SUITES_GOLDEN / "offheap/type_strings.json").read_text(encoding="utf-8"))
STATED = json.loads((GOLDEN / "type-strings.json").read_text(encoding="utf-8"))
#: Where StarRocks gives up and the strict mode does not: only blanks and case are in the way.
HARMLESS = {
    "int ": "int",
    " int": "int",
    "Struct<a:int>": "struct<a:int>",
    "map<int, string>": "map<int,string>",
    "struct<a: int>": "struct<a:int>",
    "variant": "variant",
}


def tree(column: ColumnType) -> dict[str, Any]:
    """A type as the golden file draws it."""
    drawn: dict[str, Any] = {"kind": column.kind.name}
    if column.kind.is_decimal:
        drawn["scale"] = column.scale
    if column.children:
        pairs = zip(column.names, column.children, strict=True)
        drawn["children"] = [{"name": name, **tree(child)} for name, child in pairs]
    return drawn


@pytest.mark.parametrize("entry", ENTRIES + STATED["lenient"], ids=lambda entry: entry["input"])
def test_the_lenient_mode_does_what_starrocks_does(entry: Any) -> None:
    """Every string has the tree or the exception that StarRocks' own parser gave."""
    if entry["ok"]:
        assert tree(parse_leniently(entry["input"])) == entry["parsed"]
        return
    with pytest.raises(TypeStringError) as found:
        parse_leniently(entry["input"])
    assert (found.value.reason, found.value.token) == (entry["error"], entry.get("token"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["input"])
def test_the_strict_mode_never_reads_otherwise(entry: Any) -> None:
    """The strict mode gives StarRocks' tree or refuses; within the grammar it never refuses."""
    text = entry["input"]
    if text in HARMLESS:
        assert parse(text) == parse(HARMLESS[text])
        return
    try:
        found = tree(parse(text))
    except InputError:
        assert not entry["grammar"]
        return
    assert entry["ok"]
    assert found == entry["parsed"]


@pytest.mark.parametrize("case", STATED["refused"], ids=lambda case: case["input"])
def test_refusals_say_where_and_why(case: Any) -> None:
    """A refused string is told with the character at which it goes wrong and the reason."""
    with pytest.raises(InputError) as found:
        parse(case["input"])
    assert f"character {case['character']}: " in str(found.value)
    assert case["reason"] in str(found.value)


def _names() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
        lambda name: name_problem(name) is None
    )


def _decimals() -> st.SearchStrategy[ColumnType]:
    pairs = st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p)))
    return pairs.map(lambda pair: decimal_type(*pair))


#: Types that a type string can name.
TYPES = st.recursive(
    st.sampled_from([*KEYWORDS, "variant"]).map(parse) | _decimals(),
    lambda inner: (
        inner.map(ColumnType.array)
        | st.tuples(inner, inner).map(lambda pair: ColumnType.map(*pair))
        | st.dictionaries(_names(), inner, min_size=1, max_size=4).map(ColumnType.struct)
    ),
    max_leaves=12,
)


@given(TYPES)
def test_printing_and_parsing_gives_the_tree_again(column: ColumnType) -> None:
    """Printing a tree and parsing it again gives the same tree, here and at StarRocks."""
    assert parse(str(column)) == column
    if "variant" not in str(column):
        assert tree(parse_leniently(str(column))) == tree(column)


_WORDS = "int|Int|string|char|char(3)|varchar|decimal|decimal(10,2)|array|map|struct|a|timestamp"
_SIGNS = "<|>|,|:|(|)| |b:|a:int|decimal(|array<|map<|struct<a:|int>|,b:|5,2)| ,|, |> "
_PIECES = st.sampled_from(_WORDS.split("|")) | st.sampled_from(_SIGNS.split("|"))


@given(st.lists(_PIECES, max_size=14).map("".join))
def test_what_the_strict_mode_takes_starrocks_reads_alike(text: str) -> None:
    """A string that both take means the same to both, whatever it is patched together from."""
    try:
        strict, lenient = parse(text), parse_leniently(text)
    except InputError:
        return
    assert tree(strict) == tree(lenient)


@given(st.text(max_size=30))
def test_any_text_is_a_type_or_an_error(text: str) -> None:
    """Whatever the text, both modes give a type or a refusal."""
    for read in (parse, parse_leniently):
        with contextlib.suppress(InputError):
            assert isinstance(read(text), ColumnType)


@pytest.mark.parametrize("read", [parse, parse_leniently])
def test_the_depth_of_types_is_limited(read: Any) -> None:
    """The deepest type is taken, one level more is refused, and so is a mile of them."""
    deepest = "array<" * (DEPTH_LIMIT - 1) + "int" + ">" * (DEPTH_LIMIT - 1)
    assert CTypes([read(deepest)]).types
    for levels in (DEPTH_LIMIT, 100_000):
        with pytest.raises(InputError, match="nested") as told:
            read("array<" * levels + "int" + ">" * levels)
        assert len(str(told.value)) < 1000  # of a long text the beginning is shown


@pytest.mark.parametrize(
    "column",
    [
        decimal_type(5, 10),
        parse_leniently("array<int,string>"),
        ColumnType.array(UNKNOWN).struct({}),
        ColumnType.map(UNKNOWN, None),
        ColumnType(Kind.ARRAY),
    ],
    ids=str,
)
def test_trees_that_no_table_takes(column: ColumnType) -> None:
    """What only the lenient mode makes is refused, by its name, where memory would be laid out."""
    with pytest.raises(RefusedError, match="column type"):
        CTypes([column])


def test_children_have_names() -> None:
    """A tree whose names do not match its children is not made."""
    with pytest.raises(UsageError, match="1 children of a type have 0 names"):
        ColumnType(Kind.ARRAY, children=(UNKNOWN,))


@given(TYPES.filter(lambda column: "byte" not in str(column)))
def test_types_survive_arrow(column: ColumnType) -> None:
    """An Arrow type made of a column type becomes a column type with the same Arrow type."""
    assert arrow_type(from_arrow(arrow_type(column))) == arrow_type(column)


@pytest.mark.parametrize(
    ("arrow", "text"),
    [
        (pa.large_list(pa.large_string()), "array<string>"),
        (pa.dictionary(pa.int8(), pa.binary_view()), "binary"),
        (pa.run_end_encoded(pa.int32(), pa.list_(pa.bool_())), "array<boolean>"),
        (pa.decimal32(9, 2), "decimal(9,2)"),
        (pa.decimal64(18, 2), "decimal(18,2)"),
        (pa.map_(pa.string(), pa.struct([("x y", pa.date32())])), "map<string,struct<x y:date>>"),
    ],
    ids=str,
)
def test_other_dresses_of_arrow_types(arrow: Any, text: str) -> None:
    """Encodings and widths of Arrow do not count: what the values are does."""
    assert from_arrow(arrow) == parse(text)


@pytest.mark.parametrize(
    "arrow",
    [
        pa.uint8(),
        pa.null(),
        pa.list_(pa.uint8()),
        pa.list_(pa.int32(), 2),
        pa.list_view(pa.int32()),
        pa.timestamp("us", "Asia/Tokyo"),
        pa.decimal128(5, -2),
        pa.decimal256(40, 2),
        pa.struct([]),
        pa.struct([("a", pa.int32()), ("a", pa.int32())]),
        pa.struct([("a:b", pa.int32())]),
        pa.struct([(" a", pa.int32())]),
    ],
    ids=str,
)
def test_arrow_types_without_a_column_type(arrow: Any) -> None:
    """What no off-heap column holds, or no type string can say, is refused."""
    with pytest.raises(RefusedError, match=r"no .*column type holds Arrow's"):
        from_arrow(arrow)


@pytest.mark.parametrize(
    "column", [UNKNOWN, parse("byte"), ColumnType.map(parse("int"), None)], ids=str
)
def test_column_types_without_an_arrow_type(column: ColumnType) -> None:
    """Kinds without values, and maps of which only a half was read, have no Arrow type."""
    with pytest.raises(RefusedError, match="has no Arrow type"):
        arrow_type(column)


@pytest.mark.parametrize(
    ("text", "item", "content"),
    [
        ("string", "a\ud800b", b"a?b"),  # Java's encoder writes ? for half a character
        ("string", "\U0001d518", b"\xf0\x9d\x94\x98"),
        ("int(11)", 7, (7).to_bytes(4, "little")),  # Java ignores what follows a type
        ("decimal32(9,2)", "1.5", (150).to_bytes(8, "little")),
        ("date", "0000-01-01", (1721060).to_bytes(4, "little")),
        ("date", "-0001-01-01", (1720695).to_bytes(4, "little")),
        ("date", "-4712-01-01", (38).to_bytes(4, "little")),  # Julian day 0 is in -4713
        ("date", "+10000-01-01", (5373485).to_bytes(4, "little")),
        ("timestamp", "-0001-01-01 00:00:00.000001", (1720695 << 40 | 1).to_bytes(8, "little")),
    ],
)  # fmt: skip
def test_values_that_only_java_has(text: str, item: Any, content: bytes) -> None:
    """Tables brought by others may hold what StarRocks takes, and our own types refuse."""
    request = ColumnRequest(["c"], [text], [[item]], ["c"], None, 1, [1])
    table = OffHeapColumns()
    (chunk,) = table.chunks(request)
    assert chunk.slots[-1].content == content
    assert table.live_blocks() == 0

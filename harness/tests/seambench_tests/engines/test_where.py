"""A filter is one expression over the table's columns, or it is refused."""

import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seambase.where import parse_filter, require_columns

SCHEMA = pa.schema(
    [
        ("l_orderkey", pa.int64()),
        ("l_comment", pa.string()),
        ("l_shipdate", pa.date32()),
        ("my col", pa.int32()),
        ("s", pa.struct([("x", pa.int64())])),
    ]
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("l_orderkey > 1", ["l_orderkey"]),
        ("l_comment LIKE '%fox;%' OR l_orderkey IS NULL", ["l_comment", "l_orderkey"]),
        ("l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-01-01'", ["l_shipdate"]),
        ('"my col" IN (1, 2) AND NOT l_orderkey = 3', ["my col", "l_orderkey"]),
        ("s.x = 1", ["s"]),
        ("length(l_comment) > 3 -- long ones", ["l_comment"]),
        ("len(list_filter([1, 2], lambda x: x > l_orderkey)) > 0", ["l_orderkey"]),
        ("true", []),
    ],
)
def test_expressions_tell_their_columns(text: str, columns: list[str]) -> None:
    """The columns that the expression reads are named, each once."""
    assert list(parse_filter(text, SCHEMA).columns) == columns


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "--filter ''"),
        ("l_orderkey >", "syntax error"),
        ("l_orderkey > 1; DROP TABLE rows", "not an expression"),
        ("l_orderkey > 1, l_orderkey < 5", "single expression"),
        ("l_orderkey > 1) OR (1 = 1", "syntax error"),
        ("l_orderkey > 1 ORDER BY 1", "not an expression"),
        ("l_orderkey + 1", "no condition, true or false: it gives BIGINT"),
        ("l_comment", "no condition, true or false: it gives VARCHAR"),
        ("count(*) > 1", "aggregate"),
        ("l_orderkey IN (SELECT 1)", "holds a query"),
        ("l_orderkey = ?", "holds a parameter"),
        ("l_orderky > 1", "there is no column 'l_orderky'; did you mean 'l_orderkey'"),
        ("L_ORDERKEY > 1", "there is no column 'L_ORDERKEY'; did you mean 'l_orderkey'"),
        ("q > 1", "there is no column 'q'; the columns are l_orderkey, "),
        ("no_such_function(l_orderkey)", "no_such_function"),
    ],
)
def test_anything_else_is_refused(text: str, reason: str) -> None:
    """A sentence says what is wrong with the text."""
    with pytest.raises(UsageError) as refusal:
        parse_filter(text, SCHEMA)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_columns_are_case_sensitive_and_suggested() -> None:
    """An unknown name is told with the close ones."""
    require_columns(["l_comment"], SCHEMA.names, "--columns")
    with pytest.raises(
        UsageError, match="--columns: there is no column 'L_Comment'; did you mean 'l_com"
    ):
        require_columns(["L_Comment"], SCHEMA.names, "--columns")


def test_names_that_differ_only_in_case_are_refused() -> None:
    """DuckDB would read one of the two, whichever was meant; a filter on neither may stay."""
    schema = pa.schema([("id", pa.int64()), ("Id", pa.string()), ("n", pa.int64())])
    with pytest.raises(UsageError, match="differ only in case"):
        parse_filter('"Id" IS NOT NULL', schema)
    assert parse_filter("n > 1", schema).columns == ("n",)


@pytest.mark.parametrize("text", ['s."A" = 2', "s.a = 1", "s IS NULL", "len(l) > 0"])
def test_fields_that_differ_only_in_case_are_refused(text: str) -> None:
    """DuckDB reads `a` for `s."A"`, at any depth; a filter on other columns may stay."""
    alike = pa.struct([("a", pa.int32()), ("b", pa.int32()), ("A", pa.int32())])
    within = pa.map_(pa.string(), pa.list_(pa.struct([("x", alike)])))
    schema = pa.schema(
        [("s", alike), ("l", pa.list_(within)), ("a", pa.int32()), ("n", pa.int64())]
    )
    with pytest.raises(
        UsageError, match=r"fields 'a' and 'A' in column '[sl]' differ only in case"
    ):
        parse_filter(text, schema)
    assert parse_filter("a > 1 AND n > 1", schema).columns == ("a", "n")


def test_fields_that_differ_in_more_than_case_are_told_apart() -> None:
    """A field may be called as its column, as another column, and as one within another struct."""
    inner = pa.struct([("a", pa.int32()), ("b", pa.struct([("A", pa.int32())]))])
    schema = pa.schema([("s", inner), ("B", pa.struct([("b", pa.int32())]))])
    assert parse_filter("s.a = 1 AND s.b.A = 2 AND B.b = 3", schema).columns == ("s", "B")

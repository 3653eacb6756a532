"""The queries derived from TPC-H and their published answers, without data of their own."""

from decimal import Decimal

import duckdb
import pytest

from seambase.errors import UsageError
from seambench_suites.tpch import SUITE, Answer, answer_digest, published_difference

TABLES = {
    "customer": "c_custkey BIGINT, c_name TEXT, c_address TEXT, c_nationkey INT, c_phone TEXT, "
    "c_acctbal DECIMAL(15,2), c_mktsegment TEXT, c_comment TEXT",
    "lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, "
    "l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), "
    "l_tax DECIMAL(15,2), l_returnflag TEXT, l_linestatus TEXT, l_shipdate DATE, "
    "l_commitdate DATE, l_receiptdate DATE, l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT",
    "nation": "n_nationkey INT, n_name TEXT, n_regionkey INT, n_comment TEXT",
    "orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus TEXT, "
    "o_totalprice DECIMAL(15,2), o_orderdate DATE, o_orderpriority TEXT, o_clerk TEXT, "
    "o_shippriority INT, o_comment TEXT",
    "part": "p_partkey BIGINT, p_name TEXT, p_mfgr TEXT, p_brand TEXT, p_type TEXT, p_size INT, "
    "p_container TEXT, p_retailprice DECIMAL(15,2), p_comment TEXT",
    "partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, "
    "ps_supplycost DECIMAL(15,2), ps_comment TEXT",
    "region": "r_regionkey INT, r_name TEXT, r_comment TEXT",
    "supplier": "s_suppkey BIGINT, s_name TEXT, s_address TEXT, s_nationkey INT, s_phone TEXT, "
    "s_acctbal DECIMAL(15,2), s_comment TEXT",
}


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    """An engine with the eight tables, empty."""
    connection = duckdb.connect()
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
    return connection


@pytest.mark.parametrize("number", range(1, 23))
def test_queries_give_the_published_columns(engine: duckdb.DuckDBPyConnection, number: int) -> None:
    """Each query runs and has as many columns as its published answer, named alike."""
    names = [column[0] for column in engine.execute(SUITE.queries[number]).description or ()]
    assert names == list(SUITE.published_answers(1)[number].columns)


@pytest.mark.parametrize("number", range(1, 23))
def test_cut_queries_have_a_total_order(number: int) -> None:
    """Where a LIMIT cuts, the order is part of the answer."""
    if "LIMIT" in SUITE.queries[number]:
        assert SUITE.ordered(number)


def test_other_scales_have_no_published_answers() -> None:
    """Answers are published for scale 1 alone, and asking for others is refused."""
    with pytest.raises(UsageError, match=r"scale 0\.1"):
        SUITE.published_answers(0.1)


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        ([("a", Decimal("1.234"), 0.1 + 0.2)], True),
        ([("a", Decimal("1.23"), 0.3)], True),
        ([("a", Decimal("1.235"), 0.3)], False),
        ([("a", Decimal("1.23"), 0.3000000000001)], False),
        ([("b", Decimal("1.23"), 0.3)], False),
        ([], False),
        ([("a", Decimal("1.23"), 0.3)] * 2, False),
    ],
)
def test_answers_compare_at_the_printed_precision(
    rows: list[tuple[object, ...]], same: bool
) -> None:
    """Numbers are rounded half up to what is printed, doubles to 15 digits; nothing else is lax."""
    columns: dict[str, str | int] = {"k": "text", "m": 2, "d": "double"}
    answer = Answer(1, columns, answer_digest(columns, [("a", "1.23", "0.3")]))
    assert (published_difference(answer, rows) is None) == same

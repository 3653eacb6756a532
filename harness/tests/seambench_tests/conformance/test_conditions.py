"""Conditions that a seed decides: DuckDB understands all of them, over values of every type."""

import datetime as dt
import math
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from seambench.seams.scan.conditions import (
    conditions,
    extremes,
    in_arrow,
    in_polars,
    in_sql,
    spelled,
)

_TABLE = pa.table(
    {
        "i": [1, None, -(2**63), 2**63 - 1],
        "t": ["a", "", "it's", None],
        "d": pa.array([Decimal("0.00"), Decimal("-12.34"), None, Decimal("99.99")]),
        "f": [0.0, -0.0, math.nan, math.inf],
        "day": [dt.date(1, 1, 1), None, dt.date(9999, 12, 31), dt.date(1970, 1, 1)],
        "at": pa.array([0, 1, None, -1], pa.timestamp("us", "UTC")),
        "local": pa.array([0, 1, None, -1], pa.timestamp("us")),
        "b": [True, False, None, True],
        "a name with \" and '": [1, 2, 3, 4],
        "s": pa.array(
            [
                {"i": 7, "in.ner": {"i": 1}},
                None,
                {"i": None, "in.ner": {"i": 2}},
                {"i": 3, "in.ner": None},
            ],
            pa.struct({"i": pa.int64(), "in.ner": pa.struct({"i": pa.int64()})}),
        ),
    }
)


def test_every_condition_is_understood() -> None:
    """None is an error, all of one seed are the same again, and most of them differ."""
    found = list(map(in_sql, conditions(_TABLE, "a seed", 300)))
    with duckdb.connect() as engine:
        engine.register("t", _TABLE)
        texts = [f"SELECT count(*) FROM t WHERE {one}" for one in found]  # noqa: S608 - our own
        counts = [engine.sql(text).fetchall()[0][0] for text in texts]
    assert found == list(map(in_sql, conditions(_TABLE, "a seed", 300)))
    assert len(set(found)) > 250
    assert set(counts) == {0, 1, 2, 3, 4}
    for word in (" IS NULL)", " IS NOT NULL)", " IN (", "(NOT ", " AND ", " OR ", " = ", " < "):
        assert any(word in one for one in found), word
    for name in _TABLE.schema.names:
        assert any(name.replace('"', '""') in one for one in found)
    for path in ('"s"."i"', '"s"."in.ner"."i"'):
        assert any(path in one for one in found)


def test_all_languages_mean_the_same() -> None:
    """Where no number is NaN; and Arrow takes no value for not among others, where SQL has none."""
    rows = _TABLE.drop_columns(["f"])
    own = pl.from_arrow(rows)
    assert isinstance(own, pl.DataFrame)
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        engine.register("t", rows)
        for one in conditions(rows, "another seed", 200):
            if "(NOT " in in_sql(one) and " IN (" in in_sql(one):
                continue
            text = f"SELECT count(*) FROM t WHERE {in_sql(one)}"  # noqa: S608 - our own
            [(count,)] = engine.sql(text).fetchall()
            assert rows.filter(in_arrow(one, rows.schema)).num_rows == count, one
            assert own.filter(in_polars(one)).height == count, one


@pytest.mark.parametrize("value", [b"x", "\0", [1], None])
def test_what_cannot_be_spelled_is_left_out(value: object) -> None:
    """No literal of SQL stands for it everywhere."""
    assert spelled(value) is None


def test_a_table_without_values_has_no_conditions() -> None:
    """Nothing could be compared."""
    assert not list(conditions(pa.table({"x": pa.nulls(2)}), "a seed", 5))


def test_extremes_leave_rows_of_the_least_and_of_the_greatest_value() -> None:
    """Of every column and field that has values: what a bound that is too narrow would lose."""
    with duckdb.connect() as engine:
        engine.register("t", _TABLE)
        found = list(map(in_sql, extremes(_TABLE)))
        counts = {
            one: engine.sql(f"SELECT count(*) FROM t WHERE {one}").fetchall()[0][0]  # noqa: S608
            for one in found
        }
    assert counts['("i" <= -9223372036854775808)'] == counts['("i" >= 9223372036854775807)'] == 1
    assert counts["(\"f\" >= 'inf'::DOUBLE)"] == 2  # NaN is above it for DuckDB
    assert counts['("s"."in.ner"."i" >= 2)'] == 1
    assert set(counts.values()) <= {1, 2}
    assert len(found) == 22

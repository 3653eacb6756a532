"""An engine reads files for each query whose columns it may read: rows are those of a plain table.

Whatever a query asks of columns that only we read, every row comes once, from one of both readers.
"""

import copy
import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import seamkit
from seamkit.scan.unit_scan import UnitScan
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.scan.units import plan, write_unit

_NAN = math.nan
_S = pa.struct([("a", pa.int64()), ("b", pa.string())])
# What only we read comes first: it is what DuckDB asks for where it needs no column at all.
_SCHEMA = pa.schema(
    [
        ("f", pa.float64()),
        ("k", pa.int64()),
        ("s", _S),
        ("Needed", pa.string()),
        ("n", pa.decimal128(9, 2)),
        ("p", pa.int32()),
    ]
)


def _file(first: int, rows: int, kind: pa.DataType = _S) -> pa.Table:
    """Ranges of its floats leave NaN out, and a struct of another type is for us to resolve."""
    keys = range(first, first + rows)
    struct = [None if k % 3 == 0 else {"a": k % 5, "b": f"b{k % 2}"} for k in keys]
    struct = [s and {name: s[name] for name in kind.names} for s in struct]
    return pa.table(
        {
            "s": pa.array(struct, kind),
            "k": pa.array(keys, pa.int64()),
            "f": pa.array([(None, _NAN, 0.5, k / 4)[k % 4] for k in keys]),
            "n": pa.array([k % 7 for k in keys], pa.int32())
            .cast(pa.decimal128(12, 2))
            .cast(pa.decimal128(7, 2)),
            "Needed": [None if k % 6 == 0 else f"t{k % 3}" for k in keys],
        }
    )


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> UnitScan:
    """Files of which some columns are ours, two under masks; one that an engine reads whole."""
    folder = tmp_path_factory.mktemp("files")
    narrow = pa.struct([("a", pa.int32())])
    part, other = ({"p": pa.scalar(number, pa.int32())} for number in (1, 2))
    whole = _file(90, 8).drop(["f"])
    units = [
        write_unit(folder, "a", _file(0, 20), group_rows=3, partition=part),
        write_unit(folder, "b", _file(20, 10, narrow), group_rows=4, partition=part),
        write_unit(folder, "c", _file(30, 20), [0, 7, 19], group_rows=6, partition=part),
        write_unit(folder, "d", _file(50, 15, narrow), [1], partition=other),
        write_unit(folder, "e", whole, partition=part),
    ]
    return UnitScan(plan(_SCHEMA, *units), _SCHEMA.names)


_QUERIES = [
    "SELECT {c} FROM {t}",
    "SELECT count(*) FROM {t}",
    "SELECT 1 FROM {t}",
    "SELECT * FROM {t}",
    "SELECT * EXCLUDE (f, s) FROM {t}",
    "SELECT count({c}), max(k) FROM {t}",
    "SELECT count(*) FROM {t} WHERE {c} IS NULL",
    "SELECT {c} FROM {t} WHERE k > 25 AND k < 60",
    "SELECT k FROM {t} WHERE f > 3 OR k = 2",
    "SELECT k FROM {t} WHERE f > 1e300",
    "SELECT k, n FROM {t} WHERE f = 'nan'::DOUBLE AND {c} IS NOT NULL",
    "SELECT {c} FROM {t} WHERE s.a = 2",
    "SELECT s.a, s.b FROM {t} WHERE k < 40",
    "SELECT count(*) FROM {t} WHERE s.b IS NULL",
    "SELECT {c}, count(*) FROM {t} GROUP BY {c}",
    "SELECT n, count(*) FILTER (WHERE f > 1) FROM {t} GROUP BY n HAVING count(*) > 1",
    "SELECT DISTINCT {c}, p FROM {t}",
    "SELECT k FROM {t} ORDER BY k DESC LIMIT 7",
    "SELECT f, k FROM {t} ORDER BY f NULLS FIRST, k LIMIT 30",
    "SELECT a.k, b.{c} FROM {t} a JOIN {t} b ON a.k = b.k + 1",
    "SELECT count(*) FROM {t} a, {t} b WHERE a.p = b.p AND a.k < 9",
    "SELECT a.k FROM {t} a WHERE EXISTS (FROM {t} b WHERE b.f = a.k)",
    "SELECT k FROM {t} WHERE k NOT IN (SELECT s.a FROM {t} WHERE s.a IS NOT NULL)",
    "SELECT k, (SELECT max(b.f) FROM {t} b WHERE b.n = a.n) FROM {t} a",
    "SELECT k, sum({c} IS NULL) OVER (PARTITION BY p ORDER BY k) FROM {t}",
    "WITH r AS MATERIALIZED (SELECT * FROM {t}) SELECT (SELECT count(f) FROM r), count(*) FROM r",
    "WITH r AS (SELECT * FROM {t}) SELECT a.k FROM r a JOIN r b ON a.k = b.k WHERE b.f > 1",
    "SELECT k FROM {t} UNION ALL SELECT f FROM {t}",
    "SELECT k FROM {t} EXCEPT SELECT f FROM {t}",
    "SELECT count(*) FROM (SELECT f FROM {t} LIMIT 1000)",
    "SELECT count(*) FROM (SELECT f, k FROM {t} ORDER BY f)",
    "SELECT r FROM {t} r WHERE k < 9",
    "SELECT {c} FROM {t} WHERE false",
    "SELECT k FROM {t} WHERE p = 2",
    "SELECT count(*) FROM {t} WHERE f IS NULL AND f IS NOT NULL",
    "SELECT count(*) FROM {t} WHERE k < 0 AND f > 1",
    "SELECT k FROM {t} WHERE p = 2 OR f > 1",
    "SELECT k FROM {t} WHERE p = 1 AND f > 1 OR p = 2",
    "SELECT k FROM {t} WHERE k >= 0 OR f > 1",
    "SELECT k FROM {t} WHERE k IS NOT NULL OR f > 1",
    "SELECT k, coalesce(p, f) FROM {t}",
    "SELECT k, CASE WHEN p = 2 THEN NULL ELSE f END FROM {t}",
    "SELECT count(f) FROM {t} WHERE p <> 2",
    "SELECT k, unnest([f, n]) FROM {t}",
    "SELECT a.k FROM {t} a SEMI JOIN (FROM {t} WHERE f > 2) b USING (k)",
    "SELECT a.k, b.f FROM {t} a ASOF JOIN (SELECT k, f FROM {t} WHERE f = f) b ON a.k >= b.k",
]  # fmt: skip


def _bag(rows: list[tuple[Any, ...]]) -> Counter[str]:
    return Counter(map(repr, rows))


@pytest.mark.parametrize("query", _QUERIES)
def test_duckdb_has_each_row_once(query: str, scan: UnitScan) -> None:
    """Queries of any form, on one thread and several, after one another on one view."""
    con = duckdb.connect()
    seamkit.register(con, "rows", scan)
    con.register("own", scan.to_table())
    for number, column in enumerate(_SCHEMA.names if "{c}" in query else ["", ""]):
        con.execute(f"SET threads = {1 + number % 2}")
        found, expected = (
            con.execute(query.format(c=column and f'"{column}"', t=name)).fetchall()
            for name in ("rows", "own")
        )
        assert _bag(found) == _bag(expected), column


def _column(name: str, t: pl.LazyFrame) -> pl.LazyFrame:
    return t.select(name)


def _null(name: str, t: pl.LazyFrame) -> pl.LazyFrame:
    return t.filter(pl.col(name).is_null()).select("k")


_F, _K, _N = pl.col("f"), pl.col("k"), pl.col("n")
_FRAMES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "count": lambda t: t.select(pl.len()),
    "all": lambda t: t,
    **{f"select {c}": partial(_column, c) for c in _SCHEMA.names},
    **{f"no {c}": partial(_null, c) for c in _SCHEMA.names},
    "counted": lambda t: t.filter(_K > 5).select(pl.len()),
    "counted by ours": lambda t: t.filter(_F > 1).select(pl.len()),
    "either": lambda t: t.filter((_F > 3) | (_K == 2)).select("n"),
    "field": lambda t: t.select(pl.col("s").struct.field("a"), "k"),
    "grouped": lambda t: t.group_by("n").agg(pl.len(), _K.max()),
    "grouped by ours": lambda t: t.group_by("f").agg(pl.len()),
    "sorted": lambda t: t.sort("k", descending=True).head(7).select("n", "k"),
    "head": lambda t: t.head(1000).select(pl.len()),
    "head of ours": lambda t: t.select("f").head(1000).select(pl.len()),
    "filtered head": lambda t: t.filter(_K >= 0).head(1000).select("k"),
    "joined": lambda t: t.select("k", "n").join(t.select("k", "f"), on="k"),
    "unique": lambda t: t.select("n", "p").unique(),
    "sum": lambda t: t.select(_K.sum(), _N.sum()),
    "nothing": lambda t: t.filter(pl.lit(False)).select("k"),
    "numbered": lambda t: t.with_row_index("i").select("i"),
    "numbered and counted": lambda t: t.with_row_index("i").drop("i").select(pl.len()),
    "numbered behind a filter": lambda t: t.filter(_K > 9).with_row_index("i").select("i"),
    "numbered behind ours": lambda t: t.filter(_F > 1).with_row_index("i").select("i"),
}  # fmt: skip


@pytest.mark.parametrize("name", _FRAMES)
def test_polars_has_each_row_once(name: str, scan: UnitScan) -> None:
    """Frames of any form, in both engines of Polars."""
    whole = pl.from_arrow(scan.to_table())
    assert isinstance(whole, pl.DataFrame)
    expected = _bag(_FRAMES[name](whole.lazy()).collect().rows())
    for engine in ("in-memory", "streaming"):
        some: Any = engine
        assert _bag(_FRAMES[name](scan.lazy()).collect(engine=some).rows()) == expected


def test_polars_reads_the_file_for_queries_without_a_column_of_ours(
    scan: UnitScan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We are asked for rows by queries of a column of ours, and by no other."""
    asked = calls_of(monkeypatch, UnitScan, "_open_for_engine")
    clean = copy.copy(scan)  # what is under masks is ours for Polars
    clean.plan = plan(_SCHEMA, *(one for one in scan.plan.units if one.changes is None))
    frame = clean.lazy()
    for column in ("k", "Needed", "n", "p"):
        frame.filter(_K > 1).sort("n").select(column).collect()
    assert not asked
    frame.filter(_F > 1).select("k").collect()
    assert asked
    text = scan.explain(engine=True)
    assert text.count("Polars reads the file for queries without 'f'") == 2
    assert "leave out NaN" in text

"""DuckDB orders joins by about how many rows a table has, whoever reads them."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import seamkit
from seamkit.engines.in_duckdb import sized
from seamkit_tests.samples.golden_tables import unpack

_ROWS = pa.table({"k": range(5000), "g": [k % 7 for k in range(5000)]})


def _estimate(connection: duckdb.DuckDBPyConnection, view: str) -> int:
    """How many rows DuckDB expects of a view."""
    [(_, plan)] = connection.sql(f'EXPLAIN FROM "{view}"').fetchall()
    found = re.findall(r"~([\d,]+) rows?", plan)
    return int(found[0].replace(",", ""))


@pytest.mark.parametrize("told", [None, 0, 1, 5000, 10**12])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*), max(k) FROM v",
        "SELECT k FROM v LIMIT 7 OFFSET 4990",
        "SELECT g, count(*) FROM v WHERE k > 100 GROUP BY g ORDER BY g",
        "SELECT count(*) FROM v JOIN v AS w USING (g) WHERE v.k < 20",
        "SELECT count(*) FROM v WHERE k IN (SELECT k FROM v WHERE g = 3)",
        "SELECT k, row_number() OVER (ORDER BY k DESC) FROM v ORDER BY k LIMIT 3",
    ],
)
def test_no_answer_rests_on_an_estimate(told: int | None, query: str) -> None:
    """However wrong the number is."""
    connection = duckdb.connect()
    connection.from_arrow(_ROWS).create_view("v")
    plain = connection.sql(query).fetchall()
    about: Callable[[], int | None] = lambda: told  # noqa: E731
    connection.from_arrow(sized(ds.dataset(_ROWS), about)).create_view("v")
    found = connection.sql(query).fetchall()
    assert found == plain or (len(found) == len(plain) == 7)  # which seven is left to chance
    assert _estimate(connection, "v") == (1 if told is None else told)


@pytest.mark.parametrize(
    "name",
    [
        *("paimon/pk-levels", "iceberg/equality-and-positions"),
        *("delta/vectors-several", "hudi/mor-v9-partitioned"),
    ],
)
def test_rows_that_we_merge_are_told(name: str, tmp_path: Path) -> None:
    """By metadata, or a guess by bytes: by a single table's name, and by that in a catalog."""
    folder = unpack(name, tmp_path / "apart")
    table = seamkit.open_table(folder)
    known = table.scan().statistics(footers=False)
    connection = duckdb.connect()
    shutil.copytree(folder, tmp_path / "w" / "a.db" / "t")
    seamkit.open_catalog(tmp_path / "w").register(connection, "a")
    if known.rows is not None:
        assert _estimate(connection, "t") == known.rows.value >= table.count_rows() > 1
    else:
        assert name.startswith("hudi")
        assert _estimate(connection, "t") > 1
    plan = table.scan().engine_plan(masks=True)
    if plan.rest is not None and not plan.files:
        seamkit.register(connection, "alone", table)
        assert _estimate(connection, "alone") == _estimate(connection, "t")


def test_the_larger_side_of_a_join_is_streamed(tmp_path: Path) -> None:
    """What is hashed is the smaller side: with a dataset of unknown size it was the larger."""
    unpack("paimon/pk-levels", tmp_path / "w" / "a.db" / "many")
    connection = duckdb.connect()
    seamkit.open_catalog(tmp_path / "w").register(connection, "a")
    connection.execute("CREATE TABLE few AS SELECT unnest([1, 2, 3]) AS k")
    query = "EXPLAIN SELECT count(*) FROM many JOIN few USING (k)"
    [(_, plan)] = connection.sql(query).fetchall()
    line = next(one for one in plan.splitlines() if "Scan" in one)
    assert line.index("Arrow") < line.index("Seq")  # the left one is streamed

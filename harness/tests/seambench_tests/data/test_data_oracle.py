"""Expected rows on disk, and queries over them."""

import datetime as dt
import decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seambase.errors import UsageError
from seambench.data.dataset import Dataset, State, open_dataset, write_manifest
from seambench.data.oracle import answer, connect, digest_parquet, generator_batches, write_expected
from seambench.data.tpch import TABLES, generate_single_process
from seambench.data.updates import Updates
from seambench.engines.digest import rows_of
from seambench.formats.hudi.writer import groups


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A data set without Hudi tables: generator's rows, and expected rows of orders."""
    scale = tmp_path_factory.mktemp("data") / "sf0.01"
    generate_single_process(0.01, scale, tuple(TABLES))
    for table in TABLES:
        (scale / "parquet" / table).mkdir(parents=True)
        (scale / f"{table}.parquet").rename(scale / "parquet" / table / "part-0.parquet")
    folder = scale / "mor"
    states: tuple[State, ...] = ("snapshot", "base")
    folders = {state: folder / "expected" / state for state in states}
    updates = Updates("orders", 42, 50, 100, 5, groups)
    found = write_expected(scale / "parquet" / "orders", updates, "event", folders)
    expected: dict[str, dict[str, object]] = {}
    for state in states:
        expected[state] = {
            table: {
                "path": f"../parquet/{table}",
                "ts": None,
                "rows": 0,
                "digest": digest_parquet(scale / "parquet" / table, table),
            }
            for table in TABLES
        }
        expected[state]["orders"] = {
            "path": f"expected/{state}/orders.parquet",
            "ts": None,
            "rows": found.rows[state],
            "digest": digest_parquet(folders[state] / "orders.parquet", "orders", with_ts=True),
        }
    content = {"layout": "mor", "scale": 0.01, "tables": {}, "knobs": {}, "expected": expected}
    write_manifest(folder, content)
    return open_dataset(folder)


def test_expected_files_hold_what_the_updates_say(dataset: Dataset) -> None:
    """The files equal the pure function over all rows at once, for both states."""
    source = dataset.path.parent / "parquet" / "orders"
    updates = Updates("orders", 42, 50, 100, 5, groups)
    whole = next(iter(generator_batches(source, "orders")))
    for state, wanted in (
        ("snapshot", updates.expected_rows(whole, "event")),
        ("base", updates.base_rows(whole)),
    ):
        got = pq.read_table(dataset.path / "expected" / state / "orders.parquet")
        key = [("o_orderkey", "ascending")]
        assert got.sort_by(key).to_pylist() == wanted.sort_by(key).to_pylist()


def test_slices_are_those_with_rows(tmp_path: Path, dataset: Dataset) -> None:
    """A slice is expected only where a row falls into it: 5 regions cannot fill 8 slices."""
    source = dataset.path.parent / "parquet" / "region"
    updates = Updates("region", 42, 100, 100, 8, groups)
    found = write_expected(source, updates, "event", {})
    buckets = set(updates.slice_of(next(iter(generator_batches(source, "region")))).tolist())
    assert found.groups.base <= buckets < set(range(8))
    assert found.groups.changed <= buckets
    assert list(tmp_path.iterdir()) == []


def test_added_ordering_value(dataset: Dataset) -> None:
    """A stored table can stand for one with a constant `ts`; its digest counts that column."""
    source = dataset.path.parent / "parquet" / "region"
    plain = digest_parquet(source, "region")
    added = digest_parquet(source, "region", 1000, with_ts=True)
    assert rows_of(plain) == rows_of(added) == 5
    assert plain != added
    assert added != digest_parquet(source, "region", 2000, with_ts=True)


@pytest.mark.parametrize("state", ["snapshot", "base"])
def test_connection_has_the_eight_tables(dataset: Dataset, state: State) -> None:
    """All eight tables can be queried by name, each with the expected number of rows."""
    with connect(dataset, state) as con:
        for table in TABLES:
            [(rows,)] = con.execute(f"SELECT count(*) FROM {table}").fetchall()  # noqa: S608
            assert rows == rows_of(dataset.expected(state)[table].digest)


def test_an_answer_has_values_types_and_a_digest(dataset: Dataset) -> None:
    """Dates, decimals and nulls come as Python has them."""
    sql = """
        SELECT max(o_orderdate) AS last, sum(o_totalprice) AS total, count(*) AS n,
               avg(o_totalprice::DOUBLE) AS mean, min(o_comment) AS c, NULL::INTEGER AS nothing
        FROM orders;
    """
    first = answer(dataset, "probe", sql)
    [row] = first.rows
    assert isinstance(row[0], dt.date)
    assert isinstance(row[1], decimal.Decimal)
    assert row[5] is None
    assert first.digest.startswith("duckdb2:1:")


def test_answers_differ_by_state(dataset: Dataset) -> None:
    """Each state has rows of its own."""
    sql = "SELECT count(*) FROM orders"
    states: tuple[State, ...] = ("snapshot", "base")
    assert len({answer(dataset, "q", sql, state).rows for state in states}) == 2


def test_bad_query(dataset: Dataset) -> None:
    """A query that DuckDB refuses is named."""
    with pytest.raises(UsageError, match="query q99"):
        answer(dataset, "q99", "SELECT nothing FROM nowhere")

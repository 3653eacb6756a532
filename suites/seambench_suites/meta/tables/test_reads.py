"""The suite of reads: any engine can answer it, and an answer tells what was read."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.data.tpch import TABLES
from seambench_suites.reads import SUITE

_READERS = [
    f"seambench_impl.measures.engines:{name}"
    for name in ("DuckDBFiles", "PolarsFiles", "Arro3Files")
]


def test_reads_take_all_columns_or_some() -> None:
    """The first read has every column of lineitem; none is asked for that is not there."""
    columns = TABLES["lineitem"].schema.names
    assert set(re.findall(r"max\((\w+)\)", SUITE.queries[1])) == set(columns)
    for sql in SUITE.queries.values():
        assert set(re.findall(r"\bl_\w+", sql)) <= set(columns)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Base files as Hudi names them; the older one of a file id counts no more."""
    (tmp_path / ".hoodie").mkdir()
    for name, keys in (
        ("a-0_0-1-1_20260101000000000", [1, 2]),
        ("a-0_0-1-1_20260102000000000", [1, 3, 5]),
        ("b-0_0-1-1_20260101000000000", [7]),
    ):
        rows = pa.table(
            {"_hoodie_record_key": ["k"] * len(keys), "k": keys, "t": ["x"] * len(keys)}
        )
        pq.write_table(rows, tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.parametrize("columns", [None, ["k"], []], ids=["all", "one", "none"])
@pytest.mark.parametrize("reader", _READERS)
def test_engines_read_the_newest_base_files(
    reader: str, columns: list[str] | None, table: Path
) -> None:
    """Rows are those of the newest file of each id, without Hudi's own columns."""
    request = ScanRequest(str(table), "read-optimized", columns=columns)
    found = registry.resolve("scan", reader).open(request).to_reader().read_all()
    assert found.num_rows == 4
    assert found.schema.names == (["k", "t"] if columns is None else columns)
    if columns != []:
        assert sorted(found["k"].to_pylist()) == [1, 3, 5, 7]


def test_duckdb_answers_over_its_own_relation(table: Path) -> None:
    """What a comparison makes of the reader is DuckDB's own scan of these files."""
    request = ScanRequest(str(table), "read-optimized")
    scan = registry.resolve("scan", _READERS[0]).open(request)
    with duckdb.connect() as connection:
        scan.relation(connection).create_view("t")
        assert connection.sql("SELECT sum(k) FROM t").fetchall() == [(16,)]
        assert "PARQUET_SCAN" in str(connection.sql("EXPLAIN SELECT sum(k) FROM t").fetchall())

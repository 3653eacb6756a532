"""Scans of real Hudi tables: push-down, vanishing files, memory limits."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import scan_on
from seamkit_tests.samples.outlets import bag
from seamkit_tests.scan.kept import Read, by_dataset, by_relation, by_stream


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a column of every flat type, changed by a log."""
    return unpack_table("mor-v9-types", tmp_path_factory.mktemp("types"))


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A small table with updates, deletes and inserts in its logs."""
    return unpack_table("mor-v9-event", tmp_path)


CONDITIONS = st.sampled_from(
    [
        "id > 2", "i IS NULL", "l IS NOT NULL", "b", "NOT b", "f > 0", "d <= 0.5", "d <> 0",
        "m9 > 1.50", "m18 BETWEEN -1 AND 1000", "m38 < 0", "day >= DATE '2000-01-01'",
        "\"at\" < TIMESTAMPTZ '2020-01-01 00:00:00+00'",
        "s = ''", "s LIKE '%a%'", "s IN ('x', 'y')",
        "s > 'a'", "ts IN (1, 2, 5)", "raw IS NOT NULL", "i = 2147483647", "starts_with(s, 'u')",
    ]
)  # fmt: skip
PREDICATES = st.recursive(
    CONDITIONS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        inner.map(lambda text: f"(NOT {text})"),
    ),
    max_leaves=5,
)


@settings(max_examples=20, deadline=None)
@given(where=PREDICATES, columns=st.sampled_from(["*", "id", "s, m38", "count(*)", "day, b, id"]))
@pytest.mark.parametrize("path", ["merge", "connector"])
def test_filters_pushed_down_are_exact(types: Path, path: str, where: str, columns: str) -> None:
    """DuckDB gets the same rows from the dataset as from memory, NULL logic included."""
    scan = scan_on(HudiTable(str(types)), path)
    query = f"SELECT {columns} FROM t WHERE {where} ORDER BY ALL"  # noqa: S608
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.register("t", scan.to_table())
        expected = con.sql(query).to_arrow_table().to_pylist()
        con.register("t", scan.dataset())
        assert repr(expected) == repr(con.sql(query).to_arrow_table().to_pylist())


@pytest.mark.parametrize("path", ["merge", "connector"])
@pytest.mark.parametrize("kind", ["base", "log"])
def test_a_file_that_goes_during_a_scan_is_a_named_error(
    events: Path, path: str, kind: str
) -> None:
    """A cleaner may remove a file after the plan was made: its name is told, no rows are lost."""
    scan = scan_on(HudiTable(str(events)), path)
    pattern = "*.parquet" if kind == "base" else ".*.log.*"
    victim = next(p for p in events.glob(pattern) if not p.name.endswith(".crc"))
    victim.unlink()
    with pytest.raises(InputError, match=r"no such file.*plan the scan again") as caught:
        scan.to_table()
    assert victim.name in str(caught.value)


def test_the_native_path_refuses_logs(events: Path) -> None:
    """Base files alone are no snapshot where logs apply; asked for as such they are read."""
    with pytest.raises(RefusedError, match="has logs"):
        HudiTable(str(events)).scan(path="native")
    rows = HudiTable(str(events)).scan(path="native", query="read-optimized").to_table()
    assert {"base"} == set(rows.column("v").to_pylist())


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
@pytest.mark.parametrize("read", [by_stream, by_dataset, by_relation])
def test_rows_of_a_base_that_lack_their_key_columns_meet_logs(read: Read, tmp_path: Path) -> None:
    """By the key's text: Hudi 1.2.0 compacts such rows of a `MERGE INTO` into base files."""
    table = unpack_table("dropped-column/v9", tmp_path)
    (base,) = table.glob("*.parquet")
    rows = pq.read_table(base)
    at, nulls = rows.schema.get_field_index("k"), pa.nulls(rows.num_rows, pa.string())
    pq.write_table(rows.set_column(at, "k", nulls), base, compression="none")
    columns = {"k": ["a", "b", None], "v": ["log1", "log2", "base"], "ts": [2, 2, 1]}
    assert read(table) == bag(pa.table({**columns, "extra": [None, "two", "one"]}))

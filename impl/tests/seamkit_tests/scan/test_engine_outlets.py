"""Rows that leave through Polars and DuckDB: filters as each engine means them, odd names."""

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.dataset import ScanDataset
from seambase.errors import RefusedError, UsageError
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.scan.units import plan, write_unit

_NAN, _INF = float("nan"), float("inf")
_FLOATS = pa.table(
    {
        "k": pa.array(range(8), pa.int64()),
        "f": pa.array([1.0, _NAN, _NAN, None, _INF, -0.0, 0.0, -_INF]),
        "g": pa.array([0.0, _NAN, 1.0, _NAN, None, 0.0, _INF, 1.0], pa.float32()),
        "t": ["a", None, "b", "a", "", "b", "a", "c"],
        "s": [{"x": value} for value in (_NAN, 1.0, None, 2.0, _NAN, 0.0, 1.0, 3.0)],
    }
)
_F, _K, _T = pl.col("f"), pl.col("k"), pl.col("t")
_CONDITIONS = [
    _F >= 1.0,
    pl.lit(_NAN) == _F,
    _F > _INF,
    _F != 1.0,
    ~(_F > 1.0),
    ~(_F <= 1.0),
    _F.is_in([0.0]),
    _F.is_in([_NAN, None]),
    _F.is_between(0.0, _INF),
    pl.col("f") == pl.col("g"),
    _F + 1 > 1,
    _F.is_nan() | (_K > 5),
    pl.col("g") >= 1,
    pl.col("s").struct.field("x") > 1,
    (_K > 0) & (_F > 0),
    (_K > 0) & (_K < 6) & _T.is_in(["a", "b"]),
    (_K == 3) | (_F == _NAN),
    _T.is_null(),
    _T != "a",
    _T.eq_missing(None),
    _T.is_in(["a", None], nulls_equal=True),
    (_K % 2 == 1) & (_K > 1.5),
    pl.lit(True),
    pl.lit(False),
]
_ODD = ["^a.*$", "ab", "*", "^.*$", 'a"b', "a'b", "C0", "v0", "a.b", "a\\", "x\ny", "ä", "^*$"]


def _scan(folder: Path, rows: pa.Table, **options: Any) -> UnitScan:
    """Three files: two without changes, one with a deleted row that is in none of the rows."""
    gone = pa.concat_tables([rows.slice(0, 1), rows.slice(4)])
    units = [
        write_unit(folder, "a", rows.slice(0, 2)),
        write_unit(folder, "b", rows.slice(2, 2)),
        write_unit(folder, "c", gone, [0], group_rows=2),
    ]
    return UnitScan(plan(rows.schema, *units), rows.schema.names, None, ScanOptions(**options))


def _bag(frame: pl.DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.rows()))


@pytest.mark.parametrize("condition", _CONDITIONS, ids=str)
def test_polars_filters_a_lazy_frame_as_its_own_frames(condition: pl.Expr, tmp_path: Path) -> None:
    """Polars: NaN equals itself and is greatest, -0.0 is 0.0; whoever reads the rows."""
    own = pl.from_arrow(_FLOATS)
    assert isinstance(own, pl.DataFrame)
    frame, kept = _scan(tmp_path, _FLOATS, batch_rows=2).lazy(), own.filter(condition)
    for engine, shown in (("in-memory", ["t"]), ("streaming", own.columns)):
        some: Any = engine
        found = frame.filter(condition)
        assert _bag(found.select(shown).collect(engine=some)) == _bag(kept.select(shown))
        assert found.select(pl.len()).collect(engine=some).item() == kept.height


@pytest.mark.parametrize(
    ("condition", "limited"), [*zip(_CONDITIONS, itertools.cycle([True, False]))], ids=str
)
def test_polars_filters_a_dataset_rightly_or_not_at_all(
    condition: pl.Expr, limited: bool, tmp_path: Path
) -> None:
    """Arrow tests there what Polars words for it: rows as in Polars' own frame, or a refusal.

    The rows of a limit are the same ones in every read, and are filtered as others.
    """
    own = pl.from_arrow(_FLOATS)
    assert isinstance(own, pl.DataFrame)
    scan = _scan(tmp_path, _FLOATS)
    rows = (scan.limit(100) if limited else scan).dataset()
    reads_floats = {"f", "g", "s"}.intersection(condition.meta.root_names())
    with pytest.raises(RefusedError, match=r"lazy\(\)") if reads_floats else nullcontext():
        found = pl.scan_pyarrow_dataset(rows).filter(condition).collect()
        assert _bag(found) == _bag(own.filter(condition))
        # What Arrow has no words for Polars tests itself.
        if reads_floats:
            raise RefusedError("not put to Arrow: lazy() has it too")
    tested = pl.scan_pyarrow_dataset(rows, allow_pyarrow_filter=False).filter(condition)
    assert _bag(tested.collect()) == _bag(own.filter(condition))


def test_a_limit_comes_before_what_its_dataset_is_asked(tmp_path: Path) -> None:
    """Three rows stay three, whatever columns and filters DuckDB, Polars and Arrow ask for."""
    scan = _scan(tmp_path, _FLOATS, batch_rows=2).limit(3)
    rows = scan.dataset()
    keys = rows.to_table(columns=["k"])["k"].to_pylist()
    assert len(keys) == rows.count_rows() == 3
    assert rows.to_table(columns=["t", "k"], filter=pc.field("k") > 0).column_names == ["t", "k"]
    assert pl.scan_pyarrow_dataset(rows).select("k").collect()["k"].to_list() == keys
    query = "SELECT count(*), count(*) FILTER (k >= 0) FROM rows WHERE f >= 1 OR f IS NULL OR true"
    assert duckdb.connect().execute(query).fetchall() == [(3, 3)]
    above = duckdb.connect().execute("SELECT k FROM rows WHERE k > ?", keys[:1]).fetchall()
    assert sorted(above) == sorted((key,) for key in keys if key > keys[0])
    assert _scan(tmp_path, _FLOATS).limit(0).dataset().to_table() == _FLOATS.slice(0, 0)


def test_arrow_filters_a_dataset_as_its_own_tables(tmp_path: Path) -> None:
    """The same call from Python keeps to Arrow's rules: no comparison with NaN is true."""
    condition = pc.field("f") >= 1.0
    batches = _scan(tmp_path, _FLOATS).dataset().to_batches(columns=["k"], filter=condition)
    found = sorted(key for batch in batches for key in batch["k"].to_pylist())
    assert found == _FLOATS.filter(condition)["k"].to_pylist()


def test_a_slice_comes_before_a_filter_where_it_stands_before(tmp_path: Path) -> None:
    """Polars hands both to the reader; the rows that are tested are the first ones of all."""
    rows = pa.table({"k": pa.array(range(100), pa.int64())})
    unit = write_unit(tmp_path, "a", rows.slice(0, 60), [0])
    frame = UnitScan(plan(rows.schema, unit), ["k"], None, ScanOptions(batch_rows=7)).lazy()
    first = frame.head(20)
    for engine in ("in-memory", "streaming"):
        some: Any = engine
        assert first.collect(engine=some)["k"].to_list() == list(range(1, 21))
        assert first.filter(_K > 15).collect(engine=some)["k"].to_list() == list(range(16, 21))
        assert frame.filter(_K > 15).head(3).collect(engine=some).height == 3


def test_polars_hands_down_what_arrow_tests_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a condition with a part over floating-point numbers, the other parts prune files."""
    asked = calls_of(monkeypatch, ScanDataset, "scanner")
    frame = _scan(tmp_path, _FLOATS).lazy().filter((_K == 4) & (_F > 1.0) & (_T != "b"))

    assert frame.select("t").collect().rows() == [("",)]
    request = asked[-1].named
    assert sorted(request["columns"]) == ["f", "k", "t"]
    assert str(request["filter"]) in ('((k == 4) and (t != "b"))', '((t != "b") and (k == 4))')


def test_values_alone_keep_their_rows(tmp_path: Path) -> None:
    """Columns that no file has, the value of a partition or null, are as long as the file."""
    schema = pa.schema([("k", pa.int64()), ("day", pa.string()), ("new", pa.int32())])
    rows = pa.table({"k": pa.array(range(3), pa.int64())})
    unit = write_unit(tmp_path, "a", rows, partition={"day": pa.scalar("x")})
    scan = UnitScan(plan(schema, unit), ["day", "new"])
    assert scan.lazy().collect().rows() == [("x", None)] * 3
    assert scan.lazy().filter(pl.col("day") == "x").select(pl.len()).collect().item() == 3
    assert scan.relation(duckdb.connect()).fetchall() == [("x", None)] * 3


@pytest.mark.parametrize("chosen", [_ODD, ["^a.*$"], ["*"], ["*", "ab"], [""], ["C0", ""]])
def test_names_that_look_like_patterns_are_names(chosen: list[str], tmp_path: Path) -> None:
    """Each column has its own values, whoever reads the file, also below a filter."""
    names = [*_ODD, *([""] if "" in chosen else [])]
    rows = pa.table({name: [100 * i + j for j in range(8)] for i, name in enumerate(names)})
    scan = UnitScan(_scan(tmp_path, rows).plan, chosen)
    expected = rows.select(chosen)
    datasets = [scan.dataset(), scan.limit(100).dataset()] if all(chosen) else []
    for frame in (scan.lazy(), *map(pl.scan_pyarrow_dataset, datasets)):
        found = frame.collect()
        assert found.columns == chosen
        assert sorted(found.rows()) == list(zip(*expected.to_pydict().values(), strict=True))
        last = cs.by_name(chosen[-1])
        some = frame.filter(last == expected[chosen[-1]][3].as_py()).collect()
        assert some.rows() == [tuple(expected.slice(3, 1).to_pylist()[0].values())]
    con = duckdb.connect()
    for relation in (scan.relation(con), con.from_arrow(scan.dataset())):
        # DuckDB gives a column without a name one of its own.
        assert [name for name in relation.columns if name in chosen] == list(filter(None, chosen))
        found_rows = sorted(relation.fetchall())
        assert found_rows == list(zip(*expected.to_pydict().values(), strict=True))
    assert scan.to_polars().columns == chosen


def test_a_name_that_duckdb_gives_to_another_column_is_refused(tmp_path: Path) -> None:
    """DuckDB calls a column without a name v0: it would hide the one that has this name."""
    rows = pa.table({"": [1, 2], "v0": [3, 4]})
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "a", rows)), rows.schema.names)
    with pytest.raises(RefusedError, match="DuckDB calls column '' 'v0'"):
        scan.relation(duckdb.connect())
    assert scan.lazy().collect().columns == ["", "v0"]


@pytest.mark.parametrize("wrap", [lambda kind: kind, pa.list_], ids=["struct", "list"])
@pytest.mark.parametrize("by_us", [False, True])
def test_fields_that_duckdb_takes_for_one_are_refused(
    tmp_path: Path, wrap: Callable[[pa.DataType], pa.DataType], by_us: bool
) -> None:
    """DuckDB reads `a` for `A`, whoever hands it the rows; Polars and Arrow tell them apart."""
    alike = pa.struct([("a", pa.int32()), ("A", pa.int32())])
    value = {"a": 1, "A": 2}
    own = [value if wrap(alike) == alike else [value]]
    rows = pa.table({"s": pa.array(own, wrap(alike)), "k": [7]})
    scan: Scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "a", rows)), rows.schema.names)
    scan = scan.limit(5) if by_us else scan
    with pytest.raises(RefusedError, match="takes the fields 'a' and 'A' in column 's' for one"):
        scan.relation(duckdb.connect())
    assert scan.select("k").relation(duckdb.connect()).fetchall() == [(7,)]
    assert scan.lazy().collect().to_dicts() == rows.to_pylist()
    with pytest.raises(UsageError, match="'a' and 'A' in column 's' differ only in case"):
        scan.filter("s IS NOT NULL")


def test_names_with_nul_are_refused_where_they_would_be_cut(tmp_path: Path) -> None:
    """C's strings end at it: engines would show the letters before it alone."""
    rows = pa.table({"a\0b": [1, 2], "c": [3, 4]})
    unit = write_unit(tmp_path, "a", rows)
    scan = UnitScan(plan(rows.schema, unit), rows.schema.names)
    con = duckdb.connect()
    assert scan.to_table().to_pydict() == rows.to_pydict()
    outlets = (
        scan.dataset,
        scan.lazy,
        scan.to_polars,
        lambda: scan.relation(con),
        lambda: pa.RecordBatchReader.from_stream(scan),
    )
    for outlet in outlets:
        with pytest.raises(RefusedError, match="NUL"):
            outlet()
    others = UnitScan(plan(rows.schema, unit), ["c"])
    assert others.lazy().collect().rows() == others.relation(con).fetchall() == [(3,), (4,)]


def test_a_lazy_frame_has_a_column(tmp_path: Path) -> None:
    """Polars would not know how many rows there are, as DuckDB would not."""
    rows = pa.table({"k": [1, 2]})
    scan = UnitScan(plan(rows.schema, write_unit(tmp_path, "a", rows)), [])
    for outlet in (scan.lazy, lambda: scan.relation(duckdb.connect())):
        with pytest.raises(UsageError, match="at least one column"):
            outlet()


def test_moments_and_days_are_handed_down(tmp_path: Path) -> None:
    """Conditions with values that Polars words by calls of its own keep the right rows."""
    moments = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in range(1, 9)]
    rows = pa.table(
        {
            "at": pa.array(moments, pa.timestamp("us", "UTC")),
            "day": [moment.date() for moment in moments],
            "plain": [moment.replace(tzinfo=None) for moment in moments],
        }
    )
    frame, own = _scan(tmp_path, rows).lazy(), pl.from_arrow(rows)
    assert isinstance(own, pl.DataFrame)
    for name, value in {"at": moments[4], "day": moments[4].date(), "plain": None}.items():
        condition = pl.col(name) >= (moments[4].replace(tzinfo=None) if value is None else value)
        assert _bag(frame.filter(condition).collect()) == _bag(own.filter(condition))

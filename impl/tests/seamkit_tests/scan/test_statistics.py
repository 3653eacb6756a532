"""What scans tell of their rows before reading, held against the rows that they then give."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import SeambenchError
from seambase.statistics import ColumnStatistics, Figure, TableStatistics
from seambench.conformance.load import load_cases
from seambench.seams.scan.check import unpacked
from seambench_impl.scan import AutoReader
from seamkit.command import main
from seamkit.files.parquet import ParquetReader
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, Mask, ReadPlan, ReadUnit
from seamkit_tests.samples.golden_tables import unpack, unpack_table

Met = tuple[str, str]


def _check(known: TableStatistics, rows: pa.Table, where: str) -> Iterator[Met]:
    """Hold figures against rows; which were told, and how sure they are."""
    if known.rows is not None:
        _holds(known.rows, rows.num_rows, f"{where}: rows")
        yield "rows", known.rows.sure
    for name, one in known.columns.items():
        column = rows[name]
        what = f"{where}: {name}"
        if one.nulls is not None:
            _holds(one.nulls, column.null_count, f"{what}: nulls")
            yield "nulls", one.nulls.sure
        if one.least is None and one.greatest is None:
            continue
        assert not pa.types.is_floating(column.type), what
        ends = pc.min_max(column)
        for end, figure in (("min", one.least), ("max", one.greatest)):
            if figure is None:
                continue
            assert figure.value.type == column.type, what
            if ends[end].is_valid:
                _holds(figure, ends[end], f"{what}: {end}")
            else:
                assert not figure.is_exact, f"{what}: {end} of no value"
            yield end, figure.sure


def _holds(figure: Figure[Any], found: Any, what: str) -> None:
    less = _less(found, figure.value)
    greater = _less(figure.value, found)
    message = f"{what}: {figure}, and it is {found}"
    if figure.sure in ("exact", "at most"):
        assert not greater, message
    if figure.sure in ("exact", "at least"):
        assert not less, message


def _less(one: Any, other: Any) -> bool:
    return bool(pc.less(one, other).as_py() if isinstance(one, pa.Scalar) else one < other)


def _check_cases(cases: Sequence[Any]) -> Counter[tuple[str, str, str]]:
    met: Counter[tuple[str, str, str]] = Counter()
    for case in cases:
        with unpacked(case) as request:
            if request.where is not None:
                continue
            try:
                scan: Any = AutoReader().open(request)
                rows = scan.to_table()
            except SeambenchError:
                continue
            known = scan.statistics()
            own = list(_check(known, rows, case.id))
            met.update((case.id.split("/")[1], *one) for one in own)
    return met


def _golden(step: int, *queries: str) -> list[Any]:
    """The first case of each table of every format with each query, some of them."""
    first: dict[Any, Any] = {}
    for case in cast("Sequence[Any]", load_cases("scan")):
        if case.level == "must" and case.request.query in queries:
            key = case.id.split("/")[1], str(case.table.folder), case.request.query
            first.setdefault(key, case)
    return list(first.values())[4::step]


def test_figures_hold_for_golden_tables() -> None:
    """Exact ones are what pyarrow finds in the rows, the others bound it; a sample of tables."""
    met = _check_cases(_golden(5, "snapshot"))
    for name in ("delta", "iceberg", "paimon", "hudi"):
        assert met[name, "rows", "exact"], name
        assert met[name, "nulls", "exact"] > 5, name


def test_figures_hold_for_changes() -> None:
    """Rows that are made of two states, or of images, are no rows of the files that they are in."""
    met = _check_cases(_golden(1, "incremental", "cdc"))
    for name in ("iceberg", "paimon"):
        assert met[name, "rows", "exact"], name
        assert met[name, "rows", "at most"], name


_MOMENTS = pa.array([1, 2_000_000_001, None], pa.timestamp("ns"))


def _delta(folder: Path, rows: pa.Table, **how: Any) -> Any:
    import deltalake

    deltalake.write_deltalake(str(folder), rows, **how)
    return seamkit.open_table(folder)


def test_of_a_scan_with_a_filter_or_limit_all_is_a_bound(tmp_path: Path) -> None:
    """What is exact of all rows bounds those that are left; what is ruled out does not count."""
    rows = pa.table({"p": [1, 1, 2], "n": [3, None, 5]})
    table = _delta(tmp_path, rows, partition_by=["p"])
    whole = table.scan().statistics()
    some = table.scan(filter=pc.field("n") >= 3).statistics()
    one = table.scan(filter=pc.field("p") == 2).statistics()
    few = table.scan(["n"]).limit(2).statistics()
    by_sql = table.scan(["n"], filter="p = 2 and n % 2 = 1").statistics()
    assert whole.rows == Figure(3)
    assert whole.columns["n"].nulls == Figure(1)
    assert whole.columns["n"].least == Figure(pa.scalar(3, pa.int64()))
    assert whole.columns["p"].greatest == Figure(pa.scalar(2, pa.int64()))
    assert some.rows == Figure(3, "at most")
    assert some.columns["n"].least == Figure(pa.scalar(3, pa.int64()), "at least")
    assert one.rows == Figure(1, "at most")
    assert one.columns["n"].least == Figure(pa.scalar(5, pa.int64()), "at least")
    assert few.rows == Figure(2, "at most")
    assert list(few.columns) == ["n"]
    assert by_sql.rows == Figure(1, "at most")
    assert list(by_sql.columns) == ["n"]


def test_deleted_rows_make_bounds_of_values_but_not_of_counts(tmp_path: Path) -> None:
    """A vector says how many rows are gone, and not which values they had."""
    folder = unpack("delta/vectors-several", tmp_path)
    scan: Any = seamkit.open_table(folder).scan()
    known, rows = scan.statistics(), scan.to_table()
    assert any(unit.changes is not None for unit in scan.plan.units)
    assert known.rows == Figure(rows.num_rows)
    assert {one.least.sure for one in known.columns.values() if one.least} == {"at least"}


def test_rows_that_logs_change_are_a_guess(tmp_path: Path) -> None:
    """Nothing is said of columns that logs may change; of a partition's it is."""
    scan: Any = seamkit.open_table(unpack_table("mor-v9-partitioned", tmp_path)).scan()
    known = scan.statistics()
    assert known.rows is not None
    assert known.rows.sure == "estimate"
    said = {name for name, one in known.columns.items() if one.least is not None}
    assert said == {"region"}


def test_footers_are_read_only_where_metadata_says_nothing(tmp_path: Path) -> None:
    """Hive tells of no file; without a look at footers nobody knows how many rows there are."""
    folder = unpack("hive/parquet-written", tmp_path)
    scan: Any = seamkit.open_table(folder).scan()
    rows = scan.to_table()
    assert scan.statistics().rows == Figure(rows.num_rows)
    without = scan.statistics(footers=False)
    assert without.rows is None
    assert without.size_bytes == scan.statistics().size_bytes
    assert set(without.columns.values()) == {ColumnStatistics()}


@pytest.mark.parametrize(
    ("format_name", "name"),
    [("hive", "text-rows"), ("hive", "avro-written"), ("paimon", "pk-avro")],
)
def test_files_that_would_be_read_whole_are_not_asked(
    format_name: str, name: str, tmp_path: Path
) -> None:
    """Text and Avro have no footer: what metadata does not tell of them stays unknown."""
    scan: Any = seamkit.open_table(unpack(f"{format_name}/{name}", tmp_path)).scan()
    data = [file for unit in scan.plan.units for file in unit.files]
    assert data
    before = scan.statistics(footers=False)
    for file in tmp_path.rglob("*"):
        if file.is_file() and any(file.name in one.name for one in data):
            file.unlink()
    assert scan.statistics() == before


def test_masks_that_take_out_more_than_there_is_make_no_figure() -> None:
    """Who reads refuses such metadata; who estimates makes nothing of it."""

    def never() -> Any:
        raise AssertionError("not opened")

    data = DataFile("one", 1, never, rows=2, statistics=lambda _: FileStatistics(2))
    for gone, rows in ((2, Figure(0)), (3, None), (-1, None)):
        unit = ReadUnit("one", [data], changes=Mask(never, gone))
        plan = ReadPlan("table", pa.schema([]), [unit])
        assert UnitScan(plan, []).statistics().rows == rows


def test_footers_keep_the_last_digits_and_pass_over_fractions(tmp_path: Path) -> None:
    """Nanoseconds come whole; of numbers that may be NaN nothing is said but nulls."""
    reals = pa.array([1.5, float("nan"), None])
    texts = pa.array(["b" * 100, "a", None])
    columns = {"t": _MOMENTS, "x": reals, "s": texts, "none": pa.nulls(3, pa.int32())}
    pq.write_table(pa.table(columns), tmp_path / "one.parquet", row_group_size=2)
    schema = pa.schema([(name, one.type) for name, one in columns.items()])
    reader = ParquetReader(Storage(str(tmp_path)), "one.parquet")
    known = reader.statistics(schema.append(pa.field("lacking", pa.int8())))
    assert known.rows == 3
    assert known.columns["t"] == ColumnRange(1, _MOMENTS[0], _MOMENTS[1], (True, True))
    assert "x" not in known.columns
    assert known.columns["s"].exact == (False, False)
    assert known.columns["none"] == ColumnRange(3)
    assert known.columns["lacking"] == ColumnRange(3)


def test_the_command_line_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a table for people, and as JSON; a file of pages has none."""
    _delta(tmp_path, pa.table({"n": [3, None, 5]}))
    shown = _run(["inspect", str(tmp_path), "--statistics"], capsys)
    told = json.loads(_run(["inspect", str(tmp_path), "--statistics", "--json"], capsys))
    assert shown.splitlines()[0] == "rows: 3"
    assert told["rows"] == {"value": 3, "sure": "exact"}
    assert told["columns"]["n"] == {
        "type": "int64",
        "nulls": {"value": 1, "sure": "exact"},
        "least": {"value": "3", "sure": "exact"},
        "greatest": {"value": "5", "sure": "exact"},
        "distinct": None,
    }


def _run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_figures_hold_for_every_golden_case() -> None:
    """Every case of the scan seam, whatever its query."""
    met = _check_cases(load_cases("scan"))
    for name in ("delta", "iceberg", "paimon", "hudi", "hive"):
        assert met[name, "rows", "exact"] >= 5, name
    for name in ("delta", "paimon", "hudi"):
        assert met[name, "min", "exact"] > 20, name
    assert met["iceberg", "min", "at least"] > 100
    assert met["paimon", "rows", "at most"] > 10
    assert met["hudi", "rows", "estimate"] > 10

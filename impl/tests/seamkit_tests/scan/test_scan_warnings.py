"""Nothing is passed over in silence: what a scan skips is told through Python's warnings."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import seamkit
from seambase.scan import Query, ScanWarning
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import UnitScan
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.scan.units import plan, write_unit

_ROWS = pa.table({"k": pa.array(range(6), pa.int64())})


def _registered(scan: Scan) -> Any:
    connection = duckdb.connect()
    seamkit.register(connection, "rows", scan)
    return connection.sql("FROM rows").fetchall()


_OUTLETS: dict[str, Callable[[Scan], Any]] = {
    "to_table": lambda scan: scan.to_table(),
    "to_reader": lambda scan: scan.to_reader().read_all(),
    "to_pandas": lambda scan: scan.to_pandas(),
    "to_polars": lambda scan: scan.to_polars(),
    "count_rows": lambda scan: scan.count_rows(),
    "head": lambda scan: scan.head(1000),
    "limit": lambda scan: scan.limit(1000).to_table(),
    "stream": lambda scan: pa.table(scan),
    "dataset": lambda scan: scan.dataset().to_table(),
    "dataset in DuckDB": lambda scan: duckdb.from_arrow(scan.dataset()).fetchall(),
    "dataset in Polars": lambda scan: pl.scan_pyarrow_dataset(scan.dataset()).collect(),
    "relation": lambda scan: scan.relation(duckdb.connect()).fetchall(),
    "register": _registered,
    "lazy": lambda scan: scan.lazy().collect(),
    "plan": lambda scan: seamkit.scan_from_json(seamkit.scan_to_json(scan)).to_table(),
    "parts": lambda scan: [
        scan.part(number, scan.schema.names, None).to_table() for number in range(scan.n_parts)
    ],
}


def _told(outlet: Callable[[Scan], Any], scan: Scan) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        outlet(scan)
    assert {warning.category for warning in told} <= {seamkit.TableWarning}
    return [str(warning.message) for warning in told]


def _stray_table(folder: Path) -> Path:
    """A table of Hudi of which the last log has bytes behind its last block."""
    table = unpack_table("mor-v9-event", folder)
    last = max(table.rglob(".*.log.*"), key=lambda path: int(path.name.split(".log.")[1][0]))
    last.write_bytes(last.read_bytes() + b"xy")
    return table


@pytest.mark.parametrize(
    ("outlet", "query", "limit"),
    [
        (outlet, ("incremental", "cdc")[number % 2], (None, 1 << 26)[number // 2 % 2])
        for number, outlet in enumerate(_OUTLETS)
    ],
)
def test_changes_tell_a_doubt_once(
    query: Query, outlet: str, limit: int | None, tmp_path: Path
) -> None:
    """Also where both states of each of several writes are read, which all meet the same log."""
    table = seamkit.open_table(_stray_table(tmp_path))
    scan = table.scan(query=query, memory_limit_bytes=limit)
    [told] = _told(_OUTLETS[outlet], scan)
    assert "skipped at byte" in told
    if outlet != "plan":
        assert _told(_OUTLETS[outlet], scan) == []
    assert _told(_OUTLETS[outlet], table.scan(query=query)) == [told]


@pytest.mark.parametrize("outlet", _OUTLETS)
def test_damage_that_is_skipped_is_told_once_by_every_outlet(outlet: str, tmp_path: Path) -> None:
    """With the file, the offset and the reason; again by another scan, not by a second read."""
    table = seamkit.open_table(_stray_table(tmp_path))
    scan = table.scan()
    [told] = _told(_OUTLETS[outlet], scan)
    assert ".log." in told
    assert "skipped at byte" in told
    if outlet not in ("plan", "parts"):  # reports of their own
        assert [str(warning) for warning in scan.report().warnings] == [told]
    if outlet != "plan":
        assert _told(_OUTLETS[outlet], scan) == []
    assert _told(_OUTLETS[outlet], table.scan()) == [told]


# Of this plan no document could be made: what opens its file is a function of these tests.
@pytest.mark.parametrize("outlet", [outlet for outlet in _OUTLETS if outlet != "plan"])
def test_doubts_of_a_plan_are_told_once_by_every_outlet(outlet: str, tmp_path: Path) -> None:
    """Also where an engine's own reader reads all files."""
    planned = plan(_ROWS.schema, write_unit(tmp_path, "a", _ROWS))
    doubted = type(planned)(
        planned.table,
        planned.schema,
        planned.units,
        warnings=[ScanWarning("the log", -1, "it says something else")],
    )
    scan = UnitScan(doubted, ["k"])
    assert _told(_OUTLETS[outlet], scan) == ["the log: it says something else"]
    assert _told(_OUTLETS[outlet], scan) == []


@pytest.mark.parametrize("outlet", ["to_table", "to_reader", "count_rows", "lazy", "parts"])
def test_who_has_python_raise_warnings_has_the_read_end(outlet: str, tmp_path: Path) -> None:
    """The suite's own filter does so; with a plain filter the rows are those of before."""
    table = seamkit.open_table(_stray_table(tmp_path))
    with pytest.raises((seamkit.TableWarning, pl.exceptions.ComputeError), match="skipped at"):
        _OUTLETS[outlet](table.scan())
    with pytest.raises(seamkit.InputError):
        _OUTLETS[outlet](table.scan(strict=True))


def test_a_whole_table_is_told_of_nothing(tmp_path: Path) -> None:
    """No outlet warns of a sound table."""
    scan = seamkit.open_table(unpack_table("mor-v9-event", tmp_path)).scan()
    for outlet in _OUTLETS.values():
        assert _told(outlet, scan) == []

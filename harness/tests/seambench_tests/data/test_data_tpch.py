"""TPC-H tables: facts, counts, and generation in parts."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import UnavailableError, UsageError
from seambench.data.layouts import default_layouts, parse_layout
from seambench.data.oracle import digest_parquet
from seambench.data.tpch import (
    TABLES,
    expected_row_count,
    format_scale,
    generate_part,
    generate_single_process,
    generator_path,
    part_count,
)
from seambench.engines.digest import digest_reader, rows_of


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables at scale 0.01, from one process of the generator."""
    folder = tmp_path_factory.mktemp("alone")
    generate_single_process(0.01, folder, tuple(TABLES))
    return folder


@pytest.mark.parametrize("table", TABLES)
def test_counts_are_the_specification_s(table: str, alone: Path) -> None:
    """Rows at scale 0.01 are what the TPC-H specification (for lineitem: dbgen) says."""
    assert rows_of(digest_parquet(alone / f"{table}.parquet", table)) == expected_row_count(
        table, 0.01
    )


@pytest.mark.parametrize(
    ("table", "scale", "rows"),
    [
        ("lineitem", 1, 6_001_215),
        ("lineitem", 0.1, 600_572),
        ("lineitem", 0.3, None),
        ("orders", 0.1, 150_000),
        ("partsupp", 1, 800_000),
        ("supplier", 0.01, 100),
        ("nation", 1000, 25),
        ("supplier", 0.00001, None),
    ],
)
def test_expected_counts(table: str, scale: float, rows: int | None) -> None:
    """Counts at other scales; where the specification gives none, nothing is invented."""
    assert expected_row_count(table, scale) == rows


@pytest.mark.parametrize("table", ["lineitem", "region"])
def test_parts_make_the_whole(table: str, alone: Path) -> None:
    """Parts 1 to n together are the rows of a single run, in the declared types."""
    parts = 2 if TABLES[table].scales else 1
    batches = [b for part in range(parts) for b in generate_part(table, 0.01, part + 1, parts)]
    together = pa.Table.from_batches(batches, TABLES[table].schema)
    assert digest_reader(together) == digest_parquet(alone / f"{table}.parquet", table)


def test_part_count() -> None:
    """Small tables are one part, large ones at least one per core, and parts stay bounded."""
    assert part_count("nation", 1000, 8) == 1
    assert part_count("lineitem", 0.01, 8) == 1
    assert part_count("lineitem", 1, 2) == 5
    assert part_count("orders", 1, 8) == 8


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), 1e7])
def test_bad_scale_is_refused(scale: float) -> None:
    """A scale is a positive number."""
    with pytest.raises(UsageError, match="scale"):
        format_scale(scale)


def test_missing_generator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the generator the message says how to install it."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="pip install tpchgen-cli"):
        generator_path()


@pytest.mark.parametrize(
    "name", [*default_layouts(), "cow-v6", "cow-v9", "mor-v6-commit-parquet-u12.5-s50"]
)
def test_layout_names_round_trip(name: str) -> None:
    """A layout's name says all about it."""
    assert parse_layout(name).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "csv",
        "cow-v7",
        "cow",
        "mor-v9-event-avro-u101-s100",
        "mor-v8-event-avro-u5-s100",
        "mor-v9-custom-avro-u5-s100",
        "mor-v9-event-hfile-u5-s100",
        "mor-v9-event-avro-u5",
        "mor-v9-event-avro-u-5-s100",
    ],
)
def test_unknown_layouts_are_refused(name: str) -> None:
    """A name that is no layout, or asks for what cannot be written, is refused."""
    with pytest.raises(UsageError):
        parse_layout(name)

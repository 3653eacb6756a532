"""Golden Iceberg tables, metadata file by metadata file, against what Spark itself read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seambench.conformance.plain import canonical
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import (
    ICEBERG_GOLDEN,
    iceberg_table_names,
    unpack_iceberg,
)


def _steps(name: str) -> list[dict[str, Any]]:
    """What Spark read after each step, as far as its snapshot was kept."""
    steps = json.loads((ICEBERG_GOLDEN / name / "witness.json").read_text(encoding="utf-8"))
    return steps[-1:] if name == "expired" else list(steps)


@pytest.mark.parametrize("name", iceberg_table_names())
def test_every_state_is_as_spark_read_it(name: str, tmp_path: Path) -> None:
    """Columns in order and rows as a multiset; no warning about a whole table."""
    folder = unpack_iceberg(name, tmp_path)
    for step in _steps(name):
        table = IcebergTable(str(folder / "metadata" / step["metadata"]))
        scan = table.scan(threads=1, strict=True)
        found = scan.to_table()
        assert found.column_names == step["columns"]
        if "fails" in step:
            continue
        if "count" in step:
            assert found.num_rows == step["count"]
            continue
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert Counter(tuple(map(canonical, row)) for row in rows) == Counter(
            tuple(row) for row in step["rows"]
        )
        assert scan.report().warnings == []


def test_spark_itself_fails_at_few_steps() -> None:
    """The comparison is not empty."""
    steps = [step for name in iceberg_table_names() for step in _steps(name)]
    assert len(steps) > 200
    assert sum("fails" in step for step in steps) < 6


@pytest.mark.parametrize("name", ["positions", "vectors", "travel"])
def test_the_folder_shows_its_newest_metadata(name: str, tmp_path: Path) -> None:
    """By the hint, and without one by the highest number."""
    folder = unpack_iceberg(name, tmp_path)
    newest = _steps(name)[-1]["metadata"]
    assert IcebergTable(str(folder)).metadata_file.endswith(newest)

    (folder / "metadata" / "version-hint.text").unlink()
    assert IcebergTable(str(folder)).metadata_file.endswith(newest)

"""What Hudi's writers may do breaks no rule."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seambench.contracts.formats import resolve_format
from seambench.formats.hudi.timelines import open_timeline
from seambench_tests.formats.hudi_faults import ALLOWED
from seambench_tests.formats.planting import Plant, new_faults, unpacked

HUDI = resolve_format("hudi")


@pytest.mark.parametrize(("rule", "table", "plant"), ALLOWED)
def test_what_writers_may_do_is_no_fault(
    rule: str, table: str, plant: Plant, tmp_path: Path
) -> None:
    """What failed is counted, a dropped column may be there as nulls, and crashes leave files."""
    assert f"hudi.{rule}" not in new_faults(HUDI, table, plant, tmp_path)


@pytest.mark.parametrize("name", ["archived/v6", "archived/v8", "archived/v9"])
def test_what_is_older_than_the_timeline_has_completed(name: str, tmp_path: Path) -> None:
    """Files and rows of actions that are told nowhere any more are those of completed ones."""
    table = unpacked(HUDI, name, tmp_path)
    for folder in (".hoodie/archived", ".hoodie/timeline/history"):
        shutil.rmtree(table / folder, ignore_errors=True)
    assert not [*open_timeline(table).kept()]
    assert [*HUDI.faults(table)] == []

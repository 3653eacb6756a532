"""Random Paimon tables, where a reader agrees with the core, and how reading them is measured."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import seambench_suites
from seambench.contracts import registry
from seambench.formats.paimon import FORMAT
from seambench.formats.writing import small_session
from seambench_suites.paimon.bars import ratios, streamed
from seambench_suites.paimon.differential import differences
from seambench_suites.paimon.random_tables import random_life


def test_a_life_follows_from_its_seed() -> None:
    """The same seed, the same steps; every merge engine comes up."""
    assert random_life(7) == random_life(7)
    engines = {random_life(seed)[0]["options"]["merge-engine"] for seed in range(50)}
    assert engines == {"deduplicate", "partial-update", "aggregation", "first-row"}


@pytest.mark.spark
@pytest.mark.slow
def test_a_reader_agrees_with_the_core() -> None:
    """A few tables that the core 1.4.2 writes and reads, step by step."""
    with small_session(FORMAT, "core-1.4.2") as session:
        found = list(differences(session, registry.resolve("scan", "auto"), range(1, 5)))
    assert [difference for _, _, difference in found if difference] == []
    assert sum(compared for _, compared, _ in found) > 10


class _Scanner:
    """Hands out as many batches of one row as a table's name is long."""

    def open(self, request: Any) -> Any:
        """A scan."""
        rows = [SimpleNamespace(num_rows=1)] * len(Path(request.table).parent.name)
        return SimpleNamespace(
            to_reader=lambda: iter(rows), report=lambda: SimpleNamespace(peak_bytes=None)
        )


def test_tables_of_other_rows_are_not_compared(tmp_path: Path) -> None:
    """A figure of tables that do not hold the same number of rows says nothing."""
    scanner: Any = _Scanner()
    with pytest.raises(ValueError, match="different numbers of rows"):
        ratios(tmp_path, scanner, 1)


def test_memory_of_a_streamed_table_is_its_own(tmp_path: Path) -> None:
    """What the process that measures holds does not count."""
    archive = Path(seambench_suites.__path__[0], "golden", "paimon", "core-life", "table.zip")
    with zipfile.ZipFile(archive) as content:
        content.extractall(tmp_path)
    held = b"x" * (384 << 20)
    assert streamed(tmp_path, "auto", 1).resident_mib < 384
    del held

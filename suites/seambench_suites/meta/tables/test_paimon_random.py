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
from seambench_suites.paimon.differential import differences, reason
from seambench_suites.paimon.random_functions import random_functions
from seambench_suites.paimon.random_tables import random_life


def test_a_life_follows_from_its_seed() -> None:
    """The same seed, the same steps; every merge engine comes up."""
    assert random_life(7) == random_life(7)
    assert random_functions(7) == random_functions(7)
    engines = {random_life(seed)[0]["options"]["merge-engine"] for seed in range(50)}
    assert engines == {"deduplicate", "partial-update", "aggregation", "first-row"}


@pytest.mark.spark
@pytest.mark.slow
def test_a_reader_agrees_with_the_core() -> None:
    """A few tables that the core 1.4.2 writes and reads, step by step."""
    with small_session(FORMAT, "core-1.4.2") as session:
        lives = {seed: random_life(seed) for seed in range(1, 5)}
        lives |= {-seed: random_functions(seed) for seed in range(1, 3)}
        found = list(differences(session, registry.resolve("scan", "auto"), lives))
    assert [difference for _, _, difference in found if difference] == []
    assert sum(compared for _, compared, _ in found) > 10


@pytest.mark.parametrize(
    ("version", "option", "kinds", "is_listed"),
    [
        ("0.9.0", ("sequence.field.sort-order", "descending"), ("+I",), True),
        ("1.4.2", ("sequence.field.sort-order", "descending"), ("+I",), False),
        ("0.9.0", ("sequence.field.sort-order", "ascending"), ("-D",), False),
        ("0.9.0", ("fields.g.sequence-group", "a"), ("-U", "+I"), True),
        ("0.9.0", ("fields.g.sequence-group", "a"), ("+I", "-U"), False),
    ],
)
def test_a_difference_is_listed_by_version_option_and_rows(
    version: str, option: tuple[str, str], kinds: tuple[str, ...], is_listed: bool
) -> None:
    """Only those that a version's own rules make."""
    create: dict[str, Any] = {
        "create": {"k": "INT", "g": "INT"},
        "keys": ["k"],
        "options": dict([option]),
    }
    life = [create, {"compact": True}, {"write": [[kind, 1, 2] for kind in kinds]}]
    assert (reason(version, life) is not None) == is_listed


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

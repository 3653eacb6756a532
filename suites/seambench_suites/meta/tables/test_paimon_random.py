"""Random Paimon tables, where a reader agrees with the core, and how reading them is measured."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seambench.contracts import registry
from seambench_suites.differential import FORMATS, compare, write_tables
from seambench_suites.paimon.random_functions import random_functions, random_items
from seambench_suites.paimon.random_tables import random_life
from seambench_suites.paimon.version_rules import reason, table_of, write_steps


def test_a_life_follows_from_its_seed() -> None:
    """The same seed, the same steps; every merge engine comes up."""
    assert random_life(7) == random_life(7)
    assert random_functions(7) == random_functions(7)
    assert random_items(7) == random_items(7)
    engines = {random_life(seed)[0]["options"]["merge-engine"] for seed in range(50)}
    assert engines == {"deduplicate", "partial-update", "aggregation", "first-row"}


@pytest.mark.spark
@pytest.mark.slow
def test_a_reader_agrees_with_the_core(tmp_path: Path) -> None:
    """A few tables that the core 1.4.2 writes and reads, step by step."""
    own, counts = FORMATS["paimon"], Counter[str]()
    for kind, last in (("rows", 4), ("functions", 1), ("items", 1)):
        write_tables(tmp_path, own, range(1, last + 1), kind, "core-1.4.2")
    told = list(compare(tmp_path, own, registry.resolve("scan", "auto"), counts))
    assert told == []
    assert counts["tables"] == 6
    assert counts["answers"] > 10


def test_states_before_the_first_snapshot_are_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step keeps its number, by which reasons are looked up; one that fails ends the table."""
    monkeypatch.setattr("seambench.formats.paimon.writer.Core", _Core)
    spec = table_of(1, [{"create": {}}, {"compact": True}, {"write": 1}, {"bad": 1}], "1.4.2")
    done = write_steps(None, spec, tmp_path, lenient=True)
    assert done.instants == ["1"]
    assert done.witness == [{"step": 3, "columns": [], "rows": []}]
    assert list(done.failures) == [4]
    with pytest.raises(ValueError, match="bad"):
        write_steps(None, spec, tmp_path)


class _Core:
    """Writes a snapshot where it is told to write."""

    def __init__(self, _session: Any, table: Path) -> None:
        self._folder = table / "snapshot"

    def carry_out(self, step: Any) -> None:
        """One step."""
        if "bad" in step:
            raise ValueError("bad")
        if "write" in step:
            self._folder.mkdir(exist_ok=True)
            (self._folder / "snapshot-1").write_text('{"timeMillis": 0}', encoding="utf-8")

    def read(self, _step: Any) -> Any:
        """No rows."""
        return {"columns": [], "rows": []}


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

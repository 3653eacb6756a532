"""Random tables: a seed means one table, readers agree with Spark and the core, reads are timed."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seambench.contracts import registry
from seambench.formats.hudi.writer import write_options
from seambench_suites.differential import FORMATS, compare, write_tables
from seambench_suites.hudi.random_tables import random_table
from seambench_suites.hudi.spark_answers import questions
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


@pytest.mark.parametrize(("version", "hudi"), [(6, "0.15.0"), (8, "1.0.2"), (9, "1.2.0")])
def test_a_seed_means_one_declaration(version: int, hudi: str) -> None:
    """Drawn twice, a table is the same; every step of it has options and only known columns."""
    for seed in range(50):
        spec = random_table(seed, version, hudi)
        assert spec == random_table(seed, version, hudi)
        assert len(spec.writes) >= 4
        for write in spec.writes:
            assert write_options(spec, write)["hoodie.write.table.version"] == str(version)
            assert all(set(row) <= set(spec.columns) for row in write.rows)


def test_questions_reach_every_commit_and_window() -> None:
    """Views, each commit but the last as-of, windows by completion where there is one."""
    asked = questions(["1", "2", "", "3"], ["1c", "2c", "", "3c"])
    assert {"query": "read-optimized"} in asked
    assert [a["as_of"] for a in asked if "as_of" in a] == ["1", "2"]
    assert [a["begin"] for a in asked if "end" not in a and "begin" in a] == ["000", "1c", "2c"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("version", "hudi"), [(6, "0.15.0"), (9, "1.2.0")])
def test_readers_agree_with_spark(tmp_path: Path, version: int, hudi: str) -> None:
    """What Spark writes and reads, the merge and the connector path read alike."""
    command = [sys.executable, "-m", "seambench_suites.differential"]
    given = [str(tmp_path), "--format", "hudi"]
    kind = ["--tables", f"v{version}", "--by", hudi]
    subprocess.run([*command, "write", *given, *kind, "--seeds", "201-203"], check=True)
    if hudi != "1.2.0":
        subprocess.run([*command, "ask", *given, "--by", "1.2.0"], check=True)
    readers = ["--impl", "merge", "--impl", "connector"]
    told = subprocess.run(
        [*command, "compare", *given, *readers], check=False, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "'tables': 3," in told.stdout

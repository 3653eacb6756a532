"""Random tables: a seed means one declaration, and our readers agree with Spark about it."""

import subprocess
import sys
from pathlib import Path

import pytest

from seambench.formats.hudi.writer import write_options
from seambench_suites.hudi.random_tables import random_table
from seambench_suites.hudi.spark_answers import questions


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

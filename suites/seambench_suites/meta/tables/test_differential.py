"""The differential over random tables finds readers that answer otherwise than the writer."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import seambench_suites
from seambench.contracts import registry
from seambench_suites.differential import FORMATS, compare

_GOLDEN = Path(seambench_suites.__file__).parent / "golden" / "delta" / "evolution"


def _store(folder: Path) -> list[dict[str, Any]]:
    """A golden table as `write` leaves one; what was noted after each step."""
    with zipfile.ZipFile(_GOLDEN / "table.zip") as archive:
        archive.extractall(folder / "1" / "table")
    noted = json.loads((_GOLDEN / "witness.json").read_text(encoding="utf-8"))
    return [{"instant": str(number), **step} for number, step in enumerate(noted)]


@pytest.mark.parametrize("wrong", [False, True])
def test_every_step_is_compared(tmp_path: Path, wrong: bool) -> None:
    """A row that the writer has not noted is told, with the step."""
    steps = _store(tmp_path)
    if wrong:
        steps[-1]["rows"] = steps[-1]["rows"][1:]
    (tmp_path / "1" / "witness.json").write_text(json.dumps(steps), encoding="utf-8")
    counts: Counter[str] = Counter()

    told = list(compare(tmp_path, FORMATS["delta"], registry.resolve("scan", "auto"), counts))

    assert counts["tables"] == 1
    assert counts["answers"] == len(steps) > 1
    assert counts["differences"] == len(told) == wrong
    assert all(f"step {len(steps)}" in line and "unexpected" in line for line in told)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_seed_means_one_table(name: str) -> None:
    """Always the same one, and another seed another one."""
    draw = FORMATS[name].draw
    assert draw(7) == draw(7)
    assert draw(7).steps != draw(8).steps

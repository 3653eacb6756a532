"""Kernels: their turns, what becomes of wrong ones, and the command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor
from seambench.cli.app import run
from seambench.records.files import load_record
from seambench.records.model import Moved, Record, Rows
from seambench.records.verdicts import Arrived, Finding

_RIGHT = "duckdb2:3:00000000000000aa:00000000000000bb"
_WRONG = "duckdb2:3:00000000000000aa:00000000000000bc"


def _counting(units: int, beside: int, home: str) -> Competitor:
    """Arrives with so many units, in another process than `home`."""

    def judge(came: tuple[int, str]) -> Arrived:
        units, pid = came
        return Arrived(Moved(unit="units", sent=beside if pid != home else -1, arrived=units))

    return Competitor(lambda: (units, str(os.getpid())), judge)


def _answering(digest: str) -> Competitor:
    def judge(_: object) -> Finding:
        return Finding(_RIGHT, digest)

    return Competitor(lambda: None, judge)


def kernels(folder: Path, units: int = 3) -> Kernels:
    """Two that are right, and one of each kind that is not: as many units, and other rows."""
    assert folder.is_dir()
    here, over = str(os.getpid()), Rows(name="three", scale=0)
    other = Rows(name="three others", scale=0)
    return Kernels(
        "scan",
        "pyarrow",
        [
            Kernel("k/right", Task(_counting, (3, 3, here)), over, "step"),
            Kernel("k/fewer", Task(_counting, (3, units + 1, here)), over, "floor"),
            Kernel("k/answer", Task(_answering, (_RIGHT,)), over),
            Kernel("k/answer", Task(_answering, (_WRONG,)), other),
        ],
    )


def _timed(folder: Path, *arguments: str) -> tuple[int, Record]:
    code = run(["kernels", __name__, "--samples", "2", "--results", str(folder), *arguments])
    [path] = folder.rglob("*.json")
    return code, load_record(path)


def test_a_kernel_whose_result_is_wrong_has_no_times(tmp_path: Path) -> None:
    """Each runs in a process of its own; one wrong result ends the command with 1."""
    code, record = _timed(tmp_path)
    assert code == 1
    assert [(one.case, one.over.name, one.outcome, len(one.hot)) for one in record.timings] == [
        ("k/right", "three", "pass", 2),
        ("k/fewer", "three", "fail", 0),
        ("k/answer", "three", "pass", 2),
        ("k/answer", "three others", "fail", 0),
    ]


def test_settings_and_choices_reach_the_kernels(tmp_path: Path) -> None:
    """A setting has the type of its default; what is not chosen is not run."""
    code, record = _timed(tmp_path, "--set", "units=2", "--only", "fewer,another")
    assert code == 0
    assert [timing.case for timing in record.timings] == ["k/fewer"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([__name__, "--set", "size=3"], "unknown setting 'size'; there are units"),
        ([__name__, "--set", "units=many"], "units=many"),
        ([__name__, "--set", "units"], "is no NAME=VALUE"),
        ([__name__, "--only", "nobody"], "no kernel has such a name; they are k/right"),
        (["json"], "json offers no kernels"),
        (["no_such_module"], "there is no module no_such_module"),
    ],
)
def test_wrong_usage_is_refused(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said in a sentence, and nothing is written."""
    assert run(["kernels", *arguments, "--results", str(tmp_path)]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())

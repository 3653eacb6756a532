"""Records of bars: made by their commands until each stands, and held against those before."""

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.cli.stages import making
from seambench.cli.stages.making import words_of
from seambench.records import facts
from seambench.records.facts import machine_info, new_run
from seambench_tests.records.test_bars import two
from seambench_tests.samples.report_records import write_record

_STEADY, _NOISY = [1.0] * 7, [1.0, 1.4, 0.7, 1.2, 0.8, 1.1, 0.9]


class Machine:
    """Runs declared commands in a moment: each leaves records, as quiet as it is told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.results, self.declared = folder / "results", folder / "bars.toml"
        self.asked: list[str] = []
        self.during: dict[str, list[float]] = {}
        self.samples = 7
        runs = ""
        for name in ("one", "two"):
            sides = [f'{{ by = "{by}", case = "x", over = "{name}" }}' for by in "ab"]
            # A bar's name may hold the name of another run.
            runs += f'[[bar]]\nname = "{name} of one"\nrun = "{name}"\nat_most = 2.0\n'
            runs += f"numerator = {sides[0]}\ndenominator = {sides[1]}\n"
        commands = "".join(f'{n} = ["seambench bench --layout {n}"]\n' for n in ("one", "two"))
        self.declared.write_text(f"[run]\n{commands}{runs}")
        monkeypatch.setattr(making, "run_command", self._run)

    def _run(self, words: list[str], _: Path | None) -> int:
        name = words[words.index("--layout") + 1]
        self.asked.append(name)
        self.leave(name, self.during.get(name, []).pop(0) if self.during.get(name) else 0.0)
        return 0

    def leave(self, name: str, during: float = 0.0, slow: float = 1.5, **of_run: Any) -> None:
        """Records of a run."""
        number = f"{len(list(self.results.rglob('*.json'))):06d}"
        busy = {"waited": 0.0, "before": 0.0, "during": during}
        commit = new_run("").commit
        of_run = {"busy": busy, "commit": commit, "started_utc": "2026-11-27T10:00:00Z", **of_run}
        for one in two(number, [slow * s for s in _NOISY[: self.samples]], _STEADY, **of_run):
            built = msgspec.to_builtins(one)
            built["machine"]["name"] = machine_info().name
            for timing in built["timings"]:
                timing["over"]["name"] = name
            write_record(self.results, built)

    def ask(self, *options: str) -> Any:
        """`seambench bars` over what this machine left."""
        self.asked.clear()
        places = ["--file", str(self.declared), "--results", str(self.results)]
        return CliRunner().invoke(app, ["bars", *places, *options])


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """One without records."""
    return Machine(tmp_path, monkeypatch)


def test_what_stands_at_this_commit_is_not_run_again(machine: Machine) -> None:
    """So a run that ended early goes on where it was; older code's records do not count."""
    machine.leave("two", commit="e" * 40)
    machine.leave("one")
    assert machine.ask("--make").exit_code == 0
    assert machine.asked == ["two"]
    assert machine.ask("--make").exit_code == 0
    assert machine.asked == []
    assert machine.ask("--make", "--only", "one", "--runs", "3").exit_code == 0
    assert machine.asked == ["one", "one"]


def test_a_disturbed_run_comes_again_after_the_rest(machine: Machine) -> None:
    """At most three times; one without a figure for another reason only once."""
    machine.during = {"one": [40.0]}
    assert machine.ask("--make").exit_code == 0
    assert machine.asked == ["one", "two", "one"]
    machine.during = {"one": [40.0] * 9}
    assert machine.ask("--make", "--runs", "2", "--only", "one").exit_code == 1
    assert machine.asked == ["one"] * 3
    machine.during, machine.samples = {}, 6
    found = machine.ask("--make", "--runs", "2", "--only", "one")
    assert (found.exit_code, machine.asked) == (1, ["one"])
    assert "one: one of one: 1 of 2 runs stand" in found.output


def test_after_the_minutes_no_run_is_begun(machine: Machine) -> None:
    """What was left is named."""
    found = machine.ask("--make", "--minutes", "0")
    assert (found.exit_code, machine.asked) == (1, [])
    assert "two: 0 minutes were over before it" in found.output


def test_folders_are_those_that_were_given() -> None:
    """A folder of data below the usual one lies below the other; results go where they are held."""
    data, results = Path("/there"), Path("kept")
    line = "seambench bench --data data/one-slice --samples 7"
    assert words_of(line, data, results)[2] == "/there/one-slice"
    assert words_of(line, None, results)[2] == "data/one-slice"
    assert words_of(line, None, results)[-2:] == ["--results", "kept"]
    assert "--results" not in words_of("seambench data --scale 1", data, results)


@pytest.mark.parametrize(
    ("slow", "code", "says"),
    [
        (1.52, 0, "1 of 1 lie within each other's intervals; the intervals of 1 overlap"),
        (2.6, 1, "0 of 1 lie within each other's intervals; the intervals of 1 overlap"),
        (9.0, 1, "0 of 1 lie within each other's intervals; the intervals of 0 overlap"),
    ],
)
def test_two_runs_agree_or_differ(machine: Machine, slow: float, code: int, says: str) -> None:
    """By the two newest that stand, with each ratio in the interval of the other."""
    machine.leave("one", started_utc="2026-11-25T10:00:00Z", slow=9.0)
    machine.leave("one", started_utc="2026-11-26T10:00:00Z")
    machine.leave("one", slow=slow)
    machine.leave("one", slow=90.0, during=50.0, started_utc="2026-11-28T10:00:00Z")
    machine.leave("two")
    found = machine.ask("--again")
    says += "; 1 of 2 bars have no two runs of the same code"
    assert (found.exit_code, found.output.splitlines()[-1]) == (code, says)


def test_runs_of_other_code_or_machines_are_not_held_against_each_other(machine: Machine) -> None:
    """They differ for a reason; an older pair of the same code says what chance does."""
    machine.leave("one", started_utc="2026-11-25T10:00:00Z", commit="e" * 40)
    machine.leave("one")
    assert "two runs of the same code" in str(machine.ask("--again").exception)
    machine.leave("one", started_utc="2026-11-24T10:00:00Z", commit="e" * 40)
    found = machine.ask("--again")
    assert (found.exit_code, "1 of 1 lie within" in found.output) == (0, True)


def test_code_is_the_same_where_documents_and_tests_alone_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a commit that is not there nothing is known."""
    monkeypatch.setattr(facts, "_own_checkout", lambda: tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@y"]
    subprocess.run([*git, "init", "-q"], check=True)
    commits = []
    for number, changed in enumerate(["impl/a.py", "docs/a.md", "impl/tests/a.py", "native/a.c"]):
        (tmp_path / changed).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / changed).write_text(str(number))
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-qm", changed], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True)
        commits.append(head.stdout.decode().strip())
    same = [facts.same_code(one, other) for one, other in pairwise(commits)]
    assert same == [True, True, False]
    assert not facts.same_code(commits[0], "e" * 40)
    assert not facts.same_code(None, commits[0])


def test_one_run_alone_is_held_against_none(machine: Machine) -> None:
    """It is said what makes two."""
    machine.leave("one")
    assert "--make --runs 2" in str(machine.ask("--again").exception)


_WAITING = """
import os, time
from pathlib import Path

def kernels(folder):
    here = Path(os.environ["HERE"])
    print("begun", flush=True)
    try:
        time.sleep(600)
    finally:
        (here / "ended").touch()
"""


def test_what_is_running_ends_with_the_command_that_runs_it(tmp_path: Path) -> None:
    """SIGTERM to the one is SIGTERM to the other, which has ended what it began before both end."""
    (tmp_path / "waiting.py").write_text(_WAITING)
    declared = tmp_path / "bars.toml"
    declared.write_text(
        '[run]\none = ["seambench kernels waiting"]\n[[bar]]\nname = "a"\nrun = "one"\n'
        'numerator = { by = "a", case = "x" }\nat_most = 1.0\n'
    )
    words = ["bars", "--file", str(declared), "--make", "--results", str(tmp_path / "results")]
    folders = {"PYTHONPATH": str(tmp_path), "HERE": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "seambench.cli", *words],
        env=os.environ | folders,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"begun\n"
        one.send_signal(signal.SIGTERM)
        assert one.wait(60) == 130
    assert (tmp_path / "ended").exists()

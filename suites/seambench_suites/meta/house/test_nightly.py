"""The long run: every step runs to its end, is recorded, and is held against the run before."""

import importlib.util
import json
from pathlib import Path

import pytest

from seambase.errors import InputError
from seambench.contracts.peers.catalogue import catalogue
from seambench_suites import nightly
from seambench_suites.nightly.__main__ import main, read_steps
from seambench_suites.nightly.record import last_night

_STEPS = Path(nightly.__file__).parent / "steps.toml"
_TEST = """
import pytest
def test_right() -> None: pass
@pytest.mark.skip(reason="no engine here")
def test_skipped() -> None: pass
@pytest.mark.xfail
def test_known() -> None: assert False
"""


def test_every_step_has_a_sample_in_the_short_run() -> None:
    """What runs at night alone would be found broken at night alone.

    A step of tests runs the folder in which its sample stands.
    """
    steps = read_steps(_STEPS)
    assert len({step.name for step in steps}) == len(steps)
    for step in steps:
        sample = importlib.util.find_spec(step.sample)
        assert sample is not None, step.name
        if step.run[0] == "pytest":
            assert any(f"/{word}/" in (sample.origin or "") for word in step.run), step.name


def test_every_peer_is_asked_in_all_versions() -> None:
    """A known failure of a peer that nobody asks may be gone, or another."""
    asked = {
        (step.name.removeprefix("peers-"), word.removesuffix("@all"))
        for step in read_steps(_STEPS)
        for word in step.run
        if word.endswith("@all")
    }
    assert asked == set(catalogue())


def _steps(folder: Path, outcome: str, code: int) -> Path:
    (folder / "test_some.py").write_text(_TEST)
    said = json.dumps({"implementation": "lake", "outcome": outcome})
    program = f"import sys; print({said!r}); sys.exit({code})"
    file = folder / "steps.toml"
    file.write_text(
        "[[step]]\n"
        'name = "check"\nabout = "cases"\nsample = "json"\ntells = "outcomes"\n'
        f"run = ['python', '-c', {json.dumps(program)}]\n"
        "[[step]]\n"
        'name = "tests"\nabout = "tests"\nsample = "json"\ntells = "junit"\n'
        f"run = ['pytest', '-q', '-p', 'no:cacheprovider', '{folder / 'test_some.py'}']\n"
        "[[step]]\n"
        'name = "stuck"\nabout = "never ends"\nsample = "json"\nhours = 0.00001\n'
        "run = ['python', '-c', 'import time; time.sleep(60)']\n"
    )
    return file


def test_a_run_ends_with_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step that fails or hangs ends no other; the table says what is otherwise than before."""
    where = ["--results", str(tmp_path / "results"), "--logs", str(tmp_path / "logs")]
    for outcome, code in (("pass", 0), ("fail", 1)):
        assert main(["--steps", str(_steps(tmp_path, outcome, code)), *where]) == 1
        night = last_night(tmp_path / "results" / "nightly")
        assert night is not None
        ended = [step.ended for step in night.steps]
        assert ended == ["passed" if outcome == "pass" else "failed", "passed", "timeout"]
        if outcome == "pass":
            # Two runs within a second would have one name.
            (first,) = (tmp_path / "results" / "nightly").glob("*.json")
            first.rename(first.with_name("0.json"))
    assert night is not None
    check, tests, stuck = capsys.readouterr().out.rpartition("what changed")[2].splitlines()[1:4]
    assert "passed before; lake fail: 0 -> 1; lake pass: 1 -> 0" in check
    assert tests.endswith("  -")
    assert stuck.endswith("  -")
    assert night.steps[0].counts == {"lake fail": 1}
    assert night.steps[1].counts == {"passed": 1, "skipped": 1, "expected to fail": 1}
    assert night.steps[1].skipped == {"no engine here": 1}


def test_one_step_can_be_run_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its name; the exit code is that of the steps that ran."""
    where = ["--results", str(tmp_path / "results"), "--logs", str(tmp_path / "logs")]
    assert main(["--steps", str(_steps(tmp_path, "pass", 0)), "--only", "tests", *where]) == 0
    assert "skipped: 1 no engine here" in capsys.readouterr().out


def test_another_file_is_no_record(tmp_path: Path) -> None:
    """A file of another form is named, not taken for an empty run."""
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"x\.json: no record of a long run"):
        last_night(tmp_path)

"""The pytest plugin, run as an outsider runs it."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seambench.conformance.pytest_plugin import pytest_generate_tests

CASE = "scan/hudi/event-v9/update"


def _run(
    folder: Path, *options: str, module: str = "test_seams"
) -> subprocess.CompletedProcess[str]:
    """Run the scan conformance in a pytest of its own."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    # The plugin must come in by its entry point, or, from a bare checkout, by name.
    from importlib.metadata import entry_points

    known = any(
        point.value == "seambench.conformance.pytest_plugin"
        for point in entry_points(group="pytest11")
    )
    plugin = [] if known else ["-p", "seambench.conformance.pytest_plugin"]
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *plugin),
            *("-c", str(folder / "pytest.ini"), "--rootdir", str(folder)),
            *("--pyargs", f"seambench_suites.conformance.{module}", "--import-mode=importlib"),
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


_META = "seambench_suites.meta"


def test_failing_words_fail(tmp_path: Path) -> None:
    """Wrong rows, a crash and a hang fail the test, whose id names both sides."""
    readers = ("BaseRowsOnly", "Crashing", "Hanging")
    names = [f"{_META}.wrong_readers:{reader}" for reader in readers]
    asked = [word for name in names for word in ("--impl", f"scan={name}")]
    run = _run(tmp_path, *asked, "--case", CASE, "--case-timeout", "3")
    assert run.returncode == 1, run.stdout + run.stderr
    says = ("3 failed", "v=str:log1", "SIGABRT", "timeout: no answer in 3 s")
    for word in (*says, *(f"{name}:{CASE}" for name in names)):
        assert word in run.stdout


def test_other_words_fail_nothing(tmp_path: Path) -> None:
    """What passes, is known or is not offered is told so; the header names all with versions."""
    names = [f"{_META}.simulated:SimulatedReader", f"{_META}.wrong_readers:Excused"]
    asked = [word for name in names for word in ("--impl", f"scan={name}")]
    asked += ["--case", CASE, "--case", "scan/hudi/slices/base-only-paths", "-v"]
    run = _run(tmp_path, *asked)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed, 2 skipped, 1 xfailed" in run.stdout
    [known] = [line for line in run.stdout.splitlines() if line.startswith("XFAIL ")]
    assert f"[{names[1]}:{CASE}]" in known
    assert "not-offered: no path-per-slice" in run.stdout
    for name in names:
        assert f"seambench: scan {name} 0" in run.stdout


def test_a_reader_in_the_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script `pytest` has the folder where one stands on no path, as `python -m pytest` has."""
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    (tmp_path / "mine.py").write_text("import pyarrow as pa\ndef read(path): return pa.table({})\n")
    run = _run(tmp_path, "--impl", "scan=mine:read", module="test_xfails")
    assert "1 skipped" in run.stdout, run.stdout + run.stderr
    assert run.returncode == 0


def test_wrong_option_is_refused(tmp_path: Path) -> None:
    """An --impl without a seam is wrong usage."""
    run = _run(tmp_path, "--impl", "auto")
    assert run.returncode == 4
    assert "SEAM=NAME" in run.stdout + run.stderr


_SKIPPING = """
import pytest

def test_engine():
    pytest.skip("unavailable: no engine here")

def test_module():
    pytest.importorskip("no_such_module_at_all")

def test_compiler():
    pytest.skip("no rustc or make on this machine")

@pytest.mark.xfail(reason="unavailable: known")
def test_known():
    assert False

def test_other():
    pytest.skip("not offered: x")
"""


@pytest.mark.parametrize(
    ("may_lack", "processes", "code", "named"),
    [
        (None, "0", 0, []),
        ("", "2", 1, ["no engine here", "no_such_module_at_all", "no rustc or make"]),
        ("no rustc*; no_such*", "0", 1, ["no engine here"]),
        ("no *;no_such_module_at_all", "0", 0, []),
    ],
)
def test_what_a_machine_lacks_is_named_and_fails_where_it_must_be_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    may_lack: str | None,
    processes: str,
    code: int,
    named: list[str],
) -> None:
    """Skips for want of something are counted in a line; who wants all run names what may lack."""
    (tmp_path / "test_skipping.py").write_text(_SKIPPING)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.delenv("SEAMBENCH_MAY_LACK", raising=False)
    if may_lack is not None:
        monkeypatch.setenv("SEAMBENCH_MAY_LACK", may_lack)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines()
    [lacking] = [line for line in lines if line.startswith("not run, for lack of ")]
    wrong = [line for line in lines if line.startswith("FAILED: this machine must not lack ")]

    assert done.returncode == code, done.stdout
    assert lacking.count("(1)") == 3
    assert [word in line for line in wrong for word in named] == [True] * len(named)
    assert sum(line.count("(1)") for line in wrong) == len(named)


def test_a_mark_chooses_a_seam() -> None:
    """A test that is marked with one is put to its cases alone."""
    made: list[str] = []
    plain = "seambench_suites.meta.plain_serde:PlainSerde"
    options = {"--case": ["serde/presto/*"], "--impl": [f"serde={plain}", "scan=auto"]}
    asked: Any = SimpleNamespace(
        definition=SimpleNamespace(get_closest_marker=lambda _: SimpleNamespace(args=("serde",))),
        fixturenames=["outcome"],
        config=SimpleNamespace(getoption=options.__getitem__),
        parametrize=lambda _, pairs, **__: made.extend(pair.seam for pair in pairs),
    )
    pytest_generate_tests(asked)
    assert set(made) == {"serde"}

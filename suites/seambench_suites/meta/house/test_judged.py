"""Mistakes put into the judge: each changes its text once; one that no test finds is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import seambench
from seambench.contracts.data_files import read_toml
from seambench_suites.judged import __main__ as judged
from seambench_suites.judged.mistakes import mistakes

_TEXT = '''
LIMIT = 3

def check(rows: list[int], most: int = 4) -> bool:
    """Words stay words: 1 == 2."""
    if len(rows) > LIMIT and not rows[0]:
        raise ValueError(f"{rows} 7")
    rows.sort()
    größe = "ä" + str(rows) if rows else ""; n = rows[-1] - 1
    return n in rows
'''


def test_every_mistake_is_one_change_of_a_function() -> None:
    """Checks go, comparisons turn, numbers move by one; types, defaults and texts stay."""
    found = mistakes(_TEXT)

    assert [one.told.removeprefix("check: ") for one in found] == [
        "len(rows) > LIMIT -> (len(rows) >= LIMIT)",
        "len(rows) > LIMIT and not rows[0] -> (len(rows) > LIMIT or not rows[0])",
        "len(rows) > LIMIT and not rows[0] -> False",
        "not rows[0] -> (rows[0])",
        "0 -> 1",
        'raise ValueError(f"{rows} 7") -> pass',
        "rows.sort() -> None",
        "rows -> False",
        "rows[-1] - 1 -> (rows[-1] + 1)",
        "1 -> 2",
        "1 -> 2",
        "n in rows -> (n not in rows)",
        "n in rows -> None",
    ]
    for one in found:
        made = one.made_in(_TEXT)
        assert made != _TEXT
        compile(made, one.told, "exec")


def test_the_lists_name_what_there_is() -> None:
    """Every pattern of modules fits one, every accepted mistake can be made and has its reason."""
    package = Path(seambench.__file__).parent
    folder = Path(judged.__file__).parent
    tests = read_toml(judged._Tests, folder / "tests.toml").asked
    known = dict(judged.chosen(package, tests))
    accepted = read_toml(judged._List, folder / "accepted.toml").accepted

    for pattern in (pattern for asked in tests for pattern in asked.modules):
        assert any(Path(module).match(pattern) for module in known), pattern
    assert judged.unneeded(known, accepted) == []
    assert all(len(entry.reason.split()) > 4 for entry in accepted)
    gone = judged.Accepted("*", "no_function: 1 -> 2", "")
    assert judged.unneeded(known, [gone]) == [gone]


@pytest.mark.parametrize(("tests", "word", "code"), [("finds", "found", 0), ("sleeps", "lives", 1)])
def test_a_mistake_that_no_test_finds_fails_the_run(
    tests: str,
    word: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A test that looks finds it; one that does not lets it live, and the run says so."""
    (tmp_path / "test_finds.py").write_text(
        "from seambench.conformance.judge import _held\n"
        "def test_it() -> None:\n    assert _held(object()) == 0\n"
    )
    (tmp_path / "test_sleeps.py").write_text("def test_it() -> None:\n    pass\n")
    file = str(tmp_path / f"test_{tests}.py")
    monkeypatch.setattr(judged, "_tests_of", lambda *_: [file])
    arguments = ["--only", "conformance/judge.py", "--tell", "_held: 0 -> 1", "--count", "1"]

    assert judged.main(arguments) == code
    assert capsys.readouterr().out.startswith(f"{word}: conformance/judge.py:")

"""Mistakes put into the judge: each changes its text once; one that no test finds is told."""

import contextlib
import gc
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seambench
from seambench.contracts.data_files import read_toml
from seambench_suites.judged import __main__ as judged
from seambench_suites.judged.forked import changed, preload, put, seen
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
    assert [one.title.removeprefix("check: ") for one in found] == [
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
        compile(made, one.title, "exec")


def test_lines_behind_a_mistake_stay_at_their_places() -> None:
    """Functions are known by their lines, so that what takes several becomes as many."""
    text = (
        "def f(a, b):\n    if a(\n        b\n    ) and (b\n        or a):\n"
        "        raise ValueError(\n            b\n        )\n    return a(\n        b\n    )\n"
    )
    found = mistakes(text)
    assert {(one.line, one.statement) for one in found} == {(2, 2), (4, 2), (6, 6), (9, 9)}
    for one in found:
        made = one.made_in(text)
        compile(made, one.title, "exec")
        assert made.count("\n") == text.count("\n")


_LISTS = Path(judged.__file__).parent


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """The mistakes of every module of the judge, once for all tests."""
    tests = read_toml(judged._Tests, _LISTS / "tests.toml").asked
    return dict(judged.chosen(Path(seambench.__file__).parent, tests))


def test_the_lists_name_what_there_is(known: dict[str, Any]) -> None:
    """Every pattern of modules fits one, every accepted mistake can be made and has its reason."""
    tests = read_toml(judged._Tests, _LISTS / "tests.toml").asked
    accepted = read_toml(judged._List, _LISTS / "accepted.toml").accepted
    for pattern in (pattern for asked in tests for pattern in asked.modules):
        assert any(Path(module).match(pattern) for module in known), pattern
    assert judged.unneeded(known, accepted) == []
    assert all(len(entry.reason.split()) > 4 for entry in accepted)
    gone = judged.Accepted("*", "no_function: 1 -> 2", "")
    assert judged.unneeded(known, [gone]) == [gone]


@pytest.mark.parametrize(
    ("tests", "word", "code"), [("finds", "found", 0), ("asks", "found", 0), ("sleeps", "lives", 1)]
)
def test_a_mistake_that_no_test_finds_fails_the_run(
    tests: str,
    word: str,
    code: int,
    known: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A test that looks, here or in another process, finds it; else it lives, and that is told."""
    look = "from seambench.conformance.judge import _held\n"
    held = "assert _held(object()) == 0\n"
    (tmp_path / "test_finds.py").write_text(f"{look}def test_it() -> None:\n    {held}")
    (tmp_path / "test_asks.py").write_text(
        "import subprocess, sys\ndef test_it() -> None:\n"
        f"    subprocess.run([sys.executable, '-c', {look + held!r}], check=True)\n"
    )
    (tmp_path / "test_sleeps.py").write_text("def test_it() -> None:\n    pass\n")
    file = str(tmp_path / f"test_{tests}.py")
    monkeypatch.setattr(judged, "_tests_of", lambda *_: [file])
    package = Path(seambench.__file__).parent
    kept = lambda of, asked: known.items() if of == package and asked else ()  # noqa: E731
    monkeypatch.setattr(judged, "chosen", kept)
    arguments = ["--only", "conformance/judge.py", "--tell", "_held: 0 -> 1", "--count", "1"]
    importlib.import_module("seambench.conformance.judge")
    gc.freeze()  # as tests may have it, and objects that are frozen are not among all
    assert judged.main(arguments) == code
    [said, *_] = capsys.readouterr().out.splitlines()
    assert said.startswith(word)
    assert ": conformance/judge.py:" in said


_MADE = {"super().f() -> None": (None, [0, 1], 2), "told + [n] -> None": (KeyError, None, 2)}
_MADE["say() + 1 -> (say() - 1)"] = (KeyError, [0, 1], 0)


@pytest.mark.parametrize("text", _MADE)
def test_a_mistake_is_made_in_its_function_and_in_no_other(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it then shares with another, such as its class, or has in its first line."""
    lines = (
        "class A:\n    def f(self):\n        raise KeyError\n"
        "class B(A):\n    @property\n    def g(self):\n        super().f()\n"
        "def told(say=lambda: 1):\n    return say() + 1\n"
        "def made():\n    n, told = 1, [0]\n    def inner():\n        return told + [n]\n"
        "    return inner\n"
        "inner = made()\n"
    )
    file = tmp_path / "closed_over.py"
    file.write_text(lines)
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("closed_over")
    [one] = [one for one in mistakes(lines) if one.title.endswith(text)]
    put(changed(file, one.made_in(lines)))
    fails, inner, told = _MADE[text]
    with pytest.raises(fails) if fails else contextlib.nullcontext():
        assert made.B().g is None
    assert (made.inner(), made.told()) == (inner, told)
    sys.modules.pop("closed_over")


def test_each_statement_that_a_test_runs_is_noted(tmp_path: Path) -> None:
    """In branches, handlers and functions within, too; what does not run is not."""
    package = tmp_path / "noted_here"
    package.mkdir()
    file = package / "__init__.py"
    lines = [
        "def f(a):",
        "    'Words.'",
        "    n = 0",
        "    def inner():",
        "        nonlocal n",
        "        n = 1",
        "    if a:",
        "        inner()",
        "    else:",
        "        n = 2",
        "    try:",
        "        [].pop()",
        "    except IndexError:",
        "        n += 1",
        "    match n:",
        "        case 2:",
        "            return n",
        "    return 0",
    ]
    file.write_text("\n".join(lines) + "\n")
    test = tmp_path / "test_noted.py"
    test.write_text(
        f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nimport noted_here\n"
        "def test_it() -> None:\n    assert noted_here.f(True) == 2\n"
        "def test_wrong() -> None:\n    assert noted_here.f(False) == 2\n"
        "def test_another() -> None:\n"
        "    import subprocess\n    subprocess.run([sys.executable, '-c', ''], check=True)\n"
    )
    preload([], [str(test)])
    found = {name.rpartition("::")[2]: of for name, of in seen([str(test)], package, 60).items()}

    assert {place[1] for place in found["test_it"].places} == {3, 4, 6, 7, 8, 11, 12, 14, 15, 17}
    assert found["test_it"][2:] == (True, False)
    assert found["test_wrong"].passed is False
    assert {10, 18} <= {place[1] for place in found["test_wrong"].places}
    assert (found["test_another"].others, found["test_another"].places) == (True, frozenset())


def test_mistakes_are_drawn_from_what_a_change_touches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of the judge that differ from a commit's, as they are numbered now."""
    file = tmp_path / "harness" / "seambench" / "records" / "some.py"
    file.parent.mkdir(parents=True)
    file.write_text("a\nb\nc\nd\n")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    file.write_text("new\na\nB\nc\n")
    monkeypatch.chdir(tmp_path)
    assert judged.lines_since("HEAD") == {("records/some.py", 1), ("records/some.py", 3)}

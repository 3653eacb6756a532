"""Commands around a check: what is shown, chosen, kept, explained and linted."""

import errno
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from seambase.errors import RefusedError, UnavailableError
from seambench.cli.app import app
from seambench.cli.checks.choice import matches
from seambench.cli.checks.shown import additions, groups, likeness, show_end, show_outcomes
from seambench.conformance.load import load_cases
from seambench.contracts.formats import resolve_format
from seambench.contracts.outcomes import Difference, Outcome
from seambench.contracts.progress import Progress
from seambench.contracts.seam import Case
from seambench.seams.scan import doors
from seambench_suites.meta.house.installed import Command, command_here
from seambench_tests.formats.planting import unpacked

CHECKOUT = Path(__file__).parents[4]
STALE = "seambench_suites.demo.base_files:BaseFilesAlone"
WRONG = "scan/hudi/event-v9/update"
RIGHT = "scan/hudi/event-v9/untouched"
CHECK = (
    *("check", "--seam", "scan", "--impl", STALE, "--case", WRONG, "--case", RIGHT),
    *("--jobs", "1"),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of its own for what is remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def seambench(*arguments: object) -> Result:
    """Run one command."""
    return CliRunner().invoke(app, [str(word) for word in arguments])


def test_demo_is_what_the_readme_opens_with() -> None:
    """The README shows, word for word, what the command prints."""
    done = seambench("demo")
    assert done.exit_code == 0
    shown = "\n".join(f"    {line}".rstrip() for line in done.stdout.splitlines())
    assert shown in (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_a_failure_shows_rows_and_the_command() -> None:
    """What differs is a diff, and the line below repeats it."""
    done = seambench(*CHECK)
    assert done.exit_code == 1
    assert '- k="updated"  v="log1"  ts=6\n' in done.stdout
    assert '+ k="updated"  v="base"  ts=5\n' in done.stdout
    assert f"seambench check --seam scan --impl {STALE} --case {WRONG}\n" in done.stdout
    assert f"{STALE} {RIGHT}" not in done.stdout


class _Checked(NamedTuple):
    """What one run left."""

    lines: list[Any]
    junit: Path
    cache: Path


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> _Checked:
    """One run of both cases; whoever asks for what it remembers takes its cache."""
    folder = tmp_path_factory.mktemp("checked")
    junit, cache = folder / "out" / "junit.xml", folder / "cache"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(cache))
        done = seambench(*CHECK, "--json", "--last-failed", "--junit", junit)
    return _Checked([json.loads(line) for line in done.stdout.splitlines()], junit, cache)


def test_what_failed_last_is_asked_alone_or_first(
    checked: _Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a run the failed case is known; it stays so until it passes."""
    cache = shutil.copytree(checked.cache, tmp_path / "remembered")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    def asked(*options: str) -> list[str]:
        done = seambench(*CHECK, "--json", *options)
        return [json.loads(line)["case"] for line in done.stdout.splitlines()]

    assert [line["case"] for line in checked.lines] == [RIGHT, WRONG]
    assert asked("--failed-first") == [WRONG, RIGHT]
    assert asked("-k", "untouched or never") == [RIGHT]
    assert asked("--last-failed") == [WRONG]


def test_outcomes_as_json_hold_the_rows(checked: _Checked) -> None:
    """Rows that differ come by column, with their totals."""
    rows = {one["case"]: one["difference"] for one in checked.lines}
    assert rows[RIGHT] is None
    assert rows[WRONG] == {
        "columns": ["k", "v", "ts"],
        "missing": [['"updated"', '"log1"', "6"]],
        "unexpected": [['"updated"', '"base"', "5"]],
        "missing_rows": 1,
        "unexpected_rows": 1,
        "digest": rows[WRONG]["digest"],
    }
    assert len(rows[WRONG]["digest"]) == 12


def test_junit_has_a_case_each(checked: _Checked) -> None:
    """Build servers see the failure with its reason."""
    suite = ET.parse(checked.junit).getroot()[0]  # noqa: S314 - our own file
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == (STALE, "2", "1")
    failed = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["update"]


@pytest.mark.parametrize("place", [".", "file/x.xml"])
def test_a_place_for_junit_is_asked_before_the_run(place: str, tmp_path: Path) -> None:
    """What cannot be written is told at once, and no case is asked in vain."""
    (tmp_path / "file").write_bytes(b"")
    done = seambench(*CHECK, "--junit", tmp_path / place)
    assert isinstance(done.exception, UnavailableError)
    assert "cannot be written" in str(done.exception)
    assert done.stdout == ""


def test_a_case_is_kept_with_its_request(tmp_path: Path) -> None:
    """The table that a case reads lies there afterwards, with what a program would be asked.

    Of two that are named, words may leave one.
    """
    folder = tmp_path / "kept"
    done = seambench(*CHECK, "-k", "not untouched", "--keep", folder)
    assert done.exit_code == 1
    assert (folder / "table" / ".hoodie").is_dir()
    request = json.loads((folder / "request.json").read_text())
    assert (request["table"], request["query"]) == (str(folder / "table"), {"type": "snapshot"})
    assert "seamkit inspect" in done.output
    again = seambench("check", "--impl", STALE, "--case", WRONG, "--keep", folder)
    assert "is there already, and not empty" in str(again.exception)


def test_what_is_kept_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half of a table is left on a full disk; without the library its command is not named."""
    write, room = Path.write_text, False

    def full(path: Path, text: str, **how: Any) -> int:
        if not room and path.name == "request.json":
            raise OSError(errno.ENOSPC, "no room")
        return write(path, text, **how)

    monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr(doors, "find_spec", lambda _: None)
    ask = ("check", "--impl", STALE, "--case", WRONG, "--keep", tmp_path / "kept")
    assert "kept cannot be written: No space left" in str(seambench(*ask).exception)
    assert list(tmp_path.iterdir()) == []
    room = True
    output = seambench(*ask).output
    assert "./reader < " in output
    assert "seamkit" not in output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*CHECK, "--keep", "kept"), "--keep is for one case, but 2 are chosen"),
        ((*CHECK, "-k", "no-such-word"), "no case has 'no-such-word'"),
        ((*CHECK, "-k", "update and"), "write words with and, or, not"),
        ((*CHECK, "--pass", "invariants", "--last-failed"), "not of an extra pass"),
        (("explain", "scan/hudi/event-v9/updat"), "did you mean 'scan/hudi/event-v9/update'"),
        (("explain", "nothing"), "unknown seam 'nothing'"),
    ],
)
def test_what_cannot_be_chosen_is_said(arguments: Sequence[str], says: str) -> None:
    """One sentence, and no run."""
    done = seambench(*arguments)
    assert says in str(done.exception)
    assert done.exit_code != 0


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (WRONG, ["2. upsert", '"log-only-deleted"  "log1"  6', '"query": {"type": "snap']),
        ("scan/hudi/damage/missing-log",
         ["5. delete log:2  (damaged by hand)", "a refusal: InputError"]),
        ("serde/presto/bigint_1_rows/decode",
         ['"operation": "deserialize"', "golden/presto/bigint_1_rows.json"]),
        ("column/nested/value-matrix", ["StarRocks/starrocks#", "requirement = "]),
    ],
)  # fmt: skip
def test_explained_cases_say_all(case: str, says: Sequence[str]) -> None:
    """Rule, source, life, request, rows and the command."""
    # A file may stand for several cases.
    case = next(c.id for c in load_cases(case.partition("/")[0]) if c.id.startswith(case))
    done = seambench("explain", case, "--impl", "cmd:./mine")
    assert done.exit_code == 0
    command = f"seambench check --seam {case.partition('/')[0]} --impl cmd:./mine --case {case}"
    for text in [*says, command]:
        assert text in done.stdout


class _Case(Case):
    """A case with needs of its own."""

    def __init__(self, needs: Sequence[str]) -> None:
        super().__init__("scan/its-format/delete-of-a-row", "must", "Deletes win")
        object.__setattr__(self, "_needs", needs)

    @property
    def needs(self) -> Sequence[str]:
        """Those given."""
        needs: Sequence[str] = self.__dict__["_needs"]
        return needs


def test_additions_count_the_cases_that_a_word_opens() -> None:
    """One word that lacks alone comes first; a set counts what any part of it opens."""
    cases = [_Case(n) for n in (["a"], ["a", "b"], ["a", "b"], ["a", "b", "c"], ["a", "d"])]
    found = [(one.words, one.cases) for one in additions(cases, frozenset({"a"}))]
    assert found == [(("b",), 2), (("d",), 1), (("b", "c"), 3)]
    assert additions(cases, frozenset("abcd")) == []


def test_who_is_not_there_stands_once_with_what_it_lacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No line for each of its cases, and none in the table, unless some of them were asked."""
    names = ("one", "two", "some")
    lacking = [
        Outcome("scan", name, case, "unavailable", reason=f"{name} needs java")
        for name in names
        for case in ("c0", "c1")
    ]
    seen = [*lacking[:-1], Outcome("scan", "some", "c1", "pass")]
    with Progress("checking") as progress:
        show_end("scan", show_outcomes(seen, progress), (), {})
    said = capsys.readouterr().out
    assert "unavailable: one, two, some (1 case): needs java\n" in said
    assert said.count("one") == said.count("two") == 1
    assert re.search(r"^some +1 +1$", said, re.MULTILINE)


def test_what_was_not_offered_is_counted_by_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that tells a feature of the data is asked though its word is not stated."""
    seen = [Outcome("scan", "x", "c0", "not-offered"), Outcome("scan", "x", "c1", "fail")]
    show_end("scan", seen, [_Case(["a"]), _Case(["b"])], {"x": frozenset()})
    assert "x: 1 of 2 cases not offered" in capsys.readouterr().out


def test_failures_that_are_alike_are_one_group() -> None:
    """Numbers, names, paths and what follows on further lines do not tell them apart; words do."""
    reasons = ["no file '/a/1'", "no file '/b/22'", "another thing"]
    reasons += ["NotThere: /t/p=x%20y:1/a.parquet", "NotThere: /t/file:/u/b~c.parquet"]
    columns = (
        "col-0a1b2c3d-0000-4000-8000-00000000abcd",
        "col-FFFFFFFF-1111-4111-9111-123456789012",
    )
    reasons += [f"column {name}_x of the file is no int" for name in columns]
    reasons += [f"no column {name}" for name in columns]
    reasons += ["Unlike: schemas differ:\nk: int32", "Unlike: schemas differ:\nv: string\nw: date"]
    outcomes = [Outcome("scan", "x", f"c{n}", "fail", 0, r) for n, r in enumerate(reasons)]
    rows = Difference(["a"], [["1"]], [], 1, 0)
    outcomes.append(Outcome("scan", "x", "c3", "fail", 0, "1 row", difference=rows))
    assert [len(group.members) for group in groups(outcomes)] == [2, 2, 2, 2, 2, 1, 1]
    assert likeness(outcomes[-1]) == "rows are missing"


@pytest.mark.parametrize(
    ("expression", "held"),
    [
        ("delete", True),
        ("DELETE and win", True),
        ("delete and not win", False),
        ("nothing or its-format", True),
        ("not delete or not row", False),
    ],
)
def test_words_choose_by_id_and_rule(expression: str, held: bool) -> None:
    """`not` binds closest, then `and`, then `or`."""
    assert matches(expression, _Case([])) == held


class RefusesAll:
    """An exchange that states little, and refuses whatever it is asked."""

    name = "refuses-all"
    version = "1"
    kind = "peer"
    capabilities = dict.fromkeys(
        ("partitions.single", "transports.pass-through", "types.int"), True
    )

    def open(self, _: object) -> None:
        """Refuse."""
        raise RefusedError("no exchange is done here")


def test_whoever_is_asked_for_refusals_alone_has_no_verdict() -> None:
    """To refuse everything is right there: exit code 1, and nothing is recorded."""
    name = f"{__name__}:RefusesAll"
    done = seambench("check", "--seam", "exchange", "--impl", name, "--record")
    assert done.exit_code == 1
    assert "none that has an answer" in str(done.exception)


def test_the_most_telling_failures_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Alike ones stand together, the largest group first, and next asks for one of it."""
    crash = Outcome("scan", "mine", "scan/a/first", "crash", reason="it died")
    fails = [
        Outcome("scan", "mine", f"scan/b/{n}", "fail", reason=f"{n} rows expected")
        for n in range(5)
    ]
    lenient = Outcome("scan", "mine", "scan/c/0", "fail", reason="it is slow", level="should")
    outcomes = [lenient, crash, *fails]

    def broken_off() -> Iterator[Outcome]:
        yield from outcomes
        raise KeyboardInterrupt

    with Progress("checking") as progress:
        seen = show_outcomes(outcomes, progress)
    show_end("scan", seen, (), {})
    said = capsys.readouterr().out

    assert said.index("scan/b/0: 0 rows") < said.index("scan/b/2: 2 rows") < said.index("it died")
    assert said.index("it died") < said.index("fail (should) mine scan/c/0")
    assert "2 more are alike, such as scan/b/4" in said
    assert "explain scan/b/0" in said
    assert "the first of 5 that are alike" in said
    with pytest.raises(KeyboardInterrupt), Progress("checking") as progress:
        show_outcomes(broken_off(), progress)
    assert "it died" in capsys.readouterr().out


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command."""
    return lambda *arguments: command_here(capsys)("lint", *arguments)


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("evolution", 0, "Delta: no rule is broken"),
        ("types", 0, "4 faults of level should"),
        ("deltalake-types", 1, "must delta.stats.min-values  Delta protocol, Per-file Statistics"),
    ],
)
def test_rules(lint: Command, tmp_path: Path, name: str, code: int, says: str) -> None:
    """A right table ends with 0, what should be otherwise too, what must be otherwise with 1."""
    done = lint(unpacked(resolve_format("delta"), name, tmp_path / "t"))
    assert done.returncode == code, done.stderr
    assert says in done.stdout


def test_json(lint: Command, tmp_path: Path) -> None:
    """Each fault is a line with rule, source, place and sentence."""
    done = lint(unpacked(resolve_format("delta"), "deltalake-types", tmp_path / "t"), "--json")
    [fault] = [json.loads(line) for line in done.stdout.splitlines()]
    assert fault["rule"] == "delta.stats.min-values"
    assert fault["place"].endswith("column n38")
    assert set(fault) == {"schema", "rule", "source", "place", "says", "level"}


def test_no_table(lint: Command, tmp_path: Path) -> None:
    """What is no table is refused, with the formats that can be looked at."""
    nowhere, nothing = lint(tmp_path / "nowhere"), lint(tmp_path)
    assert (nowhere.returncode, nothing.returncode) == (2, 2)
    assert "there is no such folder" in nowhere.stderr
    assert "is no table; there are linters of delta" in nothing.stderr

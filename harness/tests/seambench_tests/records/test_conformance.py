"""Outcomes of conformance become a record: every case once, with its word, small."""

import dataclasses
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambase.errors import RefusedError
from seambench.cli.app import app
from seambench.contracts.outcomes import WORDS, Difference, Outcome
from seambench.records.conformance import conformance_of, conformance_records
from seambench.records.files import load_record, validate_tree, write_record
from seambench.records.held_forms import held_ways
from seambench.records.model import Implementation, KnownFailure
from seambench.records.writer import Recording, failures

ABOUT = Implementation(name="auto", version="1", kind="native", capabilities={})


def outcome(case: str, word: str = "pass", reason: str = "", seconds: float = 0.0) -> Outcome:
    """An outcome of the reader `auto`."""
    return Outcome("scan", "auto", case, word, seconds, reason)  # type: ignore[arg-type]


def test_every_word_is_kept_with_its_reason(tmp_path: Path) -> None:
    """What is written reads back as the outcomes that came; only `pass` has no reason."""
    came = [outcome(f"scan/a/{word}", word, "" if word == "pass" else "why") for word in WORDS]
    known = WORDS.index("xfail")
    came[known] = dataclasses.replace(came[known], known="a rule", came="crash")
    [made] = conformance_records(Recording("seambench check --record"), came)
    [part] = load_record(write_record(tmp_path, made)).conformance
    assert dict(part.cases()) == {one.case: one.outcome for one in came}
    assert set(part.reasons) == {f"scan/a/{w}" for w in WORDS if w not in ("pass", "not-offered")}
    assert part.known == {"scan/a/xfail": KnownFailure("a rule", "crash")}
    assert validate_tree(tmp_path) == []
    assert len(failures([made])) == 5


def test_which_of_several_right_answers_came_is_kept_and_told(tmp_path: Path) -> None:
    """A check says which came, its record keeps it, and `explain` names who gave it."""
    case, results = "scan/paimon/aggregation/merge-map/newest", str(tmp_path)
    command = ["check", "--impl", "auto", "--case", case, "--json", "--record"]
    checked = CliRunner().invoke(app, [*command, "--results", results])
    told = CliRunner().invoke(app, ["explain", case, "--results", results]).output.splitlines()
    other = told.index("  or as well:")
    assert json.loads(checked.stdout)["answer"] == 1
    assert [at < other for at, line in enumerate(told) if "recorded from auto" in line] == [True]


@pytest.mark.parametrize("word", ["fail", "xfail"])
@pytest.mark.parametrize("refusal", [True, False])
def test_wrong_rows_and_refusals_are_told_apart(word: str, refusal: bool) -> None:
    """A refusal harms nobody who reads it; what its sentence says decides nothing."""
    one = outcome("scan/a", word, "refused what it offers: RefusedError: no")
    part = conformance_of("scan", [dataclasses.replace(one, refusal=refusal, came="fail")])
    assert part.refused == (["scan/a"] if refusal else [])


def test_reasons_name_no_folder_of_a_machine() -> None:
    """They are published; and a long one is cut."""
    came = [outcome("a/b", "fail", "/home/me/t/f.parquet: bad"), outcome("a/c", "error", "x" * 999)]
    part = conformance_of("scan", came)
    assert part.reasons["a/b"] == "f.parquet: bad"
    assert len(part.reasons["a/c"]) == 300


def test_an_outdated_known_failure_is_the_outcome_of_its_case() -> None:
    """A case that comes twice stands once, by what came last; slow cases say their seconds."""
    came = [outcome("a/b", seconds=2.0), outcome("a/b", "error", "the entry is stale", 1.5)]
    part = conformance_of("scan", came)
    assert dict(part.cases()) == {"a/b": "error"}
    assert part.slow == {"a/b": 1.5}


def test_rows_of_wrong_answers_are_kept(tmp_path: Path) -> None:
    """What was expected and what came stand in the record; rows that fit no columns do not."""
    rows = Difference(["k", "file"], [["1", '"a"']], [["2", '"/home/me/x"']], 1, 7)
    came = [dataclasses.replace(outcome("scan/a", "fail", "1 row expected"), difference=rows)]
    [made] = conformance_records(Recording("seambench check --record"), came)
    [part] = load_record(write_record(tmp_path, made)).conformance
    assert part.differences["scan/a"].unexpected == [["2", '"x"']]
    assert part.differences["scan/a"].unexpected_rows == 7
    broken = dataclasses.replace(came[0], difference=dataclasses.replace(rows, columns=["k"]))
    [made] = conformance_records(Recording("seambench check --record"), [broken])
    with pytest.raises(RefusedError, match="the rows of scan/a do not fit its columns"):
        write_record(tmp_path, made)


def test_a_pair_stands_in_the_record_of_its_producer(tmp_path: Path) -> None:
    """Who reads whose bytes is kept by consumer, apart from what the producer does alone."""
    command = CliRunner().invoke(
        app,
        [
            *("check", "--seam", "serde", "--pass", "matrix", "--record"),
            *(
                "--impl",
                "seambench",
                "--impl",
                "arrow",
                "--case",
                "serde/arrow/presto/bigint_all_nulls/encode",
            ),
            *("--results", str(tmp_path)),
        ],
    )
    paths = sorted((tmp_path / "runs").rglob("*.json"))
    found = {
        (record.implementation.name, part.consumer and part.consumer.name): dict(part.cases())
        for record in map(load_record, paths)
        for part in record.conformance
    }
    assert command.exit_code == 0, command.output
    assert set(found) == {(a, b) for a in ("arrow", "seambench") for b in ("arrow", "seambench")}
    assert validate_tree(tmp_path) == []


def test_the_version_is_what_the_process_said_where_it_cannot_be_made_here() -> None:
    """A peer in another environment is no `unknown` in its record."""
    one = dataclasses.replace(outcome("scan/a"), implementation="elsewhere@2.1", version="2.1")
    [made] = conformance_records(Recording("seambench check --record"), [one])
    assert (made.implementation.name, made.implementation.version) == ("elsewhere@2.1", "2.1")


def test_a_pass_without_pairs_is_not_recorded(tmp_path: Path) -> None:
    """Its outcomes would stand where those of the check belong."""
    asked = ["check", "--pass", "invariants", "--impl", "auto", "--record"]
    case = ["--case", "scan/hudi/commit-v6/delete", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, [*asked, *case])
    assert "about no pairs" in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_five_thousand_cases_are_a_small_file(tmp_path: Path) -> None:
    """A record of a whole seam stays far below a megabyte."""
    came = [outcome(f"serde/presto/some_kind_of_block_{n // 6}/check-{n % 6}") for n in range(5000)]
    [made] = conformance_records(Recording("seambench check --record"), came)
    path = write_record(tmp_path, made)
    assert path.stat().st_size < 200_000
    assert json.loads(path.read_bytes())["conformance"][0]["seam"] == "scan"


def test_a_disputed_rule_fails_no_run() -> None:
    """A `should` that fails is recorded, and is no failure of the run; a crash in it is."""
    came = [outcome("a/b", "fail", "2 rows expected"), outcome("a/c", "crash", "signal 11")]
    part = conformance_of("scan", [dataclasses.replace(one, level="should") for one in came])
    [made] = [Recording("x").record(ABOUT, (), [part])]
    assert part.should == ["a/b", "a/c"]
    assert failures([made]) == ["auto: a/c: signal 11"]


def test_the_command_records_what_it_checks(tmp_path: Path) -> None:
    """`seambench check --record` leaves a sound record of every outcome it told."""
    pattern = "column/fixed/bigint/none/*"
    asked = ["check", "--seam", "column", "--impl", "offheap", "--case", pattern, "--json"]
    done = CliRunner().invoke(app, [*asked, "--record", "--results", str(tmp_path)])
    told = [json.loads(line) for line in done.stdout.splitlines()]
    [path] = (tmp_path / "runs").rglob("*.json")
    [part] = load_record(path).conformance
    assert done.exit_code == 0
    assert {one["case"]: one["outcome"] for one in told} == dict(part.cases())
    assert validate_tree(tmp_path) == []


def test_a_pass_over_varied_tables_is_counted(tmp_path: Path) -> None:
    """Forms, tables in them and answers are counted by reader and format, not kept as verdicts."""
    asked = ["check", "--pass", "forms", "--impl", "auto", "--record", "--results", str(tmp_path)]
    cases = ["#metadata-newest", "#metadata-unhinted", "#manifests-split"]
    patterns = [part for one in cases for part in ("--case", f"scan/iceberg/life/empty*{one}")]
    done = CliRunner().invoke(app, [*asked, *patterns])
    assert done.exit_code == 0, done.output
    held = json.loads((tmp_path / "forms" / "auto-iceberg.json").read_bytes())
    assert (held["format"], held["impl"], held["differences"]) == ("iceberg", "auto", 0)
    assert held["forms"] == held["variants"] == held["answers"] >= 1
    assert not (tmp_path / "runs").exists()


def test_a_pass_through_outlets_is_counted(tmp_path: Path) -> None:
    """Outlets and answers are counted, and reasons of closed ones without what tells two apart."""
    asked = ["check", "--pass", "ways", "--impl", "auto", "--record", "--results", str(tmp_path)]
    patterns = [f"scan/hive/text/rows#{outlet}" for outlet in ("to_table", "plans")]
    cases = [part for one in patterns for part in ("--case", one)]
    done = CliRunner().invoke(app, [*asked, *cases])
    assert done.exit_code == 0, done.output
    held = json.loads((tmp_path / "ways" / "auto-hive.json").read_bytes())
    assert (held["outlets"], held["answers"], held["differences"]) == (2, 2, 0)
    assert not (tmp_path / "runs").exists()


def test_a_closed_outlet_is_counted_by_its_reason() -> None:
    """What stands in brackets, or behind a colon, does not tell reasons apart."""
    reasons = ["no rows (k < 1)", "no rows (k < 2)", "no rows: of a limit"]
    came = [outcome("a/b#plans", "not-offered", one) for one in reasons]
    [held] = held_ways([*came, outcome("a/b#head", "fail", "2 rows expected")])
    assert held.closed == {"plans": {"no rows": 3}}
    assert (held.outlets, held.answers, held.differences) == (1, 1, 1)

"""A shell completes values: what there is, and nothing that a command would refuse."""

import shlex

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.conformance.load import find_case


def _completed(words: str, shell: str = "bash") -> list[str]:
    """What a shell offers for a line that is typed so far."""
    given = words.split(" ")
    variables = {
        "COMP_WORDS": "\n".join(["seambench", *given]),
        "COMP_CWORD": str(len(given)),
        "_TYPER_COMPLETE_ARGS": f"seambench {words}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_SEAMBENCH_COMPLETE": f"complete_{shell}",
    }
    done = CliRunner().invoke(app, [], env=variables, prog_name="seambench")
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.mark.parametrize(
    ("words", "offered", "not_offered"),
    [
        ("check --seam s", "serde", "exchange"),
        ("check --impl ", "auto", "spark-jvm"),
        ("check --seam serde --impl s", "spark-jvm", "spark-hudi"),
        ("check --impl hudi-rs@", "hudi-rs@all", "hudi-rs"),
        ("check --case scan/d", "scan/delta/vectors/", "scan/hudi/"),
        ("check --seam serde --pass ", "matrix", "forms"),
        ("check --finding hudi", "hudi-rs-renamed-columns", "pyiceberg-damaged-vectors"),
        ("explain sc", "scan/hudi/", "scan/"),
        ("explain serde/presto/bigint_1_rows/", "serde/presto/bigint_1_rows/decode", ""),
        ("explain scan", "scan/iceberg/", "serde/"),
        ("run --reader hudi", "hudi-rs", "auto"),
        ("run --format ", "iceberg", "csv"),
        ("data --layout ice", "iceberg-v3-event-u20-s100", "cow-v9"),
        ("bars --only q", "queries", "merge"),
        ("new scanner --lang c", "c++", "go"),
        ("peers install pyiceberg@0", "pyiceberg@0.12.0", "pyiceberg"),
        ("exchange --impl ", "grpc", "auto"),
    ],
)
def test_a_value_is_completed(words: str, offered: str, not_offered: str) -> None:
    """By the option, by the seam that was typed before, and by what was typed of it."""
    found = _completed(words)
    assert offered in found
    assert not_offered not in found


@pytest.mark.parametrize("words", ["explain nope/", "explain nope", "check --impl nobody@"])
def test_what_begins_like_nothing_is_not_completed(words: str) -> None:
    """No word, and no error in the middle of a line that is typed."""
    assert _completed(words) == []


def test_the_only_choice_is_a_whole_id() -> None:
    """A shell puts a space behind it."""
    [only] = _completed("explain scan/hudi/event-v9/all-r")
    assert find_case(only).id == only


def test_names_with_spaces_are_one_word() -> None:
    """Bash takes them with backslashes; zsh is offered none, but files as ever."""
    names = _completed("bars --only 22")
    assert [shlex.split(name) for name in names] == [
        ["22 queries, 20 % / 0 % updated, geometric mean"]
    ]
    assert _completed("bars --only 22", "zsh") == ["_files"]

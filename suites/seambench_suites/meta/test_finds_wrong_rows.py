"""Whoever breaks a rule of rows fails in every format, and the run says so and ends with 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from seambench.cli import main
from seambench.conformance.load import load_cases
from seambench.seams.scan.cases import ScanCase
from seambench_suites.meta.wrong_rows import RULES, VARIABLE

_FORMATS = ("delta", "hive", "hudi", "iceberg", "paimon")
_READER = "seambench_suites.meta.wrong_rows:BreaksARule"


def _columns(case: ScanCase) -> Iterator[list[object]]:
    """Values of each column of a case's answer."""
    return (list(column) for column in zip(*case.expected_answers()[0], strict=True))


def _has_keys(case: ScanCase) -> bool:
    first = next(_columns(case), [])
    return len({repr(value) for value in first}) == len(first) > 1


def _has_nulls(case: ScanCase) -> bool:
    return any(
        None in column and any(type(value) in (int, str) for value in column)
        for column in _columns(case)
    )


def _has_lists(case: ScanCase) -> bool:
    """Lists of several items; the entries of maps are pairs."""
    return any(
        isinstance(value, list) and len(value) > 1 and not isinstance(value[0], tuple)
        for column in _columns(case)
        for value in column
    )


def _has_numbers(case: ScanCase) -> bool:
    return any(type(value) is int for column in _columns(case) for value in column)


_NEEDS: dict[str, Callable[[ScanCase], bool]] = {
    "numbers are text": _has_numbers,
    "nulls are empty": _has_nulls,
    "items of lists are joined": _has_lists,
}


def _chosen(rule: str) -> list[str]:
    """The first case of each format that the rule says something about."""
    asks = _NEEDS.get(rule, _has_keys)
    found: dict[str, str] = {}
    for case in load_cases("scan"):
        assert isinstance(case, ScanCase)
        plain = not (case.refused or case.focus or case.request.where or case.expect.any_of)
        if plain and case.group in _FORMATS and case.group not in found and asks(case):
            found[case.group] = case.id
    return list(found.values())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_broken_is_found_in_every_format(
    rule: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case of each format fails with what is wrong; exit code 1."""
    monkeypatch.setenv(VARIABLE, rule)
    chosen = _chosen(rule)
    assert len(chosen) == len(_FORMATS)
    patterns = [word for id_ in chosen for word in ("--case", id_)]
    with pytest.raises(SystemExit) as ended:
        main(["check", "--impl", _READER, "--json", "--jobs", "1", *patterns])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert ended.value.code == 1
    assert [(one["case"], one["outcome"]) for one in found] == [(id_, "fail") for id_ in chosen]
    says = "refused what it offers" if rule == "all is refused" else "expected"
    assert all(says in one["reason"] for one in found), found


@pytest.mark.parametrize(
    ("rule", "format_"),
    [
        ("a row is lost", "delta"),
        ("a verdict is forged", "hive"),
        ("all is refused", "hudi"),
        ("nulls are empty", "iceberg"),
        ("items of lists are joined", "paimon"),
    ],
)
def test_the_reason_stands_above_all(
    rule: str, format_: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever looks at the first lines alone knows the case and what was wrong with it."""
    monkeypatch.setenv(VARIABLE, rule)
    [first] = [case for case in _chosen(rule) if case.startswith(f"scan/{format_}/")]
    with pytest.raises(SystemExit) as ended:
        main(["check", "--impl", _READER, "--case", first])
    shown = " ".join(" ".join(capsys.readouterr().out.splitlines()[:6]).split())

    assert ended.value.code == 1
    assert first.rpartition("/")[2] in shown
    assert ("refused what it offers" if rule == "all is refused" else "expected") in shown, shown

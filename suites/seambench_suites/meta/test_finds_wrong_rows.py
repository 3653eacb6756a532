"""Whoever breaks a rule of rows fails in every format, and the run says so and ends with 1."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from seambench.cli import main
from seambench.conformance import run
from seambench.conformance.isolate import Limits
from seambench.conformance.load import choose_cases, load_cases
from seambench.conformance.worker import answer_to
from seambench.contracts.registry import find_seam
from seambench.seams.scan.cases import ScanCase
from seambench_suites.meta.wrong_rows import FORGED, RULES, VARIABLE, BreaksARule

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
    """The first case of each format that must be right and to which the rule applies."""
    asks = _NEEDS.get(rule, _has_keys)
    found: dict[str, str] = {}
    for case in load_cases("scan"):
        assert isinstance(case, ScanCase)
        plain = not (case.refused or case.focus or case.request.where or case.expect.any_of)
        if (
            plain
            and case.level == "must"
            and case.group in _FORMATS
            and case.group not in found
            and asks(case)
        ):
            found[case.group] = case.id
    return list(found.values())


class _Here:
    """Stands in this process for one of the reader's own: to start fifty takes longer than to read.

    The verdict, the command, its exit code and what it prints are as ever.
    """

    version, xfails, gave_up = "0", None, False

    def __init__(self, seam: str, name: str, limits: Limits) -> None:
        del limits
        self.seam, self.name = seam, name
        self._reader = BreaksARule()
        self.capabilities = frozenset(
            word for word, has in self._reader.capabilities.items() if has
        )

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the process would answer."""
        [case] = choose_cases(load_cases(self.seam), [request["case"]])
        return answer_to(find_seam(self.seam), case, self._reader, request)

    def start(self) -> None:
        """Nothing."""

    close = interrupt = start


def _says(rule: str) -> str:
    return "refused what it offers" if rule == "all is refused" else "expected"


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != FORGED])
def test_a_rule_that_is_broken_is_found_in_every_format(
    rule: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case of each format fails, exit code 1, and the first lines say of what and why."""
    monkeypatch.setenv(VARIABLE, rule)
    monkeypatch.setattr(run, "Isolated", _Here)
    chosen = _chosen(rule)
    assert len(chosen) == len(_FORMATS)
    for case in chosen:
        with pytest.raises(SystemExit) as ended:
            main(["check", "--impl", _READER, "--case", case])
        top = " ".join(capsys.readouterr().out.splitlines()[:2])
        assert ended.value.code == 1
        assert re.search(rf"fail .*{re.escape(case)}: .*{_says(rule)}", top), top


def test_a_forged_verdict_is_found_in_every_format(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind a process of its own, whose answers a program of the reader's tries to write."""
    monkeypatch.setenv(VARIABLE, FORGED)
    chosen = _chosen(FORGED)
    assert len(chosen) == len(_FORMATS)
    patterns = [word for id_ in chosen for word in ("--case", id_)]
    with pytest.raises(SystemExit) as ended:
        main(["check", "--impl", _READER, "--json", "--jobs", "1", *patterns])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ended.value.code == 1
    assert [(one["case"], one["outcome"]) for one in found] == [(id_, "fail") for id_ in chosen]
    assert all("expected" in one["reason"] for one in found), found

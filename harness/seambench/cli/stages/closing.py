"""The end of a run: a line a reader with what was found, and what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.markup import escape

from seambase.wording import counted
from seambench.cli.shared.common import console, plain_table
from seambench.contracts.outcomes import Word

if TYPE_CHECKING:
    from seambench.records.model import Conformance, Record

_WRONG: Sequence[Word] = ("fail", "xfail")
_BROKEN: Sequence[Word] = ("error", "crash", "timeout", "xpass")


class ReaderResult(NamedTuple):
    """What was found of a reader.

    Attributes:
        cases: of conformance, by outcome.
        refused: those of the failed ones that said so.
        failed: ids of the cases that fail the run.
        answers: of the comparison, by outcome.
    """

    cases: Mapping[Word, int]
    refused: int
    failed: Sequence[str]
    answers: Mapping[Word, int]


def result_of(parts: Sequence[Conformance], record: Record | None = None) -> ReaderResult:
    """What the conformance of a reader, and the record of its times, say."""
    from seambench.contracts.outcomes import FAILING

    cases: Counter[Word] = Counter()
    failed: list[str] = []
    for part in parts:
        for case, word in part.cases():
            cases[word] += 1
            if word in FAILING and not (word == "fail" and case in part.should):
                failed.append(case)
    answers = Counter(timing.outcome for timing in record.timings) if record else Counter[Word]()
    return ReaderResult(cases, sum(len(part.refused) for part in parts), failed, answers)


def show_closing(results: Mapping[str, ReaderResult], page: Path) -> None:
    """Print the table, the page's address, and the next step."""
    timed = any(one.answers for one in results.values())
    table = plain_table(["reader"])
    titles = ("right", "wrong rows", "refused", "broken", "not offered")
    for title in (*titles, *(["timed answers"] if timed else [])):
        table.add_column(title, justify="right")
    for name, one in results.items():
        wrong = sum(one.cases.get(word, 0) for word in _WRONG) - one.refused
        broken = sum(one.cases.get(word, 0) for word in _BROKEN)
        counts = (one.cases.get("pass", 0), wrong, one.refused, broken)
        row = [*map(str, counts), str(one.cases.get("not-offered", 0))]
        if timed:
            row.append(_answers(one.answers))
        table.add_row(escape(name), *row)
    out = console()
    out.print(table)
    out.print(f"\npage: {page.resolve()}", markup=False, soft_wrap=True)
    for line in _next_steps(results):
        out.print(f"next: {line}", markup=False, soft_wrap=True)


def _answers(answers: Mapping[Word, int]) -> str:
    """How many timed answers were right; what a reader does not offer is no answer."""
    left_out = answers.get("not-offered", 0)
    text = f"{answers.get('pass', 0)} of {sum(answers.values()) - left_out} right"
    return f"{text}, {left_out} not offered" if left_out else text


def _next_steps(results: Mapping[str, ReaderResult]) -> list[str]:
    for name, one in results.items():
        if one.failed:
            case = one.failed[0]
            again = ["seambench", "check", "--seam", "scan", "--impl", name, "--case", case]
            failed = counted(len(one.failed), "case")
            return [f"{shlex.join(again)}    # of {name} fail the run: {failed}"]
    return ["seambench run --reader NAME    # your own among them; docs/doors.md says how"]

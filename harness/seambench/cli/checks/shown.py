"""Outcomes on a terminal: what failed as differences of rows, what is alike once, what to do."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.markup import escape

from seambase.command.terminal import plain_text
from seambase.wording import counted
from seambench.cli.shared.common import console, plain_table
from seambench.contracts.outcomes import Difference, Outcome
from seambench.contracts.seam import Case

if TYPE_CHECKING:
    from seambench.contracts.progress import Progress
    from seambench.contracts.seam import ShownRows

_VARIABLE = re.compile(
    # A column of Delta's column mapping is called col-UUID in files.
    r"\b(?:col-)?[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|/[^\s'\"()]+|'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|\b\d[\d.,]*\b"
)
_MOST_ADDITIONS = 5
_MOST_WORDS = 4


@dataclass
class Group:
    """Outcomes of one implementation that are alike."""

    implementation: str
    outcome: str
    likeness: str
    members: list[Outcome] = field(default_factory=list)


@dataclass(frozen=True)
class Addition:
    """Capabilities, by stating which an implementation would be put to so many cases more."""

    words: tuple[str, ...]
    cases: int


def likeness(outcome: Outcome) -> str:
    """A reason without what differs from case to case: names, numbers, rows."""
    rows = outcome.difference
    if rows is not None:
        parts = [
            word
            for word, total in (
                ("rows are missing", rows.missing_rows),
                ("rows came that should not", rows.unexpected_rows),
            )
            if total
        ]
        return " and ".join(parts)
    # What an exception says of its own data follows on further lines, or behind its first sentence.
    return _VARIABLE.sub("…", outcome.reason.partition("\n")[0])


def groups(outcomes: Iterable[Outcome]) -> list[Group]:
    """Failed outcomes by implementation, word and likeness; the largest group first."""
    found: dict[tuple[str, str, str], Group] = {}
    for one in outcomes:
        if one.failed:
            key = (one.implementation, one.outcome, likeness(one))
            found.setdefault(key, Group(*key)).members.append(one)
    return sorted(found.values(), key=lambda group: -len(group.members))


def additions(cases: Sequence[Case], stated: frozenset[str]) -> list[Addition]:
    """What stating further capabilities would add, what adds most for fewest words first.

    A case counts for the words that it still needs, and for every larger set of them.
    """
    needs = Counter(
        tuple(sorted(missing)) for case in cases if (missing := set(case.needs) - stated)
    )
    found = []
    for words in needs:
        if len(words) <= _MOST_WORDS or not stated:
            covered = sum(count for other, count in needs.items() if set(other) <= set(words))
            found.append(Addition(words, covered))
    return sorted(found, key=lambda one: (len(one.words), -one.cases, one.words))[:_MOST_ADDITIONS]


_COLOURS = {"pass": "green", "xfail": "yellow", "not-offered": "dim", "unavailable": "yellow"}
_ALIKE_SHOWN = 3
_ROWS_SHOWN = 5


def word_of(outcome: Outcome) -> str:
    """The word of an outcome; a `should` that is not met has one of its own."""
    lenient = outcome.outcome == "fail" and not outcome.failed
    return "fail (should)" if lenient else outcome.outcome


def again(outcome: Outcome, extra: Sequence[str] = ()) -> str:
    """The command that asks one case of one implementation again."""
    words = ["seambench", "check", "--seam", outcome.seam, "--impl", outcome.implementation]
    return shlex.join([*words, "--case", outcome.case, *extra])


def difference_lines(difference: Difference) -> Iterator[str]:
    """The first differing rows, marked as a diff does, in colours: `-` must come, `+` came."""
    for sign, colour, rows, total in (
        ("-", "red", difference.missing, difference.missing_rows),
        ("+", "green", difference.unexpected, difference.unexpected_rows),
    ):
        for row in rows[:_ROWS_SHOWN]:
            cells = zip(difference.columns, row, strict=True)
            text = "  ".join(f"{name}={value}" for name, value in cells)
            yield f"    [{colour}]{sign} {escape(plain_text(text))}[/]"
        if total > _ROWS_SHOWN:
            more = counted(total - min(len(rows), _ROWS_SHOWN), "more row")
            yield f"    [{colour}]{sign} ... {more}[/]"


def row_lines(shown: ShownRows) -> list[str]:
    """Rows in columns, as wide as they must be."""
    listed = [shown.columns, *shown.rows]
    widths = [max(len(row[at]) for row in listed) for at in range(len(shown.columns))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in listed
    )
    return [f"   {line.rstrip()}" for line in lines]


def show_outcomes(
    outcomes: Iterable[Outcome], progress: Progress, extra: Sequence[str] = ()
) -> list[Outcome]:
    """Show what does not go well: what is no failure as it comes, failures once all are known.

    Those that are alike stand together, the largest group first; of each only the first few, with
    the command that repeats it. What should be otherwise, but need not, comes behind them.
    """
    seen: list[Outcome] = []
    lenient: list[Outcome] = []
    times: Counter[tuple[str, str, str]] = Counter()
    red = 0
    try:
        for outcome in outcomes:
            seen.append(outcome)
            red += outcome.failed
            failed = f"; {red} failed" if red else ""
            progress.now(f"{outcome.implementation}: {outcome.case}{failed}")
            progress.advance()
            quiet = outcome.outcome in ("pass", "not-offered", "unavailable")
            if not quiet and not outcome.failed:
                key = (outcome.implementation, outcome.outcome, outcome.said)
                times[key] += 1
                if times[key] == 1 and outcome.outcome == "fail":
                    lenient.append(outcome)
                elif times[key] == 1:
                    with progress.aside():
                        _show(outcome, extra)
    finally:  # an interrupted check tells what it has
        with progress.aside():
            _show_rest(times)
            _show_unavailable(seen)
            for group in groups(seen):
                _show_group(group, extra)
            for outcome in lenient:
                _show(outcome, extra)
    return seen


def show_end(
    seam: str,
    seen: Sequence[Outcome],
    cases: Sequence[Case],
    stated: Mapping[str, frozenset[str]],
) -> None:
    """The end of a check: counts, what stating more would add, and what to do about failures.

    Without `cases` nothing is said of those that were not offered.
    """
    _show_counts(seam, seen)
    if cases:
        _show_ways_on(seam, seen, cases, stated)
    _show_next(seen)


def _show(outcome: Outcome, extra: Sequence[str]) -> None:
    out = console()
    colour = "red" if outcome.failed else _COLOURS.get(outcome.outcome, "yellow")
    reason, rows = outcome.said, outcome.difference
    if rows is not None:
        # Those of a failure follow, by themselves; one that is known is shown in short.
        reason = _without_rows(reason, outcome.outcome)
    out.print(
        f"[{colour}]{word_of(outcome)}[/] {escape(outcome.implementation)} "
        f"{escape(outcome.case)}: {escape(plain_text(reason))}",
        soft_wrap=True,
    )
    if not outcome.failed:
        return
    for line in [] if rows is None else difference_lines(rows):
        out.print(line, soft_wrap=True)
    out.print(f"    [dim]{escape(again(outcome, extra))}[/]", soft_wrap=True)


def _without_rows(reason: str, word: str) -> str:
    """What went wrong, without the rows that are named behind it."""
    short = reason.partition(": missing ")[0].partition(": unexpected ")[0]
    return f"{short})" if word == "xfail" and short != reason else short


def _show_rest(times: Mapping[tuple[str, str, str], int]) -> None:
    """How many more there are of what was shown."""
    out = console()
    for (name, word, reason), count in times.items():
        if count > 1 and word == "xfail":
            more, said = counted(count - 1, "more case"), _without_rows(reason, word)
            out.print(f"{word} {escape(name)}: {more}: {escape(said)}", soft_wrap=True)


def _show_unavailable(seen: Sequence[Outcome]) -> None:
    """What could not be asked, by what it lacks; with how many cases where it is not all."""
    lacking: dict[str, Counter[str]] = defaultdict(Counter)
    for one in seen:
        if one.outcome == "unavailable":
            lacking[one.said.removeprefix(f"{one.implementation} ")][one.implementation] += 1
    totals = Counter(one.implementation for one in seen)
    for reason, names in lacking.items():
        listed = ", ".join(
            name if count == totals[name] else f"{name} ({counted(count, 'case')})"
            for name, count in names.items()
        )
        text = f"unavailable: {listed}: {plain_text(reason)}"
        console().print(text, style=_COLOURS["unavailable"], markup=False, soft_wrap=True)


def _show_group(group: Group, extra: Sequence[str]) -> None:
    """Failures that are alike: the first few, and how many more there are."""
    for outcome in group.members[:_ALIKE_SHOWN]:
        _show(outcome, extra)
    more = len(group.members) - _ALIKE_SHOWN
    if more > 0:
        console().print(
            f"[red]{group.outcome}[/] {escape(group.implementation)}: {more} more are alike, "
            f"such as {escape(group.members[-1].case)}: {escape(plain_text(group.likeness))}",
            soft_wrap=True,
        )


def _show_counts(seam: str, seen: Sequence[Outcome]) -> None:
    """A line per implementation with how many cases came out how."""
    # Who could not be asked at all stands with what it lacks.
    there = {one.implementation for one in seen if one.outcome != "unavailable"}
    seen = [one for one in seen if one.implementation in there]
    if not seen:
        return
    words = [word for word, _ in Counter(map(word_of, seen)).most_common()]
    table = plain_table([f"{seam} seam"])
    for word in words:
        table.add_column(word, justify="right", overflow="fold")
    for name in dict.fromkeys(outcome.implementation for outcome in seen):
        counts = Counter(word_of(o) for o in seen if o.implementation == name)
        table.add_row(escape(name), *(str(counts[word]) for word in words))
    console().print(table)


def _show_ways_on(
    seam: str, seen: Sequence[Outcome], cases: Sequence[Case], stated: Mapping[str, frozenset[str]]
) -> None:
    """What each implementation did not offer, and what stating it would add."""
    out = console()
    for name, words in stated.items():
        left = sum(one.outcome == "not-offered" for one in seen if one.implementation == name)
        if not left:
            continue
        out.print(
            f"{escape(name)}: {left:,} of {counted(len(cases), 'case')} not offered; what stating "
            f"more would add (seambench list capabilities says what {seam}'s words mean):",
            soft_wrap=True,
        )
        for one in additions(cases, words):
            out.print(f"    add {escape(', '.join(one.words))}: {counted(one.cases, 'case')} more")


def _counted(group: Group) -> str:
    count = len(group.members)
    return f"{count} that are alike" if count > 1 else "them"


def _show_next(seen: Sequence[Outcome]) -> None:
    failed = [outcome for outcome in seen if outcome.failed]
    if not failed:
        return
    largest = groups(seen)[0]
    first, names = largest.members[0], {outcome.implementation for outcome in failed}
    words = ["seambench", "check", "--seam", first.seam]
    for name in sorted(names):
        words += ["--impl", name]
    out = console()
    out.print("next:")
    for line, why in (
        (
            f"seambench explain {shlex.quote(first.case)}",
            f"what the first of {_counted(largest)} wants",
        ),
        (shlex.join([*words, "--last-failed"]), "these alone, once something is mended"),
    ):
        out.print(f"    {escape(line)}    [dim]# {why}[/]", soft_wrap=True)

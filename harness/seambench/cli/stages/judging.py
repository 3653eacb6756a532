"""Bars for people: each with its figure, or two runs of each beside one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import typer
from rich.text import Text

from seambase.errors import UnavailableError
from seambench.cli.shared.common import WIDE, console, narrow_table, plain_table
from seambench.records.bars import Bar, Judged, judge, judged_runs
from seambench.records.facts import same_code
from seambench.records.model import Record
from seambench.report.draw.text import seconds, short

_STYLES = {"met": "green", "missed": "red", "no figure": "dim", "agree": "green", "differ": "red"}
#: Of so many figures two runs are to give each within the other's interval.
_ALIKE = 0.95


def show_judged(chosen: Sequence[Bar], records: Sequence[Record]) -> int:
    """Print each bar with its figure; the exit code."""
    judged = [judge(bar, records) for bar in chosen]
    rows = []
    for one in judged:
        value = "" if one.value is None else _figure(one.bar, one.value)
        source = one.source or one.reason
        rows.append((one.bar.name, value, _interval(one), _limit(one.bar), one.word, source))
    _print(("bar", "figure", "interval", "wanted", "", "of"), rows)
    words = Counter(one.word for one in judged)
    typer.echo(
        f"{words['met']} met, {words['missed']} missed, {words['no figure']} without a figure"
    )
    if all(one.value is None for one in judged):
        raise UnavailableError(
            "no bar has a figure; `seambench bars --commands` says what makes them"
        )
    return 1 if any(one.word == "missed" for one in judged) else 0


def show_again(chosen: Sequence[Bar], records: Sequence[Record]) -> int:
    """Print each ratio beside that of a run before of the same code; the exit code."""
    rows, alike, overlapping = [], 0, 0
    for bar in chosen:
        stands = [one for one in judged_runs(bar, records) if one.ratio is not None]
        pair = next((two for two in combinations(stands, 2) if _of_the_same(*two)), None)
        if pair is None:
            continue
        agree = _within(*pair) and _within(*reversed(pair))
        alike += agree
        overlapping += _overlap(*pair)
        cells = [cell for one in pair for cell in (f"{one.value:.2f}", _interval(one), one.source)]
        rows.append((bar.name, *cells, "agree" if agree else "differ"))
    if not rows:
        raise UnavailableError(
            "no bar has two runs of the same code on one machine that stand; "
            "`--make --runs 2` makes them"
        )
    left = len(chosen) - len(rows)
    _print(("bar", "figure", "interval", "of", "before", "interval", "of", ""), rows)
    typer.echo(
        f"{alike} of {len(rows)} lie within each other's intervals; "
        f"the intervals of {overlapping} overlap"
        + (f"; {left} of {len(chosen)} bars have no two runs of the same code" if left else "")
    )
    return 0 if alike >= _ALIKE * len(rows) else 1


def _of_the_same(one: Judged, other: Judged) -> bool:
    """Whether two runs measured the same code on the same machine: they differ by chance alone."""
    a, b = one.newest, other.newest
    assert a is not None
    assert b is not None
    return a.machine.name == b.machine.name and same_code(a.run.commit, b.run.commit)


def _within(one: Judged, other: Judged) -> bool:
    """Whether a figure lies in another's interval."""
    assert one.value is not None
    assert other.ratio is not None
    return other.ratio.low <= one.value <= other.ratio.high


def _overlap(one: Judged, other: Judged) -> bool:
    assert one.ratio is not None
    assert other.ratio is not None
    return one.ratio.low <= other.ratio.high and other.ratio.low <= one.ratio.high


def _figure(bar: Bar, value: float) -> str:
    """A ratio, or a time or memory in the unit that leaves three digits."""
    if bar.denominator is not None:
        return f"{value:.2f}"
    return f"{short(value)} MiB" if bar.measure == "peak_mib" else seconds(value)


def _limit(bar: Bar) -> str:
    if bar.at_most is not None:
        return f"<= {_wanted(bar, bar.at_most)}"
    assert bar.at_least is not None
    return f">= {_wanted(bar, bar.at_least)}"


def _wanted(bar: Bar, value: float) -> str:
    return f"{value:g}" if bar.denominator is not None else _figure(bar, value)


def _interval(one: Judged) -> str:
    return f"{one.ratio.low:.2f} to {one.ratio.high:.2f}" if one.ratio else ""


def _print(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """In columns, of which one without a title holds the verdict; or, on a narrow terminal, not."""
    out = console()
    if out.width < WIDE:
        narrow_table(out, (_narrow(titles, row) for row in rows))
        return
    table = plain_table(titles)
    for row in rows:
        table.add_row(*(Text(cell, _STYLES.get(cell, "")) for cell in row))
    out.print(table)


def _narrow(titles: Sequence[str], row: Sequence[str]) -> tuple[str, str, str]:
    """The verdict, the bar, and what else is known of it."""
    verdict = row[titles.index("")]
    style, cells = _STYLES[verdict], zip(titles[1:], row[1:], strict=True)
    known = ", ".join(f"{title} {cell}" for title, cell in cells if title and cell)
    if verdict == "no figure":  # the last cell is the reason, not what the figure is of
        known = known.removesuffix(f", {titles[-1]} {row[-1]}") + f"; no figure: {row[-1]}"
    return f"[{style}]{verdict}[/{style}]", row[0], known

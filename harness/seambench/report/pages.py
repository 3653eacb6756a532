"""The pages themselves: what the views hold, put into their templates."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jinja2

from seambase.wording import counted
from seambench import __version__
from seambench.contracts.common import TimedFamily
from seambench.contracts.formats import announced_formats
from seambench.contracts.registry import find_seam, library_name, resolve_suite, seams
from seambench.records.model import Implementation, Timing
from seambench.records.tables import Table, answers, load_tables
from seambench.report.draw import charts
from seambench.report.draw.lines import mark
from seambench.report.draw.text import factor, percent, seconds, size
from seambench.report.templates import template_environment
from seambench.report.views.costs import Cell, Curve, Figure, figures, title_of
from seambench.report.views.growth import growth_tables
from seambench.report.views.history import COUNTED, kernels, scans_by_commit, versions
from seambench.report.views.load import Loaded, left_out, with_figures
from seambench.report.views.matrix import matrices
from seambench.report.views.outcomes import KINDS, SAID, Column, Known, shares_of
from seambench.report.views.pairs import grids
from seambench.report.views.queries import query_tables
from seambench.report.views.random_tables import by_path, held_ways, random_tables, varied_tables
from seambench.report.views.runs import RunSet, is_of_tables, is_scan, run_sets
from seambench.report.views.slices import slice_tables
from seambench.report.views.start import RATIO, newer_of, start_of
from seambench.report.views.throughput import Family, Group, families
from seambench.report.views.vouched import by_status, findings_of, upstream, vouched
from seambench.report.views.written import written

NOTICE = "Derived from TPC-H, not comparable with published TPC-H results."

_Held = Mapping[str, Mapping[str, Any]]
"""What templates get, by what a file's name has behind the page's: nothing, or a set of runs."""


@dataclass(frozen=True)
class Pages:
    """What the pages are made of."""

    loaded: Loaded
    columns: Sequence[Column]
    known: Known  # how many cases there are today
    history: Path  # asv's folder of results
    random: Path  # what came of random tables, `results/random`
    forms: Path  # what came of tables in other forms, `results/forms`
    ways: Path  # what came through the outlets of scans, `results/ways`
    asv_pages: bool  # whether its own pages lie beside ours
    badges: Sequence[tuple[str, str]]  # file and text of each
    built: str  # when, for people


def render(pages: Pages) -> Iterator[tuple[str, str]]:
    """Every page by its file's name."""
    environment, content = _environment(pages), _Content(pages)
    for name, (_, view) in PAGES.items():
        template = environment.get_template(f"{name}.html.j2")
        for suffix, held in view(content).items():
            yield f"{name}{suffix}.html", template.render(page=name, **held)


class _Content:
    """What several pages show.

    Attributes:
        figured: records with figures; `quiet` those of a quiet machine.
        problems: results that are none, of which the last page tells.
    """

    def __init__(self, pages: Pages) -> None:
        self.pages, self.problems = pages, list(pages.loaded.problems)
        self.figured = with_figures(pages.loaded)
        self.quiet = with_figures(pages.loaded, quiet=True)
        self._known = [(name, family) for name in seams() for family in find_seam(name).timed]
        self._known.append(("judge", TimedFamily("harness", "what judging a case takes")))

    def families(self, loaded: Loaded, *, comparing: bool = False) -> list[Family]:
        """What was timed of seams."""
        return families(loaded.records, self._known, comparing=comparing)


def _start_view(content: _Content) -> _Held:
    pages = content.pages
    start = start_of(
        content.quiet.of(visitors=False),
        pages.columns,
        # Who wins is decided by the newest runs in which somebody could.
        content.families(content.quiet, comparing=True),
        pages.known,
        content.figured,
    )
    timed = content.families(content.figured)
    held = {"start": start, "machines": _machines(pages.loaded), "ratio": RATIO, "timed": timed}
    return {"": held}


def _matrix_view(content: _Content) -> _Held:
    pages, problems = content.pages, content.problems
    held = {
        "matrices": matrices(pages.columns),
        "reported": by_status(findings_of(pages.columns)),
        "vouched": vouched(pages.columns),
        "random": random_tables(pages.random, problems),
        "forms": varied_tables(pages.forms, problems),
        "ways": held_ways(pages.ways, problems),
    }
    return {"": held}


def _history_view(content: _Content) -> _Held:
    held = {
        "versions": versions(content.pages.columns),
        "scans": scans_by_commit(content.figured, RATIO),
        "kernels": kernels(content.pages.history, content.problems),
        "unit_counted": COUNTED,
        "asv": content.pages.asv_pages,
    }
    return {"": held}


def _environment(pages: Pages) -> jinja2.Environment:
    environment = template_environment()
    titles = {format_.name: format_.title for format_ in announced_formats()}
    own = {one.name for one, _ in _of_ours(pages.loaded)}
    mains = _mains(pages.loaded)
    environment.globals |= {
        "counted": counted,
        "notice": NOTICE,
        "pages": [(name, title) for name, (title, _) in PAGES.items()],
        "built": pages.built,
        "left_out": left_out(pages.loaded),
        "version": __version__,
        "kinds": KINDS,
        "words": SAID,
        "formats": titles,
        "columns": pages.columns,
        "known": pages.known,
        "records": pages.loaded.records,
        "base": "",
        "shares_of": shares_of,
        "title_of": title_of,
        "seconds": seconds,
        "factor": factor,
        "percent": percent,
        "size": size,
        "mark": mark,
        "own": own,
        "library": library_name(),
        "newer_of": newer_of,
        "folded": partial(_folded, own - mains),
        "called": partial(_called, mains),
        "heat": _heat,
        "xs_of": _xs_of,
        "cell_at": _cell_at,
        "charted": _charted,
        "by_path": by_path,
        "upstream": upstream,
        "text_of": charts.cost_text,
        "rate_text": charts.rate_text,
        "copy_text": charts.copy_text,
        "bars_of": charts.rate_bars,
        "rate_chart": charts.rate_chart,
        "history_chart": charts.history_chart,
        "size_chart": charts.size_chart,
        "writing_chart": charts.writing_chart,
        "answers_of": partial(_answers, load_tables(resolve_suite("tpch").tables)),
    }
    return environment


def _of_ours(loaded: Loaded) -> list[tuple[Implementation, Sequence[Timing]]]:
    """This project's implementations, one for each record, with what was timed."""
    records = [shown.record for shown in loaded.records]
    return [
        (one.implementation, one.timings) for one in records if one.implementation.kind != "peer"
    ]


def _mains(loaded: Loaded) -> set[str]:
    """Of this project's implementations the one of each seam that was timed the most."""
    timed: dict[str, Counter[str]] = defaultdict(Counter)
    for one, timings in _of_ours(loaded):
        for timing in timings:
            timed[timing.case.partition("/")[0]][one.name] += 1
    return {counts.most_common(1)[0][0] for counts in timed.values()}


_OWN_CLASS = re.compile(r"seambench_[\w.]+:(\w+)")
_WORDS_OF_CLASS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _called(mains: Set[str], label: str) -> str:
    """A label as pages have it: the library by its name, this project's classes without modules."""
    first, space, rest = label.partition(" ")
    own = _OWN_CLASS.fullmatch(first)
    if own:
        first = _WORDS_OF_CLASS.sub("-", own[1]).lower()
    return f"{library_name() if first in mains else first}{space}{rest}"


def _folded(ways: Set[str], names: Iterable[str]) -> list[str]:
    """Which of a table's names stand for other ways of this project's; none where all do."""
    every = list(dict.fromkeys(names))
    found = [name for name in every if name.partition(" ")[0] in ways]
    return found if len(found) < len(every) else []


def _answers(tables: Sequence[Table], one: RunSet) -> list[tuple[str, list[tuple[str, str]]]]:
    return answers(tables, [shown.record for shown in one.shown])


def _machines(loaded: Loaded) -> str:
    """How many records there are, and of which machines: a figure names its own."""
    if not loaded.records:
        return ""
    names = sorted({shown.record.machine.name for shown in loaded.records})
    newest = loaded.records[-1].record.run.started_utc[:10]
    return (
        f"{counted(len(loaded.records), 'record')}, the newest of {newest}, of "
        f"{counted(len(names), 'machine')}: {', '.join(names)}. Each figure names its own."
    )


def _by_runs(
    content: _Content,
    view: Callable[[RunSet, Sequence[RunSet]], Mapping[str, Any] | None],
    counted: Callable[[Timing], bool],
) -> _Held:
    """A page for each set of runs; the first one is the page that all others lead to."""
    known = run_sets(content.figured.records, is_of_tables, counted)
    sets = [(one, held) for one in known if (held := view(one, known)) is not None]
    if not sets:
        return {"": {"runs": None, "figures": [], "tables": []}}
    named = [(one, f"-{one.id}" if at else "") for at, (one, _) in enumerate(sets)]
    pages = {}
    for (one, held), (_, suffix) in zip(sets, named, strict=True):
        others = [(other, its) for other, its in named if other is not one]
        pages[suffix] = {"runs": one, "others": others, **held}
    return pages


def _cost_view(one: RunSet, sets: Sequence[RunSet]) -> Mapping[str, Any] | None:
    drawn = figures(one)
    if not drawn:
        return None
    labels = dict.fromkeys(curve.reader.label for figure in drawn for curve in figure.curves)
    numbers = {label: at for at, label in enumerate(labels)}
    return {
        "figures": drawn,
        "written": written(one),
        "slices": slice_tables(one),
        "growth": growth_tables(one, sets),
        "numbers": numbers,
        "chart": partial(charts.cost_chart, numbers=numbers),
        "whats": list(dict.fromkeys(figure.what for figure in drawn)),
    }


def _query_view(one: RunSet, _: Sequence[RunSet]) -> Mapping[str, Any] | None:
    tables = query_tables(one)
    return {"tables": tables} if tables else None


def _heat(ratio: float | None) -> str:
    """A style for a ratio: best, near it, far from it."""
    if ratio is None:
        return ""
    return "h0" if ratio < 1.05 else "h1" if ratio < 1.5 else "h3" if ratio > 4 else ""


def _xs_of(figure: Figure) -> list[float]:
    return sorted({cell.x for curve in figure.curves for cell in curve.cells})


def _cell_at(curve: Curve, x: float) -> Cell | None:
    return next((cell for cell in curve.cells if cell.x == x), None)


def _charted(family: Family) -> list[Group]:
    """Groups in which somebody's speed is known at three numbers of rows: two are no curve."""
    return [
        group
        for group in family.groups
        if any(
            sum(rate.bytes_per_second is not None for rate in by_rows.values()) > 2
            for by_rows in group.rates.values()
        )
    ]


PAGES: Mapping[str, tuple[str, Callable[[_Content], _Held]]] = {
    "index": ("Start", _start_view),
    "matrix": ("Every case", _matrix_view),
    "pairs": ("Pairs", lambda content: {"": {"grids": grids(content.pages.loaded.records)}}),
    "cost": ("Cost of merging", lambda content: _by_runs(content, _cost_view, is_scan)),
    "queries": (
        "Queries",
        lambda content: _by_runs(content, _query_view, lambda timing: not is_scan(timing)),
    ),
    "seams": ("Seams", lambda content: {"": {"families": content.families(content.figured)}}),
    "history": ("History", _history_view),
    "about": (
        "About",
        lambda content: {"": {"problems": content.problems, "badges": content.pages.badges}},
    ),
}
"""Title and view of each page, in the order of the menu. The last tells what went wrong before."""

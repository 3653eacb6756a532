"""Tables of figures in documents: declared as data, written from the records that stand.

    [[table]]
    name = "merge-on-read"
    document = "README.md"
    columns = ["", "base files alone", "merged", "merged / base files"]
    unit = "seconds"
    run = "merge"

    [[table.row]]
    label = "20 % updated, all columns"
    sides = [{ by = "native", case = "scan/all", over = "..." }, { by = "auto", ... }]

A document has the table between `<!-- figures: NAME -->` and `<!-- end -->`; what stands there is
the program's, and a test holds it against the records. The last column is the ratio of the second
side to the first, with its interval. A row without a record that stands says so; a table without
any row of figures says why there is none. `standing` says which records stand. A table that
has a question answers it in words, of any scale, beside the pictures of the records: `answers`.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seambench.records.bars import Bar, Declared, Side, judge, standing_run
from seambench.records.model import Record, Timing
from seambench.records.ratios import Ratio

_BLOCK = re.compile(r"<!-- figures: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
_NO_FIGURE = "no figure"


class Row(Declared, frozen=True):
    """A line: what is compared, and each side of it; the ratio is the second's to the first."""

    label: str
    sides: list[Side]
    # by somebody else, the least and the most that the ratio is
    claimed: tuple[float, float] | None = None

    def said(self, ratio: Ratio) -> str:
        """The ratio for people, and whether it is what was claimed."""
        if self.claimed is None:
            return ratio.said
        least, most = self.claimed
        word = "less than" if ratio.high < least else "more than" if ratio.low > most else "as"
        return f"{ratio.said}, {word} claimed"


class Table(Declared, frozen=True):
    """A table of a document."""

    name: str  # between the marks of the document
    document: str  # path in a checkout
    columns: list[str]  # titles: of labels, of each side, and of the ratio
    row: list[Row]
    run: str  # which of the runs of `bars.toml` makes its records
    question: str = ""  # which its rows answer, by themselves; empty: none
    # seconds, or gigabytes a second (million rows a second) of what is moved
    unit: Literal["seconds", "rate"] = "seconds"
    scale: float = 1.0  # of the rows

    def bar(self, row: Row) -> Bar:
        """The ratio of a row: of its second side to the first."""
        first, second = row.sides[:2]
        return Bar(row.label, self.run, second, first, at_most=float("inf"), scale=self.scale)


class Tables(Declared, frozen=True):
    """All tables."""

    table: list[Table]


def load_tables(path: Path) -> Sequence[Table]:
    """Read a declaration."""
    tables = Tables.read(path).table
    for table in tables:
        for row in table.row:
            if len(row.sides) != len(table.columns) - 2 or len(row.sides) < 2:
                raise InputError(f"{path}: {table.name}: {row.label!r} does not fill the columns")
    return tables


def answers(
    tables: Sequence[Table], records: Sequence[Record]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """What records that stand answer, at the largest of their scales: questions, rows, words.

    Tables without a question are passed over, as are rows that no record has. Records are oldest
    first, of runs that may be compared.
    """
    scales = [timing.over.scale for one in records for timing in one.timings]
    found = []
    for table in tables if scales else ():
        scaled = msgspec.structs.replace(table, scale=max(scales))
        judged = [(row, judge(scaled.bar(row), records).ratio) for row in table.row]
        said = [(row.label, row.said(ratio)) for row, ratio in judged if ratio is not None]
        if table.question and said:
            found.append((f"{table.question} {table.columns[-1].capitalize()}:", said))
    return found


def with_tables(text: str, tables: Mapping[str, Table], records: Sequence[Record]) -> str:
    """A document's text with its tables as the records have them now. Records are oldest first."""
    known = set(_BLOCK.findall(text))
    if known != tables.keys():
        raise UsageError(f"the document has the tables {sorted(known)}, not {sorted(tables)}")

    def again(match: re.Match[str]) -> str:
        table = tables[match[1]]
        shown = rendered(table, records)
        return f"<!-- figures: {table.name} -->\n{shown}\n<!-- end -->"

    return _BLOCK.sub(again, text)


def rendered(table: Table, records: Sequence[Record]) -> str:
    """A table in Markdown, with what its figures are of; or why there is none."""
    sources: dict[str, _Source] = {}
    lines, reasons = [], dict[str, None]()
    for row in table.row:
        cells, reason = _cells(table, row, records, sources)
        if cells is None:
            reasons[reason] = None
            cells = ["", *[""] * (len(row.sides) - 1), f"{_NO_FIGURE}: {reason}"]
        lines.append(f"| {row.label} | {' | '.join(cells)} |")
    if not sources:
        return (
            f"No figure stands: {'; '.join(reasons)}. The run `{table.run}` of `seambench bars "
            "--commands` measures it, on a quiet machine and from a clean checkout."
        )
    head = [f"| {' | '.join(table.columns)} |", "|" + "---|" * len(table.columns)]
    unit = "Seconds" if table.unit == "seconds" else "GB/s (million rows/s)"
    about = (
        f"{unit}, medians; a ratio is of samples of one round, and 95 of 100 other runs give one "
        "within its interval."
    )
    ordered = sorted(sources.values(), key=lambda one: (one.rows, one.run))
    return "\n".join([*head, *lines, "", about, *(one.said(len(table.row)) for one in ordered)])


@dataclass(frozen=True)
class _Source:
    """A run with figures of some rows, which are counted from 1 on."""

    run: str
    about: str
    rows: list[int] = field(default_factory=list)

    def said(self, count: int) -> str:
        """Names the rows where others of so many are of other runs."""
        if len(self.rows) == count:
            return f"Run {self.run} {self.about}"
        spans = itertools.groupby(enumerate(self.rows), lambda one: one[1] - one[0])
        shown = ", ".join(_span([row for _, row in span]) for _, span in spans)
        return f"Run {self.run} (row{'s' * (len(self.rows) > 1)} {shown}) {self.about}"


def _span(rows: Sequence[int]) -> str:
    return f"{rows[0]} to {rows[-1]}" if len(rows) > 1 else str(rows[0])


def _cells(
    table: Table, row: Row, records: Sequence[Record], sources: dict[str, _Source]
) -> tuple[list[str] | None, str]:
    """The cells of a row behind its label, or why it has none."""
    first, second, *others = row.sides
    bar = table.bar(row)
    run = standing_run(bar, records)
    if isinstance(run, str):
        return None, run
    judged = judge(bar, records)
    if judged.ratio is None:
        return None, judged.reason
    of_run = [one for one in records if one.run.id in {part.run.id for part in run}]
    # The bar has the second side first.
    cells = [_cell(table, first, run[1:]), _cell(table, second, run[:1])]
    cells += [_cell(table, side, of_run) for side in others]
    together = len({one.run.id for one in run}) == 1
    samples = f"{counted(judged.ratio.count, 'warm sample')} of each"
    samples += " in shuffled turns" if together else ", of which this run has one side"
    for one in run:
        busy = one.run.busy
        others_said = "" if busy is None else f", others used {busy.during:g} % of the machine"
        if busy is not None and busy.again:
            others_said += f" ({counted(busy.again, 'disturbed round')} done again)"
        about = (
            f"of {one.run.started_utc[:10]}, commit "
            f"{(one.run.commit or '?')[:8]}, {one.machine.name} ({one.machine.cpu}, "
            f"{counted(one.machine.cores, 'core')}), {samples}{others_said}."
        )
        rows = sources.setdefault(one.run.id, _Source(one.run.id, about)).rows
        if (number := table.row.index(row) + 1) not in rows:
            rows.append(number)
    return [*cells, row.said(judged.ratio)], ""


def _cell(table: Table, side: Side, records: Sequence[Record]) -> str:
    timed = [timing for one in records for timing in side.of(one, table.scale).values()]
    if not timed or not all(timing.hot for timing in timed):
        return ""
    if table.unit == "rate":
        return _rate(timed[0])
    seconds = statistics.geometric_mean([statistics.median(timing.hot) for timing in timed])
    return f"{seconds:.3g}"


def _rate(timing: Timing) -> str:
    seconds = statistics.median(timing.hot)
    gigabytes, rows = (timing.bytes or 0) / seconds / 1e9, (timing.rows or 0) / seconds / 1e6
    return f"{gigabytes:.3g} ({rows:.3g})"

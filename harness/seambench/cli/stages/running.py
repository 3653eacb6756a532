"""What `seambench run` has besides data and comparison: its plan, the quick run, its end."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.markup import escape

from seambase.errors import SeambenchError, UnavailableError
from seambase.wording import counted
from seambench.cli.shared.common import console, error_console, plain_table
from seambench.cli.shared.recording import outcomes_of, recording, write_outcomes
from seambench.contracts.outcomes import Word

if TYPE_CHECKING:
    from seambench.cli.shared.config import Chosen
    from seambench.contracts.outcomes import Outcome
    from seambench.contracts.seam import Case
    from seambench.data import PlannedDataset
    from seambench.records.model import Conformance, Record

#: Rules of thumb for two cores, which tell minutes from hours and no more: seconds to start Spark
#: for a format, seconds for a data set, and seconds more for one of scale 1.
_SPARK_SECONDS, _DATASET_SECONDS, _SCALE_SECONDS = 20.0, 12.0, 90.0


@dataclass(frozen=True)
class Planned:
    """What a run would do."""

    readers: Sequence[str]
    datasets: Sequence[PlannedDataset]  # to be made or there; none of a quick run
    scale: float
    cases: int  # of the conformance suite that each reader would meet; 0 if it is left out
    # cases that each reader would be timed at, over each data set of a table format
    timed: Sequence[str]
    runs: int  # of each of these
    results: Path  # folder of records, in which to look for how long these took before
    site: Path


def show_planned(planned: Planned, chosen: Sequence[Chosen]) -> None:
    """Print where each option came from, what the stages would do, and an estimate."""
    out = console()
    out.print("options")
    width = max(len(one.option) for one in chosen)
    for one in chosen:
        line = f"    {one.option:{width}}  {_text(one.value):24}  {one.source}"
        out.print(line, markup=False, soft_wrap=True)
    making = [one for one in planned.datasets if not one.is_there]
    tables = [one for one in planned.datasets if one.format != "parquet"]
    out.print(f"\ndata sets: {len(making)} to make, {len(planned.datasets) - len(making)} there")
    for dataset in planned.datasets:
        size = f"to make, about {dataset.size_bytes / 1e6:,.0f} MB"
        state = "there" if dataset.is_there else size
        out.print(f"    {dataset.name}  {state}", markup=False, soft_wrap=True)
    count = len(planned.readers)
    out.print(f"readers: {', '.join(planned.readers)}", markup=False, soft_wrap=True)
    readers = counted(count, "reader")
    out.print(f"conformance: up to {counted(planned.cases, 'case')} for each of {readers}")
    if planned.timed:
        out.print(
            f"comparison: {counted(len(planned.timed), 'case')} over "
            f"{counted(len(tables), 'data set')}, {counted(planned.runs, 'run')} of each "
            f"by each of {readers}",
        )
    out.print(f"page: {planned.site}", markup=False, soft_wrap=True)
    for line in _estimate(planned, making, len(tables)):
        out.print(line, markup=False, soft_wrap=True)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _estimate(planned: Planned, making: Sequence[PlannedDataset], tables: int) -> list[str]:
    """How long it takes: data by rules of thumb, all else by earlier records of these readers."""
    formats = {one.format for one in making}
    each = _DATASET_SECONDS + planned.scale * _SCALE_SECONDS
    seconds = len(formats) * _SPARK_SECONDS + len(making) * each if making else 0.0
    unknown: list[str] = []
    known = _recorded(planned)
    for reader in planned.readers:
        checked, timed = known.get(reader, (None, {}))
        if planned.cases and checked is None:
            unknown.append(f"conformance of {reader}")
        # A missing case counts as the mean of those that are known.
        mean = sum(timed.values()) / len(timed) if timed else 0.0
        if planned.timed and not timed:
            unknown.append(f"times of {reader}")
        once = sum(timed.get(case, mean) for case in planned.timed)
        seconds += (checked or 0.0) * planned.cases + once * tables * planned.runs
    lines = [f"\nestimate: about {_minutes(seconds)}, by rules of thumb and earlier records"]
    if unknown:
        lines.append(f"    not counted, as no record tells: {', '.join(unknown)}")
    return lines


def _recorded(planned: Planned) -> dict[str, tuple[float | None, dict[str, float]]]:
    """By reader: seconds of a case of conformance, and of each timed case at the plan's scale."""
    import statistics

    from seambase.errors import SeambenchError
    from seambench.records.files import load_record, record_paths

    found: dict[str, tuple[float | None, dict[str, float]]] = {}
    for path in record_paths(planned.results) if planned.results.is_dir() else ():
        try:
            record = load_record(path)
        except SeambenchError:
            continue  # `seambench report --validate` tells of it
        name = record.implementation.name
        if name not in planned.readers:
            continue
        checked, timed = found.get(name, (None, {}))
        for part in record.conformance:
            cases = sum(1 for _ in part.cases())
            if part.seam == "scan" and cases:
                checked = part.seconds / cases
        for timing in record.timings:
            if timing.case in planned.timed and timing.hot and timing.over.scale:
                ratio = planned.scale / timing.over.scale
                timed[timing.case] = statistics.median(timing.hot) * ratio
        found[name] = (checked, timed)
    return found


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


#: Cases of each table format.
_OF_EACH = 30


def to_be_had(readers: Sequence[str]) -> Sequence[str]:
    """Those of readers that are installed here, or all if none is; tells which are left out."""
    from seambench.contracts import registry

    had, lacking = list[str](), dict[str, list[str]]()
    for name in readers:
        try:
            registry.resolve("scan", name)
        except UnavailableError as error:
            lacking.setdefault(str(error).removeprefix(f"{name} "), []).append(name)
        else:
            had.append(name)
    for reason, names in lacking.items():
        said = f"left out: {', '.join(names)}: {reason}"
        error_console().print(said, markup=False, soft_wrap=True)
    return had or readers


def offered(name: str, cases: Sequence[Case]) -> list[Case]:
    """The cases whose capabilities a reader states; all of one that this machine lacks."""
    from seambench.contracts import registry

    try:
        stated = registry.resolve("scan", name).capabilities
    except SeambenchError:
        return list(cases)
    return [case for case in cases if all(stated.get(word) for word in case.needs)] or list(cases)


def quick_cases(cases: Sequence[Case]) -> list[Case]:
    """Cases of each table format, spread evenly over all that there are of it."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.group, []).append(case)
    return [
        group[number * len(group) // count]
        for group in groups.values()
        for count in [min(_OF_EACH, len(group))]
        for number in range(count)
    ]


def run_quick(readers: Sequence[str], results: Path) -> list[Outcome]:
    """Check readers in these cases, and write a record of each."""
    run = recording()
    seen = outcomes_of(readers, lambda name, cases: quick_cases(offered(name, cases)))
    write_outcomes(run, seen, results)
    return seen


_WRONG: Sequence[Word] = ("fail", "xfail")
_BROKEN: Sequence[Word] = ("error", "crash", "timeout", "xpass")


class ReaderResult(NamedTuple):
    """What was found of a reader."""

    cases: Mapping[Word, int]  # of conformance, by outcome
    refused: int  # those of the failed ones that said so
    failed: Sequence[str]  # ids of the cases that fail the run
    answers: Mapping[Word, int]  # of the comparison, by outcome


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

"""What commands that check write down: a record of each implementation's outcomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seambench.cli.shared.common import error_console, typed

if TYPE_CHECKING:
    from seambench.bench.unfinished import Unfinished
    from seambench.contracts.outcomes import Outcome
    from seambench.contracts.seam import Case
    from seambench.records.model import Conformance
    from seambench.records.writer import Recording


def recording() -> Recording:
    """The run of the command that was typed, from now on."""
    from seambench.records.writer import Recording

    return Recording(typed())


def write_outcomes(
    run: Recording, outcomes: Sequence[Outcome], results: Path, tables: Path | None = None
) -> None:
    """Write a record for each implementation that was asked, with what was kept of its tables."""
    from seambench.records.conformance import conformance_records
    from seambench.records.files import write_record
    from seambench.records.misread import keep

    for one in conformance_records(run, outcomes):
        written = write_record(results, one)
        if tables is not None:
            keep(tables / one.implementation.name, written)
        error_console().print(f"recorded: {written}", markup=False)


def write_varied(cases: Sequence[Case], outcomes: Sequence[Outcome], results: Path) -> bool:
    """Write counts of a pass over varied cases, by implementation and group; whether it has any."""
    from seambench.records.held_forms import held_forms, held_ways, write_held

    found = held_forms(cases, outcomes) or held_ways(outcomes)
    for one in found:
        error_console().print(f"recorded: {write_held(results, one)}", markup=False)
    return bool(found)


def check_readers(
    readers: Sequence[str], unfinished: Unfinished | None = None
) -> list[tuple[str, Conformance]]:
    """The conformance of readers, for the records of a comparison; each by its name."""
    import msgspec

    from seambench.records.conformance import conformance_of
    from seambench.records.model import Conformance

    found: list[tuple[str, Conformance]] = []
    for name in readers:
        before = None if unfinished is None else unfinished.get(f"conformance {name}")
        if before is not None:
            found.append((name, msgspec.convert(before, Conformance)))
            continue
        part = conformance_of("scan", outcomes_of([name]))
        if unfinished is not None:
            unfinished.put(f"conformance {name}", msgspec.to_builtins(part))
        found.append((name, part))
    return found


def outcomes_of(
    readers: Sequence[str], narrow: Callable[[str, list[Case]], list[Case]] | None = None
) -> list[Outcome]:
    """What becomes of the chosen cases of the scan seam, in processes for every core."""
    from seambench.conformance.isolate import Limits, memory_share
    from seambench.conformance.run import Run
    from seambench.contracts.progress import Progress

    jobs = len(os.sched_getaffinity(0))
    limits = Limits(memory_bytes=memory_share(jobs))
    run = Run("scan", readers, limits=limits, jobs=jobs, narrow=narrow)
    seen = []
    with Progress("checking the readers") as progress:
        progress.plan(sum(len(cases) for _, cases in run.assigned()))
        for outcome in run.check():
            progress.now(f"{outcome.implementation}: {outcome.case}")
            progress.advance()
            seen.append(outcome)
    return seen

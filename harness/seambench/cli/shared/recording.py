"""What commands that check write down: a record of each implementation's outcomes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seambench.cli.shared.common import error_console

if TYPE_CHECKING:
    from seambench.contracts.outcomes import Outcome
    from seambench.records.model import Conformance
    from seambench.records.writer import Recording

__all__ = ["check_readers", "recording", "write_outcomes"]


def recording() -> Recording:
    """The run of the command that was typed, from now on."""
    from seambench.records.writer import Recording

    return Recording(shlex.join(["seambench", *sys.argv[1:]]))


def write_outcomes(run: Recording, outcomes: Sequence[Outcome], results: Path) -> None:
    """Write a record for each implementation that was asked.

    Args:
        run: in which they were.
        outcomes: what came of it.
        results: folder of the records.
    """
    from seambench.records.conformance import conformance_records
    from seambench.records.files import write_record

    for one in conformance_records(run, outcomes):
        error_console().print(f"recorded: {write_record(results, one)}", markup=False)


def check_readers(readers: Sequence[str]) -> list[tuple[str, Conformance]]:
    """The conformance of readers, for the records of a comparison; each by its name."""
    from seambench.conformance.run import Run
    from seambench.records.conformance import conformance_of

    outcomes: dict[str, list[Outcome]] = {}
    with error_console().status("checking the readers") as status:
        for outcome in Run("scan", readers).check():
            status.update(f"{outcome.implementation}: {outcome.case}")
            outcomes.setdefault(outcome.implementation, []).append(outcome)
    return [(name, conformance_of("scan", found)) for name, found in outcomes.items()]

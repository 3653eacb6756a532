"""One case in full, and what it reads left in a folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from seambase.errors import UsageError
from seambench.contracts.registry import find_seam
from seambench.contracts.seam import Case, Section

__all__ = ["explain_case", "keep_case"]


def explain_case(case: Case, implementation: str) -> list[Section]:
    """The rule, where it comes from, what is asked, what must come, how to ask it.

    Args:
        case: the case.
        implementation: name for the command that is told.
    """
    rule = [case.requirement]
    if case.level == "should":
        rule.append("level should: both readings have defenders, and a wrong answer fails no run")
    command = ["seambench", "check", "--seam", case.seam, "--impl", implementation]
    alone = shlex.join([*command, "--case", case.id])
    return [
        Section("rule", rule),
        *([Section("source", case.sources)] if case.sources else []),
        Section("put to whoever states", [", ".join(case.needs) or "nothing"]),
        *find_seam(case.seam).explain(case),
        Section("alone", [alone, f"{alone} --keep DIR    # and leaves what it reads there"]),
    ]


def keep_case(cases: Sequence[Case], folder: Path) -> Sequence[str]:
    """Leave what a single case reads in a new folder.

    Returns:
        What can be done with it: a line for each.

    Raises:
        UsageError: more than one case, a folder that is there and not empty, or see `Seam.keep`.
    """
    if len(cases) != 1:
        raise UsageError(
            f"--keep is for one case, but {len(cases):,} are chosen: name it by --case"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and not empty")
    [case] = cases
    if folder.is_dir():
        folder.rmdir()
    return find_seam(case.seam).keep(case, folder)

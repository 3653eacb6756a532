"""`seambench run --quick`: answers over golden tables alone; no Spark, no data sets, no times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seambase.errors import SeambenchError, UnavailableError
from seambench.cli.shared.common import error_console
from seambench.cli.shared.recording import outcomes_of, recording, write_outcomes

if TYPE_CHECKING:
    from seambench.contracts.outcomes import Outcome
    from seambench.contracts.seam import Case

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

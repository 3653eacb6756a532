"""Every case again through every outlet of its scans, under all settings; a closed outlet says why.

A case through an outlet is called `ID#OUTLET`. Through it the newest state of a table is asked for
under every setting, other questions under as many that each two settings come together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seambench.conformance.judge import missing_capability
from seambench.contracts.outcomes import NotOffered, Outcome
from seambench.contracts.scan import Scanner
from seambench.contracts.seam import PassRun
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import unpacked
from seambench.seams.scan.ways import OUTLETS, all_ways, hold_way, pairwise

_MARK = "#"


def through_outlets(cases: Sequence[ScanCase]) -> list[ScanCase]:
    """Cases that expect all rows of what they ask for, once an outlet."""
    return [
        replace(case, id=f"{case.id}{_MARK}{outlet}")
        for case in cases
        if not case.refused and not case.request.where
        for outlet in OUTLETS
    ]


def check_ways(case: ScanCase, scanner: Scanner, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask for a case's rows through the outlet that the request names, under many settings.

    `closed` is why no setting opens the outlet; the empty text where one does.
    """
    if missing := missing_capability(case, scanner.capabilities):
        raise NotOffered(f"no {missing}")
    ways = pairwise() if case.one_of_many else all_ways()
    with unpacked(case, scanner) as asked:
        chosen = [way for way in ways if way.outlet == request["outlet"]]
        reasons = [hold_way(scanner, asked, way, case.id) for way in chosen]
    closed = [reason for reason in reasons if reason]
    return {"closed": closed[0] if len(closed) == len(reasons) else ""}


def vary_ways(run: PassRun) -> Iterator[Outcome]:
    """Put every case to every reader through each outlet, but for those that are closed."""
    for name in run.implementations:
        for case in run.cases:
            plain, _, outlet = case.id.partition(_MARK)
            answer = run.ask(name, "ways", replace(case, id=plain), {"outlet": outlet})
            if reason := answer.get("closed"):
                answer = {**answer, "outcome": "not-offered", "reason": reason}
            yield run.outcome(name, case, answer)

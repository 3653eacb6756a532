"""Who vouches for the expectation of a case: an engine, another's reader, a specification, or us.

A case that only this project's own implementations pass may hold a mistake of this project.

Defects that are reported: on the page with what is known of them upstream.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seambase.errors import SeambenchError
from seambench.conformance.load import load_cases
from seambench.contracts.findings import Finding, read_findings
from seambench.report.views.outcomes import Column, group_of

#: What `Case.witness` says where the text of a specification is all there is.
SPECIFICATION = "specification"


@dataclass(frozen=True)
class Vouched:
    """The cases of a group, each counted for the first that vouches for it."""

    seam: str
    group: str
    cases: int
    engine: int  # an engine's own answer or bytes were recorded
    reader: int  # somebody else's implementation passes it
    specification: int  # a specification's text alone
    alone: int  # nobody but this project


def vouched(columns: Sequence[Column]) -> list[Vouched]:
    """Who vouches for the installed cases of each seam, by group."""
    found = []
    for seam in dict.fromkeys(column.seam for column in columns):
        peers = right_peers([column for column in columns if column.seam == seam])
        groups: dict[str, Counter[str]] = {}
        with contextlib.suppress(SeambenchError):
            for case in load_cases(seam):
                word = "reader" if peers.get(case.id) else "alone"
                if case.witness == SPECIFICATION and word == "alone":
                    word = "specification"
                elif case.witness not in ("", SPECIFICATION):
                    word = "engine"
                groups.setdefault(group_of(case.id), Counter())[word] += 1
        for group, counts in sorted(groups.items()):
            words = (counts[w] for w in ("engine", "reader", "specification", "alone"))
            found.append(Vouched(seam, group, counts.total(), *words))
    return found


def right_peers(columns: Sequence[Column]) -> dict[str, list[str]]:
    """By case of one seam the implementations of others that pass it, in some version."""
    found: dict[str, list[str]] = {}
    for column in columns:
        if column.is_peer:
            for case, seen in column.outcomes.items():
                if seen.kind == "right" and column.name not in found.setdefault(case, []):
                    found[case].append(column.name)
    return found


_TITLES = {
    "open": "Open in the newest release",
    "mended on main": "Mended on the main branch, not released yet",
    "history": "History: the newest release is right",
}


def findings_of(columns: Sequence[Column]) -> list[Finding]:
    """Those of the systems that were asked; none where a file of them is broken."""
    known = {(column.seam, column.name) for column in columns}
    with contextlib.suppress(SeambenchError):
        return [one for one in read_findings() if (one.seam, one.peer) in known]
    return []


def upstream(finding: Finding) -> list[str]:
    """Issues and the change that mends it, as `owner/repository 12`: the pages name no host."""
    links = [*finding.upstream, *([finding.mended] if finding.mended else [])]
    return [re.sub(r"https://[^/]+/(.+)/(?:issues|pull)/", r"\1 ", link) for link in links]


def by_status(listed: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Findings by what became of them, each kind in the order of their files."""
    kinds = [
        (title, [one for one in listed if one.status == word]) for word, title in _TITLES.items()
    ]
    return [(title, found) for title, found in kinds if found]


def reported_cases(column: Column, listed: Sequence[Finding]) -> Mapping[str, Mapping[str, Any]]:
    """By case of a column the finding that it belongs to: its own case, or one that fails alike."""
    found: dict[str, Mapping[str, Any]] = {}
    for one in reversed(listed):  # of two about one case the more harmful is shown
        if (one.seam, one.peer) != (column.seam, column.name) or column.version not in one.shows:
            continue
        own = column.outcomes.get(one.case)
        for case, seen in column.outcomes.items():
            if seen.kind not in ("right", "off") and (
                case == one.case or (own and own.known and seen.known == own.known)
            ):
                found[case] = {"name": one.name, "title": one.title} | {
                    "status": one.status,
                    "upstream": upstream(one),
                }
    return found

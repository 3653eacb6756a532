"""Who vouches for the expectation of a case: an engine, another's reader, a specification, or us.

A case that only this project's own implementations pass may hold a mistake of this project.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from seambase.errors import SeambenchError
from seambench.conformance.load import load_cases
from seambench.report.views.outcomes import Column, group_of

#: What `Case.witness` says where the text of a specification is all there is.
SPECIFICATION = "specification"


@dataclass(frozen=True)
class Vouched:
    """The cases of a group, each counted for the first that vouches for it.

    Attributes:
        engine: an engine's own answer or bytes were recorded.
        reader: somebody else's implementation passes it.
        specification: a specification's text alone.
        alone: nobody but this project.
    """

    seam: str
    group: str
    cases: int
    engine: int
    reader: int
    specification: int
    alone: int


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
            for case, (kind, _) in column.outcomes.items():
                if kind == "right" and column.name not in found.setdefault(case, []):
                    found[case].append(column.name)
    return found

"""Cases as the page explains them, and what everybody made of them: data of the matrix."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from seambase.errors import SeambenchError
from seambench.conformance.load import load_cases
from seambench.contracts.findings import Finding
from seambench.contracts.registry import find_seam, library_name
from seambench.report.views.outcomes import Column, group_of, unfolded
from seambench.report.views.vouched import findings_of, reported_cases, right_peers


@dataclass
class Explained:
    """The installed cases of a seam."""

    seam: str
    title: str = ""
    rules: dict[str, str] = field(default_factory=dict)  # by case, what must hold
    # by group of cases, their explanations by id; equal definitions stand once, by file
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)


def explained(seam: str, columns: Sequence[Column]) -> Explained:
    """Explain the cases of a seam that are installed here; of others only the id is known."""
    found = Explained(seam, seam)
    names = {case for column in columns for case in column.outcomes}
    peers = right_peers(columns)
    with contextlib.suppress(SeambenchError):
        about = find_seam(seam)
        found.title = about.title
        for case in load_cases(seam):
            if case.id in names:
                said = {k: v for k, v in asdict(about.explain(case)).items() if v}
                found.rules[case.id] = case.requirement
                part = found.parts.setdefault(group_of(case.id), {"cases": {}, "definitions": {}})
                if "definition" in said:
                    part["definitions"][said["file"]] = said.pop("definition")
                vouched = [*([case.witness] if case.witness else []), *peers.get(case.id, ())]
                more = {"level": case.level, "needs": list(case.needs), "vouched": vouched}
                part["cases"][case.id] = {**said, **more}
    return found


def outcome_parts(columns: Sequence[Column], said: Explained) -> Mapping[str, Any]:
    """Every outcome of a seam, for the page's script.

    Cases are listed once; a column names them by number. Rules likewise.
    """
    cases = sorted({case for column in columns for case in column.outcomes})
    number = {case: at for at, case in enumerate(cases)}
    rules = list(dict.fromkeys(said.rules.get(case, "") for case in cases))
    listed, first = findings_of(columns), unfolded(columns)
    at_rule = {rule: at for at, rule in enumerate(rules)}
    return {
        "seam": said.seam,
        "title": said.title,
        "explained": sorted(said.parts),
        "cases": cases,
        "rules": rules,
        "ruleOf": [at_rule[said.rules.get(case, "")] for case in cases],
        "columns": [
            {
                **_column(column, number, listed),
                "first": column in first,
                "called": column.name if column.is_peer or column not in first else library_name(),
            }
            for column in columns
        ],
    }


def _column(
    column: Column, number: Mapping[str, int], listed: Sequence[Finding]
) -> Mapping[str, Any]:
    words: dict[str, list[int]] = {}
    for case, seen in column.outcomes.items():
        words.setdefault(f"{seen.kind} {seen.word}", []).append(number[case])
    by_number = {number[case]: seen for case, seen in column.outcomes.items()}
    links = list(dict.fromkeys(seen.link for seen in by_number.values()))
    at_link = {link: at for at, link in enumerate(links)}
    return {
        "key": column.key,
        "name": column.name,
        "asked": column.named_as,
        "version": column.version,
        "about": column.about,
        "date": column.date,
        "missing": column.missing,
        "reported": {number[c]: one for c, one in reported_cases(column, listed).items()},
        "links": links,
        # Most outcomes are from the newest record: the others say which.
        "linkOf": {
            at: at_link[seen.link] for at, seen in by_number.items() if seen.link != column.link
        },
        "link": column.link,
        "outcomes": words,
        "reasons": {at: seen.reason for at, seen in by_number.items() if seen.reason},
        "known": {at: seen.known for at, seen in by_number.items() if seen.known},
        "differences": {
            at: msgspec.to_builtins(seen.difference)
            for at, seen in by_number.items()
            if seen.difference
        },
        "earlier": {
            at: [asdict(one) for one in seen.earlier]
            for at, seen in by_number.items()
            if seen.earlier
        },
    }

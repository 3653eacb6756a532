"""What must hold for every scan case without knowing the right rows: a second pass over the suite.

However a reader is asked, the rows are the same: in small batches or one big one, by one thread or
four, some columns at a time, filtered by it or afterwards (by conditions that the case's name
decides), counted or read; through which outlet, the pass `ways` asks. And whichever
reader is asked: the connector path and the merge path, through the metadata table or a listing,
with record positions or by key. Cases say themselves that compaction, log compaction and archiving
change nothing, by expecting the same rows.

Every case again through every outlet of its scans, under all settings; a closed outlet says why. A
case through an outlet is called `ID#OUTLET`. Through it the newest state of a table is asked for
under every setting, other questions under as many that each two settings come together.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from seambase.errors import RefusedError
from seambench.conformance.judge import missing_capability
from seambench.conformance.plain import canonical
from seambench.contracts.outcomes import NotOffered, Outcome
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.contracts.seam import PassRun
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import (
    Rows,
    literal,
    query_dataset,
    query_table,
    read_rows,
    same_rows,
    unpacked,
)
from seambench.seams.scan.conditions import conditions, extremes, in_sql
from seambench.seams.scan.ways import OUTLETS, all_ways, hold_way, pairwise

_CONDITIONS = 12
#: Tables of thousands of columns are asked for those of the first.
_MOST_EXTREMES = 100
_WAYS: Mapping[str, Callable[[ScanRequest], ScanRequest]] = {
    "one row at a time": lambda request: replace(request, batch_rows=1),
    "a million rows at a time": lambda request: replace(request, batch_rows=1_000_000),
    "one thread": lambda request: replace(request, threads=1),
    "four threads": lambda request: replace(request, threads=4),
}


def hold_invariants(case: ScanCase, scanner: Scanner) -> str:
    """Ask for a case's rows in every way; a digest of them as a multiset."""
    missing = missing_capability(case, scanner.capabilities)
    if missing or case.refused:
        raise NotOffered(f"no {missing}" if missing else "a refusal is expected")
    with unpacked(case, scanner) as request:
        names = case.names
        rows = read_rows(scanner, request)
        for what, way in _WAYS.items():
            same_rows(what, rows, read_rows(scanner, way(request)), names)
        if request.where is None:
            _hold_projections(scanner, request, rows, names)
            if rows:
                _hold_conditions(scanner, request, case.id)
    lines = sorted("\t".join(canonical(value) for value in row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _hold_projections(
    scanner: Scanner, request: ScanRequest, rows: Rows, names: Sequence[str]
) -> None:
    """Each column alone, and none at all; then each column where another has its first value."""
    for at, name in enumerate(names):
        want = [(row[at],) for row in rows]
        have = read_rows(scanner, replace(request, columns=[name]))
        same_rows(f"column {name} alone", want, have, [name])
    counted = read_rows(scanner, replace(request, columns=[]))
    same_rows("no columns", [() for _ in rows], counted, [])
    if not rows or not scanner.capabilities.get("pushdown"):
        return
    scan = scanner.open(request)
    for at, name in enumerate(names):
        value = rows[0][at]
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            continue
        condition = f'"{name}" = {literal(value)}'
        other = (at + 1) % len(names)
        want = [(row[other],) for row in rows if row[at] == value]
        have = query_dataset(scan, [names[other]], condition)
        same_rows(f"{names[other]} where {condition}", want, have, [names[other]])


def _hold_conditions(scanner: Scanner, request: ScanRequest, seed: str) -> None:
    """Conditions over the table's own values: pushed down they leave what DuckDB leaves of it.

    A reader that filters by itself is asked fewer, for each is a read; it may refuse one by name.
    """
    stated = scanner.capabilities
    if not (stated.get("pushdown") or stated.get("where")):
        return
    scan = scanner.open(request)
    whole, names = scan.to_reader().read_all(), scan.schema.names
    some = [*conditions(whole, seed, _CONDITIONS)]
    bounds = [*itertools.islice(extremes(whole), _MOST_EXTREMES)]
    if stated.get("pushdown"):
        relation = bool(stated.get("relation"))
        for condition in map(in_sql, [*some, *bounds]):
            have = query_dataset(scan, names, condition, relation=relation)
            same_rows(f"where {condition}", query_table(whole, condition), have, names)
    if stated.get("where"):
        for condition in map(in_sql, [*some, *bounds[:_CONDITIONS]]):
            with suppress(RefusedError):
                have = read_rows(scanner, replace(request, where=condition))
                same_rows(f"where {condition}", query_table(whole, condition), have, names)


def compare_readers(run: PassRun) -> Iterator[Outcome]:
    """Hold every case's invariants for every implementation, then compare their rows.

    Behind their outcomes comes a `fail` for each case where implementations that answered do not
    agree, under the name `A = B`.
    """
    digests: dict[str, dict[str, str]] = {}
    for name in run.implementations:
        for case in run.cases:
            answer = run.ask(name, "invariants", case, {})
            yield run.outcome(name, case, answer)
            if "digest" in answer:
                digests.setdefault(case.id, {})[name] = answer["digest"]
    for case in run.cases:
        own = digests.get(case.id, {})
        first, *others = own or [""]
        for other in others:
            if own[other] != own[first]:
                answer = {"outcome": "fail", "reason": "the two hand out different rows"}
                yield run.outcome(f"{first} = {other}", case, answer)


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
    ways = pairwise() if case.rows_only else all_ways()
    with unpacked(case, scanner) as whole:
        chosen = [way for way in ways if way.outlet == request["outlet"]]
        reasons = [hold_way(scanner, whole, way, case.id) for way in chosen]
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

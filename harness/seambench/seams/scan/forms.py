"""Every case again over its table in other physical forms: the same rows must come.

A form is a way in which a table's files could as well have been written: row groups of one row,
manifests split, columns in another order (`seambench.contracts.tables.Form`). What must come is
what the case says, never what a reader made of the table as it was. A case in a form is called
`ID#FORM`; of a reader that fails the case itself it is not asked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from seambench.conformance.judge import missing_capability
from seambench.contracts.outcomes import Mismatch, NotOffered, Outcome
from seambench.contracts.scan import Scanner
from seambench.contracts.seam import PassRun
from seambench.contracts.tables import CommitRequest
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import check_scan, unpacked

_MARK = "#"
#: One in so many reads of a newest state is done in every way (batches, columns, filters).
_WAYS_OF = 4
#: Types of the columns of tables as they stand, by reader and case.
_TYPES: dict[tuple[str, str], list[str]] = {}


def varied(cases: Sequence[ScanCase]) -> list[ScanCase]:
    """Cases that expect rows of an undamaged table, in each form of its format, by table.

    Of a table with many questions two are put to each form: that for its newest state, if there is
    one, and another; the others take turns from form to form.
    """
    whole = [case for case in cases if not case.refused and not case.edits]
    whole.sort(key=lambda case: (case.group, case.table.spec.name, not _is_newest(case)))
    forms = {case.group: case.table.format.known_forms() for case in whole}
    found = []
    for _, same in groupby(whole, key=lambda case: case.table.folder):
        first, *others = same
        for number, form in enumerate(forms[first.group]):
            turn = others[number % len(others) :][:1] if others else []
            found += [
                replace(
                    case,
                    id=f"{case.id}{_MARK}{form.name}",
                    form=form.name,
                    extra_needs=[*case.extra_needs, *form.needs],
                )
                for case in (first, *turn)
            ]
    return found


def _is_newest(case: ScanCase) -> bool:
    return case.request == CommitRequest()


def check_form(case: ScanCase, scanner: Scanner, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put a case to a reader over the table in the form that the request names; empty for none."""
    needs = case.table.format.form(request["form"]).needs if request["form"] else ()
    case = replace(case, form=request["form"], extra_needs=[*case.extra_needs, *needs])
    if missing := missing_capability(case, scanner.capabilities):
        raise NotOffered(f"no {missing}")
    with unpacked(case, scanner) as whole:
        types = [str(field.type) for field in scanner.open(replace(whole, where=None)).schema]
    if not case.form:
        _TYPES[scanner.name, case.id] = types
    elif (plain := _TYPES.get((scanner.name, case.id), types)) != types:
        raise Mismatch(f"types are {types}, they are {plain} of the table as it stands")
    # In every way a share of them: each form meets each way at many tables.
    name = f"{case.id}{_MARK}{request['form']}".encode()
    many = not _is_newest(case) or zlib.crc32(name) % _WAYS_OF != 0
    check_scan(replace(case, rows_only=many), scanner)
    return {}


def vary_forms(run: PassRun) -> Iterator[Outcome]:
    """Put every case to every reader, over its table in each form that has a place there.

    Of cases that a reader fails as they stand one `not-offered` says so.
    """
    for name in run.implementations:
        right: dict[str, bool] = {}
        for _, same in groupby(run.cases, key=lambda case: case.subject):
            for case in same:
                plain = replace(case, id=case.id.partition(_MARK)[0], form="")
                if plain.id not in right:
                    answer = run.ask(name, "form", plain, {"form": ""})
                    right[plain.id] = answer["outcome"] == "pass"
                    if not right[plain.id]:
                        reason = f"as it stands: {answer['outcome']}: {answer['reason']}"
                        skipped = {**answer, "outcome": "not-offered", "reason": reason}
                        yield run.outcome(name, plain, skipped)
                if not right[plain.id]:
                    continue
                answer = run.ask(name, "form", plain, {"form": case.form})
                if answer["outcome"] == "not-offered":
                    break  # the form has no place in this table
                yield run.outcome(name, case, answer)

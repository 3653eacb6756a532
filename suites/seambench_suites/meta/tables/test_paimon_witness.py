"""The two witnesses of golden Paimon tables: rows that cases declare, and what Spark read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical
from seambench.seams.scan.cases import ScanCase


def _whole_reads() -> list[ScanCase]:
    """Cases that read all rows of a snapshot of an unedited table that Spark or Java wrote."""
    return [
        case
        for case in load_cases("scan")
        if isinstance(case, ScanCase)
        and case.table.format.name == "paimon"
        and not getattr(case.table.spec, "recipe", "")
        and not case.expect.refused
        and not case.edits
        and case.request.query == "snapshot"
        and case.request.where is None
        and not case.focus
    ]


def _witnessed(case: ScanCase) -> dict[str, Any]:
    steps = json.loads((case.table.folder / "witness.json").read_text(encoding="utf-8"))
    number = len(steps) if case.request.as_of is None else case.request.as_of
    found: dict[str, Any] = steps[number - 1]
    return found


@pytest.mark.parametrize("case", _whole_reads(), ids=lambda case: case.id)
def test_spark_reads_what_the_case_declares(case: ScanCase) -> None:
    """Spark's answer, recorded when the table was made, is the declared one, or one of several."""
    witness = _witnessed(case)
    places = [witness["columns"].index(name) for name in case.names]
    rows = sorted([row[place] for place in places] for row in witness["rows"])
    answers = [
        sorted([canonical(value) for value in row] for row in declared)
        for declared in case.expected_answers()
    ]

    assert case.request.columns is not None or witness["columns"] == case.names
    assert rows in answers


def test_most_tables_have_such_a_case() -> None:
    """The comparison is not empty."""
    assert len({case.table.folder for case in _whole_reads()}) > 50

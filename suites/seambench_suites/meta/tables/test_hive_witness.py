"""The two witnesses of golden Hive tables: rows of cases, and what Hive's own classes read."""

from __future__ import annotations

import json

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical
from seambench.seams.scan.cases import ScanCase


def _witnessed_reads() -> list[ScanCase]:
    """Cases that read all rows of an unedited Hive table, of which there is a witness."""
    return [
        case
        for case in load_cases("scan")
        if isinstance(case, ScanCase)
        and case.table.format.name == "hive"
        and case.expect.rows is not None
        and not case.edits
        and (case.table.folder / "witness.json").exists()
    ]


@pytest.mark.parametrize("case", _witnessed_reads(), ids=lambda case: case.id)
def test_hive_reads_what_the_case_declares(case: ScanCase) -> None:
    """The answer of Hive's classes, recorded when the table was made, is the declared one."""
    [witness] = json.loads((case.table.folder / "witness.json").read_text(encoding="utf-8"))
    places = [witness["columns"].index(name) for name in case.names]
    [declared] = case.expected_answers()

    assert sorted([row[place] for place in places] for row in witness["rows"]) == sorted(
        [canonical(value) for value in row] for row in declared
    )


def test_most_tables_have_such_a_case() -> None:
    """The comparison is not empty."""
    assert len({case.table.folder for case in _witnessed_reads()}) > 20

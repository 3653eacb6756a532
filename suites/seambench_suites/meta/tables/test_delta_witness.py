"""The two witnesses of golden Delta tables: rows that cases declare, and what Spark itself read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical
from seambench.seams.scan.cases import ScanCase

#: Columns that every table of ids of rows has, and that are shown where they are named.
_UNLESS_NAMED = ("_row_id", "_row_commit_version")


def _whole_reads() -> list[ScanCase]:
    """Cases that read all rows and columns of a version of an unedited table that Spark wrote."""
    return [
        case
        for case in load_cases("scan")
        if isinstance(case, ScanCase)
        and case.table.format.name == "delta"
        and not getattr(case.table.spec, "recipe", "")
        and case.expect.rows is not None
        and not case.edits
        and case.request.where is None
        and case.request.columns is None
    ]


def _witnessed(case: ScanCase) -> dict[str, Any]:
    steps = json.loads((case.table.folder / "witness.json").read_text(encoding="utf-8"))
    number = len(steps) if case.request.as_of is None else case.request.as_of
    found: dict[str, Any] = steps[number - 1]
    return found


@pytest.mark.parametrize("case", _whole_reads(), ids=lambda case: case.id)
def test_spark_reads_what_the_case_declares(case: ScanCase) -> None:
    """Spark's answer, recorded when the table was made, is the declared one."""
    witness = _witnessed(case)
    [declared] = case.expected_answers()

    # A table that was written with ids of rows has a witness of these, too; a case may name them.
    shown = [n for n, name in enumerate(witness["columns"]) if name not in _UNLESS_NAMED]
    assert [witness["columns"][n] for n in shown] == case.names
    rows = sorted([row[n] for n in shown] for row in witness["rows"])
    assert rows == sorted([canonical(value) for value in row] for row in declared)


def test_most_tables_have_such_a_case() -> None:
    """The comparison is not empty."""
    assert len({case.table.folder for case in _whole_reads()}) > 35

"""The two witnesses of golden tables: rows that cases declare, and what an engine itself read."""

import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical
from seambench.seams.scan.cases import ScanCase

_RECORDED = [
    case for case in load_cases("scan") if isinstance(case, ScanCase) and case.recorded is not None
]


def test_the_engine_read_what_the_case_declares() -> None:
    """Its answer, recorded when the table was made, is the declared one, or one of several."""
    wrong = []
    for case in _RECORDED:
        answers = [
            sorted([canonical(value) for value in row] for row in declared)
            for declared in case.expected_answers()
        ]
        wrong += [] if case.recorded in answers else [case.id]
    assert wrong == []


@pytest.mark.parametrize(
    ("format_name", "least"), [("delta", 35), ("hive", 20), ("iceberg", 40), ("paimon", 50)]
)
def test_most_tables_have_such_a_case(format_name: str, least: int) -> None:
    """The comparison is not empty."""
    folders = {c.table.folder for c in _RECORDED if c.table.format.name == format_name}
    assert len(folders) > least

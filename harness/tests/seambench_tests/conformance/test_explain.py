"""Cases explained: whoever reads of a failure learns the rule, the table's life and the answer."""

import datetime as dt
import json
import re
from decimal import Decimal
from typing import Any

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.conformance.load import load_cases
from seambench.conformance.plain import differing_rows, shown
from seambench.contracts import registry


@pytest.mark.parametrize("seam", registry.seams())
def test_every_case_can_be_explained(seam: str) -> None:
    """It has a rule, the place where it is written down, and an answer, a refusal or its text."""
    found = registry.find_seam(seam)
    for case in load_cases(seam):
        said = found.explain(case)
        assert said.rule == case.requirement
        assert said.file.startswith(("cases/", "golden/"))
        assert said.expected or said.outcome or said.definition, case.id
        assert ("a refusal" in said.outcome) == bool(case.refused)
        for rows in said.expected:
            assert all(len(row) == len(rows.columns) for row in rows.rows)


def test_a_tables_life_is_told_step_by_step() -> None:
    """Writes with their rows in order, then what was damaged by hand, as the case file has it."""
    cases = {case.id: case for case in load_cases("scan")}
    said = registry.find_seam("scan").explain(cases["scan/hudi/damage/blocks-in-one-log"])
    assert [step.title for step in said.life[:4]] == ["bulk_insert", "upsert", "delete", "upsert"]
    begins = [step.detail.partition(";")[0] for step in said.life[:4]]
    assert begins == sorted(begins)
    assert all(re.fullmatch(r"at \d{17}", begin) for begin in begins), begins
    assert said.life[0].rows is not None
    assert said.life[0].rows.columns == ["k", "v", "ts"]
    assert said.life[-1].title.startswith("replace path:.hoodie/")
    assert said.life[-1].detail == "damaged by hand; find = .log.3_; text = .log.1_"
    assert ['"log-only"', '"log3"', "1"] in said.expected[0].rows


def test_what_is_asked_is_told_with_the_query() -> None:
    """The kind of query always, even the usual one; of all else what is not as usual."""
    cases = {case.id: case for case in load_cases("scan")}
    said = registry.find_seam("scan").explain(cases["scan/hudi/damage/blocks-in-one-log"])
    assert set(said.request) == {"query", "table"}
    assert "snapshot" in said.request["query"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        ("NULL", '"NULL"'),
        ("a\nb", '"a\\nb"'),
        (1, "1"),
        (1.5, "1.5"),
        (Decimal("1.50"), "1.50"),
        (b"\x00\xff", "0x00ff"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC), "2026-01-02 03:04:05.000006"),
        ([1, None], "[1, NULL]"),
        ({"a": "x"}, '{a: "x"}'),
        ("x" * 500, '"' + "x" * 118 + "\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_values_are_shown_so_that_nothing_is_mistaken(value: Any, text: str) -> None:
    """NULL is no text, texts keep to their line, and long ones are cut."""
    assert shown(value) == text


def test_rows_of_one_side_alone_are_a_difference() -> None:
    """Equal rows are left out, also those that come more than once; few of many are shown."""
    expected = [(1, "a"), (1, "a"), (2, "b")]
    found = differing_rows(expected, [(1, "a"), *((n, None) for n in range(10, 20))], ["k", "v"])
    assert found.missing == [["1", '"a"'], ["2", '"b"']]
    assert (found.missing_rows, found.unexpected_rows) == (2, 10)
    assert found.unexpected == [[str(n), "NULL"] for n in range(10, 15)]


def test_a_case_in_a_form_is_explained_with_the_form_and_the_pass() -> None:
    """Its last step is the form, and the command that is shown names the pass."""
    case = "scan/delta/checkpoints/classic/newest#row-groups-1"
    done = CliRunner().invoke(app, ["explain", case, "--json"])
    told = json.loads(done.output)
    assert told["life"][-1]["title"] == "row-groups-1"
    assert told["life"][-1]["detail"] == "written again: a row group for each row"
    assert f"--pass forms --impl cmd:./reader --case '{case}'" in told["command"]

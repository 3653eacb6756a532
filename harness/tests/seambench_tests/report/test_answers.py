"""What records answer of the declared questions stands in words on the page and in the terminal."""

from pathlib import Path

import msgspec
import pytest

from seambench.cli.shared.common import tell_records
from seambench.records.model import Record
from seambench.report import build
from seambench_tests.records.test_bars import record, timing
from seambench_tests.samples.report_records import write_record

_SAID = "2.00 x (2.00 to 2.00)"


def compared(**of_run: object) -> list[Record]:
    """Merged reads of a fifth of the rows updated take twice as long as base files alone."""
    over = {"name": "mor-v9-event-avro-u20-s100", "scale": 1.0, "format": "hudi"}
    over |= {"dimensions": {"update_ratio": 20.0, "slice_share": 100.0}}
    sides = (("native", 1.0), ("auto", 2.0))
    return [
        record(by, "aaaaaaaa", [timing("scan/all", [seconds] * 7) | {"over": over}], **of_run)
        for by, seconds in sides
    ]


def test_the_page_of_costs_answers_in_words(tmp_path: Path) -> None:
    """The row that records have, with its interval; rows that they lack are not there."""
    for one in compared():
        write_record(tmp_path / "results", msgspec.to_builtins(one))
    build(tmp_path / "results", tmp_path / "site")
    page = (tmp_path / "site" / "cost.html").read_text(encoding="utf-8")
    assert f"<li><b>20 % updated, all columns</b>: {_SAID}</li>" in page
    assert "100 % updated" not in page


@pytest.mark.parametrize(("busy", "answered"), [({}, True), ({"during": 40.0}, False)])
def test_the_terminal_answers_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], busy: dict[str, float], answered: bool
) -> None:
    """Of a machine that others used nothing is concluded."""
    made = compared(busy={"waited": 0.0, "before": 0.0, **busy})
    assert tell_records(made, tmp_path, lambda _: None) == 0
    said = capsys.readouterr().out
    assert (f"  20 % updated, all columns: {_SAID}" in said) is answered
    assert ("What does merging cost over the base files alone?" in said) is answered

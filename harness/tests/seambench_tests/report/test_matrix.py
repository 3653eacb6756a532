"""The matrix: every case once, by rule and implementation, and the worst of a group on top."""

from __future__ import annotations

from pathlib import Path

import pytest

from seambench.report.load import load_records
from seambench.report.matrix import Cell, Column, columns_of, matrices, summary
from seambench.report.script import joined
from seambench_tests.samples.report_records import make_record, make_results, write_record


def columns(results: Path) -> list[Column]:
    """Columns over the records of a folder."""
    return columns_of((shown, shown.source) for shown in load_records(results).records)


def test_the_worst_of_a_group_is_what_its_cell_says(tmp_path: Path) -> None:
    """Wrong rows without a word come before a refusal, and that before right answers."""
    [table] = matrices(columns(make_results(tmp_path)))
    at = [column.name for _, column in table.columns].index("hudi-rs")
    cells = {group: found[at] for group, found in table.rows}

    assert table.cases == 12
    assert cells["scan/deletes"] == Cell("wrong", "1 wrong", "1 refused, 1 right")
    assert cells["scan/blocks"].kind == "broken"
    assert "hudi-rs (scan) in 1" in summary([table])
    assert summary([]) == "No conformance was recorded yet."


def conformance(word: str, reason: str = "", **more: object) -> dict[str, object]:
    """The outcome of one case."""
    reasons = {"reasons": {"scan/a/b": reason}} if reason else {}
    return {"seam": "scan", "seconds": 1, "outcomes": {word: {"scan/a": ["b"]}}, **reasons, **more}


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (conformance("pass"), "right"),
        (conformance("fail", "1 row expected"), "wrong"),
        (conformance("fail", "refused what it offers", refused=["scan/a/b"]), "refused"),
        (conformance("fail", "1 row expected", should=["scan/a/b"]), "disputed"),
        (conformance("xfail", "known (fail: 1 row expected)"), "wrong"),
        (conformance("xfail", "known (crash: signal 11)"), "broken"),
        (conformance("timeout", "60 s"), "broken"),
        (conformance("unavailable", "no Java"), "off"),
        (conformance("not-offered"), "off"),
    ],
)
def test_an_outcome_is_of_one_kind(tmp_path: Path, part: dict[str, object], kind: str) -> None:
    """That a failure is known makes it no better; a disputed rule makes it no worse."""
    record = make_record("auto")
    record["timings"], record["conformance"] = [], [part]
    write_record(tmp_path, record)
    [column] = columns(tmp_path)

    assert column.outcomes["scan/a/b"][0] == kind


def test_the_newest_outcome_of_a_case_counts(tmp_path: Path) -> None:
    """A later run of some cases leaves the others as they were, and another version is another."""
    for minute, (word, version) in enumerate((("error", "1"), ("pass", "1"), ("error", "2"))):
        record = make_record("auto", run_id=f"00000{minute}")
        record["run"]["started_utc"] = f"2026-11-20T10:0{minute}:00Z"
        record["implementation"]["version"] = version
        record["timings"] = []
        record["conformance"] = [conformance(word, "" if word == "pass" else "why")]
        write_record(tmp_path, record)
    first, second = columns(tmp_path)

    assert (first.outcomes["scan/a/b"][0], first.reasons) == ("right", {})
    assert second.outcomes["scan/a/b"][0] == "broken"


MODULES = {
    "main": 'import { one } from "./a.js";\nconst two = one;\n',
    "a": "export const one = 1;\n",
}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"a": 'import { two } from "./main.js";\n'}, "import each other"),
        ({"a": "const one = 1;\n"}, "main.js imports one, which a.js does not export"),
        ({"a": "export const one = 1;\nconst two = 2;\n"}, "both declare two"),
    ],
)
def test_modules_that_would_not_work_are_refused(
    tmp_path: Path, changed: dict[str, str], says: str
) -> None:
    """One script is made only of modules that would run as modules."""
    for name, source in (MODULES | changed).items():
        (tmp_path / f"{name}.js").write_text(source)
    with pytest.raises(ValueError, match=says):
        joined(tmp_path)


def test_modules_come_after_what_they_import(tmp_path: Path) -> None:
    """In the one script nothing is imported or exported any more."""
    for name, source in MODULES.items():
        (tmp_path / f"{name}.js").write_text(source)
    script = joined(tmp_path)

    assert script.index("one = 1") < script.index("two = one")
    assert "import" not in script
    assert "export" not in script

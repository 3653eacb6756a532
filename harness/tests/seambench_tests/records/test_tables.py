"""Tables of figures in documents: written from records that stand, and from no others."""

import re
from typing import Any

import msgspec
import pytest

from seambase.errors import InputError, UsageError
from seambench.records.model import Record
from seambench.records.tables import Table, answers, load_tables, rendered, with_tables
from seambench_tests.records.test_bars import QUIET, record, timing

SLOW = [2.0, 2.2, 1.8, 2.1, 1.9, 2.0, 2.05]
FAST = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02]


def table(**more: Any) -> Table:
    """`a` beside `b`."""
    sides = [{"by": "b", "case": "x"}, {"by": "a", "case": "x"}]
    made = {
        "name": "t",
        "document": "README.md",
        "columns": ["", "b", "a", "a / b"],
        "row": [{"label": "row", "sides": sides}],
        "run": "r",
    }
    return msgspec.convert(made | more, Table)


def two(slow: list[float], fast: list[float], run: str = "aaaaaaaa", **of: Any) -> list[Record]:
    """A run of both."""
    parts = (("a", slow), ("b", fast))
    return [record(name, run, [timing("x", hot)], **of) for name, hot in parts]


def test_a_row_tells_medians_and_the_interval_of_their_ratio() -> None:
    """Beside them stand run, date, commit, machine and number of samples."""
    shown = rendered(table(), two(SLOW, FAST))
    assert "| row | 1 | 2 | 2.00 x (" in shown
    assert re.search(
        r"Run aaaaaaaa of \d{4}-\d\d-\d\d, commit \w+, .* 7 warm samples .* shuf", shown
    )


def test_no_difference_is_said_where_the_interval_holds_one() -> None:
    """Nobody reads a factor out of noise."""
    shown = rendered(table(), two([1.0, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95], [1.0] * 7))
    assert "no difference seen (" in shown


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([], "no record has it"),
        (two(SLOW[:6], FAST), "6 warm samples are fewer than 7"),
        (two(SLOW, FAST, dirty=True), "its checkout had changes"),
        (two(SLOW, FAST, busy=None), "nobody looked what else the machine did"),
        (two(SLOW, FAST, busy=QUIET | {"during": 40.0}), "others used 40 % of the machine"),
    ],
    ids=["none", "few", "dirty", "unwatched", "busy"],
)
def test_no_figure_is_made_of_what_does_not_stand(records: list[Record], reason: str) -> None:
    """The table is not there; the reason and the run that measures it are."""
    shown = rendered(table(), records)
    assert shown.startswith("No figure stands: ")
    assert reason in shown
    assert "The run `r`" in shown
    assert "|" not in shown


def test_a_row_without_figures_says_so_beside_others() -> None:
    """One missing side does not take the others' figures away, nor is it passed over."""
    other = {"label": "other", "sides": [{"by": "b", "case": "x"}, {"by": "z", "case": "x"}]}
    rows = [*msgspec.to_builtins(table())["row"], other]
    shown = rendered(table(row=rows), two(SLOW, FAST))
    assert "| row | 1 | 2 |" in shown
    assert "| other |  |  | no figure: no record has it |" in shown


@pytest.mark.parametrize(
    ("claimed", "word"),
    [((1.0, 1.5), "more than"), ((1.5, 2.5), "as"), ((2.0, 2.0), "as"), ((5.0, 5.0), "less than")],
)
def test_a_claim_holds_or_does_not(claimed: tuple[float, float], word: str) -> None:
    """It holds where the interval of what was measured and that of the claim meet."""
    row = [msgspec.to_builtins(table())["row"][0] | {"claimed": claimed}]
    assert re.search(
        rf"\| 2\.00 x \([^|]*\), {word} claimed \|", rendered(table(row=row), two(SLOW, FAST))
    )


def test_questions_are_answered_in_words_at_any_scale() -> None:
    """By those rows that records have; a table without a question, or without a row, is silent."""
    other = {"label": "other", "sides": [{"by": "b", "case": "x"}, {"by": "z", "case": "x"}]}
    rows = [*msgspec.to_builtins(table())["row"], other]
    asked = table(row=rows, question="What is slower?", scale=10.0)
    [(question, said)] = answers(
        [table(), asked, table(row=[other], question="?")], two(SLOW, FAST)
    )
    assert question == "What is slower? A / b:"
    assert [label for label, _ in said] == ["row"]
    assert said[0][1].startswith("2.00 x (")
    assert answers([asked], two(SLOW, FAST, dirty=True)) == []
    assert answers([asked], []) == []


def test_a_rate_of_what_was_not_counted_is_nought() -> None:
    """Gigabytes and million rows a second, of the median; nobody makes bytes up."""
    counted = {"bytes": 4_000_000_000, "rows": 6_000_000}
    sides: list[tuple[str, list[float], dict[str, Any]]] = [("a", SLOW, counted), ("b", FAST, {})]
    records = [record(name, "aaaaaaaa", [timing("x", hot, **more)]) for name, hot, more in sides]
    assert "| row | 0 (0) | 2 (3) |" in rendered(table(unit="rate"), records)


def test_sides_of_two_runs_are_told_with_both() -> None:
    """Numbers of threads are measured apart: no figure stands without the run that it is of."""
    sides = [("b", FAST, "bbbbbbbb", 1), ("a", SLOW, "aaaaaaaa", 2)]
    row = [{"by": name, "case": "x", "threads": threads} for name, _, _, threads in sides]
    records = [
        record(name, run, [timing("x", hot)], threads=threads) for name, hot, run, threads in sides
    ]
    shown = rendered(table(row=[{"label": "row", "sides": row}]), records)
    assert "| row | 1 | 2 |" in shown
    assert re.findall(r"^Run (\w+) of ", shown, re.MULTILINE) == ["aaaaaaaa", "bbbbbbbb"]
    assert shown.count("of which this run has one side") == 2
    assert "turns" not in shown


def test_rows_of_several_runs_say_which_is_of_which() -> None:
    """Seconds of one row and of another compare only where a run has both."""
    names = ("x", "y", "z", "w", "v")
    rows = [
        {"label": name, "sides": [{"by": by, "case": name} for by in ("b", "a")]} for name in names
    ]
    records = [
        record(by, run, [timing(name, hot) for name in of_run])
        for run, of_run in (("bbbbbbbb", names[::3]), ("aaaaaaaa", (*names[1:3], "v")))
        for by, hot in (("a", SLOW), ("b", FAST))
    ]
    shown = rendered(table(row=rows), records)
    assert re.findall(r"^Run (\w+ \(.*?\)) of ", shown, re.MULTILINE) == [
        "bbbbbbbb (rows 1, 4)",
        "aaaaaaaa (rows 2 to 3, 5)",
    ]
    alone = rendered(table(row=rows[:1]), records)
    assert re.findall(r"^Run (\w+) of ", alone, re.MULTILINE) == ["bbbbbbbb"]
    first = rendered(table(row=rows[:2]), records)
    assert "Run bbbbbbbb (row 1) of " in first


def test_a_document_gets_its_tables_and_keeps_the_rest() -> None:
    """What was changed by hand between the marks is written anew; marks must be the declared."""
    text = "before\n<!-- figures: t -->\n| row | 1 | 3 | 3.00 x |\n<!-- end -->\nafter\n"
    written = with_tables(text, {"t": table()}, two(SLOW, FAST))
    assert written.startswith("before\n<!-- figures: t -->\n|  | b | a | a / b |\n")
    assert written.endswith("<!-- end -->\nafter\n")
    assert "3.00" not in written
    assert with_tables(written, {"t": table()}, two(SLOW, FAST)) == written
    with pytest.raises(UsageError, match=r"has the tables \['t'\], not \['u'\]"):
        with_tables(text, {"u": table(name="u")}, [])


def test_rows_that_do_not_fill_the_columns_are_refused(tmp_path: Any) -> None:
    """A side too few would shift the ratio under another title."""
    path = tmp_path / "tables.toml"
    path.write_text(
        '[[table]]\nname = "t"\ndocument = "README.md"\ncolumns = ["", "a", "a / b"]\nrun = "r"\n'
        '[[table.row]]\nlabel = "row"\nsides = [{ by = "a", case = "x" }, { by = "b", case = "x" }]'
    )
    with pytest.raises(InputError, match="does not fill the columns"):
        load_tables(path)

"""Bars: judged from records that stand, by ratios of pairs."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from seambase.errors import InputError
from seambench.cli.app import app
from seambench.contracts import registry
from seambench.records.bars import Bar, judge, load_bars
from seambench.records.model import Record
from seambench.records.tables import load_tables
from seambench_tests.samples.report_records import make_record, write_record

QUIET = {"waited": 0.0, "before": 0.0}
DIGEST = "duckdb2:3:00000000000000aa:00000000000000bb"


def timing(case: str, hot: list[float], over: str = "t", **more: Any) -> dict[str, Any]:
    """A right answer with these samples."""
    return {
        "kind": "answer",
        "case": case,
        "over": {"name": over, "scale": 1.0},
        "outcome": "pass",
        "expected": DIGEST,
        "answer": DIGEST,
        "cold": [9.0],
        "hot": hot,
        "cpu": hot,
        **more,
    }


def record(name: str, run: str, timings: list[dict[str, Any]], **of_run: Any) -> Record:
    """A record of a quiet run from a clean checkout, unless it says otherwise."""
    made = make_record("auto", run_id=run)
    made["implementation"]["name"] = name
    made["run"] |= {"dirty": False, "busy": QUIET, **of_run}
    made["run"] = {key: value for key, value in made["run"].items() if value is not None}
    return msgspec.convert(made | {"timings": timings}, Record)


def bar(**more: Any) -> Bar:
    """`a` over `b`, at most twice as slow."""
    sides = {"numerator": {"by": "a", "case": "x"}, "denominator": {"by": "b", "case": "x"}}
    return msgspec.convert({"name": "n", "at_most": 2.0, "run": "r", **sides, **more}, Bar)


def two(run: str, slow: list[float], fast: list[float], **of_run: Any) -> list[Record]:
    """A run of both."""
    sides = (("a", slow), ("b", fast))
    return [record(name, run, [timing("x", hot)], **of_run) for name, hot in sides]


@pytest.mark.parametrize(
    ("slow", "limits", "word"),
    [
        (1.9, {}, "met"),
        (2.1, {}, "missed"),
        (2.1, {"at_most": None, "at_least": 2.0}, "met"),
        (1.9, {"at_most": None, "at_least": 2.0}, "missed"),
    ],
)
def test_a_bar_is_met_or_missed(slow: float, limits: dict[str, Any], word: str) -> None:
    """Its figure is the median of the ratios of pairs, with an interval."""
    drift = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    found = judge(bar(**limits), two("000001", [slow * one for one in drift], drift))
    assert found.word == word
    assert found.ratio is not None
    assert found.value == pytest.approx(slow)
    assert (found.ratio.low, found.ratio.high) == pytest.approx((slow, slow))


@pytest.mark.parametrize(
    ("of_run", "samples", "says"),
    [
        ({"dirty": True}, 7, "its checkout had changes"),
        ({}, 6, "6 warm samples are fewer than 7"),
        ({"busy": None}, 7, "nobody looked"),
        ({"busy": {"waited": 0, "before": 0, "during": 30}}, 7, "others used 30 %"),
    ],
)
def test_what_does_not_stand_makes_no_figure(
    of_run: dict[str, Any], samples: int, says: str
) -> None:
    """A newer run that may be no figure leaves the one before; alone it is told why."""
    poor = two("000002", [9.0] * samples, [1.0] * samples, **of_run)
    good = two("000001", [1.0] * 7, [1.0] * 7)
    assert judge(bar(), [*good, *poor]).source.startswith("000001")
    found = judge(bar(), poor)
    assert (found.word, found.value) == ("no figure", None)
    assert says in found.reason


def test_sides_of_two_runs_are_no_pair() -> None:
    """Only what ran together is compared; two numbers of threads never can, and are."""
    apart = [*two("000001", [1.0] * 7, [1.0] * 7)[:1], *two("000002", [1.0] * 7, [1.0] * 7)[1:]]
    threads = {"numerator": {"by": "a", "case": "x", "threads": 1}}
    one = [record("a", "000003", [timing("x", [3.0] * 7)], threads=1), apart[1]]
    assert judge(bar(), apart).word == "no figure"
    found = judge(bar(**threads), one)
    assert found.value == pytest.approx(3.0)
    assert found.ratio is not None
    assert not found.ratio.paired


def test_a_number_of_threads_without_a_run_that_stands_says_why() -> None:
    """Runs of two numbers of threads are put together, whatever is wrong with either."""
    threads = {"numerator": {"by": "a", "case": "x", "threads": 1}}
    sides = two("000002", [1.0] * 7, [1.0] * 7, dirty=True)[1:]
    slow = [record("a", "000003", [timing("x", [3.0] * 7)], threads=1)]
    assert judge(bar(**threads), [*slow, *sides]).reason == "its checkout had changes"


def test_a_pattern_is_a_geometric_mean_or_the_best() -> None:
    """Over all its cases, which both sides must have; or the fastest of them."""
    slow = [timing("x/1", [8.0] * 7), timing("x/2", [2.0] * 7)]
    fast = [timing("x/1", [1.0] * 7), timing("x/2", [1.0] * 7)]
    sides = {
        side: {"by": by, "case": "x/*"} for side, by in (("numerator", "a"), ("denominator", "b"))
    }
    whole = [record("a", "000001", slow), record("b", "000001", fast)]
    lacking = [record("a", "000001", slow[:1]), record("b", "000001", fast)]
    best = {**sides, "numerator": {"by": "a", "case": "x/*", "best": True}}
    best["denominator"] = {"by": "b", "case": "x/1"}
    assert judge(bar(**sides), whole).value == pytest.approx(4.0)
    assert "1 and 2 cases" in judge(bar(**sides), lacking).reason
    assert judge(bar(**best), whole).value == pytest.approx(2.0)


def test_memory_is_a_figure_of_its_own() -> None:
    """Without a denominator the figure is what was measured, in the bar's unit."""
    whole = [record("a", "000001", [timing("x", [1.0] * 7, peak_bytes=300 << 20)])]
    found = judge(bar(denominator=None, measure="peak_mib", at_most=512), whole)
    assert found.value == pytest.approx(300)
    assert found.word == "met"


def test_the_command_fails_where_a_bar_is_missed(tmp_path: Path) -> None:
    """Exit code 1 with the figure and its interval; 0 where all are met; it tells what to run."""
    declared = tmp_path / "bars.toml"
    declared.write_text(
        '[run]\nr = ["make it"]\n[[bar]]\nname = "one"\nrun = "r"\nat_most = 2.0\n'
        'numerator = { by = "a", case = "x" }\ndenominator = { by = "b", case = "x" }\n'
    )
    asked = ["bars", "--file", str(declared), "--results", str(tmp_path / "results")]
    assert "make it" in CliRunner().invoke(app, [*asked, "--commands"]).output
    assert "no bar has a figure" in str(CliRunner().invoke(app, asked).exception)
    for number, (slow, code, word) in enumerate([(1.0, 0, "met"), (3.0, 1, "missed")]):
        for one in two(f"00000{number}", [slow] * 7, [1.0] * 7):
            built = msgspec.to_builtins(one)
            built["run"]["started_utc"] = f"2026-11-2{number}T10:00:00Z"
            write_record(tmp_path / "results", built)
        said = CliRunner().invoke(app, asked)
        assert said.exit_code == code, said.output
        assert word in said.output
        assert f"{slow:.2f} to {slow:.2f}" in said.output


def test_the_command_counts_bars_and_says_why_one_has_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of totals ends it; where columns do not fit, a reason does not stand as a run."""
    sides = 'denominator = { by = "b", case = "x" }\nnumerator = { by = "a", case'
    declared = tmp_path / "bars.toml"
    declared.write_text(
        '[run]\nr = ["make it"]\n'
        f'[[bar]]\nname = "low"\nrun = "r"\nat_most = 2.0\n{sides} = "x" }}\n'
        f'[[bar]]\nname = "high"\nrun = "r"\nat_least = 2.0\n{sides} = "x" }}\n'
        f'[[bar]]\nname = "none"\nrun = "r"\nat_least = 1.7\n{sides} = "y" }}\n'
    )
    for one in two("000001", [1.0] * 7, [1.0] * 7):
        built = msgspec.to_builtins(one)
        built["run"]["started_utc"] = "2026-11-21T10:00:00Z"
        write_record(tmp_path / "results", built)
    out = Console(width=80, highlight=False)
    monkeypatch.setattr("seambench.cli.stages.judging.console", lambda: out)
    asked = ["bars", "--file", str(declared), "--results", str(tmp_path / "results")]
    lines = CliRunner().invoke(app, asked).output.rstrip().splitlines()
    assert lines[-1] == "1 met, 1 missed, 1 without a figure"
    assert lines[-2].split("; no figure: ")[0].strip() == "wanted >= 1.7"
    assert ", of " in lines[1]


def test_a_time_is_told_in_the_unit_that_leaves_digits(tmp_path: Path) -> None:
    """A bar of no ratio, and its limit, say milliseconds as such: 7.2 ms, not 0.01."""
    declared = tmp_path / "bars.toml"
    declared.write_text(
        '[run]\nr = ["make it"]\n[[bar]]\nname = "quick"\nrun = "r"\nat_most = 0.0125\n'
        'numerator = { by = "a", case = "x" }\n'
    )
    for one in two("000001", [0.0072] * 7, [1.0] * 7):
        write_record(tmp_path / "results", msgspec.to_builtins(one))
    asked = ["bars", "--file", str(declared), "--results", str(tmp_path / "results")]
    said = CliRunner().invoke(app, asked).output
    assert "7.20 ms" in said
    assert "<= 12.5 ms" in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("at_most = 1.0\nat_least = 1.0", "needs one of at_most and at_least"),
        ("", "needs one of at_most and at_least"),
        ("at_most = 1.0\ntypo = 1", "unknown field `typo`"),
        ('at_most = 1.0\nmeasure = "size"', "Invalid enum value 'size'"),
    ],
)
def test_a_wrong_declaration_is_refused(tmp_path: Path, line: str, says: str) -> None:
    """A bar that could never be missed is none."""
    path = tmp_path / "bars.toml"
    path.write_text(
        '[run]\nr = []\n[[bar]]\nname = "n"\nrun = "r"\n'
        f'numerator = {{ by = "a", case = "x" }}\n{line}\n'
    )
    with pytest.raises(InputError, match=says):
        load_bars(path)


def test_the_bars_of_the_suite_are_sound() -> None:
    """Every bar is of its own name; its run times every reader, table and scan that it names."""
    suite = registry.resolve_suite("tpch")
    declared = load_bars(suite.bars)
    shown = {one.run for one in load_tables(suite.tables)}
    names = [one.name for one in declared.bar]
    assert len(names) == len(set(names))
    assert {one.run for one in declared.bar} | shown == set(declared.run)
    for one in declared.bar:
        commands = " ".join(declared.run[one.run])
        for side in filter(None, (one.numerator, one.denominator)):
            if side.over is not None and "seambench kernels" not in commands:
                assert f"--reader {side.by} " in commands, one.name
                assert side.dimensions or f"--layout {side.over} " in commands, one.name

"""The command line: exit codes, outputs, and nothing half-written."""

import json
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seambase.command.terminal import parse_bytes, parse_list
from seambase.errors import UsageError
from seambench.cli import main
from seambench.cli.app import app
from seambench.cli.shared.common import parse_queries
from seambench.contracts import registry
from seambench.report.views.stats import whole_mean
from seambench_tests.samples.ends import check_nothing_heavy_is_imported, run_main

FAKES = "seambench_tests.samples.fakes:"


@pytest.fixture
def seambench(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process."""
    return run_main(main, capsys)


def test_help_names_every_command() -> None:
    """Each job has a command, each with its own help."""
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    names = ("run", "data", "check", "audit", "report", "list", "doctor")
    for name in (*names, "exchange", "throughput"):
        assert name in result.output
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_help_imports_nothing_heavy() -> None:
    """Help, and a command that is refused at once, load no Arrow, DuckDB, Spark or charts."""
    program = (
        "import sys; from seambench.cli.app import run; "
        "codes = [run(['--help']), run(['scan', 'x', '--query', 'z'])]; "
        "heavy = {'pyarrow', 'duckdb', 'pyspark', 'jinja2'} & set(sys.modules); "
        "sys.exit(f'{codes} {heavy}' if heavy or codes != [0, 2] else 0)"
    )
    check_nothing_heavy_is_imported(program)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--workers", "0"], "--workers 0: numbers of 1 and more are meant"),
        (["--chunk-rows", "many"], "--chunk-rows many: numbers between commas are meant"),
        (["--plan", "q99"], "unknown plan 'q99'; there are shuffle, broadcast"),
        (["--impl", "absent"], "unknown implementation of the exchange seam 'absent'"),
    ],
)
def test_wrong_usage_of_exchange_is_one_sentence(
    seambench: Any, tmp_path: Path, arguments: list[str], says: str
) -> None:
    """Exit code 2 before any worker is started."""
    done = seambench("exchange", *arguments, "--results", tmp_path)
    assert done.code == 2
    assert says in " ".join(done.err.split())
    assert list(tmp_path.iterdir()) == []


def test_list_is_a_summary_or_one_kind(seambench: Any, tmp_path: Path) -> None:
    """Without a kind a screen of lines counts what there is; JSON has a schema version."""
    short = seambench("list", "--data", tmp_path).out.splitlines()
    listed = json.loads(seambench("list", "queries", "--json").out)
    assert len(short) <= 48
    assert any(line.split()[:1] == ["scan"] and "hudi" in line for line in short)
    assert (
        "in full: seambench list seams|capabilities|formats|implementations|cases|data|queries"
        in short
    )
    assert (set(listed), listed["schema"]) == ({"schema", "queries"}, 1)
    assert {row["number"] for row in listed["queries"]} >= set(range(1, 23))
    assert seambench("list", "data", "--data", tmp_path).out.split() == ["data", "none"]
    assert seambench("list", "everything").code == 2


def test_doctor_tells_what_to_do(
    seambench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing comes with advice; doctor itself succeeds."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = seambench("doctor", "--json", "--data", tmp_path)
    findings = {finding["subject"]: finding for finding in json.loads(done.out)["findings"]}
    assert done.code == 0
    assert findings["Python"]["ok"]
    assert findings["C compiler"] == {
        "subject": "C compiler",
        "ok": False,
        "found": "no",
        "advice": "install gcc or clang",
        "needed_for": "building from source",
    }
    assert {"Java", "memory", "cores", "data folder", "Hudi's jar"} <= set(findings)
    assert findings["JPype"]["found"].startswith("jpype1 1.")
    assert seambench("doctor", "--data", tmp_path).code == 0


def test_doctor_tells_of_what_is_announced_and_is_none(
    seambench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scanner among the columns takes their line, and no other."""
    broken = EntryPoint(
        "column.broken", "seambench_tests.samples.fakes:EmptyScanner", "seambench.impl"
    )
    monkeypatch.setattr(
        registry,
        "entry_points",
        lambda group: [*entry_points(group=group), *([broken] if group == broken.group else [])],
    )
    done = seambench("doctor", "--json", "--data", tmp_path)
    findings = {finding["subject"]: finding for finding in json.loads(done.out)["findings"]}
    assert done.code == 0
    assert "no implementation of the column seam" in findings["column seam"]["found"]
    assert findings["scan seam"]["ok"]


@pytest.mark.parametrize(
    ("fake", "outcome"), [("AbsentScanner", "unavailable"), ("RefusingScanner", "not-offered")]
)
def test_check_prints_one_object_per_case(seambench: Any, fake: str, outcome: str) -> None:
    """What is unavailable or not offered is told per case; without any verdict nothing is right."""
    pattern = "scan/hudi/commit-v6/*"
    done = seambench("check", "--impl", FAKES + fake, "--case", pattern, "--jobs", "1", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]

    assert done.code == 1
    assert "so there is no verdict" in done.err
    assert len(lines) > 1
    for line in lines:
        assert set(line) == {
            *("schema", "seam", "group", "implementation", "version"),
            *(
                "case",
                "level",
                "outcome",
                "seconds",
                "reason",
                "difference",
                "must_refuse",
                "refusal",
                "known",
                "came",
                "answer",
                "digest",
            ),
        }
        assert line["difference"] is None
        assert (line["schema"], line["outcome"]) == (1, outcome)
    table = seambench("check", "--impl", FAKES + fake, "--case", pattern, "--jobs", "1")
    assert (table.code, outcome in table.out) == (1, True)


def test_check_fails_when_a_case_fails(seambench: Any) -> None:
    """A reader that claims everything and is wrong gives exit code 1."""
    done = seambench(
        "check", "--impl", f"{FAKES}BoastingScanner", "--case", "scan/hudi/commit-v6/*"
    )
    assert done.code == 1
    assert "fail" in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seam", "none"], "unknown seam 'none'"),
        (["--case", "no/such/*"], "no/such/*"),
        (["--impl", "x", "--golden", "absent", "--seam", "column"], "absent"),
    ],
)
def test_wrong_checks_are_usage_errors(seambench: Any, arguments: list[str], says: str) -> None:
    """An unknown seam, a pattern without cases and an empty folder are exit code 2."""
    done = seambench("check", *arguments)
    assert done.code == 2
    assert says in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["data", "--layout", "zzz"], "unknown layout 'zzz'"),
        (["data", "--conf", "x"], "not of the form KEY=VALUE"),
        (["run", "--knob", "ordering=zzz"], "neither event nor commit"),
        (["run", "--knob", "hudi.log_format=zzz"], "neither avro nor parquet"),
        (["run", "--update-ratio", "101"], "not a per cent"),
        (["run", "--reader", "absent"], "unknown implementation of the scan seam 'absent'"),
        (["run", "--reader", f"{FAKES}AbsentScanner"], "pip install nothing"),
        (["run", "--queries", "1,23"], "'23' is no query from 1 to 22"),
        (["run", "--scans-only", "absent"], "unknown implementation of the scan seam 'absent'"),
        (["run", "--results", "/proc/none"], "/proc/none cannot be written"),
        (["run", "--knob", "hudi.version=7"], "choose 6 or 9"),
        (["run", "--knob", "nope.version=7"], "unknown table format 'nope'"),
        (["run", "--knob", "colour=red"], "no knob 'colour'"),
        (["run", "--format", "nope"], "unknown table format 'nope'"),
    ],
)
def test_wrong_knobs_are_told_before_work_begins(
    seambench: Any, tmp_path: Path, arguments: list[str], says: str
) -> None:
    """A knob that cannot be is exit code 2, and the data folder stays empty."""
    done = seambench(*arguments, "--data", tmp_path)
    assert done.code == 2
    assert says in done.err
    assert list(tmp_path.iterdir()) == []


def test_bench_needs_data(seambench: Any, tmp_path: Path) -> None:
    """Without data sets there is nothing to compare, and the message says how to make them."""
    done = seambench("bench", "--data", tmp_path)
    assert done.code == 2
    assert "seambench data" in done.err


def test_report_checks_records(seambench: Any, tmp_path: Path) -> None:
    """`--validate` names broken records and fails; without any it succeeds."""
    assert seambench("report", "--validate", "--results", tmp_path).code == 0
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.json").write_text("{}")
    done = seambench("report", "--validate", "--results", tmp_path)
    assert done.code == 1
    assert "x.json" in done.out


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("1,6", (1, 6)), ("10-12,11", (10, 11, 12)), ("none", ()), ("all", tuple(range(1, 23)))],
)
def test_query_numbers(text: str, numbers: tuple[int, ...]) -> None:
    """Single numbers, ranges, all or none, each query once."""
    assert parse_queries(text) == numbers


@pytest.mark.parametrize("text", ["0", "23", "6-1", "x", "", "1,", "1 6"])
def test_wrong_query_numbers(text: str) -> None:
    """Anything but 1 to 22 is refused."""
    with pytest.raises(UsageError, match="--queries"):
        parse_queries(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [(None, None), ("4096", 4096), ("512MiB", 512 << 20), ("2G", 2 * 10**9), ("1.5 gib", 3 << 29)],
)
def test_sizes(text: str | None, size: int | None) -> None:
    """Plain bytes, and binary or decimal units."""
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "-1", "0", "MiB", "1 tib", "1e9"])
def test_wrong_sizes(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="no size"):
        parse_bytes(text)


def test_lists() -> None:
    """Names between commas, spaces around them ignored."""
    assert parse_list("a, b") == ["a", "b"]
    assert parse_list(None) is None


def test_a_gap_is_not_fast() -> None:
    """The geometric mean of a set with a missing time is missing."""
    assert whole_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert whole_mean([1.0, None]) is None
    assert whole_mean([]) is None

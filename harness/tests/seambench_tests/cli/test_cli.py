"""The command line: exit codes, outputs, and nothing half-written."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from seambase.errors import UsageError
from seambench.cli import main
from seambench.cli.app import app
from seambench.cli.shared.common import parse_bytes, parse_list, parse_queries
from seambench.cli.summary import geometric_mean
from seambench_tests import SAMPLES

FAKES = "seambench_tests.samples.fakes:"
READER = f"--reader={FAKES}FolderScanner"
ROWS = 50


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder of Parquet with a decimal, a string with markup in it, NULLs and a meta column."""
    folder = tmp_path / "table"
    folder.mkdir()
    numbers = list(range(ROWS))
    rows = {
        "_hoodie_commit_time": pa.array(["20240101000000000"] * ROWS),
        "_hoodie_commit_seqno": pa.array(["0"] * ROWS),
        "_hoodie_record_key": pa.array([str(n) for n in numbers]),
        "_hoodie_partition_path": pa.array([""] * ROWS),
        "_hoodie_file_name": pa.array(["f"] * ROWS),
        "id": pa.array(numbers),
        "price": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(15, 2)),
        "note": pa.array([None if n % 5 == 0 else f"[red]n{n}" for n in numbers]),
    }
    pq.write_table(pa.table(rows), folder / "part.parquet")
    return folder


class Ended:
    """What a command left: exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def seambench(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process."""

    def run(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


def command(*arguments: object) -> list[str]:
    """The same as a command of its own process."""
    return [sys.executable, "-m", "seambench.cli", *map(str, arguments)]


def test_help_names_every_command() -> None:
    """Each job has a command, each with its own help."""
    result = CliRunner().invoke(app, ["--help"])

    assert result.exit_code == 0
    names = ("run", "data", "check", "page", "inspect", "report", "list", "scan", "doctor")
    for name in (*names, "exchange", "throughput"):
        assert name in result.output
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_help_imports_nothing_heavy() -> None:
    """Help, and a scan that is refused at once, load no Arrow, DuckDB, Spark or charts."""
    program = (
        "import sys; from seambench.cli.app import run; "
        "codes = [run(['--help']), run(['scan', 'x', '--query', 'z'])]; "
        "heavy = {'pyarrow', 'duckdb', 'pyspark', 'jinja2'} & set(sys.modules); "
        "sys.exit(f'{codes} {heavy}' if heavy or codes != [0, 2] else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr


def test_a_scan_shows_a_short_table(seambench: Any, table: Path) -> None:
    """The first rows and the number of all; NULL is told from text, meta columns stay away."""
    done = seambench("scan", table, READER)

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["id", "price", "note"]
    assert lines[1].split() == ["0", "0.00", "NULL"]
    assert lines[2].split() == ["1", "0.25", "[red]n1"]
    assert lines[-2:] == ["... 30 more", "50 rows"]
    assert "slices: native 1" in done.err


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["--where", "price > 12.00 AND note IS NOT NULL"], [49]),
        (["--columns", "id", "--where", "note LIKE '%n4%' AND id < 40"], [4]),
        (["--columns", "id", "--where", "_hoodie_record_key = '7'"], [7]),
        (["--columns", "id", "--limit", "3"], [0, 1, 2]),
        (["--columns", "id", "--where", "id >= 10", "--limit", "2"], [10, 11]),
        (["--columns", "id", "--where", "note IS NULL", "--limit", "0"], []),
        (["--columns", "id", "--where", "NOT (note = 'x') AND id < 3"], [1, 2]),
    ],
)
def test_filters_columns_and_limits(
    seambench: Any, table: Path, tmp_path: Path, arguments: list[str], ids: list[int]
) -> None:
    """A filter may read columns that are not asked for; NULLs count as SQL says."""
    target = tmp_path / "out.arrow"
    done = seambench("scan", table, READER, "--output", target, *arguments)

    assert done.code == 0, done.err
    with pa.ipc.open_file(target) as file:
        found = file.read_all()
    assert found["id"].to_pylist() == ids
    assert ("price" in found.schema.names) == ("--columns" not in arguments)


def test_meta_columns_come_when_asked_for(seambench: Any, table: Path, tmp_path: Path) -> None:
    """`--meta` puts them first, and a name in `--columns` asks for one."""
    target = tmp_path / "out.arrow"
    assert seambench("scan", table, READER, "--meta", "-o", target).code == 0
    assert pa.ipc.open_file(target).schema.names[:6] == [
        *(f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key")),
        *(f"_hoodie_{name}" for name in ("partition_path", "file_name")),
        "id",
    ]
    assert (
        seambench("scan", table, READER, "--columns=id,_hoodie_record_key", "-o", target).code == 0
    )
    assert pa.ipc.open_file(target).schema.names == ["id", "_hoodie_record_key"]


@pytest.mark.parametrize("where", [None, "id >= 0"])
@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv", "jsonl"])
def test_every_format_holds_every_row(
    seambench: Any, table: Path, tmp_path: Path, ending: str, where: str | None
) -> None:
    """Each ending gives its format, with the same rows whether or not a filter ran."""
    target = tmp_path / f"out.{ending}"
    more = [] if where is None else ["--where", where]
    assert seambench("scan", table, READER, "-o", target, *more).code == 0
    expected = pq.read_table(table / "part.parquet").select(["id", "price", "note"])

    if ending == "arrow":
        assert pa.ipc.open_file(target).read_all() == expected
    elif ending == "parquet":
        assert pq.read_table(target) == expected
    elif ending == "csv":
        rows = list(csv.DictReader(target.read_text().splitlines()))
        assert rows[1] == {"id": "1", "price": "0.25", "note": "[red]n1"}
        assert len(rows) == ROWS
    else:
        lines = [json.loads(line) for line in target.read_text().splitlines()]
        assert lines[:2] == [
            {"id": 0, "price": "0.00", "note": None},
            {"id": 1, "price": "0.25", "note": "[red]n1"},
        ]
        assert len(lines) == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, "table"]


def test_a_stream_goes_to_standard_output(table: Path) -> None:
    """`--output -` writes an Arrow stream and nothing else to standard output."""
    done = subprocess.run(
        command("scan", table, READER, "--output", "-"), capture_output=True, check=True, timeout=60
    )

    assert pa.ipc.open_stream(done.stdout).read_all().num_rows == ROWS


def test_output_that_nobody_takes_is_exit_code_1(table: Path) -> None:
    """When the pipe is closed on us, the command ends without a word, but not with success."""
    with subprocess.Popen(
        command("scan", table, f"--reader={FAKES}EndlessScanner", "--output", "-"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        said = process.stderr.read().decode()

    assert process.returncode == 1
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--columns", "ID"], "--columns: unknown column 'ID'; did you mean id?"),
        (["--columns", "id,id"], "names a column twice"),
        (["--columns", "id,,note"], "no list of names"),
        (["--where", "ids > 3"], "--where 'ids > 3': unknown column 'ids'; did you mean id"),
        (["--where", "id >"], "--where"),
        (["--where", "id > 3; DROP TABLE x"], "not an expression"),
        (["--where", "id + 1"], "no condition"),
        (["--where", "columns(*) is not null"], "holds a pattern of columns"),
        (["--where", "columns('id') > 1"], "holds a pattern of columns"),
        (["--where", "CAST(note AS INTEGER) > 3"], "--where fails on a row"),
        (["--query", "newest"], "--query 'newest': the queries are snapshot"),
        (["--output", "rows.xls"], "must end in .arrow, .parquet, .csv, .jsonl"),
        (["--output", "absent/rows.csv"], "there is no folder 'absent'"),
        (["--output", "."], "must end in"),
        (["--memory-limit", "lots"], "no size in bytes"),
        (["--limit", "-1"], "--limit"),
        (["--nonsense"], "--nonsense"),
        (["--reader", "absent-reader"], "unknown implementation of the scan seam 'absent-reader'"),
        (["--reader", f"{FAKES}AbsentScanner"], "pip install nothing"),
        (["--reader", f"{FAKES}BrokenScanner"], "footer is cut off at byte 12"),
    ],
)
def test_wrong_usage_is_one_sentence(
    seambench: Any, table: Path, arguments: list[str], says: str
) -> None:
    """Exit code 2, a sentence on standard error, no table and no traceback."""
    done = seambench("scan", table, READER, *arguments)

    assert done.code == 2
    assert says in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_a_missing_table_is_refused(seambench: Any, tmp_path: Path) -> None:
    """A path without a table is exit code 2."""
    done = seambench("scan", tmp_path / "none", READER)

    assert (done.code, done.out) == (2, "")
    assert "no such table" in done.err


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


@pytest.mark.parametrize("debug", ["", "1"])
def test_an_unexpected_error_is_exit_code_1(
    seambench: Any, table: Path, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    """A fault is told in a line; SEAMBENCH_DEBUG=1 adds the traceback."""
    monkeypatch.setenv("SEAMBENCH_DEBUG", debug)
    done = seambench("scan", table, f"--reader={FAKES}CrashingScanner")

    assert done.code == 1
    assert "seambench: unexpected: ZeroDivisionError: a fault" in done.err
    assert ("Traceback" in done.err) == bool(debug)


@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv", "jsonl"])
def test_a_failed_scan_leaves_no_file(
    seambench: Any, table: Path, tmp_path: Path, ending: str
) -> None:
    """A reader that fails half way leaves no file, not even a temporary one; an old one stays."""
    target = tmp_path / f"out.{ending}"
    target.write_text("old")
    done = seambench("scan", table, f"--reader={FAKES}BrokenScanner", "-o", target)

    assert done.code == 2
    assert target.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, "table"]


@pytest.mark.parametrize("where", [[], ["--where", "id >= 0"]])
def test_ctrl_c_ends_a_scan(table: Path, tmp_path: Path, where: list[str]) -> None:
    """An interrupt is exit code 130, told in a line, and leaves nothing half-written."""
    target = tmp_path / "out.arrow"
    reader = f"--reader={FAKES}EndlessScanner"
    with subprocess.Popen(
        command("scan", table, reader, "-o", target, *where),
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"SEAMBENCH_DEBUG": ""},
    ) as process:
        assert process.stderr is not None
        assert "reading" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()

    assert process.returncode == 130
    assert "seambench: interrupted" in said
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_a_folder_that_takes_no_file_is_told(table: Path, tmp_path: Path, seambench: Any) -> None:
    """A read-only folder is one sentence and exit code 2."""
    # The temporary file lies in the same folder, so the folder itself must refuse it.
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    done = seambench("scan", table, READER, "-o", folder / "out.csv")

    assert done.code == 2
    assert "cannot be written" in done.err


def test_a_file_without_room_is_told(table: Path, tmp_path: Path) -> None:
    """A file that the system lets grow no further is one sentence, and leaves nothing behind."""
    target = tmp_path / "out.csv"
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command("scan", table, READER, "-o", target)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode in (1, 2), done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_warnings_are_told_and_counted(seambench: Any, table: Path) -> None:
    """The first ten places that were skipped are named with file and byte, the rest counted."""
    done = seambench("scan", table, f"--reader={FAKES}WarningScanner", "--limit", "1")

    assert done.code == 0
    assert "warning: log.3: skipped at byte 3: block without footer" in done.err
    assert "warning: 2 more places were skipped" in done.err


def test_commands_and_libraries_can_be_scanned(seambench: Any) -> None:
    """A reader that is a command is one name among others."""
    reader = f"cmd:{sys.executable} {SAMPLES / 'reader_command.py'}"
    done = seambench("scan", "t", "--reader", reader, "--columns", "id", "--where", "id > 7")

    assert done.code == 0, done.err
    assert done.out.split() == ["id", "8", "9", "2", "rows"]


def test_list_names_implementations_and_queries(seambench: Any, tmp_path: Path) -> None:
    """`list --json` has a schema version; an empty data folder has no data sets."""
    done = seambench("list", "--json", "--data", tmp_path)
    listed = json.loads(done.out)

    assert done.code == 0
    assert listed["schema"] == 1
    assert {"seam", "name", "kind", "version"} <= set(listed["implementations"][0])
    assert listed["data"] == []
    assert {row["number"] for row in listed["queries"]} >= set(range(1, 23))
    assert seambench("list", "data", "--data", tmp_path).out.split() == ["data", "none"]
    assert seambench("list", "everything").code == 2


def test_list_is_a_summary_first(seambench: Any, tmp_path: Path) -> None:
    """Without a kind a screen of lines counts what there is; `list cases` names every case."""
    short = seambench("list", "--data", tmp_path).out.splitlines()
    cases = seambench("list", "cases", "--data", tmp_path).out

    assert len(short) < 48
    assert any(line.split()[:1] == ["scan"] and "hudi" in line for line in short)
    assert "in full: seambench list seams|formats|implementations|cases|data|queries" in short
    assert "scan/hudi/event-v9/" in cases


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
            *("case", "level", "outcome", "seconds", "reason", "difference", "must_refuse"),
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
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric_mean([1.0, None]) is None
    assert geometric_mean([]) is None

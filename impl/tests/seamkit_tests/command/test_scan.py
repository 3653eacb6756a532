"""`seamkit scan` and `seamkit plan`: rows, outputs, one sentence for what is wrong."""

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambench_tests.samples.ends import run_main
from seamkit.command import main, tables
from seamkit.command import scan as command_scan
from seamkit_tests.command.fakes import FakeTable
from seamkit_tests.samples.golden_tables import unpack_table

ROWS = 50


@pytest.fixture
def seamkit(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process."""
    return run_main(main, capsys)


def expected() -> pa.Table:
    """A decimal, a text with markup in it, and nulls."""
    numbers = list(range(ROWS))
    return pa.table(
        {
            "id": pa.array(numbers),
            "price": pa.array([Decimal(n) / 4 for n in numbers], pa.decimal128(15, 2)),
            "note": pa.array([None if n % 5 == 0 else f"[red]n{n}" for n in numbers]),
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A Delta table of these rows."""
    import deltalake

    deltalake.write_deltalake(str(tmp_path / "table"), expected())
    return tmp_path / "table"


def test_a_short_table_is_shown(seamkit: Any, table: Path) -> None:
    """The first rows and the number of all; NULL is told from text."""
    done = seamkit("scan", table)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["id", "price", "note"]
    assert lines[1].split() == ["0", "0.00", "NULL"]
    assert lines[2].split() == ["1", "0.25", "[red]n1"]
    assert len(lines) == 23
    assert lines[-2:] == ["... 30 more", "50 rows"]
    assert "units: native 1" in done.err


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["--filter", "price > 12.00 AND note IS NOT NULL"], [49]),
        (["--columns", "id", "--filter", "note LIKE '%n4%' AND id < 40"], [4]),
        (["--columns", "id", "--limit", "3"], [0, 1, 2]),
        (["--columns", "id", "--filter", "id >= 10", "--limit", "2"], [10, 11]),
        (["--columns", "id", "--filter", "note IS NULL", "--limit", "0"], []),
        (["--columns", "id", "--filter", "NOT (note = 'x') AND id < 3"], [1, 2]),
        (["--columns", "id", "--filter", "id < 2", "--batch-size", "1", "--threads", "1"], [0, 1]),
    ],
)
def test_filters_columns_and_limits(
    seamkit: Any, table: Path, tmp_path: Path, arguments: list[str], ids: list[int]
) -> None:
    """A condition may read columns that are not asked for; NULLs count as SQL says."""
    target = tmp_path / "out.arrow"
    done = seamkit("scan", table, "--output", target, *arguments)
    assert done.code == 0, done.err
    with pa.ipc.open_file(target) as file:
        found = file.read_all()
    assert found["id"].to_pylist() == ids
    assert ("price" in found.schema.names) == ("--columns" not in arguments)


def test_meta_columns_come_when_asked_for(seamkit: Any, tmp_path: Path) -> None:
    """`--meta` puts them first, and a name in `--columns` asks for one."""
    folder, target = unpack_table("mor-v9-event", tmp_path / "t"), tmp_path / "out.arrow"
    assert seamkit("scan", folder, "-o", target).code == 0
    plain = pa.ipc.open_file(target).schema.names
    assert seamkit("scan", folder, "--meta", "-o", target).code == 0
    meta = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
    assert pa.ipc.open_file(target).schema.names == [*(f"_hoodie_{name}" for name in meta), *plain]
    assert seamkit("scan", folder, "--columns=k,_hoodie_record_key", "-o", target).code == 0
    rows = pa.ipc.open_file(target).read_all()
    assert rows["k"].to_pylist() == rows["_hoodie_record_key"].to_pylist()


@pytest.mark.parametrize("filter_", [None, "id >= 0"])
@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv", "jsonl"])
def test_every_format_holds_every_row(
    seamkit: Any, table: Path, tmp_path: Path, ending: str, filter_: str | None
) -> None:
    """Each ending gives its format, with the same rows whether or not a condition was tested."""
    target = tmp_path / f"out.{ending}"
    more = [] if filter_ is None else ["--filter", filter_]
    assert seamkit("scan", table, "-o", target, *more).code == 0
    if ending == "arrow":
        assert pa.ipc.open_file(target).read_all().equals(expected())
    elif ending == "parquet":
        assert pq.read_table(target).equals(expected())
    elif ending == "csv":
        rows = list(csv.DictReader(target.read_text().splitlines()))
        assert rows[1] == {"id": "1", "price": "0.25", "note": "[red]n1"}
        assert len(rows) == ROWS
    else:
        lines = [json.loads(line) for line in target.read_text().splitlines()]
        assert lines[1] == {"id": 1, "price": "0.25", "note": "[red]n1"}
        assert len(lines) == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, "table"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.list_(pa.string()), ["a"]),
        (pa.struct({"b": pa.int64()}), {"b": 1}),
        (pa.binary(), b"\x00\xff"),
    ],
)
def test_csv_refuses_what_it_has_no_form_for(
    seamkit: Any, tmp_path: Path, kind: pa.DataType, value: object
) -> None:
    """It is told with its column and what to do; without it the rows come."""
    import deltalake

    rows = pa.table({"id": pa.array([7]), "tags": pa.array([value], kind)})
    deltalake.write_deltalake(str(tmp_path / "table"), rows)
    target = tmp_path / "rows.csv"
    done = seamkit("scan", tmp_path / "table", "--output", target)
    assert (done.code, done.out) == (2, "")
    assert "column 'tags' is " in done.err
    assert "choose .jsonl, .parquet or .arrow" in " ".join(done.err.split())
    assert not target.exists()
    assert seamkit("scan", tmp_path / "table", "--columns", "id", "--output", target).code == 0
    assert target.read_text().split() == ['"id"', "7"]


def test_lines_of_json_are_json_whatever_their_numbers(seamkit: Any, tmp_path: Path) -> None:
    """JSON has no NaN and no infinities: they are texts, within what is nested, too."""
    import deltalake
    import polars as pl

    odd = [float("nan"), float("inf"), -float("inf"), 0.5]
    rows = pa.table({"f": odd, "l": [[value] for value in odd]})
    deltalake.write_deltalake(str(tmp_path / "table"), rows)
    target = tmp_path / "rows.jsonl"
    assert seamkit("scan", tmp_path / "table", "--output", target).code == 0
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert [line["f"] for line in lines] == ["NaN", "Infinity", "-Infinity", 0.5]
    assert all(line["l"] == [line["f"]] for line in lines)
    assert pl.read_ndjson(target).height == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--columns", "ID"], "there is no column 'ID'"),
        (["--columns", "id,id"], "a column is asked for twice"),
        (["--columns", "id,,note"], "no list of names"),
        (["--filter", "ids > 3"], "filter 'ids > 3': there is no column 'ids'; did you mean 'id'"),
        (["--filter", "id >"], "filter"),
        (["--filter", "id > 3; DROP TABLE x"], "not an expression"),
        (["--filter", "id + 1"], "no condition"),
        (["--filter", "CAST(note AS INTEGER) > 3"], "fails on a row"),
        (["--query", "newest"], "query is 'newest'"),
        (["--row-kinds"], "--row-kinds: Delta tables have no such option"),
        (["--changes-alone"], "--changes-alone: Delta tables have no such option"),
        (["--output", "rows.xls"], "must end in .arrow, .parquet, .csv, .jsonl"),
        (["--output", "absent/rows.csv"], "there is no folder 'absent'"),
        (["--output", "."], "must end in"),
        (["--memory-limit", "lots"], "no size in bytes"),
        (["--limit", "-1"], "--limit"),
        (["--threads", "0"], "--threads"),
        (["--nonsense"], "--nonsense"),
        (["--index", "0"], "--index goes with --unit"),
    ],
)
def test_wrong_usage_is_one_sentence(
    seamkit: Any, table: Path, arguments: list[str], says: str
) -> None:
    """Exit code 2, a sentence on standard error, no table and no traceback."""
    done = seamkit("scan", table, *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_a_missing_table_is_refused(seamkit: Any, tmp_path: Path) -> None:
    """A path without a table is exit code 2, as is none."""
    done = seamkit("scan", tmp_path / "none")
    assert (done.code, done.out) == (2, "")
    assert "there is no such folder" in done.err
    assert seamkit("scan").code == 2


@pytest.mark.parametrize("debug", ["", "1"])
def test_an_unexpected_error_is_exit_code_1(
    seamkit: Any, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    """A fault is told in a line; SEAMKIT_DEBUG=1 adds the traceback."""
    monkeypatch.setenv("SEAMKIT_DEBUG", debug)
    monkeypatch.setattr(tables, "opened_table", lambda _: FakeTable("crashing"))
    done = seamkit("scan", "t")
    assert done.code == 1
    assert "seamkit: unexpected: ZeroDivisionError: a fault" in done.err
    assert ("Traceback" in done.err) == bool(debug)


@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv", "jsonl"])
def test_a_failed_scan_leaves_no_file(
    seamkit: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """A read that fails half way leaves no file, not even a temporary one; an old one stays."""
    target = tmp_path / f"out.{ending}"
    target.write_text("old")
    monkeypatch.setattr(tables, "opened_table", lambda _: FakeTable("broken"))
    done = seamkit("scan", "t", "-o", target)
    assert done.code == 2
    assert "footer is cut off at byte 12" in done.err
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_warnings_are_told_and_counted(seamkit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ten places that were skipped are named with file and byte, the rest counted."""
    monkeypatch.setattr(tables, "opened_table", lambda _: FakeTable("warning"))
    done = seamkit("scan", "t", "--limit", "1")
    assert done.code == 0
    assert "warning: log.3: skipped at byte 3: block without footer" in done.err
    assert "warning: 2 more places were skipped" in done.err


@pytest.mark.parametrize("filter_", [[], ["--filter", "id % 7 = 3"], ["--filter", "id > 40"]])
def test_a_plan_is_read_elsewhere(
    seamkit: Any, table: Path, tmp_path: Path, filter_: list[str]
) -> None:
    """What was planned comes as if it were read at once, all of it or by its units."""
    plan, whole, part = (tmp_path / name for name in ("plan.json", "whole.arrow", "part.arrow"))
    planned = seamkit("plan", table, "--columns", "id,note", *filter_, "-o", plan)
    assert (planned.code, planned.out) == (0, "")
    assert "a plan of 1 unit written" in planned.err
    assert seamkit("scan", table, "--columns", "id,note", *filter_, "-o", whole).code == 0
    assert seamkit("scan", "--unit", plan, "--index", "0", "-o", part).code == 0
    assert pa.ipc.open_file(part).read_all() == pa.ipc.open_file(whole).read_all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["t"], "a plan says which table is read"),
        (["--columns", "id"], "--columns means nothing with --unit"),
        (["--strict"], "--strict means nothing with --unit"),
        (["--allow", "s3://"], "--allow means nothing with --unit"),
        (["--index", "7"], "7"),
    ],
)
def test_a_plan_has_decided(
    seamkit: Any, table: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    """What is read was said when it was planned: no option changes it."""
    assert seamkit("plan", table, "-o", tmp_path / "plan.json").code == 0
    done = seamkit("scan", "--unit", tmp_path / "plan.json", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_what_is_no_plan_is_refused(seamkit: Any, tmp_path: Path) -> None:
    """A file that is none, or is not there."""
    (tmp_path / "x.json").write_text("{}")
    assert seamkit("scan", "--unit", tmp_path / "x.json").code == 2
    assert "not readable" in seamkit("scan", "--unit", tmp_path / "none.json").err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero on this system")
@pytest.mark.parametrize(
    "given",
    [
        ["scan", "--unit"],
        ["inspect", "--format=presto"],
        ["page", "decode", "--schema=a bigint"],
    ],
    ids=lambda given: given[0],
)
def test_what_has_no_end_is_not_read_to_it(
    seamkit: Any, monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    """A device or a pipe that says no length gives so many bytes at most; a pipe may be a plan."""
    monkeypatch.setattr(command_scan, "_MOST_BYTES", 1 << 20)
    done = seamkit(*given, "/dev/zero")
    assert (done.code, done.out) == (2, "")
    assert "/dev/zero: more than 1,048,576 bytes" in done.err


def test_a_file_of_pages_may_be_larger_and_a_plan_may_not(
    seamkit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages have the length that their file has; and a plan comes from a pipe, too."""
    monkeypatch.setattr(command_scan, "_MOST_BYTES", 10)
    (tmp_path / "x").write_bytes(bytes(11))
    plan = seamkit("scan", "--unit", tmp_path / "x")
    assert "more than 10 bytes" in plan.err
    pages = seamkit("page", "decode", "--schema=a bigint", tmp_path / "x")
    assert "more than" not in pages.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--where", "id = 1"], "--where id = 1: say --filter"),
        (["--column", "id", "--where", "id = 1"], "where id = 1; did you mean '--columns'?"),
        (["--columns=id", "--limits=3"], "--limits=3; did you mean '--limit'?"),
        (["--json"], "unrecognized arguments: --json"),
        (["--zz9"], "unrecognized arguments: --zz9"),
        (["another"], "unrecognized arguments: another"),
    ],
)
def test_an_option_of_another_name_is_told(
    seamkit: Any, table: Path, given: list[str], said: str
) -> None:
    """Of the first option that a command lacks it is said which one is meant, if one is like it."""
    done = seamkit("scan", table, *given)
    assert done.code == 2
    assert done.err.endswith(f"{said}\n")


def test_a_command_of_another_name_is_told(seamkit: Any) -> None:
    """The nearest one; who names none is shown them all, as an error."""
    assert "; did you mean 'tables'?" in seamkit("tabels", "x").err
    assert "; did you mean 'decode'?" in seamkit("page", "decod", "x").err
    alone = seamkit()
    assert (alone.code, alone.out) == (2, "")
    assert "inspect" in alone.err

"""A table format, brought by a package from outside, is checked and measured like the others."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambench.contracts.tables import Written
from seambench.data.dataset import write_manifest
from seambench.data.tpch import TABLES, generate_single_process
from seambench.engines.digest import digest_reader, rows_of
from seambench.formats.golden import origin_text, pack
from seambench_suites.meta.house.installed import command_apart, command_here, install

_ENTRY_POINTS = """
[seambench.format]
toy = seambench_suites.meta.house.toy_format:FORMAT
[seambench.impl]
scan.toy = seambench_suites.meta.house.toy_format:ToyReader
[seambench.cases]
toy = seambench_suites.meta.house.toy_format:ROOT
"""
_CASES = {
    "listed": "[expect]\nrows = [{ k = 1, v = 'a' }, { k = 2, v = 'b' }]\n",
    "wrong": "[expect]\nrows = [{ k = 1, v = 'a' }]\n",
    "cut": '[[edit]]\nfile = "list:1"\nop = "truncate"\ncount = 3\n\n'
    '[expect]\nrefused = ["InputError"]\n',
}


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's metadata, and a suite of its own: one golden table and three cases."""
    install(tmp_path, "toy-format", _ENTRY_POINTS, monkeypatch)
    golden = tmp_path / "suite" / "golden" / "toy" / "letters"
    golden.mkdir(parents=True)
    rows = pa.table({"k": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})
    _write_table(tmp_path / "letters", rows)
    pack(tmp_path / "letters", golden / "table.zip")
    (golden / "table.toml").write_text(
        'columns = { k = "bigint", v = "string" }\nsteps = ["all"]\n'
    )
    origin = origin_text("toy", golden / "table.zip", None, Written(["1"]))
    (golden / "origin.toml").write_text(origin)
    cases = tmp_path / "suite" / "cases" / "scan" / "toy" / "small"
    cases.mkdir(parents=True)
    for name, text in _CASES.items():
        head = 'level = "must"\nrequirement = "only files that are listed count"\n'
        (cases / f"{name}.toml").write_text(f'{head}table = "letters"\n\n{text}')
    monkeypatch.setenv("TOY_SUITE", str(tmp_path / "suite"))


def _write_table(folder: Path, rows: pa.Table) -> None:
    """A toy table, and a file beside it that is not listed."""
    folder.mkdir()
    pq.write_table(rows, folder / "one.parquet")
    pq.write_table(rows, folder / "left-over.parquet")
    (folder / "toy.json").write_text('["one.parquet"]')


def test_check_judges_its_cases() -> None:
    """Cases find the format by their folder: right, wrong and damaged."""
    asked = ("check", "--impl", "toy", "--case", "scan/toy/*", "--json")
    done = command_apart("seambench.cli", *asked)
    words = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1, done.stderr
    assert {o["case"]: o["outcome"] for o in words if "case" in o} == {
        "scan/toy/small/cut": "pass",
        "scan/toy/small/listed": "pass",
        "scan/toy/small/wrong": "fail",
    }


def test_list_and_doctor_know_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Its name, its readers and its jars are told."""
    seambench = command_here(capsys)
    told = seambench("list", "formats", "--json")
    assert told.returncode == 0, told.stderr
    listed = json.loads(told.stdout)["formats"]
    examined = seambench("doctor", "--json")
    assert examined.returncode == 0, examined.stderr
    found = json.loads(examined.stdout)["findings"]
    [toy] = [row for row in listed if row["name"] == "toy"]
    assert (toy["title"], toy["layouts"]) == ("Toy", "toy-u<ratio>-s<share>")
    assert "scan.toy" in toy["readers"]
    assert "Toy's jar" in {finding["subject"] for finding in found}


def test_layouts_of_it_are_offered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where a layout is not known, its spelling stands among the others."""
    done = command_here(capsys)("data", "--layout", "nope", "--data", tmp_path / "data")
    assert done.returncode == 2
    assert "Toy: toy-u<ratio>-s<share>" in done.stderr


def test_bench_records_its_dimensions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A data set of it is measured, and a record carries its name and a dimension of its own."""
    _write_dataset(tmp_path / "data" / "sf0.001" / "toy-u0-s100", tmp_path / "made")
    data, results = tmp_path / "data", tmp_path / "results"
    knobs = ["--queries", "6", "--scans", "count", "--samples", 1, "--no-memory"]
    places = ["--data", data, "--results", results]
    done = command_here(capsys)("bench", "--reader", "toy", *knobs, *places)
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = results.rglob("*.json")
    rows = [
        found
        for found in _mappings(json.loads(file.read_text(encoding="utf-8")))
        if "dimensions" in found
    ]
    assert rows
    assert {(row["format"], row["dimensions"]["colour"]) for row in rows} == {("toy", "red")}


def _mappings(value: Any) -> list[dict[str, Any]]:
    """All objects within a JSON value."""
    if isinstance(value, list):
        return [found for one in value for found in _mappings(one)]
    if not isinstance(value, dict):
        return []
    return [value, *(found for one in value.values() for found in _mappings(one))]


def _write_dataset(folder: Path, made: Path) -> None:
    """A data set at a tiny scale in which `lineitem` is a toy."""
    generate_single_process(0.001, made, tuple(TABLES))
    folder.mkdir(parents=True)
    tables, expected = {}, {}
    for name, facts in TABLES.items():
        rows = pq.read_table(made / f"{name}.parquet").cast(facts.schema)
        toy = name == "lineitem"
        if toy:
            rows = rows.append_column("ts", pa.array([1000] * rows.num_rows, pa.int64()))
            _write_table(folder / name, rows)
        else:
            (folder / name).mkdir()
        pq.write_table(rows, folder / name / "one.parquet")
        tables[name] = {"kind": "toy" if toy else "parquet", "path": name}
        digest = digest_reader(rows)
        path = f"{name}/one.parquet"
        expected[name] = {"path": path, "ts": None, "rows": rows_of(digest), "digest": digest}
    knobs = {"generator": "tpchgen-cli", "slices": 1, "update_ratio": 0, "colour": "red"}
    states = {"snapshot": expected, "base": expected}
    manifest = {"layout": folder.name, "scale": 0.001, "tables": tables, "expected": states}
    write_manifest(folder, {**manifest, "knobs": knobs})

"""Queries of changes and branches, against what Paimon's core read of the same tables."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit.scan.scan import Scan
from seamkit.scan.units import DataFile, ReadContext, ReadUnit
from seamkit.tables.paimon.change_rows import changelog_rows, with_kinds
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.paimon_tables import scan_by, unpack_paimon, witnessed_paimon_tables

KINDS = {"i": ("+I",), "u": ("-U", "+U"), "d": ("-D",)}


def _reads(name: str) -> Iterator[tuple[Mapping[str, Any], list[list[str]]]]:
    """Steps of a golden table that read with options, and what the core read."""
    folder = SUITES_GOLDEN / "paimon" / name
    steps = tomllib.loads((folder / "table.toml").read_text(encoding="utf-8"))["steps"]
    witnesses = json.loads((folder / "witness.json").read_text(encoding="utf-8"))
    for step, witness in zip(steps, witnesses, strict=True):
        if isinstance(step, dict) and step.get("read"):
            yield step, witness["rows"]


TABLES = {name: reads for name in witnessed_paimon_tables() if (reads := list(_reads(name)))}
CHANGELOGS = sorted(name for name in TABLES if "changelog" in name)


def _query(step: Mapping[str, Any]) -> dict[str, Any]:
    """Options of Paimon's scan in the library's words."""
    options = step["read"]
    if "incremental-between" not in options:
        return {"as_of": options.get("scan.snapshot-id")}
    begin, end = options["incremental-between"].split(",")
    mode = options.get("incremental-between-scan-mode", "auto")
    return {"query": "incremental", "begin": begin, "end": end, "mode": mode}


def _check_told(scan: Any, rows: pa.Table) -> None:
    """Hold what a scan tells of the number of its rows against them."""
    told = scan.statistics().rows
    is_bound = told is not None and told.sure == "at most"
    assert told is None or told.value == rows.num_rows or (is_bound and told.value > rows.num_rows)


def _texts(row: Mapping[str, Any]) -> list[str]:
    return [f"{type(value).__name__}:{value}" for value in row.values()]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_was_written_is_what_the_core_reads(name: str, tmp_path: Path) -> None:
    """Rows as a multiset, without the retracts, which the core hands out with their kind."""
    folder = str(unpack_paimon(name, tmp_path))
    for step, rows in TABLES[name]:
        scan = PaimonTable(folder, branch=step.get("on")).scan(**_query(step))
        found = scan.to_table()
        _check_told(scan, found)
        expected = Counter(tuple(row[1:]) for row in rows if row[0] in ("+I", "+U"))
        assert Counter(tuple(_texts(row)) for row in found.to_pylist()) == expected, step


@pytest.mark.parametrize("name", sorted(TABLES))
@pytest.mark.parametrize("batch_rows", [1, 2, None])
def test_rows_with_their_kinds_are_those_that_the_core_reads(
    name: str, batch_rows: int | None, tmp_path: Path
) -> None:
    """All of them, retracts too, in batches of any size; a comparison of snapshots has none."""
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    compared = 0
    for step, rows in TABLES[name]:
        query = _query(step)
        if "on" in step or query.get("query") != "incremental":
            continue
        own = {**query, "row_kinds": True, "batch_rows": batch_rows}
        if query["mode"] == "diff" or not query["begin"].isdigit():
            with pytest.raises(UsageError, match="the mode diff has no row_kinds"):
                table.scan(**own)
            continue
        scan = table.scan(**own)
        assert scan.schema.names == ["rowkind", *table.schema.names]
        found = scan.to_table().to_pylist()
        told = Counter((row.pop("rowkind"), *_texts(row)) for row in found)
        assert told == Counter(map(tuple, rows)), step
        compared += 1
    assert compared or name == "core-branches"


def test_kinds_of_rows_can_be_filtered_and_counted(tmp_path: Path) -> None:
    """By either language, beside other columns, alone or unnamed; whichever columns are named."""
    table = PaimonTable(str(unpack_paimon("core-changes", tmp_path)))
    window: dict[str, Any] = {"query": "incremental", "begin": 0, "end": 5}
    for condition in ("rowkind = '-D'", pc.field("rowkind") == "-D"):
        scan = table.scan(["k"], filter=condition, row_kinds=True, **window)
        assert sorted(scan.to_table()["k"].to_pylist()) == [1, 3, 9]
        assert scan.count_rows() == 3
    assert table.scan(["k"], row_kinds=True, **window).count_rows() == 11
    frame = table.scan(row_kinds=True, **window).to_polars()
    assert dict(frame["rowkind"].value_counts().iter_rows()) == {"+I": 7, "-D": 3, "+U": 1}
    planned = scan_from_json(scan_to_json(table.scan(row_kinds=True, **window)))
    assert planned.to_table().equals(table.scan(row_kinds=True, **window).to_table())
    assert table.scan(**window).schema.names == ["k", "a", "b"]
    with pytest.raises(UsageError, match="a query snapshot has no row_kinds"):
        table.scan(row_kinds=True)
    with pytest.raises(UsageError, match="rowkind"):
        table.scan(["rowkind"], **window)


def test_rows_of_a_table_without_a_key_are_insertions(tmp_path: Path) -> None:
    """Its files tell no kinds."""
    table = PaimonTable(str(unpack_paimon("core-append", tmp_path)))
    found = table.scan(query="incremental", row_kinds=True).to_table()
    assert set(found["rowkind"].to_pylist()) == {"+I"}
    assert found.num_rows == table.scan(query="incremental").count_rows() > 0


def test_a_row_of_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    """Of one kind more than there are; the file is named."""
    rows = pa.table({"k": [1], "_VALUE_KIND": pa.array([4], pa.int8())})
    pq.write_table(rows, tmp_path / "a.parquet")
    reader = with_kinds(lambda: ParquetReader(Storage(str(tmp_path)), "a.parquet"))
    with pytest.raises(InputError, match=r"a\.parquet: a row has the unknown kind"):
        list(reader.batches(pa.schema({"rowkind": pa.string()}), 1, use_threads=False))


@pytest.mark.parametrize("name", CHANGELOGS)
def test_changes_are_those_of_the_changelog(name: str, tmp_path: Path) -> None:
    """Each image of a change is a row that the core hands out with the kind of the image."""
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    for step, rows in TABLES[name]:
        found = table.scan(**{**_query(step), "query": "cdc"}).to_table().to_pylist()
        images = Counter(
            (kind, *_texts(row))
            for change in found
            for kind in KINDS[change["op"]]
            if (row := change["after" if kind[0] == "+" else "before"]) is not None
        )
        assert images == Counter(map(tuple, rows)), step


def test_the_tables_are_read_in_every_mode() -> None:
    """The comparison is not empty: each mode, tags, branches and producers of changelogs occur."""
    steps = " ".join(str(step) for reads in TABLES.values() for step, _ in reads)
    words = ("delta", "changelog", "diff", "auto", "then,now", "'on': 'old'")
    assert all(word in steps for word in words)
    assert len(CHANGELOGS) == 3


def test_a_changelog_has_one_change_of_an_update(tmp_path: Path) -> None:
    """The rows before and after an update, which a changelog has one after the other, are one."""
    table = PaimonTable(str(unpack_paimon("core-changelog-lookup", tmp_path)))
    scan = table.scan(query="cdc", begin=2, end=4)
    _check_told(scan, scan.to_table())
    changes = scan.to_table().sort_by("op").to_pylist()
    found = [
        (c["op"], *((c["before"] or {}).values()), *((c["after"] or {}).values())) for c in changes
    ]
    assert found == [("d", 3, 3, "c"), ("i", 4, 4, "d"), ("u", 2, 2, "b", 2, 22, "bb")]


def test_differences_have_both_images(tmp_path: Path) -> None:
    """Between two snapshots a key is new, gone or changed, and rows alike are no change."""
    table = PaimonTable(str(unpack_paimon("core-changes", tmp_path)))
    scan = table.scan(query="cdc", begin=1, end=3, mode="diff")
    _check_told(scan, scan.to_table())
    changes = scan.to_table().to_pylist()
    found = {
        (c["op"], *((c["before"] or {}).values()), *((c["after"] or {}).values())) for c in changes
    }
    assert found == {
        ("u", 2, 2, "b", 2, 222, None),
        ("u", 3, 3, "c", 3, 33, "cc"),
        ("i", 4, 4, "d"),
    }
    assert len({change["ts_ms"] for change in changes}) == 1


@pytest.mark.parametrize("name", ["vectors-later", "vectors", "pk-life", "core-zero-keys"])
def test_differences_lead_from_each_state_to_the_next(name: str, tmp_path: Path) -> None:
    """Whatever was altered between two snapshots, both are compared as they were shown."""
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    numbers = sorted(state.name for state in table.history() if isinstance(state.name, int))
    changed = 0
    for begin, end in pairwise(numbers):
        before, after = (_rows(table.scan(as_of=number)) for number in (begin, end))
        scan = table.scan(query="cdc", begin=begin, end=end, mode="diff")
        for change in scan.to_table().to_pylist():
            before.subtract([repr(change["before"])] if change["before"] else [])
            before.update([repr(change["after"])] if change["after"] else [])
            changed += 1
        assert before == after
    assert changed > 2


def _rows(scan: Scan) -> Counter[str]:
    return Counter(map(repr, scan.to_table().to_pylist()))


@pytest.mark.parametrize("by_row", [False, True])
def test_both_zeros_of_a_key_are_one_key_of_differences(tmp_path: Path, by_row: bool) -> None:
    """A row whose key is spelled with the other sign is updated, and neither new nor gone."""
    table, path = unpack_paimon("core-zero-keys", tmp_path), "connector" if by_row else "auto"
    scan = scan_by(table, path, query="cdc", begin=1, end=2, mode="diff")
    found = {
        (c["op"], repr(c["before"] and c["before"]["k"]), repr(c["after"]["k"]))
        for c in scan.to_table().to_pylist()
    }
    assert found == {("u", "0.0", "-0.0"), ("i", "None", "inf")}


def test_changes_may_be_filtered_and_projected(tmp_path: Path) -> None:
    """Columns, filters and datasets work as for snapshots, over the columns of the query."""
    table = PaimonTable(str(unpack_paimon("core-changelog-input", tmp_path)))
    scan = table.scan(["op"], query="cdc", filter="op = 'd' or after.k = 4")
    ops = scan.to_table().column("op").to_pylist()
    assert sorted(ops) == ["d", "d", "d", "i"]
    assert table.scan(["a"], query="incremental", filter="k = 4").to_table().to_pylist() == [
        {"a": 4}
    ]


@pytest.mark.parametrize(
    ("asked", "error", "text"),
    [
        ({"query": "cdc"}, RefusedError, "keeps no changelog"),
        ({"query": "cdc", "mode": "delta"}, UsageError, "mode changelog or diff"),
        ({"query": "incremental", "mode": "changelog"}, RefusedError, "keeps no changelog"),
        ({"query": "incremental", "mode": "sideways"}, UsageError, "mode"),
        ({"query": "incremental", "as_of": 1}, UsageError, "incremental has no as_of"),
        ({"query": "snapshot", "begin": 1}, UsageError, "snapshot has no begin"),
        ({"query": "snapshot", "mode": "diff"}, UsageError, "snapshot has no mode"),
        ({"query": "incremental", "begin": 3, "end": 1}, UsageError, "before the begin"),
        ({"query": "incremental", "begin": 99}, UsageError, "no snapshot 99"),
        ({"query": "incremental", "begin": True}, UsageError, "begin is True"),
        ({"query": "incremental", "begin": "soon"}, UsageError, "a snapshot, a time or a tag"),
        ({"query": "incremental", "end": -1}, UsageError, "no snapshot -1"),
    ],
)
def test_what_has_no_answer_is_refused(
    asked: dict[str, Any], error: type[Exception], text: str, tmp_path: Path
) -> None:
    """Modes that do not fit, bounds that mean nothing, and changes that are not kept."""
    table = PaimonTable(str(unpack_paimon("core-changes", tmp_path)))
    with pytest.raises(error, match=text):
        table.scan(**asked).to_table()


def test_what_an_append_wrote_is_refused_where_it_rewrote_files(tmp_path: Path) -> None:
    """Paimon 0.9 commits what a delete leaves of a file as an append; 1.4 refuses it as well."""
    table = PaimonTable(str(unpack_paimon("append-rewritten", tmp_path)))
    read = table.scan(query="incremental", mode="delta", begin=2).to_table()
    assert read.to_pylist() == [{"k": 4, "v": "d"}]
    with pytest.raises(RefusedError, match="which rows are new is not told"):
        table.scan(query="incremental", mode="delta", begin=1)


def test_a_branch_has_an_address(tmp_path: Path) -> None:
    """`TABLE/branch/branch-NAME` is the branch, for `open_table` as well; others are refused."""
    folder = unpack_paimon("core-branches", tmp_path)
    old = seamkit.open_table(folder / "branch" / "branch-old")
    assert isinstance(old, PaimonTable)
    assert old.branch == "old"
    assert old.scan().to_table() == PaimonTable(str(folder), branch="old").scan().to_table()
    assert old.scan().to_table() != PaimonTable(str(folder), branch="main").scan().to_table()
    with pytest.raises(UsageError, match="no branch 'new'; branches: empty, old"):
        PaimonTable(str(folder), branch="new")
    with pytest.raises(UsageError, match="not 'empty'"):
        PaimonTable(f"{folder}/branch/branch-old", branch="empty")
    with pytest.raises(UsageError, match="name of a branch"):
        PaimonTable(str(folder), branch="../x")


def test_a_change_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    """A row of a changelog must be one of four kinds."""
    rows = pa.table({"k": [1], "_VALUE_KIND": pa.array([7], pa.int8())})
    pq.write_table(rows, tmp_path / "a.parquet")
    file = DataFile("a", 1, lambda: ParquetReader(Storage(str(tmp_path)), "a.parquet"))
    schema = pa.schema({"op": pa.string()})
    context = ReadContext(TrackedAllocator(), [])
    table = pa.schema({"k": pa.int64()})
    with pytest.raises(InputError, match="unknown kind"):
        list(changelog_rows(table, ["k"], ReadUnit("u", [file]), schema, 10, context))

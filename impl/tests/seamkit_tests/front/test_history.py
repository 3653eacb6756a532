"""States and files of tables of all formats, held to what the tables' own metadata say."""

import datetime as dt
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import seamkit
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.front.test_chains import opened
from seamkit_tests.samples.delta_tables import commit_path, vectors_into_log
from seamkit_tests.samples.outlets import bag

_BY_POSITION: Any = "x", ["k"], "k > 1"

State = tuple[str, int | str, int | None]
"""Kind, name, and time in milliseconds."""


def _delta(folder: Path) -> Iterator[State]:
    """Commits by their files: the time that they state, or else that of the file."""
    for path in sorted((folder / "_delta_log").glob("*.json")):
        if re.fullmatch(r"\d{20}\.json", path.name):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            said: Any = next((one["commitInfo"] for one in lines if "commitInfo" in one), {})
            millis = said.get("inCommitTimestamp", path.stat().st_mtime_ns // 10**6)
            yield "version", int(path.stem), millis


def _iceberg(folder: Path) -> Iterator[State]:
    """Snapshots and references of the newest metadata file."""
    files = (folder / "metadata").glob("v*.metadata.json")
    newest = max(files, key=lambda path: int(path.name[1:].partition(".")[0]))
    said = json.loads(newest.read_text())
    times = {one["snapshot-id"]: one["timestamp-ms"] for one in said["snapshots"]}
    for id_, millis in times.items():
        yield "snapshot", id_, millis
    for name, reference in said.get("refs", {}).items():
        yield reference["type"], name, times[reference["snapshot-id"]]


def _paimon(folder: Path) -> Iterator[State]:
    """Files of snapshots and tags, and folders of branches."""
    for path in folder.glob("snapshot/snapshot-*"):
        yield "snapshot", int(path.name[9:]), json.loads(path.read_text())["timeMillis"]
    for path in folder.glob("tag/tag-*"):
        yield "tag", path.name[4:], json.loads(path.read_text())["timeMillis"]
    for path in folder.glob("branch/branch-*"):
        yield "branch", path.name[7:], None


def _hudi(folder: Path) -> Iterator[State]:
    """Completed writes by the names of their files; when they completed is not compared."""
    names = "commit|deltacommit|replacecommit"
    for path in (folder / ".hoodie").rglob("*"):
        if match := re.fullmatch(rf"(\d{{17}})(_\d+)?\.({names})", path.name):
            yield "instant", match[1], None


@pytest.mark.parametrize(
    ("name", "witness"),
    [
        ("delta/travel", _delta),
        ("delta/vectors-restore", _delta),
        ("iceberg/travel", _iceberg),
        ("iceberg/expired", _iceberg),
        ("paimon/travel", _paimon),
        ("paimon/core-branches", _paimon),
        ("hudi/mor-v9-event", _hudi),
        ("hudi/mor-v6-event", _hudi),
        ("hudi/mor-v9-replaced", _hudi),
    ],
)
def test_states_are_those_that_the_metadata_name(tmp_path: Path, name: str, witness: Any) -> None:
    """All of them, with their times, the newest first; each can be read."""
    table = opened(name, tmp_path)
    root = Path(re.split(r"[ ,]", repr(table))[1])
    found = table.history()
    expected = list(witness(root))
    timed = [one for one in found if one.kind != "instant"]
    assert {(one.kind, one.name) for one in found} == {state[:2] for state in expected}
    times = {(one.kind, one.name): one.time for one in timed}
    for kind, key, millis in expected:
        if millis is not None and name != "delta/vectors-restore":  # unpacked in one millisecond
            at = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(milliseconds=millis)
            assert times[kind, key] == at
    points = [one for one in found if one.kind in ("version", "snapshot", "instant")]
    moments = [one.time for one in points]
    assert None not in moments
    assert moments == sorted(moments, key=lambda time: time or 0, reverse=True)
    assert found[:2] == table.history(limit=2)
    assert all(one.operation for one in points)
    for one in found:
        if one.kind == "branch" and isinstance(table, seamkit.PaimonTable):
            assert seamkit.PaimonTable(root, branch=str(one.name)).branch == one.name
        else:
            table.scan(as_of=one.name).to_table()
    if name != "paimon/core-branches" and name != "iceberg/travel":
        newest = table.scan(as_of=points[0].name).to_table()
        assert bag(newest) == bag(table.to_arrow())


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_instants_that_were_archived_are_states_too(tmp_path: Path, version: str) -> None:
    """All that the writer made, the newest first; who asks for few does not open the archive."""
    name = f"hudi/archived/{version}"
    made = tomllib.loads((SUITES_GOLDEN / name / "origin.toml").read_text())["instants"]
    table = opened(name, tmp_path)
    found = table.history()
    assert [one.name for one in found] == sorted(made, reverse=True)
    assert [one.operation for one in found] == ["UPSERT"] * (len(made) - 1) + ["BULK_INSERT"]
    [*_, archive] = [*tmp_path.rglob("history/*.parquet"), *tmp_path.rglob("archived/.commits_*")]
    archive.write_bytes(b"no archive")
    table = seamkit.open_table(next(tmp_path.rglob(".hoodie")).parent)
    assert table.history(limit=2) == found[:2]
    with pytest.raises(seamkit.InputError, match=re.escape(archive.name)):
        table.history()


def _kept_by_delta(root: Path, version: int | str) -> set[str]:
    """Paths that commits up to a version add and do not remove; a new vector is both."""
    kept: set[str] = set()
    for number in range(int(version) + 1):
        lines = (root / "_delta_log" / f"{number:020}.json").read_text().splitlines()
        actions = [json.loads(line) for line in lines]
        kept -= {one["remove"]["path"] for one in actions if "remove" in one}
        kept |= {one["add"]["path"] for one in actions if "add" in one}
    return kept


def _kept_by_hudi(root: Path, instant: int | str) -> set[str]:
    """Base files and logs of version 9, whose names end with what wrote them."""
    names = [path.name for path in root.iterdir() if re.search(r"_\d{17}\.", path.name)]
    return {one for one in names if re.findall(r"_(\d{17})\.", one)[-1] <= str(instant)}


@pytest.mark.parametrize(
    ("name", "witness"), [("delta/travel", _kept_by_delta), ("hudi/archived/v9", _kept_by_hudi)]
)
def test_files_are_those_of_the_state_that_is_meant(
    tmp_path: Path, name: str, witness: Any
) -> None:
    """Of each state those that the log keeps until then, or that were written until then."""
    table = opened(name, tmp_path)
    root = Path(re.split(r"[ ,]", repr(table))[1])
    seen = []
    for state in table.history():
        files = table.files(state.name)
        seen.append({Path(one.path).name for one in files if one.kind != "deletion vector"})
        assert seen[-1] == witness(root, state.name)
    assert table.files() == table.files(table.history()[0].name)
    assert len(set(map(frozenset, seen))) > 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("iceberg/travel", lambda one: (one["snapshot-id"], int(one["summary"]["total-records"]))),
        ("paimon/travel", lambda one: (one["id"], one["totalRecordCount"])),
    ],
)
def test_files_of_a_state_have_its_rows(tmp_path: Path, name: str, said: Any) -> None:
    """As many as each snapshot itself says that its data files have."""
    table = opened(name, tmp_path)
    root = Path(re.split(r"[ ,]", repr(table))[1])
    newest = max(root.glob("metadata/v*.json"), default=None)
    texts = [path.read_text() for path in root.glob("snapshot/snapshot-*")]
    snapshots = json.loads(newest.read_text())["snapshots"] if newest else map(json.loads, texts)
    expected = dict(map(said, snapshots))
    assert len(set(expected.values())) > 1
    for id_, rows in expected.items():
        data = [one for one in table.files(id_) if one.kind in ("data file", "sorted run")]
        assert sum(one.rows or 0 for one in data) == rows


def test_a_hive_table_has_no_past(tmp_path: Path) -> None:
    """Its list of states is empty, and says which columns it would have."""
    table = opened("hive/orc-evolved", tmp_path)
    assert table.history() == []
    assert repr(table.history()) == "none (kind, name, time, operation)"
    assert table.history(limit=0) == table.history(limit=1 << 70) == []
    with pytest.raises(seamkit.UsageError, match="limit is -1"):
        table.history(limit=-1)
    with pytest.raises(seamkit.UsageError, match="a Hive table has no past"):
        table.files("2026-11-01")


def test_a_day_means_its_first_moment(tmp_path: Path) -> None:
    """In every format that has a past: the same rows, or the same refusal, as for its text."""
    for name in ("delta/vectors-several", "iceberg/travel", "paimon/travel", "hudi/mor-v9-event"):
        table = opened(name, tmp_path / name)
        for day in (dt.date(1999, 12, 31), dt.date(2100, 1, 1)):
            answers: list[Any] = []
            for moment in (day, day.isoformat(), dt.datetime.combine(day, dt.time())):
                try:
                    answers.append(bag(table.scan(as_of=moment).to_table()))
                except seamkit.UsageError as error:
                    answers.append(type(error))
            assert answers[0] == answers[1] == answers[2]
            assert day.year == 1999 or answers[0] == bag(table.to_arrow())


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("delta/vectors-several", "cdc"),
        *(
            (name, "incremental")
            for name in ("iceberg/travel", "paimon/travel", "hudi/mor-v9-event")
        ),
    ],
)
def test_a_state_as_a_moment_says_to_give_its_name(name: str, changes: Any, tmp_path: Path) -> None:
    """In every format that has a past, and wherever a moment is meant, in few words."""
    table = opened(name, tmp_path)
    state: Any = table.history()[0]
    says = f"is a TableState: give its name, {{}}={re.escape(repr(state.name))}$"
    with pytest.raises(seamkit.UsageError, match=says.format("as_of")):
        table.scan(as_of=state)
    with pytest.raises(seamkit.UsageError, match=says.format("as_of")):
        table.files(state)
    with pytest.raises(seamkit.UsageError, match=says.format("begin")):
        table.scan(query=changes, begin=state)


@pytest.mark.parametrize(
    ("name", "rows", "kinds"),
    [
        ("delta/vectors-several", 8, {"data file", "deletion vector"}),
        ("iceberg/equality-and-positions", None, {"data file", "equality deletes"}),
        ("paimon/pk-levels", 41, {"data file", "sorted run"}),
        ("hudi/mor-v9-event", None, {"data file", "log"}),
        ("hive/orc-evolved", None, {"data file"}),
    ],
)
def test_files_are_there_once_with_what_changes_them(
    tmp_path: Path, name: str, rows: int | None, kinds: set[str]
) -> None:
    """Each lies where its path says, has its size there, and what changes it is listed, too."""
    table = opened(name, tmp_path)
    files = table.files()
    assert kinds <= {one.kind for one in files}
    assert len({(one.path, one.kind, one.size_bytes) for one in files}) == len(files)
    for one in files:
        own = Path(one.path).stat().st_size
        assert one.size_bytes <= own if one.kind == "deletion vector" else one.size_bytes == own
    paths = {one.path for one in files}
    changed = [one for one in files if one.changed_by]
    assert all(set(one.changed_by) <= paths for one in changed)
    assert bool(changed) == (len(kinds) > 1)
    if rows is not None:
        assert sum(one.rows or 0 for one in files if "vector" not in one.kind) == rows
    assert all(one.path[-20:] in repr(files) for one in files)


def test_files_of_a_clone_lie_where_they_are(tmp_path: Path) -> None:
    """A shallow clone lists its source's files and vectors where they lie, and its own beside."""
    opened("delta/clone-shallow", tmp_path)
    for commit in (tmp_path / "_delta_log").glob("*.json"):
        text = commit.read_text()
        commit.write_text(text.replace("file:/tmp/golden-delta/clone-shallow", tmp_path.as_uri()))
    for shortcut in [*tmp_path.rglob("*.crc"), *tmp_path.glob("_delta_log/*checkpoint*")]:
        shortcut.unlink()
    table = seamkit.open_table(str(tmp_path))
    files = table.files()
    places = Counter(str(Path(one.path).parent.relative_to(tmp_path)) for one in files)
    assert places == {"source/p=x y": 1, "source": 1, "p=w": 1}
    assert all(Path(one.path).is_file() for one in files)
    [vector] = [one for one in files if one.kind == "deletion vector"]
    assert [one.changed_by for one in files if one.changed_by] == [(vector.path,)]
    assert table.count_rows() == sum(one.rows or 0 for one in files) - 2 * (vector.rows or 0)


@pytest.mark.parametrize("alike", [False, True])
def test_vectors_within_the_log_are_files_of_their_own(alike: bool, tmp_path: Path) -> None:
    """Each is listed as those of a file are, also where two of them are the same bytes."""
    table = opened("delta/vectors-two-files", tmp_path)
    apart = [one for one in table.files() if "part-00000-a4e6" not in one.path]
    vectors_into_log(tmp_path)
    commit = commit_path(tmp_path, 5)
    texts = re.findall(r'"pathOrInlineDv": ?"([^"]{45})"', commit.read_text())
    assert len(set(texts)) == 2
    if alike:
        commit.write_text(commit.read_text().replace(*texts))
    within = [one for one in seamkit.open_table(str(tmp_path)).files() if one.rows != 1]

    def told(files: Iterable[Any]) -> Counter[Any]:
        return Counter((one.kind, one.rows, one.size_bytes, len(one.changed_by)) for one in files)

    assert told(within[:4]) == told(apart[:4])
    vectors = {one.path for one in within if one.kind == "deletion vector"}
    assert vectors == {str(tmp_path / "_delta_log")}


@pytest.mark.parametrize(
    "name",
    [
        *("delta/partitions-texts", "delta/vectors-random-prefix", "hive/text-partitions"),
        *("hudi/mor-v9-partitioned", "iceberg/positions-partitioned", "paimon/append-partitions"),
    ],
)
def test_files_of_an_address_have_addresses(tmp_path: Path, name: str) -> None:
    """The same ones as in a folder, where escaped names and absolute ones lie."""
    here = {
        Path(one.path).relative_to(tmp_path).as_posix() for one in opened(name, tmp_path).files()
    }
    memory = fsspec.filesystem("memory")
    memory.put(f"{tmp_path}/", "/moved/", recursive=True)
    try:
        files = seamkit.open_table("memory://moved").files()
        assert {one.path.removeprefix("memory://moved/") for one in files} == here
        assert all(memory.exists(one.path) for one in files)
    finally:
        memory.rm("/moved", recursive=True)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (lambda table: table.to_panda(), "did you mean 'to_pandas'"),
        (lambda table: table.read(), "call to_arrow"),
        (lambda table: table.write(), "tables are read here, not written"),
        (lambda table: table.snapshots(), "call history"),
        (lambda table: table.as_of(1), r"call scan\(as_of=...\)"),
        (lambda table: table.dtypes, "ask schema.types"),
        (lambda table: table.show(), r"call head\(\)"),
        (lambda table: table.tail(2), r"rows have no order: call head\(\)"),
        (lambda table: table.refresh(), r"call open_table\(path\) again"),
        (lambda table: table.changes(1, 2), r"call scan\(query=...\), begin= and end="),
        (lambda table: table.scan(incremental=1), "say query=, begin= and end="),
        (lambda table: table.scan(filter=" "), "filter is an empty text"),
        (lambda table: table.scan().first(), r"call head\(1\)"),
        (lambda table: table.history().to_pandas(), r"a list, which pandas.DataFrame\(...\) takes"),
        (lambda table: table.sql("SELECT 1"), r"call register\(connection, name, table\)"),
        (lambda table: table.scan().collect(), "call to_table"),
        (lambda table: table.to_parquet("a"), r"call to_polars\(\).write_parquet"),
        (lambda table: table.scan().to_parquet("a"), r"call to_polars\(\).write_parquet"),
        (lambda table: table.scan().where("k = 1"), r"call filter\(\)"),
        (lambda table: table.scan(limit=5), r"scan\(\) has no keyword 'limit': call scan\(...\).l"),
        (lambda table: table.scan(colums=["k"]), "did you mean 'columns'"),
        (lambda table: table.scan(["k"], "k > 1"), r"scan\(\) takes columns by .* filter='k > 1'"),
        (lambda table: table.to_arrow(["k"], [("k", ">", 1)]), r"say filter=\[\('k', '>', 1\)\]"),
        (lambda table: table.head(1, ["k"], None), r"head\(\) takes rows, columns by position"),
        (lambda table: table.count_rows("k > 1"), r"count_rows\(\) takes nothing by position"),
        (lambda table: table.count_rows(filters="k > 1"), "say filter="),
        (lambda _: seamkit.scan_table(*_BY_POSITION), "takes path, columns by position"),
        (lambda table: table.statistics(), r"call scan\(\).statistics\(\)"),
        (lambda table: table.scan(snapshot_id=5), "say as_of="),
        (lambda table: table.scan(nonsense=5), "it has columns, filter, query"),
        (lambda table: len(table), r"has no len\(\): call count_rows"),
        (lambda table: len(table.scan()), r"has no len\(\): call count_rows"),
        (lambda table: table["k"], r"is not indexed: call scan\(\['a', 'b'\]\)"),
        (lambda table: table.scan()[:5], r"is not indexed: call select\('a', 'b'\)"),
        (lambda table: "k" in table, "ask schema.names"),
        (lambda table: "k" in table.scan(), "ask schema.names"),
        (lambda table: pd.DataFrame(table), "is no array: call to_pandas"),
        (lambda table: pd.DataFrame(table.scan()), "is no array: call to_pandas"),
        (lambda table: np.asarray(table.scan()), "is no array: call to_pandas"),
        (lambda table: table.scan(["zz9"]), "no column 'zz9'; the columns are .*k"),
        (lambda table: table.scan(["K"]), "no column 'K'; did you mean 'k'"),
    ],
)
def test_what_is_not_there_says_what_is(tmp_path: Path, asked: Any, says: str) -> None:
    """A method, a keyword or a length that others have, in every format."""
    for name in ("delta/vectors-several", "hive/orc-evolved", "hudi/mor-v9-event"):
        table = opened(name, tmp_path / name)
        with pytest.raises((AttributeError, TypeError, seamkit.UsageError), match=says):
            asked(table)
        assert table


@pytest.mark.parametrize(
    "name",
    [
        *("delta/types", "delta/mapping-partitions", "hive/duckdb-types"),
        *("hudi/mor-v9-partitioned", "iceberg/vectors-partitioned", "paimon/pk-partitions"),
    ],
)
def test_a_table_is_what_others_take_it_for(tmp_path: Path, name: str) -> None:
    """Frames, batches and queries made of the table itself have the columns that it tells."""
    table = opened(name, tmp_path)
    whole = table.to_arrow()
    assert table.columns == whole.column_names
    assert pa.schema(table) == whole.schema.remove_metadata()
    assert pa.table(table).schema == whole.schema
    assert sum(batch.num_rows for batch in table) == whole.num_rows
    assert pl.DataFrame(table.scan(["k"])).columns == ["k"]
    keys = (duckdb.from_arrow(one).order("k").select("k").fetchall() for one in (table, whole))
    assert next(keys) == next(keys)
    meta = [one for one in table.schema.names if one not in table.columns]
    assert ("and when they are named: " + ", ".join(meta) in repr(table)) == bool(meta)
    assert bool(meta) == name.startswith("hudi")


def test_a_notebook_shows_first_rows(tmp_path: Path) -> None:
    """Columns with types, rows, nulls as such."""
    table = opened("hive/orc-evolved", tmp_path)
    for shown in (table._repr_html_(), table.scan()._repr_html_()):
        assert "<th>k<br>int32</th>" in shown
        assert "<td>null</td>" in shown
        assert shown.count("<tr>") == 3


@pytest.mark.parametrize("name", [f"{one}/travel" for one in ("delta", "iceberg", "paimon")])
def test_head_and_count_rows_take_what_scan_takes(tmp_path: Path, name: str) -> None:
    """Columns, a filter by words or tuples, and a state of the past."""
    table = opened(name, tmp_path)
    numbers = [one.name for one in table.history() if one.kind in ("version", "snapshot")]
    counts = [table.count_rows(as_of=number) for number in numbers]
    assert counts == [table.to_arrow(as_of=number).num_rows for number in numbers]
    assert len(set(counts)) > 1
    one, *others = sorted(table.to_arrow()["k"].to_pylist())
    assert table.count_rows(filter=[("k", "!=", one)]) == len(others)
    assert table.count_rows(filter=f"k = {one}") == 1
    assert table.head(9, ["k"], filter=f"k = {one}").to_pydict() == {"k": [one]}
    assert table.head(1, as_of=numbers[0]).num_rows == 1


@pytest.mark.parametrize("name", [f"{one}/travel" for one in ("delta", "iceberg", "paimon")])
def test_a_moment_before_all_states_is_refused_with_the_first(tmp_path: Path, name: str) -> None:
    """So that the caller can ask again; what `history` lists last is the oldest."""
    table = opened(name, tmp_path)
    oldest = table.history()[-1]
    assert oldest.time is not None
    told = re.escape(f"the oldest, {oldest.name}, is of {oldest.time}")
    with pytest.raises(seamkit.UsageError, match=told):
        table.scan(as_of="2001-01-01")
    assert table.count_rows(as_of=oldest.time) == table.count_rows(as_of=oldest.name)

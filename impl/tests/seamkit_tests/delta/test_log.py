"""The log of a Delta table: versions, times, paths, compactions, and what a plan says."""

import datetime as dt
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import TableWarning
from seamkit.tables.delta.log.actions import canonical
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests.samples.delta_tables import (
    change_actions,
    commit_path,
    edit_actions,
    rows_of_table,
    unpack_delta,
)


def _ks(table: Path, **how: Any) -> list[int]:
    return sorted(rows_of_table(table, **how).column("k").to_pylist())


def _date(table: Path, version: int, second: float) -> None:
    """Give a commit's file a time on 1 January 2024."""
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC).timestamp() + second
    os.utime(commit_path(table, version), (at, at))


def test_times_of_files_decide_and_always_grow(tmp_path: Path) -> None:
    """A commit whose file is not later than its forerunner's counts as a millisecond later."""
    table = unpack_delta("checkpoint-no-json-stats", tmp_path)
    for version, second in ((0, 10), (1, 20), (2, 5)):
        _date(table, version, second)

    def at(text: str) -> list[int]:
        return _ks(table, as_of=f"2024-01-01T00:00:{text}Z")

    assert at("10") == []
    assert at("19.999") == []
    assert at("20") == [1]
    assert at("20.001") == [1, 2]
    assert _ks(table, as_of=dt.datetime(2030, 1, 1, tzinfo=dt.UTC)) == [1, 2]
    with pytest.raises(UsageError, match="as old as"):
        at("09.999")


def test_times_that_commits_state_count_and_not_those_of_files(tmp_path: Path) -> None:
    """With in-commit timestamps the files' times mean nothing."""
    table = unpack_delta("travel", tmp_path)
    millis: dict[int, int] = {}
    for version in range(4):
        _date(table, version, -version)

        def note(action: dict[str, Any], version: int = version) -> None:
            if "commitInfo" in action:
                millis[version] = action["commitInfo"]["inCommitTimestamp"]

        edit_actions(table, version, note)
    moments = {v: dt.datetime.fromtimestamp(m / 1000, dt.UTC) for v, m in millis.items()}

    assert _ks(table, as_of=moments[1]) == [1, 2]
    assert _ks(table, as_of=moments[2]) == [2]
    assert _ks(table, as_of=moments[3].isoformat()) == [2, 3]
    with pytest.raises(UsageError):
        _ks(table, as_of=moments[0] - dt.timedelta(milliseconds=1))


def test_times_before_and_after_they_were_stated(tmp_path: Path) -> None:
    """The version that switched them on splits the two worlds."""
    table = unpack_delta("travel-by-file-times", tmp_path)
    for version in range(5):
        _date(table, version, version)
    assert _ks(table, as_of="2024-01-01T00:00:01Z") == [1]
    assert _ks(table, as_of="2024-01-01T00:01:00Z") == [1, 2]


def test_times_are_found_though_a_table_forgot_since_when_they_are_stated(tmp_path: Path) -> None:
    """Delta 3.3.2 drops both properties when the table is replaced (delta#4766).

    Spark reads the newest versions at their times, and no version before.
    """
    table = unpack_delta("travel-by-file-times", tmp_path)
    stated = {
        version: json.loads(commit_path(table, version).read_text().splitlines()[0])
        for version in (3, 4)
    }
    moments = {
        version: dt.datetime.fromtimestamp(one["commitInfo"]["inCommitTimestamp"] / 1000, dt.UTC)
        for version, one in stated.items()
    }

    def forget(action: dict[str, Any]) -> None:
        if "metaData" in action:
            for what in ("Version", "Timestamp"):
                del action["metaData"]["configuration"][f"delta.inCommitTimestampEnablement{what}"]

    edit_actions(table, 3, forget)
    for crc in (table / "_delta_log").glob("*.crc"):
        crc.unlink()
    assert _ks(table, as_of=moments[4]) == [1, 2, 3]
    assert _ks(table, as_of=moments[4] - dt.timedelta(milliseconds=1)) == [1, 2]
    assert _ks(table, as_of=moments[3]) == [1, 2]
    with pytest.raises(InputError, match="the commit does not state its time"):
        _ks(table, as_of=moments[3] - dt.timedelta(milliseconds=1))


@pytest.mark.parametrize("as_of", ["", "yesterday", "1.5", "-1"])
def test_neither_a_version_nor_a_time(tmp_path: Path, as_of: str) -> None:
    """Refused before anything is read."""
    table = unpack_delta("evolution", tmp_path)
    with pytest.raises(UsageError):
        rows_of_table(table, as_of=as_of)


def test_versions_that_are_not_there(tmp_path: Path) -> None:
    """Neither clamped to the newest, nor counted from the end."""
    table = DeltaTable(str(unpack_delta("evolution", tmp_path)))
    for version in (6, -1):
        with pytest.raises(UsageError, match="no version"):
            table.scan(as_of=version)


def test_a_newer_checkpoint_does_not_serve_an_older_version(tmp_path: Path) -> None:
    """Versions before the checkpoint come from the commits."""
    table = unpack_delta("checkpoint-classic", tmp_path)
    assert _ks(table, as_of=2) == [1, 2]
    assert _ks(table, as_of="4") == [1, 2, 3, 4]


def test_a_lost_last_commit_is_refused_while_its_checksum_is_there(tmp_path: Path) -> None:
    """A checksum file comes after its commit; the version before is read by its number."""
    table = unpack_delta("vectors-several", tmp_path)
    before = _ks(table, as_of=3)
    commit_path(table, 4).unlink()
    for how in ({}, {"strict": True}, {"as_of": "2999-01-01"}):
        with pytest.raises(InputError, match=r"4\.crc: .* version 4, whose .* as_of=3 reads"):
            rows_of_table(table, **how)
    assert _ks(table, as_of=3) == _ks(table, as_of="3") == before
    assert not DeltaTable(str(table)).scan(as_of=3).report().warnings


def test_a_commit_that_comes_during_the_listing_is_not_lost(tmp_path: Path) -> None:
    """A folder that is listed while a version is written may show its checksum file alone."""
    table = unpack_delta("vectors-several", tmp_path)
    before = _ks(table, as_of=3)
    commit = commit_path(table, 4)
    away = commit.rename(table / "away")
    opened = DeltaTable(str(table))
    away.rename(commit)
    assert sorted(opened.scan().to_table()["k"].to_pylist()) == before


@pytest.mark.parametrize("name", ["numFiles", "tableSizeBytes"])
def test_a_version_of_other_numbers_than_its_checksum_file_says_is_refused(
    tmp_path: Path, name: str
) -> None:
    """Both numbers are named; other versions, and checksum files that are none, are not held."""
    table = unpack_delta("vectors-several", tmp_path)
    whole = _ks(table)
    path = commit_path(table, 4).with_suffix(".crc")
    told = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(told | {name: 77}), encoding="utf-8")
    with pytest.raises(
        InputError, match=rf"4\.crc: it says {name} 77, .* adds up to {told[name]}:"
    ):
        rows_of_table(table)
    rows_of_table(table, as_of=3)
    forms: tuple[Any, ...] = ("x", [], float("inf"))
    for broken in forms:
        path.write_text(json.dumps(told | {name: broken}), encoding="utf-8")
        with pytest.warns(TableWarning, match="no checksum of a version"):
            assert _ks(table) == whole


def test_a_sidecar_of_another_size_than_its_checkpoint_says_is_refused(tmp_path: Path) -> None:
    """Bytes behind the footer's end are not Parquet's to see; `sizeInBytes` counts every one."""
    table = unpack_delta("checkpoint-v2-json", tmp_path)
    [top] = table.glob("_delta_log/*.checkpoint.*.json")
    text = top.read_text(encoding="utf-8")
    size = int(re.findall(r'"sizeInBytes":(\d+)', text)[0])
    assert rows_of_table(table).num_rows
    top.write_text(text.replace(f'"sizeInBytes":{size}', f'"sizeInBytes":{size + 1}'), "utf-8")
    with pytest.raises(InputError, match=rf"{size:,} bytes, the checkpoint says {size + 1}"):
        rows_of_table(table)


def test_a_file_that_is_removed_and_was_never_added_is_a_warning(tmp_path: Path) -> None:
    """A line is lost, or a path wrong."""
    table = unpack_delta("overwrite", tmp_path)
    opened = DeltaTable(str(table))
    removed = {"path": "none.parquet", "dataChange": True}
    assert not opened.scan().report().warnings
    commit = commit_path(table, opened.version + 1)
    lines = [{"remove": removed}, {"remove": removed | {"path": "other.parquet"}}]
    commit.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for again in range(2):  # on top of the version that is kept, and kept itself
        [warning] = DeltaTable(str(table)).scan().report().warnings
        assert warning.file.endswith(f"{commit.name}, line 1"), again
        assert "removes none.parquet, which no commit up to it adds, nor 1 more" in warning.reason


def test_a_file_that_one_commit_removes_and_adds_is_no_warning(tmp_path: Path) -> None:
    """It is there, as it may be by another deletion vector, whether or not it was before."""
    table = unpack_delta("overwrite", tmp_path)
    newest = DeltaTable(str(table)).version
    actions = map(json.loads, commit_path(table, newest).read_text("utf-8").splitlines())
    add = next(action["add"] for action in actions if "add" in action) | {"path": "new.parquet"}
    lines = [{"remove": {"path": "new.parquet", "dataChange": True}}, {"add": add}]
    commit_path(table, newest + 1).write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert not DeltaTable(str(table)).scan().report().warnings


def test_a_checkpoint_tells_what_was_added_before_it(tmp_path: Path) -> None:
    """What it neither has nor had is a warning; a file that it says was removed may go again."""
    table = unpack_delta("deltalake-optimized", tmp_path)
    newest = DeltaTable(str(table)).version
    [checkpoint] = table.glob("_delta_log/*.checkpoint.parquet")
    gone = [one["path"] for one in pq.read_table(checkpoint)["remove"].to_pylist() if one]
    assert gone
    commit = commit_path(table, newest + 1)
    for path, count in ((gone[0], 0), ("none.parquet", 1)):
        commit.write_text(json.dumps({"remove": {"path": path, "dataChange": True}}))
        for again in range(2):  # on top of the version that is kept, and kept itself
            found = DeltaTable(str(table)).scan().report().warnings
            assert len(found) == count, (path, again)


def test_a_file_that_is_removed_twice_is_no_warning(tmp_path: Path) -> None:
    """It has been there, whatever version is kept of an earlier read."""
    table = unpack_delta("overwrite", tmp_path)
    newest = DeltaTable(str(table)).version
    rows_of_table(table)
    gone = [
        action
        for version in range(newest + 1)
        for action in map(json.loads, commit_path(table, version).read_text("utf-8").splitlines())
        if "remove" in action
    ]
    assert gone
    text = "\n".join(map(json.dumps, gone))
    commit_path(table, newest + 1).write_text(text, encoding="utf-8")
    assert not DeltaTable(str(table)).scan().report().warnings


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(("after", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_a_time_that_is_not_later_than_the_one_before_is_a_warning(
    tmp_path: Path, after: int, count: int, *, kept: bool
) -> None:
    """In-commit timestamps grow, whether or not the version before is kept of an earlier read."""
    table = unpack_delta("travel", tmp_path)
    assert not DeltaTable(str(table)).scan().report().warnings
    times: list[int] = []

    def read(action: dict[str, Any]) -> None:
        if "commitInfo" in action:
            times.append(action["commitInfo"]["inCommitTimestamp"])

    edit_actions(table, 2, read)
    change_actions(table, 3, "commitInfo", inCommitTimestamp=times[0] + after)
    if kept:
        rows_of_table(table, as_of=2)
    warnings = DeltaTable(str(table)).scan().report().warnings
    assert [w.reason for w in warnings] == [
        f"its inCommitTimestamp {times[0] + after} is not later than {times[0]}, the one before"
    ] * count


def test_times_before_they_were_switched_on_are_nothing(tmp_path: Path) -> None:
    """A commit may state a time that nobody asked it for."""
    table = unpack_delta("travel-by-file-times", tmp_path)
    for version in (0, 1):
        change_actions(table, version, "commitInfo", inCommitTimestamp=9 - version)
    assert not DeltaTable(str(table)).scan().report().warnings


def test_percent_escapes_are_taken_off_once() -> None:
    """As UTF-8; a plus sign is one."""
    assert canonical("p=a%253Ab/%C3%BC+x") == "p=a%3Ab/ü+x"
    for broken in ("a%", "a%2", "%zz", "%ff"):
        with pytest.raises(InputError):
            canonical(broken)


@pytest.mark.parametrize("path", ["../a.parquet", "x/../../a.parquet", "%2e%2e/a.parquet", ""])
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_relative_paths_stay_in_the_table(tmp_path: Path, path: str) -> None:
    """Others are refused."""
    table = unpack_delta("emptied", tmp_path)
    change_actions(table, 1, "add", path=path)
    with pytest.raises(InputError, match="out of the table"):
        rows_of_table(table, as_of=1)


def test_a_folder_that_is_no_table(tmp_path: Path) -> None:
    """Said in a sentence."""
    with pytest.raises(InputError, match="no Delta table"):
        DeltaTable(str(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(InputError, match="no Delta table"):
        DeltaTable(str(tmp_path))


def test_queries_that_a_delta_table_has_not(tmp_path: Path) -> None:
    """Refused by name."""
    table = DeltaTable(str(unpack_delta("emptied", tmp_path)))
    with pytest.raises(RefusedError, match="incremental"):
        table.scan(query="incremental")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'x'"):
        table.scan(["x"])
    with pytest.raises(UsageError, match="twice"):
        table.scan(["k", "k"])
    with pytest.raises(UsageError, match="list of names"):
        table.scan("k")


def test_a_filter_leaves_files_unopened_by_statistics_and_partitions(tmp_path: Path) -> None:
    """Pruned files need not even be there."""
    table = unpack_delta("vectors-two-files", tmp_path)
    condition = pc.field("k") == 10
    explained = DeltaTable(str(table)).scan(filter=condition).explain()
    assert explained.count("pruned") == 2
    kept = next(line.split()[1] for line in explained.splitlines() if " native " in line)
    for file in table.glob("*.parquet"):
        if file.name != kept:
            file.unlink()
    assert _ks(table, filter=condition) == [10]
    parted = unpack_delta("partitions-in-the-middle", tmp_path)
    for folder in parted.glob("q=10"):
        shutil.rmtree(folder)
    assert rows_of_table(parted, filter=pc.field("q") == 30).column("a").to_pylist() == [5]
    with pytest.raises(InputError, match="no such file"):
        rows_of_table(parted)


def test_statistics_that_cut_times_and_texts_leave_no_row_out(tmp_path: Path) -> None:
    """Maxima of timestamps are cut down to milliseconds, texts are prefixes."""
    table = unpack_delta("pruning", tmp_path)
    moment = pa.scalar(dt.datetime(2024, 1, 1, 0, 0, 0, 999, dt.UTC), pa.timestamp("us", "UTC"))
    assert _ks(table, filter=pc.field("ts") == moment) == [1]
    text = "a" * 40 + "-end"
    assert _ks(table, filter=pc.field("v") == text) == [1]
    assert _ks(table, filter=pc.field("v").is_null()) == [11]


def test_a_scan_says_what_it_is(tmp_path: Path) -> None:
    """Version, files and deleted rows; schema and properties of the newest version."""
    table = DeltaTable(str(unpack_delta("vectors-several", tmp_path)))
    assert table.version == 4
    assert table.schema == pa.schema([("k", pa.int32()), ("v", pa.string())])
    assert table.properties["delta.enableDeletionVectors"] == "true"
    assert "version 4" in repr(table)
    explained = table.scan().explain()
    assert "1 unit, version 4" in explained
    assert "a deletion vector: 4 rows" in explained


def test_a_text_of_a_checkpoint_that_is_no_utf_8_is_named(tmp_path: Path) -> None:
    """A checkpoint whose pages have no checksum holds any bytes."""
    table = unpack_delta("checkpoint-classic", tmp_path)
    path = next(table.glob("_delta_log/*.checkpoint.parquet"))
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False}
    pq.write_table(pq.read_table(path), path, write_statistics=False, **options)
    assert len(rows_of_table(table)) > 0
    content = path.read_bytes()
    assert b"part-00" in content
    path.write_bytes(content.replace(b"part-00", b"part-\xff0"))
    with pytest.raises(InputError, match=r"checkpoint\.parquet: column 'add' is no text"):
        rows_of_table(table)


@pytest.mark.parametrize(
    ("name", "is_refused"), [("adt", True), ("Add", True), ("addition", False), ("plan", False)]
)
def test_an_action_with_one_wrong_letter_is_refused(
    name: str, is_refused: bool, tmp_path: Path
) -> None:
    """One that nobody knows is passed over, as the protocol asks, and so its file would be."""
    table = unpack_delta("deltalake-partitioned", tmp_path)
    commit = commit_path(table, 0)
    text = commit.read_text("utf-8")
    if not is_refused:
        commit.write_text(f'{{"{name}":{{}}}}\n{text}', "utf-8")
        assert DeltaTable(str(table)).scan(strict=True).count_rows()
        return
    commit.write_text(text.replace('{"add":', f'{{"{name}":', 1), "utf-8")
    with pytest.raises(InputError, match=f"the action '{name}' is one letter away from 'add'"):
        DeltaTable(str(table)).scan().to_table()


def test_a_commit_without_an_action_is_told(tmp_path: Path) -> None:
    """A pointer to a checkpoint in a commit's place is an object, but none that says anything."""
    table = unpack_delta("deltalake-optimized", tmp_path)
    newest = max((table / "_delta_log").glob("*.json"))
    newest.write_bytes((table / "_delta_log" / "_last_checkpoint").read_bytes())
    with pytest.warns(TableWarning, match="none of its lines is an action that is known"):
        DeltaTable(str(table)).scan().to_table()
    with pytest.raises(InputError, match=rf"{newest.name}.*none of its lines is an action"):
        DeltaTable(str(table)).scan(strict=True)


def _without(tmp_path: Path, *versions: int) -> DeltaTable:
    """The golden table of compactions 1 to 2, 1 to 5 and 3 to 5 without some commits."""
    table = unpack_delta("log-compaction", tmp_path)
    for version in versions:
        (table / "_delta_log" / f"{version:020}.json").unlink()
        (table / "_delta_log" / f"{version:020}.crc").unlink()
    return DeltaTable(str(table))


def _keys(table: DeltaTable, **how: Any) -> list[int]:
    return sorted(table.scan(["k"], **how).to_table()["k"].to_pylist())


def test_a_compaction_may_be_all_that_tells_the_newest_version(tmp_path: Path) -> None:
    """Its last version is one of the table's, though no commit of it is left."""
    table = _without(tmp_path, 1, 2, 3, 4, 5, 6, 7)
    assert table.version == 5
    assert _keys(table) == [1, 3, 4, 5]


def test_compactions_follow_each_other(tmp_path: Path) -> None:
    """Where the longest one ends beyond the version asked for, shorter ones do."""
    table = _without(tmp_path, 1, 2, 4)
    assert _keys(table, as_of=3) == [1, 3, 4]
    assert _keys(table, as_of=2) == [1, 2, 3, 4]
    with pytest.raises(InputError, match="the commit of version 4 is missing"):
        table.scan(as_of=4)


def test_the_time_of_a_commit_that_is_gone_is_not_guessed(tmp_path: Path) -> None:
    """An older version would come out for it, with fewer rows."""
    table = _without(tmp_path, 1, 2, 3, 4, 5, 6, 7)
    with pytest.raises(InputError, match="commit of version 1 is missing, so which version"):
        table.scan(as_of="2999-01-01")
    with pytest.raises(InputError, match="the commit of version 1 is missing"):
        table.scan(query="cdc", begin=0)


@pytest.mark.parametrize("name", ["5.5", "5.1"])
def test_a_compaction_of_nothing_is_none(tmp_path: Path, name: str) -> None:
    """One version, or a range that runs backwards, puts nothing together."""
    folder = unpack_delta("log-compaction", tmp_path)
    first, last = map(int, name.split("."))
    (folder / "_delta_log" / f"{first:020}.{last:020}.compacted.json").write_text("{}")
    assert _keys(DeltaTable(str(folder))) == [1, 3, 5]

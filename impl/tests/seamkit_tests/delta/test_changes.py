"""The change feed of golden Delta tables, against what Spark's `readChangeFeed` gave."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.conformance.plain import canonical
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples import made_delta
from seamkit_tests.samples.delta_tables import (
    change_actions,
    commit_path,
    delta_table_names,
    edit_actions,
    rows_of_table,
    unpack_delta,
)

#: A table whose commits state their times, and the first that does: those times are still the ones
#: that Spark read. Times of files are not.
STATED, STATED_FROM = "feed-times", 2
_SINCE = "delta.inCommitTimestampEnablementVersion"


def _witnessed() -> Iterator[tuple[str, int, int, dict[str, Any]]]:
    """Each feed that Spark read: table, first and last version, and what came."""
    for name in delta_table_names():
        folder = SUITES_GOLDEN / "delta" / name
        steps = json.loads((folder / "witness.json").read_text(encoding="utf-8"))
        versions = tomllib.loads((folder / "origin.toml").read_text(encoding="utf-8"))["instants"]
        told = [number for number, step in enumerate(steps) if "feed" in step]
        for number in told:
            first, last = int(versions[told[0]]), int(versions[number])
            yield name, first, last, steps[number]["feed"]


WITNESSED = list(_witnessed())


@pytest.mark.parametrize(
    ("name", "first", "last", "witness"), WITNESSED, ids=lambda value: str(value)[:20]
)
def test_each_feed_is_as_spark_read_it(
    name: str, first: int, last: int, witness: dict[str, Any], tmp_path: Path
) -> None:
    """Rows, kinds and versions of every window that begins where the feed does."""
    table = DeltaTable(str(unpack_delta(name, tmp_path)))
    window: dict[str, Any] = {"begin": first - 1 if first else None, "end": last}
    if "refused" in witness:
        with pytest.raises(RefusedError, match=r"keeps no change feed|which is gone"):
            table.scan(query="cdc", **window)
        return
    found = table.scan(query="cdc", threads=1, **window).to_table()
    assert found.column_names == witness["columns"]
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    texts = [tuple(map(canonical, row)) for row in rows]
    assert _comparable(name, texts) == _comparable(name, witness["rows"])


def _comparable(name: str, rows: Sequence[Sequence[str]]) -> Counter[tuple[str, ...]]:
    """The rows as a multiset, without the times of files: the last of their columns."""

    def is_stated(row: Sequence[str]) -> bool:
        return name == STATED and int(row[-2].removeprefix("int:")) >= STATED_FROM

    return Counter(tuple(row) if is_stated(row) else tuple(row[:-1]) for row in rows)


def test_the_witnessed_feeds_have_every_kind_of_change() -> None:
    """The comparison above is not empty."""
    tables = {name for name, _, _, _ in WITNESSED}
    assert {"feed-life", "feed-vectors", "feed-mapping", "feed-late", "feed-times"} <= tables
    kinds = {text for *_, feed in WITNESSED for row in feed.get("rows", ()) for text in row}
    for kind in ("insert", "delete", "update_preimage", "update_postimage"):
        assert f"str:{kind}" in kinds


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    """A table with five versions, all of which keep a feed."""
    return unpack_delta("change-feed", tmp_path)


@pytest.mark.parametrize(
    ("window", "kinds"),
    [
        ({"begin": 4}, []),
        ({"begin": 3, "end": 3}, []),
        ({"begin": 2, "end": 3}, ["delete"]),
        ({"begin": "2", "end": "3"}, ["delete"]),
        ({"end": 0}, []),
    ],
)
def test_the_begin_of_a_window_is_no_part_of_it_and_its_end_is(
    feed: Path, window: dict[str, Any], kinds: list[str]
) -> None:
    """An empty window has no rows."""
    assert rows_of_table(feed, query="cdc", **window).column("_change_type").to_pylist() == kinds


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ({"begin": 5}, "there is no version 5"),
        ({"end": 5}, "there is no version 5"),
        ({"begin": -1}, "there is no version -1"),
        ({"begin": 3, "end": 1}, "the window ends at version 1, before it begins"),
        ({"begin": True}, "begin is True"),
        ({"end": 1.5}, "end is 1.5"),
        ({"end": "soon"}, "'soon'"),
        ({"end": "2001-01-01"}, "no version that can be read is as old as 2001-01-01"),
        ({"as_of": 1}, "has no as_of"),
    ],
)
def test_a_window_that_cannot_be_is_a_usage_error(
    feed: Path, window: dict[str, Any], says: str
) -> None:
    """It names the bound."""
    with pytest.raises(UsageError, match=says):
        DeltaTable(str(feed)).scan(query="cdc", **window)


def test_bounds_go_with_changes_alone(feed: Path) -> None:
    """A snapshot has neither begin nor end."""
    with pytest.raises(UsageError, match="a query snapshot has no begin: it goes with cdc"):
        DeltaTable(str(feed)).scan(begin=1)


def test_a_file_that_a_commit_rewrote_without_changes_is_no_change(feed: Path) -> None:
    """What says dataChange false is passed over, also beside a file of changes that is gone."""
    for name in ("add", "remove"):
        change_actions(feed, 3, name, dataChange=False)
    assert rows_of_table(feed, query="cdc", begin=2, end=3).num_rows == 0


def test_a_partition_value_that_a_removal_lacks_is_null(tmp_path: Path) -> None:
    """Spark leaves it out of the map; other values are there."""
    table = unpack_delta("checkpoint-vectors", tmp_path)

    def keep(action: dict[str, Any]) -> None:
        if "metaData" in action:
            action["metaData"]["configuration"]["delta.enableChangeDataFeed"] = "true"

    edit_actions(table, 0, keep)
    gone = rows_of_table(table, query="cdc", begin=1, end=2).select(["k", "p", "_change_type"])
    assert sorted(map(tuple, (row.values() for row in gone.to_pylist()))) == [
        (1, 1, "delete"),
        (5, None, "delete"),
    ]


def test_vectors_of_a_window_count_though_the_table_has_dropped_them(tmp_path: Path) -> None:
    """`ALTER TABLE ... DROP FEATURE deletionVectors` is of the versions after it."""
    table = unpack_delta("feed-vectors", tmp_path)
    last = DeltaTable(str(table)).version
    before = rows_of_table(table, query="cdc", end=last)
    made_delta.commit(table, last + 1, made_delta.protocol("v2Checkpoint"))
    assert rows_of_table(table, query="cdc", end=last + 1) == before

    def forget(action: dict[str, Any]) -> None:
        if "commitInfo" in action:
            action.clear()
            action |= made_delta.protocol()

    edit_actions(table, 1, forget)
    with pytest.raises(InputError, match="lacks the feature 'deletionVectors'"):
        rows_of_table(table, query="cdc", begin=0, end=3)


@pytest.mark.parametrize(
    "change", [{"delta.enableInCommitTimestamps": "false"}, {_SINCE: None}, {_SINCE: "99"}]
)
def test_a_change_has_the_time_that_its_commit_states(
    change: dict[str, str | None], tmp_path: Path
) -> None:
    """PROTOCOL.md, "Add CDC File", and Delta's `CDCReader`: whatever the newest version says.

    Later versions may state none any more; where a table was replaced, Delta 3.3.2 forgets since
    when they do (delta#4766).
    """
    table = unpack_delta(STATED, tmp_path)
    how: dict[str, Any] = {"query": "cdc", "begin": STATED_FROM}
    before, last = rows_of_table(table, **how), DeltaTable(str(table)).version
    actions = [
        json.loads(line)
        for version in range(last + 1)
        for line in commit_path(table, version).read_text(encoding="utf-8").splitlines()
    ]
    [*_, told] = [action["metaData"] for action in actions if "metaData" in action]
    stated = {**told["configuration"], **change}
    told["configuration"] = {name: text for name, text in stated.items() if text is not None}
    info = {"operation": "SET TBLPROPERTIES", "inCommitTimestamp": 2**42}
    made_delta.commit(table, last + 1, {"commitInfo": info}, {"metaData": told})
    after = rows_of_table(table, **how)
    assert len(set(before["_commit_timestamp"].to_pylist())) > 1
    assert after == before


def test_a_merge_that_counts_no_row_changed_none(feed: Path) -> None:
    """Its files hold the rows that they held; where it does not count them, they are changes."""
    metrics = {f"numTargetRows{name}": "0" for name in ("Inserted", "Updated", "Deleted")}
    change_actions(feed, 1, "commitInfo", operation="MERGE", operationMetrics=metrics)
    assert rows_of_table(feed, query="cdc", end=1).num_rows == 0


@pytest.mark.parametrize(
    ("version", "kind", "change", "error", "says"),
    [
        (1, "add", {"dataChange": None}, InputError, "dataChange is None"),
        (3, "remove", {"size": None}, RefusedError, "does not tell size"),
        (3, "remove", {"partitionValues": None}, RefusedError, "does not tell partitionValues"),
        (2, "cdc", {"path": "_change_data/gone.parquet"}, InputError, "gone.parquet"),
        (2, "cdc", {"size": 7}, InputError, "the log says 7"),
        (2, "cdc", {"path": "../away.parquet"}, InputError, "leads out of the table"),
    ],
)
def test_a_commit_that_cannot_be_told_is_refused(
    feed: Path, version: int, kind: str, change: dict[str, Any], error: type[Exception], says: str
) -> None:
    """Never fewer changes."""
    change_actions(feed, version, kind, **change)
    with pytest.raises(error, match=says):
        rows_of_table(feed, query="cdc")


def test_a_commit_that_is_gone_is_refused(feed: Path) -> None:
    """A window needs all of its commits, whatever a snapshot could do without."""
    commit_path(feed, 2).unlink()
    with pytest.raises(InputError, match="version 2"):
        rows_of_table(feed, query="cdc", begin=0, end=3)


@pytest.mark.parametrize(
    ("columns", "inner", "kind", "gone"),
    [
        ("k", "ab", "string", "v"),
        ("kv", "ab", "string", "l"),
        ("kvl", "a", "string", "l.element.b"),
        ("kvl", "ab", "double", "v"),
    ],
)
def test_a_column_or_field_that_went_away_within_the_window_is_refused(
    feed: Path, columns: str, inner: str, kind: str, gone: str
) -> None:
    """Its changes cannot be shown."""
    path = commit_path(feed, 0)
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    meta = next(line["metaData"] for line in lines if "metaData" in line)
    flat = json.loads(meta["schemaString"])["fields"]

    def told(kept: str, fields: str, kind: str) -> dict[str, Any]:
        item = {"type": "struct", "fields": [{**flat[1], "name": name} for name in fields]}
        lists = {"type": "array", "elementType": item, "containsNull": True}
        all_ = [flat[0], {**flat[1], "type": kind}, {**flat[1], "name": "l", "type": lists}]
        schema = {"type": "struct", "fields": [one for one in all_ if one["name"] in kept]}
        return {"metaData": meta | {"schemaString": json.dumps(schema)}}

    def begin(action: dict[str, Any]) -> None:
        if "metaData" in action:
            action |= told("kvl", "ab", "string")

    def drop(action: dict[str, Any]) -> None:
        if "commitInfo" in action:
            action.clear()
            action |= told(columns, inner, kind)

    edit_actions(feed, 0, begin)
    edit_actions(feed, 4, drop)
    with pytest.raises(RefusedError, match=f"has the column '{gone}', which is gone"):
        rows_of_table(feed, query="cdc")


def test_a_newest_commit_that_is_gone_is_refused(feed: Path) -> None:
    """Its checksum file tells of it."""
    commit_path(feed, 4).unlink()
    with pytest.raises(InputError, match="commit is not there"):
        DeltaTable(str(feed)).scan(query="cdc")


def test_the_end_of_a_strict_window_is_held_to_its_checksum_file(feed: Path) -> None:
    """A vector that the log does not tell brings rows back, and is missed."""
    commit_path(feed, 4).with_suffix(".crc").unlink()
    edit_actions(feed, 3, lambda action: action.get("add", {}).pop("deletionVector", None))
    with pytest.raises(InputError, match="it says something else of"):
        DeltaTable(str(feed)).scan(query="cdc", end=3, strict=True)

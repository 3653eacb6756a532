"""Which snapshot is meant, and what was appended between two of them."""

import datetime as dt
import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import (
    ICEBERG_GOLDEN,
    edit_metadata,
    numbered_table,
    unpack_iceberg,
)


def _origin(name: str) -> dict[str, Any]:
    return tomllib.loads((ICEBERG_GOLDEN / name / "origin.toml").read_text(encoding="utf-8"))


def _keys(table: IcebergTable, **how: Any) -> list[int]:
    return sorted(table.scan(columns=["k"], **how).to_table().column("k").to_pylist())


@pytest.fixture
def travel(tmp_path: Path) -> IcebergTable:
    """A table with a branch, a tag, a column added later, and a rollback."""
    return IcebergTable(str(unpack_iceberg("travel", tmp_path)))


def test_branches_have_the_current_schema_and_tags_that_of_their_time(travel: IcebergTable) -> None:
    """As Iceberg's own readers take them."""
    side, first = travel.scan(as_of="side"), travel.scan(as_of="ref:first")
    assert side.schema.names == ["k", "v", "n"]
    assert first.schema.names == ["k", "v"]
    assert _keys(travel, as_of="side") == [1, 2, 8]
    assert _keys(travel, as_of="first") == [1]


def test_times_follow_the_log_and_not_the_snapshots(travel: IcebergTable) -> None:
    """Just after the rollback the snapshot of the tag was the current one again."""
    origin = _origin("travel")
    log = json.loads(Path(travel.metadata_file).read_text(encoding="utf-8"))["snapshot-log"]
    rolled_back = log[-2]
    assert str(rolled_back["snapshot-id"]) == origin["instants"][1]
    moment = dt.datetime.fromtimestamp(rolled_back["timestamp-ms"] / 1000, dt.UTC)
    assert _keys(travel, as_of=moment) == [1]
    assert _keys(travel, as_of=moment - dt.timedelta(milliseconds=1)) == [1, 2, 3]
    assert _keys(travel, as_of=origin["instants"][3]) == [1, 2]
    assert _keys(travel, as_of=int(origin["instants"][7])) == [1, 2, 3]


@pytest.mark.parametrize(("back", "is_sorted"), [(60_000, True), (60_001, False)])
def test_a_log_that_goes_back_tells_no_times(back: int, tmp_path: Path, *, is_sorted: bool) -> None:
    """Iceberg's library refuses such a table (`TableMetadata`), but for clocks a minute apart.

    Within that the last entry of a time or before it counts, as in its `SnapshotUtil`.
    """
    made = numbered_table(tmp_path / "t", commits=4)
    file = made.folder / "metadata/v4.metadata.json"
    parsed = json.loads(file.read_text())
    start = 1_700_000_000_000
    for entry, time in zip(parsed["snapshot-log"], (0, 90_000, 90_000 - back, 95_000), strict=True):
        entry["timestamp-ms"] = start + time
    file.write_text(json.dumps(parsed))
    table = IcebergTable(str(made.folder))
    assert _keys(table) == _keys(table, as_of=4) == [0, 1, 2, 3]
    for time, wanted in ((90_000, 2), (90_000 - back, 2), (89_999 - back, 0), (95_000, 3)):
        moment = dt.datetime.fromtimestamp((start + time) / 1000, dt.UTC)
        if not is_sorted:
            with pytest.raises(InputError, match=rf"its snapshot log goes back by {back} ms"):
                table.scan(as_of=moment)
        elif time >= 0:
            assert _keys(table, as_of=moment) == [*range(wanted + 1)]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"as_of": 7}, "there is no snapshot 7"),
        ({"as_of": "nowhere"}, "a branch or a tag"),
        ({"as_of": "ref:7"}, "no branch or tag '7'"),
        ({"as_of": "2001-01-01"}, "is as old as"),
        ({"as_of": 1.5}, "a snapshot id"),
        ({"begin": 1}, "snapshot has no begin: it goes with incremental or cdc"),
        ({"query": "incremental", "as_of": 1}, "incremental has no as_of: it goes with snapshot"),
        ({"query": "incremental", "begin": "side"}, "is no ancestor"),
        ({"query": "read-optimized"}, "read-optimized queries of Iceberg tables are not supported"),
        ({"columns": ["_row_id"]}, "there is no column '_row_id'"),
    ],
)
def test_what_is_not_there_is_told(travel: IcebergTable, how: dict[str, Any], says: str) -> None:
    """Never another snapshot in its place, nor fewer rows."""
    with pytest.raises((UsageError, RefusedError), match=says.replace("(", r"\(")):
        travel.scan(**how)


def test_appends_are_those_of_the_line_of_parents(travel: IcebergTable) -> None:
    """What was rolled back is not on it, and a branch has a line of its own."""
    assert _keys(travel, query="incremental") == [1, 4]
    assert _keys(travel, query="incremental", begin="first", end="side") == [2, 8]
    assert _keys(travel, query="incremental", begin="first", end="first") == []


@pytest.mark.parametrize("query", ["incremental", "cdc"])
def test_a_window_has_the_current_schema_wherever_it_ends(query: Any, tmp_path: Path) -> None:
    """As Spark's incremental reads and `create_changelog_view` have it, and Iceberg's own scans."""
    ids = _origin("evolution")["instants"]
    table = IcebergTable(str(unpack_iceberg("evolution", tmp_path)))
    [row] = table.scan(query=query, begin=ids[1], end=ids[3]).to_table().to_pylist()
    then = {"k": 3, "extra": "x", "w": None, "f": 3.5, "d": Decimal("9.99"), "v": None}
    assert {name: row[name] for name in table.schema.names} == then


def test_appends_that_are_no_longer_known_are_refused(tmp_path: Path) -> None:
    """Expired snapshots are not passed over; an explicit begin would say so."""
    table = IcebergTable(str(unpack_iceberg("expired", tmp_path)))
    with pytest.raises(UsageError, match="are gone, so what they changed is not known"):
        table.scan(query="incremental")


def test_what_is_left_out_of_appends_is_noted(tmp_path: Path) -> None:
    """Deletes and overwrites are no appends."""
    table = IcebergTable(str(unpack_iceberg("appends", tmp_path)))
    plan = table.scan(query="incremental").explain()
    assert plan.count("left out: ") == 2


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("hint", "99", "names version 99, which is missing"),
        ("format-version", 4, "format version 4 is not supported"),
        ("format-version", 0, "the format version is 0"),
        ("current-snapshot-id", 5, "the current snapshot is 5"),
        ("current-schema-id", 5, "the current schema 5 is not there"),
        ("location", 5, "not readable as metadata"),
        ("schemas", [], "not readable as metadata"),
        ("snapshots", [{}], "not readable as metadata"),
    ],
)
def test_metadata_that_contradicts_itself_is_refused(
    tmp_path: Path, name: str, change: Any, says: str
) -> None:
    """There is no fallback to an older version."""
    folder = unpack_iceberg("positions", tmp_path)
    hint = folder / "metadata" / "version-hint.text"
    if name == "hint":
        hint.write_text(change)
    else:
        file = folder / "metadata" / f"v{hint.read_text().strip()}.metadata.json"
        edit_metadata(file, lambda content: content.update({name: change}))
    with pytest.raises((InputError, RefusedError), match=says):
        IcebergTable(str(folder)).scan()


@pytest.mark.parametrize("is_there", [True, False])
def test_version_1_may_have_its_schema_alone_as_the_current_one(
    tmp_path: Path, is_there: bool
) -> None:
    """`schema` is required in version 1, `schemas` and `current-schema-id` are not.

    Iceberg's library in Rust reads its table of such metadata by `schema`, wherever that stands in
    the list; one that is not in the list contradicts it.
    """
    folder = unpack_iceberg("v1", tmp_path)
    number = (folder / "metadata" / "version-hint.text").read_text().strip()
    file = folder / "metadata" / f"v{number}.metadata.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    own, other = content["schema"], dict(content["schema"], fields=content["schema"]["fields"][:1])
    del content["current-schema-id"], own["schema-id"]
    content["schemas"] = [other | {"schema-id": 0}, *([own | {"schema-id": 1}] * is_there)]
    file.write_text(json.dumps(content), encoding="utf-8")
    if is_there:
        found = IcebergTable(str(folder)).scan().to_table().column("v").to_pylist()
        assert sorted(found) == ["c", "d", "e", "new"]
    else:
        with pytest.raises(InputError, match="the current schema None is not there"):
            IcebergTable(str(folder))


@pytest.mark.parametrize("kind", ["interval", "geometries", "decimal(39,2)", 7])
def test_types_that_are_not_known_are_refused_by_name(tmp_path: Path, kind: Any) -> None:
    """A column of such a type is not left out."""
    folder = unpack_iceberg("positions", tmp_path)
    for file in (folder / "metadata").glob("v*.metadata.json"):
        edit_metadata(file, lambda one: one["schemas"][0]["fields"][1].update(type=kind))
    with pytest.raises(SeambenchError) as raised:
        IcebergTable(str(folder)).scan()
    assert isinstance(raised.value, InputError | RefusedError)


def test_a_copy_reads_its_own_files(tmp_path: Path) -> None:
    """Paths below the stated location are files of the folder, wherever it lies."""
    here = unpack_iceberg("vectors-shared", tmp_path / "a")
    there = unpack_iceberg("vectors-shared", tmp_path / "b")
    for file in (there / "data").rglob("*.parquet"):
        file.unlink()
    assert IcebergTable(str(here)).scan().count_rows() == 2
    with pytest.raises(InputError, match="no such file"):
        IcebergTable(str(there)).scan().to_table()


@pytest.mark.parametrize("name", ["positions", "vectors", "travel"])
def test_the_folder_shows_its_newest_metadata(name: str, tmp_path: Path) -> None:
    """By the hint, and without one by the highest number."""
    folder = unpack_iceberg(name, tmp_path)
    newest = json.loads((ICEBERG_GOLDEN / name / "witness.json").read_text("utf-8"))[-1]["metadata"]
    assert IcebergTable(str(folder)).metadata_file.endswith(newest)
    (folder / "metadata" / "version-hint.text").unlink()
    assert IcebergTable(str(folder)).metadata_file.endswith(newest)


def test_appends_are_read_after_a_snapshot_that_has_expired(tmp_path: Path) -> None:
    """Its child tells of them: pyiceberg and Iceberg's own scan take its id, and no older one."""
    made = numbered_table(tmp_path / "t", commits=4)
    file = made.folder / "metadata/v4.metadata.json"
    parsed = json.loads(file.read_text())
    parsed["snapshots"] = parsed["snapshots"][2:]
    parsed["snapshot-log"] = parsed["snapshot-log"][2:]
    file.write_text(json.dumps(parsed))
    table, peer = IcebergTable(str(made.folder)), StaticTable.from_metadata(str(file))
    for begin, wanted in ((2, [2, 3]), (3, [3])):
        for spelled in (begin, str(begin)):
            assert _keys(table, query="incremental", begin=spelled) == wanted
        found = peer.incremental_append_scan(from_snapshot_id_exclusive=begin).to_arrow()
        assert sorted(found["k"].to_pylist()) == wanted
    with pytest.raises(UsageError, match="there is no snapshot 1"):
        table.scan(query="incremental", begin=1)
    whole = IcebergTable(str(made.folder / "metadata/v3.metadata.json"))
    with pytest.raises(UsageError, match="None"):  # the first one's parent is no name
        whole.scan(query="incremental", begin="None")
    with pytest.raises(ValueError, match="1"):
        peer.incremental_append_scan(from_snapshot_id_exclusive=1).to_arrow()
    with pytest.raises(UsageError, match="there is no snapshot 2"):
        table.scan(query="cdc", begin=2)  # what was there before it is not known
    parsed["snapshots"][1]["parent-snapshot-id"] = 7
    file.write_text(json.dumps(parsed))
    with pytest.raises(UsageError, match="snapshot 2 is no ancestor"):
        IcebergTable(str(made.folder)).scan(query="incremental", begin=2)
    parsed["refs"]["2"] = {"snapshot-id": 4, "type": "tag"}
    file.write_text(json.dumps(parsed))
    assert _keys(IcebergTable(str(made.folder)), query="incremental", begin="2") == []

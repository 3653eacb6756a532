"""Metadata whose values are of other kinds than Hudi writes: errors with a name, nothing raw."""

import json
from pathlib import Path
from typing import Any

import pytest

import seamkit
from seambase.errors import InputError, RefusedError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing.metadata_table import list_from_metadata
from seamkit_tests.samples.avro_schemas import datum, map_of, record
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hfile_bytes import build_hfile
from seamkit_tests.samples.hudi_files import Table, at, base
from seamkit_tests.samples.hudi_log_bytes import SCHEMA, avro_content, block
from seamkit_tests.samples.odd_values import any_type, odd_container


@pytest.mark.parametrize(
    "body",
    [
        {"commitsRollback": 1.5},
        {"commitsRollback": [["x"]]},
        {"instantsToRollback": [{"action": "commit"}]},
        {"instantToRollback": ["x"]},
        {"instantToRollback": {"commitTime": 5}},
    ],
)
def test_an_odd_rollback_is_named(body: dict[str, Any], tmp_path: Path) -> None:
    """A rollback that names no instants is an error with the file's name."""
    table = Table(tmp_path, 9)
    table.instant(at(10), "commit", at(11), base(10))
    (table.timeline / f"{at(20)}_{at(21)}.rollback").write_bytes(odd_container(body))
    with pytest.raises(InputError, match=r"rollback: not readable as a rollback"):
        table.load().knows(at(15))


@pytest.mark.parametrize(
    ("action", "operation"),
    [
        ("compaction", {"partitionPath": ["x"], "fileId": "f"}),
        ("compaction", {"partitionPath": "", "fileId": 5}),
        ("logcompaction", {"deltaFilePaths": "x"}),
        ("logcompaction", {"deltaFilePaths": [5]}),
    ],
)
def test_an_odd_plan_is_named(action: str, operation: dict[str, Any], tmp_path: Path) -> None:
    """A compaction's plan whose files are no texts is an error with the file's name."""
    table = Table(tmp_path, 9)
    plan = odd_container({"operations": [operation]})
    (table.timeline / f"{at(20)}.{action}.requested").write_bytes(plan)
    timeline = table.load()
    (instant,) = timeline.instants
    read = timeline.compaction_plan if action == "compaction" else timeline.put_together_by
    with pytest.raises(InputError, match=r"requested: not readable as a compaction's plan"):
        read(instant)


@pytest.mark.parametrize("body", ["x", {"partitionToWriteStats": {"": ["x"]}}])
def test_an_odd_archived_body_is_named(body: Any, tmp_path: Path) -> None:
    """The body of an archived write has the types that one of the timeline has."""
    table = Table(tmp_path, 6)
    names = ("commitTime", "actionType", "actionState", "hoodieCommitMetadata")
    schema = record("HoodieArchivedMetaEntry", **{name: any_type(4) for name in names})
    entry = dict(zip(names, (at(10), "commit", "COMPLETED", body), strict=True))
    (table.root / ".hoodie" / "archived").mkdir()
    (table.root / ".hoodie" / "archived" / ".commits_.archive.1_1-0-1").write_bytes(
        block("avro", {SCHEMA: json.dumps(schema)}, avro_content(schema, [entry]))
    )
    with pytest.raises(InputError, match=r"archive\.1_1-0-1"):
        table.load().latest_schema()


_KINDS = {"size": "long", "isDeleted": "boolean"}
_FILE = {"size": 5, "isDeleted": False}
_GONE = {"size": 0, "isDeleted": True}
_ALL = "__all_partitions__"
_MAP_OF_FILES = map_of(record("info", **_KINDS))


@pytest.mark.parametrize(
    ("kind", "files", "reason"),
    [
        (record("info", size="long"), {"odd": {"size": 5}}, "isDeleted of an entry is missing"),
        (
            record("info", size="string", isDeleted="boolean"),
            {"odd": {"size": "5", "isDeleted": False}},
            "size of an entry is of the type string",
        ),
        (
            record("info", size="long", isDeleted="int"),
            {"odd": {"size": 5, "isDeleted": 0}},
            "isDeleted of an entry is of the type int32",
        ),
        (
            record("info", size=["null", "long"], isDeleted="boolean"),
            {"odd": {"size": None, "isDeleted": False}},
            "size of an entry is null",
        ),
        (["null", record("info", **_KINDS)], {"odd": None}, "an entry is null"),
        (record("info", **_KINDS), {"odd": _FILE, "a/b": _FILE}, "'a/b' is no name of a file"),
        (any_type(1), {"odd": "x"}, "a union of .* is not supported"),
    ],
)
def test_an_odd_record_of_the_metadata_table_is_named(
    kind: Any, files: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """What a record says of a file is its size and whether it is deleted."""
    schema = record("r", filesystemMetadata=["null", map_of(kind)])
    written = datum(schema, {"filesystemMetadata": files})
    root = _listed_by(schema, tmp_path, ("p", written))
    with pytest.raises((InputError, RefusedError), match=rf"files-0000.*{reason}"):
        seamkit.open_table(root, listing="metadata").scan()


@pytest.mark.parametrize(
    "schema", [record("r", key="string"), record("r", filesystemMetadata="null")]
)
def test_a_metadata_table_without_files_is_named(schema: Any, tmp_path: Path) -> None:
    """Records without a map of files do not say that there are none."""
    root = _listed_by(schema, tmp_path, (_ALL, b""))
    with pytest.raises(InputError, match="files-0000"):
        seamkit.open_table(root, listing="metadata").scan()


@pytest.mark.parametrize("cut", [-1, 1])
def test_a_record_of_another_length_is_named(cut: int, tmp_path: Path) -> None:
    """A record ends where its cell does: what lies there is not taken for the next one's."""
    schema = record("r", filesystemMetadata=_MAP_OF_FILES)
    written = datum(schema, {"filesystemMetadata": {"odd": _FILE}})
    root = _listed_by(schema, tmp_path, (_ALL, written[:-1] if cut < 0 else written + b"\0"))
    with pytest.raises(InputError, match=r"files-0000.*record 0"):
        seamkit.open_table(root, listing="metadata").scan()


@pytest.mark.parametrize("folder", ["p", "2024/01/15", "a=1/b=2"])
def test_what_is_said_last_counts_but_sizes_grow(folder: str, tmp_path: Path) -> None:
    """Writers of logs come in any order: the larger size is a file's; deleted ones go.

    Partitions of several levels have slashes, files have none.
    """
    schema = record("r", filesystemMetadata=["null", _MAP_OF_FILES])
    said: list[tuple[str, dict[str, Any] | None]] = [
        (_ALL, {folder: {**_FILE, "size": 0}}),
        (folder, dict.fromkeys("abcd", _FILE)),
        (folder, {"a": {**_FILE, "size": 3}, "b": {**_FILE, "size": 9}, "c": _GONE, "d": _GONE}),
        (folder, {"d": {**_FILE, "size": 2}}),
        (folder, None),
    ]
    records = [(key, datum(schema, {"filesystemMetadata": files})) for key, files in said]
    root = _listed_by(schema, tmp_path, *records)
    table = seamkit.HudiTable(root)
    listing = list_from_metadata(Storage(str(root)), table.timeline())
    listed = {one.path: one.size_bytes for one in listing.partitions[folder]}
    assert listed == {f"{folder}/a": 5, f"{folder}/b": 9, f"{folder}/d": 2}


def _listed_by(schema: Any, tmp_path: Path, *records: tuple[str, bytes]) -> Path:
    """A table whose list of files has these records."""
    root = unpack_table("metadata-table/v9", tmp_path)
    (path,) = (root / ".hoodie/metadata/files").glob("*.hfile")
    padding = bytes(path.stat().st_size)
    own = {b"KEY_VALUE_VERSION": b"\0\0\0\1", b"padding": padding}
    own |= {b"schema": json.dumps(schema).encode()}
    path.write_bytes(build_hfile([[(key.encode(), datum) for key, datum in records]], own))
    return root

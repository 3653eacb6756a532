"""Metadata that say one thing in two places: refused where no writer does so, else warned of."""

import gzip
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seambase.scan import TableWarning
from seamkit.scan.scan import Scan
from seamkit.tables.iceberg.metadata import document
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.iceberg.test_manifests import Entries, _read, _rewrite, _summarise, _write
from seamkit_tests.samples.iceberg_tables import (
    MadeCommit,
    MadeFile,
    MadeTable,
    field_of,
    stats_of,
    unpack_iceberg,
)

#: What is damaged on purpose is told; here it is the rows that count.
pytestmark = pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")

_KEY: dict[str, Any] = field_of("k", "long", 1)
Edit = Callable[[dict[str, Any]], object]


def _keys(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64())})


def _made(folder: Path, edit: Edit | None = None, **table: Any) -> Path:
    """Three rows, one of which a delete takes out; metadata may be edited."""
    made = MadeTable(folder, [_KEY], **table)
    made.commit(MadeCommit([MadeFile("a.parquet", _keys(1, 2))]))
    made.commit(MadeCommit([MadeFile("b.parquet", _keys(3))]))
    made.commit(MadeCommit([made.deletes("d.parquet", "a.parquet", [0])], operation="delete"))
    if edit is not None:
        made.edit(edit)
    return folder


def _warnings(scan: Scan) -> list[str]:
    """What a scan doubts, which Python's own warnings tell alike."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        scan.to_table()
    assert all(one.category is TableWarning for one in told)
    found = [warning.reason for warning in scan.report().warnings]
    assert len(found) == len(told)
    return found


def _doubted(folder: Path, says: str) -> None:
    """The table is read with one warning, and not by a strict read."""
    table = IcebergTable(str(folder))
    [warning] = _warnings(table.scan())
    assert re.search(says, warning)
    with pytest.raises(InputError, match=says):
        table.scan(strict=True)


def _list(edit: Callable[[Entries], object]) -> Callable[[Path], None]:
    """Change the rows of the newest manifest list."""

    def change(folder: Path) -> None:
        file = folder / "metadata/snap-3.avro"
        schema, header, rows = _read(file)
        edit(rows)
        _write(file, schema, header, rows)

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_list(lambda rows: rows.append(rows[0])), r"m1-0\.avro twice"),
        (_list(lambda rows: rows.append(rows[2])), r"m3-1\.avro twice"),
        (_list(lambda rows: rows[1].update(sequence_number=4)), "sequence number 4, snapshot 3"),
        (_list(lambda rows: rows[2].update(sequence_number=2**62)), "has the sequence number 46"),
        # Nothing tells that the manifest is whole, or it is one that Iceberg's library passes over.
        (_list(lambda rows: rows[0].update(manifest_length=1, added_files_count=2)), "list says"),
        (_list(lambda rows: rows[0].update(added_files_count=0)), "its list says"),
        (_list(lambda rows: rows[0].update(manifest_length=1, added_files_count=0)), "list says"),
    ],
)
def test_a_list_that_no_writer_writes_is_refused(
    change: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    """A manifest is in it once, is no newer than its snapshot, and has live files if it has any."""
    folder = _made(tmp_path / "t")
    change(folder)
    with pytest.raises(InputError, match=says):
        IcebergTable(str(folder)).scan()


def _no_current(parsed: dict[str, Any]) -> None:
    parsed["current-snapshot-id"] = None


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_no_current, "the current snapshot is None, the branch main is at 3"),
        (lambda one: one.pop("current-snapshot-id"), "the current snapshot is None"),
        (lambda one: one.update({"current-snapshot-id": -1}), "the current snapshot is None"),
        (lambda one: one.update({"current-snapshot-id": 2}), "the branch main is at 3"),
        (lambda one: one.update({"last-sequence-number": 2}), "the last one is 2"),
        (lambda one: one["schemas"][0]["fields"][0].update(id=-1), "the id -1, which no"),
        (lambda one: one["schemas"][0]["fields"][0].update(id=2**31 - 200), "the id 2147483448"),
        (lambda one: one["schemas"][0]["fields"][0].update(id=2**63 - 1), "the id 92"),
    ],
)
def test_metadata_that_no_writer_writes_are_refused(edit: Edit, says: str, tmp_path: Path) -> None:
    """Iceberg's own `TableMetadata` refuses a main branch beside the current snapshot as well."""
    folder = _made(tmp_path / "t", edit)
    with pytest.raises(InputError, match=says):
        IcebergTable(str(folder)).scan().to_table()


@pytest.mark.parametrize("edit", [None, lambda one: one.pop("refs")])
def test_metadata_without_references_are_read(edit: Edit | None, tmp_path: Path) -> None:
    """Version 1 has none, and the branch main all the same; and no total is asked for."""
    table = IcebergTable(str(_made(tmp_path / "t", edit)))
    assert _warnings(table.scan(strict=True)) == []
    main = table.scan(as_of="main", strict=True)
    assert main.to_table() == table.scan(strict=True).to_table()


_TOTALS = {
    "total-data-files": 2,
    "total-records": 3,
    "total-delete-files": 1,
    "total-position-deletes": 1,
    "total-equality-deletes": 0,
}


def _says(**totals: Any) -> Edit:
    own = {name: str(total) for name, total in _TOTALS.items()}
    own |= {name.replace("_", "-"): total for name, total in totals.items()}
    told = {name: total for name, total in own.items() if total is not None}
    return lambda one: one["snapshots"][2]["summary"].update(told)


@pytest.mark.parametrize(
    ("name", "total", "says"),
    [
        ("total_data_files", "3", "total-data-files 3, its manifests have 2"),
        ("total_records", "1", "total-records 1, its manifests have 3"),
        ("total_delete_files", "0", "total-delete-files 0, its manifests have 1"),
        ("total_position_deletes", "5", "total-equality-deletes 5, its manifests have 1"),
        ("total_equality_deletes", "5", "total-equality-deletes 6, its manifests have 1"),
    ],
)
def test_totals_of_a_snapshot_are_held_against_its_list(
    name: str, total: str, says: str, tmp_path: Path
) -> None:
    """Whether a manifest is missing, nothing else tells; writers count wrongly: a warning."""
    folder = _made(tmp_path / "t", _says(**{name: total}))
    _doubted(folder, says)
    # A filter that leaves manifests unread does not make the list shorter.
    [warning] = _warnings(IcebergTable(str(folder)).scan(filter="k > 100"))
    assert re.search(says, warning)


@pytest.mark.parametrize("total", ["-1", "", "many", "2.0", None, str(10**30)])
@pytest.mark.parametrize("name", [name.replace("-", "_") for name in _TOTALS])
def test_a_total_that_is_none_says_nothing(name: str, total: Any, tmp_path: Path) -> None:
    """Summaries are texts that writers leave out, and no reader needs."""
    folder = _made(tmp_path / "t", _says(**{name: total}))
    assert _warnings(IcebergTable(str(folder)).scan(strict=True)) == []


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_manifest_that_is_missing_is_told(gone: int, tmp_path: Path) -> None:
    """Of data, whose rows are gone, and of deletes, whose rows come back."""
    folder = _made(tmp_path / "t", _says())
    assert _warnings(IcebergTable(str(folder)).scan(strict=True)) == []
    _list(lambda rows: rows.pop(gone))(folder)
    with pytest.raises(InputError, match="its manifests have"):
        IcebergTable(str(folder)).scan(strict=True)
    assert len(_warnings(IcebergTable(str(folder)).scan())) == 2


def _entries(change: Callable[[dict[str, Any]], object]) -> Callable[[Entries], None]:
    def edit(entries: Entries) -> None:
        for entry in entries:
            change(entry)

    return edit


def _bounds_twice(entry: dict[str, Any]) -> None:
    pairs = [{"key": 1, "value": bytes(8)}, {"key": 1, "value": bytes(8)}]
    entry["data_file"]["lower_bounds"] = pairs


@pytest.mark.parametrize(
    ("content", "change", "says"),
    [
        (1, lambda one: one.update(sequence_number=4), "the sequence number 4, its manifest has 3"),
        (0, _bounds_twice, "field 125 has a key twice"),
    ],
)
def test_entries_that_no_writer_writes_are_refused(
    content: int, change: Callable[[dict[str, Any]], object], says: str, tmp_path: Path
) -> None:
    """Data are no newer than the manifest that brings them; a map has a key once."""
    folder = _made(tmp_path / "t")
    _rewrite(folder, content, _entries(change))
    with pytest.raises(InputError, match=says):
        IcebergTable(str(folder)).scan()


def test_an_entry_older_than_its_manifest_says_is_doubted(tmp_path: Path) -> None:
    """Its deletes then count for fewer files than the writer meant, or for more."""
    folder = _made(tmp_path / "t")
    _rewrite(folder, 1, _entries(lambda one: one.update(sequence_number=0)))
    _doubted(folder, "the least of its manifest is 3")


def test_bounds_that_contradict_each_other_rule_nothing_out(tmp_path: Path) -> None:
    """A least value above the greatest is none; neither a filter nor a key is held against it."""
    made = MadeTable(tmp_path / "t", [_KEY])
    changed = stats_of(1, (9).to_bytes(8, "little"), bytes(8))
    made.commit(MadeCommit([MadeFile("a.parquet", _keys(1), changed=changed)]))
    table = IcebergTable(str(made.folder))
    assert table.scan(filter="k < 5").count_rows() == table.scan(filter="k = 1").count_rows() == 1
    gone = MadeFile("d.parquet", _keys(1), content=2, changed=changed)
    made.commit(MadeCommit([gone], operation="delete"))
    assert IcebergTable(str(made.folder)).scan().count_rows() == 0


_PART = [{"name": "p", "transform": "identity", "source-id": 1, "field-id": 1000}]


@pytest.mark.parametrize(
    ("value", "is_within"),
    [(5, True), (7, True), (9, True), (4, False), (10, False), (None, False)],
)
def test_a_partition_beyond_its_manifests_summary_is_doubted(
    value: int | None, is_within: bool, tmp_path: Path
) -> None:
    """A delete of it would find no data file."""
    made = MadeTable(tmp_path / "t", [_KEY], _PART)
    rows = pa.table({"k": pa.array([value], pa.int64())})
    made.commit(MadeCommit([MadeFile("a.parquet", rows, {"p": value})], {"p": "long"}))
    ends = ((5).to_bytes(8, "little"), (9).to_bytes(8, "little"))
    _summarise(made.folder / "metadata/snap-1.avro", [ends])
    if is_within:
        assert _warnings(IcebergTable(str(made.folder)).scan(strict=True)) == []
    else:
        _doubted(made.folder, "is not within what its list says")


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda one: one.update({"last-column-id": 0}), "the last column id is 0"),
        (lambda one: one.update(schema={"fields": []}), "its `schema` is not the current one"),
        (
            lambda one: one.update(
                {
                    "metadata-log": [
                        {"timestamp-ms": 1, "metadata-file": "/t/metadata/v1.metadata.json"}
                    ]
                }
            ),
            "version 1 was before it",
        ),
    ],
)
def test_what_metadata_say_in_a_second_place_is_doubted(
    edit: Edit, says: str, tmp_path: Path
) -> None:
    """No reader needs it."""
    _doubted(_made(tmp_path / "t", edit), says)


def test_metadata_of_an_older_version_under_a_newer_name_are_doubted(tmp_path: Path) -> None:
    """The log of former metadata files ends with the version before, as Iceberg writes it."""
    folder = unpack_iceberg("positions", tmp_path)
    number = int((folder / "metadata/version-hint.text").read_text())
    newest, older = (folder / f"metadata/v{one}.metadata.json" for one in (number, number - 1))
    assert _warnings(IcebergTable(str(folder)).scan(strict=True)) == []
    newest.write_bytes(older.read_bytes())
    _doubted(folder, f"version {number - 2} was before it")


def _swap(entries: Entries) -> None:
    live = [entry["data_file"] for entry in entries if entry["status"] != 2]
    if len(live) < 2:
        return
    [one, other] = live
    for name in ("content_offset", "content_size_in_bytes", "record_count"):
        one[name], other[name] = other[name], one[name]


def test_vectors_that_change_places_are_refused(tmp_path: Path) -> None:
    """A Puffin file's footer says whose vector a blob is; both are whole, and checksums right."""
    folder = unpack_iceberg("vectors-shared", tmp_path)
    assert _warnings(IcebergTable(str(folder)).scan(strict=True)) == []
    _rewrite(folder, 1, _swap)
    with pytest.raises(InputError, match="its file says the data file"):
        IcebergTable(str(folder)).scan().to_table()


def _rename(entries: Entries) -> None:
    if entries[0]["status"] == 1:
        entries[0]["data_file"]["referenced_data_file"] = "file:/other"


def test_a_vector_of_no_data_file_is_doubted(tmp_path: Path) -> None:
    """The rows that it deleted would be back."""
    folder = unpack_iceberg("vectors", tmp_path)
    _rewrite(folder, 1, _rename)
    _doubted(folder, "a deletion vector is for file:/other, which is not there")


def test_a_data_file_that_is_there_twice_is_doubted(tmp_path: Path) -> None:
    """Files can be added twice where a writer is told not to look; all readers then give both."""
    made = MadeTable(tmp_path / "t", [_KEY])
    for _ in range(2):
        made.commit(MadeCommit([MadeFile("a.parquet", _keys(1))]))
    _doubted(made.folder, r"a\.parquet is there 2 times")


def _two_appends(folder: Path, edit: Callable[[list[Entries]], object]) -> IcebergTable:
    """Two snapshots of one file each; `edit` changes manifests, whose lengths the list has."""
    made = MadeTable(folder, [_KEY])
    for key, name in enumerate(("a.parquet", "b.parquet")):
        made.commit(MadeCommit([MadeFile(name, _keys(key))]))
    files = [folder / f"metadata/m{number}-0.avro" for number in (1, 2)]
    read = [_read(file) for file in files]
    edit([entries for _, _, entries in read])
    for file, (schema, header, entries) in zip(files, read, strict=True):
        _write(file, schema, header, entries)
    listed = folder / "metadata/snap-2.avro"
    schema, header, rows = _read(listed)
    for row, file, (_, _, entries) in zip(rows, files, read, strict=True):
        row["manifest_length"] = file.stat().st_size
        for status, name in enumerate(("existing", "added")):
            row[f"{name}_files_count"] = sum(entry["status"] == status for entry in entries)
    _write(listed, schema, header, rows)
    return IcebergTable(str(folder))


@pytest.mark.parametrize(
    ("how", "doubts"),
    [
        ({}, [("2", "1"), ("1", "2")]),
        ({"filter": "k = 1"}, [("2", "1"), ("1", "2")]),
        ({"query": "incremental", "begin": 1}, [("1", "2")]),
    ],
)
def test_manifests_in_each_others_place_are_doubted(
    how: dict[str, Any], doubts: list[tuple[str, str]], tmp_path: Path
) -> None:
    """By the snapshot that added their files: what these inherit would be the other's."""

    def exchange(read: list[Entries]) -> None:
        read[0][:], read[1][:] = list(read[1]), list(read[0])

    table = _two_appends(tmp_path / "t", exchange)

    found = _warnings(table.scan(**how))
    pairs = [re.search(r"was added by snapshot (\d), its manifest by (\d)", one) for one in found]
    assert [pair and pair.groups() for pair in pairs] == doubts
    with pytest.raises(InputError, match="was added by snapshot"):
        table.scan(strict=True, **how)


@pytest.mark.parametrize(
    "change",
    [
        {"snapshot_id": None},
        {"status": 0, "snapshot_id": 7, "sequence_number": 1, "file_sequence_number": 1},
    ],
)
@pytest.mark.parametrize("at", [0, 1])
def test_files_that_a_manifest_inherits_or_keeps_are_not_doubted(
    change: dict[str, Any], at: int, tmp_path: Path
) -> None:
    """A null is the manifest's snapshot; manifests written anew keep files of older ones."""
    table = _two_appends(tmp_path / "t", lambda read: read[at][0].update(change))
    if change["snapshot_id"] and at:
        file = tmp_path / "t/metadata/snap-2.avro"
        schema, header, rows = _read(file)
        rows[1]["min_sequence_number"] = 1
        _write(file, schema, header, rows)
    assert _warnings(table.scan(strict=True)) == []
    assert table.scan().count_rows() == 2


_MUCH = 1 << 30


@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize(
    ("small", "growth", "most"),
    [(None, 0, _MUCH), (0, None, _MUCH), (_MUCH, 0, None), (0, _MUCH, None)],
)
def test_compressed_metadata_grow_to_a_bound(
    small: int | None,
    growth: int | None,
    most: int | None,
    is_read: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The greater of a fixed size and a multiple of theirs, and no more than the most of all.

    The bound without a value is the least that suffices, or one less.
    """
    folder = _made(tmp_path / "t")
    plain = folder / "metadata/v3.metadata.json"
    content = plain.read_bytes()
    packed = gzip.compress(content)
    plain.unlink()
    (folder / "metadata/v3.gz.metadata.json").write_bytes(packed)
    fewer = 0 if is_read else 1
    enough = len(content) - fewer
    times = -(-len(content) // len(packed)) - fewer
    monkeypatch.setattr(document, "_SMALL_BYTES", enough if small is None else small)
    monkeypatch.setattr(document, "_GROWTH", times if growth is None else growth)
    monkeypatch.setattr(document, "_MOST_BYTES", enough if most is None else most)
    if is_read:
        assert IcebergTable(str(folder)).scan().count_rows() == 2
    else:
        with pytest.raises(InputError, match=f"{len(packed)} compressed bytes become more than"):
            IcebergTable(str(folder))


@pytest.mark.parametrize(
    ("transform", "value", "own", "others"),
    [
        ("identity", "b", "b", ["a", "c", None]),
        ("identity", 7, 7, [6, 8, None]),
        ("identity", None, None, [1]),
        ("truncate[10]", -10, -1, [-21, 0, None]),
        ("truncate[2]", "ab", "abz", ["a", "ac", None]),
        ("bucket[16]", 3, 34, [0, None]),  # as pyiceberg has 34 and 0
        ("bucket[16]", None, None, [34]),
    ],
)
def test_rows_of_another_partition_are_refused(
    transform: str, value: Any, own: Any, others: Sequence[Any], tmp_path: Path
) -> None:
    """Their column is in the file, too, and was not looked at: its partition gave it its value."""
    kind = pa.string() if "string" in _avro_of(value, transform) else pa.int64()
    part = [{"name": "p", "transform": transform, "source-id": 1, "field-id": 1000}]
    key = {**_KEY, "type": "string" if kind == pa.string() else "long"}
    for number, other in enumerate([own, *others]):
        made = MadeTable(tmp_path / str(number), [key], part)
        rows = pa.table({"k": pa.array([other, other], kind)})
        file = MadeFile("a.parquet", rows, {"p": value})
        made.commit(MadeCommit([file], {"p": _avro_of(value, transform)}))
        scan = IcebergTable(str(made.folder)).scan()
        if not number:
            assert scan.to_table().to_pydict() == {"k": [own, own]}
            continue
        with pytest.raises(InputError, match=r"a\.parquet: the values of k are .* partition"):
            scan.to_table()


def _avro_of(value: Any, transform: str) -> str:
    if transform.startswith("bucket"):
        return "int"
    return "string" if isinstance(value, str) else "long"


def test_a_file_without_its_partitions_column_is_read(tmp_path: Path) -> None:
    """Its partition gives it the value."""
    other = field_of("x", "long", 2)
    made = MadeTable(tmp_path / "t", [_KEY, other], _PART)
    file = MadeFile("a.parquet", pa.table({"x": pa.array([1], pa.int64())}), {"p": 5})
    made.commit(MadeCommit([file], {"p": "long"}))
    assert IcebergTable(str(made.folder)).scan().to_table().to_pydict() == {"k": [5], "x": [1]}


def test_an_imported_file_may_have_another_value_than_its_partition(tmp_path: Path) -> None:
    """Hive had the value from the folder's name, whatever stands in a file, which has no ids."""
    rows, file = _keys(1), tmp_path / "a.parquet"
    pq.write_table(rows, file)
    made = MadeTable(tmp_path / "t", [_KEY], _PART)
    size = {"file_size_in_bytes": file.stat().st_size}
    made.commit(MadeCommit([MadeFile("a.parquet", rows, {"p": 5}, changed=size)], {"p": "long"}))
    file.replace(made.folder / "data/a.parquet")
    made.map_names([{"field-id": 1, "names": ["k"]}])
    assert IcebergTable(str(made.folder)).scan().to_table() == _keys(5)


@pytest.mark.parametrize("name", ["equality-avro", "vectors-upgraded"])
def test_a_column_that_lost_its_id_is_no_column_of_nulls(name: str, tmp_path: Path) -> None:
    """In Avro a word of the schema is changed, in Parquet the head of the id in the footer."""
    table = unpack_iceberg(name, tmp_path)
    for file in (table / "data").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        if file.suffix == ".avro" and "deletes" not in file.name:
            file.write_bytes(content.replace(b"field-id", b"fielt-id", 1))
        elif file.suffix == ".parquet" and "deletes" not in file.name:
            file.write_bytes(content.replace(b"\x18\x01v%\x005\x04", b"\x18\x01v%\x004\x04"))
    with pytest.raises(InputError, match="has no field id, others have"):
        IcebergTable(str(table)).scan(threads=1).to_table()


#: What writers are known to get wrong in a list, each in the newest one's first manifest.
_KNOWN_TO_BE_WRONG = [
    ({"manifest_length": 1}, "its list says 1"),  # rewrite_table_path (iceberg#16905), iceberg-go
    ({"added_files_count": 5}, "1 entry of status 1, its list says 5"),  # ClickHouse
    ({"existing_files_count": 2}, "0 entries of status 0, its list says 2"),
    ({"added_files_count": 0, "existing_files_count": 1}, "status 0, its list says 1"),
    ({"deleted_files_count": 1}, "status 2, its list says 1"),
]


@pytest.mark.parametrize("manifest", [0, 2])
@pytest.mark.parametrize(("wrong", "says"), _KNOWN_TO_BE_WRONG)
def test_a_list_may_be_wrong_of_a_manifests_length_or_its_counts(
    manifest: int, wrong: dict[str, int], says: str, tmp_path: Path
) -> None:
    """One of both tells that the manifest is whole; no reader of Iceberg's asks for the other."""
    folder = _made(tmp_path / "t")
    expected = IcebergTable(str(folder)).scan().to_table()
    _list(lambda rows: rows[manifest].update(wrong))(folder)
    table = IcebergTable(str(folder))
    assert any(re.search(says, one) for one in _warnings(table.scan()))
    assert table.scan().to_table() == expected
    hows: list[dict[str, Any]] = [{}, {"query": "cdc"}]
    for how in hows:
        with pytest.raises(InputError, match=says):
            table.scan(strict=True, **how)


def test_a_length_that_is_wrong_is_not_made_good_by_counts_that_are_missing(tmp_path: Path) -> None:
    """Version 1 need not have them."""
    folder = _made(tmp_path / "t")
    file = folder / "metadata/snap-3.avro"
    schema, header, rows = _read(file)
    for field in schema["fields"]:
        if field["name"] == "deleted_files_count":
            field["type"] = ["null", "int"]
    rows[0]["deleted_files_count"] = None
    _write(file, schema, header, rows)
    assert _warnings(IcebergTable(str(folder)).scan(strict=True)) == []
    rows[0]["manifest_length"] += 1
    _write(file, schema, header, rows)
    with pytest.raises(InputError, match="its list says"):
        IcebergTable(str(folder)).scan()


@pytest.mark.parametrize("is_named", [True, False])
def test_a_position_delete_of_another_partition_than_its_data_file_is_refused(
    *, is_named: bool, tmp_path: Path
) -> None:
    """By the specification it deletes nothing, by readers that go by the path alone it does."""
    made = MadeTable(tmp_path / "t", [_KEY], _PART)
    made.commit(MadeCommit([MadeFile("a.parquet", _keys(1, 1), {"p": 1})], {"p": "long"}))
    path = made.path("a.parquet")
    bounds = [{"key": 2147483546, "value": path.encode()}]
    named = {"lower_bounds": bounds, "upper_bounds": bounds}
    changed = {"referenced_data_file": path} if is_named else named
    gone = made.deletes("d.parquet", "a.parquet", [0], partition={"p": 2}, changed=changed)
    made.commit(MadeCommit([gone], {"p": "long"}, operation="delete"))
    with pytest.raises(InputError, match=r"d\.parquet.* its partition is not that of .*a\.parquet"):
        IcebergTable(str(made.folder)).scan()
    again = MadeFile("a.parquet", _keys(1, 1), {"p": 1})
    made.commit(MadeCommit([again], {"p": "long"}, gone=["a.parquet"], operation="overwrite"))
    assert IcebergTable(str(made.folder)).scan().count_rows() == 2  # it is newer
    right = made.deletes("e.parquet", "a.parquet", [1], partition={"p": 1}, changed=changed)
    made.commit(MadeCommit([right], {"p": "long"}, gone=["d.parquet"], operation="delete"))
    table = IcebergTable(str(made.folder))
    assert _warnings(table.scan(strict=True)) == []
    assert table.scan().count_rows() == 1

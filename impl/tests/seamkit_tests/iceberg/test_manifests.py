"""Manifests that say what no reader may believe: Spark's own ones, with entries changed."""

import copy
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError, RefusedError, SeambenchError
from seamkit.tables.iceberg.metadata.entries import read_entries
from seamkit.tables.iceberg.metadata.manifests import read_list
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import unpack_iceberg

#: What is damaged on purpose is told; here it is the rows that count.
pytestmark = pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")

Entries = list[dict[str, Any]]


def _read(file: Path) -> tuple[Any, dict[str, str], Entries]:
    with file.open("rb") as stream:
        reader = fastavro.reader(stream)
        rows = list(reader)
        metadata = {k: v for k, v in reader.metadata.items() if not k.startswith("avro.")}
    return reader.writer_schema, metadata, rows


def _write(file: Path, schema: Any, metadata: dict[str, str], rows: Entries) -> None:
    out = io.BytesIO()
    fastavro.writer(out, schema, rows, codec="deflate", metadata=metadata)
    file.write_bytes(out.getvalue())


def _newest_list(table: Path) -> Path:
    """The list of manifests of the newest snapshot."""
    snapshot = IcebergTable(str(table))._metadata.current
    assert snapshot is not None
    assert snapshot.manifest_list is not None
    return table / "metadata" / snapshot.manifest_list.rpartition("/")[2]


def _rewrite(
    table: Path, content: int, edit: Callable[[Entries], None], *, settle: bool = True
) -> None:
    """Change in place the entries of the newest snapshot's manifests of data (0) or deletes (1).

    `settle` makes the list right about lengths and counts.
    """
    listed = _newest_list(table)
    schema, metadata, rows = _read(listed)
    for row in rows:
        if row["content"] != content:
            continue
        file = table / "metadata" / row["manifest_path"].rpartition("/")[2]
        own_schema, own_metadata, entries = _read(file)
        edit(entries)
        _write(file, own_schema, own_metadata, entries)
        if settle:
            row["manifest_length"] = file.stat().st_size
            for status, name in enumerate(("existing", "added", "deleted")):
                count = sum(entry["status"] == status for entry in entries)
                row[f"{name}_files_count"] = count
    _write(listed, schema, metadata, rows)


def _summarise(listed: Path, ends: Sequence[tuple[bytes, bytes] | None]) -> None:
    """Say of each manifest of a list between what its partitions lie, or that all are null."""
    schema, header, rows = _read(listed)
    bounds = ("lower_bound", "upper_bound")
    kinds: dict[str, Any] = {"contains_null": "boolean"}
    kinds |= {name: ["null", "bytes"] for name in bounds}
    fields = [
        {"name": name, "type": kind, "field-id": id_}
        for id_, (name, kind) in enumerate(kinds.items(), 509)
    ]
    items = {"type": "array", "items": {"type": "record", "name": "r508", "fields": fields}}
    schema["fields"].append({"name": "partitions", "type": items, "field-id": 507})
    for row, own in zip(rows, ends, strict=True):
        told = dict(zip(bounds, own or (None, None), strict=True))
        row["partitions"] = [{"contains_null": own is None, **told}]
    _write(listed, schema, header, rows)


def _set(name: str, value: Any) -> Callable[[Entries], None]:
    """Give every live entry's file another value."""

    def edit(entries: Entries) -> None:
        for entry in entries:
            if entry["status"] != 2:
                target = entry["data_file"] if name in entry["data_file"] else entry
                target[name] = value

    return edit


def _twice(entries: Entries) -> None:
    entries += [dict(entry) for entry in entries if entry["status"] != 2]


def _kept_without_number(entries: Entries) -> None:
    """Entries that an earlier snapshot added inherit no sequence number."""
    for entry in entries:
        entry.update(status=0, sequence_number=None)


@pytest.mark.parametrize(
    ("table", "content", "edit", "error", "says"),
    [
        ("vectors", 1, _twice, InputError, "a second deletion vector"),
        ("vectors", 1, _set("referenced_data_file", None), InputError, "names no data file"),
        ("vectors", 1, _set("sequence_number", 0), InputError, "is older than"),
        ("vectors", 1, _set("record_count", 3), InputError, "its file says the cardinality"),
        ("vectors", 1, _set("content_offset", 5), InputError,
         "bytes, its manifest says|ends before"),
        ("vectors", 1, _set("content_offset", None), InputError, "its entry gives it"),
        ("vectors", 1, _set("content_size_in_bytes", 9), InputError, "its entry gives it 9"),
        ("vectors", 1, _set("file_size_in_bytes", 9), InputError, "its manifest says 9"),
        ("equality", 0, _set("file_size_in_bytes", 9), InputError, "bytes, its manifest says 9"),
        ("equality", 1, _set("file_size_in_bytes", 9), InputError, "bytes, its manifest says 9"),
        ("positions", 1, _set("file_size_in_bytes", 9), InputError, "bytes, its manifest says 9"),
        ("vectors", 1, _set("key_metadata", b"k"), RefusedError, "is encrypted"),
        ("vectors", 1, _set("file_format", "PARQUET"), InputError, "no.*Parquet|Parquet"),
        ("positions", 1, _set("file_format", "PUFFIN"), InputError, "vector"),
        ("positions", 1, _set("content", 0), InputError, "is in a manifest of deletes"),
        ("positions", 1, _set("content", 3), RefusedError, "unknown content 3"),
        ("positions", 1, _set("record_count", 9), InputError, "its manifest says 9"),
        ("positions", 0, _set("file_format", "LANCE"), RefusedError, "the format 'LANCE'"),
        ("positions", 0, _set("record_count", 1), InputError, "its manifest says 1"),
        ("positions", 0, _set("status", 7), InputError, "the status 7"),
        ("positions", 0, _kept_without_number, InputError, "has no sequence number, and was not"),
        ("equality", 1, _set("equality_ids", None), InputError, "without the ids"),
        ("equality", 1, _set("equality_ids", [77]), RefusedError, "by the field 77"),
        ("equality", 1, _set("record_count", 7), InputError, "its manifest says 7"),
    ],
)  # fmt: skip
def test_what_cannot_be_believed_is_refused(
    tmp_path: Path,
    table: str,
    content: int,
    edit: Callable[[Entries], None],
    error: type[SeambenchError],
    says: str,
) -> None:
    """By name, and before a row is handed out."""
    folder = unpack_iceberg(table, tmp_path)
    _rewrite(folder, content, edit)
    with pytest.raises(error, match=says):
        IcebergTable(str(folder)).scan(threads=1).to_table()


@pytest.mark.parametrize("content", [0, 1])
def test_a_manifest_is_as_its_list_says(tmp_path: Path, content: int) -> None:
    """An Avro file that ends after an earlier block would pass for a whole one."""
    folder = unpack_iceberg("positions", tmp_path)
    _rewrite(folder, content, list.clear, settle=False)
    with pytest.raises(InputError, match="its list says"):
        IcebergTable(str(folder)).scan()


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_a_newer_position_delete_does_not_reach_back(tmp_path: Path) -> None:
    """Position deletes count for files that are as old as they are, or older."""
    folder = unpack_iceberg("positions-by-partition", tmp_path)
    whole = IcebergTable(str(folder)).scan().to_table().column("k").to_pylist()
    assert sorted(whole) == [3, 4]
    _rewrite(folder, 1, _set("sequence_number", 1))
    rows = IcebergTable(str(folder)).scan().to_table().column("k").to_pylist()
    # Of the first commit's file alone rows are gone.
    assert sorted(rows) == [3, 4, 4, 5]


@pytest.mark.parametrize("says", ["another", "nothing"])
def test_a_manifest_list_is_that_of_its_snapshot(tmp_path: Path, says: str) -> None:
    """The list of another snapshot would give another state of the table; it may name none."""
    folder = unpack_iceberg("positions", tmp_path)
    whole = IcebergTable(str(folder)).scan().to_table()
    metadata = IcebergTable(str(folder))._metadata
    current = metadata.current
    assert current is not None
    before = next(one for one in metadata.snapshots.values() if one != current)
    first, last = (
        folder / "metadata" / str(one.manifest_list).rpartition("/")[2] for one in (before, current)
    )
    if says == "nothing":
        schema, _, rows = _read(last)
        _write(last, schema, {}, rows)
        assert IcebergTable(str(folder)).scan().to_table().num_rows == whole.num_rows
        return
    last.write_bytes(first.read_bytes())
    with pytest.raises(InputError, match=f"and snapshot {current.id} names it"):
        IcebergTable(str(folder)).scan()


Schema = Any


def _each_field(kind: Schema, change: Callable[[dict[str, Any]], None]) -> None:
    """Change every field of a schema, at every depth, the inner ones first."""
    if isinstance(kind, list):
        for one in kind:
            _each_field(one, change)
    elif isinstance(kind, dict):
        for one in kind.get("fields", ()):
            _each_field(one["type"], change)
            change(one)
        for name in ("items", "type"):
            _each_field(kind.get(name), change)


def _null_last(one: dict[str, Any]) -> None:
    """A union in the other order, which has no default then."""
    if isinstance(one["type"], list):
        one["type"] = one["type"][::-1]
        one.pop("default", None)


def _wider(one: dict[str, Any]) -> None:
    """Whole numbers as long; of pairs, too."""
    kinds = one["type"] if isinstance(one["type"], list) else [one["type"]]
    wide = ["long" if kind == "int" else kind for kind in kinds]
    one["type"] = wide if isinstance(one["type"], list) else wide[0]


def _field(id_: int, **changed: Any) -> Callable[[dict[str, Any]], None]:
    """Say something else of the field of an id; None takes it out of the field."""

    def change(one: dict[str, Any]) -> None:
        if one.get("field-id") == id_:
            one.update(changed)
            for name in [name for name, value in changed.items() if value is None]:
                del one[name]

    return change


def _unknown(one: dict[str, Any]) -> None:
    """A field of a type that no column can have, which no reader knows, in each file."""
    if one.get("field-id") == 2:
        odd = {"name": "odd", "field-id": 999, "type": ["null", "int", "string"], "default": None}
        one["type"]["fields"].insert(1, odd)


def _reform(table: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write every manifest of a table, and its lists, by another schema."""
    lists = []
    for file in sorted((table / "metadata").glob("*.avro")):
        schema, metadata, rows = _read(file)
        if schema["name"] == "manifest_file":
            lists.append(file)
            continue
        schema = json.loads(json.dumps(schema))
        _each_field(schema, change)
        _write(file, schema, metadata, rows)
    for file in lists:
        schema, metadata, rows = _read(file)
        for row in rows:
            own = table / "metadata" / row["manifest_path"].rpartition("/")[2]
            row["manifest_length"] = own.stat().st_size
        schema = json.loads(json.dumps(schema))
        _each_field(schema, change)
        _write(file, schema, metadata, rows)


@pytest.mark.parametrize("change", [_null_last, _wider, _unknown])
@pytest.mark.parametrize(
    "table", ["vectors", "positions-by-partition", "equality", "v1", "transforms"]
)
def test_manifests_may_have_any_avro_form(
    tmp_path: Path, table: str, change: Callable[[dict[str, Any]], None]
) -> None:
    """A schema in another form of the same meaning gives the same rows, by the same filters."""
    folder = unpack_iceberg(table, tmp_path)
    before = IcebergTable(str(folder)).scan().to_table()
    _reform(folder, change)
    after = IcebergTable(str(folder)).scan()
    assert after.to_table().equals(before)
    [name, *_] = before.column_names
    least = pc.min(before.column(name)).as_py()
    found = IcebergTable(str(folder)).scan(filter=pc.field(name) == least).to_table()
    assert found.equals(before.filter(pc.field(name) == least))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_field(100, **{"field-id": None}), "the field 100 of an entry is missing"),
        (_field(2, **{"field-id": None}), "the field 2 of an entry is missing"),
        (_field(103, type=["null", "long"]), None),
        (_field(103, type=["null", "long", "string"]),
         r"'?field 103'?.*union of \[null, long, str"),
        (_field(103, type="double"), "the field 103 of an entry is of the type double"),
        (_field(101, **{"field-id": 100}), "is defined twice"),
        (_field(122, type="double"),
         "field 110: the field value of an entry is of the type double"),
        (_field(110, **{"field-id": 125}), "is defined twice"),
    ],
)  # fmt: skip
def test_a_field_is_of_its_type(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], says: str | None
) -> None:
    """A field that every entry has is found by its id, and holds what the format says."""
    folder = unpack_iceberg("positions", tmp_path)
    _reform(folder, change)
    table = IcebergTable(str(folder))
    if says is None:
        assert len(table.scan().to_table())
        return
    with pytest.raises(SeambenchError, match=rf"\.avro: .*{says}"):
        table.scan()


def test_equality_ids_are_numbers(tmp_path: Path) -> None:
    """Null among the ids of the fields that decide is no field."""
    folder = unpack_iceberg("equality", tmp_path)
    items = {"type": "array", "items": ["int", "null"]}
    _reform(folder, _field(135, type=["null", items]))
    _rewrite(folder, 1, _set("equality_ids", [1, None]))
    with pytest.raises(InputError, match="equality ids that are no numbers"):
        IcebergTable(str(folder)).scan()


def test_row_ids_go_on_from_file_to_file(tmp_path: Path) -> None:
    """Files of a manifest without an id of their own have those behind the file before."""
    folder = unpack_iceberg("lineage", tmp_path)

    def twice(entries: Entries) -> None:
        [live] = [entry for entry in entries if entry["status"] != 2]
        live["data_file"]["first_row_id"] = None
        entries.append(copy.deepcopy(live))

    [first, *_] = _row_ids(folder)  # of a file of one row; the other file has ids of its own
    _rewrite(folder, 0, twice)
    assert _row_ids(folder)[:2] == [first, first + 1]


def _row_ids(folder: Path) -> list[int]:
    found = IcebergTable(str(folder)).scan(columns=["_row_id"]).to_table()
    return list(found.column("_row_id").to_pylist())


def test_metadata_and_lists_are_parsed_once_until_they_are_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later table of the same folder has what an earlier one was given, unless a file changed."""
    monkeypatch.setattr("seamkit.files.file_cache._SETTLED_NS", -(10**12))
    folder = unpack_iceberg("equality", tmp_path)
    first, again = IcebergTable(str(folder)), IcebergTable(str(folder))
    assert again._metadata is first._metadata
    snapshot = first._metadata.current
    assert snapshot is not None
    lists = [read_list(one._files, snapshot, one._metadata) for one in (first, again)]
    assert lists[0] is lists[1]
    text = Path(first.metadata_file).read_text()
    Path(first.metadata_file).write_text(text.replace('"location"', '"told":1,"location"'))
    path = folder / first._files.shown(str(snapshot.manifest_list))
    path.write_bytes(path.read_bytes()[:-40])
    later = IcebergTable(str(folder))
    assert later._metadata is not first._metadata
    with pytest.raises(InputError, match=path.name):
        later.scan()


def _manifests(table: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """The newest snapshot's manifests as their list has them, in its order."""
    for row in _read(_newest_list(table))[2]:
        yield row, table / "metadata" / row["manifest_path"].rpartition("/")[2]


@pytest.mark.parametrize("broken", [[0, 1, 2], [1, 2], [2]])
@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_set("status", 7), "the status 7"),
        (_set("key_metadata", b"k"), "is encrypted"),
        (_set("sequence_number", 99), "the sequence number 99, its manifest"),
        (_set("file_size_in_bytes", -1), "in -1 bytes"),
        (list.clear, "its list says"),
        (None, "no Avro file"),
    ],
)
def test_of_several_manifests_the_first_wrong_one_is_named(
    tmp_path: Path, edit: Callable[[Entries], None] | None, says: str, broken: list[int]
) -> None:
    """Those of one schema are read together, which no message may show."""
    folder = unpack_iceberg("buckets", tmp_path)
    rows = [*_manifests(folder)]
    for number, (_, file) in enumerate(rows):
        schema, metadata, entries = _read(file)
        if edit is not None and number in broken:
            edit(entries)
        _write(file, schema, metadata, entries)
        if edit is None and number in broken:
            file.write_bytes(b"x" * file.stat().st_size)
    _settle_lengths(folder)
    with pytest.raises(SeambenchError, match=says) as raised:
        IcebergTable(str(folder)).scan()
    assert rows[broken[0]][1].name in str(raised.value)


def _settle_lengths(table: Path) -> None:
    listed = _newest_list(table)
    schema, metadata, rows = _read(listed)
    for row in rows:
        file = table / "metadata" / row["manifest_path"].rpartition("/")[2]
        row["manifest_length"] = file.stat().st_size
    _write(listed, schema, metadata, rows)


def _swap_counts(schema: Any) -> None:
    """Have rows and bytes of a file in each other's place, as another writer might."""
    [file] = [one["type"] for one in schema["fields"] if one["name"] == "data_file"]
    fields = file["fields"]
    one, other = (
        next(at for at, field in enumerate(fields) if field["name"] == name)
        for name in ("record_count", "file_size_in_bytes")
    )
    fields[one], fields[other] = fields[other], fields[one]


@pytest.mark.parametrize(
    "table", ["buckets", "lineage", "equality-evolved", "v1-to-v2", "partition-evolution"]
)
def test_entries_inherit_of_their_own_manifest(tmp_path: Path, table: str) -> None:
    """As the list has it, which fastavro reads here; one has a schema of its own."""
    folder = unpack_iceberg(table, tmp_path)
    for number, (_, file) in enumerate(_manifests(folder)):
        schema, header, entries = _read(file)
        for entry in entries:
            if entry["status"] == 1:
                entry["snapshot_id"] = None
        if number == 1:
            _swap_counts(schema)
        _write(file, schema, header, entries)
    _settle_lengths(folder)
    opened = IcebergTable(str(folder))
    files, metadata = opened._files, opened._metadata
    assert metadata.current is not None
    expected = []
    for row, file in _manifests(folder):
        row_id, own = row.get("first_row_id"), []
        for entry in _read(file)[2]:
            if entry["status"] == 2:
                continue
            data = entry["data_file"]
            sequence, added_by = entry.get("sequence_number"), entry["snapshot_id"]
            sequence = row["sequence_number"] if sequence is None else sequence
            added_by = row["added_snapshot_id"] if added_by is None else added_by
            first = data.get("first_row_id")
            if first is None and row_id is not None and not data["content"]:
                first, row_id = row_id, row_id + data["record_count"]
            counts = {one["key"]: one["value"] for one in data["value_counts"] or ()}
            partition = [*data["partition"].values()]
            stated = data["record_count"], counts, partition
            own.append((data["file_path"], sequence, added_by, first, file.name, *stated))
        expected.append(own)
    assert len(expected) > 1
    listed = read_list(files, metadata.current, metadata)
    found = [
        [
            (
                one.path,
                one.sequence_number,
                one.added_by,
                one.first_row_id,
                one.manifest.rpartition("/")[2],
                one.records,
                one.stated.value_counts,
                [*one.partition.values.values()],
            )
            for one in own
        ]
        for own in (read.entries for read in read_entries(files, listed, metadata))
    ]
    assert found == expected


def test_files_of_a_manifest_without_a_first_row_id_have_no_lineage(tmp_path: Path) -> None:
    """Whatever their entries say, or they have themselves (specification, "Version 3")."""
    folder = unpack_iceberg("lineage", tmp_path)
    assert None not in _row_ids(folder)
    listed = _newest_list(folder)
    schema, metadata, rows = _read(listed)
    for row in rows:
        row["first_row_id"] = None
    _write(listed, schema, metadata, rows)
    _rewrite(folder, 0, _set("first_row_id", 1000))
    table = IcebergTable(str(folder))
    names = ["_row_id", "_last_updated_sequence_number"]
    ids, since = table.scan(columns=names).to_table().columns
    assert ids.null_count == since.null_count == len(ids) > 1
    assert table.scan(filter=pc.field("_row_id").is_null()).count_rows() == len(ids)
    assert table.scan(filter="_last_updated_sequence_number > 0").count_rows() == 0

"""Files that Hudi did not write and a commit took up, as Apache XTable's commits do.

Commits and the metadata table alone name them: `NAME_INSTANT_hudiext` (`ExternalFilePathUtil` of
Hudi 1.2.0). The table of these tests is made by hand, of the form that Hudi's own client gives one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.avro_schemas import datum, logical, map_of, optional, record
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hfile_bytes import build_hfile
from seamkit_tests.samples.hudi_files import Table, at
from seamkit_tests.samples.hudi_scans import scan_on

_OLD, _NEW, _OTHER = "part-00000-1_2.snappy.parquet", "part-00001.parquet", "part-00002.parquet"
#: Files by partition, with the minute of the commit that took each up and the keys of its rows.
_FILES = {"x": [(_OLD, 1, "ab"), (_NEW, 2, "ad")], "y": [(_OTHER, 1, "c")]}
_INFO = record("info", size="long", isDeleted="boolean")
_LISTED = record("r", filesystemMetadata=optional(map_of(_INFO)))
_KEY_GENERATORS = "org.apache.hudi.keygen."
_ROWS = [("a", 2, "x"), ("c", 1, "y"), ("d", 2, "x")]
PATHS = pytest.mark.parametrize("path", ["auto", "native", "merge", "connector"])


def taken_up_table(
    folder: Path,
    *,
    within: str = "",
    more: Mapping[str, Sequence[int]] = MappingProxyType({}),
    archived: bool = False,
    maker: str = "SimpleKeyGenerator",
    kind: Any = "string",
    field: str = "p",
    every: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """A table of two commits, of which the second replaces the file of a and b by one of a and d.

    Files have no meta columns, nor the partition's, which is of a `kind`, and lie in a folder
    `within` that. The newest one has `more` columns than the table, all have one value in `every`
    one of those columns. Paths name another `field` than the table, or are a folder deeper where it
    is empty. Both commits are `archived` where a third has written nothing since.
    """
    schema = record("r", k="string", v=optional("long"), p=optional(kind))
    own = {
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.recordkey.fields": "k",
        "hoodie.table.partition.fields": "p",
        "hoodie.table.keygenerator.class": f"{_KEY_GENERATORS}{maker}",
        "hoodie.table.metadata.partitions": "files",
    }
    table = Table(folder, 6, **own)
    (folder / ".hoodie_partition_metadata").unlink()  # nobody but Hudi's writers leaves these
    stats: dict[int, dict[str, Any]] = {1: {}, 2: {}}
    listed: dict[str, dict[str, Any]] = {"__all_partitions__": {}}
    places = {value: f"{field}={value}" if field else f"{value}/1" for value in _FILES}
    for value, files in _FILES.items():
        partition = places[value]
        listed["__all_partitions__"][partition] = {"size": 0, "isDeleted": False}
        for name, minute, keys in files:
            own_name = f"{within}/{name}" if within else name
            path = folder / partition / own_name
            path.parent.mkdir(parents=True, exist_ok=True)
            columns = {"k": [*keys], "v": [minute] * len(keys)}
            columns |= {column: [one] * len(keys) for column, one in every.items()}
            pq.write_table(pa.table({**columns, **(more if name == _NEW else {})}), path)
            size, in_folder = path.stat().st_size, f"_fg%3D{within}" if within else ""
            marked = f"{own_name}_{at(minute)}{in_folder}_hudiext"
            gone = archived and name == _OLD  # what was replaced is cleaned before
            listed.setdefault(partition, {})[marked] = {"size": size, "isDeleted": gone}
            stat = {"fileId": own_name, "path": f"{partition}/{marked}", "numWrites": len(keys)}
            stats[minute].setdefault(partition, []).append({**stat, "fileSizeInBytes": size})
    replaced = {1: {}, 2: {places["x"]: [f"{within}/{_OLD}" if within else _OLD]}}
    bodies = {
        minute: {
            "partitionToWriteStats": stats[minute],
            "partitionToReplaceFileIds": replaced[minute],
            "extraMetadata": {"schema": json.dumps(schema)},
        }
        for minute in stats
    }
    if archived:
        table.archived(*((at(m), at(m), "replacecommit", body) for m, body in bodies.items()))
        table.instant(at(3), "replacecommit", "", schema=json.dumps(schema))
    else:
        for minute, body in bodies.items():
            (table.timeline / f"{at(minute)}.replacecommit").write_text(json.dumps(body))
    _list(folder, [(key, {"filesystemMetadata": files}) for key, files in listed.items()])
    return folder


def _list(folder: Path, records: Sequence[tuple[str, Any]]) -> None:
    """The metadata table, which has these records."""
    own = Table(folder / ".hoodie/metadata", 6, hoodie__table__base__file__format="HFILE")
    for minute in (1, 2, 3):
        own.instant(at(minute), "deltacommit", "")
    info = {b"KEY_VALUE_VERSION": b"\0\0\0\1", b"schema": json.dumps(_LISTED).encode()}
    cells = sorted((key.encode(), datum(_LISTED, files)) for key, files in records)
    path = folder / f".hoodie/metadata/files/files-0000-0_0-1-1_{at(1)}.hfile"
    path.parent.mkdir()
    path.write_bytes(build_hfile([cells], info))


def _rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in found.to_pylist())


@PATHS
@pytest.mark.parametrize("listing", ["auto", "metadata"])
def test_rows_of_files_that_hudi_did_not_write(tmp_path: Path, path: str, listing: Any) -> None:
    """The metadata table says which such files there are, also of a table on local disk.

    What such a commit replaces is gone, and partition columns come from the path.
    """
    table = HudiTable(str(taken_up_table(tmp_path / "t")), listing=listing)
    assert _rows(scan_on(table, path).to_table()) == _ROWS
    only = scan_on(table, path, ["v"], filter=(pc.field("p") == "x") & (pc.field("k") == "d"))
    assert _rows(only.to_table()) == [(2,)]
    first = scan_on(table, path, as_of=at(1)).to_table()
    assert _rows(first) == [("a", 1, "x"), ("b", 1, "x"), ("c", 1, "y")]
    meta = scan_on(table, path, ["k", "_hoodie_record_key"]).to_table()
    assert _rows(meta) == [(key, None) for key, _, _ in _ROWS]


@pytest.mark.parametrize("maker", ["CustomKeyGenerator", "TimestampBasedKeyGenerator"])
def test_no_key_generator_made_their_paths(tmp_path: Path, maker: str) -> None:
    """Where rows tell the columns of partitions otherwise, the path does of such files.

    XTable names `CustomKeyGenerator` where several columns partition a table, and its readers are
    told to take them from the path (`hoodie.datasource.read.extract.partition.values.from.path`).
    """
    table = HudiTable(str(taken_up_table(tmp_path / "t", maker=maker)))
    assert _rows(table.scan().to_table()) == _ROWS
    assert _rows(table.scan(["k"], filter=pc.field("p") == "y").to_table()) == [("c",)]


@PATHS
@pytest.mark.parametrize(
    ("kind", "field"),
    [("int", "p"), (logical("long", "timestamp-micros"), "p"), ("string", "col-1"), ("int", "")],
    ids=["int", "time", "other name", "deeper"],
)
def test_what_a_path_does_not_tell_files_must_have(
    tmp_path: Path, path: str, kind: Any, field: str
) -> None:
    """A part that is no value, or that names another column, tells nothing of a column.

    A file that lacks it as well is refused: a null would be no value of its rows.
    """
    folder = taken_up_table(tmp_path / "t", kind=kind, field=field)
    for further in ({}, {"columns": ["k"], "filter": pc.field("v") == 1}):
        with pytest.raises(RefusedError, match=r"parquet: Hudi did .* lacks the .* 'p', and"):
            scan_on(HudiTable(str(folder)), path, **further).to_table()


@PATHS
@pytest.mark.parametrize(("kind", "field", "value"), [("long", "", 7), ("string", "col-1", "z")])
def test_files_may_tell_what_their_paths_do_not(
    tmp_path: Path, path: str, kind: Any, field: str, value: Any
) -> None:
    """Files of Iceberg have the columns of which a partition's value was made."""
    folder = taken_up_table(tmp_path / "t", kind=kind, field=field, every={"p": value})
    rows = _rows(scan_on(HudiTable(str(folder)), path).to_table())
    assert rows == [(key, number, value) for key, number, _ in _ROWS]


def test_slices_of_files_that_hudi_did_not_write(tmp_path: Path) -> None:
    """A slice has the file by its own name, which is its group's, and what is stated of it."""
    slices = HudiTable(str(taken_up_table(tmp_path / "t"))).slices()
    assert [(one.partition, one.file_id, one.instant) for one in slices] == [
        ("p=x", _NEW, at(2)),
        ("p=y", _OTHER, at(1)),
    ]
    bases = [one.base for one in slices if one.base is not None]
    assert [base.path for base in bases] == [f"p=x/{_NEW}", f"p=y/{_OTHER}"]
    assert [base.stated_rows for base in bases] == [2, 1]


def test_the_metadata_table_is_enough(tmp_path: Path) -> None:
    """Commits that told of the files may be archived."""
    folder = taken_up_table(tmp_path / "t", archived=True)
    assert _rows(HudiTable(str(folder)).scan().to_table()) == _ROWS
    shutil.rmtree(folder / ".hoodie/archived")
    assert _rows(HudiTable(str(folder)).scan().to_table()) == _ROWS


@pytest.mark.parametrize("lost", ["archived", "metadata/files"])
def test_folders_are_not_believed_though_no_active_commit_names_a_file(
    tmp_path: Path, lost: str
) -> None:
    """The metadata table tells which files folders lack, and where it is broken the archive does.

    Hudi lists no partition of such a table by folders, where nobody left its marker, and so finds
    no row (1.2.0, `FileSystemBackedTableMetadata`).
    """
    folder = taken_up_table(tmp_path / "t", archived=True)
    shutil.rmtree(folder / ".hoodie" / lost)
    for options in ({}, {"as_of": at(2)}, {"columns": ["k"], "filter": pc.field("k") == "c"}):
        with pytest.raises(RefusedError, match="Hudi did not write the file that this names"):
            HudiTable(str(folder), listing="files").scan(**options)
    if lost != "archived":
        with pytest.raises(RefusedError, match="Hudi did not write the file that this names"):
            HudiTable(str(folder)).scan()


@pytest.mark.parametrize("is_broken", [False, True])
def test_folders_tell_of_all_files_that_hudi_wrote(tmp_path: Path, is_broken: bool) -> None:
    """A table without meta columns whose metadata table names no other files is read by folders."""
    folder = unpack_table("metadata-table/v6", tmp_path)
    table = HudiTable(str(folder), listing="files")
    expected = _rows(table.scan().to_table())
    path = folder / ".hoodie/hoodie.properties"
    path.write_text(path.read_text() + "hoodie.populate.meta.fields=false\n")
    if is_broken:
        shutil.rmtree(folder / ".hoodie/metadata/files")
    table = HudiTable(str(folder), listing="files")
    assert table.config.virtual_keys
    assert _rows(table.scan().to_table()) == expected


@pytest.mark.parametrize("harm", ["gone", "cut", "fewer rows"])
def test_a_file_that_hudi_did_not_write_is_held_to_its_commit(tmp_path: Path, harm: str) -> None:
    """A file that is gone, shorter or of fewer rows than its commit says is an error."""
    folder = taken_up_table(tmp_path / "t")
    path = folder / "p=x" / _NEW
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(content[:-20])
    else:
        pq.write_table(pq.ParquetFile(path).read().slice(1), path)
    with pytest.raises(InputError, match=_NEW):
        HudiTable(str(folder)).scan().to_table()


def test_folders_do_not_tell_of_files_that_hudi_did_not_write(tmp_path: Path) -> None:
    """Where folders are listed, such a table is refused, and not called one that lacks files."""
    folder = taken_up_table(tmp_path / "t")
    with pytest.raises(RefusedError, match=r"_hudiext: Hudi did not write the file .* alone tells"):
        HudiTable(str(folder), listing="files").scan()
    for path in (folder / ".hoodie/metadata/files").iterdir():
        path.write_bytes(b"")
    with pytest.raises(RefusedError, match="Hudi did not write the file"):
        HudiTable(str(folder)).scan()


@PATHS
def test_files_in_folders_within_a_partition(tmp_path: Path, path: str) -> None:
    """A name may state a folder, as of a bucket of Paimon's, which is part of the group's name."""
    table = HudiTable(str(taken_up_table(tmp_path / "t", within="bucket-0")))
    assert _rows(scan_on(table, path).to_table()) == _ROWS
    first = scan_on(table, path, ["k"], as_of=at(1)).to_table()
    assert _rows(first) == [("a",), ("b",), ("c",)]
    assert [one.file_id for one in table.slices()] == [f"bucket-0/{_NEW}", f"bucket-0/{_OTHER}"]


def test_files_may_have_columns_that_the_table_lacks(tmp_path: Path) -> None:
    """Other formats leave columns in their files that were dropped."""
    folder = taken_up_table(tmp_path / "t", more={"gone": [1, 2]})
    assert _rows(HudiTable(str(folder)).scan().to_table()) == _ROWS


def test_local_tables_with_meta_columns_are_listed_by_folder(tmp_path: Path) -> None:
    """No file of such a table may have come from elsewhere, so that nothing is asked for it."""
    folder = taken_up_table(tmp_path / "t")
    path = folder / ".hoodie/hoodie.properties"
    path.write_text(path.read_text().replace("meta.fields=false", "meta.fields=true"))
    with pytest.raises(RefusedError, match="Hudi did not write the file"):
        HudiTable(str(folder)).scan()
    assert _rows(HudiTable(str(folder), listing="metadata").scan().to_table()) == _ROWS

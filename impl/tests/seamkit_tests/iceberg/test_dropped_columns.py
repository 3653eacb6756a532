"""Partitions by columns that the table dropped: manifests written since do not tell the values."""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit
from seambase.errors import InputError, RefusedError
from seambench.contracts.formats import resolve_format
from seamkit_tests.samples.iceberg_tables import KEY, MadeCommit, MadeFile, MadeTable, field_of

_FIELD = {"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}
_COLUMN = field_of("p", "string", 2)
_TOLD: Mapping[str, Any] = {"p": "string"}
_UNTOLD = pytest.mark.parametrize("untold", [{"p": "null"}, {"p": ""}])


#: Of the judge, about partitions.
_RULES = {
    f"iceberg.{rule}"
    for rule in (
        "manifest.field-ids",
        "list.partitions",
        "file.partition",
        "deletes.reference",
        "vector.reference",
    )
}


def _faults(folder: Path) -> set[str]:
    return _RULES & {one.rule for one in resolve_format("iceberg").faults(folder)}


def _table(
    folder: Path, fields: Sequence[Mapping[str, Any]] = (_FIELD,), *, dropped: bool = True
) -> MadeTable:
    return MadeTable(folder, [KEY] if dropped else [KEY, _COLUMN], fields)


def _file(name: str, *keys: int, p: str | None = "x", **more: Any) -> MadeFile:
    return MadeFile(name, pa.table({"k": pa.array(keys, pa.int64())}), {"p": p}, **more)


def _keys(table: MadeTable, **how: Any) -> list[int]:
    found = seamkit.open_table(str(table.folder)).scan(["k"], **how)
    return sorted(found.to_table()["k"].to_pylist())


@_UNTOLD
def test_files_of_a_dropped_column_are_read(untold: Mapping[str, Any], tmp_path: Path) -> None:
    """Beside those of manifests that tell it; a field whose column is there is still told."""
    fields = [_FIELD, {"name": "b", "transform": "truncate[1]", "source-id": 1, "field-id": 1001}]
    table = _table(tmp_path / "t", fields)
    for number, kinds in enumerate((_TOLD, untold, _TOLD)):
        rows = pa.table({"k": pa.array([number], pa.int64())})
        own = {"p": "x", "b": number}
        table.commit(MadeCommit([MadeFile(f"{number}.parquet", rows, own)], {**kinds, "b": "long"}))
    assert _keys(table) == [0, 1, 2]
    for query in ("incremental", "cdc"):
        assert _keys(table, query=query) == [0, 1, 2]
    assert _keys(table, filter=pc.field("k") == 1) == [1]


@_UNTOLD
def test_a_column_that_is_there_must_be_told(untold: Mapping[str, Any], tmp_path: Path) -> None:
    """Its values and deletes go by it."""
    table = _table(tmp_path / "t", dropped=False)
    table.commit(MadeCommit([_file("a.parquet", 1)], untold))
    with pytest.raises(InputError, match=r"has the partition fields \[\], its spec 0 has \[1000\]"):
        _keys(table)


def test_a_field_that_the_spec_lacks_is_refused(tmp_path: Path) -> None:
    """However many of the spec's own a manifest has."""
    table = _table(tmp_path / "t")
    table.commit(MadeCommit([_file("a.parquet", 1)], _TOLD))
    metadata = tmp_path / "t/metadata/v1.metadata.json"
    metadata.write_text(metadata.read_text().replace('"field-id": 1000', '"field-id": 1001'))
    with pytest.raises(InputError, match=r"the partition fields \[1000\], its spec 0 has \[1001\]"):
        _keys(table)


def _by_position(table: MadeTable) -> MadeFile:
    return table.deletes("d.parquet", "a.parquet", [0], partition={"p": "x"})


def _by_key(table: MadeTable) -> MadeFile:
    del table
    return _file("d.parquet", 1, content=2)


@_UNTOLD
@pytest.mark.parametrize("by", [_by_position, _by_key])
@pytest.mark.parametrize("data_is_told", [True, False])
@pytest.mark.parametrize("delete_is_told", [True, False])
def test_keys_that_are_deleted_in_a_partition_that_is_not_told_are_refused(
    untold: Mapping[str, Any], by: Any, data_is_told: bool, delete_is_told: bool, tmp_path: Path
) -> None:
    """They are of files of one partition; newer ones they do not reach. Positions name a file."""
    table = _table(tmp_path / "t")
    table.commit(MadeCommit([_file("a.parquet", 1, 2)], _TOLD if data_is_told else untold))
    kinds = _TOLD if delete_is_told else untold
    table.commit(MadeCommit([by(table)], kinds, operation="delete"))
    if by is _by_position or (data_is_told and delete_is_told):
        assert _keys(table) == [2]
    else:
        with pytest.raises(RefusedError, match=r"d\.parquet has keys .* is not known"):
            _keys(table)
    gone = MadeCommit([_file("b.parquet", 3)], untold, gone=["a.parquet"], operation="overwrite")
    table.commit(gone)
    assert _keys(table) == [3]


_VECTOR = bytes.fromhex(
    "00000022 d1d33964 0100000000000000 00000000 3a300000 01000000 0000 0000 10000000 0000"
)
"""Of the position 0, as the specification lays it out; its checksum follows."""


def _by_vector(table: MadeTable) -> MadeFile:
    size = len(_VECTOR) + 4
    how = {"file_format": "PUFFIN", "content_offset": 0, "content_size_in_bytes": size}
    delete = table.deletes("d.parquet", "a.parquet", [0], partition={"p": "x"})
    about = {"referenced_data_file": table.path("a.parquet")}
    delete.changed = {**how, **about, "file_size_in_bytes": size}
    return delete


def _of_one_file(table: MadeTable) -> MadeFile:
    delete = _by_position(table)
    delete.changed = {"referenced_data_file": table.path("a.parquet")}
    return delete


@pytest.mark.parametrize("by", [_by_position, _of_one_file, _by_vector])
@pytest.mark.parametrize("untold", [{"p": "null"}, {"p": ""}])
@pytest.mark.parametrize(
    ("data_is_told", "delete_is_told"), [(True, False), (False, True), (False, False)]
)
def test_deletes_by_position_go_by_what_both_tell(
    untold: Mapping[str, Any], by: Any, data_is_told: bool, delete_is_told: bool, tmp_path: Path
) -> None:
    """As Iceberg's library writes them of files from before, and names the file."""
    of_keys = {"name": "b", "transform": "truncate[10]", "source-id": 1, "field-id": 1001}
    kinds = [_TOLD if is_told else untold for is_told in (data_is_told, delete_is_told)]
    told = [{**kind, "b": "long"} for kind in kinds]
    for own in (0, 10):
        table = MadeTable(tmp_path / str(own), [KEY], [_FIELD, of_keys], version=3)
        data = [_file("a.parquet", 1, 2), _file("b.parquet", 3)]
        for one in data:
            one.partition = {"p": "x", "b": 0}
        table.commit(MadeCommit(data, told[0]))
        delete = by(table)
        delete.partition = {"p": "x", "b": own}
        table.commit(MadeCommit([delete], told[1], operation="delete"))
        if by is _by_vector:
            checksum = zlib.crc32(_VECTOR[4:]).to_bytes(4, "big")
            (table.folder / "data/d.parquet").write_bytes(_VECTOR + checksum)
        if own == 0:
            assert _keys(table) == [2, 3]
            assert _keys(table, filter=pc.field("k") < 3) == [2]
            assert _faults(table.folder) == set()
            continue
        what = "vector" if by is _by_vector else "deletes"
        assert _faults(table.folder) == {f"iceberg.{what}.reference"}
        if by is _by_position:  # of another partition, by the specification
            assert _keys(table) == [1, 2, 3]
            continue
        with pytest.raises(InputError, match="its partition is not that of"):
            _keys(table)

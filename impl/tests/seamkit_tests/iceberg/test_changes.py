"""What changed between snapshots: told apart from what Spark read before and after each."""

import gzip
import itertools
import json
import pickle
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seambench.conformance.plain import canonical, in_key_order, rows_of
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.iceberg.test_manifests import _newest_list, _read, _write
from seamkit_tests.samples.iceberg_tables import (
    ICEBERG_GOLDEN,
    MadeCommit,
    MadeFile,
    MadeTable,
    field_of,
    iceberg_table_names,
    unpack_iceberg,
)


def _line(table: Path, metadata: str) -> list[int | None]:
    """The current snapshot, those before it, and None for the empty table."""
    content = (table / "metadata" / metadata).read_bytes()
    plain = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    parents = {
        one["snapshot-id"]: one.get("parent-snapshot-id") for one in plain.get("snapshots", ())
    }
    found, current = [], plain.get("current-snapshot-id")
    while current in parents:
        found.append(current)
        current = parents[current]
    return [*found, None]


def _changes(table: IcebergTable, **how: Any) -> dict[str, Counter[str]]:
    """The changed rows by kind, each as text."""
    scan = table.scan(query="cdc", **how)
    at = scan.schema.get_field_index("_change_type")
    found: dict[str, Counter[str]] = {"INSERT": Counter(), "DELETE": Counter()}
    for row in rows_of(scan.to_reader(), scan.schema.names):
        found[row[at]][json.dumps([canonical(in_key_order(value)) for value in row[:at]])] += 1
    return found


def _witnessed(step: dict[str, Any]) -> Counter[str]:
    return Counter(json.dumps(row) for row in step["rows"])


#: Its older snapshots are gone, with their files.
_EXPIRED = "expired"


@pytest.mark.parametrize("name", [name for name in iceberg_table_names() if name != _EXPIRED])
def test_changes_lead_from_each_state_that_spark_read_to_the_next(
    name: str, tmp_path: Path
) -> None:
    """Before, without what was deleted, and with what was inserted, is after; as multisets."""
    folder = unpack_iceberg(name, tmp_path)
    steps = json.loads((ICEBERG_GOLDEN / name / "witness.json").read_text(encoding="utf-8"))
    for old, new in itertools.pairwise(steps):
        begin, line = _line(folder, old["metadata"])[0], _line(folder, new["metadata"])
        alike = old["columns"] == new["columns"] and "rows" in old and "rows" in new
        if not alike or begin == line[0] or begin not in line:  # nothing new, or a rollback
            continue
        told = _changes(IcebergTable(str(folder / "metadata" / new["metadata"])), begin=begin)
        rows = _witnessed(old)
        assert told["DELETE"] <= rows, new["metadata"]
        assert rows - told["DELETE"] + told["INSERT"] == _witnessed(new), new["metadata"]
        if line.index(begin) == 1:  # one commit, which says no more than what is different
            assert told["DELETE"] == rows - _witnessed(new), new["metadata"]


def test_compactions_change_nothing_and_have_no_number(tmp_path: Path) -> None:
    """Snapshots count from 0, the compaction between two of them left out, as Iceberg counts."""
    table = IcebergTable(str(unpack_iceberg("appends", tmp_path)))
    told = table.scan(query="cdc", columns=["k", "_change_type", "_change_ordinal"]).to_table()
    rows = [tuple(row.values()) for row in told.to_pylist()]
    assert sorted(rows, key=lambda row: (row[2], row[1], row[0])) == [
        (1, "INSERT", 0),
        (2, "INSERT", 0),
        (3, "INSERT", 1),
        (1, "DELETE", 2),
        (4, "INSERT", 3),
        (2, "DELETE", 4),
        (3, "DELETE", 4),
        (4, "DELETE", 4),
        (5, "INSERT", 4),
        (6, "INSERT", 5),
        (7, "INSERT", 5),
    ]


def test_changes_are_filtered_by_what_they_are(tmp_path: Path) -> None:
    """Kinds and snapshots can be asked for, and rule files out."""
    table = IcebergTable(str(unpack_iceberg("equality", tmp_path)))
    gone = table.scan(["k"], query="cdc", filter="_change_type = 'DELETE'").to_table()
    assert sorted(gone.column("k").to_pylist()) == [2, 3, 4]
    assert table.scan(["k"], query="cdc", filter="_change_ordinal > 90").count_rows() == 0


def test_deletes_that_are_taken_back_are_refused(tmp_path: Path) -> None:
    """Rows that come back have no word among changes: no silence about them."""
    folder = unpack_iceberg("equality", tmp_path)
    metadata = json.loads((folder / "metadata" / "v6.metadata.json").read_text(encoding="utf-8"))
    by_id = {one["snapshot-id"]: one for one in metadata["snapshots"]}
    newest = by_id[metadata["current-snapshot-id"]]
    older = by_id[newest["parent-snapshot-id"]]
    # The files of the state before the last delete, as if a later commit had brought them back.
    before = by_id[older["parent-snapshot-id"]]
    schema, _, rows = _read(folder / "metadata" / before["manifest-list"].rpartition("/")[2])
    _write(_newest_list(folder), schema, {"snapshot-id": str(newest["snapshot-id"])}, rows)
    table = IcebergTable(str(folder))
    with pytest.raises(RefusedError, match="takes back deletes"):
        table.scan(query="cdc", begin=older["snapshot-id"])


def test_a_column_of_the_same_name_is_refused(tmp_path: Path) -> None:
    """The table's own `_change_type` would hide what the read says."""
    folder = unpack_iceberg("appends", tmp_path)
    for file in (folder / "metadata").glob("*.metadata.json"):
        text = file.read_text(encoding="utf-8").replace('"name":"v"', '"name":"_change_type"')
        file.write_text(text, encoding="utf-8")
    with pytest.raises(RefusedError, match="_change_type"):
        IcebergTable(str(folder)).scan(query="cdc")


def test_a_manifest_list_that_ends_behind_its_header_is_refused(tmp_path: Path) -> None:
    """It is a whole Avro file without rows, and the table would pass for an empty one."""
    folder = unpack_iceberg("appends", tmp_path)
    file = _newest_list(folder)
    content = file.read_bytes()
    header = content.index(content[-16:]) + 16  # up to the first sync marker
    assert header < len(content)
    file.write_bytes(content[:header])
    with pytest.raises(InputError, match="it has no manifests"):
        IcebergTable(str(folder)).scan()


_ALIKE: dict[str, tuple[str, pa.DataType, Any, Any]] = {
    "long": ("long", pa.int64(), 7, 8),
    "string": ("string", pa.string(), "é", "e"),
    "null": ("string", pa.string(), None, ""),
    "nan": ("double", pa.float64(), float("nan"), 0.0),
    "zero": ("float", pa.float32(), 0.0, -0.0),
    "uuid": ("uuid", pa.binary(16), b"a" * 16, b"b" * 16),
    "decimal": ("decimal(9, 2)", pa.decimal128(9, 2), Decimal("1.50"), Decimal("1.51")),
    "boolean": ("boolean", pa.bool_(), True, False),
    "binary": ("binary", pa.binary(), b"\0", b""),
    "variant": (
        "variant",
        pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
        {"metadata": b"\1\0\0", "value": b"\0"},
        {"metadata": b"\1\0\0", "value": b"\4"},
    ),
}


def _rows(name: str, keys: str) -> pa.Table:
    """A row for each letter: `a` and `A` have one key, and another value."""
    _, kind, value, other = _ALIKE[name]
    values = pa.array([other if key.isupper() else value for key in keys], kind)
    return pa.table({"k": pa.array([ord(key.lower()) for key in keys], pa.int64()), "x": values})


def _rewritten(folder: Path, name: str, old: str, new: str) -> IcebergTable:
    """A table whose second commit puts a file in another's place."""
    columns = [
        field_of("k", "long", 1),
        {"id": 2, "name": "x", "required": False, "type": _ALIKE[name][0]},
    ]
    table = MadeTable(folder, columns, version=3)
    table.commit(MadeCommit([MadeFile("a.parquet", _rows(name, old))]))
    file = MadeFile("b.parquet", _rows(name, new))
    table.commit(MadeCommit([file], gone=["a.parquet"], operation="overwrite"))
    return IcebergTable(str(folder))


def _keys(table: IcebergTable, **how: Any) -> dict[str, str]:
    rows = table.scan(["_change_type", "k"], query="cdc", begin=1, **how).to_table()
    found = {"DELETE": "", "INSERT": ""}
    for kind, key in sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True)):
        found[kind] += chr(key)
    return found


@pytest.mark.parametrize("name", _ALIKE)
def test_rows_that_a_commit_only_wrote_anew_are_no_changes(name: str, tmp_path: Path) -> None:
    """Rows alike in all columns go in pairs, as Spark's create_changelog_view has it."""
    table = _rewritten(tmp_path / "t", name, "abbcd", "bcCdde")
    for how in ({}, {"batch_rows": 1}, {"threads": 4}):
        assert _keys(table, **how) == {"DELETE": "ab", "INSERT": "cde"}
    assert table.scan(["k"], query="cdc", begin=1).count_rows() == 5
    assert _keys(table, filter="k = 99") == {"DELETE": "", "INSERT": "c"}
    assert _keys(table, filter="_change_type = 'DELETE'") == {"DELETE": "ab", "INSERT": ""}
    changes = duckdb.from_arrow(table.scan(query="cdc", begin=1).dataset())
    assert changes.filter("_change_ordinal = 0 AND _commit_snapshot_id = 2").shape[0] == 5
    plan = scan_to_json(table.scan(query="cdc", begin=1))
    assert scan_from_json(plan).to_table().num_rows == 5
    whole = pickle.loads(pickle.dumps(table.scan(query="cdc", begin=1)))  # noqa: S301
    assert whole.to_table().num_rows == 5


def test_each_commit_is_by_itself(tmp_path: Path) -> None:
    """A row that one commit took out and a later one put back has changed twice."""
    table = _rewritten(tmp_path / "t", "long", "ab", "ab")
    assert table.scan(query="cdc").count_rows() == 2  # the first commit's
    made = MadeTable(tmp_path / "u", [field_of("k", "long", 1)])
    rows = pa.table({"k": pa.array([97], pa.int64())})
    made.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    made.commit(MadeCommit([], gone=["a.parquet"], operation="delete"))
    made.commit(MadeCommit([MadeFile("b.parquet", rows)]))
    assert _keys(IcebergTable(str(tmp_path / "u"))) == {"DELETE": "a", "INSERT": "a"}


def test_a_row_that_is_deleted_in_place_and_written_again_is_no_change(tmp_path: Path) -> None:
    """An update that sets what was there is carried over, too, by whatever delete."""
    number = field_of("k", "long", 1)
    for content in (1, 2):
        table = MadeTable(tmp_path / str(content), [number])
        rows = pa.table({"k": pa.array([97, 98, 99], pa.int64())})
        table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
        gone = (
            table.deletes("d.parquet", "a.parquet", [0, 1])
            if content == 1
            else MadeFile("d.parquet", rows.slice(0, 2), content=2)
        )
        new = pa.table({"k": pa.array([98, 100], pa.int64())})
        table.commit(MadeCommit([gone, MadeFile("b.parquet", new)], operation="overwrite"))
        found = _keys(IcebergTable(str(table.folder)))
        assert found == {"DELETE": "a", "INSERT": "d"}

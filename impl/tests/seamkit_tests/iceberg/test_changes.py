"""What changed between snapshots: told apart from what Spark read before and after each."""

from __future__ import annotations

import gzip
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import fastavro
import pytest

from seambase.errors import InputError, RefusedError
from seambench.conformance.plain import rows_of
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import (
    ICEBERG_GOLDEN,
    iceberg_table_names,
    unpack_iceberg,
)
from seamkit_tests.samples.witness import witness_text


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
        found[row[at]][json.dumps([witness_text(value) for value in row[:at]])] += 1
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
    lists = [
        folder / "metadata" / one["manifest-list"].rpartition("/")[2] for one in (before, newest)
    ]
    with lists[0].open("rb") as content:
        reader = fastavro.reader(content)
        schema, rows = reader.writer_schema, list(reader)
    with lists[1].open("wb") as out:
        fastavro.writer(out, schema, rows, metadata={"snapshot-id": str(newest["snapshot-id"])})

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
    metadata = json.loads((folder / "metadata" / "v8.metadata.json").read_text(encoding="utf-8"))
    [newest] = (
        one
        for one in metadata["snapshots"]
        if one["snapshot-id"] == metadata["current-snapshot-id"]
    )
    file = folder / "metadata" / newest["manifest-list"].rpartition("/")[2]
    content = file.read_bytes()
    header = content.index(content[-16:]) + 16  # up to the first sync marker
    assert header < len(content)
    file.write_bytes(content[:header])

    with pytest.raises(InputError, match="it has no manifests"):
        IcebergTable(str(folder)).scan()

"""Splits of Paimon, Iceberg and Delta tables through the connector, a row at a time."""

import json
from datetime import time
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import seamkit
from seambase.errors import RefusedError, UsageError
from seamkit.connector.change_rows import reader_of
from seamkit.connector.gone_rows import _positions
from seamkit.connector.planned import rows_of
from seamkit.connector.unit_rows import batches_of
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.connector.factory import connector_scanner
from seamkit.offheap.connector.scanner import stream
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadContext
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.golden_tables import unpack

_STRUCT = pa.struct([("u", pa.uuid()), ("n", pa.int32())])


def _split(table: Path, **how: Any) -> tuple[str, pa.Schema]:
    scan = seamkit.open_table(str(table)).scan(**how)
    return seamkit.scan_to_json(scan), scan.schema


def _sorted(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)


def _read(name: str, schema: pa.Schema, fetch: int = 3, **parameters: str) -> list[dict[str, Any]]:
    scanner = connector_scanner(name, fetch, parameters)
    return [row for batch in stream(scanner, schema) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "table",
    [
        "paimon/pk-levels",
        "paimon/partial-groups-aggregate",
        "paimon/core-vectors-both",
        "paimon/pk-partitions",
        "iceberg/vectors",
        "iceberg/equality-evolved",
        "iceberg/positions-partitioned",
        "delta/vectors-several",
        "delta/partitions-texts",
    ],
)
def test_a_split_has_the_rows_of_its_table(table: str, tmp_path: Path) -> None:
    """All units of a plan come out of the scanner as its own scan gives them."""
    folder = unpack(table, tmp_path / "table")
    text, schema = _split(folder)
    found = _read(table.partition("/")[0], schema, split_info=text)
    assert found
    own = seamkit.open_table(str(folder)).scan().to_table().to_pylist()
    assert _sorted(found) == _sorted(own)


@pytest.mark.parametrize("name", ["core-aggregate-retracts", "core-aggregate-remove"])
@pytest.mark.parametrize("option", ["ignore-delete", "aggregation.ignore-delete"])
def test_aggregations_take_back_what_files_have(name: str, option: str, tmp_path: Path) -> None:
    """To Paimon's core `ignore-delete` says of them what is written, not how it is merged."""
    folder = unpack(f"paimon/{name}", tmp_path / "table")
    own = seamkit.open_table(str(folder)).scan().to_table().to_pylist()
    for file in folder.glob("schema/schema-*"):
        schema = json.loads(file.read_text("utf-8"))
        schema["options"][option] = "true"
        file.write_text(json.dumps(schema), "utf-8")
    text, read = _split(folder)
    assert _sorted(_read("paimon", read, split_info=text)) == _sorted(own)
    assert _sorted(seamkit.open_table(str(folder)).scan().to_table().to_pylist()) == _sorted(own)


def test_columns_are_chosen_as_of_any_scanner(tmp_path: Path) -> None:
    """One column, one that no table has, and the folder under another name."""
    folder = unpack("paimon/pk-levels", tmp_path / "table")
    text, _ = _split(folder)
    moved = folder.rename(tmp_path / "moved")
    schema = pa.schema([("none", pa.string()), ("k", pa.int32())])
    found = _read(
        "paimon", schema, split_info=text, native_table=str(moved), required_fields="none,k"
    )
    keys = PaimonTable(str(moved)).scan(["k"]).to_table()["k"].to_pylist()
    assert sorted(row["k"] for row in found) == sorted(keys)
    assert {row["none"] for row in found} == {None}


@pytest.mark.parametrize(
    ("name", "how", "more", "error", "says"),
    [
        ("delta", {}, {}, UsageError, "a table of paimon, not of delta"),
        ("paimon", {"filter": "k > 1"}, {}, RefusedError, "a plan with a filter"),
        ("paimon", {}, {"split": "x"}, UsageError, "unknown parameter 'split'"),
        ("paimon", {}, {"split_info": ""}, UsageError, "'split_info' is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(
    name: str,
    how: dict[str, Any],
    more: dict[str, str],
    error: type[Exception],
    says: str,
    tmp_path: Path,
) -> None:
    """A plan of another format, one with a filter, an unknown parameter, and no plan."""
    text, _ = _split(unpack("paimon/pk-levels", tmp_path / "table"), **how)
    with pytest.raises(error, match=says):
        connector_scanner(name, 9, {"split_info": text, **more})


def test_a_column_finer_than_an_off_heap_one_is_refused(tmp_path: Path) -> None:
    """Nanoseconds would be cut without a word."""
    own = {"id": 0, "name": "t", "type": "TIMESTAMP(9)"}
    schema = {"version": 3, "id": 0, "fields": [own], "highestFieldId": 0, "options": {}}
    (tmp_path / "schema").mkdir()
    text = json.dumps({**schema, "partitionKeys": [], "primaryKeys": []})
    (tmp_path / "schema" / "schema-0").write_text(text, encoding="utf-8")
    with pytest.raises(RefusedError, match="to the microsecond alone"):
        connector_scanner("paimon", 9, {"split_info": _split(tmp_path)[0]})


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.timestamp("ns"), [1, None, -1]),
        (pa.uuid(), [UUID(int=7), None]),
        (pa.list_(pa.uuid()), [[UUID(int=7), None], None, []]),
        (pa.list_(pa.uuid()), [None]),
        (_STRUCT, [{"u": UUID(int=7), "n": 1}, None, {"u": None, "n": 2}]),
        (pa.list_(_STRUCT), [[{"u": UUID(int=7), "n": 1}, None], None, []]),
        (pa.map_(pa.string(), pa.uuid()), [None, [("a", UUID(int=7)), ("b", None)], []]),
        (pa.map_(pa.uuid(), _STRUCT), [[(UUID(int=7), {"u": UUID(int=8), "n": None})], None]),
        (pa.time64("us"), [time(1, 2, 3, 4), None]),
    ],
    ids=str,
)
def test_what_an_off_heap_table_does_not_hold_is_made_at_once(
    kind: pa.DataType, values: list[Any]
) -> None:
    """Values that have no off-heap column come in batches of the type that was asked for."""
    schema = pa.schema([("k", pa.int32()), ("v", kind)])
    rows = iter([{"k": at, "v": value} for at, value in enumerate(values)])
    batches = list(batches_of(rows, schema, 2, ReadContext(TrackedAllocator(), [])))
    assert [batch.num_rows for batch in batches] == [2] * (len(values) // 2) + [1] * (
        len(values) % 2
    )
    assert [row for batch in batches for row in rows_of(iter([batch]))] == [
        {"k": at, "v": value} for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("table", "how"),
    [
        ("paimon/core-changes", {"query": "incremental", "mode": "diff"}),
        ("paimon/core-changes", {"query": "cdc", "mode": "diff"}),
        ("paimon/core-changelog-input", {"query": "cdc"}),
        ("paimon/core-changelog-input", {"query": "incremental", "row_kinds": True}),
        ("paimon/core-changelog-input", {"query": "incremental"}),
        ("iceberg/equality", {"query": "cdc"}),
        ("iceberg/vectors", {"query": "cdc"}),
        ("delta/feed-vectors", {"query": "cdc", "begin": 0}),
        ("hudi/mor-v9-event", {"query": "cdc"}),
        ("hudi/cow-v9", {"query": "cdc"}),
        ("hudi/mor-v9-replaced", {"query": "cdc", "begin": "000"}),
    ],
)
def test_changes_are_told_alike(table: str, how: dict[str, Any], tmp_path: Path) -> None:
    """By the planner's reader and a row at a time, also from a plan as JSON."""
    scan = seamkit.open_table(str(unpack(table, tmp_path / "table"))).scan(**how)
    assert isinstance(scan, UnitScan)
    expected = _sorted(scan.to_table().to_pylist())
    assert expected
    by_rows = scan.read_by("connector", reader_of(scan))
    for one in (by_rows, seamkit.scan_from_json(seamkit.scan_to_json(by_rows))):
        assert _sorted(one.to_table().to_pylist()) == expected


def _bitmap(*containers: tuple[int, int, bytes], runs: int = -1) -> bytes:
    """A roaring bitmap of 32 bits: of each container its upper bits, its count and its bytes."""
    if runs < 0:
        head = (12346).to_bytes(4, "little") + len(containers).to_bytes(4, "little")
    else:
        head = (12347 | len(containers) - 1 << 16).to_bytes(4, "little") + bytes([runs])
    for high, count, _ in containers:
        head += high.to_bytes(2, "little") + (count - 1).to_bytes(2, "little")
    if runs < 0 or len(containers) >= 4:
        head += bytes(4 * len(containers))
    return head + b"".join(data for _, _, data in containers)


@pytest.mark.parametrize(
    ("bitmap", "rows"),
    [
        (_bitmap((0, 2, b"\1\0\5\0")), [1, 5]),
        (_bitmap((0, 1, b"\1\0"), (2, 1, b"\3\0")), [1, 2 << 16 | 3]),
        (_bitmap((0, 5, b"\2\0\1\0\2\0\7\0\1\0"), runs=1), [1, 2, 3, 7, 8]),
        (_bitmap((1, 5000, b"\xff" * 625 + bytes(8192 - 625))), list(range(1 << 16, 70536))),
    ],
    ids=["array", "two", "runs", "bits"],
)
def test_positions_are_those_of_a_bitmap(bitmap: bytes, rows: list[int]) -> None:
    """Containers of the three kinds, in bitmaps of 32 bits and of 64, worked out by hand."""
    small = (1581511376).to_bytes(4, "big") + bitmap
    assert list(_positions(small)) == rows
    large = (1681511377).to_bytes(4, "little") + (2).to_bytes(8, "little")
    large += bytes(4) + bitmap + (1).to_bytes(4, "little") + bitmap
    assert list(_positions(large)) == [*rows, *(1 << 32 | row for row in rows)]

"""Statistics files, values and defaults of Iceberg tables by the specification's own examples."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambench.contracts.formats import Fault, resolve_format
from seambench.formats.iceberg.lint.table import newest_metadata
from seambench.formats.iceberg.lint.values import transformed
from seambench_tests.formats.planting import unpacked

FORMAT = resolve_format("iceberg")


def _faults(table: Path) -> list[Fault]:
    return list(FORMAT.faults(table))


#: A compact theta sketch of two hashes, all that there were.
SKETCH = bytes([2, 3, 3, 0, 0, 26, 0, 0]) + struct.pack("<if", 2, 1.0) + struct.pack("<2q", 5, 9)
THETA = "apache-datasketches-theta-v1"


def _statistics(table: Path, told: Any, blob: Any, content: bytes) -> None:
    """Put a Puffin file of one blob into a table: what the metadata and its footer tell of it."""
    file = newest_metadata(table)
    said = json.loads(file.read_text())
    number = {"snapshot-id": said["current-snapshot-id"], "sequence-number": 1}
    blob = {"type": THETA, "fields": [1], "offset": 4, "length": len(content), **number, **blob}
    footer = json.dumps({"blobs": [blob]}).encode()
    end = b"PFA1" + footer + struct.pack("<ii", len(footer), 0) + b"PFA1"
    data = b"PFA1" + content + end
    (table / "metadata" / "s.puffin").write_bytes(data)
    of_blob = {"type": THETA, "fields": [1], "properties": blob.get("properties"), **number}
    of_file = {
        "snapshot-id": number["snapshot-id"],
        "statistics-path": said["location"] + "/metadata/s.puffin",
        "file-size-in-bytes": len(data),
        "file-footer-size-in-bytes": len(end),
        "blob-metadata": [of_blob],
    }
    said["statistics"] = [of_file | told]
    file.write_text(json.dumps(said))


@pytest.mark.parametrize(
    ("rules", "told", "blob", "content"),
    [
        (set(), {}, {"properties": {"ndv": "2"}}, SKETCH),
        (set(), {}, {"compression-codec": "zstd"}, pa.compress(SKETCH, "zstd", asbytes=True)),
        (set(), {}, {}, bytes([1, 3, 3, 0, 0, 30, 0, 0])),
        ({"ndv"}, {}, {"properties": {"ndv": "3"}}, SKETCH),
        ({"file"}, {"file-footer-size-in-bytes": 7}, {}, SKETCH),
        ({"file"}, {"file-size-in-bytes": 7}, {}, SKETCH),
        ({"snapshot"}, {"snapshot-id": 7}, {}, SKETCH),
        ({"blobs"}, {"blob-metadata": []}, {}, SKETCH),
        ({"blobs"}, {}, {}, SKETCH[:-1]),
        ({"blobs"}, {}, {"compression-codec": "zstd"}, SKETCH),
        ({"blobs"}, {}, {"compression-codec": "lzo"}, SKETCH),
        ({"puffin"}, {}, {"length": 999}, SKETCH),
        ({"puffin"}, {}, {"offset": None}, SKETCH),
    ],
)
def test_statistics_files_are_held_to_what_is_told_of_them(
    rules: set[str], told: Any, blob: Any, content: bytes, tmp_path: Path
) -> None:
    """A Puffin file's size, footer, blobs and sketches, by the metadata and by themselves."""
    table = unpacked(FORMAT, "travel", tmp_path)
    _statistics(table, told, blob, content)
    found = {one.rule for one in _faults(table) if ".statistics." in one.rule}
    assert found == {f"iceberg.statistics.{rule}" for rule in rules}


@pytest.mark.parametrize(
    ("kind", "key", "code"),
    [
        ("int", 34, 2017239379),
        ("decimal(9, 2)", 1420, -500754589),
        ("date", 17486, -653330422),
        ("timestamp", 1510871468000001, -1207196810),
        ("timestamp_ns", 1510871468000001001, -1207196810),
        ("string", b"iceberg", 1210000089),
        ("uuid", bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7"), 1488055340),
        ("binary", bytes(range(4)), -188683207),
    ],
)
def test_buckets_are_those_of_the_specification(kind: str, key: Any, code: int) -> None:
    """Appendix B gives a hash of each type."""
    assert transformed("bucket[2147483647]", kind, key) == (code & 0x7FFFFFFF) % 2147483647


@pytest.mark.parametrize(
    ("transform", "kind", "key", "wanted"),
    [
        ("truncate[10]", "int", -1, -10),
        ("truncate[50]", "decimal(9, 2)", 1065, 1050),
        ("truncate[1]", "string", "\N{PARTY POPPER}x".encode(), "\N{PARTY POPPER}".encode()),
        ("year", "date", -1, -1),
        ("month", "timestamp", -1, -1),
        ("day", "timestamptz_ns", -1, -1),
        ("hour", "timestamptz", 3600 * 10**6, 1),
        ("void", "int", 5, None),
    ],
)
def test_transforms_are_those_of_the_specification(
    transform: str, kind: str, key: Any, wanted: Any
) -> None:
    """Remainders are positive, texts are cut by code points, and times go down before 1970."""
    assert transformed(transform, kind, key) == wanted


LIST = {"type": "list", "element-id": 91, "element-required": False, "element": "int"}
MAP = {"type": "map", "key-id": 92, "key": "string", "value-id": 93} | {"value-required": True}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("int", 34, 1 << 31),
        ("long", -(1 << 63), 1.0),
        ("double", 1, "1"),
        ("boolean", True, 1),
        ("decimal(4, 2)", "-14.20", "14.2"),
        ("decimal(4, 2)", "0.05", "114.20"),
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "22:31:08.123456", "24:00:00"),
        ("timestamp", "2017-11-16T22:31:08.123456", "2017-11-16T22:31:08.123456+00:00"),
        ("timestamptz", "2017-11-16T22:31:08+00:00", "2017-11-16T22:31:08-08:00"),
        ("timestamp_ns", "2017-11-16T22:31:08.123456789", "2017-11-16"),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "F79C3E09-677C-4BBD-A479-3F349CB785E7"),
        ("fixed[2]", "00ff", "00ff00"),
        ("binary", "", "0"),
        ({"type": "struct", "fields": []}, {}, {"1": 5}),
        (LIST, [1, 2], [1, "2"]),
        (MAP | {"value": "int"}, {"keys": ["a"], "values": [1]}, {"a": 1}),
    ],
    ids=str,
)
def test_defaults_are_spelled_as_their_type(kind: Any, good: Any, bad: Any, tmp_path: Path) -> None:
    """By Appendix D, JSON single-value serialization: what it spells is taken, all else named."""
    table = unpacked(FORMAT, "empty", tmp_path)
    file = newest_metadata(table)
    said = json.loads(file.read_text()) | {"format-version": 3, "next-row-id": 0}
    said["last-column-id"] = 99
    for value, faults in ((good, []), (bad, ["iceberg.schema.defaults"])):
        said["schemas"][0]["fields"][0] |= {"type": kind, "initial-default": value}
        file.write_text(json.dumps(said))
        assert [one.rule for one in _faults(table) if "schema." in one.rule] == faults


def test_metadata_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """No JSON, half a compressed file, a hint at nothing, or no metadata file at all."""
    table = unpacked(FORMAT, "compressed-metadata", tmp_path)
    file = newest_metadata(table)
    whole = file.read_bytes()
    for data in (b"{", whole[: len(whole) // 2], b"[]"):
        file.write_bytes(data)
        assert [one.rule for one in _faults(table)] == ["iceberg.metadata.readable"]
    for name, content in (("other", b"5"), ("version-hint.text", b"99")):
        (table / "metadata" / name).write_bytes(content)
    assert [one.rule for one in _faults(table)] == ["iceberg.metadata.readable"]
    shutil.rmtree(table / "metadata")
    assert [one.rule for one in _faults(table)] == ["iceberg.metadata.readable"]

"""Each rule of Iceberg's linter finds what breaks it; tables that engines wrote keep the rules."""

import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from seambench.contracts.formats import resolve_format
from seambench.contracts.lint import Fault
from seambench.formats.golden import table_folders
from seambench.formats.iceberg.lint.rules import RULES
from seambench.formats.iceberg.lint.table import newest_metadata
from seambench.formats.iceberg.lint.values import transformed
from seambench_tests.formats.planting import SUITES, Plant, new_faults, places, unpacked
from seambench_tests.samples.documents import document

FORMAT = resolve_format("iceberg")
GONE = object()


def _faults(table: Path) -> list[Fault]:
    return list(FORMAT.faults(table))


def _put(said: Any, path: str, value: Any) -> None:
    """Change one value; numbers in the path are places of lists."""
    *way, last = [int(part) if part.lstrip("-").isdigit() else part for part in path.split("/")]
    for part in way:
        said = said[part]
    if value is GONE:
        del said[last]
    else:
        said[last] = value(said[last]) if callable(value) else value


FIELD = "schemas/0/fields/0"
SPEC = "partition-specs/0/fields/0"
DOUBLE = {"id": 2, "name": "f", "type": "double", "required": True}
VOID = {"source-id": 2, "field-id": 1000, "name": "p", "transform": "void"}
ORDER: Any = {"order-id": 1, "fields": [{"transform": "identity", "source-id": 1}]}
SORTED = {"direction": "asc", "null-order": "nulls-last"}
BY_DAY = {"order-id": 1, "fields": [{"transform": "day", "source-id": 1, **SORTED}]}
FILE = {"statistics-path": "/x", "file-size-in-bytes": 9}


def _lifted(fields: Any) -> Any:
    """The first field of a struct stands beside the struct."""
    struct = next(one for one in fields if isinstance(one["type"], dict))
    return [*fields, struct["type"]["fields"].pop(0)]


def _said(path: str, value: Any) -> Plant:
    """Change one value of the metadata file."""

    def plant(table: Path) -> None:
        file = newest_metadata(table)
        said = json.loads(file.read_text())
        _put(said, path, value)
        file.write_text(json.dumps(said))

    return plant


def _changed(file: Path, path: str, value: Any) -> None:
    with file.open("rb") as stream:
        reader = fastavro.reader(stream)
        rows: list[Any] = list(reader)
    schema: Any = json.loads(reader.metadata["avro.schema"])
    said = {name: text for name, text in reader.metadata.items() if not name.startswith("avro.")}
    if path.startswith("@"):
        said[path[1:]] = value
    elif path.startswith("~"):
        for holder, key in places([schema, rows]):
            if holder[key] == path[1:]:
                holder["type"] = "string"
            elif key == path[1:]:
                holder[key] = value
    elif path.startswith("!") or value is GONE:
        schema = _without(schema, path.lstrip("!"), value is GONE)
    elif path:
        for at in range(len(rows)) if path[0] == "*" else [int(path[0])]:
            _put(rows[at], path[2:], value)
    else:
        rows = value(rows)
    with file.open("wb") as out:
        fastavro.writer(out, schema, rows, codec="deflate", metadata=said)


def _without(schema: Any, name: str, field: bool) -> Any:
    """A schema without a field, or without the field's id."""
    if isinstance(schema, list):
        kept = [
            one
            for one in schema
            if not (field and isinstance(one, dict) and one.get("name") == name)
        ]
        return [_without(one, name, field) for one in kept]
    if not isinstance(schema, dict):
        return schema
    left_out = "field-id" if schema.get("name") == name else None
    return {key: _without(one, name, field) for key, one in schema.items() if key != left_out}


def _current_list(table: Path) -> Path:
    said = json.loads(newest_metadata(table).read_text())
    by_id = {one["snapshot-id"]: one["manifest-list"] for one in said["snapshots"]}
    return table / "metadata" / Path(by_id[said["current-snapshot-id"]]).name


def _manifest_of(table: Path, which: str) -> Path:
    with _current_list(table).open("rb") as stream:
        rows: list[Any] = list(fastavro.reader(stream))
    named = [one["manifest_path"] for one in rows if one["content"] == (which == "deletes")]
    return table / "metadata" / Path(named[0]).name


def _avro(which: str, path: str, value: Any) -> Plant:
    """Change the current list, or its first manifest of data or of deletes.

    The path leads to a value, after `@` to a key of the file's metadata, after `!` to a field that
    loses its id; without a path all rows are changed.
    """

    def plant(table: Path) -> None:
        file = _current_list(table) if which == "list" else _manifest_of(table, which)
        _changed(file, path, value)

    return plant


def _left(which: Callable[[Path], Path], content: bytes | None) -> Plant:
    """Take a file away, or leave its beginning alone."""

    def plant(table: Path) -> None:
        file = which(table)
        file.unlink()
        if content is not None:
            file.write_bytes(content)

    return plant


def _turned_bit(table: Path) -> None:
    """Turn one bit of a deletion vector."""
    file = next(table.rglob("*.puffin"))
    data = bytearray(file.read_bytes())
    data[30] ^= 1
    file.write_bytes(data)


FAULTS: list[tuple[str, str, Plant]] = [
    ("metadata.readable", "travel", _said("format-version", 4)),
    ("metadata.readable", "travel", _said("refs/side", 5)),
    ("metadata.readable", "travel", _said("metadata-log/0", {})),
    ("metadata.required", "travel", _said("last-column-id", GONE)),
    ("metadata.required", "travel", _said("table-uuid", 5)),
    ("metadata.required", "v1", _said("partition-spec", GONE)),
    ("metadata.required", "lineage", _said("next-row-id", GONE)),
    ("metadata.current", "travel", _said("current-schema-id", 9)),
    ("metadata.current", "travel", _said("default-spec-id", 9)),
    ("metadata.current", "travel", _said("default-sort-order-id", 9)),
    ("metadata.current", "travel", _said("current-snapshot-id", 9)),
    ("metadata.unique", "travel", _said("schemas/1/schema-id", 0)),
    ("metadata.unique", "travel", _said("snapshots", lambda old: [*old, old[-1]])),
    ("metadata.last-column-id", "travel", _said("last-column-id", 2)),
    ("metadata.last-column-id", "nested", _said("last-column-id", 4)),
    ("metadata.last-partition-id", "transforms", _said("last-partition-id", 1003)),
    ("metadata.next-row-id", "lineage", _said("next-row-id", 1)),
    ("schema.form", "travel", _said(f"{FIELD}/id", "1")),
    ("schema.form", "travel", _said(f"{FIELD}/type", {"type": "tuple"})),
    ("schema.ids", "travel", _said("schemas/0/fields/1/id", 1)),
    ("schema.ids", "travel", _said(f"{FIELD}/id", 2147483546)),
    ("schema.types", "travel", _said(f"{FIELD}/type", "integer")),
    ("schema.types", "travel", _said(f"{FIELD}/type", "timestamp_ns")),
    ("schema.types", "travel", _said(f"{FIELD}/type", "decimal(39, 2)")),
    ("schema.types", "lineage",
     _said(FIELD, lambda old: old | {"type": "unknown", "required": True})),
    ("schema.identifiers", "travel", _said("schemas/0/identifier-field-ids", [1])),
    ("schema.identifiers", "travel", _said("schemas/0/identifier-field-ids", [77])),
    ("schema.identifiers", "travel",
     _said("schemas/0", lambda old: old | {"identifier-field-ids": [2], "fields": [DOUBLE]})),
    ("schema.defaults", "travel", _said(f"{FIELD}/initial-default", 5)),
    ("schema.defaults", "defaults", _said("schemas/1/fields/2/initial-default", 8)),
    ("schema.defaults", "defaults", _said("schemas/4/fields/5/write-default", "2.5")),
    ("schema.promotion", "travel", _said(f"{FIELD}/type", "long")),
    ("schema.promotion", "travel", _said(f"{FIELD}/type", {"type": "struct", "fields": []})),
    ("spec.source", "transforms", _said(f"{SPEC}/source-id", 77)),
    ("spec.source", "nested", _said("partition-specs/0/fields", [VOID])),
    ("spec.transform", "transforms", _said(f"{SPEC}/transform", "bucket[0]")),
    ("spec.transform", "transforms", _said(f"{SPEC}/transform", "hour")),
    ("spec.field-ids", "transforms", _said(f"{SPEC}/field-id", 1001)),
    ("spec.field-ids", "partition-evolution", _said("partition-specs/1/fields/0/source-id", 1)),
    ("order.fields", "travel", _said("sort-orders/0/fields", ORDER["fields"])),
    ("order.fields", "travel", _said("sort-orders", lambda old: [*old, ORDER])),
    ("order.fields", "travel", _said("sort-orders", lambda old: [*old, BY_DAY])),
    ("snapshot.required", "travel", _said("snapshots/0/manifest-list", GONE)),
    ("snapshot.parent", "travel", _said("snapshots/0/parent-snapshot-id", 7474913155655343789)),
    ("snapshot.sequence", "travel", _said("last-sequence-number", 4)),
    ("snapshot.sequence", "travel", _said("snapshots/1/sequence-number", 1)),
    ("snapshot.schema", "travel", _said("snapshots/0/schema-id", 9)),
    ("snapshot.operation", "travel", _said("snapshots/0/summary/operation", "insert")),
    ("snapshot.time", "travel", _said("snapshots/0/timestamp-ms", lambda old: old + 10**6)),
    ("log.order", "travel", _said("snapshot-log/0/timestamp-ms", lambda old: old + 10**6)),
    ("log.current", "travel", _said("snapshot-log", lambda old: old[:-1])),
    ("log.snapshots", "travel", _said("snapshot-log/0/snapshot-id", 9)),
    ("log.metadata", "travel", _said("metadata-log/0/metadata-file", "/away.metadata.json")),
    ("refs.snapshot", "travel", _said("refs/side/snapshot-id", 9)),
    ("refs.main", "travel", _said("refs/main/snapshot-id", 5512519927820949734)),
    ("refs.type", "travel", _said("refs/side/type", "stem")),
    ("refs.type", "travel", _said("refs/first/min-snapshots-to-keep", 3)),
    ("statistics.file", "travel",
     _said("statistics", [{"snapshot-id": 5512519927820949734, **FILE}])),
    ("statistics.snapshot", "travel", _said("partition-statistics", [{"snapshot-id": 7, **FILE}])),
    ("summary.totals", "travel", _said("snapshots/0/summary/total-records", "9")),
    ("summary.changes", "travel", _said("snapshots/0/summary/added-records", "9")),
    ("summary.changes", "travel", _said("snapshots/0/summary/added-data-files", "9")),
    ("summary.changes", "positions", _said("snapshots/1/summary/added-position-deletes", "9")),
    ("summary.changes", "overwrite", _said("snapshots/1/summary/deleted-records", "9")),
    ("file.field-ids", "appends", _said(f"{FIELD}/id", 55)),
    ("file.types", "appends", _said(f"{FIELD}/type", "string")),
    ("file.types", "appends", _said(f"{FIELD}/type", "uuid")),
    ("file.types", "appends", _said(f"{FIELD}/type", {"type": "struct", "fields": []})),
    ("file.types", "types-nested", _said("schemas/-1/fields", _lifted)),
    ("file.required", "types", _said("schemas/0/fields/5/required", True)),
    ("list.length", "transforms", _avro("list", "0/manifest_length", 1)),
    ("list.spec", "transforms", _avro("list", "0/partition_spec_id", 7)),
    ("list.spec", "transforms", _avro("data", "@partition-spec-id", "7")),
    ("list.content", "transforms", _avro("data", "@content", "deletes")),
    ("list.sequence", "transforms", _avro("list", "0/sequence_number", 99)),
    ("list.min-sequence", "transforms", _avro("list", "0/min_sequence_number", 9)),
    ("list.counts", "transforms", _avro("list", "0/existing_rows_count", 77)),
    ("list.counts", "transforms", _avro("list", "0/deleted_files_count", 9)),
    ("list.partitions", "transforms", _avro("list", "0/partitions/0/lower_bound", b"\x09\0\0\0")),
    ("list.partitions", "transforms", _avro("list", "0/partitions/0/upper_bound", b"\0")),
    ("list.partitions", "transforms", _avro("list", "0/partitions", lambda old: old[1:])),
    ("list.required", "transforms", _avro("list", "added_files_count", GONE)),
    ("list.first-row-id", "vectors",
     _avro("list", "0/first_row_id", lambda old: None if old is not None else 5)),
    ("list.twice", "transforms", _avro("list", "", lambda rows: rows * 2)),
    ("manifest.metadata", "transforms", _avro("data", "@partition-spec", "[]")),
    ("manifest.metadata", "transforms", _avro("data", "@schema", "{")),
    ("manifest.schema-id", "iceberg-go-types", _avro("data", "@schema-id", "9")),
    ("manifest.field-ids", "transforms", _avro("data", "!record_count", None)),
    ("entry.required", "transforms", _avro("data", "record_count", GONE)),
    ("entry.form", "transforms", _avro("data", "~record_count", "many")),
    ("entry.status", "transforms", _avro("data", "0/status", 3)),
    ("entry.content", "transforms", _avro("data", "0/data_file/content", 1)),
    ("entry.sequence", "transforms", _avro("data", "0/sequence_number", None)),
    ("entry.sequence", "transforms", _avro("data", "0/file_sequence_number", 99)),
    ("entry.snapshot", "appends", _avro("data", "0/snapshot_id", 5)),
    ("entry.format", "transforms", _avro("data", "0/data_file/file_format", "CSV")),
    ("entry.equality-ids", "equality", _avro("deletes", "0/data_file/equality_ids", None)),
    ("entry.equality-ids", "equality", _avro("deletes", "0/data_file/equality_ids", [77])),
    ("entry.split-offsets", "transforms", _avro("data", "0/data_file/split_offsets", [9, 4])),
    ("entry.sort-order", "transforms", _avro("data", "0/data_file/sort_order_id", 7)),
    ("entry.first-row-id", "vectors", _avro("deletes", "0/data_file/first_row_id", 4)),
    ("entry.twice", "appends", _avro("data", "", lambda rows: rows * 2)),
    ("entry.row-ids", "defaults",
     _avro("list", "", lambda rows: [one | {"first_row_id": 0} for one in rows])),
    ("deletes.version", "vectors", _avro("deletes", "0/data_file/file_format", "PARQUET")),
    ("deletes.columns", "equality", _avro("deletes", "0/data_file/content", 1)),
    ("deletes.reference", "positions", _avro("deletes", "0/data_file/referenced_data_file", "/x")),
    ("vector.cardinality", "vectors", _avro("deletes", "0/data_file/record_count", 9)),
    ("vector.reference", "vectors", _avro("deletes", "0/data_file/referenced_data_file", "/x")),
    ("vector.puffin", "vectors", _avro("deletes", "0/data_file/content_size_in_bytes", 9)),
    ("vector.blob", "vectors", _avro("deletes", "0/data_file/content_offset", 5)),
    ("vector.one", "vectors", _avro("deletes", "", lambda rows: rows * 2)),
    ("vector.positions", "vectors-large", _avro("data", "*/data_file/record_count", 0)),
    ("file.missing", "transforms", _avro("data", "*/data_file/file_path", "/x")),
    ("file.size", "transforms", _avro("data", "*/data_file/file_size_in_bytes", 9)),
    ("file.records", "transforms", _avro("data", "*/data_file/record_count", 9)),
    ("file.partition", "transforms", _avro("data", "*/data_file/partition/k_bucket", 77)),
    ("file.partition", "transforms", _avro("data", "*/data_file/partition/d_year", -900)),
    ("file.value-counts", "transforms", _avro("data", "*/data_file/value_counts/0/value", 99)),
    ("file.null-counts", "transforms", _avro("data", "*/data_file/null_value_counts/0/value", 99)),
    ("file.nan-counts", "equality-floats",
     _avro("data", "*/data_file/nan_value_counts/0/value", 77)),
    ("file.lower-bounds", "appends",
     _avro("data", "*/data_file/lower_bounds/0/value", b"\xff\xff\xff\x7f")),
    ("file.upper-bounds", "appends",
     _avro("data", "*/data_file/upper_bounds/0/value", b"\0\0\0\x80")),
    ("file.bounds-form", "appends", _avro("data", "*/data_file/upper_bounds/0/value", b"\0")),
    ("list.readable", "transforms", _left(_current_list, b"Obj")),
    ("list.manifest", "transforms", _left(lambda table: _manifest_of(table, "data"), None)),
    ("manifest.readable", "transforms", _left(lambda table: _manifest_of(table, "data"), b"Obj")),
    ("file.readable", "appends", _left(lambda table: next(table.rglob("*.parquet")), b"PAR1")),
    ("file.missing", "appends", _left(lambda table: next(table.rglob("*.parquet")), None)),
    ("vector.puffin", "vectors", _left(lambda table: next(table.rglob("*.puffin")), b"PFA1")),
    ("vector.blob", "vectors", _turned_bit),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "plant"), FAULTS)
def test_a_planted_fault_is_named(rule: str, name: str, plant: Plant, tmp_path: Path) -> None:
    """A table with one thing changed has the fault whose rule that breaks, and only then."""
    assert f"iceberg.{rule}" in new_faults(FORMAT, name, plant, tmp_path)


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


#: Faults of tables that are true, by rule: the beginnings of the tables' names, and the reason.
KNOWN: dict[str, tuple[tuple[str, ...], str]] = {
    "iceberg.log.metadata": (
        ("iceberg-rust", "pyiceberg"),
        "their metadata files were given numbers as names when they were kept",
    ),
    "iceberg.deletes.order": (("positions-unsorted",), "it was written to be so"),
    "iceberg.deletes.positions": (("positions-unsorted",), "it was written to be so"),
    "iceberg.summary.totals": (
        ("iceberg-go-vectors", "name-mapping"),
        "iceberg-go counts whole Puffin files, the Java API no bytes of a file that it takes over",
    ),
    "iceberg.summary.changes": (
        ("iceberg-go-vectors",),
        "iceberg-go counts whole Puffin files, and vectors as position delete files",
    ),
}
#: Java's writer and pyiceberg leave `schema-id` out of a manifest's metadata, where version 2
#: requires it; its schema holds it, too. These tables write it, have version 1 or no manifest.
WITH_SCHEMA_ID = re.compile("empty|iceberg-go-.*|iceberg-rust-.*|v1")


@pytest.mark.parametrize("folder", table_folders(SUITES, "iceberg"), ids=lambda folder: folder.name)
def test_golden_tables_keep_the_rules(folder: Path, tmp_path: Path) -> None:
    """Nothing is wrong with any table that an engine wrote but what is known of its writer."""
    rules = {
        fault.rule
        for fault in _faults(unpacked(FORMAT, folder.name, tmp_path))
        if fault.rule.startswith("iceberg.") or fault.level == "must"
    }
    known = {rule for rule, (begins, _) in KNOWN.items() if folder.name.startswith(begins)}
    if not WITH_SCHEMA_ID.fullmatch(folder.name):
        known.add("iceberg.manifest.no-schema-id")
    assert rules == known


def test_every_rule_has_a_planted_fault() -> None:
    """A rule that nothing breaks is not known to hold; the rest stand in tables that are known."""
    planted = {f"iceberg.{rule}" for rule, *_ in FAULTS}
    planted |= {f"iceberg.statistics.{name}" for name in ("puffin", "blobs", "ndv")}
    assert set(RULES.known) - planted <= {*KNOWN, "iceberg.manifest.no-schema-id"}


def test_every_rule_is_told() -> None:
    """The page of linters has each rule: `iceberg.part.…` in a row with the names in that part."""
    rows = document("docs/lint.md").partition("## Iceberg")[2].partition("\n## ")[0].split("\n")
    for rule in RULES.known:
        part, _, name = rule.rpartition(".")
        assert any(f"`{part}.…`" in row and f"`{name}`" in row for row in rows), rule

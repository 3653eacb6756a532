"""Faults of Iceberg tables, and how each is planted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro

from seambench.formats.golden import table_folders
from seambench.formats.iceberg.lint.files import RULES
from seambench.formats.iceberg.lint.table import newest_metadata
from seambench_tests.formats.planting import SUITES, Plant, Planted, places

GONE = object()


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


def _claims_order(table: Path) -> None:
    """Every file is said to be in the falling order of its first column."""
    order = {"order-id": 1, "fields": [{"source-id": 1, "transform": "identity", **FALLING}]}
    _said("sort-orders", lambda old: [*old, order])(table)
    _avro("data", "*/data_file/sort_order_id", 1)(table)


def _still_live(table: Path) -> None:
    """Files that a manifest tells of as deleted stand there as live, too."""
    for file in (table / "metadata").glob("*-m*.avro"):
        _changed(
            file,
            "",
            lambda rows: rows + [one | {"status": 0} for one in rows if one["status"] == 2],
        )


FALLING = {"direction": "desc", "null-order": "nulls-last"}
NEW = {"id": 99, "name": "new", "type": "int", "required": True}
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
    ("entry.deleted-live", "overwrite", _still_live),
    ("file.sort-order", "appends", _claims_order),
    ("file.required", "appends", _said("schemas/0/fields", lambda old: [*old, NEW])),
    ("file.records", "types-avro", _avro("data", "*/data_file/record_count", 9)),
    ("deletes.reference", "positions", _avro("deletes", "*/sequence_number", 0)),
    ("deletes.reference", "positions-partitioned",
     _avro("deletes", "*/data_file/partition", lambda old: dict.fromkeys(old, "zz"))),
    ("deletes.positions", "positions-avro", _avro("data", "*/data_file/record_count", 1)),
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
NAMES = [folder.name for folder in table_folders(SUITES, "iceberg")]
#: Rules that tables break, and the beginnings of their names.
BREAK = {
    # Their metadata files were given numbers as names when they were kept.
    "log.metadata": ("iceberg-rust", "pyiceberg"),
    # Java's writer counts no float or double of a struct that is null.
    "file.null-counts": ("edges-within",),
    "file.value-counts": ("edges-within",),
    # It was written to be so.
    "deletes.order": ("positions-unsorted",),
    "deletes.positions": ("positions-unsorted",),
    # iceberg-go counts whole Puffin files, the Java API no bytes of a file that it takes over.
    "summary.totals": ("iceberg-go-vectors", "name-mapping"),
    # iceberg-go counts vectors as position delete files, too.
    "summary.changes": ("iceberg-go-vectors",),
}
#: Java's writer and pyiceberg leave `schema-id` out of a manifest's metadata, where version 2
#: requires it; its schema holds it, too. These tables write it, have version 1 or no manifest.
WITH_SCHEMA_ID = [
    "empty",
    "iceberg-go-evolved",
    "iceberg-go-partitioned",
    "iceberg-go-positions",
    "iceberg-go-rewritten",
    "iceberg-go-types",
    "iceberg-go-upserted",
    "iceberg-go-vectors",
    "iceberg-rust-evolved",
    "iceberg-rust-partitioned",
    "iceberg-rust-types",
    "v1",
]
ICEBERG = Planted(
    "iceberg",
    RULES,
    FAULTS,
    {rule: [one for one in NAMES if one.startswith(begins)] for rule, begins in BREAK.items()}
    | {"manifest.no-schema-id": [one for one in NAMES if one not in WITH_SCHEMA_ID]},
    elsewhere=("statistics.puffin", "statistics.blobs", "statistics.ndv"),
    levels=("must", "should"),
)

"""Faults of Paimon tables, and how each is planted."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from shutil import copyfile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.forms.containers import put_file, read_avro, write_avro
from seambench.formats.paimon.golden import FILES
from seambench.formats.paimon.lint.data import RULES
from seambench_tests.formats.planting import Plant, Planted, changed_bytes, put, without


def _number(file: Path) -> int:
    return int(file.name.split("-")[1])


def _newest(table: Path, kind: str) -> Path:
    return max((table / kind).glob(f"{kind}-*"), key=_number)


def _said(kind: str, change: Callable[[Any], object]) -> Plant:
    """Change the JSON of the newest snapshot or schema."""

    def plant(table: Path) -> None:
        file = _newest(table, kind)
        said = json.loads(file.read_text(encoding="utf-8"))
        change(said)
        file.write_text(json.dumps(said), encoding="utf-8")

    return plant


def _snapshot(**fields: Any) -> Plant:
    return _said("snapshot", lambda said: said.update(fields))


def _more(name: str) -> Plant:
    return _said("snapshot", lambda said: said.update({name: said[name] + 1}))


def _schema(**fields: Any) -> Plant:
    return _said("schema", lambda said: said.update(fields))


def _options(**options: str) -> Plant:
    named = {name.replace("_", "-").replace("--", "."): v for name, v in options.items()}
    return _said("schema", lambda said: said["options"].update(named))


def _field(number: int, **change: Any) -> Plant:
    return _said("schema", lambda said: said["fields"][number].update(change))


def _rows(kind: str, change: Callable[[list[Any]], object]) -> Plant:
    """Change the rows of all files of a kind that are Avro's."""

    def plant(table: Path) -> None:
        for file in FILES[kind](table):
            content = read_avro(file)
            rows = [*content.rows]
            change(rows)
            write_avro(file, replace(content, rows=rows))

    return plant


def _each(kind: str, change: Callable[[Any], object]) -> Plant:
    return _rows(kind, lambda rows: [change(row) for row in rows])


def _entry(**fields: Any) -> Plant:
    return _each("manifest", lambda row: row.update(fields))


def _told(**fields: Any) -> Plant:
    return _each("manifest", lambda row: row["_FILE"].update(fields))


def _listed(**fields: Any) -> Plant:
    return _each("manifest-list", lambda row: row.update(fields))


def _stats(name: str, **fields: str) -> Plant:
    """Put one part of the statistics into the place of another."""

    def change(row: Any) -> None:
        stats = row["_FILE"][name]
        stats.update({to: stats[source] for to, source in fields.items()})

    return _each("manifest", change)


def _nulls(name: str, number: int) -> Plant:
    def change(row: Any) -> None:
        stats = row["_FILE"][name]
        stats["_NULL_COUNTS"] = [number] * len(stats["_NULL_COUNTS"])

    return _each("manifest", change)


def _data(change: Callable[[pa.Table], pa.Table]) -> Plant:
    """Write the rows of all data files anew."""

    def plant(table: Path) -> None:
        for file in table.glob("**/bucket-*/*.parquet"):
            pq.write_table(change(pq.ParquetFile(file).read()), file, store_schema=False)

    return plant


def _column(name: str, value: Any, type_: pa.DataType) -> Plant:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.column_names.index(name)
        return rows.set_column(at, name, pa.array([value] * rows.num_rows, type_))

    return _data(change)


def _other_end(data: bytes) -> bytes:
    return data[:-1] + b"x" if len(data) > 1 else data


def _far_position(data: bytes) -> bytes:
    return data[:-6] + b"\x63\0" + data[-4:]


def _range(**fields: Any) -> Plant:
    def change(row: Any) -> None:
        for told in row["_DELETIONS_VECTORS_RANGES"] or ():
            told.update(fields)

    return _each("index-manifest", change)


def _rename_partitions(table: Path) -> None:
    for folder in [*table.glob("*=*")]:
        folder.rename(table / f"x{folder.name}")


def _swap_buckets(table: Path) -> None:
    """Exchange the files of two buckets below their names."""
    one, other = sorted(table.glob("bucket-*/*.parquet"))[:2]
    assert one.parent != other.parent
    kept = one.read_bytes()
    copyfile(other, one)
    put_file(other, kept)


def _exchange_bounds(table: Path) -> None:
    """Give each file the bounds of another one."""
    contents = {file: read_avro(file) for file in FILES["manifest"](table)}
    told = [row["_FILE"] for content in contents.values() for row in content.rows]
    for one, stats in zip(told, [one["_VALUE_STATS"] for one in told][::-1], strict=True):
        one["_VALUE_STATS"] = {**stats, "_NULL_COUNTS": one["_VALUE_STATS"]["_NULL_COUNTS"]}
    for file, content in contents.items():
        write_avro(file, content)


def _one_row_id_each(table: Path) -> None:
    """Let each file's row ids begin one after those of the file before."""
    numbers = count()
    _each("manifest", lambda row: row["_FILE"].update(_FIRST_ROW_ID=next(numbers)))(table)


def _as_of(number: int, plant: Plant) -> Plant:
    """Take the snapshots after one away first."""

    def both(table: Path) -> None:
        while _number(newest := _newest(table, "snapshot")) > number:
            newest.unlink()
        plant(table)

    return both


def _other_level(row: Any) -> None:
    """Take a file away from a level where it is not."""
    row["_FILE"]["_LEVEL"] += row["_KIND"]


def _fewer_nulls(row: Any) -> None:
    row["_FILE"]["_VALUE_STATS"]["_NULL_COUNTS"] = [0]


def _empty(row: Any) -> None:
    row["_FILE"]["_VALUE_STATS"]["_MIN_VALUES"] = struct.pack(">i", 9) + bytes(80)


def _narrow_partitions(row: Any) -> None:
    stats = row["_PARTITION_STATS"]
    stats["_MIN_VALUES"] = stats["_MAX_VALUES"]


MANIFESTS = "manifest/manifest-[!l]*"
KEYED, LIST, CORE = "pk-buckets", "append-partitions", "core-append"
#: The fields of the first vector of an index file lie here: size, magic, and bitmap.
SIZE, MAGIC, BITMAP = 1, 5, 9
FAULTS: list[tuple[str, str, Plant]] = [
    ("snapshot.gap", "core-changes", without("snapshot/snapshot-3")),
    ("snapshot.gap", KEYED, lambda table: copyfile(
        table / "snapshot/snapshot-1", table / f"snapshot/snapshot-{10**15}")),
    ("snapshot.hint", "core-changes", changed_bytes("snapshot/LATEST", lambda _: b"3")),
    ("snapshot.json", KEYED, changed_bytes("snapshot/snapshot-1", lambda data: data[:40])),
    ("snapshot.id", KEYED, _snapshot(id=77)),
    ("snapshot.version", KEYED, _snapshot(version=4)),
    ("snapshot.kind", KEYED, _snapshot(commitKind="MERGE")),
    ("snapshot.schema", KEYED, _snapshot(schemaId=7)),
    ("snapshot.time", "core-changes", _snapshot(timeMillis=1)),
    ("snapshot.rows", KEYED, _more("totalRecordCount")),
    ("snapshot.rows", KEYED, _more("deltaRecordCount")),
    ("snapshot.rows", "core-changelog-input", _snapshot(changelogRecordCount=99)),
    ("manifest-list.size", "core-changes", _snapshot(deltaManifestListSize=1)),
    ("schema.json", KEYED, changed_bytes("schema/schema-0", lambda data: data[:-9])),
    ("schema.id", KEYED, _schema(id=3)),
    ("schema.version", KEYED, _schema(version=4)),
    ("schema.field-ids", KEYED, _field(0, id=1)),
    ("schema.field-ids", "append-nested-parquet", _field(0, id=4)),
    ("schema.highest-field-id", KEYED, _schema(highestFieldId=0)),
    ("schema.highest-field-id", "append-nested-parquet", _schema(highestFieldId=6)),
    ("schema.names", KEYED, _field(0, name="v")),
    ("schema.reserved-names", KEYED, _field(1, name="_VALUE_KIND")),
    ("schema.reserved-names", KEYED, _field(1, name="_KEY_v")),
    ("schema.keys-changed", "pk-evolution", _schema(primaryKeys=[])),
    ("schema.keys", KEYED, _schema(primaryKeys=["gone"])),
    ("schema.keys", LIST, _schema(partitionKeys=["gone"])),
    ("schema.keys", KEYED, _field(0, type={"type": "ARRAY NOT NULL", "element": "INT"})),
    ("schema.key-nullable", KEYED, _field(0, type="INT")),
    ("schema.options", KEYED, _options(bucket="-1", bucket_key="k")),
    ("schema.options", KEYED, _options(bucket="0")),
    ("schema.options", LIST, _options(bucket="2")),
    ("schema.options", KEYED, _options(bucket_key="v")),
    ("schema.options", KEYED, _options(sequence__field="gone")),
    ("schema.options", "first-row", _options(sequence__field="v")),
    ("schema.options", LIST, _options(changelog_producer="input")),
    ("schema.options", "first-row", _options(changelog_producer="input")),
    ("schema.options", "first-row", _options(deletion_vectors__enabled="true")),
    ("schema.options", "vectors", _options(changelog_producer="full-compaction")),
    ("schema.options", KEYED, _options(row_tracking__enabled="true")),
    ("schema.options", LIST, _options(data_evolution__enabled="true")),
    ("schema.options", KEYED, _options(rowkind__field="gone")),
    ("form", KEYED, _snapshot(timeMillis="x")),
    ("form", KEYED, _field(0, id="x")),
    ("manifest-list.unreadable", KEYED,
     changed_bytes("manifest/manifest-list-*", lambda data: data[:-30])),
    ("index-manifest.missing", "vectors", without("manifest/index-manifest-*")),
    ("index-manifest.unreadable", "vectors",
     changed_bytes("manifest/index-manifest-*", lambda data: data[:-30])),
    ("manifest-list.partition-stats", LIST, _each("manifest-list", _narrow_partitions)),
    ("manifest-list.missing", KEYED, without("manifest/manifest-list-*")),
    ("manifest.missing", KEYED, without(MANIFESTS)),
    ("manifest.unreadable", KEYED, changed_bytes(MANIFESTS, lambda data: data[:-30])),
    ("manifest.unreadable", "core-manifests-orc", changed_bytes(MANIFESTS, lambda d: d[9:])),
    ("manifest.size", KEYED, _listed(_FILE_SIZE=1)),
    ("manifest-list.counts", KEYED, _listed(_NUM_ADDED_FILES=9)),
    ("manifest-list.counts", KEYED, _listed(_NUM_DELETED_FILES=9)),
    ("manifest-list.schema", KEYED, _listed(_SCHEMA_ID=9)),
    ("manifest-list.bounds", CORE, _listed(_MIN_BUCKET=5, _MAX_BUCKET=6)),
    ("manifest-list.bounds", CORE, _listed(_MIN_LEVEL=5, _MAX_LEVEL=5)),
    ("entry.kind", KEYED, _entry(_KIND=2)),
    ("entry.partition", LIST, _entry(_PARTITION=bytes(12))),
    ("entry.bucket", KEYED, _entry(_BUCKET=77)),
    ("entry.added-twice", KEYED, _rows("manifest", lambda rows: rows.extend(rows[:1]))),
    ("entry.deleted-absent", KEYED, _entry(_KIND=1)),
    ("entry.deleted-absent", "core-changes", _each("manifest", _other_level)),
    ("file.schema", KEYED, _told(_SCHEMA_ID=9)),
    ("file.level", KEYED, _told(_LEVEL=-1)),
    ("file.level", LIST, _told(_LEVEL=3)),
    ("level.overlap", "pk-write-only", _told(_LEVEL=5)),
    ("row-ids.overlap", "core-nan-keys", _one_row_id_each),
    ("snapshot.next-row-id", CORE, _told(_FIRST_ROW_ID=9)),
    ("file.missing", KEYED, without("bucket-0/*")),
    ("file.missing", KEYED, lambda table: (table / "bucket-0").rename(table / "bucket-9")),
    ("file.missing", LIST, _rename_partitions),
    ("file.extra-files", KEYED, _told(_EXTRA_FILES=["data.index"])),
    ("file.size", KEYED, _told(_FILE_SIZE=1)),
    ("file.unreadable", KEYED, changed_bytes("bucket-*/*", lambda data: data[:-9])),
    ("parquet.magic", KEYED, changed_bytes("bucket-*/*", lambda data: data[:-9])),
    ("file.row-count", KEYED, _told(_ROW_COUNT=99)),
    ("file.sequence-numbers", KEYED, _told(_MAX_SEQUENCE_NUMBER=-1)),
    ("file.wide-sequence-numbers", KEYED, _told(_MAX_SEQUENCE_NUMBER=99)),
    ("file.row-kinds", KEYED, _column("_VALUE_KIND", 7, pa.int8())),
    ("file.delete-rows", KEYED, _column("_VALUE_KIND", 3, pa.int8())),
    ("file.columns", KEYED, _data(lambda rows: rows.drop_columns(["_VALUE_KIND"]))),
    ("file.key-order", KEYED, _data(lambda rows: rows[::-1])),
    ("file.keys", KEYED, _each("manifest", lambda row: row["_FILE"].update(
        _MIN_KEY=row["_FILE"]["_MAX_KEY"]))),
    ("file.keys", KEYED, _told(_MIN_KEY=bytes(12))),
    ("file.wide-keys", KEYED, _each("manifest", lambda row: row["_FILE"].update(
        _MIN_KEY=row["_FILE"]["_MIN_KEY"][:12] + struct.pack("<q", -(2**31) & 0xFFFFFFFF)))),
    ("key-stats.min-values", KEYED, _stats("_KEY_STATS", _MIN_VALUES="_MAX_VALUES")),
    ("key-stats.max-values", KEYED, _stats("_KEY_STATS", _MAX_VALUES="_MIN_VALUES")),
    ("key-stats.columns", KEYED, _each("manifest", lambda row: row["_FILE"]["_KEY_STATS"].update(
        _MIN_VALUES=struct.pack(">i", 9) + bytes(80)))),
    ("key-stats.null-counts", KEYED, _nulls("_KEY_STATS", 1)),
    *(
        (f"value-stats.{rule}", table, plant)
        for table in ("pk-key-types", *(f"append-types-{f}" for f in ("parquet", "orc", "avro")))
        for rule, plant in (
            ("min-values", _exchange_bounds),
            ("max-values", _exchange_bounds),
            ("null-counts", _nulls("_VALUE_STATS", 9)),
        )
    ),
    ("value-stats.null-counts", "pk-null-values", _nulls("_VALUE_STATS", 0)),
    ("value-stats.min-values", KEYED, _stats("_VALUE_STATS", _MIN_VALUES="_MAX_VALUES")),
    ("value-stats.max-values", KEYED, _stats("_VALUE_STATS", _MAX_VALUES="_MIN_VALUES")),
    ("value-stats.columns", KEYED, _each("manifest", _empty)),
    ("value-stats.columns", CORE, _told(_VALUE_STATS_COLS=["gone"])),
    ("value-stats.columns", KEYED, _each("manifest", _fewer_nulls)),
    ("file.partition-values", LIST, _column("p", "elsewhere", pa.string())),
    ("file.bucket-of-rows", KEYED, _swap_buckets),
    ("index.missing", "vectors", without("index/*")),
    ("index.size", "vectors", _each("index-manifest", lambda row: row.update(_FILE_SIZE=1))),
    ("index.kind", "vectors", _each("index-manifest", lambda row: row.update(_KIND=1))),
    ("index.hashes", "pk-dynamic", _each("index-manifest", lambda row: row.update(_ROW_COUNT=99))),
    ("vectors.version", "vectors", changed_bytes("index/*", put(0, b"\x02"))),
    ("vectors.data-file", "vectors", _range(f0="data-gone.parquet")),
    ("vectors.range", "vectors", _range(f1=999)),
    ("vectors.range", "vectors", changed_bytes("index/*", put(SIZE, struct.pack(">i", 999)))),
    ("vectors.magic", "vectors", changed_bytes("index/*", put(MAGIC, bytes(4)))),
    ("vectors.length", "vectors", _range(f2=7)),
    ("vectors.checksum", "vectors", changed_bytes("index/*", _other_end)),
    ("vectors.bitmap", "vectors", changed_bytes("index/*", put(BITMAP, bytes(4)))),
    ("vectors.cardinality", "core-vectors-32", _as_of(4, _range(_CARDINALITY=7))),
    ("vectors.cardinality", "core-vectors-64", _as_of(4, _range(_CARDINALITY=7))),
    ("vectors.length", "core-vectors-64", _as_of(4, _range(f2=36))),
    ("vectors.checksum", "core-vectors-64", _as_of(4, changed_bytes("index/*", _other_end))),
    ("vectors.position", "vectors", changed_bytes("index/*", _far_position)),
    ("vectors.bucket", "vectors", _each("index-manifest", lambda row: row.update(_BUCKET=7))),
    ("vectors.twice", "vectors", _each("index-manifest", lambda row: row.update(
        _DELETIONS_VECTORS_RANGES=row["_DELETIONS_VECTORS_RANGES"] * 2))),
    ("file.types", KEYED, _column("v", 5, pa.float64())),
    ("file.types", "append-types-parquet", _data(lambda rows: rows.cast(
        pa.schema([(one.name, pa.string() if pa.types.is_integer(one.type) else one.type)
                   for one in rows.schema])))),
]  # fmt: skip


def _earlier(table: Path) -> bool:
    """Take the newest snapshot away; whether one is left."""
    files = sorted((table / "snapshot").glob("snapshot-*"), key=_number)
    for newest in files[-1:]:
        newest.unlink()
    return len(files) > 1


PAIMON = Planted(
    "paimon",
    RULES,
    FAULTS,
    {
        # pypaimon counts no rows that take back, where `_DELETE_ROW_COUNT` says whether a file can
        # be read without a merge (`DataSplit.rawConvertible`): who does shows deleted rows.
        "file.delete-rows": ["pypaimon-retracted"],
        # It writes by pyarrow 19, which counts no nulls of a struct's field in a null list.
        "parquet.statistics.null-count": ["pypaimon-types"],
    },
    elsewhere=("file.unread",),
    tables=(
        "pk-key-types",
        "pk-partitions",
        *(f"append-types-{one}" for one in ("parquet", "orc", "avro")),
    ),
    earlier=_earlier,
)

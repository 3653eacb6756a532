"""Faults of Hudi tables, and how each is planted."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.forms.containers import AvroForm, avro_bytes, avro_content, put_file
from seambench.formats.hudi.damage import FILES
from seambench.formats.hudi.hfiles import hfile_bytes, read_hfile
from seambench.formats.hudi.lint.base_files import RULES
from seambench.formats.hudi.log_blocks import AVRO, HFILE, INSTANT, Block, blocks_of
from seambench.formats.hudi.timelines import open_timeline
from seambench_tests.formats.planting import Plant, Planted, changed_bytes, put, without

_PLAIN = AvroForm("", "", codec="null")


def _property(name: str, value: str | None) -> Plant:
    def change(data: bytes) -> bytes:
        lines = [one for one in data.decode().splitlines() if not one.startswith(f"{name}=")]
        return "\n".join([*lines, *([] if value is None else [f"{name}={value}"])]).encode()

    return changed_bytes(".hoodie/hoodie.properties", change)


def _stats(change: Callable[[Any], object], *, log: bool | None = None) -> Plant:
    """Change what completed writes say of each file."""

    def edit(body: Any) -> None:
        for stats in body["partitionToWriteStats"].values():
            for told in stats:
                if log in (None, ".log." in told["path"]):
                    change(told)

    def plant(table: Path) -> None:
        for file, _, _, action, done in open_timeline(table).names():
            data = file.read_bytes()
            if not done or action not in ("commit", "deltacommit", "replacecommit"):
                continue
            if data.startswith(b"Obj"):
                content = avro_content(data)
                edit(content.rows[0])
                put_file(file, avro_bytes(content, _PLAIN))
            else:
                body = json.loads(data)
                edit(body)
                put_file(file, json.dumps(body).encode())

    return plant


def _stat(*, log: bool | None = None, **fields: Any) -> Plant:
    return _stats(lambda told: told.update(fields), log=log)


def _rename(pattern: str, new: Callable[[str], str]) -> Plant:
    def plant(table: Path) -> None:
        for file in [*table.glob(pattern)]:
            file.rename(file.with_name(new(file.name)))

    return plant


def _base(change: Callable[[pa.Table], pa.Table]) -> Plant:
    """Write the rows of all base files anew, with what their footers say."""

    def plant(table: Path) -> None:
        for file in FILES["base"](table):
            pq.write_table(change(pq.ParquetFile(file).read()), file)

    return plant


def _column(name: str, value: Any) -> Plant:
    def change(rows: pa.Table) -> pa.Table:
        at = rows.column_names.index(name)
        return rows.set_column(at, name, pa.array([value] * rows.num_rows, rows[name].type))

    return _base(change)


def _footer(name: str, change: Callable[[bytes], bytes]) -> Plant:
    def edit(rows: pa.Table) -> pa.Table:
        told = {**rows.schema.metadata}
        told[name.encode()] = change(told[name.encode()])
        return rows.replace_schema_metadata(told)

    return _base(edit)


def _no_bits(packed: bytes) -> bytes:
    """A Bloom filter that holds nothing."""
    data = base64.b64decode(packed)
    begin = 13 if data[13:17] != data[:4] and len(data) == 13 + -(-_size(data) // 8) else 38
    return base64.b64encode(data[:begin] + bytes(len(data) - begin))


def _size(data: bytes) -> int:
    size: int = struct.unpack_from(">i", data, 9)[0]
    return size


def _blocks(change: Callable[[Block], Block]) -> Plant:
    def plant(table: Path) -> None:
        for file in FILES["log"](table):
            data = b"".join(change(one).written() for one in blocks_of(file.read_bytes()))
            put_file(file, data)

    return plant


def _header(number: int, text: bytes | None) -> Callable[[Block], Block]:
    def change(block: Block) -> Block:
        kept = tuple(one for one in block.header if one[0] != number)
        return replace(block, header=kept if text is None else (*kept, (number, text)))

    return change


def _records(field: str, value: Any) -> Callable[[Block], Block]:
    def change(block: Block) -> Block:
        if block.kind != AVRO:
            return block
        return block.with_rows([{**row, field: value} for row in block.rows()])

    return change


def _metadata(kind: str, change: Callable[[Any], object]) -> Plant:
    """Change the records of one partition of the metadata table."""

    def rewritten(data: bytes) -> bytes:
        file = read_hfile(data)
        schema = fastavro.parse_schema(json.loads(file.schema))
        cells = []
        for cell in file.cells:
            record: Any = fastavro.schemaless_reader(
                io.BytesIO(cell.value), schema, return_record_name=True
            )
            change(record)
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, record)
            cells.append(replace(cell, value=out.getvalue()))
        return hfile_bytes(replace(file, cells=cells)) if cells else data

    def plant(table: Path) -> None:
        folder = table / ".hoodie" / "metadata" / kind
        for base in folder.glob("*.hfile"):
            put_file(base, rewritten(base.read_bytes()))
        for log in [one for one in folder.glob(".*.log.*") if one.suffix != ".crc"]:
            blocks = [
                replace(one, content=rewritten(one.content)) if one.kind == HFILE else one
                for one in blocks_of(log.read_bytes())
            ]
            put_file(log, b"".join(one.written() for one in blocks))

    return plant


def _files(change: Callable[[Any], object]) -> Plant:
    def each(record: Any) -> None:
        for told in (record["filesystemMetadata"] or {}).values():
            change(told)

    return _metadata("files", each)


def _of_kind(kind: str, member: str, **fields: Any) -> Plant:
    """Change what each record of one partition of the metadata table tells."""

    def each(record: Any) -> None:
        told = record[member]
        told = told[1] if isinstance(told, tuple) else told
        told.update({to: to_value(told) for to, to_value in changes.items()})

    changes = {to: new if callable(new) else (lambda _, new=new: new) for to, new in fields.items()}
    return _metadata(kind, each)


def _told_of_columns(kind: str = "column_stats", **fields: Any) -> Plant:
    return _of_kind(
        kind,
        "ColumnStatsMetadata",
        **{to: lambda told, new=new: told.get(new, new) for to, new in fields.items()},
    )


def _indexed(**fields: Any) -> Plant:
    return _of_kind("record_index", "recordIndexMetadata", **fields)


def _filters(change: Callable[[bytes], bytes]) -> Plant:
    return _of_kind(
        "bloom_filters",
        "BloomFilterMetadata",
        bloomFilter=lambda told: change(told["bloomFilter"]),
    )


def _more_errors(told: Any) -> None:
    told.update(numWrites=told["numWrites"] + 2, totalWriteErrors=2)


def _dropped(table: Path) -> None:
    """Let the partition column be dropped, and files have nulls of it all the same."""
    _property("hoodie.datasource.write.drop.partition.columns", "true")(table)
    _column("region", None)(table)


def _crashed(table: Path) -> None:
    """Leave a log of a write that never completed, by the name of the base file below it."""
    instant = "99999999999999999"
    for state in ("requested", "inflight"):
        (table / ".hoodie" / f"{instant}.deltacommit.{state}").touch()
    log = max(table.glob("p=x/.*.log.1_*[0-9]"))
    blocks = [_header(INSTANT, instant.encode())(one) for one in blocks_of(log.read_bytes())]
    left = log.with_name(log.name.replace(".log.1_", ".log.2_"))
    left.write_bytes(b"".join(one.written() for one in blocks))


def _foreign_log(table: Path) -> None:
    """Lay a log of one partition into another."""
    [log] = table.glob("region=ASIA/.*.log.*")
    log.rename(table / "region=EUROPE" / log.name)


def _new_folder(table: Path) -> None:
    """Lay files into a partition of which nothing tells."""
    (table / "q").mkdir()
    for file in [*table.glob("p=x/*_*.parquet")]:
        file.rename(table / "q" / file.name)


def _no_list(table: Path) -> None:
    (table / ".hoodie/metadata/files").rename(table / ".hoodie/metadata/x")


def _later_commit(table: Path) -> None:
    """Let the first commit have another instant."""
    for folder in (table / ".hoodie", table / ".hoodie/timeline"):
        files = sorted(folder.glob("[0-9]*"))
        for file in (one for one in files if one.name[:17] == files[0].name[:17]):
            file.rename(folder / f"{file.name[:14]}000{file.name[17:]}")


def _of_another(told: Any) -> None:
    told["path"] = told["path"].replace("_2", "_1")


V6, V9, PART, META, COW, INDEXES, TAKEN = (
    "mor-v6-event",
    "mor-v9-event",
    "mor-v9-partitioned",
    "metadata-table/v9",
    "cow-v9",
    "indexes/v9",
    "taken-up/v6-1.2.0",
)
LIST = ".hoodie/metadata/files"
BASES, LOGS, TIMES = "*_*.parquet", ".*.log.*", ".hoodie/timeline/*"
FAULTS: list[tuple[str, str, Plant]] = [
    ("properties.missing", V9, without(".hoodie/hoodie.properties")),
    ("properties.required", V9, _property("hoodie.table.name", None)),
    ("properties.required", V6, _property("hoodie.table.type", None)),
    ("properties.version", V9, _property("hoodie.table.version", "99")),
    ("properties.type", V9, _property("hoodie.table.type", "BOTH")),
    ("properties.layout", V9, _property("hoodie.timeline.layout.version", "1")),
    ("properties.layout", V6, _property("hoodie.timeline.layout.version", "2")),
    ("properties.checksum", V9, _property("hoodie.table.name", "another")),
    ("timeline.name", V9, _rename(".hoodie/timeline/*_*.deltacommit", lambda name: f"x{name}")),
    ("timeline.action", V9, _rename(".hoodie/timeline/*_*", lambda name: f"{name}ted")),
    ("timeline.completion", V9, _rename(".hoodie/timeline/*_*", lambda n: f"{n[:18]}1{n[19:]}")),
    ("timeline.completion", V9, _rename(".hoodie/timeline/*_*", lambda n: n[:17] + n[35:])),
    ("timeline.completion", V6, _rename(".hoodie/*.deltacommit", lambda n: f"{n[:17]}_{n}")),
    ("timeline.requested", V9, without(".hoodie/timeline/*.requested")),
    ("timeline.states", V9, _rename(TIMES, lambda n: n.replace("deltacommit.inf", "clean.inf"))),
    ("timeline.unreadable", "archived/v9", changed_bytes(f"{TIMES}/*.parquet", lambda d: d[9:])),
    ("commit.unreadable", V9, changed_bytes(".hoodie/timeline/*_*", lambda data: data[:-20])),
    ("commit.unreadable", V6, changed_bytes(".hoodie/*.deltacommit", lambda data: data[:-20])),
    *(
        (f"commit.{rule}", table, plant)
        for table in (V6, V9, PART)
        for rule, plant in (
            ("path", _stats(lambda told: told.update(path=f"{told['path']}.x.y"))),
            ("file-id", _stat(fileId="another")),
            ("partition", _stat(partitionPath="elsewhere")),
            ("instant", _later_commit),
            ("missing", without("**/.*.log.*")),
            ("missing", without("**/*_*.parquet")),
            ("file-size", _stat(fileSizeInBytes=10**9, log=True)),
            ("file-size", _stat(fileSizeInBytes=7, log=False)),
            ("writes", _stat(numWrites=99, log=False)),
        )
    ),
    ("commit.form", V6, _stat(path=5)),
    ("commit.form", V6, _stat(fileSizeInBytes="many")),
    ("commit.file-size", V9, _stat(fileSizeInBytes=7, log=True)),
    ("commit.write-errors", V9, _stats(_more_errors, log=False)),
    ("file.name", V9, lambda table: (table / "notes.txt").write_text("x", encoding="utf-8")),
    ("file.instant", V9, _rename(BASES, lambda name: f"{name[:-25]}99999999999999999.parquet")),
    ("file.group", PART, _foreign_log),
    ("file.log", V9, _property("hoodie.table.type", "COPY_ON_WRITE")),
    ("partition.mark", PART, without("*/.hoodie_partition_metadata")),
    ("partition.mark", PART, changed_bytes("*/.hoodie_partition_metadata", lambda _: b"")),
    ("base.meta-columns", V9, _base(lambda rows: rows.drop_columns(["_hoodie_file_name"]))),
    ("base.meta-nulls", V9, _column("_hoodie_record_key", None)),
    ("base.partition-path", PART, _column("_hoodie_partition_path", "region=X")),
    ("base.partition-path", V9, _column("_hoodie_partition_path", "x")),
    ("base.file-name", COW, _column("_hoodie_file_name", "another.parquet")),
    ("base.commit-time", V9, _column("_hoodie_commit_time", "99999999999999999")),
    ("base.keys-doubled", V9, _base(lambda rows: pa.concat_tables([rows, rows]))),
    ("base.record-key", V9, _column("_hoodie_record_key", "nobody")),
    ("base.record-key", "mor-v9-composite-key", _column("_hoodie_record_key", "k:1")),
    ("base.partition-values", PART, _column("region", "X")),
    ("base.partition-values", "partitions-encoded/v9", _column("p", "X")),
    ("base.unreadable", V9, changed_bytes(BASES, lambda data: data[:-20])),
    ("parquet.magic", V9, changed_bytes(BASES, lambda data: data[:-20])),
    ("base.min-record-key", V6, _footer("hoodie_min_record_key", lambda _: b"~")),
    ("base.max-record-key", V6, _footer("hoodie_max_record_key", lambda _: b"!")),
    ("base.bloom-filter", V6, _footer("org.apache.hudi.bloomfilter", _no_bits)),
    ("base.bloom-filter", "bloom-index/v9", _footer("org.apache.hudi.bloomfilter", _no_bits)),
    ("base.bloom-filter", V9, _footer("org.apache.hudi.bloomfilter", lambda _: b"AAAA")),
    ("log.magic", V9, changed_bytes(LOGS, put(0, b"#HIDU#"))),
    ("log.version", V9, changed_bytes(LOGS, put(14, struct.pack(">i", 3)))),
    ("log.length", V9, changed_bytes(LOGS, put(6, struct.pack(">q", 30)))),
    ("log.length", V6, changed_bytes(LOGS, lambda data: data[:-20])),
    ("log.total", V9, changed_bytes(LOGS, lambda data: data[:-1] + b"\0")),
    ("log.kind", V9, _blocks(lambda block: replace(block, kind=9))),
    ("log.instant", V9, _blocks(_header(INSTANT, None))),
    ("log.instant", V9, _blocks(_header(INSTANT, b"20200101000000000"))),
    ("log.instant", V6, _blocks(_header(INSTANT, b"99999999999999999"))),
    ("log.schema", V9, _blocks(_header(2, None))),
    ("log.command", V6, _blocks(lambda block: replace(block, kind=0))),
    ("log.content", V9, _blocks(lambda block: replace(block, content=block.content + b"\0"))),
    ("log.content", "mor-v9-parquet-blocks", _blocks(lambda one: replace(one, content=b"PAR0"))),
    ("log.partition-path", PART, _blocks(_records("_hoodie_partition_path", "region=X"))),
    ("metadata.missing", META, _no_list),
    ("log.length", META, changed_bytes(f"{LIST}/.*.log.*[0-9]", lambda data: data[:-9])),
    ("metadata.unreadable", META, changed_bytes(f"{LIST}/*.hfile", lambda d: d[9:])),
    ("metadata.partitions", META, _new_folder),
    ("metadata.lost-files", META, _files(lambda told: told.update(isDeleted=True))),
    ("metadata.lost-files", META, without(".hoodie/metadata/.hoodie/timeline/*_*.deltacommit")),
    ("metadata.gone-files", META, without("p=x/*_*.parquet")),
    ("metadata.file-size", META, _files(lambda told: told.update(size=told["size"] + 1))),
    ("metadata.column-counts", META, _told_of_columns(nullCount=7)),
    ("metadata.column-counts", META, _told_of_columns(valueCount=7)),
    ("metadata.column-bounds", INDEXES, _told_of_columns(maxValue="minValue")),
    ("metadata.column-bounds", INDEXES, _told_of_columns(minValue="maxValue")),
    ("metadata.column-bounds", INDEXES, _told_of_columns("partition_stats", maxValue="minValue")),
    ("metadata.record-index", INDEXES, _indexed(fileIdLowBits=5)),
    ("metadata.record-index", INDEXES, _indexed(partitionName="p=q")),
    ("metadata.record-index", INDEXES, without(".hoodie/metadata/record_index/*")),
    ("metadata.bloom-filter", "bloom-index/v9", _filters(_no_bits)),
    ("metadata.bloom-filter", "bloom-index/v9", _filters(lambda _: b"AAAA")),
    ("commit.missing", TAKEN, without("p=y/*.parquet")),
    ("commit.instant", TAKEN, _stats(_of_another)),
    ("commit.file-id", TAKEN, _stat(fileId="x")),
    ("commit.file-size", TAKEN, _stat(fileSizeInBytes=7)),
    ("commit.writes", TAKEN, _stat(numWrites=7)),
    ("file.name", TAKEN, _rename("p=y/*.parquet", lambda _: "another.parquet")),
    ("metadata.gone-files", TAKEN, without("p=y/*.parquet")),
    ("metadata.file-size", TAKEN, _files(lambda told: told.update(size=told["size"] + 1))),
]  # fmt: skip
#: What writers may do: plants after which no table breaks the rule.
ALLOWED: list[tuple[str, str, Plant]] = [
    ("commit.writes", V9, _stats(_more_errors, log=False)),
    ("base.partition-values", PART, _dropped),
    ("log.instant", V6, _property("hoodie.table.initial.version", "9")),  # since downgraded
    ("metadata.lost-files", "metadata-table/v6", _crashed),
]
HUDI = Planted(
    "hudi",
    RULES,
    FAULTS,
    {},
    elsewhere=("base.unread",),
    tables=(V6, META, PART, "mor-v9-types", "archived/v6", "cleaned/v9"),
)

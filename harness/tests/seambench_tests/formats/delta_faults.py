"""Faults of Delta tables, and how each is planted."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.delta.lint.files import RULES
from seambench.formats.forms.containers import put_file
from seambench_tests.formats.planting import Plant, Planted, changed_bytes, put, without

Body = dict[str, Any]


def _action(word: str, change: Callable[[Body], object], version: int | None = None) -> Plant:
    """Change every action of a name in a commit; in the newest that has one where none is named."""

    def plant(table: Path) -> None:
        files = sorted((table / "_delta_log").glob("*.json"))
        for file in reversed(files) if version is None else [files[version]]:
            actions = [json.loads(line) for line in file.read_text().splitlines() if line]
            found = [action[word] for action in actions if word in action]
            for body in found:
                change(body)
            if found:
                put_file(file, "".join(json.dumps(action) + "\n" for action in actions).encode())
                return
        raise AssertionError(f"no {word}")

    return plant


def _within(word: str, member: str) -> Callable[[Callable[[Body], object]], Plant]:
    """Plants that change the JSON in a member of the newest actions of a name."""

    def plant(change: Callable[[Body], object]) -> Plant:
        def on(action: Body) -> None:
            inner = json.loads(action[member])
            change(inner)
            action[member] = json.dumps(inner)

        return _action(word, on)

    return plant


_stats = _within("add", "stats")
_schema = _within("metaData", "schemaString")


def _line(text: str) -> Plant:
    """A line more in the newest commit."""

    def plant(table: Path) -> None:
        file = max((table / "_delta_log").glob("*.json"))
        put_file(file, file.read_bytes() + text.encode() + b"\n")

    return plant


def _again(word: str) -> Plant:
    """An action of the newest commit stands there twice."""

    def plant(table: Path) -> None:
        file = max((table / "_delta_log").glob("*.json"))
        lines = file.read_text().splitlines()
        same = next(line for line in lines if line.startswith(f'{{"{word}"'))
        put_file(file, "\n".join([*lines, same, ""]).encode())

    return plant


def _json_of(pattern: str, change: Callable[[Body], object]) -> Plant:
    def changed(data: bytes) -> bytes:
        body = json.loads(data)
        change(body)
        return json.dumps(body).encode()

    return changed_bytes(pattern, changed)


def _fewer_rows(pattern: str) -> Plant:
    """The last row of a Parquet file is lost."""

    def plant(table: Path) -> None:
        file = max(table.glob(pattern))
        rows = pq.read_table(file)
        pq.write_table(rows.slice(0, rows.num_rows - 1), file)

    return plant


def _in_nanoseconds(data: bytes) -> bytes:
    """A Parquet file whose instants have another unit than tables have."""
    rows, sink = pq.read_table(pa.BufferReader(data)), pa.BufferOutputStream()
    kind = pa.timestamp("ns", "UTC")
    cast = rows["ts"].cast(pa.timestamp("us", "UTC")).cast(kind, safe=False)
    pq.write_table(rows.set_column(rows.schema.get_field_index("ts"), "ts", cast), sink)
    return bytes(sink.getvalue())


def _set(**members: Any) -> Callable[[Body], object]:
    return lambda body: body.update(members)


def _in(member: str, **values: Any) -> Callable[[Body], object]:
    """Values within a member of what is changed."""
    return lambda body: body.get(member, {}).update(values)


def _all(member: str, value: Any) -> Callable[[Body], object]:
    """One value for all names within a member of what is changed."""
    return lambda body: body[member].update(dict.fromkeys(body[member], value))


def _field(change: Callable[[Body], object]) -> Plant:
    """Change the first field of the schema."""
    return _schema(lambda body: change(body["fields"][0]))


def _another_case(body: Body) -> None:
    first = body["fields"][0]
    body["fields"].append({**first, "name": first["name"].upper()})


def _undeclared(body: Body) -> None:
    body.update(minReaderVersion=1, minWriterVersion=2)
    body.pop("readerFeatures", None)
    body.pop("writerFeatures", None)


def _of_first(word: str) -> Plant:
    """The first commit has a transaction in the place of an action."""
    old = f'"{word}"'.encode()
    return changed_bytes("_delta_log/*0.json", lambda data: data.replace(old, b'"txn"'))


def _all_null(body: Body) -> None:
    """Counts that are not exact say that all rows of each column are null."""
    body["nullCount"] = dict.fromkeys(body["nullCount"], body["numRecords"])


def _other_domain(table: Path) -> None:
    """The commit of a checkpoint sets a domain, of which the checkpoint knows nothing."""
    name = min((table / "_delta_log").glob("*.checkpoint*")).name.split(".")[0]
    file = table / "_delta_log" / f"{name}.json"
    domain = {"domain": "mine", "configuration": "{}", "removed": False}
    put_file(file, file.read_bytes() + json.dumps({"domainMetadata": domain}).encode() + b"\n")


def _compacted(change: Callable[[list[Any]], object]) -> Plant:
    """Change the actions of a file that stands for several commits."""

    def changed(data: bytes) -> bytes:
        actions = [json.loads(line) for line in data.splitlines()]
        change(actions)
        return "".join(json.dumps(one) + "\n" for one in actions).encode()

    return changed_bytes("_delta_log/*.compacted.json", changed)


def _drop(word: str) -> Callable[[list[Any]], object]:
    return lambda actions: actions.remove(next(one for one in actions if word in one))


def _said_of(word: str, **members: Any) -> Callable[[list[Any]], object]:
    return lambda actions: next(one[word] for one in actions if word in one).update(members)


def _with_vector(table: Path) -> None:
    """Add the newest file again, with a vector of the row 9999."""
    file = max((table / "_delta_log").glob("*.json"))
    added = [json.loads(line)["add"] for line in file.read_text().splitlines() if '{"add"' in line]
    bitmap = struct.pack("<iqiIIHHIH", 1681511377, 1, 0, 12346, 1, 0, 0, 16, 9999)
    text = base64.b85encode(bitmap + bytes(2)).translate(bytes.maketrans(_B85, _Z85)).decode()
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": 34, "cardinality": 1}
    _line(json.dumps({"add": {**added[-1], "deletionVector": vector}}))(table)


_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_CHECKPOINT = "_delta_log/*.checkpoint.parquet"
_LAST, _CRC, _VECTORS = "_delta_log/_last_checkpoint", "_delta_log/*.crc", "deletion_vector_*.bin"
FAULTS: list[tuple[str, str, Plant]] = [
    ("log.empty", "empty", without("_delta_log/*.*")),
    ("log.gap", "evolution", without("_delta_log/00000000000000000001.json")),
    ("log.gap", "empty", lambda table: (table / f"_delta_log/{'9' * 20}.json").touch()),
    ("commit.json", "empty", _line("{")),
    ("commit.json", "empty", _line('{"add": {}, "remove": {}}')),
    ("commit.unknown", "empty", _line('{"subtract": {}}')),
    ("commit.twice", "evolution", _again("add")),
    ("commit.first", "empty", _of_first("protocol")),
    ("commit.append-only", "vectors-update",
     _action("metaData", _in("configuration", **{"delta.appendOnly": "true"}))),
    ("action.field", "evolution", _action("add", lambda body: body.pop("modificationTime"))),
    ("checkpoint.files", "checkpoint-classic", _fewer_rows(_CHECKPOINT)),
    ("checkpoint.parts", "checkpoint-parts", without("_delta_log/*.0000000002.*.parquet")),
    ("checkpoint.sidecar", "checkpoint-v2-parquet", without("_delta_log/_sidecars/*")),
    ("last-checkpoint", "checkpoint-classic", _json_of(_LAST, _set(version=99))),
    ("last-checkpoint.counts", "checkpoint-classic", _json_of(_LAST, _set(numOfAddFiles=99))),
    ("checksum.counts", "evolution", _json_of(_CRC, _set(numFiles=99))),
    ("checksum.counts", "evolution", _json_of(_CRC, _set(tableSizeBytes=1))),
    ("state", "empty", _of_first("metaData")),
    ("protocol.features", "vectors-update",
     _action("protocol", lambda body: body.pop("readerFeatures"))),
    ("protocol.features", "vectors-update",
     _action("protocol", lambda body: body["writerFeatures"].remove("deletionVectors"))),
    ("protocol.undeclared", "vectors-update", _action("protocol", _undeclared)),
    ("protocol.undeclared", "mapping-name", _action("protocol", _undeclared)),
    ("protocol.undeclared", "variant", _action("protocol", _undeclared)),
    ("protocol.undeclared", "widening", _action("protocol", _undeclared)),
    ("protocol.undeclared", "generated", _action("protocol", _undeclared)),
    ("protocol.undeclared", "row-tracking", _action("protocol", _undeclared)),
    ("metadata.format", "empty", _action("metaData", _set(format={"provider": "orc"}))),
    ("metadata.id", "empty", _action("metaData", _set(id=""))),
    ("metadata.partitions", "empty", _action("metaData", _set(partitionColumns=["nowhere"]))),
    ("schema", "empty", _action("metaData", _set(schemaString="{}"))),
    ("schema.names", "empty", _schema(_another_case)),
    ("mapping.field", "mapping-name", _field(_set(metadata={}))),
    ("mapping.ids", "mapping-name", _field(_in("metadata", **{"delta.columnMapping.id": 2}))),
    ("mapping.max-id", "mapping-name", _field(_in("metadata", **{"delta.columnMapping.id": 99}))),
    ("partition.columns", "partitions-whole", _action("add", _set(partitionValues={}))),
    ("partition.value", "partitions-whole", _action("add", _all("partitionValues", "1.5"))),
    ("partition.value", "partitions-times", _action("add", _all("partitionValues", "19.11.2024"))),
    ("partition.value", "partitions-times", _action("add", _all("partitionValues", "2023-02-29"))),
    ("file.missing", "evolution", without("*.parquet")),
    ("file.size", "evolution", _action("add", _set(size=7))),
    ("stats.num-records", "evolution", _stats(_set(numRecords=99))),
    ("stats.json", "evolution", _action("add", _set(stats="{"))),
    ("stats.null-count", "widening-all", _stats(_all("nullCount", 77))),
    ("stats.columns", "types", _stats(_in("nullCount", nowhere=1))),
    ("stats.min-values", "types", _stats(_in("minValues", l=2**63 - 1))),
    ("stats.max-values", "types", _stats(_in("maxValues", l=-(2**63)))),
    ("stats.max-values", "vectors-several", _stats(_in("maxValues", v="a"))),
    ("stats.max-values", "evolution", _stats(lambda body: body["maxValues"]["s"].update(b="w"))),
    ("stats.max-values", "types", _stats(_in("maxValues", ts="0001-01-01T00:00:00.000Z"))),
    ("stats.max-values", "types", _stats(_in("maxValues", day="0001-01-01"))),
    ("stats.max-values", "types", _stats(_in("maxValues", m=-1e20))),
    ("stats.max-values", "types", _stats(_in("maxValues", l="many"))),
    ("form", "evolution", _action("add", _set(size="7"))),
    ("form", "evolution", _action("add", _set(deletionVector="7"))),
    ("commit.time", "evolution", _action(
        "metaData", _set(configuration={"delta.enableInCommitTimestamps": "true"}))),
    ("commit.data-change", "evolution", _action("add", _set(dataChange=False))),
    ("commit.remove-absent", "evolution", _line('{"remove": {"path": "x", "dataChange": false}}')),
    ("checkpoint.unreadable", "checkpoint-classic", changed_bytes(_CHECKPOINT, put(4, bytes(99)))),
    ("checkpoint.metadata", "checkpoint-classic", _action("metaData", _set(name="x"), 0)),
    ("checkpoint.protocol", "checkpoint-classic", _action("protocol", _set(minWriterVersion=6), 0)),
    ("checksum.json", "evolution", changed_bytes(_CRC, lambda _: b"{")),
    ("checksum.json", "evolution", changed_bytes(_CRC, lambda _: b"[]")),
    ("checksum.metadata", "evolution", _action("metaData", _set(name="x"))),
    ("checksum.protocol", "evolution", _action("protocol", _set(minWriterVersion=6))),
    ("file.twice", "evolution", _with_vector),
    ("vector.position", "evolution", _with_vector),
    ("checkpoint.files", "checkpoint-classic", _action("add", _set(size=7), 4)),
    ("checkpoint.domains", "checkpoint-classic", _other_domain),
    ("compaction.files", "log-compaction", _compacted(_drop("add"))),
    ("compaction.files", "log-compaction", _compacted(_said_of("add", partitionValues={"k": "9"}))),
    ("compaction.metadata", "log-compaction", _compacted(
        lambda actions: actions.append({"metaData": {"id": "x"}}))),
    ("compaction.protocol", "log-compaction", _compacted(
        lambda actions: actions.append({"protocol": {"minReaderVersion": 9}}))),
    ("compaction.domains", "log-compaction", _compacted(
        lambda actions: actions.append({"domainMetadata": {"domain": "mine"}}))),
    ("file.types", "types", _field(_set(type="boolean"))),
    ("file.types", "types", _schema(lambda body: [
        one.update(type="string") for one in body["fields"] if one["type"] == "date"])),
    ("file.types", "types-nested", _schema(lambda body: [
        one["type"].update(type="map") for one in body["fields"]
        if isinstance(one["type"], dict) and one["type"]["type"] == "array"])),
    ("file.types", "types-micros", changed_bytes("*.parquet", _in_nanoseconds)),
    ("file.nulls", "deltalake-holes", _schema(lambda body: [
        one.update(nullable=False) for one in body["fields"]])),
    ("row-ids.missing", "row-tracking", _action("add", lambda body: body.pop("baseRowId"))),
    ("row-ids.overlap", "row-ids", _action("add", _set(baseRowId=10))),
    ("row-ids.high-water", "row-tracking", _action("add", _set(baseRowId=10**6))),
    ("stats.null-count", "vectors-several", _stats(_all_null)),
    ("stats.min-values", "evolution", _stats(_in("minValues", k=-(2**31)))),
    ("stats.max-values", "evolution", _stats(_in("maxValues", k=2**31 - 1))),
    ("vector.cardinality", "vectors-several", _action("add", _in("deletionVector", cardinality=9))),
    ("vector.broken", "vectors-several", changed_bytes(_VECTORS, put(9, b"\0"))),
    ("vector.broken", "vectors-several", without(_VECTORS)),
    ("vector.broken", "vectors-several", changed_bytes(_VECTORS, put(0, b"\2"))),
]  # fmt: skip
DELTA = Planted(
    "delta",
    RULES,
    FAULTS,
    # delta-rs tells decimal bounds as doubles: the bound is greater than the value by 2.6 million.
    # Spark tells the zone of an old time without its seconds.
    # Before version 3.3 Delta cut texts with characters beyond U+FFFF too low.
    {
        "stats.min-values": ["deltalake-types", "polars-types", "pruning-old-zones"],
        "stats.max-values": ["pruning-old-texts", "pruning-old-zones"],
    },
)

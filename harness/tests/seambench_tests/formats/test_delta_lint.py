"""A fault planted in a Delta table is named by its rule, and tables of the engines have none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from seambench.contracts.formats import resolve_format
from seambench.formats.forms.containers import put_file
from seambench.formats.golden import golden_table, table_folders
from seambench_tests.formats.planting import (
    SUITES,
    Plant,
    changed_bytes,
    new_faults,
    put,
    without,
)

DELTA = resolve_format("delta")

#: Faults of golden tables that are the writers' own.
KNOWN = {
    # delta-rs tells decimal bounds as doubles: the bound is greater than the value by 2.6 million.
    ("deltalake-types", "delta.stats.min-values"),
    ("polars-types", "delta.stats.min-values"),
}
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


_CHECKPOINT = "_delta_log/*.checkpoint.parquet"
_LAST, _CRC, _VECTORS = "_delta_log/_last_checkpoint", "_delta_log/*.crc", "deletion_vector_*.bin"
FAULTS: list[tuple[str, str, Plant]] = [
    ("log.empty", "empty", without("_delta_log/*.*")),
    ("log.gap", "evolution", without("_delta_log/00000000000000000001.json")),
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
    ("vector.cardinality", "vectors-several", _action("add", _in("deletionVector", cardinality=9))),
    ("vector.broken", "vectors-several", changed_bytes(_VECTORS, put(9, b"\0"))),
    ("vector.broken", "vectors-several", without(_VECTORS)),
    ("vector.broken", "vectors-several", changed_bytes(_VECTORS, put(0, b"\2"))),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "table", "plant"), FAULTS)
def test_a_planted_fault_is_named(rule: str, table: str, plant: Plant, tmp_path: Path) -> None:
    """A table with one thing changed has the fault whose rule that breaks, and only then."""
    assert f"delta.{rule}" in new_faults(DELTA, table, plant, tmp_path)


@pytest.mark.parametrize(
    "folder", [pytest.param(one, id=one.name) for one in table_folders(SUITES, "delta")]
)
def test_tables_of_the_engines_have_no_fault(folder: Path, tmp_path: Path) -> None:
    """No table of Delta's own breaks a rule that it must keep, but for what is known of it."""
    golden_table(DELTA, folder).unpack(tmp_path / "t")

    found = {fault.rule for fault in DELTA.faults(tmp_path / "t") if fault.level == "must"}

    assert found == {rule for name, rule in KNOWN if name == folder.name}

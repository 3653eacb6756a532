"""Each rule of Iceberg's linter finds what breaks it; tables that engines wrote keep the rules."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seambench.contracts.formats import resolve_format
from seambench.contracts.lint import Fault
from seambench.formats.golden import golden_table, table_folders
from seambench.formats.iceberg.lint.rules import RULES
from seambench.formats.iceberg.lint.table import newest_metadata
from seambench_tests.samples.documents import CHECKOUT, document

FORMAT = resolve_format("iceberg")
ROOT = CHECKOUT / "suites" / "seambench_suites"
GONE = object()


def _faults(table: Path) -> list[Fault]:
    return list(FORMAT.faults(table))


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Golden tables by name, unpacked once."""

    @functools.cache
    def unpack(name: str) -> Path:
        folder = tmp_path_factory.mktemp("golden")
        golden_table(FORMAT, ROOT / "golden" / "iceberg" / name).unpack(folder)
        return folder

    return unpack


@pytest.fixture
def copied(unpacked: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A golden table's own copy."""
    return lambda name: Path(shutil.copytree(unpacked(name), tmp_path / name))


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
ORDER: Any = {"order-id": 1, "fields": [{"transform": "identity", "source-id": 1}]}
SORTED = {"direction": "asc", "null-order": "nulls-last"}


@pytest.mark.parametrize(
    ("rule", "name", "path", "value"),
    [
        ("metadata.readable", "travel", "format-version", 4),
        ("metadata.required", "travel", "last-column-id", GONE),
        ("metadata.required", "travel", "table-uuid", 5),
        ("metadata.required", "v1", "partition-spec", GONE),
        ("metadata.required", "lineage", "next-row-id", GONE),
        ("metadata.current", "travel", "current-schema-id", 9),
        ("metadata.current", "travel", "default-spec-id", 9),
        ("metadata.current", "travel", "default-sort-order-id", 9),
        ("metadata.current", "travel", "current-snapshot-id", 9),
        ("metadata.unique", "travel", "schemas/1/schema-id", 0),
        ("metadata.unique", "travel", "snapshots", lambda old: [*old, old[-1]]),
        ("metadata.last-column-id", "travel", "last-column-id", 2),
        ("metadata.last-column-id", "nested", "last-column-id", 4),
        ("metadata.last-partition-id", "transforms", "last-partition-id", 1003),
        ("metadata.next-row-id", "lineage", "next-row-id", 1),
        ("schema.form", "travel", f"{FIELD}/id", "1"),
        ("schema.form", "travel", f"{FIELD}/type", {"type": "tuple"}),
        ("schema.ids", "travel", "schemas/0/fields/1/id", 1),
        ("schema.ids", "travel", f"{FIELD}/id", 2147483546),
        ("schema.types", "travel", f"{FIELD}/type", "integer"),
        ("schema.types", "travel", f"{FIELD}/type", "timestamp_ns"),
        ("schema.types", "travel", f"{FIELD}/type", "decimal(39, 2)"),
        (
            "schema.types",
            "lineage",
            f"{FIELD}",
            lambda old: old | {"type": "unknown", "required": True},
        ),
        ("schema.identifiers", "travel", "schemas/0/identifier-field-ids", [1]),
        ("schema.identifiers", "travel", "schemas/0/identifier-field-ids", [77]),
        (
            "schema.identifiers",
            "travel",
            "schemas/0",
            lambda old: (
                old
                | {
                    "identifier-field-ids": [2],
                    "fields": [{"id": 2, "name": "f", "type": "double", "required": True}],
                }
            ),
        ),
        ("schema.defaults", "travel", f"{FIELD}/initial-default", 5),
        ("schema.defaults", "defaults", "schemas/1/fields/2/initial-default", 8),
        ("schema.defaults", "defaults", "schemas/4/fields/5/write-default", "2.5"),
        ("schema.promotion", "travel", f"{FIELD}/type", "long"),
        ("schema.promotion", "travel", f"{FIELD}/type", {"type": "struct", "fields": []}),
        ("spec.source", "transforms", f"{SPEC}/source-id", 77),
        (
            "spec.source",
            "nested",
            "partition-specs/0/fields",
            [{"source-id": 2, "field-id": 1000, "name": "p", "transform": "void"}],
        ),
        ("spec.transform", "transforms", f"{SPEC}/transform", "bucket[0]"),
        ("spec.transform", "transforms", f"{SPEC}/transform", "hour"),
        ("spec.field-ids", "transforms", f"{SPEC}/field-id", 1001),
        ("spec.field-ids", "partition-evolution", "partition-specs/1/fields/0/source-id", 1),
        ("order.fields", "travel", "sort-orders/0/fields", ORDER["fields"]),
        ("order.fields", "travel", "sort-orders", lambda old: [*old, ORDER]),
        (
            "order.fields",
            "travel",
            "sort-orders",
            lambda old: [
                *old,
                {"order-id": 1, "fields": [{"transform": "day", "source-id": 1, **SORTED}]},
            ],
        ),
        ("snapshot.required", "travel", "snapshots/0/manifest-list", GONE),
        ("snapshot.parent", "travel", "snapshots/0/parent-snapshot-id", 7474913155655343789),
        ("snapshot.sequence", "travel", "last-sequence-number", 4),
        ("snapshot.sequence", "travel", "snapshots/1/sequence-number", 1),
        ("snapshot.schema", "travel", "snapshots/0/schema-id", 9),
        ("snapshot.operation", "travel", "snapshots/0/summary/operation", "insert"),
        ("snapshot.time", "travel", "snapshots/0/timestamp-ms", lambda old: old + 10**6),
        ("log.order", "travel", "snapshot-log/0/timestamp-ms", lambda old: old + 10**6),
        ("log.current", "travel", "snapshot-log", lambda old: old[:-1]),
        ("log.snapshots", "travel", "snapshot-log/0/snapshot-id", 9),
        ("log.metadata", "travel", "metadata-log/0/metadata-file", "/away.metadata.json"),
        ("refs.snapshot", "travel", "refs/side/snapshot-id", 9),
        ("refs.main", "travel", "refs/main/snapshot-id", 5512519927820949734),
        ("refs.type", "travel", "refs/side/type", "stem"),
        ("refs.type", "travel", "refs/first/min-snapshots-to-keep", 3),
        (
            "statistics.file",
            "travel",
            "statistics",
            [
                {
                    "snapshot-id": 5512519927820949734,
                    "statistics-path": "/x",
                    "file-size-in-bytes": 9,
                }
            ],
        ),
        (
            "statistics.snapshot",
            "travel",
            "partition-statistics",
            [{"snapshot-id": 7, "statistics-path": "/x", "file-size-in-bytes": 9}],
        ),
    ],
)
def test_a_fault_of_the_metadata_is_named(
    rule: str, name: str, path: str, value: Any, copied: Callable[[str], Path]
) -> None:
    """One value of the metadata file is changed: the rule that it breaks is among the faults."""
    table = copied(name)
    file = newest_metadata(table)
    before = {fault.rule for fault in _faults(table)}
    said = json.loads(file.read_text())
    _put(said, path, value)
    file.write_text(json.dumps(said))
    assert f"iceberg.{rule}" in {fault.rule for fault in _faults(table)} - before


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
def test_defaults_are_spelled_as_their_type(
    kind: Any, good: Any, bad: Any, copied: Callable[[str], Path]
) -> None:
    """By Appendix D, JSON single-value serialization: what it spells is taken, all else named."""
    table = copied("empty")
    file = newest_metadata(table)
    said = json.loads(file.read_text()) | {"format-version": 3, "next-row-id": 0}
    said["last-column-id"] = 99
    for value, faults in ((good, []), (bad, ["iceberg.schema.defaults"])):
        said["schemas"][0]["fields"][0] |= {"type": kind, "initial-default": value}
        file.write_text(json.dumps(said))
        assert [one.rule for one in _faults(table)] == faults


def test_metadata_that_cannot_be_read_are_named(copied: Callable[[str], Path]) -> None:
    """No JSON, half a compressed file, a hint at nothing, or no metadata file at all."""
    table = copied("compressed-metadata")
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


#: Faults of tables that are true, by rule and the beginning of the table's name.
KNOWN = {
    ("iceberg.log.metadata", "iceberg-rust"): "its metadata files were given numbers as names",
    ("iceberg.log.metadata", "pyiceberg"): "its metadata files were given numbers as names",
}


@pytest.mark.parametrize("folder", table_folders(ROOT, "iceberg"), ids=lambda folder: folder.name)
def test_golden_tables_keep_the_rules(folder: Path, unpacked: Callable[[str], Path]) -> None:
    """Nothing is wrong with any table that an engine wrote but what is known of its writer."""
    found = {fault.rule: fault for fault in _faults(unpacked(folder.name))}
    known = {rule for rule, begin in KNOWN if folder.name.startswith(begin)}
    assert [fault for rule, fault in found.items() if rule not in known] == []
    assert known <= found.keys()


def test_every_rule_is_told() -> None:
    """The page of linters has each rule: `iceberg.part.…` in a row with the names in that part."""
    rows = document("docs/lint.md").partition("## Iceberg")[2].partition("\n## ")[0].split("\n")
    for rule in RULES:
        part, _, name = rule.rpartition(".")
        assert any(f"`{part}.…`" in row and f"`{name}`" in row for row in rows), rule

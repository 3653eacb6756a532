"""Rules for a table's metadata file: ids, schemas, partition specs, orders, snapshots and logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from seambench.formats.iceberg.lint.table import Table
from seambench.formats.iceberg.lint.types import (
    NO_DEFAULT,
    Field,
    fields_of,
    promotes,
    since,
    spells,
)
from seambench.formats.lint import Finding, Wrong

#: What must be there: the JSON's type, and the first version that asks for it.
_TABLE: Mapping[str, tuple[type, int]] = {
    "format-version": (int, 1),
    "location": (str, 1),
    "last-updated-ms": (int, 1),
    "last-column-id": (int, 1),
    "table-uuid": (str, 2),
    "last-sequence-number": (int, 2),
    "schemas": (list, 2),
    "current-schema-id": (int, 2),
    "partition-specs": (list, 2),
    "default-spec-id": (int, 2),
    "last-partition-id": (int, 2),
    "sort-orders": (list, 2),
    "default-sort-order-id": (int, 2),
    "next-row-id": (int, 3),
}
_SNAPSHOT: Mapping[str, tuple[type, int]] = {
    "snapshot-id": (int, 1),
    "timestamp-ms": (int, 1),
    "sequence-number": (int, 2),
    "manifest-list": (str, 2),
    "summary": (dict, 2),
}
_RESERVED = 2147483447
_OPERATIONS = ("append", "replace", "overwrite", "delete")
_EVERY = "boolean|int|long|float|double|decimal.*|date|time.*|string|uuid|fixed.*|binary"
#: Source types of each transform, as patterns.
_TRANSFORMS = {
    r"identity": f"{_EVERY}|unknown|variant",
    r"void": ".*",
    r"bucket\[0*[1-9]\d*\]": "int|long|decimal.*|date|time.*|string|uuid|fixed.*|binary",
    r"truncate\[0*[1-9]\d*\]": "int|long|decimal.*|string|binary",
    r"year|month|day": "date|timestamp.*",
    r"hour": "timestamp.*",
}


def lacking(said: Any, wanted: Mapping[str, tuple[type, int]], version: int) -> list[str]:
    """Names of fields that are not there, though the version asks for them, or of a wrong type."""
    if type(said) is not dict:
        return list(wanted)
    return [
        name
        for name, (kind, first) in wanted.items()
        if type(said.get(name)) is not kind and (version >= first or said.get(name) is not None)
    ]


def refused(table: Table) -> Iterator[Finding]:
    """Required fields that are missing: without them nothing more can be said."""
    said = table.said
    version = said.get("format-version")
    if version not in (1, 2, 3):
        yield "metadata.readable", "format-version", f"{version!r} is none of 1, 2 and 3"
        return
    old = {"schema": (dict, 1), "partition-spec": (list, 1)} if version == 1 else {}
    for name in lacking(said, {**_TABLE, **old}, version):
        says = f"{said.get(name)!r:.80} is not what version {version} asks"
        yield "metadata.required", name, says
    for at, one in enumerate(said.get("snapshots") or []):
        for name in lacking(one, _SNAPSHOT, version):
            # Snapshots of version 1 stay as they are when a table is upgraded.
            if name != "sequence-number" or one.get(name) is not None:
                yield "snapshot.required", f"snapshots[{at}]: {name}", "it is required"


def metadata_findings(table: Table) -> Iterator[Finding]:
    """What is wrong with the metadata file; reads schemas and specs into the table."""
    said = table.said
    if said["format-version"] == 1:
        said.setdefault("schemas", [{"schema-id": 0} | said["schema"]])
        said.setdefault("current-schema-id", said["schemas"][-1].get("schema-id", 0))
        said.setdefault("partition-specs", [{"spec-id": 0, "fields": said["partition-spec"]}])
        said.setdefault("default-spec-id", said["partition-specs"][-1].get("spec-id", 0))
    said.setdefault("sort-orders", [{"order-id": 0, "fields": []}])
    said.setdefault("default-sort-order-id", 0)
    for name, key, current in (
        ("schemas", "schema-id", said["current-schema-id"]),
        ("partition-specs", "spec-id", said["default-spec-id"]),
        ("sort-orders", "order-id", said["default-sort-order-id"]),
        ("snapshots", "snapshot-id", said.get("current-snapshot-id")),
    ):
        ids = [one.get(key) for one in said.get(name) or []]
        for twice in [one for one, count in Counter(ids).items() if count > 1]:
            yield "metadata.unique", name, f"two of them have the {key} {twice}"
        if current not in ids and not (name == "snapshots" and current in (None, -1)):
            yield "metadata.current", name, f"there is none of the current {key} {current}"
    for rules in (_schemas, _evolution, _specs, _orders, _snapshots, _refs, _logs):
        yield from rules(table)


def _schemas(table: Table) -> Iterator[Finding]:
    most = table.said["last-column-id"]
    for at, schema in enumerate(table.said["schemas"]):
        place = f"schemas[{at}]"
        try:
            fields = list(fields_of(schema))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            yield "schema.form", place, f"a field is not spelled as one: {error}"
            continue
        table.schemas[schema.get("schema-id", 0)] = fields
        for number, count in Counter(one.id for one in fields).items():
            if count > 1 or number > _RESERVED:
                says = f"{count} fields have it, or it is reserved"
                yield "schema.ids", f"{place}: id {number}", says
            if number > most:
                yield "metadata.last-column-id", place, f"a field has the id {number} above {most}"
        for one in fields:
            for rule, says in _field(one, table.version):
                yield rule, f"{place}: {one.name}", says
        by_id = {one.id: one for one in fields}
        for number in schema.get("identifier-field-ids") or []:
            if why := _no_identifier(by_id.get(number)):
                yield "schema.identifiers", f"{place}: id {number}", f"{why}, and identifies no row"


def _field(one: Field, version: int) -> Iterator[Wrong]:
    first = 1 if one.nested else since(one.kind)
    if first is None or first > version:
        yield "schema.types", f"{one.kind!r} is no type of version {version}"
        return
    if one.kind == "unknown" and one.required:
        yield "schema.types", "a field of an unknown type must be optional"
    for name in ("initial-default", "write-default"):
        if (value := one.said.get(name)) is None:
            continue
        if version < 3:
            yield "schema.defaults", f"{name} is of version 3, not {version}"
        elif not spells(one.kind, value):
            yield "schema.defaults", f"{name} {value!r} is no {one.nested or one.kind} in JSON"


def _no_identifier(one: Field | None) -> str:
    """Why a field cannot be one of those that identify a row."""
    if one is None:
        return "there is no such field"
    if one.nested or one.kind in ("float", "double") or NO_DEFAULT.fullmatch(one.kind):
        return f"it is a {one.nested or one.kind}"
    if one.repeated:
        return "it lies within a list or map"
    return "" if all(each.required for each in (*one.above, one)) else "it may be null"


def _evolution(table: Table) -> Iterator[Finding]:
    kept: dict[int, Field] = {}
    for number, fields in sorted(table.schemas.items()):
        for one in fields:
            old, place = kept.get(one.id, one), f"schema {number}: {one.name}"
            if not promotes(old.kind, one.kind, table.version):
                yield "schema.promotion", place, f"it was {old.kind} and became {one.kind}"
            if old.said.get("initial-default") != one.said.get("initial-default"):
                yield "schema.defaults", place, "its initial-default was another before"
            kept[one.id] = one


def _specs(table: Table) -> Iterator[Finding]:
    ids: dict[int, Any] = {}
    same: dict[Any, int] = {}
    for at, spec in enumerate(table.said["partition-specs"]):
        fields = [{"field-id": 1000 + nth} | one for nth, one in enumerate(spec["fields"])]
        table.specs[spec.get("spec-id", 0)] = fields
        for one in fields:
            here, number = f"partition-specs[{at}]: {one.get('name')}", one["field-id"]
            current = spec.get("spec-id") == table.said["default-spec-id"]
            for says in _source(table, one, current, table.newest.get(one.get("source-id", -1))):
                yield "spec.source" if "column" in says else "spec.transform", here, says
            if number > table.said.get("last-partition-id", number):
                yield "metadata.last-partition-id", here, f"the field has the higher id {number}"
            if table.version == 1:
                continue
            what = one.get("source-id"), one.get("transform")
            if [each["field-id"] for each in fields].count(number) > 1:
                yield "spec.field-ids", here, f"{number} is that of another field, too"
            if ids.setdefault(number, what) != what:
                yield "spec.field-ids", here, f"{number} is {ids[number]} in another spec"
            if same.setdefault((*what, one.get("name")), number) != number:
                yield "spec.field-ids", here, f"the same field has the id {number} and another"


def _source(
    table: Table, one: Mapping[str, Any], current: bool, source: Field | None
) -> Iterator[str]:
    """What is wrong with the column and transform of a partition's or order's field."""
    transform = str(one.get("transform"))
    fits = next((t for spelled, t in _TRANSFORMS.items() if re.fullmatch(spelled, transform)), None)
    ids = {each.id for each in table.schemas.get(table.said["current-schema-id"], [])}
    if transform != "void" and current and one.get("source-id") not in ids:
        yield f"there is no column of the id {one.get('source-id')}"
    if fits is None:
        yield f"{transform!r} is none that the specification knows"
    elif source and (source.nested or source.repeated):
        yield f"the column {source.name} is no primitive field of a row"
    elif source and not re.fullmatch(fits, source.kind):
        yield f"{transform} does not apply to {source.kind}"


def _orders(table: Table) -> Iterator[Finding]:
    words = {"direction": ("asc", "desc"), "null-order": ("nulls-first", "nulls-last")}
    for at, order in enumerate(table.said["sort-orders"]):
        place, current = f"sort-orders[{at}]", table.said["default-sort-order-id"]
        if (order.get("order-id") == 0) != (not order["fields"]):
            yield "order.fields", place, "the order 0, and no other, has no fields"
        for one in order["fields"]:
            source = table.newest.get(one.get("source-id", -1))
            for says in _source(table, one, order.get("order-id") == current, source):
                yield "order.fields", place, says
            for name, allowed in words.items():
                if one.get(name) not in allowed:
                    yield "order.fields", place, f"{name} {one.get(name)!r} is none of {allowed}"


def _snapshots(table: Table) -> Iterator[Finding]:
    said, seen = table.said, set[int]()
    last = said.get("last-sequence-number", 0)
    for at, one in enumerate(said.get("snapshots") or []):
        place, sequence = f"snapshots[{at}]", one.get("sequence-number", 0)
        if sequence > last or (sequence in seen and sequence):
            says = f"{sequence} is above last-sequence-number {last}, or another's"
            yield "snapshot.sequence", place, says
        seen.add(sequence)
        parent = table.snapshots.get(one.get("parent-snapshot-id", -1), {"timestamp-ms": 0})
        if parent.get("sequence-number", -1) >= sequence > 0:
            yield "snapshot.parent", place, f"its parent's number is not below {sequence}"
        if not parent["timestamp-ms"] <= one["timestamp-ms"] <= said["last-updated-ms"]:
            says = f"{one['timestamp-ms']} is before its parent's time or after last-updated-ms"
            yield "snapshot.time", place, says
        if one.get("schema-id", said["current-schema-id"]) not in table.schemas:
            yield "snapshot.schema", place, f"there is no schema {one['schema-id']}"
        if (operation := (one.get("summary") or {"operation": "append"}).get("operation")) not in (
            _OPERATIONS
        ):
            yield "snapshot.operation", place, f"{operation!r} is none of {_OPERATIONS}"
        if (reached := one.get("first-row-id", 0) + one.get("added-rows", 0)) > said.get(
            "next-row-id", reached
        ):
            yield "metadata.next-row-id", place, f"the snapshot's rows reach to {reached}"


def _refs(table: Table) -> Iterator[Finding]:
    refs, current = table.said.get("refs") or {}, table.said.get("current-snapshot-id")
    for name, one in refs.items():
        if one.get("snapshot-id") not in table.snapshots:
            yield "refs.snapshot", f"refs: {name}", f"there is no snapshot {one.get('snapshot-id')}"
        kept = [one[n] for n in ("min-snapshots-to-keep", "max-snapshot-age-ms") if n in one]
        tag = one.get("type") == "tag" and name != "main" and not kept
        if not tag and not (one.get("type") == "branch" and all(n > 0 for n in kept)):
            yield "refs.type", f"refs: {name}", f"{one} is neither a branch nor a tag"
    if table.version > 1 and (main := refs.get("main", {}).get("snapshot-id", current)) != current:
        yield "refs.main", "refs: main", f"it is {main}, current-snapshot-id is {current}"


def _logs(table: Table) -> Iterator[Finding]:
    said = table.said
    log = said.get("snapshot-log") or []
    for name in ("snapshot-log", "metadata-log"):
        for before, after in pairwise(said.get(name) or []):
            if before["timestamp-ms"] > after["timestamp-ms"]:
                yield "log.order", name, f"{after['timestamp-ms']} stands behind a later time"
    if log and log[-1]["snapshot-id"] != said.get("current-snapshot-id"):
        yield "log.current", "snapshot-log", "its last entry is not the current snapshot"
    for one in log:
        if one["snapshot-id"] not in table.snapshots:
            yield "log.snapshots", "snapshot-log", f"{one['snapshot-id']} has expired"
    for one in said.get("metadata-log") or []:
        if not table.path(one["metadata-file"]).exists():
            yield "log.metadata", "metadata-log", f"{one['metadata-file']} is not there"

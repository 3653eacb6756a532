"""What is wrong with the schema files of a Paimon table, and with options that they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from seambench.formats.lint import Finding, Wrong
from seambench.formats.paimon.binary_rows import kind_of

_SYSTEM_FIELDS = ("_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID")
_VERSIONS = (1, 2, 3)
Row = Mapping[str, Any]


def schema_findings(schemas: Mapping[int, Row]) -> Iterator[Finding]:
    """What is wrong with schemas, by the number in their name."""
    first = schemas[min(schemas)] if schemas else {}
    for number, said in sorted(schemas.items()):
        place = f"schema/schema-{number}"
        for rule, says in (*_field_faults(number, said), *_key_faults(said, first)):
            yield f"schema.{rule}", place, says
        for says in _option_faults(said):
            yield "schema.options", f"{place} options", says


def _field_faults(number: int, said: Row) -> Iterator[Wrong]:
    if said.get("id") != number:
        yield "id", f"id is {said.get('id')!r}, and must be {number}, as in its name"
    if said.get("version", 1) not in _VERSIONS:
        yield "version", f"version is {said['version']!r}, and must be 1 to 3"
    ids = [one["id"] for top in said["fields"] for one in _fields_below(top)]
    for id_, count in Counter(ids).items():
        if count > 1:
            yield "field-ids", f"{count} fields have the id {id_}"
    if ids and max(ids) > said.get("highestFieldId", -1):
        says = f"highestFieldId is {said.get('highestFieldId')}, and a field has the id {max(ids)}"
        yield "highest-field-id", says
    for name, count in Counter(one["name"] for one in said["fields"]).items():
        if count > 1:
            yield "names", f"{count} columns are called {name!r}"
        if name in _SYSTEM_FIELDS or name.startswith("_KEY_"):
            yield "reserved-names", f"the column's name {name!r} is one of the system's"


def _fields_below(top: Row) -> Iterator[Row]:
    """A field and those of all rows in its type."""
    yield top
    yield from _fields_of(top["type"])


def _fields_of(type_: Any) -> Iterator[Row]:
    if isinstance(type_, dict):
        for one in type_.get("fields", ()):
            yield from _fields_below(one)
        for inner in ("element", "key", "value"):
            yield from _fields_of(type_.get(inner))


def _key_faults(said: Row, first: Row) -> Iterator[Wrong]:
    kinds = {one["name"]: kind_of(one["type"]) for one in said["fields"]}
    for what in ("partitionKeys", "primaryKeys"):
        if said[what] != first[what]:
            yield "keys-changed", f"{what} are {said[what]}, and were {first[what]}"
        for name in said[what]:
            if name not in kinds:
                yield "keys", f"{what} name {name!r}, which is no column"
            elif kinds[name].root == "NESTED":
                yield "keys", f"{what} name {name!r}, whose type is nested"
            elif what == "primaryKeys" and kinds[name].nullable:
                says = f"the primary key {name!r} may be null by its type"
                if said["options"].get("primary-key.nullable") != "true":
                    yield "key-nullable", says


def _option_faults(said: Row) -> Iterator[str]:
    """Options that contradict each other, or the columns."""
    options, keys = said["options"], said["primaryKeys"]
    names = [one["name"] for one in said["fields"]]
    bucket = int(options.get("bucket", 1 if said.get("version", 1) == 1 else -1))
    engine = options.get("merge-engine", "deduplicate")
    producer = options.get("changelog-producer", "none")
    on = {name for name, value in options.items() if value.lower() == "true"}
    sequence = [one for one in options.get("sequence.field", "").split(",") if one]
    bucket_key = [one for one in options.get("bucket-key", "").split(",") if one]
    inside = set(keys) - set(said["partitionKeys"])
    vectors = "deletion-vectors.enabled" in on
    for wrong, says in (
        (bucket == -1 and bucket_key, "bucket-key is set, and bucket is -1"),
        (bucket == 0 or bucket < -2, f"bucket is {bucket}, and must be above 0, -1 or -2"),
        (
            bucket > 0 and not keys and not bucket_key and said.get("version", 1) > 1,
            "a table without keys has fixed buckets and no bucket-key",
        ),
        (keys and not set(bucket_key) <= inside, f"bucket-key {bucket_key} is not of the keys"),
        (not set(bucket_key) <= set(names), f"bucket-key {bucket_key} names no column"),
        (keys and not inside, "all primary keys are partition keys"),
        (
            keys and bucket > 0 and not set(said["partitionKeys"]) <= set(keys),
            "buckets are fixed, and the primary keys lack a partition key",
        ),
        (not set(sequence) <= set(names), f"sequence.field {sequence} names no column"),
        (sequence and engine == "first-row", "sequence.field is set, and the first row counts"),
        (not keys and producer != "none", f"changelog-producer is {producer}, without keys"),
        (
            engine == "first-row" and producer not in ("none", "lookup"),
            f"changelog-producer is {producer}, and the first row counts",
        ),
        (vectors and engine == "first-row", "deletion vectors are on, and the first row counts"),
        (
            vectors and producer not in ("none", "input", "lookup"),
            f"deletion vectors are on, and changelog-producer is {producer}",
        ),
        ("row-tracking.enabled" in on and keys, "rows are tracked in a table with keys"),
        (
            "data-evolution.enabled" in on and "row-tracking.enabled" not in on,
            "data-evolution.enabled is set without row-tracking.enabled",
        ),
        (
            options.get("rowkind.field", names[:1] and names[0]) not in (*names, []),
            f"rowkind.field {options.get('rowkind.field')!r} is no column",
        ),
    ):
        if wrong:
            yield says

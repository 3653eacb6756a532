"""What a Delta table uses, against what its protocol declares; its schema."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from seambench.contracts.lint import Fault
from seambench.formats.delta.lint.log import State

_FEATURES = "Delta protocol, Table Features"
_SCHEMA = "Delta protocol, Schema Serialization Format"
_METADATA = "Delta protocol, Change Metadata"
_MAPPING = "Delta protocol, Column Mapping"
#: Reader and writer version that have a feature without naming it; 0: none has.
_VERSIONS = {
    "appendOnly": (0, 2),
    "invariants": (0, 2),
    "checkConstraints": (0, 3),
    "changeDataFeed": (0, 4),
    "generatedColumns": (0, 4),
    "columnMapping": (2, 5),
    "identityColumns": (0, 6),
}
_OF_READERS = frozenset(
    (
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "variantType",
    )
)
_NAMED_READER, _NAMED_WRITER = 3, 7
_SWITCHES = {
    "delta.appendOnly": "appendOnly",
    "delta.enableChangeDataFeed": "changeDataFeed",
    "delta.enableRowTracking": "rowTracking",
    "delta.enableInCommitTimestamps": "inCommitTimestamp",
}
_MARKS = {
    "delta.generationExpression": "generatedColumns",
    "delta.invariants": "invariants",
    "delta.identity.start": "identityColumns",
    "CURRENT_DEFAULT": "allowColumnDefaults",
    "delta.typeChanges": "typeWidening",
}
_TYPES = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
_BELOW = ("elementType", "keyType", "valueType")
Field = Mapping[str, Any]


def schema_of(state: State) -> Mapping[str, Any]:
    """The schema; one of no fields where it cannot be parsed."""
    try:
        found = json.loads(str((state.metadata or {}).get("schemaString")))
    except ValueError:
        return {"fields": []}
    return (
        found
        if isinstance(found, dict) and isinstance(found.get("fields"), list)
        else {"fields": []}
    )


def fields_of(type_: Any) -> Iterator[Field]:
    """Fields of a type at every depth."""
    if not isinstance(type_, Mapping):
        return
    for one in type_.get("fields", ()):
        yield one
        yield from fields_of(one.get("type"))
    for below in _BELOW:
        yield from fields_of(type_.get(below))


def metadata_faults(state: State, *, second_kind: bool) -> Iterator[Fault]:
    """What is wrong with protocol, metadata and schema of a state."""
    for word, body in (("protocol", state.protocol), ("metaData", state.metadata)):
        if body is None:
            yield Fault("delta.state", _METADATA, "_delta_log", f"the table has no {word}")
            return
    yield from _protocol(state.protocol or {})
    yield from _schema(state)
    for feature, why in sorted(_used(state, second_kind=second_kind).items()):
        yield from _declared(feature, why, state.protocol or {})


def _protocol(protocol: Mapping[str, Any]) -> Iterator[Fault]:
    reader, writer = protocol.get("minReaderVersion"), protocol.get("minWriterVersion")
    place = "_delta_log, protocol"
    for version, member, least in (
        (reader, "readerFeatures", _NAMED_READER),
        (writer, "writerFeatures", _NAMED_WRITER),
    ):
        if (version == least) != (protocol.get(member) is not None):
            says = f"{member} must be there with version {least}, and only then; it is {version}"
            yield Fault("delta.protocol.features", _FEATURES, place, says)
    more = set(protocol.get("readerFeatures") or ()) - set(protocol.get("writerFeatures") or ())
    if more:
        says = f"{', '.join(sorted(more))} must be a feature of writers, too"
        yield Fault("delta.protocol.features", _FEATURES, place, says)


def _schema(state: State) -> Iterator[Fault]:
    metadata, place = state.metadata or {}, "_delta_log, metaData"
    if (metadata.get("format") or {}).get("provider") != "parquet":
        yield Fault(
            "delta.metadata.format",
            _METADATA,
            place,
            f"format is {metadata.get('format')}, it must be parquet",
        )
    if not metadata.get("id"):
        yield Fault("delta.metadata.id", _METADATA, place, "it has no id")
    schema = schema_of(state)
    if not schema["fields"] and '"fields":[]' not in str(metadata.get("schemaString")).replace(
        " ", ""
    ):
        yield Fault("delta.schema", _SCHEMA, place, "schemaString is no struct")
        return
    names = [str(one.get("name")) for one in schema["fields"]]
    small = Counter(name.lower() for name in names)
    for name, count in small.items():
        if count > 1:
            yield Fault(
                "delta.schema.names",
                _SCHEMA,
                place,
                f"{count} columns are called {name}, but for capitals",
            )
    partitions = metadata.get("partitionColumns") or []
    for name in partitions:
        if name not in names or partitions.count(name) > 1:
            yield Fault(
                "delta.metadata.partitions",
                _METADATA,
                place,
                f"partition column {name} is none of the schema, or stands twice",
            )
    yield from _mapping(state, schema)


def _mapping(state: State, schema: Mapping[str, Any]) -> Iterator[Fault]:
    """Ids and physical names of columns, where they are mapped."""
    mode = state.configuration.get("delta.columnMapping.mode", "none")
    if mode == "none":
        return
    most = state.configuration.get("delta.columnMapping.maxColumnId", "")
    ids: Counter[int] = Counter()
    for one in fields_of(schema):
        said = one.get("metadata") or {}
        place = f"_delta_log, metaData, column {one.get('name')}"
        id_, name = said.get("delta.columnMapping.id"), said.get("delta.columnMapping.physicalName")
        if not isinstance(id_, int) or not name:
            yield Fault("delta.mapping.field", _MAPPING, place, "it has no id or no physical name")
            continue
        ids[id_] += 1
        if ids[id_] > 1:
            yield Fault("delta.mapping.ids", _MAPPING, place, f"another column has its id {id_}")
        if not most.isdigit() or id_ > int(most):
            says = f"its id {id_} is above maxColumnId, {most or 'which is missing'}"
            yield Fault("delta.mapping.max-id", _MAPPING, place, says)


def _used(state: State, *, second_kind: bool) -> dict[str, str]:
    """Features that the table uses, each with where that is seen."""
    found = dict(_by_properties(state.configuration))
    for one in fields_of(schema_of(state)):
        where = f"column {one.get('name')}"
        words = [_TYPES[text] for text in _type_words(one.get("type")) if text in _TYPES]
        marks = [_MARKS[mark] for mark in one.get("metadata") or () if mark in _MARKS]
        found |= dict.fromkeys([*words, *marks], where)
    for add in state.files.values():
        if add.get("deletionVector"):
            found["deletionVectors"] = str(add.get("path"))
        if add.get("baseRowId") is not None:
            found["rowTracking"] = str(add.get("path"))
    if state.domains:
        found["domainMetadata"] = f"domain {next(iter(state.domains))}"
    if second_kind:
        found["v2Checkpoint"] = "a checkpoint named by a UUID"
    return found


def _by_properties(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in properties.items():
        if name in _SWITCHES and value.lower() == "true":
            yield _SWITCHES[name], f"property {name}"
        if name.startswith("delta.constraints."):
            yield "checkConstraints", f"property {name}"
    if properties.get("delta.columnMapping.mode", "none") != "none":
        yield "columnMapping", "property delta.columnMapping.mode"


def _type_words(type_: Any) -> Iterator[str]:
    """Names of primitive types in a type, fields of structs apart: these come by themselves."""
    if isinstance(type_, str):
        yield type_
    elif isinstance(type_, Mapping):
        for below in _BELOW:
            yield from _type_words(type_.get(below))


def _declared(feature: str, why: str, protocol: Mapping[str, Any]) -> Iterator[Fault]:
    reader, writer = _VERSIONS.get(feature, (0, 0))
    sides = (
        [("readerFeatures", "minReaderVersion", reader, _NAMED_READER)]
        if feature in _OF_READERS
        else []
    )
    for member, version, old, named in [
        *sides,
        ("writerFeatures", "minWriterVersion", writer, _NAMED_WRITER),
    ]:
        has = int(protocol.get(version) or 0)
        listed = {str(one).removesuffix("-preview") for one in protocol.get(member) or ()}
        if feature not in listed if has >= named else not old or has < old:
            yield Fault(
                "delta.protocol.undeclared",
                _FEATURES,
                "_delta_log, protocol",
                f"{feature} is used ({why}), and {member} of version {has} do not declare it",
            )

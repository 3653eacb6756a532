"""What a Delta table uses, against what its protocol declares; its schema, and that of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from seambench.formats.delta.lint.log import State, stated
from seambench.formats.lint import Finding, Wrong, read_json
from seambench.formats.lint.values import fits

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
    [
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "variantType",
    ]
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
        schema = read_json(str((state.metadata or {}).get("schemaString")))
    except ValueError:
        return {}
    fits = isinstance(schema, dict) and isinstance(schema.get("fields"), list)
    return schema if fits else {}


def fields_of(type_: Any) -> Iterator[Field]:
    """Fields of a type at every depth."""
    if not isinstance(type_, Mapping):
        return
    for one in type_.get("fields", ()):
        yield one
        yield from fields_of(one.get("type"))
    for below in _BELOW:
        yield from fields_of(type_.get(below))


def metadata_findings(state: State, *, second_kind: bool) -> Iterator[Finding]:
    """What is wrong with protocol, metadata and schema of a state."""
    if state.protocol is None or state.metadata is None:
        missing = "protocol" if state.protocol is None else "metaData"
        yield "state", "_delta_log", f"the table has no {missing}"
        return
    for rule, says in _protocol(state.protocol):
        yield rule, "_delta_log, protocol", says
    for rule, says in _schema(state, state.metadata):
        yield rule, "_delta_log, metaData", says
    for column, rule, says in _mapping(state):
        yield rule, f"_delta_log, metaData, column {column}", says
    for feature, why in sorted(_used(state, second_kind=second_kind).items()):
        for says in _undeclared(feature, state.protocol):
            says = f"{feature} is used ({why}), and {says} do not declare it"
            yield "protocol.undeclared", "_delta_log, protocol", says
    for path, rule, says in _row_ids(state):
        yield f"row-ids.{rule}", path, says


def _protocol(protocol: Mapping[str, Any]) -> Iterator[Wrong]:
    for member, named, least in (
        ("readerFeatures", "minReaderVersion", _NAMED_READER),
        ("writerFeatures", "minWriterVersion", _NAMED_WRITER),
    ):
        version = protocol.get(named)
        if (version == least) != (protocol.get(member) is not None):
            says = f"{member} must be there with version {least}, and only then; it is {version}"
            yield "protocol.features", says
    more = set(protocol.get("readerFeatures") or ()) - set(protocol.get("writerFeatures") or ())
    if more:
        yield "protocol.features", f"{', '.join(sorted(more))} must be a feature of writers, too"


def _schema(state: State, metadata: Mapping[str, Any]) -> Iterator[Wrong]:
    if (metadata.get("format") or {}).get("provider") != "parquet":
        yield "metadata.format", f"format is {metadata.get('format')}, it must be parquet"
    if not metadata.get("id"):
        yield "metadata.id", "it has no id"
    if not (schema := schema_of(state)):
        yield "schema", "schemaString is no struct"
        return
    names = [str(one.get("name")) for one in schema["fields"]]
    for name, count in Counter(name.lower() for name in names).items():
        if count > 1:
            yield "schema.names", f"{count} columns are called {name}, but for capitals"
    partitions = metadata.get("partitionColumns") or []
    for name in partitions:
        if name not in names or partitions.count(name) > 1:
            says = f"partition column {name} is none of the schema, or stands twice"
            yield "metadata.partitions", says


def _mapping(state: State) -> Iterator[Finding]:
    """Column, rule and sentence of ids and physical names, where columns are mapped."""
    if state.configuration.get("delta.columnMapping.mode", "none") == "none":
        return
    most = state.configuration.get("delta.columnMapping.maxColumnId", "")
    ids: Counter[int] = Counter()
    for one in fields_of(schema_of(state)):
        said, column = one.get("metadata") or {}, str(one.get("name"))
        id_, name = said.get("delta.columnMapping.id"), said.get("delta.columnMapping.physicalName")
        if not isinstance(id_, int) or not name:
            yield column, "mapping.field", "it has no id or no physical name"
            continue
        ids[id_] += 1
        if ids[id_] > 1:
            yield column, "mapping.ids", f"another column has its id {id_}"
        if not most.isdecimal() or id_ > int(most):
            says = f"its id {id_} is above maxColumnId, {most or 'which is missing'}"
            yield column, "mapping.max-id", says


def _row_ids(state: State) -> Iterator[Finding]:
    """Path, rule and sentence of ids of rows: no two rows have one, and none is above the mark."""
    reached, numbered = 0, []
    for path, add in ((str(one.get("path")), one) for one in state.files.values()):
        if (first := add.get("baseRowId")) is not None:
            numbered.append((first, int(stated(add.get("stats")).get("numRecords") or 1), path))
        elif state.has("delta.enableRowTracking"):
            yield path, "missing", "it has no baseRowId, and rows are tracked"
    for first, count, path in sorted(numbered):
        if first < reached:
            yield path, "overlap", f"baseRowId is {first}, ids below {reached} are another file's"
        reached = max(reached, first + count)
    tracking = state.domains.get("delta.rowTracking") or {}
    mark = stated(tracking.get("configuration")).get("rowIdHighWaterMark", -1)
    if numbered and reached - 1 > mark:
        says = f"rowIdHighWaterMark is {mark}, and there is a row {reached - 1}"
        yield "_delta_log, domainMetadata", "high-water", says


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


def _undeclared(feature: str, protocol: Mapping[str, Any]) -> Iterator[str]:
    """Where the protocol leaves a feature out."""
    reader, writer = _VERSIONS.get(feature, (0, 0))
    sides = [("writerFeatures", "minWriterVersion", writer, _NAMED_WRITER)]
    if feature in _OF_READERS:
        sides.insert(0, ("readerFeatures", "minReaderVersion", reader, _NAMED_READER))
    for member, version, old, named in sides:
        has = protocol.get(version) or 0
        listed = {str(one).removesuffix("-preview") for one in protocol.get(member) or ()}
        if feature not in listed if has >= named else not old or has < old:
            yield f"{member} of version {has}"


#: Types by name, and as what files may have them, which may be older than a wider type.
_HELD = {
    "string|binary": r"(large_)?(string|binary)",
    "byte|short|integer": r"u?int(8|16|32)",
    "long": r"u?int\d+",
    "float": r"float|halffloat",
    "double": r"float|double|u?int(8|16|32)",
    "boolean": "bool",
    "date": "date32.*",
    # Nanoseconds without a zone are those of INT96, too.
    "timestamp": r"timestamp\[([mu]s.*|ns)\]",
    "timestamp_ntz": r"timestamp\[([mu]s.*|ns)\]|date32.*",
    "decimal.*": r"decimal.*|u?int\d+",
    "variant": "struct.*|extension.*",
}


def physical(field: Mapping[str, Any], *, mapped: bool) -> str:
    """By which name files have a field."""
    own = (field.get("metadata") or {}).get("delta.columnMapping.physicalName")
    return str(own if mapped and own else field["name"])


def misfit(kind: Any, held: pa.DataType, *, mapped: bool) -> str:
    """Why a file's column cannot be read as a type of the schema; empty where it can."""
    if isinstance(kind, str):
        says = f"the file has it as {held}, the table as {kind}"
        return "" if fits(kind, held, _HELD) else says
    parts = {"array": ["elementType"], "map": ["keyType", "valueType"]}.get(kind["type"])
    if parts is None and pa.types.is_struct(held):
        inner = {one.name: one.type for one in held}
        pairs = [(one["type"], inner.get(physical(one, mapped=mapped))) for one in kind["fields"]]
    elif parts and pa.types.is_nested(held) and not pa.types.is_struct(held):
        known = [held.key_type, held.item_type] if pa.types.is_map(held) else [held.value_type]
        if len(known) != len(parts):
            return f"the file has it as {held}, the table as {kind['type']}"
        pairs = [(kind[part], type_) for part, type_ in zip(parts, known, strict=True)]
    else:
        return f"the file has it as {held}, the table as {kind['type']}"
    wrong = (misfit(part, type_, mapped=mapped) for part, type_ in pairs if type_ is not None)
    return next(filter(None, wrong), "")

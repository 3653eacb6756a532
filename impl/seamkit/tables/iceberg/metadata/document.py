"""The metadata file of an Iceberg table: schemas, partition specs, snapshots and references.

Which snapshot is meant: the current one and branches are read with the current schema; tags,
snapshots by id and by time with the schema of the snapshot.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.unpack import unpack
from seamkit.files.storage import Storage
from seamkit.tables.iceberg.metadata.schema import Field, Schema, field_path, read_schema
from seamkit.tables.table import Moment, micros, parsed_moment, too_early

_VERSIONS = (1, 2, 3)
_MOST_BYTES = 1 << 30
#: What compressed metadata may become: JSON is made smaller by a tenth to a thirtieth.
_SMALL_BYTES, _GROWTH = 128 << 20, 64
_GROWN = 4  # what JSON takes in memory, by its length
_GZIP = b"\x1f\x8b"
_FIRST_PARTITION_ID = 1000
_NUMBERED = re.compile(r"(?:^|/)v(\d{1,18})(?:\.gz)?\.metadata\.json(?:\.gz)?$")
_OF_SOURCE = re.compile(r"identity|truncate\[\d{1,9}\]")
_NUMBERS = re.compile(r"year|month|day|hour|bucket\[\d{1,9}\]")

PartitionKinds = Mapping[int, pa.DataType | None]
"""Types of the values of a spec's fields, by their ids; None where that is not known."""


@dataclass(frozen=True)
class PartitionField:
    """One field of a partition spec.

    Attributes:
        id: of the field in partition tuples.
        source_id: the column that it is made of; None where it is made of several.
        transform: how, as the metadata spells it.
    """

    id: int
    source_id: int | None
    name: str
    transform: str


@dataclass(frozen=True)
class PartitionSpec:
    """How files of a table are partitioned.

    Attributes:
        fields: in the order of partition tuples.
    """

    id: int
    fields: Sequence[PartitionField]

    @property
    def unpartitioned(self) -> bool:
        """Whether no field of it tells files apart."""
        return all(one.transform == "void" for one in self.fields)


@dataclass(frozen=True)
class Snapshot:
    """A state of the table.

    Attributes:
        id: a number that says nothing of the order.
        parent_id: the snapshot before it; None for a first one.
        manifest_list: path of the list of its manifests; None where `manifests` are all there is.
        manifests: their paths, as version 1 may have them in the place of a list.
        schema_id: the schema it was written with; None where that is not known.
        operation: `append`, `replace`, `overwrite` or `delete`.
        sequence_number: of what it committed; 0 in version 1, None where it is not told.
        totals: what its summary says that it has, by the summary's names, as far as these are
            numbers: writers leave totals out, and some count them wrongly.
        time_millis: when it was made, since 1970; None where it is not told.
    """

    id: int
    parent_id: int | None
    manifest_list: str | None
    manifests: Sequence[str]
    schema_id: int | None
    operation: str
    sequence_number: int | None
    totals: Mapping[str, int]
    time_millis: int | None = None


@dataclass(frozen=True)
class Reference:
    """A branch or a tag: `kind` is one of these words."""

    snapshot_id: int
    kind: str


@dataclass(frozen=True)
class TableMetadata:
    """A metadata file.

    Attributes:
        location: what the table's folder was called when it was written.
        current_schema_id: of the newest schema.
        current_snapshot_id: None for a table without rows yet.
        log: when which snapshot became the current one, oldest first: milliseconds, id.
        doubts: contradictions in it that some writers are known for, in words.
    """

    where: str
    version: int
    location: str
    current_schema_id: int
    current_snapshot_id: int | None
    schema_texts: Mapping[int, Any]
    specs: Mapping[int, PartitionSpec]
    snapshots: Mapping[int, Snapshot]
    references: Mapping[str, Reference]
    log: Sequence[tuple[int, int]]
    properties: Mapping[str, str]
    doubts: Sequence[str] = ()
    _schemas: dict[int, Schema] = field(default_factory=dict)
    _kinds: dict[int, PartitionKinds] = field(default_factory=dict)

    def schema(self, number: int | None = None) -> Schema:
        """A schema by its number; the current one by default."""
        number = self.current_schema_id if number is None else number
        if number not in self.schema_texts:
            raise InputError(f"{self.where}: there is no schema {number}")
        if number not in self._schemas:
            self._schemas[number] = read_schema(self.schema_texts[number], self.where)
        return self._schemas[number]

    def column(self, id_: int) -> Sequence[Field] | None:
        """A field behind the structs it lies in, of the newest schema that has it; None if none."""
        numbers = sorted(self.schema_texts, reverse=True)
        paths = (
            field_path(self.schema(number).fields, id_)
            for number in chain([self.current_schema_id], numbers)
        )
        return next((path for path in paths if path is not None), None)

    def partition_kinds(self, spec_id: int) -> PartitionKinds:
        """The types of the values of a spec's fields: what their transforms make of the columns."""
        if spec_id not in self._kinds:
            fields = self.specs[spec_id].fields
            self._kinds[spec_id] = {one.id: self._kind(one) for one in fields}
        return self._kinds[spec_id]

    def _kind(self, one: PartitionField) -> pa.DataType | None:
        if _NUMBERS.fullmatch(one.transform):
            return pa.int32()
        if one.source_id is None or not _OF_SOURCE.fullmatch(one.transform):
            return None
        source = self.column(one.source_id)
        return None if source is None else source[-1].type

    def identifiers(self) -> Sequence[str]:
        """Columns that are declared to tell rows apart; none where that is not, or is nested."""
        text = self.schema_texts[self.current_schema_id]
        told = text.get("identifier-field-ids") if isinstance(text, Mapping) else None
        names = {field.id: field.name for field in self.schema().fields}
        ids = told if isinstance(told, list) else []
        return [names[id_] for id_ in ids] if all(id_ in names for id_ in ids) else []

    @cached_property
    def current(self) -> Snapshot | None:
        """The current snapshot; None for a table without one."""
        if self.current_snapshot_id is None:
            return None
        if self.current_snapshot_id not in self.snapshots:
            raise InputError(
                f"{self.where}: the current snapshot {self.current_snapshot_id} is not there"
            )
        return self.snapshots[self.current_snapshot_id]


def load(storage: Storage, path: str) -> TableMetadata:
    """Read a metadata file, or what an earlier read made of it."""
    found, _ = storage.kept(
        [path], partial(_load, storage, path), itemgetter(1), "metadata of Iceberg"
    )
    return found


def _load(storage: Storage, path: str) -> tuple[TableMetadata, int]:
    """Read a metadata file; what it says, and what that takes in memory, about."""
    where = storage.full(path)
    content = _unzipped(storage.read(path, most_bytes=_MOST_BYTES), where)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise InputError(f"{where}: no metadata of a table")
    version = parsed.get("format-version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(f"{where}: the format version is {version!r}")
    if version not in _VERSIONS:
        raise RefusedError(
            f"{where}: format version {version} is not supported; {_VERSIONS[0]} to "
            f"{_VERSIONS[-1]} are"
        )
    try:
        return _metadata(parsed, version, where), _GROWN * len(content)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{where}: not readable as metadata of a table ({error!r})") from error


def _unzipped(content: bytes, where: str) -> bytes:
    if not content.startswith(_GZIP):
        return content
    most = min(_MOST_BYTES, max(_SMALL_BYTES, _GROWTH * len(content)))
    try:
        return unpack("gzip", content, most)
    except OverflowError as error:
        raise InputError(
            f"{where}: {len(content)} compressed bytes become more than {most}, which no metadata "
            "of a table does"
        ) from error
    except ValueError as error:
        raise InputError(f"{where}: not readable as gzip ({error})") from error


def _metadata(parsed: Mapping[str, Any], version: int, where: str) -> TableMetadata:
    schemas = {_whole(one["schema-id"]): one for one in parsed.get("schemas") or ()}
    current_schema = parsed.get("current-schema-id")
    if not schemas:  # as version 1 may have it
        schemas = {_whole(parsed["schema"].get("schema-id", 0)): parsed["schema"]}
        current_schema = next(iter(schemas))
    elif version == 1 and current_schema is None:
        fields = (parsed.get("schema") or {}).get("fields")
        current_schema = next((n for n, one in schemas.items() if one["fields"] == fields), None)
    if current_schema not in schemas:
        raise InputError(f"{where}: the current schema {current_schema!r} is not there")
    if version == 3 and parsed.get("encryption-keys"):
        raise RefusedError(f"{where}: encrypted tables (encryption-keys) are not supported")
    specs = {_whole(one["spec-id"]): one["fields"] for one in parsed.get("partition-specs") or ()}
    if not specs:
        specs = {0: parsed["partition-spec"]}
    snapshots = [_snapshot(one, where) for one in parsed.get("snapshots") or ()]
    current = parsed.get("current-snapshot-id")
    references: dict[str, Reference] = {
        name: Reference(_whole(one["snapshot-id"]), _text(one["type"]))
        for name, one in (parsed.get("refs") or {}).items()
    }
    current_id = None if current in (None, -1) else _whole(current)
    main = references.get("main")
    if main is not None and main.snapshot_id != current_id:  # as Iceberg's library refuses it
        raise InputError(
            f"{where}: the current snapshot is {current_id}, the branch main is at "
            f"{main.snapshot_id}"
        )
    _check_sequence(parsed, snapshots, where)
    return TableMetadata(
        where=where,
        version=version,
        location=_text(parsed["location"]),
        current_schema_id=_whole(current_schema),
        current_snapshot_id=current_id,
        schema_texts=schemas,
        specs={number: _spec(number, fields) for number, fields in specs.items()},
        snapshots={one.id: one for one in snapshots},
        references=references,
        log=[
            (_whole(one["timestamp-ms"]), _whole(one["snapshot-id"]))
            for one in parsed.get("snapshot-log") or ()
        ],
        properties={
            _text(name): _text(value) for name, value in (parsed.get("properties") or {}).items()
        },
        doubts=list(_doubts(parsed, schemas[current_schema], where)),
    )


def _check_sequence(parsed: Mapping[str, Any], snapshots: Sequence[Snapshot], where: str) -> None:
    """Refuse a snapshot that is newer than the newest."""
    last = _optional(parsed.get("last-sequence-number"))
    for one in snapshots:
        if last is not None and one.sequence_number is not None and one.sequence_number > last:
            raise InputError(
                f"{where}: snapshot {one.id} has the sequence number {one.sequence_number}, the "
                f"last one is {last}"
            )


def _doubts(parsed: Mapping[str, Any], current: Mapping[str, Any], where: str) -> Iterator[str]:
    """What a metadata file says otherwise in another place, where readers do not look."""
    plain = parsed.get("schema")  # of version 1, beside the list of all schemas
    if plain is not None and plain.get("fields") != current.get("fields"):
        yield "its `schema` is not the current one of its `schemas`"
    last = parsed.get("last-column-id")
    ids = [one["id"] for one in current["fields"]]
    if isinstance(last, int) and ids and max(ids) > last:
        yield f"a column has the id {max(ids)}, the last column id is {last}"
    own = _NUMBERED.search(where)
    log = parsed.get("metadata-log") or [{}]
    before = _NUMBERED.search(str(log[-1].get("metadata-file", "")))
    if own and before and int(before[1]) != int(own[1]) - 1:
        yield f"its log says that version {before[1]} was before it: it may be another version"


def _snapshot(one: Mapping[str, Any], where: str) -> Snapshot:
    id_ = _whole(one["snapshot-id"])
    listed, manifests = one.get("manifest-list"), one.get("manifests")
    if listed is None and not isinstance(manifests, list):
        raise InputError(f"{where}: snapshot {id_} has neither a manifest list nor manifests")
    if one.get("key-id") is not None:
        raise RefusedError(f"{where}: snapshot {id_} is encrypted, which is not supported")
    return Snapshot(
        id=id_,
        parent_id=_optional(one.get("parent-snapshot-id")),
        manifest_list=None if listed is None else _text(listed),
        manifests=[_text(path) for path in manifests or ()] if listed is None else (),
        schema_id=_optional(one.get("schema-id")),
        operation=str((one.get("summary") or {}).get("operation", "")),
        sequence_number=_optional(one.get("sequence-number")),
        totals={
            name: int(total)
            for name, total in (one.get("summary") or {}).items()
            if name.startswith("total-") and re.fullmatch(r"\d{1,18}", str(total))
        },
        time_millis=_optional(one.get("timestamp-ms")),
    )


def _spec(number: int, fields: Sequence[Mapping[str, Any]]) -> PartitionSpec:
    found = []
    for at, one in enumerate(fields):
        sources = one.get("source-ids") or [one["source-id"]]
        found.append(
            PartitionField(
                # Older files of version 1 number them from 1000, and do not say so.
                id=_whole(one.get("field-id", _FIRST_PARTITION_ID + at)),
                source_id=_whole(sources[0]) if len(sources) == 1 else None,
                name=_text(one["name"]),
                transform=_text(one["transform"]),
            )
        )
    return PartitionSpec(number, found)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _optional(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


REFERENCE = "ref:"
"""In front of the name of a branch or a tag that could be taken for a number or a time."""


@dataclass(frozen=True)
class View:
    """A snapshot, and the schema with which its rows are shown.

    Attributes:
        snapshot: None for a table without rows yet.
        name: what plans call it.
    """

    snapshot: Snapshot | None
    schema: Schema
    name: str


def chosen_view(metadata: TableMetadata, as_of: Moment | None) -> View:
    """The snapshot that a user means.

    It is a snapshot id (a number, or a text of digits), the name of a branch or a tag (if need be
    with `REFERENCE` in front), or a time: ISO 8601 in UTC unless it says otherwise. None is the
    current snapshot.
    """
    if as_of is None:
        current = metadata.current
        name = "no snapshot" if current is None else f"snapshot {current.id}"
        return View(current, metadata.schema(), name)
    if isinstance(as_of, str):
        if as_of.startswith(REFERENCE):
            return _by_name(metadata, as_of.removeprefix(REFERENCE))
        if as_of in metadata.references:
            return _by_name(metadata, as_of)
    known = ", ".join(sorted(metadata.references)) or "none"
    meant = f"a snapshot id, a time (2024-12-31T23:59:59.999Z), a branch or a tag (it has {known})"
    moment = parsed_moment(as_of, "as_of", meant)
    return _by_id(metadata, moment) if isinstance(moment, int) else _by_time(metadata, moment)


def _by_id(metadata: TableMetadata, number: int) -> View:
    if number not in metadata.snapshots:
        raise UsageError(f"{metadata.where}: there is no snapshot {number}")
    return _at(metadata, number, f"snapshot {number}")


def _by_name(metadata: TableMetadata, name: str) -> View:
    reference = metadata.references.get(name)
    if reference is None:
        known = ", ".join(sorted(metadata.references)) or "none"
        raise UsageError(f"{metadata.where}: there is no branch or tag {name!r}; it has {known}")
    if reference.kind not in ("branch", "tag"):
        raise InputError(f"{metadata.where}: {name!r} is a {reference.kind!r}, no branch or tag")
    found = _at(metadata, reference.snapshot_id, f"{reference.kind} {name}")
    return (
        View(found.snapshot, metadata.schema(), found.name) if reference.kind == "branch" else found
    )


def _by_time(metadata: TableMetadata, as_of: dt.datetime) -> View:
    millis = micros(as_of) // 1000
    found = [number for time, number in metadata.log if time <= millis]
    if not found:
        left = ((number, time) for time, number in metadata.log if number in metadata.snapshots)
        raise too_early(f"{metadata.where}: no snapshot that is left", as_of, next(left, None))
    return _at(metadata, found[-1], f"snapshot {found[-1]}, the current one at {as_of}")


def _at(metadata: TableMetadata, number: int, name: str) -> View:
    snapshot = metadata.snapshots.get(number)
    if snapshot is None:
        raise InputError(f"{metadata.where}: {name} is not among the snapshots")
    return View(snapshot, metadata.schema(snapshot.schema_id), name)

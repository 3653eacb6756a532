"""The metadata file of an Iceberg table: which is the newest, what it says, and of which files.

It has schemas, partition specs, snapshots and references. Without a catalog the table's folder
tells which file counts (Hadoop's rule): `version-hint.text` holds a number, and versions are walked
on from there, since the hint may be stale. Where writers name files by other rules, only their
catalog knows, unless the hint holds the name of a file, as pyiceberg and DuckDB take it. Tables
that a catalog names are found by `seamkit.catalogs.iceberg`.

Paths in metadata are absolute texts. Those that begin with the `location` that the metadata states
are files of the table's folder, wherever that lies now: a table that was moved or copied reads its
own files. All others are taken as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.catalogs.iceberg import ENDINGS, METADATA, SCHEME
from seamkit.core.unpack import unpack
from seamkit.files.storage import WHOLE, Storage, json_object
from seamkit.tables.iceberg.metadata.schema import Field, Schema, field_path, read_schema

_HINT = f"{METADATA}/version-hint.text"
#: ClickHouse names a compressed file by its codec, with `gzip` up to the summer of 2026.
_CODEC = r"(?:\.(?:gz|gzip|deflate|br|xz|zstd|lz4|bz2|snappy))?"
_VERSIONED = re.compile(rf"v(\d{{1,19}})(?:{_CODEC}\.metadata\.json|\.metadata\.json\.gz)")
_OF_CATALOG = re.compile(r"(\d{1,18})-[^/]*\.metadata\.json")
_VERSIONS = (1, 2, 3)
_MOST_BYTES = 1 << 30
#: What compressed metadata may become: JSON is made smaller by a tenth to a thirtieth.
_SMALL_BYTES, _GROWTH = 128 << 20, 64
_GROWN = 4  # what JSON takes in memory, by its length
_GZIP = b"\x1f\x8b"
_FIRST_PARTITION_ID = 1000
_NUMBERED = re.compile(rf"(?:^|/)v(\d{{1,18}}){_CODEC}\.metadata\.json(?:\.gz)?$")
_OF_SOURCE = re.compile(r"identity|truncate\[\d{1,9}\]")
_OF_TIME = ("year", "month", "day", "hour")
_NUMBERS = re.compile(r"year|month|day|hour|bucket\[\d{1,9}\]")

PartitionKinds = Mapping[int, pa.DataType | None]
"""Types of the values of a spec's fields, by their ids; None where that is not known."""


@dataclass(frozen=True)
class PartitionField:
    """One field of a partition spec."""

    id: int  # of the field in partition tuples
    source_id: int | None  # the column that it is made of; None where it is made of several
    name: str
    transform: str  # how, as the metadata spells it


@dataclass(frozen=True)
class PartitionSpec:
    """How files of a table are partitioned."""

    id: int
    fields: Sequence[PartitionField]  # in the order of partition tuples

    @property
    def unpartitioned(self) -> bool:
        """Whether no field of it tells files apart."""
        return all(one.transform == "void" for one in self.fields)

    def sources(self, fields: Sequence[Field]) -> Sequence[tuple[PartitionField, Field]]:
        """Fields of the spec with the columns that they are made of, where these are among some."""
        by_id: dict[int | None, Field] = {field.id: field for field in fields}
        return [(one, by_id[one.source_id]) for one in self.fields if one.source_id in by_id]


@dataclass(frozen=True)
class Snapshot:
    """A state of the table."""

    id: int  # a number that says nothing of the order
    parent_id: int | None  # the snapshot before it; None for a first one
    # path of the list of its manifests; None where `manifests` are all there is
    manifest_list: str | None
    manifests: Sequence[str]  # their paths, as version 1 may have them in the place of a list
    schema_id: int | None  # the schema it was written with; None where that is not known
    operation: str  # `append`, `replace`, `overwrite` or `delete`
    sequence_number: int | None  # of what it committed; 0 in version 1, None where it is not stated
    # what its summary says that it has, by the summary's names, as far as these are numbers:
    # writers leave totals out, and some count them wrongly
    totals: Mapping[str, int]
    time_millis: int | None = None  # when it was made, since 1970; None where it is not stated


@dataclass(frozen=True)
class Reference:
    """A branch or a tag: `kind` is one of these words."""

    snapshot_id: int
    kind: str


@dataclass(frozen=True)
class TableMetadata:
    """A metadata file."""

    where: str
    version: int
    location: str  # what the table's folder was called when it was written
    current_schema_id: int  # of the newest schema
    current_snapshot_id: int | None  # None for a table without rows yet
    schema_texts: Mapping[int, Any]
    specs: Mapping[int, PartitionSpec]
    snapshots: Mapping[int, Snapshot]
    references: Mapping[str, Reference]
    # when which snapshot became the current one, oldest first: milliseconds, id
    log: Sequence[tuple[int, int]]
    properties: Mapping[str, str]
    doubts: Sequence[str] = ()  # contradictions in it that some writers are known for, in words
    updated_ms: int = 0  # when it was written, by its writer's clock; 0 where it does not say
    _schemas: dict[int, Schema] = field(default_factory=dict)
    _kinds: dict[int, PartitionKinds] = field(default_factory=dict)
    _dropped: dict[int, AbstractSet[int]] = field(default_factory=dict)

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

    def dropped_fields(self, spec_id: int) -> AbstractSet[int]:
        """The ids of a spec's fields whose columns the current schema lacks.

        Their type is lost, `unknown` to Iceberg's library since 1.10: writers tell no values.
        """
        if spec_id not in self._dropped:
            columns = self.schema().fields
            self._dropped[spec_id] = {
                one.id
                for one in self.specs[spec_id].fields
                if one.source_id is not None and field_path(columns, one.source_id) is None
            }
        return self._dropped[spec_id]

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
        stated = text.get("identifier-field-ids") if isinstance(text, Mapping) else None
        names = {field.id: field.name for field in self.schema().fields}
        ids = stated if isinstance(stated, list) else []
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


def split_address(address: str) -> tuple[str, str | None]:
    """A table's folder, and the metadata file that is meant, below it; None for the newest.

    The address is a folder, or a metadata file in its folder `metadata`.
    """
    if not address.endswith(ENDINGS):
        return address, None
    if "/" not in address.removeprefix(f"{METADATA}/"):  # from within one of these folders
        address = str(Path(address).absolute())
    folder, _, name = address.rpartition("/")
    root, _, last = folder.rpartition("/")
    if last != METADATA:
        raise UsageError(
            f"{address}: a metadata file is read where it lies in the table's folder {METADATA!r}"
        )
    return root or "/", f"{METADATA}/{name}"


def _newest_metadata(storage: Storage) -> tuple[str, str]:
    """The newest metadata file of a folder, and one that a catalog may know as newer, or ""."""
    # Of files by both rules Iceberg's library takes Hadoop's, and ClickHouse the higher number.
    names = {entry.name for entry in storage.list(METADATA) if entry.size_bytes is not None}
    versions: dict[int, str] = {}
    for name in sorted(names):
        if match := _VERSIONED.fullmatch(name):
            number = int(match[1])
            if number in versions:
                raise InputError(
                    f"{storage.full(METADATA)}: version {number} is there twice, as "
                    f"{versions[number]} and as {name}"
                )
            versions[number] = name
    hint = ""
    if "version-hint.text" in names:
        hint = storage.read(_HINT, most_bytes=1 << 10).decode("utf-8", "replace").strip()
    named = next((hint + end for end in ("", *ENDINGS) if hint + end in names), None)
    if named is not None and not _VERSIONED.fullmatch(named) and named.endswith(ENDINGS):
        return f"{METADATA}/{named}", ""
    likely = _highest_number(names)
    if not versions:
        if any(name.endswith(ENDINGS) for name in names):
            such = f", such as {storage.full(f'{METADATA}/{likely}')}" if likely else ""
            raise UsageError(
                f"{storage.full(METADATA)}: metadata files are named as a catalog names them, and "
                f"only the catalog knows the newest: name the table by it, {SCHEME}CATALOG/"
                f"NAMESPACE.TABLE, or give the path of the file that is meant{such}"
            )
        raise InputError(f"{storage.full(METADATA)}: there is no metadata file")
    is_number = re.fullmatch(r"\d{1,19}", hint)
    number = int(hint) if is_number else max(versions)
    if number not in versions:
        raise InputError(f"{storage.full(_HINT)}: it names version {number}, which is missing")
    while number + 1 in versions:
        number += 1
    return f"{METADATA}/{versions[number]}", f"{METADATA}/{likely}" if likely else ""


def _highest_number(names: Collection[str]) -> str:
    """Of files that catalogs have numbered the last; empty where none is."""
    # It need not be the newest: who loses a race leaves a file with the same number, or a higher
    # one.
    numbered = {name: int(match[1]) for name in names if (match := _OF_CATALOG.match(name))}
    return max(numbered, key=lambda name: (numbered[name], name), default="")


def load_newest(storage: Storage) -> TableMetadata:
    """The newest metadata of a folder, with a doubt where a later file has a catalog's name."""
    path, other = _newest_metadata(storage)
    found = load(storage, path)
    try:
        is_older = bool(other) and found.updated_ms < load(storage, other).updated_ms
    except (InputError, RefusedError):  # it may never have been whole
        is_older = False
    if not is_older:
        return found
    doubt = f"beside it lies {other.removeprefix(f'{METADATA}/')}, which a catalog named, later"
    return replace(found, doubts=[*found.doubts, doubt])


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
    parsed = json_object(content, where)
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
    by_clock = any(one.get("parent-snapshot-id") == -1 for one in parsed.get("snapshots") or ())
    current = parsed.get("current-snapshot-id")
    references: dict[str, Reference] = {
        name: Reference(_whole(one["snapshot-id"]), _text(one["type"]))
        for name, one in (parsed.get("refs") or {}).items()
    }
    current_id = None if current in (None, -1) else _whole(current)
    if current_id is not None:  # as Iceberg's readers have it of metadata without references
        references.setdefault("main", Reference(current_id, "branch"))
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
        updated_ms=_whole(parsed.get("last-updated-ms") or 0),
        location=_text(parsed["location"]),
        current_schema_id=_whole(current_schema),
        current_snapshot_id=current_id,
        schema_texts=schemas,
        specs={number: _spec(number, own, by_clock=by_clock) for number, own in specs.items()},
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
    # ClickHouse puts a file itself behind those before it.
    if own and before and int(own[1]) - int(before[1]) not in (0, 1):
        yield f"its log says that version {before[1]} was before it: it may be another version"


def _snapshot(one: Mapping[str, Any], where: str) -> Snapshot:
    id_ = _whole(one["snapshot-id"])
    listed, manifests = one.get("manifest-list"), one.get("manifests")
    parent = one.get("parent-snapshot-id")
    if listed is None and not isinstance(manifests, list):
        raise InputError(f"{where}: snapshot {id_} has neither a manifest list nor manifests")
    if one.get("key-id") is not None:
        raise RefusedError(f"{where}: snapshot {id_} is encrypted, which is not supported")
    return Snapshot(
        id=id_,
        # Of a first one ClickHouse says -1.
        parent_id=None if parent == -1 else _optional(parent),
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


def _spec(number: int, fields: Sequence[Mapping[str, Any]], *, by_clock: bool) -> PartitionSpec:
    """A partition spec."""
    # `by_clock`: ClickHouse made the table, which up to the summer of 2026 told years, months, days
    # and hours by the clock of its server, and those before 1970 as the first one. Nobody knows
    # which, so that they say nothing of the column.
    found = []
    for at, one in enumerate(fields):
        transform = _text(one["transform"])
        if by_clock and transform in _OF_TIME:
            transform += " by a clock"
        sources = one.get("source-ids") or [one["source-id"]]
        found.append(
            PartitionField(
                # Older files of version 1 number them from 1000, and do not say so.
                id=_whole(one.get("field-id", _FIRST_PARTITION_ID + at)),
                source_id=_whole(sources[0]) if len(sources) == 1 else None,
                name=_text(one["name"]),
                transform=transform,
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


@dataclass
class TableFiles:
    """Finds the files that metadata names."""

    storage: Storage
    location: str  # what the metadata says that this folder is called

    def locate(self, path: str) -> tuple[Storage, str]:
        """The storage that holds a file, and its path there, as metadata spells it."""
        whole = _unschemed(path)
        plain = whole.removeprefix(self._prefix)
        if "\0" in path or ".." in plain.split("/"):
            raise InputError(f"{self.storage.root}: the path {path!r} leads out of its folder")
        if plain != whole and not plain.startswith("/"):
            return self.storage, plain
        if not WHOLE.match(path):
            raise InputError(f"{self.storage.root}: the path {path!r} is not absolute")
        return self.storage.beside(path if plain == whole else self.shown(path))

    def shown(self, path: str) -> str:
        """A path as plans show it: below the table where it lies there.

        Iceberg up to 0.13 and Glue have a slash too many behind a location that ends in one, which
        to a store is another name.
        """
        whole = _unschemed(path)
        plain = whole.removeprefix(self._prefix)
        is_doubled = plain != whole and plain.startswith("/")
        return self.storage.full(plain) if is_doubled else plain

    def place(self, path: str) -> str:
        """Where a file lies, for people and other libraries."""
        return self.storage.place(self.shown(path))

    @cached_property
    def _prefix(self) -> str:
        return _unschemed(self.location).rstrip("/") + "/"


def _unschemed(path: str) -> str:
    """A path without `file:` and `./`, which Hadoop writes here and leaves out there."""
    if path.startswith("file:///"):
        return path.removeprefix("file://")
    return path.removeprefix("file:" if path.startswith("file:/") else "./")

"""Actions of a Delta log: what one line of a commit, or one row of a checkpoint, says.

Unknown actions and unknown fields are skipped, as the protocol asks (PROTOCOL.md, "Actions"), but
for an action that is a letter away from a known one; a known field of a wrong type is an error.

Paths are percent-encoded URIs, relative to the table or absolute.

What a table asks of its readers is refused by name where it is more than this reader knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from seambase.errors import InputError, RefusedError
from seambase.values import value_class
from seambase.wording import counted
from seamkit.files.reader import check_names
from seamkit.files.storage import WHOLE, Storage, json_object

_LOCAL = re.compile(r"file:(//)?(?=/(?!/))", re.IGNORECASE)
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LAST = (1 << 63) - 1  # of Delta's long numbers


def canonical(path: str) -> str:
    """What is the same for all spellings of a path: `/x`, `file:/x` and `file:///x` are one file.

    The percent-encoding is taken off, once.
    """
    return _decoded(_LOCAL.sub("", path) if ":" in path else path)


def _decoded(path: str) -> str:
    """A path without its percent-encoding."""
    if "%" not in path:
        return path
    if _BROKEN_ESCAPE.search(path):
        raise InputError(f"the path {path!r} has a broken percent-escape")
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        raise InputError(f"the path {path!r} is no UTF-8 under its percent-encoding") from error


@dataclass(frozen=True)
class TableFiles:
    """Opens the files that a log names."""

    storage: Storage

    def locate(self, path: str) -> tuple[Storage, str]:
        """The storage that holds a file, and its path there, as the log spells it."""
        plain = _decoded(path)
        if WHOLE.match(path):
            return self.storage.beside(plain)
        if ".." in plain.split("/") or not plain or "\0" in plain:
            raise InputError(f"{self.storage.root}: the path {path!r} leads out of the table")
        return self.storage, plain

    def place(self, path: str) -> str:
        """Where a file lies, for people and other libraries; see `locate`."""
        if ":" in path or "%" in path or path[:1] in ("/", ""):
            return self.storage.place(_decoded(path))
        return f"{self.storage.root}/{path}"


FileKey = str | tuple[str, str]
"""A logical file: its canonical path, and the identity of its deletion vector if it has one."""


def file_key(path: str, vector: VectorDescriptor | None) -> FileKey:
    """What tells a logical file from others."""
    return canonical(path) if vector is None else (canonical(path), vector.identity)


def path_of(key: FileKey) -> str:
    """The canonical path of a logical file."""
    return key if isinstance(key, str) else key[0]


#: Names of those that the protocol knows.
ACTIONS = frozenset(
    (
        *("add", "cdc", "checkpointMetadata", "commitInfo", "domainMetadata"),
        *("metaData", "protocol", "remove", "sidecar", "txn"),
    )
)


@dataclass(frozen=True, slots=True)
class VectorDescriptor:
    """Where a deletion vector is."""

    storage_type: str  # `u` (a file below the table), `p` (an absolute path) or `i` (inline)
    location: str  # path, encoded UUID or inline bytes, by `storage_type`
    offset: int | None  # byte in the file at which its size stands; None inline
    size_bytes: int  # of the vector, without size and checksum
    cardinality: int  # rows that it deletes

    @property
    def identity(self) -> str:
        """The part of a logical file's key that tells its vectors apart."""
        start = "" if self.offset is None else f"@{self.offset}"
        is_path = self.storage_type == "p"
        location = canonical(self.location) if is_path else self.location
        return f"{self.storage_type}{location}{start}"


@value_class
class AddFile:
    """A data file that is part of the table."""

    path: str  # as the log spells it: a percent-encoded URI
    partition_values: Mapping[str, str | None]  # text or null by physical column name
    size_bytes: int
    stats: str | None  # JSON text, or None
    vector: VectorDescriptor | None  # its deletion vector, or None
    base_row_id: int | None  # the id of its first row, with row tracking; None without
    # the version that its rows are of, with row tracking; None without
    row_commit_version: int | None

    @property
    def key(self) -> FileKey:
        """What tells this logical file from others."""
        return file_key(self.path, self.vector)


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a reader must know; readers' features are None below version 3."""

    min_reader_version: int
    reader_features: tuple[str, ...] | None
    writer_features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metadata:
    """Schema, partitioning and properties of a table."""

    schema_string: str
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    provider: str


def parse_line(line: bytes, where: str) -> tuple[str, Mapping[str, Any]]:
    """Name and content of the action in one line of a commit.

    An action that is not known, which may stand beside a known one, says nothing to a reader.
    """
    actions = json_object(line, where)
    if not actions:
        raise InputError(f"{where}: the line has no action")
    check_names(actions, ACTIONS, where, "action")
    known = [name for name in actions if name in ACTIONS and actions[name] is not None]
    if not known:
        return next(iter(actions)), {}
    if len(known) > 1:
        raise InputError(
            f"{where}: the line has {counted(len(known), 'action')}: {', '.join(known)}"
        )
    [name] = known
    content = actions[name]
    if not isinstance(content, dict):
        raise InputError(f"{where}: the action {name!r} is no object")
    return name, content


def add_file(content: Mapping[str, Any], where: str) -> AddFile:
    """The action `add`."""
    stats = content.get("stats")
    if stats is not None and not isinstance(stats, str):
        raise InputError(f"{where}: the stats of an add are no text")
    return AddFile(
        _text(content, "path", where),
        _texts(content, "partitionValues", where, nulls=True),
        _number(content, "size", where),
        stats,
        _vector(content, where),
        _number_or_none(content, "baseRowId", where),
        _number_or_none(content, "defaultRowCommitVersion", where),
    )


def changed_file(content: Mapping[str, Any], where: str) -> AddFile:
    """The file of a `remove` or a `cdc`, which a reader of changes opens."""
    for name in ("size", "partitionValues"):
        if content.get(name) is None:
            raise RefusedError(
                f"{where}: the action does not tell {name} of its file, without which the rows "
                "that it changed cannot be read"
            )
    return add_file(content, where)


def changes_data(content: Mapping[str, Any], where: str) -> bool:
    """Whether an `add` or `remove` changes rows, and does not merely write them anew."""
    flag = content.get("dataChange")
    if not isinstance(flag, bool):
        raise InputError(f"{where}: the field dataChange is {flag!r}, neither true nor false")
    return flag


def stated_millis(info: Mapping[str, Any], where: str) -> int | None:
    """The time that a `commitInfo` states, in milliseconds since 1970; None if it states none."""
    millis = info.get("inCommitTimestamp")
    if not isinstance(millis, int):
        return None
    if abs(millis) > _LAST // 1000:
        raise InputError(f"{where}: the field inCommitTimestamp is {millis}, which is no time")
    return millis


def removed_key(content: Mapping[str, Any], where: str) -> FileKey:
    """The logical file that the action `remove` takes out."""
    vector = _vector(content, where)
    return file_key(_text(content, "path", where), vector)


def protocol(content: Mapping[str, Any], where: str) -> Protocol:
    """The action `protocol`."""
    features = content.get("readerFeatures")
    return Protocol(
        _number(content, "minReaderVersion", where),
        None if features is None else _names(features, "readerFeatures", where),
        _names(content.get("writerFeatures") or [], "writerFeatures", where),
    )


def metadata(content: Mapping[str, Any], where: str) -> Metadata:
    """The action `metaData`."""
    file_format = content.get("format") or {}
    if not isinstance(file_format, dict):
        raise InputError(f"{where}: the field format is no object")
    provider = file_format.get("provider", "parquet")
    return Metadata(
        _text(content, "schemaString", where),
        _names(content.get("partitionColumns") or [], "partitionColumns", where),
        {k: v or "" for k, v in _texts(content, "configuration", where, nulls=True).items()},
        str(provider),
    )


def _vector(content: Mapping[str, Any], where: str) -> VectorDescriptor | None:
    vector = content.get("deletionVector")
    if vector is None:
        return None
    if not isinstance(vector, dict):
        raise InputError(f"{where}: the deletionVector is no object")
    return VectorDescriptor(
        _text(vector, "storageType", where),
        _text(vector, "pathOrInlineDv", where),
        _number_or_none(vector, "offset", where),
        _number(vector, "sizeInBytes", where),
        _number(vector, "cardinality", where),
    )


def _text(content: Mapping[str, Any], name: str, where: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise InputError(f"{where}: the field {name} is {value!r}, no text")
    return value


def _number(content: Mapping[str, Any], name: str, where: str) -> int:
    value = content.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LAST:
        raise InputError(f"{where}: the field {name} is {value!r}, no whole number from 0 on")
    return value


def _number_or_none(content: Mapping[str, Any], name: str, where: str) -> int | None:
    return None if content.get(name) is None else _number(content, name, where)


def _names(values: object, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise InputError(f"{where}: the field {name} is no list of texts")
    return tuple(values)


def _texts(
    content: Mapping[str, Any], name: str, where: str, *, nulls: bool
) -> Mapping[str, str | None]:
    """An object of texts; a checkpoint has it as a list of pairs."""
    values = content.get(name)
    if isinstance(values, list) and all(isinstance(pair, tuple) for pair in values):
        values = dict(values)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise InputError(f"{where}: the field {name} is no object")
    for key, value in values.items():
        if not (isinstance(value, str) or (nulls and value is None)):
            raise InputError(f"{where}: {name}.{key} is {value!r}, no text")
    return values


VECTORS = "deletionVectors"
MAPPING = "columnMapping"
WIDENING = ("typeWidening", "typeWidening-preview")
_KNOWN = frozenset(
    [
        VECTORS,
        MAPPING,
        "timestampNtz",
        "timestampWithoutTimezone",  # by which early tables call it
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
        *WIDENING,
    ]
)
_BY_CATALOG = ("catalogManaged", "catalogOwned-preview")
_MAPPING_VERSION = 2
_FEATURES_VERSION = 3


def check_protocol(protocol: Protocol, root: str, *, ratified: bool = False) -> None:
    """Check that a table can be read.

    `ratified`: the caller knows from the table's catalog which version is the newest.
    """
    version = protocol.min_reader_version
    if not 1 <= version <= _FEATURES_VERSION:
        raise RefusedError(
            f"{root}: the table asks for reader version {version}; 1 to {_FEATURES_VERSION} are "
            "supported"
        )
    if version < _FEATURES_VERSION:
        return
    if protocol.reader_features is None:
        raise InputError(f"{root}: reader version 3 without a list of readerFeatures")
    for name in protocol.reader_features:
        if name in _BY_CATALOG and not ratified:
            raise RefusedError(
                f"{root}: the table is managed by a catalog ({name!r}), which alone knows its "
                "newest version: ask it, and open DeltaTable(path, staged_commits=[...], "
                "version=...)"
            )
        if name not in _KNOWN and name not in _BY_CATALOG:
            raise RefusedError(
                f"{root}: the table asks for the reader feature {name!r}, which is not supported"
            )


def has_feature(protocol: Protocol, *names: str) -> bool:
    """Whether one of some features is in the list of a table."""
    return not set(names).isdisjoint(protocol.reader_features or ())


def maps_columns(protocol: Protocol) -> bool:
    """Whether the protocol lets the property `delta.columnMapping.mode` count.

    Spark once upgraded tables to version 3 without telling readers of the mapping that writers knew
    of (Delta 3.1 wrote such ones): the list of either counts, as in Spark and delta-kernel-rs.
    """
    return (
        protocol.min_reader_version == _MAPPING_VERSION
        or has_feature(protocol, MAPPING)
        or MAPPING in protocol.writer_features
    )

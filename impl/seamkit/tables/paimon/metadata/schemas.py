"""Schemas of a table: columns by id with the Arrow types of their values, keys and options.

A data file is read by the one that it was written by, which its manifest names.

Options change what its rows are, and name features that are not supported. All of it is JSON, read
whole, its fields taken by name and type.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import VARIANT, Key, Place
from seamkit.files.reader import check_names
from seamkit.files.storage import Storage, json_object

_T = TypeVar("_T")
_D = TypeVar("_D")
_REQUIRED = object()


@overload
def field(content: Mapping[str, Any], name: str, kind: type[_T], where: str) -> _T: ...


@overload
def field(
    content: Mapping[str, Any], name: str, kind: type[_T], where: str, default: _D
) -> _T | _D: ...


def field(
    content: Mapping[str, Any], name: str, kind: type[_T], where: str, default: Any = _REQUIRED
) -> Any:
    """A field of a JSON object.

    `default` stands for one that is missing or null; without it that is an error.
    """
    value = content.get(name)
    if value is None and default is not _REQUIRED:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{where}: its field {name!r} is {value!r:.60}, no {kind.__name__}")
    return value


REMOVES_RECORD = "remove-record-on-delete"
REMOVES_GROUP = "partial-update.remove-record-on-sequence-group"
FALLBACK = "scan.fallback-branch"
"""Names the branch whose partitions are read where a table has none of theirs."""
_ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
#: Names of one option: the first that is set counts, whatever the engine.
_IGNORES = (
    "ignore-delete",
    *(f"{engine}.ignore-delete" for engine in ("first-row", "deduplicate", "partial-update")),
)
#: Options of features that change what is read, with the values that are read; the first is usual.
_SUPPORTED: Mapping[str, Sequence[str]] = {
    "type": ("table", "materialized-table"),
    "query-auth.enabled": ("false",),
    "pk-clustering-override": ("false",),
    "chain-table.enabled": ("false",),
    "sequence.snapshot-ordering": ("false",),
    "postpone.merge-on-read": ("false",),
    "batch-scan-mode": ("none",),
}
#: What is read of options beside these, here and by the rules of merging.
_READ = (
    "merge-engine",
    "sequence.field",
    "sequence.field.sort-order",
    *_IGNORES,
    "deletion-vectors.enabled",
    "deletion-vectors.merge-on-read",
    "data-evolution.enabled",
    "changelog-producer",
    "force-lookup",
    FALLBACK,
    "index-file-in-data-file-dir",
    "num-levels",
    "num-sorted-run.compaction-trigger",
    "fields.default-aggregate-function",
    *(f"{engine}.{REMOVES_RECORD}" for engine in _ENGINES),
    REMOVES_GROUP,
)
#: Options of a field, as `fields.NAME.WORD`, that are read.
OF_FIELDS = (
    "aggregate-function",
    "ignore-retract",
    "sequence-group",
    "distinct",
    "list-agg-delimiter",
    "nested-key",
    "count-limit",
    "ts-field",
)
#: Options by which a table shows other rows than those of its newest snapshot.
_NAMED_SCANS = (
    *("scan.fallback-snapshot-branch", "scan.fallback-delta-branch"),
    *("scan.primary-branch", "scan.snapshot-id", "scan.tag-name", "scan.version"),
    *("scan.timestamp", "scan.timestamp-millis", "log.scan.timestamp-millis", "scan.watermark"),
    *("scan.creation-time-millis", "scan.file-creation-time-millis"),
    *("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"),
)
#: Where a batch read begins at the newest snapshot; other modes are of streams, or go further back.
_SCAN_MODES = ("default", "full", "latest", "latest-full")


@dataclass(frozen=True)
class ReadOptions:
    """What a table's options say of its rows."""

    engine: str  # the merge engine of a table with a primary key
    # columns that order rows of one key, before their sequence numbers
    sequence_fields: tuple[str, ...]
    descending: bool  # whether rows with smaller values of them are later
    ignores_deletes: bool  # whether retracts are passed over that files have: never by aggregations
    removes_records: bool  # whether a retract removes a record that is otherwise put together
    # whether deletion vectors are written, and rows are hidden until those of older ones are
    awaits_vectors: bool
    highest_level: int  # the level that full compactions write
    vectors_beside_data: bool  # whether files of vectors lie in the folders of data files
    evolves: bool  # whether columns of a row may lie in several files, and rows have ids for it
    # whether compactions look rows of level 0 up in the levels that they leave alone
    looks_up: bool

    @property
    def skips_level_0(self) -> bool:
        """Whether rows are seen once a compaction has taken them up, and not before."""
        return self.awaits_vectors or self.engine == "first-row"


def read_options(schema: TableSchema) -> ReadOptions:
    """The options of a schema."""
    options, where = schema.options, schema.where
    _check_supported(options, where)
    engine = options.get("merge-engine", "deduplicate").lower().replace("_", "-")
    if engine not in _ENGINES:
        raise RefusedError(f"{where}: the merge engine {engine!r} is not supported")
    fields = tuple(n.strip() for n in options.get("sequence.field", "").split(",") if n.strip())
    for name in fields:
        if name not in schema.arrow.names:
            raise InputError(f"{where}: there is no column {name!r}, which is a sequence field")
    order = options.get("sequence.field.sort-order", "ascending").lower()
    if order not in ("ascending", "descending"):
        raise InputError(f"{where}: the option sequence.field.sort-order is {order!r}")
    removes = _flag(options, f"{engine}.{REMOVES_RECORD}", where)
    ignores = next((name for name in _IGNORES if name in options), _IGNORES[0])
    return ReadOptions(
        engine=engine,
        sequence_fields=fields,
        descending=order == "descending",
        ignores_deletes=engine != "aggregation" and _flag(options, ignores, where),
        removes_records=removes,
        awaits_vectors=_flag(options, "deletion-vectors.enabled", where)
        and not _flag(options, "deletion-vectors.merge-on-read", where),
        highest_level=_highest_level(options, where),
        vectors_beside_data=_flag(options, "index-file-in-data-file-dir", where),
        evolves=_flag(options, "data-evolution.enabled", where),
        looks_up=options.get("changelog-producer", "none").lower() == "lookup"
        or _flag(options, "deletion-vectors.enabled", where)
        or _flag(options, "force-lookup", where),
    )


def _check_supported(options: Mapping[str, str], where: str) -> None:
    """Refuse options by which a table is read otherwise than here."""
    _check_names(options, where)
    for name, supported in _SUPPORTED.items():
        if options.get(name, supported[0]).lower() not in supported:
            raise RefusedError(f"{where}: the option {name}={options[name]} is not supported")
    for name in _NAMED_SCANS:
        if name in options:
            raise RefusedError(f"{where}: the option {name} is not supported")
    for name in ("scan.mode", "log.scan"):
        if (way := options.get(name, "default").lower()) not in _SCAN_MODES:
            raise RefusedError(f"{where}: the option {name}={way} is not supported")


def _highest_level(options: Mapping[str, str], where: str) -> int:
    """One below the number of levels, which is one above that of runs that are left alone."""
    name, less = "num-levels", 1
    if name not in options:
        name, less = "num-sorted-run.compaction-trigger", 0
    text = options.get(name, "5")
    if not text.isdigit():
        raise InputError(f"{where}: the option {name} is {text!r}, no number")
    return int(text) - less


def _flag(options: Mapping[str, str], name: str, where: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise InputError(f"{where}: the option {name} is {text!r}, neither true nor false")
    return text == "true"


def _check_names(options: Mapping[str, str], where: str) -> None:
    """Refuse names that are one letter away from one that is read: a schema has no checksum."""
    known = {*_READ, *_SUPPORTED}
    for name in options:
        near = known | {
            f"fields.{name[7 : -len(word) - 1]}.{word}"
            for word in OF_FIELDS
            if len(name) > len(word) + 8
        }
        check_names([name], near, where, "option")


SEQUENCE = "_SEQUENCE_NUMBER"
KIND = "_VALUE_KIND"
SYSTEM = pa.schema([pa.field(SEQUENCE, pa.int64()), pa.field(KIND, pa.int8())])
ROW_KIND = "rowkind"
"""The column with the kinds of rows in words, as Paimon's table `audit_log` has it."""


_FLAT: Mapping[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BYTES": pa.binary(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "DATE": pa.date32(),
}
_SPELLING = re.compile(r"([A-Z_ ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?((?: [A-Z]+)*)")
_DECIMAL_DIGITS = (1, 38)
_TIMESTAMP_DIGITS = 6
_LOCAL = " WITH LOCAL TIME ZONE"
_PLAIN_TIME = " WITHOUT TIME ZONE"
_DEPTH = 60
_VARIANT, _PARTS = "VARIANT", tuple(enumerate(VARIANT))


@dataclass(frozen=True)
class Field:
    """A column, or a field of a row in one."""

    id: int  # for life; names and types may change
    name: str  # as the schema calls it
    # the type as the schema spells it, without nullability; `ROW` and such for nested
    spelling: str
    type: pa.DataType
    nullable: bool  # whether it may be null
    # fields of a row; the element of an array or multiset; key and value of a map; the parts of a
    # variant. Only those of a row have ids and names of their own in the schema
    children: Sequence[Field] = ()

    @property
    def is_variant(self) -> bool:
        """Whether it is one, and no row of the same two fields."""
        return self.spelling == _VARIANT

    @property
    def keys(self) -> Sequence[Key]:
        """By which schemas know it; see `seamkit.files.columns`."""
        return (self.id,)

    @property
    def digits(self) -> int:
        """Of a time or timestamp: digits behind its seconds, as its type says or means."""
        match = _SPELLING.fullmatch(self.spelling)
        default = 0 if self.spelling.startswith("TIME") and "STAMP" not in self.spelling else 6
        return int(match[2]) if match and match[2] else default


def places_of(fields: Sequence[Field]) -> list[Place]:
    """Where files that were written by a schema have its fields."""
    return [Place(own.name, own.keys, places_of(own.children)) for own in fields]


def parse_fields(declared: Any, where: str, depth: int = 0) -> list[Field]:
    """The fields of a schema, or of a row."""
    try:
        fields = [_field(own["id"], own["name"], own["type"], where, depth) for own in declared]
    except (KeyError, TypeError) as error:
        raise InputError(f"{where}: its fields are not readable ({error!r})") from error
    for what, keys in (("name", [f.name for f in fields]), ("id", [str(f.id) for f in fields])):
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{where}: two fields have the {what} {twice!r}")
    return fields


def _field(id_: Any, name: Any, declared: Any, where: str, depth: int) -> Field:
    if not isinstance(id_, int) or not isinstance(name, str):
        raise InputError(f"{where}: a field has the id {id_!r} and the name {name!r}")
    where = f"{where}, field {name!r}"
    if depth > _DEPTH:
        raise RefusedError(f"{where}: types are nested deeper than {_DEPTH}")
    if isinstance(declared, str):
        spelling, nullable = _without_not_null(declared)
        if spelling == _VARIANT:
            parts = [Field(-1 - at, one.name, "BYTES", one.type, True) for at, one in _PARTS]
            return Field(id_, name, spelling, VARIANT, nullable, parts)
        return Field(id_, name, spelling, _flat(spelling, where), nullable)
    word, nullable = _without_not_null(declared["type"])
    if word == "ROW":
        children = parse_fields(declared["fields"], where, depth + 1)
        kind: pa.DataType = pa.struct([pa.field(c.name, c.type) for c in children])
    elif word == "ARRAY":
        children = [_field(-1, "element", declared["element"], where, depth + 1)]
        kind = pa.list_(children[0].type)
    elif word in ("MAP", "MULTISET"):
        key = declared["key" if word == "MAP" else "element"]
        value = declared["value"] if word == "MAP" else "INT"
        children = [
            _field(-1, part, of, where, depth + 1) for part, of in (("key", key), ("value", value))
        ]
        kind = pa.map_(children[0].type, children[1].type)
    else:
        raise RefusedError(f"{where}: the type {word!r} is not supported")
    return Field(id_, name, word, kind, nullable, children)


def _without_not_null(text: Any) -> tuple[str, bool]:
    if not isinstance(text, str):
        raise TypeError(f"a type is {text!r}")
    bare = text.strip().removesuffix("NOT NULL").strip()
    return bare, bare == text.strip()


def _flat(spelling: str, where: str) -> pa.DataType:
    match = _SPELLING.fullmatch(spelling)
    word, first, second, rest = match.groups() if match else ("", None, None, "")
    if word in _FLAT and not rest:
        return _FLAT[word]
    if word in ("DECIMAL", "NUMERIC", "DEC") and not rest:
        digits, scale = int(first or 10), int(second or 0)
        if _DECIMAL_DIGITS[0] <= digits <= _DECIMAL_DIGITS[1] and scale <= digits:
            return pa.decimal128(digits, scale)
    if word.startswith("TIMESTAMP") or word == "TIME":
        whole = word.partition(" ")[2]
        rest = (f" {whole}" if whole else "") + rest
        word = word.partition(" ")[0]
        if word == "TIME" and rest in ("", _PLAIN_TIME):
            return pa.time32("ms")
        digits = 6 if first is None else int(first)
        if word == "TIMESTAMP_LTZ" and not rest:
            rest = _LOCAL
        if word.startswith("TIMESTAMP") and digits <= 9 and rest in ("", _LOCAL, _PLAIN_TIME):
            unit = "ms" if digits <= 3 else "us" if digits <= _TIMESTAMP_DIGITS else "ns"
            return pa.timestamp(unit, "UTC" if rest == _LOCAL else None)
    raise RefusedError(f"{where}: the type {spelling!r} is not supported")


_NEWEST_VERSION = 3
_NAME = re.compile(r"schema-(\d{1,19})")


@dataclass(frozen=True)
class TableSchema:
    """One schema of a table."""

    id: int
    fields: Sequence[Field]
    partition_keys: Sequence[str]  # names of the columns that partition the table
    # names of the key's columns, those of partitions among them; none in append tables
    primary_keys: Sequence[str]
    options: Mapping[str, str]
    where: str

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow has them."""
        return pa.schema([pa.field(own.name, own.type) for own in self.fields])

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The columns by name."""
        return {own.name: own for own in self.fields}

    @property
    def merge_keys(self) -> Sequence[str]:
        """The key's columns by which rows of a bucket are merged: a partition has one value."""
        return [name for name in self.primary_keys if name not in self.partition_keys]


class Schemas:
    """The schemas of a table, each read once. Threads may share one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[int, TableSchema] = {}
        self._lock = threading.Lock()

    def __getstate__(self) -> tuple[Storage, dict[int, TableSchema]]:
        return self._storage, self._known

    def __setstate__(self, state: tuple[Storage, dict[int, TableSchema]]) -> None:
        self._storage, self._known = state
        self._lock = threading.Lock()

    def newest(self) -> TableSchema:
        """The schema with the highest number."""
        numbers = [
            int(match[1])
            for status in self._storage.list("schema")
            if (match := _NAME.fullmatch(status.name))
        ]
        if not numbers:
            raise InputError(f"{self._storage.root} is no Paimon table: it has no schema")
        return self.load(max(numbers))

    def load(self, number: int) -> TableSchema:
        """A schema by its number."""
        with self._lock:
            if number not in self._known:
                self._known[number] = _read(self._storage, number)
            return self._known[number]


def _read(storage: Storage, number: int) -> TableSchema:
    path = f"schema/schema-{number}"
    where = storage.full(path)
    content = json_object(storage.read(path), where)
    version = field(content, "version", int, where, 1)
    if not 1 <= version <= _NEWEST_VERSION:
        raise RefusedError(f"{where}: version {version} of schemas is not supported")
    if field(content, "id", int, where) != number:
        raise InputError(f"{where}: its id is {content['id']}")
    fields = parse_fields(field(content, "fields", list, where), where)
    _check_ids(fields, number, field(content, "highestFieldId", int, where, None), where)
    names = [own.name for own in fields]
    keys = {}
    for word in ("partitionKeys", "primaryKeys"):
        keys[word] = field(content, word, list, where)
        for name in keys[word]:
            if name not in names:
                raise InputError(f"{where}: it has no column {name!r}, which is among {word}")
    options = field(content, "options", dict, where)
    if not all(isinstance(text, str) for pair in options.items() for text in pair):
        raise InputError(f"{where}: an option is no text")
    return TableSchema(number, fields, keys["partitionKeys"], keys["primaryKeys"], options, where)


def _check_ids(fields: Sequence[Field], number: int, highest: int | None, where: str) -> None:
    """Hold the ids of fields against the highest one, which stays when fields are dropped."""
    # Ids of a table's first schema end with it: nothing was dropped yet. Fields of rows are not
    # held against it, since not all writers count them.
    for own in fields:
        if own.id < 0 or (highest is not None and own.id > highest):
            bounds = "0 or more" if highest is None else f"from 0 to highestFieldId, {highest}"
            raise InputError(
                f"{where}: the field {own.name!r} has the id {own.id}; ids are {bounds}"
            )
    if number == 0 and highest is not None and highest > max(_ids(fields), default=highest):
        raise InputError(
            f"{where}: highestFieldId is {highest}, which no field of the table's first schema has"
        )


def _ids(fields: Sequence[Field]) -> Iterator[int]:
    for own in fields:
        yield own.id
        yield from _ids(own.children)

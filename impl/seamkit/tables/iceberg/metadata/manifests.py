"""Manifest lists and manifests: which files a snapshot has, with what is known of each.

Both are Avro files whose fields are found by their ids, as writers differ in names. Entries leave
out what they inherit from the row of the list: sequence numbers and first row ids. What the list
says of a manifest (its length, how many entries it has) must be so: an Avro file that ends at a
block would pass for a shorter one, and deleted rows would come back.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.records import AvroContainer
from seamkit.tables.iceberg.metadata.document import PartitionKinds, Snapshot, TableMetadata
from seamkit.tables.iceberg.metadata.location import TableFiles
from seamkit.tables.iceberg.metadata.schema import partition_value

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
"""What a file holds, as entries say it."""

_DELETES = 1
_SUMMARIES = 507
_EXISTING, _ADDED, _DELETED = 0, 1, 2
_FORMATS = ("PARQUET", "ORC", "AVRO", "PUFFIN")
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class PartitionSummary:
    """What the values of one partition field are in all files of a manifest.

    Attributes:
        has_null: whether a file has null.
        lower, upper: the least and the greatest of the others; None if there are none.
    """

    has_null: bool
    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True)
class Manifest:
    """A row of a manifest list; `summaries` are one for each field of its spec, or none.

    Of a manifest that no list names its length and its snapshot are not known. `rows` are those of
    its live files, `least_sequence_number` the least of theirs; None where that is not told.
    """

    path: str
    length: int | None
    spec_id: int
    is_deletes: bool
    sequence_number: int
    snapshot_id: int | None
    counts: Mapping[int, int]
    first_row_id: int | None
    summaries: Sequence[PartitionSummary] = ()
    least_sequence_number: int | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Entry:
    """A file of a snapshot.

    Attributes:
        content: `DATA`, `POSITION_DELETES` (or a deletion vector) or `EQUALITY_DELETES`.
        path: as the manifest spells it.
        format: `PARQUET`, `ORC`, `AVRO` or `PUFFIN`.
        spec_id: of its partition.
        partition: values by the id of the partition field; see `partition_value`.
        records: rows in it; of a vector, positions.
        sequence_number: of its data, by which deletes are matched.
        added_by: the snapshot that added it; None where that is not known.
        is_new: whether the manifest's own snapshot added it.
        value_counts, null_counts, lower, upper: statistics by field id.
        equality_ids: the fields that decide, of equality deletes.
        referenced: the one data file that a delete file is about; None where it may be about more.
        offset, length: where in the file a vector lies.
        first_row_id: of its first row (version 3).
        where: manifest and file, for messages.
    """

    content: int
    path: str
    format: str
    spec_id: int
    partition: Mapping[int, Any]
    records: int
    size_bytes: int
    sequence_number: int
    added_by: int | None
    is_new: bool
    where: str
    value_counts: Mapping[int, int] = field(default_factory=dict)
    null_counts: Mapping[int, int] = field(default_factory=dict)
    lower: Mapping[int, bytes] = field(default_factory=dict)
    upper: Mapping[int, bytes] = field(default_factory=dict)
    equality_ids: Sequence[int] = ()
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None
    first_row_id: int | None = None

    @cached_property
    def partition_key(self) -> tuple[Any, ...]:
        """What files of one partition have in common: spec and values; null equals null."""
        return (self.spec_id, *((id_, _key(self.partition[id_])) for id_ in sorted(self.partition)))


def read_list(files: TableFiles, snapshot: Snapshot, metadata: TableMetadata) -> list[Manifest]:
    """The manifests of a snapshot."""
    if snapshot.manifest_list is None:
        return [_unlisted(files, path, metadata) for path in snapshot.manifests]
    rows, where, header = _avro(files, snapshot.manifest_list)
    owner = header.get("snapshot-id")  # the specification asks no writer for it
    if owner is not None and owner != str(snapshot.id).encode():
        raise InputError(
            f"{where}: it is the list of snapshot {owner.decode(errors='replace'):.20}, and "
            f"snapshot {snapshot.id} names it"
        )
    found = [_manifest(row, where, metadata) for row in rows]
    if snapshot.totals.get("total-data-files") and not found:
        # A list that is cut behind its header is a whole Avro file.
        raise InputError(f"{where}: it has no manifests, and snapshot {snapshot.id} has files")
    paths = Counter(one.path for one in found)
    for one in found:
        if paths[one.path] > 1:
            raise InputError(f"{where}: it has the manifest {one.path} twice")
        newest = snapshot.sequence_number
        if newest is not None and one.sequence_number > newest:
            raise InputError(
                f"{where}: {one.path} has the sequence number {one.sequence_number}, snapshot "
                f"{snapshot.id} has {newest}"
            )
    return found


def _unlisted(files: TableFiles, path: str, metadata: TableMetadata) -> Manifest:
    """A manifest that a snapshot of version 1 names itself: its own header tells its spec."""
    _, where, header = _avro(files, path)
    spec = header.get("partition-spec-id", b"0")
    if not spec.isdigit() or int(spec) not in metadata.specs:
        raise InputError(f"{where}: it has the partition spec {spec!r}, which is not there")
    return Manifest(path, None, int(spec), False, 0, None, {}, None)


def _manifest(row: Mapping[int, Any], where: str, metadata: TableMetadata) -> Manifest:
    path = _typed(row, 500, str, where)
    if row.get(519):
        raise RefusedError(f"{where}: {path} is encrypted, which is not supported")
    content = _optional(row, 517, int, where) or 0
    if content not in (0, _DELETES):
        raise RefusedError(f"{where}: {path} has the unknown content {content!r}")
    spec_id = _typed(row, 502, int, where)
    if spec_id not in metadata.specs:
        raise InputError(f"{where}: {path} has the partition spec {spec_id}, which is not there")
    counts = {
        status: count
        for status, id_ in ((_ADDED, 504), (_EXISTING, 505), (_DELETED, 506))
        if (count := _optional(row, id_, int, where)) is not None
    }
    rows = [_optional(row, id_, int, where) for id_ in (512, 513)]
    return Manifest(
        path=path,
        length=_typed(row, 501, int, where),
        spec_id=spec_id,
        is_deletes=content == _DELETES,
        sequence_number=_optional(row, 515, int, where) or 0,
        snapshot_id=_optional(row, 503, int, where),
        counts=counts,
        least_sequence_number=_optional(row, 516, int, where),
        rows=None if None in rows else sum(rows),
        first_row_id=_optional(row, 520, int, where),
        summaries=_summaries(row, f"{where}: {path}", len(metadata.specs[spec_id].fields)),
    )


def _summaries(row: Mapping[int, Any], where: str, fields: int) -> Sequence[PartitionSummary]:
    listed = _optional(row, _SUMMARIES, list, where) or []
    if len(listed) not in (0, fields):
        raise InputError(f"{where} has summaries of {len(listed)} partition fields, not {fields}")
    return [
        PartitionSummary(
            has_null=one.get(509) is not False,
            lower=_optional(one, 510, bytes, where),
            upper=_optional(one, 511, bytes, where),
        )
        for one in listed
    ]


def read_entries(files: TableFiles, manifest: Manifest, metadata: TableMetadata) -> Sequence[Entry]:
    """The files of a manifest that are live, with what they inherit."""
    storage, plain = files.locate(manifest.path)
    kinds = metadata.partition_kinds(manifest.spec_id)
    # What entries inherit, and its length.
    stated = replace(manifest, counts={}, summaries=(), rows=None, least_sequence_number=None)
    return storage.kept(
        [plain],
        lambda: list(_entries(files, manifest, metadata)),
        lambda entries: sum(map(_bytes_of, entries)),
        "entries of a manifest of Iceberg",
        (tuple(kinds.items()), tuple(sorted(manifest.counts.items())), repr(stated)),
    )


def _bytes_of(entry: Entry) -> int:
    """What an entry takes in memory, about."""
    maps = (entry.value_counts, entry.null_counts, entry.lower, entry.upper)
    return 1500 + 120 * sum(map(len, maps))


def _entries(files: TableFiles, manifest: Manifest, metadata: TableMetadata) -> Iterator[Entry]:
    rows, where, _ = _avro(files, manifest.path, manifest.length)
    kinds = metadata.partition_kinds(manifest.spec_id)
    statuses: Counter[int] = Counter()
    row_id = manifest.first_row_id
    for row in rows:
        status = row.get(0)
        if status not in (_EXISTING, _ADDED, _DELETED):
            raise InputError(f"{where}: an entry has the status {status!r}")
        statuses[status] += 1
        if status == _DELETED:
            continue
        entry = _entry(row, status, manifest, kinds, where)
        if entry.content == DATA and entry.first_row_id is None and row_id is not None:
            entry = replace(entry, first_row_id=row_id)
            row_id += entry.records
        _check_content(entry, manifest)
        yield entry
    for status, count in manifest.counts.items():
        if statuses[status] != count:
            raise InputError(
                f"{where}: {statuses[status]} entries of status {status}, its list says {count}"
            )


def _entry(
    row: Mapping[int, Any], status: int, manifest: Manifest, kinds: PartitionKinds, where: str
) -> Entry:
    file = row.get(2)
    if not isinstance(file, dict):
        raise InputError(f"{where}: an entry has no file")
    path = _typed(file, 100, str, where)
    where = f"{where}: {path}"
    if file.get(131):
        raise RefusedError(f"{where} is encrypted, which is not supported")
    sequence = _optional(row, 3, int, where)
    if sequence is None:
        if status != _ADDED and manifest.sequence_number:
            raise InputError(f"{where} has no sequence number, and was not added by its manifest")
        sequence = manifest.sequence_number
    if sequence > manifest.sequence_number:
        raise InputError(
            f"{where} has the sequence number {sequence}, its manifest has "
            f"{manifest.sequence_number}"
        )
    partition = _optional(file, 102, dict, where) or {}
    if partition.keys() != kinds.keys():
        raise InputError(
            f"{where} has the partition fields {sorted(partition)}, its spec {manifest.spec_id} "
            f"has {sorted(kinds)}"
        )
    return Entry(
        content=_optional(file, 134, int, where) or 0,
        path=path,
        format=_typed(file, 101, str, where).upper(),
        spec_id=manifest.spec_id,
        partition={
            id_: partition_value(partition[id_], kind, f"{where}, field {id_}")
            for id_, kind in kinds.items()
        },
        records=_typed(file, 103, int, where),
        size_bytes=_typed(file, 104, int, where),
        sequence_number=sequence,
        added_by=manifest.snapshot_id if row.get(1) is None else _typed(row, 1, int, where),
        is_new=status == _ADDED,
        where=where,
        value_counts=_pairs(file, 109, int, where),
        null_counts=_pairs(file, 110, int, where),
        lower=_pairs(file, 125, bytes, where),
        upper=_pairs(file, 128, bytes, where),
        equality_ids=tuple(_optional(file, 135, list, where) or ()),
        referenced=_optional(file, 143, str, where),
        offset=_optional(file, 144, int, where),
        length=_optional(file, 145, int, where),
        first_row_id=_optional(file, 142, int, where),
    )


def _check_content(entry: Entry, manifest: Manifest) -> None:
    """Refuse what no reader of this version can apply, and what contradicts its manifest."""
    if entry.content not in (DATA, POSITION_DELETES, EQUALITY_DELETES):
        raise RefusedError(f"{entry.where} has the unknown content {entry.content!r}")
    if entry.format not in _FORMATS or (entry.format == "PUFFIN") != is_vector(entry):
        raise RefusedError(f"{entry.where} has the format {entry.format!r}, which is not supported")
    if (entry.content != DATA) != manifest.is_deletes:
        raise InputError(
            f"{entry.where} is in a manifest of {'data' if entry.content else 'deletes'}"
        )
    if entry.content == EQUALITY_DELETES and not entry.equality_ids:
        raise InputError(f"{entry.where} has equality deletes without the ids of their fields")
    if not all(isinstance(id_, int) for id_ in entry.equality_ids):
        raise InputError(f"{entry.where} has the equality ids {entry.equality_ids!r}")
    if entry.records < 0 or entry.size_bytes < 0:
        raise InputError(
            f"{entry.where} has {counted(entry.records, 'row')} in {entry.size_bytes} bytes"
        )


def is_vector(entry: Entry) -> bool:
    """Whether an entry is a deletion vector."""
    return entry.content == POSITION_DELETES and entry.format == "PUFFIN"


def _typed(row: Mapping[int, Any], id_: int, kind: type, where: str) -> Any:
    value = row.get(id_)
    if type(value) is kind:
        return value
    if isinstance(value, bool) or not isinstance(value, kind):
        raise InputError(f"{where}: field {id_} is {value!r}")
    return value


def _optional(row: Mapping[int, Any], id_: int, kind: type, where: str) -> Any:
    value = row.get(id_)
    return value if value is None or type(value) is kind else _typed(row, id_, kind, where)


def _pairs(row: Mapping[int, Any], id_: int, kind: type, where: str) -> dict[int, Any]:
    """A map whose keys are numbers; Avro has it as a list of pairs."""
    listed = _optional(row, id_, list, where)
    if not listed:
        return {}
    try:
        found = {pair["key"]: pair["value"] for pair in listed}
    except (KeyError, TypeError) as error:
        raise InputError(f"{where}: field {id_} is no list of pairs") from error
    # By their very types first: a table has many of these maps.
    if {*map(type, found.values())} != {kind} and not all(
        isinstance(value, kind) for value in found.values()
    ):
        raise InputError(f"{where}: field {id_} has values of another type")
    if len(found) < len(listed):
        raise InputError(f"{where}: field {id_} has a key twice")
    return found


def _key(value: Any) -> Any:
    """A value of a partition as it is compared: numbers by every bit, not a number with itself."""
    return value.hex() if isinstance(value, float) else value


def _avro(
    files: TableFiles, path: str, length: int | None = None
) -> tuple[Iterator[dict[int, Any]], str, Mapping[str, bytes]]:
    """The records of an Avro file by field id, the file's name for messages, and its header."""
    storage, plain = files.locate(path)
    where = storage.full(plain)
    content = storage.read(plain, most_bytes=_MOST_BYTES)
    if length is not None and length != len(content):
        raise InputError(f"{where}: {len(content)} bytes, its list says {length}")
    try:
        container = AvroContainer(content, where, storage.bound)
        names = _names_of(container.schema)
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise InputError(f"{where}: its schema is not readable ({error!r})") from error
    return _by_id(container, names, where), where, container.properties


def _by_id(container: AvroContainer, names: _Names, where: str) -> Iterator[dict[int, Any]]:
    try:
        for record in container.records():
            yield names.of(record)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{where}: a record is not readable ({error!r})") from error


@functools.lru_cache(maxsize=64)  # files of one writer share a schema
def _names_of(schema: bytes) -> _Names:
    return _Names(json.loads(schema))


class _Names:
    """Names of a record's fields by their ids, and of the records within it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._fields: list[tuple[int, str, Callable[[Any], Any] | None]] = []
        for one in schema["fields"]:
            id_ = one.get("field-id")
            if not isinstance(id_, int):
                continue
            record = _record_of(one["type"])
            inner: Callable[[Any], Any] | None = None
            if id_ == _SUMMARIES:
                inner = partial(_each, _Names(_record_of_list(one["type"])).of)
            elif record is not None:
                inner = _Names(record).of
            self._fields.append((id_, one["name"], inner))

    def of(self, record: Mapping[str, Any]) -> dict[int, Any]:
        """A record by ids."""
        found = {}
        for id_, name, inner in self._fields:
            value = record[name]
            found[id_] = value if inner is None or value is None else inner(value)
        return found


def _each(of: Callable[[Any], Any], listed: Sequence[Any]) -> list[Any]:
    return [of(one) for one in listed]


def _record_of(kind: Any) -> Mapping[str, Any] | None:
    """The record that a type is, or may be besides null."""
    for one in kind if isinstance(kind, list) else [kind]:
        if isinstance(one, dict) and one.get("type") == "record":
            return one
    return None


def _record_of_list(kind: Any) -> Mapping[str, Any]:
    """The record of which a type is a list, or may be besides null."""
    [items] = (
        [one["items"] for one in kind if isinstance(one, dict)]
        if isinstance(kind, list)
        else [kind["items"]]
    )
    found: Mapping[str, Any] = items
    return found

"""Manifest lists and manifests: which files a snapshot has, with what is known of each.

Both are Avro files whose fields are found by their ids, as writers differ in names. Entries leave
out what they inherit from the row of the list: sequence numbers and first row ids. What the list
says of a manifest (its length, how many entries it has) must be so: an Avro file that ends at a
block would pass for a shorter one, and deleted rows would come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.values import value_class
from seambase.wording import counted
from seamkit.avro.data_file import AvroContainer, Pairs, Records, Wanted
from seamkit.tables.iceberg.metadata.document import Snapshot, TableFiles, TableMetadata
from seamkit.tables.iceberg.metadata.schema import partition_value

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
"""What a file holds, as entries say it."""

_DELETES = 1
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
    its live files, `least_sequence_number` the least of theirs; None where that is not stated.
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
class Partition:
    """The partition of files: values by the id of the partition field; see `partition_value`."""

    spec_id: int
    values: Mapping[int, Any]

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What files of one partition have in common: spec and values; null equals null."""
        return (self.spec_id, *((id_, _key(self.values[id_])) for id_ in sorted(self.values)))


class Stated:
    """What a manifest says of a file's columns, by field id."""

    __slots__ = ("_made_of", "lower", "null_counts", "upper", "value_counts")
    _made_of: tuple[Mapping[str, Pairs | None], int]

    def __init__(
        self,
        value_counts: Mapping[int, int],
        null_counts: Mapping[int, int],
        lower: Mapping[int, bytes],
        upper: Mapping[int, bytes],
    ) -> None:
        self.value_counts, self.null_counts = value_counts, null_counts
        self.lower, self.upper = lower, upper

    @classmethod
    def of(cls, made_of: tuple[Mapping[str, Pairs | None], int]) -> Stated:
        """That of a record of a manifest, made when it is first asked for: few files are."""
        made = cls.__new__(cls)
        made._made_of = made_of
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "_made_of":
            raise AttributeError(name)
        pairs, row = self._made_of
        for each, own in pairs.items():
            setattr(self, each, {} if own is None else own.of(row))
        return getattr(self, name)

    def __reduce__(self) -> Any:
        return Stated, (self.value_counts, self.null_counts, self.lower, self.upper)


@value_class
class Entry:
    """A file of a snapshot.

    Attributes:
        content: `DATA`, `POSITION_DELETES` (or a deletion vector) or `EQUALITY_DELETES`.
        path: as the manifest spells it.
        format: `PARQUET`, `ORC`, `AVRO` or `PUFFIN`.
        records: rows in it; of a vector, positions.
        sequence_number: of its data, by which deletes are matched.
        added_by: the snapshot that added it; None where that is not known.
        is_new: whether the manifest's own snapshot added it.
        manifest: for messages.
        equality_ids: the fields that decide, of equality deletes.
        referenced: the one data file that a delete file is about; None where it may be about more.
        offset, length: where in the file a vector lies.
        first_row_id: of its first row (version 3).
    """

    content: int
    path: str
    format: str
    partition: Partition
    records: int
    size_bytes: int
    sequence_number: int
    added_by: int | None
    is_new: bool
    manifest: str
    stated: Stated = field(default_factory=lambda: Stated({}, {}, {}, {}))
    equality_ids: Sequence[int] = ()
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None
    first_row_id: int | None = None

    @property
    def where(self) -> str:
        """Manifest and file, for messages."""
        return f"{self.manifest}: {self.path}"


def read_list(files: TableFiles, snapshot: Snapshot, metadata: TableMetadata) -> list[Manifest]:
    """The manifests of a snapshot."""
    if snapshot.manifest_list is None:
        return [_unlisted(files, path, metadata) for path in snapshot.manifests]
    storage, plain = files.locate(snapshot.manifest_list)
    where = storage.full(plain)
    listed: str = snapshot.manifest_list
    owner, found = storage.kept(
        [plain],
        lambda: _listed(files, listed, metadata),
        lambda made: _BYTES_AN_ENTRY * len(made[1]),
        "manifests that a list of Iceberg names",
        tuple((spec.id, len(spec.fields)) for spec in metadata.specs.values()),
    )
    if owner is not None and owner != str(snapshot.id).encode():
        raise InputError(
            f"{where}: it is the list of snapshot {owner.decode(errors='replace'):.20}, and "
            f"snapshot {snapshot.id} names it"
        )
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


def _listed(
    files: TableFiles, path: str, metadata: TableMetadata
) -> tuple[bytes | None, list[Manifest]]:
    """The snapshot that a list says it is of, for which the format asks no writer, and the list."""
    rows, header = _read(files, path)
    return header.get("snapshot-id"), _manifests(rows, metadata)


def _unlisted(files: TableFiles, path: str, metadata: TableMetadata) -> Manifest:
    """A manifest that a snapshot of version 1 names itself: its own header tells its spec."""
    rows, header = _read(files, path)
    spec = header.get("partition-spec-id", b"0")
    if not spec.isdigit() or int(spec) not in metadata.specs:
        raise InputError(f"{rows.where}: it has the partition spec {spec!r}, which is not there")
    return Manifest(path, None, int(spec), False, 0, None, {}, None)


def _manifests(rows: Records, metadata: TableMetadata) -> list[Manifest]:
    found = []
    for path, key, content, spec_id, summaries, least, row_counts, *own in zip(
        rows.values("500", str, needed=True),
        rows.values("519", bytes),
        rows.values("517", int),
        rows.values("502", int, needed=True),
        _summaries(rows),
        rows.values("516", int),
        zip(rows.values("512", int), rows.values("513", int), strict=True),
        rows.values("501", int, needed=True),
        rows.values("515", int),
        rows.values("503", int),
        rows.values("520", int),
        zip(*(rows.values(id_, int) for id_ in ("505", "504", "506")), strict=True),
        strict=True,
    ):
        where = f"{rows.where}: {path}"
        if key:
            raise RefusedError(f"{where} is encrypted, which is not supported")
        if content not in (None, 0, _DELETES):
            raise RefusedError(f"{where} has the unknown content {content!r}")
        if spec_id not in metadata.specs:
            raise InputError(f"{where} has the partition spec {spec_id}, which is not there")
        fields = len(metadata.specs[spec_id].fields)
        if len(summaries) not in (0, fields):
            raise InputError(
                f"{where} has summaries of "
                f"{counted(len(summaries), 'partition field')}, not {fields}"
            )
        length, sequence_number, snapshot_id, first_row_id, counts = own
        found.append(
            Manifest(
                path=path,
                length=length,
                spec_id=spec_id,
                is_deletes=content == _DELETES,
                sequence_number=sequence_number or 0,
                snapshot_id=snapshot_id,
                counts={n: count for n, count in enumerate(counts) if count is not None},
                least_sequence_number=least,
                rows=None if None in row_counts else sum(row_counts),
                first_row_id=first_row_id,
                summaries=summaries,
            )
        )
    return found


def _summaries(rows: Records) -> Iterator[Sequence[PartitionSummary]]:
    """What a list says of the partitions of each manifest."""
    listed = rows.column("507", list)
    if listed is None:
        return repeat((), len(rows))
    inner = Records(listed.values, rows.where)
    nulls = [null is not False for null in inner.values("509", bool)]
    made = [*map(PartitionSummary, nulls, inner.values("510", bytes), inner.values("511", bytes))]
    return (made[begin:end] for begin, end in pairwise(listed.offsets.to_pylist()))


def read_entries(files: TableFiles, manifest: Manifest, metadata: TableMetadata) -> Sequence[Entry]:
    """The files of a manifest that are live, with what they inherit."""
    storage, plain = files.locate(manifest.path)
    kinds = metadata.partition_kinds(manifest.spec_id)
    # What entries inherit, and its length.
    stated = replace(manifest, counts={}, summaries=(), rows=None, least_sequence_number=None)
    entries, _ = storage.kept(
        [plain],
        lambda: _entries(files, manifest, metadata),
        lambda made: made[1],
        "entries of a manifest of Iceberg",
        (tuple(kinds.items()), tuple(sorted(manifest.counts.items())), repr(stated)),
    )
    return entries


_BYTES_AN_ENTRY, _BYTES_A_PAIR = 1000, 120  # in memory, about
#: What is stated of columns, by the names in `Stated`.
_STATED = (
    ("value_counts", "109", int),
    ("null_counts", "110", int),
    ("lower", "125", bytes),
    ("upper", "128", bytes),
)


def _entries(
    files: TableFiles, manifest: Manifest, metadata: TableMetadata
) -> tuple[list[Entry], int]:
    """The live files of a manifest, and what they take in memory."""
    rows, _ = _read(files, manifest.path, manifest.length)
    where = rows.where
    statuses = rows.values("0", int, needed=True)
    counts = Counter(statuses)
    for status in counts.keys() - {_EXISTING, _ADDED, _DELETED}:
        raise InputError(f"{where}: an entry has the status {status!r}")
    if counts[_DELETED]:
        live = [status != _DELETED for status in statuses]
        rows = Records(rows.rows.filter(pa.array(live)), where)
        statuses = [status for status in statuses if status != _DELETED]
    file = rows.within("2")
    paths = file.values("100", str, needed=True)
    for key, path in zip(file.values("131", bytes), paths, strict=True):
        if key:
            raise RefusedError(f"{where}: {path} is encrypted, which is not supported")
    contents = _or(file.values("134", int), 0)
    records = file.values("103", int, needed=True)
    pairs = {name: file.pairs(id_, kind) for name, id_, kind in _STATED}
    entries = [
        *map(
            Entry,
            contents,
            paths,
            [form.upper() for form in file.values("101", str, needed=True)],
            _partitions(file, paths, manifest.spec_id, metadata),
            records,
            file.values("104", int, needed=True),
            _sequence_numbers(rows, statuses, paths, manifest),
            _or(rows.values("1", int), manifest.snapshot_id),
            [status == _ADDED for status in statuses],
            repeat(where),
            map(Stated.of, zip(repeat(pairs), range(len(paths)), strict=False)),
            _equality_ids(file),
            file.values("143", str),
            file.values("144", int),
            file.values("145", int),
            _first_row_ids(file, contents, records, manifest.first_row_id),
        )
    ]
    firsts = {(one.content, one.format, not one.equality_ids): one for one in reversed(entries)}
    for entry in firsts.values():
        _check_content(entry, manifest)
    for entry in entries:
        if entry.records < 0 or entry.size_bytes < 0:
            raise InputError(
                f"{entry.where} has {counted(entry.records, 'row')} in "
                f"{counted(entry.size_bytes, 'byte')}"
            )
    for status, count in manifest.counts.items():
        if counts[status] != count:
            raise InputError(
                f"{where}: {counted(counts[status], 'entry')} of "
                f"status {status}, its list says {count}"
            )
    taken = _BYTES_A_PAIR * sum(len(own.values) for own in pairs.values() if own is not None)
    return entries, taken + _BYTES_AN_ENTRY * len(entries)


def _or(values: Sequence[Any], other: Any) -> list[Any]:
    return [other if value is None else value for value in values]


def _sequence_numbers(
    rows: Records, statuses: Sequence[int], paths: Sequence[str], manifest: Manifest
) -> Sequence[int]:
    """Those of files, which those that a manifest added may inherit from it."""
    own = manifest.sequence_number
    numbers = rows.values("3", int)
    if own and None in numbers:
        for number, status, path in zip(numbers, statuses, paths, strict=True):
            if number is None and status != _ADDED:
                raise InputError(
                    f"{rows.where}: {path} has no sequence number, and was not added by its "
                    "manifest"
                )
    numbers = _or(numbers, own)
    if numbers and max(numbers) > own:
        number, path = max(zip(numbers, paths, strict=True))
        raise InputError(
            f"{rows.where}: {path} has the sequence number {number}, its manifest has {own}"
        )
    return numbers


def _equality_ids(file: Records) -> Sequence[Sequence[int]]:
    found = _or(file.lists("135", int), ())
    if any(None in ids for ids in {*found}):
        raise InputError(f"{file.where}: an entry has equality ids that are no numbers")
    return found


def _first_row_ids(
    file: Records, contents: Sequence[int], records: Sequence[int], row_id: int | None
) -> Sequence[int | None]:
    """Those of files, which data files without one inherit, one after the other."""
    ids = file.values("142", int)
    if row_id is not None:
        for at, content in enumerate(contents):
            if content == DATA and ids[at] is None:
                ids[at] = row_id
                row_id += records[at]
    return ids


def _partitions(
    file: Records, paths: Sequence[str], spec_id: int, metadata: TableMetadata
) -> Sequence[Partition]:
    """The partition of each file: one object for all files of one."""
    kinds = metadata.partition_kinds(spec_id)
    column = file.column("102", dict)
    named = [] if column is None else [one.name for one in column.type if one.name.isdigit()]
    if column is not None and column.null_count:
        named = []
    if sorted(named) != sorted(map(str, kinds)):
        if not paths:
            return []
        raise InputError(
            f"{file.where}: {paths[0]} has the partition fields {named}, its spec {spec_id} has "
            f"{sorted(kinds)}"
        )
    if column is None or not kinds:
        return [Partition(spec_id, {})] * len(paths)
    values = [
        _values_of(column.field(str(id_)), kind, f"{file.where}: field {id_}")
        for id_, kind in kinds.items()
    ]
    known: dict[tuple[Any, ...], Partition] = {}
    found = []
    for path, *own in zip(paths, *values, strict=True):
        key = (*map(_key, own),)
        if key not in known:
            where = f"{file.where}: {path}"
            own = [
                partition_value(value, kind, f"{where}, field {id_}")
                for value, (id_, kind) in zip(own, kinds.items(), strict=True)
            ]
            known[key] = Partition(spec_id, dict(zip(kinds, own, strict=True)))
        found.append(known[key])
    return found


def _values_of(column: pa.Array, kind: pa.DataType | None, where: str) -> list[Any]:
    """Values of a partition field; days and moments as numbers, as Python does not know all."""
    have, tests = column.type, pa.types
    if tests.is_nested(have):
        raise InputError(f"{where}: partition values of the type {have} are nested")
    try:
        if kind is not None and tests.is_date32(have) and kind.id in (pa.int32().id, have.id):
            column = column.cast(pa.int32())
        elif kind is not None and tests.is_timestamp(have) and tests.is_timestamp(kind):
            column = column.cast(pa.timestamp(kind.unit, have.tz)).cast(pa.int64())
        return list(column.to_pylist())
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{where}: partition values are not readable ({error})") from error


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


def is_vector(entry: Entry) -> bool:
    """Whether an entry is a deletion vector."""
    return entry.content == POSITION_DELETES and entry.format == "PUFFIN"


def _key(value: Any) -> Any:
    """A value of a partition as it is compared: numbers by every bit, not a number with itself."""
    return value.hex() if isinstance(value, float) else value


#: What is read of a list and of a manifest, by id, and of the file of an entry.
_OF_FILE = (*range(100, 105), 109, 110, 125, 128, 131, 134, 135, *range(142, 146))
_OF_LIST = (*range(500, 508), 512, 513, 515, 516, 517, 519, 520)
_WANTED: Wanted = (*map(str, (*range(4), *_OF_LIST)), ("2", (*map(str, _OF_FILE), ("102", ()))))


def _read(
    files: TableFiles, path: str, length: int | None = None
) -> tuple[Records, Mapping[str, bytes]]:
    """The records of a list or of a manifest by field id, and the file's header."""
    storage, plain = files.locate(path)
    where = storage.full(plain)
    content = storage.read(plain, most_bytes=_MOST_BYTES)
    if length is not None and length != len(content):
        raise InputError(f"{where}: {counted(len(content), 'byte')}, its list says {length:,}")
    container = AvroContainer(content, where, storage.bound)
    return Records.of(container, _WANTED, where, by_ids=True), container.properties

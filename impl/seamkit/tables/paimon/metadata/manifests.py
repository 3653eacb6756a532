"""Manifests: which data files and index files are live in a snapshot.

A snapshot names lists of manifests, these name manifests, these add and delete data files. They
are Avro, resolved by the schema of their writer, ORC or Parquet: newer versions have more fields.

Partitions, smallest and largest keys are Paimon's binary rows. In a manifest a row has its number
of fields in front (int32, big-endian). Then come a byte for the row's kind, a bit for each field
that is null, both together rounded up to eight bytes; a slot of eight bytes for each field; and
what does not fit into a slot. All of it is little-endian. A slot of a variable-length value holds
either up to seven bytes and their number, or offset and length.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.values import decimal_of, value_class
from seambase.wording import counted
from seamkit.avro.data_file import AvroReader, Records
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.storage import Storage
from seamkit.tables.paimon.metadata.snapshots import ManifestList, Snapshot, SnapshotFolder

_HEADER_BITS = 8
_COMPACT_DIGITS = 18
_IN_SLOT = 0x80
_NUMBERS = {
    "int8": "<b",
    "int16": "<h",
    "int32": "<i",
    "int64": "<q",
    "float": "<f",
    "double": "<d",
}


def row_values(data: bytes, types: Sequence[pa.DataType], where: str) -> list[pa.Scalar]:
    """The fields of a row, which has their number in front."""
    fixed = ((len(types) + _HEADER_BITS + 63) // 64) * 8
    if len(data) < 4 + fixed + 8 * len(types):
        raise InputError(
            f"{where}: a row of {counted(len(data), 'byte')} is too "
            f"short for {counted(len(types), 'field')}"
        )
    if struct.unpack_from(">i", data)[0] != len(types):
        count = struct.unpack_from(">i", data)[0]
        raise InputError(f"{where}: a row has {counted(count, 'field')}, {len(types)} are meant")
    row = data[4:]
    values = []
    for i, kind in enumerate(types):
        bit = i + _HEADER_BITS
        if row[bit // 8] >> (bit % 8) & 1:
            values.append(pa.scalar(None, kind))
            continue
        try:
            values.append(_value(row, fixed + 8 * i, kind))
        except (ValueError, struct.error, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{where}: field {i} of a row is no {kind} ({error})") from error
    return values


def _value(row: bytes, at: int, kind: pa.DataType) -> pa.Scalar:
    name = str(kind)
    if name in _NUMBERS:
        return pa.scalar(struct.unpack_from(_NUMBERS[name], row, at)[0], kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(row[at] != 0, kind)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.scalar(struct.unpack_from("<i", row, at)[0], pa.int32()).cast(kind)
    if pa.types.is_string(kind):
        return pa.scalar(_bytes(row, at).decode("utf-8"), kind)
    if pa.types.is_binary(kind):
        return pa.scalar(_bytes(row, at), kind)
    if pa.types.is_decimal(kind):
        if kind.precision <= _COMPACT_DIGITS:
            unscaled = struct.unpack_from("<q", row, at)[0]
        else:
            unscaled = int.from_bytes(_bytes(row, at), "big", signed=True)
        return pa.scalar(decimal_of(unscaled, kind.scale), kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(_ticks(row, at, kind.unit), pa.int64()).cast(kind)
    raise ValueError("a nested type is no value of a row here")


def _ticks(row: bytes, at: int, unit: str) -> int:
    """A timestamp: milliseconds in the slot, or there nanoseconds and where the former stand."""
    word = struct.unpack_from("<Q", row, at)[0]
    if unit == "ms":
        return int(struct.unpack_from("<q", row, at)[0])
    millis = struct.unpack_from("<q", row, word >> 32)[0]
    nanos = word & 0xFFFFFFFF
    per_milli = {"us": 1_000, "ns": 1_000_000}[unit]
    return int(millis * per_milli + nanos * per_milli // 1_000_000)


def _bytes(row: bytes, at: int) -> bytes:
    word = struct.unpack_from("<Q", row, at)[0]
    mark = word >> 56
    if mark & _IN_SLOT:
        size = mark & 0x7F
        if size > 7:
            raise ValueError(f"{counted(size, 'byte')} in a slot")
        return row[at : at + size]
    begin, size = word >> 32, word & 0xFFFFFFFF
    if begin + size > len(row):
        raise ValueError("its bytes lie outside of the row")
    return row[begin : begin + size]


_FOLDER = "manifest"
_ADD, _DELETE = 0, 1
#: By the first bytes of a manifest; all others are Avro.
_COLUMNAR: Mapping[bytes, Callable[[Storage, str], FileReader]] = {
    b"ORC": OrcReader,
    b"PAR1": ParquetReader,
}
_BATCH_ROWS = 1 << 16
_BYTES_AN_ENTRY = 1500  # in memory, about
_KEY_INDEX, _VECTORS = "HASH", "DELETION_VECTORS"
_VERSIONS = {"list": (2, 3), "manifest": (2, 3), "index": (1,)}


@value_class
class FileEntry:
    """A data file, as a manifest has it."""

    partition: bytes  # the partition's values, as a binary row
    # number of its bucket; -1 in append tables without buckets, -2 for rows that wait for theirs
    bucket: int
    name: str
    size_bytes: int
    rows: int  # in the file
    min_key: bytes  # its smallest key, as a binary row
    max_key: bytes
    min_sequence: int  # smallest sequence number
    max_sequence: int  # largest sequence number
    schema_id: int  # the schema that it was written by
    level: int  # in the tree of runs: files of level 0 overlap, those of another level do not
    extra_files: tuple[str, ...]  # files that belong to it, such as indexes
    deleted_rows: int | None  # rows that are retracts; None where the writer did not tell
    external_path: str | None  # its whole path where it does not lie in the table's folder
    # smallest and largest values and counts of nulls, of the columns named
    value_stats: tuple[bytes, bytes, tuple[int | None, ...] | None]
    value_stats_columns: Sequence[str] | None
    # the columns that it has where these are not all of its schema's
    write_columns: Sequence[str] | None
    first_row: int | None  # id of its first row, where rows have ids; those of the others follow
    where: str

    @property
    def identity(self) -> tuple[object, ...]:
        """What an addition and a deletion of one file have in common."""
        return self.partition, self.bucket, self.level, self.name, self.extra_files

    @property
    def stated(self) -> tuple[Hashable, ...]:
        """What is said of the values of its rows."""
        low, high, nulls = self.value_stats
        keys = self.partition, self.min_key, self.max_key, self.min_sequence, self.max_sequence
        return *keys, low, high, nulls

    @property
    def has_footer(self) -> bool:
        """Whether the file says itself which ranges of values it has."""
        return not self.name.endswith(".avro")


@dataclass(frozen=True)
class VectorRange:
    """Where the deletion vector of a data file lies."""

    index_file: str  # name of the file that holds it
    offset: int  # where it begins there
    length: int  # how many bytes it has, as stated
    cardinality: int | None  # how many rows it deletes; None where the writer did not tell
    # the index file's whole path where it does not lie in the table's folder
    external_path: str | None
    folder: str = "index"  # the one of the table in which it lies otherwise


VectorKey = tuple[bytes, int, str]
"""Partition, bucket and name of a data file."""


def live_files(storage: Storage, snapshot: Snapshot) -> list[FileEntry]:
    """The data files of a snapshot, in the order in which they were added."""
    live: dict[tuple[object, ...], FileEntry] = {}
    gone: dict[tuple[object, ...], FileEntry] = {}  # of files that were not added yet
    for manifest_list in (snapshot.base_list, snapshot.delta_list):
        for kind, entry in _entries(storage, manifest_list):
            if kind != _ADD:
                if live.pop(entry.identity, None) is None:
                    gone[entry.identity] = entry
            elif not gone.pop(entry.identity, None) and (
                live.setdefault(entry.identity, entry) is not entry
            ):
                raise InputError(f"{entry.where}: the file {entry.name} is added twice")
    for entry in gone.values():
        raise InputError(f"{entry.where}: it deletes the file {entry.name}, which was not added")
    return list(live.values())


def added_files(storage: Storage, manifest_list: ManifestList) -> list[FileEntry]:
    """The files that a list of manifests adds: what one commit wrote, or its changelog."""
    found = []
    for kind, entry in _entries(storage, manifest_list):
        if kind != _ADD:
            raise RefusedError(
                f"{entry.where}: a commit that appends rows deletes the file {entry.name}, as "
                "Paimon 0.9 rewrites files; which rows are new is not told"
            )
        found.append(entry)
    return found


def live_vectors(
    storage: Storage, snapshot: Snapshot, history: SnapshotFolder
) -> Mapping[VectorKey, VectorRange]:
    """The deletion vectors of a snapshot, by data file."""
    if snapshot.index_manifest is None:
        return {}
    n_entries, vectors = _index(storage, snapshot.index_manifest)
    if not n_entries and not _was_emptied(storage, snapshot, history):
        name = storage.full(f"{_FOLDER}/{snapshot.index_manifest}")
        raise InputError(f"{name}: a manifest of index files without any entry")
    return vectors


def _index(storage: Storage, name: str) -> tuple[int, Mapping[VectorKey, VectorRange]]:
    """How many entries a manifest of index files has, and the vectors among them."""
    vectors: dict[VectorKey, VectorRange] = {}
    n_entries = 0
    for entries in _batches(storage, name, "index"):
        n_entries += len(entries)
        for key, own in _ranges(entries):
            if key in vectors:
                raise InputError(
                    f"{entries.where}: the data file {key[2]} has two deletion vectors"
                )
            vectors[key] = own
    return n_entries, vectors


def _was_emptied(storage: Storage, snapshot: Snapshot, history: SnapshotFolder) -> bool:
    """Whether a manifest of index files may have no entry, as the one before it tells."""
    # A commit that takes the last files with vectors away writes such a manifest. One that is cut
    # behind its header looks the same, but files with vectors are still live then, or there was
    # nothing to empty. Where the snapshot before the first that names it has expired, nothing
    # tells.
    numbers = range(min(history.paths, default=snapshot.id), snapshot.id)
    own = snapshot.index_manifest
    same = bisect_left(numbers, True, key=lambda n: history.load(n).index_manifest == own)
    before = numbers.start + same - 1
    if before < numbers.start:
        return before > 0
    emptied = history.load(before).index_manifest
    if emptied is None:
        return False
    n_entries, vectors = _index(storage, emptied)
    live = {(file.partition, file.bucket, file.name) for file in live_files(storage, snapshot)}
    return n_entries > 0 and live.isdisjoint(vectors)


def _ranges(entries: Records) -> Iterator[tuple[VectorKey, VectorRange]]:
    """The deletion vectors of some index files."""
    where = entries.where
    ranges = entries.column("_DELETIONS_VECTORS_RANGES", list)
    of_values = entries.column("_GLOBAL_INDEX", dict)
    held: list[tuple[Any, ...]] = []
    if ranges is not None:
        one = Records(ranges.values, f"{where}: a range")
        places = [one.values(field, int, needed=True) for field in ("f1", "f2")]
        names = one.values("f0", str, needed=True)
        held = [*zip(names, *places, one.values("_CARDINALITY", int), strict=True)]
    for at, (kind, does, partition, bucket, name, path) in enumerate(
        zip(
            entries.values("_INDEX_TYPE", str, needed=True),
            entries.values("_KIND", int, needed=True),
            entries.values("_PARTITION", bytes, needed=True),
            entries.values("_BUCKET", int, needed=True),
            entries.values("_FILE_NAME", str, needed=True),
            entries.values("_EXTERNAL_PATH", str),
            strict=True,
        )
    ):
        # Of writers: which bucket a key is in. Of searches: which rows have a value.
        if kind == _KEY_INDEX or (
            kind != _VECTORS and of_values is not None and of_values[at].is_valid
        ):
            continue
        if kind != _VECTORS:
            raise RefusedError(f"{where}: indexes of the type {kind!r} are not supported")
        if does != _ADD:
            raise InputError(f"{where}: it deletes an index file, and should hold live ones alone")
        if ranges is None or not ranges[at].is_valid:
            raise InputError(f"{where}: an index file of deletion vectors says of no file's")
        begin, end = ranges.offsets[at].as_py(), ranges.offsets[at + 1].as_py()
        for file, offset, length, gone in held[begin:end]:
            yield (partition, bucket, file), VectorRange(name, offset, length, gone, path)


def _entries(storage: Storage, manifest_list: ManifestList) -> Iterator[tuple[int, FileEntry]]:
    """All entries of the manifests of a list: what they do, and with which file."""
    for listed in _batches(storage, manifest_list.name, "list", manifest_list.size_bytes):
        for name, size, *stated in zip(
            listed.values("_FILE_NAME", str, needed=True),
            listed.values("_FILE_SIZE", int, needed=True),
            listed.values("_NUM_ADDED_FILES", int, needed=True),
            listed.values("_NUM_DELETED_FILES", int, needed=True),
            strict=True,
        ):
            entries = storage.kept(
                [f"{_FOLDER}/{name}"],
                partial(_entries_of, storage, name, size),
                lambda entries: len(entries) * _BYTES_AN_ENTRY,
                ("entries of a manifest of Paimon", size),
            )
            yield from entries
            kinds = [kind for kind, _ in entries]
            counts = [kinds.count(_ADD), kinds.count(_DELETE)]
            if counts != stated:
                raise InputError(
                    f"{storage.full(f'{_FOLDER}/{name}')}: it adds {counts[0]} and deletes "
                    f"{counted(counts[1], 'file')}, its list says {stated[0]} and {stated[1]}"
                )


def _entries_of(storage: Storage, name: str, size_bytes: int) -> list[tuple[int, FileEntry]]:
    found: list[tuple[int, FileEntry]] = []
    for entries in _batches(storage, name, "manifest", size_bytes):
        kinds = entries.values("_KIND", int, needed=True)
        for kind in set(kinds) - {_ADD, _DELETE}:
            raise InputError(f"{entries.where}: an entry of the unknown kind {kind}")
        found += zip(kinds, _files_of(entries), strict=True)
    return found


def _files_of(entries: Records) -> Iterator[FileEntry]:
    file = entries.within("_FILE")
    stats = file.within("_VALUE_STATS")
    rows = file.values("_ROW_COUNT", int, needed=True)
    deleted = file.values("_DELETE_ROW_COUNT", int)
    for n_rows, gone in zip(rows, deleted, strict=True):
        if n_rows < 0 or (gone is not None and not 0 <= gone <= n_rows):
            raise InputError(
                f"{entries.where}: a file has {counted(n_rows, 'row')}, of which {gone} delete "
                "others"
            )
    return map(
        FileEntry,
        entries.values("_PARTITION", bytes, needed=True),
        entries.values("_BUCKET", int, needed=True),
        file.values("_FILE_NAME", str, needed=True),
        file.values("_FILE_SIZE", int, needed=True),
        rows,
        file.values("_MIN_KEY", bytes, needed=True),
        file.values("_MAX_KEY", bytes, needed=True),
        file.values("_MIN_SEQUENCE_NUMBER", int, needed=True),
        file.values("_MAX_SEQUENCE_NUMBER", int, needed=True),
        file.values("_SCHEMA_ID", int, needed=True),
        file.values("_LEVEL", int, needed=True),
        file.lists("_EXTRA_FILES", str, needed=True),
        deleted,
        file.values("_EXTERNAL_PATH", str),
        zip(
            stats.values("_MIN_VALUES", bytes, needed=True),
            stats.values("_MAX_VALUES", bytes, needed=True),
            stats.lists("_NULL_COUNTS", int),
            strict=True,
        ),
        file.lists("_VALUE_STATS_COLS", str),
        file.lists("_WRITE_COLS", str),
        file.values("_FIRST_ROW_ID", int),
        repeat(entries.where),
    )


def _batches(
    storage: Storage, name: str, kind: str, size_bytes: int | None = None
) -> Iterator[Records]:
    """The records of a manifest of some kind."""
    path = f"{_FOLDER}/{name}"
    where = storage.full(path)
    content = storage.read(path)
    if size_bytes is not None and len(content) != size_bytes:
        raise InputError(
            f"{where}: {counted(len(content), 'byte')} where {size_bytes:,} are stated"
        )
    columnar = next((_COLUMNAR[own] for own in _COLUMNAR if content.startswith(own)), None)
    reader = columnar(storage, path) if columnar else AvroReader(storage, path, content=content)
    for batch in reader.batches(reader.schema, _BATCH_ROWS, use_threads=False):
        entries = Records(batch.to_struct_array(), where)
        for number in {*entries.values("_VERSION", int, needed=True)} - {*_VERSIONS[kind]}:
            raise RefusedError(f"{where}: version {number} of such manifests is not supported")
        yield entries

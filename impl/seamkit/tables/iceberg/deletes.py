"""Delete files, and which of them apply to which data files.

With d the data sequence number of the data file and s that of the delete (specification, "Scan
Planning"): a deletion vector is for the one file that it names; a position delete file for files of
its partition with d <= s that have no vector; an equality delete file for files with d < s of its
partition, or of every partition if its own spec is unpartitioned.

A position delete file has pairs of a path and a position; it is read once and kept for the other
data files that it names. Nothing is taken from it on trust: it may be out of order, name a row
twice, rows that no file has, and files that are gone.

Keys of equality deletes are compared value by value: null equals null, what is not a number equals
itself, and zero has two signs. A key is kept with the newest delete of it: it takes out rows of
files that are older than that, and no others, so one set of keys serves all files of a partition.

Deletion vectors lie in Puffin files (version 3). The manifest's entry says where the blob is; what
the file's own footer says of a blob there must not contradict it, or the vector is another data
file's. A footer need say nothing. What a blob is made of stands in `seamkit.files.vectors`.
"""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.border import concat_batches, numpy_of
from seamkit.core.memory import TrackedAllocator
from seamkit.core.tasks import Once
from seamkit.files.columns import ABSENT
from seamkit.files.roaring import Positions
from seamkit.files.storage import read_part
from seamkit.files.vectors import FRAME_BYTES, unframed, vector_positions
from seamkit.scan.core_merges import LogIndex
from seamkit.scan.units import KeyTest, ReadContext
from seamkit.tables.iceberg.data_files import Column, FileOpener, FileRows, range_of
from seamkit.tables.iceberg.metadata.document import PartitionSpec, TableFiles, TableMetadata
from seamkit.tables.iceberg.metadata.entries import EQUALITY_DELETES, Entry, is_vector
from seamkit.tables.iceberg.metadata.schema import Field, in_order, keys_alone

_LEAST_BYTES = 20  # length, magic number, a bitmap of no buckets, checksum
_PUFFIN = b"PFA1"
_TYPE = "deletion-vector-v1"
_LEAST_TAIL = 16  # the magic number twice, a length, flags
_TAIL_BYTES = 8192
_MOST_FOOTER = 1 << 26


def read_vector(files: TableFiles, vector: Entry) -> Positions:
    """The deleted positions of a data file, ascending."""
    storage, path = files.locate(vector.path)
    offset, length = vector.offset, vector.length
    where = f"{storage.full(path)}, the deletion vector at byte {offset}"
    # DuckDB 1.5.3 wrote the vector alone, and nothing of a Puffin file around it.
    is_alone = offset == 0 and length == vector.size_bytes
    least = 0 if is_alone else len(_PUFFIN)
    if offset is None or length is None or offset < least or length < _LEAST_BYTES:
        raise InputError(f"{where}: its entry gives it {length} bytes there")
    try:
        with storage.open(path) as file:
            size = file.size()
            magic = file.read(len(_PUFFIN))
            blob = read_part(file, offset, length)
            footer = _footer(file, size)
    except OSError as error:
        raise InputError(f"{where}: not readable ({error})") from error
    if size != vector.size_bytes:
        raise InputError(
            f"{storage.full(path)}: {counted(size, 'byte')}, its manifest says {vector.size_bytes}"
        )
    if not is_alone:
        if magic != _PUFFIN:
            raise InputError(f"{storage.full(path)}: no Puffin file")
        _check_footer(footer, vector, where)
    body = unframed(blob, (length - FRAME_BYTES,), where, "its manifest")
    return vector_positions(body, vector.records, storage.bound, where, "its manifest")


def _footer(file: pa.NativeFile, size: int) -> bytes:
    """The JSON at the end of a Puffin file; nothing where it is compressed or none is there."""
    begin = max(0, size - _TAIL_BYTES)
    tail = read_part(file, begin, size - begin)
    if len(tail) < _LEAST_TAIL or not tail.endswith(_PUFFIN):
        return b""
    length, flags = struct.unpack_from("<ii", tail, len(tail) - 12)
    first = size - 12 - length
    if flags or not 0 < length <= _MOST_FOOTER or first < 0:
        return b""
    return tail[first - begin : -12] if first >= begin else read_part(file, first, length)


def _check_footer(footer: bytes, vector: Entry, where: str) -> None:
    """Refuse a blob of which its file says otherwise than the manifest."""
    # Of the path of the data file the name alone counts: tools that move a table may leave old
    # folders in Puffin files, as these are no metadata to them.
    try:
        blobs = json.loads(footer)["blobs"] if footer else []
        own = next((one for one in blobs if one["offset"] == vector.offset), None)
        if own is None:
            return
        properties = own.get("properties") or {}
        data_file, count = properties.get("referenced-data-file"), properties.get("cardinality")
        said = {
            "type": (own["type"], _TYPE),
            "length": (own["length"], vector.length),
            "data file": (_name(data_file or vector.referenced), _name(vector.referenced)),
            "cardinality": (int(count or vector.records), vector.records),
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: the file's footer is not readable ({error!r})") from error
    for name, (there, here) in said.items():
        if there != here:
            raise InputError(
                f"{where}: its file says the {name} {there!r}, its manifest says {here!r}"
            )


def _name(path: str | None) -> str:
    return str(path).rpartition("/")[2]


PATH_ID = 2147483546
_PATH = Field(PATH_ID, "file_path", pa.string(), required=True)
_AT = Field(2147483545, "pos", pa.int64(), required=True)
_SCHEMA = pa.schema([(_PATH.name, _PATH.type), (_AT.name, _AT.type)])
_POSITIONS_AT_ONCE = 1 << 20


@dataclass(eq=False)
class PositionDeletes:
    """One position delete file."""

    opener: FileOpener
    entry: Entry
    _positions: Once[dict[str, list[Positions]]] = field(default_factory=Once, repr=False)

    def of(self, path: str) -> Sequence[Positions]:
        """Positions in a data file, in any order, perhaps some twice."""
        return self._positions.get(self._read).get(path, ())

    def _read(self) -> dict[str, list[Positions]]:
        columns = {_PATH.name: [_PATH], _AT.name: [_AT]}
        reader = self.opener.open(self.entry, columns, FileRows())
        found: dict[str, list[Positions]] = {}
        for batch in reader.batches(
            _SCHEMA, _POSITIONS_AT_ONCE, use_threads=False, encoded=[_PATH.name]
        ):
            paths, positions = batch.columns
            if paths.null_count or positions.null_count:
                raise InputError(f"{reader.name}: a delete without a file or a position")
            if not pa.types.is_dictionary(paths.type):
                paths = pc.dictionary_encode(paths)
            codes = numpy_of(paths.indices)
            numbers = numpy_of(positions)
            order = np.argsort(codes, kind="stable")
            counts = np.bincount(codes, minlength=len(paths.dictionary))
            cuts = np.split(numbers[order], np.cumsum(counts)[:-1])
            for path, own in zip(paths.dictionary.to_pylist(), cuts, strict=False):
                if len(own):
                    found.setdefault(path, []).append(own)
        return found


def deleted_rows(deletes: Sequence[PositionDeletes], path: str, num_rows: int) -> Positions:
    """The rows of a data file that are gone, ascending, each once.

    `path` is as manifests spell it; positions beyond `num_rows` delete nothing.
    """
    pieces = [piece for one in deletes for piece in one.of(path)]
    positions = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    if len(positions) and positions.min() < 0:
        raise InputError(f"{deletes[0].entry.where}: position {positions.min()} is deleted")
    if len(pieces) != 1 or (np.diff(positions) <= 0).any():
        positions = np.unique(positions)
    return positions[: np.searchsorted(positions, num_rows)]


_KEYS_AT_ONCE = 1 << 18


def key_columns(metadata: TableMetadata, ids: Sequence[int], where: str) -> dict[str, Column]:
    """The columns that a key is made of, under names that no column of the table has.

    A column that was dropped from the table still counts: the newest schema that has it tells its
    type.
    """
    columns: dict[str, Column] = {}
    for id_ in ids:
        column = metadata.column(id_)
        if column is None or pa.types.is_nested(column[-1].type):
            raise RefusedError(
                f"{where}: equality deletes by the field {id_}, which is no column of single "
                "values, are not supported"
            )
        columns[f"{ABSENT}key:{id_}"] = column
    return columns


@dataclass(eq=False)
class DeletedKeys:
    """The keys that some equality delete files name, all by the same columns.

    They are read once a scan, and kept: memory is taken for all of the keys, in an index that the
    scan's allocator counts. Keys are made of `columns`; see `key_columns`.
    """

    opener: FileOpener
    entries: Sequence[Entry]
    columns: Mapping[str, Column]
    _index: Once[LogIndex] = field(default_factory=Once, repr=False)

    def __post_init__(self) -> None:
        self.entries = sorted(self.entries, key=lambda entry: entry.sequence_number)
        if not all(self.columns.values()):
            raise InputError("the plan tells of keys of equality deletes without their fields")

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the keys."""
        return pa.schema([(name, path[-1].type) for name, path in self.columns.items()])

    @cached_property
    def words(self) -> str:
        """The columns of the keys, and how files give them."""
        return repr(self.columns)

    def newer(self, sequence_number: int) -> Sequence[Entry]:
        """The delete files that count for data files of a sequence number."""
        return [one for one in self.entries if one.sequence_number > sequence_number]

    def test(self, sequence_number: int, context: ReadContext) -> KeyTest:
        """What tells which rows of a data file of this sequence number are gone."""
        index = self._index.get(partial(self._made, context.allocator))
        # From this delete on they are newer than the data file.
        numbers = [entry.sequence_number for entry in self.entries]
        newer = int(np.searchsorted(numbers, sequence_number, "right"))
        return partial(_are_gone, index.fork(context.allocator), newer)

    def _made(self, allocator: TrackedAllocator) -> LogIndex:
        """An index of the keys, in which the newest delete of a key counts."""
        pieces, numbers = [], []
        # A delete file has its key columns: null in their place would be the key of other rows.
        own = keys_alone(self.columns)
        for number, entry in enumerate(self.entries):
            reader = self.opener.open(entry, own, FileRows())
            rows = 0
            for batch in reader.batches(self.schema, _KEYS_AT_ONCE, use_threads=False):
                pieces.append(batch)
                rows += batch.num_rows
            if rows != entry.records:
                raise InputError(
                    f"{reader.name}: {counted(rows, 'key')}, its manifest says {entry.records}"
                )
            numbers.append(np.full(rows, number, np.int32))
        keys = concat_batches(pieces, self.schema)
        return LogIndex(keys, np.concatenate(numbers), None, None, allocator, meets_every_row=True)


def _are_gone(index: LogIndex, newer: int, keys: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Whether a delete names each key that is among those from `newer` on."""
    found: npt.NDArray[np.bool_] = index.probe(keys, None) >= newer
    return found


_GLOBAL = ("every partition",)


class DeleteIndex:
    """The deletes of a snapshot, by what they may apply to."""

    def __init__(
        self, entries: Iterable[Entry], metadata: TableMetadata, opener: FileOpener
    ) -> None:
        self._vectors: dict[str, Entry] = {}
        self._positions: dict[tuple[Any, ...], list[PositionDeletes]] = defaultdict(list)
        self._untold: list[PositionDeletes] = []  # of those, whose partition is told in part alone
        self._about: dict[str | None, list[Entry]] = defaultdict(list)
        self._equality: dict[tuple[Any, ...], list[Entry]] = defaultdict(list)
        # By spec the newest of these that go by partition, and the newest that does not tell it.
        self._newest: dict[int, Entry] = {}
        self._newest_untold: dict[int, Entry] = {}
        self._metadata, self._opener = metadata, opener
        self._keys: dict[tuple[Any, ...], DeletedKeys] = {}
        self._columns: dict[tuple[int, ...], dict[str, Column]] = {}
        self._latest: tuple[Entry, list[tuple[tuple[Any, ...], list[Entry]]]] | None = None
        for entry in entries:
            if is_vector(entry):
                self._add_vector(entry)
            elif entry.content == EQUALITY_DELETES and self._spec(entry).unpartitioned:
                self._equality[_GLOBAL].append(entry)
            elif entry.content == EQUALITY_DELETES:
                self._equality[entry.partition.key].append(entry)
                self._add_by_partition(entry)
            else:
                deletes = PositionDeletes(opener, entry)
                self._positions[entry.partition.key].append(deletes)
                if not self._is_told(entry):
                    self._untold.append(deletes)
                self._about[_only_path(entry)].append(entry)

    def _add_vector(self, entry: Entry) -> None:
        if entry.referenced is None:
            raise InputError(f"{entry.where} is a deletion vector that names no data file")
        if entry.referenced in self._vectors:
            raise InputError(f"{entry.where}: a second deletion vector for {entry.referenced}")
        self._vectors[entry.referenced] = entry

    def _spec(self, entry: Entry) -> PartitionSpec:
        return self._metadata.specs[entry.partition.spec_id]

    def _is_told(self, entry: Entry) -> bool:
        """Whether a manifest tells the whole partition of a file."""
        return len(entry.partition.values) == len(self._spec(entry).fields)

    def _add_by_partition(self, delete: Entry) -> None:
        spec_id = delete.partition.spec_id
        among = [self._newest] if self._is_told(delete) else [self._newest, self._newest_untold]
        for newest in among:
            known = newest.get(spec_id, delete)
            newest[spec_id] = max(known, delete, key=attrgetter("sequence_number"))

    def _check_told(self, data: Entry) -> None:
        """Refuse a data file of which nobody knows whether keys are deleted in its partition."""
        # Of a column that the table dropped, manifests written since do not tell the values.
        newest = self._newest_untold if self._is_told(data) else self._newest
        delete = newest.get(data.partition.spec_id)
        if delete is not None and data.sequence_number < delete.sequence_number:
            raise RefusedError(
                f"{delete.where} has keys that are deleted in a partition by a column that is "
                f"dropped: whether it is that of {data.path} is not known, as a manifest does not "
                "tell its value"
            )

    @property
    def with_vectors(self) -> Collection[str]:
        """The data files that vectors are for."""
        return self._vectors.keys()

    def vector(self, data: Entry) -> Entry | None:
        """The vector of a data file."""
        found = self._vectors.get(data.path)
        if found is None:
            return None
        if found.sequence_number < data.sequence_number:
            raise InputError(f"{found.where}: the deletion vector is older than {data.path}")
        if not found.partition.agrees(data.partition):
            raise InputError(f"{found.where}: its partition is not that of {data.path}")
        return found

    def positions(self, data: Entry) -> list[PositionDeletes]:
        """The position delete files that may name rows of a data file without a vector.

        By the specification those of other partitions delete none of its rows, by readers that go
        by the path alone all that they name. Iceberg's library fails, too, since 2026.
        """
        if not self._positions:
            return []
        for one in self._about.get(data.path, ()):
            is_since = data.sequence_number <= one.sequence_number
            if is_since and not one.partition.agrees(data.partition):
                raise InputError(f"{one.where}: its partition is not that of {data.path}")
        return [
            one
            for one in self._beside(data)
            if data.sequence_number <= one.entry.sequence_number and _may_name(one.entry, data.path)
        ]

    def _beside(self, data: Entry) -> Sequence[PositionDeletes]:
        """The position delete files of a data file's partition, as far as manifests tell both."""
        if self._is_told(data):
            same = self._positions.get(data.partition.key, ())
            if not self._untold:
                return same
            others: Iterable[PositionDeletes] = (*same, *self._untold)
        else:
            others = chain.from_iterable(self._positions.values())
        return [one for one in others if one.entry.partition.agrees(data.partition)]

    def equality(self, data: Entry) -> Sequence[DeletedKeys]:
        """Sets of deleted keys that may be in a data file."""
        if not self._equality:
            return []
        found = []
        for scope, deletes in self._equal(data):
            columns = dict.fromkeys(tuple(sorted(one.equality_ids)) for one in deletes)
            found += [self._of(scope, ids) for ids in columns]
        return found

    def entries(self, data: Entry) -> Sequence[Entry]:
        """All delete files that may take rows out of a data file."""
        vector = self.vector(data)
        by_position = [one.entry for one in self.positions(data)] if vector is None else [vector]
        if not self._equality:
            return by_position
        return [*by_position, *(one for _, deletes in self._equal(data) for one in deletes)]

    def _equal(self, data: Entry) -> Sequence[tuple[tuple[Any, ...], list[Entry]]]:
        """The equality delete files that may meet a data file: of its partition, and of all."""
        # They are asked for several times, of one file after the other.
        latest = self._latest
        if latest is None or latest[0] is not data:
            self._check_told(data)
            deletes = []
            for scope in (data.partition.key, _GLOBAL):
                own = self._equality.get(scope, ())
                newer = [one for one in own if data.sequence_number < one.sequence_number]
                deletes.append((scope, [one for one in newer if self._may_meet(one, data)]))
            self._latest = latest = data, deletes
        return latest[1]

    def _of(self, scope: tuple[Any, ...], ids: tuple[int, ...]) -> DeletedKeys:
        """All keys of some columns that are deleted in a partition, or everywhere."""
        if (scope, ids) not in self._keys:
            entries = [e for e in self._equality[scope] if tuple(sorted(e.equality_ids)) == ids]
            columns = self._columns_of(entries[0])
            self._keys[scope, ids] = DeletedKeys(self._opener, entries, columns)
        return self._keys[scope, ids]

    def _may_meet(self, delete: Entry, data: Entry) -> bool:
        """Whether the bounds of the keys leave room for one that both files have."""
        columns = self._columns_of(delete).values()
        return not any(_apart(delete, data, path[-1]) for path in columns)

    def _columns_of(self, delete: Entry) -> dict[str, Column]:
        ids = tuple(sorted(delete.equality_ids))
        if ids not in self._columns:
            self._columns[ids] = key_columns(self._metadata, ids, delete.where)
        return self._columns[ids]


def kind_of(delete: Entry) -> str:
    """What a delete file is, in the format's words."""
    if is_vector(delete):
        return "deletion vector"
    return "equality deletes" if delete.content == EQUALITY_DELETES else "position deletes"


def _apart(delete: Entry, data: Entry, field: Field) -> bool:
    """Whether no value of a key column is in both files, as far as their bounds tell."""
    known, own = range_of(delete, field), range_of(data, field)
    if known.nulls != 0:
        return False  # null equals null, and is in no bounds
    least, most, first, last = known.least, known.greatest, own.least, own.greatest
    if least is None or most is None or first is None or last is None:
        return False
    return not (in_order(first, most) and in_order(least, last))


def _only_path(delete: Entry) -> str | None:
    """The one data file that a file of position deletes is about, as far as its entry tells."""
    if delete.referenced is not None:
        return delete.referenced
    lower, upper = (ends.get(PATH_ID) for ends in (delete.stated.lower, delete.stated.upper))
    return lower.decode(errors="replace") if lower is not None and lower == upper else None


def _may_name(delete: Entry, path: str) -> bool:
    """Whether a position delete file may hold positions of a data file."""
    if delete.referenced is not None:
        return delete.referenced == path
    lower, upper = (ends.get(PATH_ID) for ends in (delete.stated.lower, delete.stated.upper))
    least, text = (lower or b"").rstrip(b"\0"), path.encode()  # see `bounds_of`
    if upper is not None and upper < least:
        return True  # bounds that contradict each other say nothing
    # A bound may be cut: the lower one is then below, the upper one not.
    return least <= text and (upper is None or text <= upper or text.startswith(upper))

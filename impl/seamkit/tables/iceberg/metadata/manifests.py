"""Manifest lists and manifests: which files a snapshot has, with what is known of each.

Both are Avro files whose fields are found by their ids, as writers differ in names. Entries leave
out what they inherit from the row of the list: sequence numbers and first row ids. What the list
says of a manifest is held against it where its entries are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.data_file import AvroContainer, Records, Wanted
from seamkit.files.storage import Storage
from seamkit.tables.iceberg.metadata.document import Snapshot, TableFiles, TableMetadata

_DELETES = 1
_MOST_BYTES = 1 << 30
_BYTES_A_MANIFEST = 1000  # in memory, about


@dataclass(frozen=True)
class PartitionSummary:
    """What the values of one partition field are in all files of a manifest."""

    # whether a file has null. lower, upper: the least and the greatest of the others; None if there
    # are none
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

    @property
    def stated(self) -> tuple[Hashable, ...]:
        """What its entries inherit, and are held to."""
        own = self.length, self.spec_id, self.is_deletes, self.sequence_number, self.snapshot_id
        return *own, self.first_row_id, tuple(sorted(self.counts.items()))


def read_list(files: TableFiles, snapshot: Snapshot, metadata: TableMetadata) -> list[Manifest]:
    """The manifests of a snapshot."""
    if snapshot.manifest_list is None:
        return [_unlisted(files, path, metadata) for path in snapshot.manifests]
    storage, plain = files.locate(snapshot.manifest_list)
    where = storage.full(plain)
    owner, found = storage.kept(
        [plain],
        lambda: _listed(storage, plain, metadata),
        lambda made: _BYTES_A_MANIFEST * len(made[1]),
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
    storage: Storage, path: str, metadata: TableMetadata
) -> tuple[bytes | None, list[Manifest]]:
    """The snapshot that a list says it is of, for which the format asks no writer, and the list."""
    container, where = open_file(storage, path)
    rows, _ = records_of([container], [where])
    return container.properties.get("snapshot-id"), _manifests(rows, metadata)


def _unlisted(files: TableFiles, path: str, metadata: TableMetadata) -> Manifest:
    """A manifest that a snapshot of version 1 names itself: its own header tells its spec."""
    container, where = open_file(*files.locate(path))
    spec = container.properties.get("partition-spec-id", b"0")
    if not spec.isdigit() or int(spec) not in metadata.specs:
        raise InputError(f"{where}: it has the partition spec {spec!r}, which is not there")
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


#: What is read of a list and of a manifest, by id, and of the file of an entry.
_OF_FILE = (*range(100, 105), 109, 110, 125, 128, 131, 134, 135, *range(142, 146))
_OF_LIST = (*range(500, 508), 512, 513, 515, 516, 517, 519, 520)
_WANTED: Wanted = (*map(str, (*range(4), *_OF_LIST)), ("2", (*map(str, _OF_FILE), ("102", ()))))


def open_file(storage: Storage, plain: str) -> tuple[AvroContainer, str]:
    """A list or a manifest, and what messages call it."""
    where = storage.full(plain)
    content = storage.read(plain, most_bytes=_MOST_BYTES)
    return AvroContainer(content, where, storage.bound), where


def records_of(
    opened: Sequence[AvroContainer], wheres: Sequence[str]
) -> tuple[Records, Sequence[int]]:
    """The records of lists, or of manifests, of one schema, by field id, and how many each has."""
    return Records.of_all(opened, _WANTED, wheres, by_ids=True)

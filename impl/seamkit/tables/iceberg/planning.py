"""A snapshot as read units: one for each data file, with the deletes that apply to it.

What metadata say of a snapshot in a second place, held against what is read of it.

Readers need none of it, and writers are known to leave it out or to count wrongly, so that a table
is read all the same, with a warning, unless the read is strict: totals of a snapshot's summary, the
summaries of partitions, the least sequence number and the snapshot that a list tells of a manifest,
and that a vector's data file is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import repeat
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.description import StoredFile
from seambase.values import value_class
from seambase.wording import counted
from seamkit.core.tasks import gc_paused
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.files.statistics import FileStatistics
from seamkit.scan.units import Changes, KeyMask, Mask, ReadUnit
from seamkit.tables.iceberg.data_files import Column, FileOpener, FileRows, file_statistics
from seamkit.tables.iceberg.deletes import (
    DeletedKeys,
    DeleteIndex,
    deleted_rows,
    kind_of,
    read_vector,
)
from seamkit.tables.iceberg.metadata.document import (
    PartitionField,
    PartitionSpec,
    Snapshot,
    TableMetadata,
)
from seamkit.tables.iceberg.metadata.entries import DATA, Entry, ManifestFiles, read_entries
from seamkit.tables.iceberg.metadata.manifests import Manifest, PartitionSummary, read_list
from seamkit.tables.iceberg.metadata.schema import (
    LINEAGE,
    Field,
    Schema,
    bound_value,
    constant,
    partition_value,
)
from seamkit.tables.iceberg.pruning import (
    ColumnBuckets,
    bucket_fields,
    guarantee,
    manifests_that_may_match,
)


@dataclass(frozen=True)
class Planner:
    """Makes read units of data files."""

    metadata: TableMetadata
    schema: Schema  # whose columns are shown
    opener: FileOpener
    # what lists say otherwise of manifests that were read by `entries`, in words
    doubts: dict[str, None] = field(default_factory=dict)
    _known: dict[int, Sequence[tuple[int, ColumnBuckets]]] = field(default_factory=dict)
    _partitions: dict[Any, _Shared] = field(default_factory=dict)

    @gc_paused()
    def units(
        self, snapshot: Snapshot | None, condition: pc.Expression | None = None
    ) -> tuple[list[ReadUnit], Sequence[str], Sequence[str]]:
        """The units of a snapshot, in the order of its manifests.

        No snapshot has no units. Under a condition manifests without partitions that may meet it
        are not opened; deletes go with the data files of their partition. What was left out, in
        words, and what the metadata say otherwise elsewhere come back, too.
        """
        if snapshot is None:
            return [], (), ()
        listed = read_list(self.opener.files, snapshot, self.metadata)
        kept: Sequence[Manifest] = listed
        if condition is not None:
            kept = manifests_that_may_match(
                listed, self.metadata, self.schema, self._counted, condition
            )
        read = read_entries(self.opener.files, kept, self.metadata)
        entries = [entry for one in read for entry in one.entries]
        data = [entry for entry in entries if entry.content == DATA]
        deletes = [entry for entry in entries if entry.content != DATA]
        index = DeleteIndex(deletes, self.metadata, self.opener)
        units = [self.unit(one, index) for one in data] if deletes else self.untouched(data)
        doubts = [*doubts_of_list(snapshot, listed)]
        for manifest, own in zip(kept, read, strict=True):
            doubts += doubts_of_manifest(manifest, own, self.metadata)
        left = len(listed) - len(kept)
        if not left:
            doubts += doubts_of_files(entries, index.with_vectors)
        notes = (
            [f"{counted(left, 'manifest')}: no partition of theirs meets the filter"]
            if left
            else ()
        )
        return units, notes, doubts

    def untouched(self, entries: Sequence[Entry]) -> list[ReadUnit]:
        """Units of data files as they were written, without any deletes."""
        firsts = {id(one.partition): one for one in entries}
        held = {which: self._shared(one) for which, one in firsts.items()}
        own = [held[id(one.partition)] for one in entries]
        # All files of many a plan come by here: a call for each would take longer than all else.
        files = [*map(LiveFile, entries, map(attrgetter("files"), own))]
        return [
            *map(
                ReadUnit,
                map(self.opener.files.shown, map(attrgetter("path"), entries)),
                zip(files),
                map(attrgetter("named"), own),
                map(attrgetter("group"), own),
                repeat(None),
                repeat(""),
                map(attrgetter("bounds"), files),
                repeat(None),
                repeat(None),
                repeat(()),
                map(attrgetter("bucket"), own),
            )
        ]

    def entries(self, snapshot: Snapshot) -> list[Entry]:
        """All live files of a snapshot, data and deletes; what is doubted of them is noted."""
        listed = read_list(self.opener.files, snapshot, self.metadata)
        read = read_entries(self.opener.files, listed, self.metadata)
        self.doubts.update(dict.fromkeys(doubt for one in read for doubt in one.doubts))
        return [entry for one in read for entry in one.entries]

    def unit(self, entry: Entry, index: DeleteIndex) -> ReadUnit:
        """A data file without the rows that some deletes take out."""
        mask, reason = mask_of(self.opener, entry, index)
        equality = index.equality(entry)
        if not equality:
            return self.unit_with(entry, mask, (index,), reason)
        tests = [
            (deleted.schema, partial(deleted.test, entry.sequence_number)) for deleted in equality
        ]
        reason = ", ".join(filter(None, (reason, "equality deletes")))
        identity = partial(keys_identity, self.opener, equality, entry)
        return self.unit_with(entry, KeyMask(tests, mask, identity), (index,), reason)

    def unit_with(
        self,
        entry: Entry,
        changes: Changes | None,
        indexes: Sequence[DeleteIndex],
        reason: str = "",
    ) -> ReadUnit:
        """A data file under a mask, made of the deletes of these indexes."""
        columns = self._columns  # of most files, of which there may be many
        for index in indexes:
            for deleted in index.equality(entry):
                columns = {**columns, **deleted.columns}
        shared = self._shared(entry)
        files = self.opener.files
        own = shared.files if columns is self._columns else replace(shared.files, columns=columns)
        live = LiveFile(entry, own)
        return ReadUnit(
            name=files.shown(entry.path),
            files=(live,),
            partition=shared.named,
            changes=changes,
            reason=reason,
            guarantee=live.bounds,
            changed_by=[self._stored(one) for index in indexes for one in index.entries(entry)],
            group=shared.group,
            bucket=shared.bucket,
        )

    @cached_property
    def _columns(self) -> dict[str, Column]:
        """All columns by their names, those of row lineage besides."""
        return {own.name: [own] for own in (*LINEAGE, *self.schema.fields)}

    @cached_property
    def _counted(self) -> Sequence[Field]:
        """The columns of which manifests say what a file's rows hold."""
        # Of a column that the table's name mapping leaves out, files without ids give nulls,
        # whatever their manifests say of it.
        mapping = self.opener.mapping
        counted = [one for one in self.schema.fields if self.opener.counts(one)]
        if mapping is None:
            return counted
        known = {one.get("field-id") for one in mapping}
        return [one for one in counted if one.id in known]

    def _stored(self, delete: Entry) -> StoredFile:
        """A delete file as descriptions show it."""
        size = delete.size_bytes if delete.length is None else delete.length
        path = self.opener.files.place(delete.path)
        return StoredFile(kind_of(delete), path, size, delete.records, delete.offset)

    def _bucket(self, entry: Entry) -> tuple[ColumnBuckets, int] | None:
        """The bucket of a data file, by the first field of its spec that tells one."""
        if not entry.partition.values:
            return None
        for id_, buckets in self._buckets(entry.partition.spec_id):
            number = entry.partition.values.get(id_)
            if isinstance(number, int):
                return buckets, number
        return None

    def _buckets(self, spec_id: int) -> Sequence[tuple[int, ColumnBuckets]]:
        """The fields of a spec that spread rows over buckets: one object for all of its files."""
        if spec_id not in self._known:
            self._known[spec_id] = bucket_fields(self.metadata.specs[spec_id], self.schema.fields)
        return self._known[spec_id]

    def _group(self, entry: Entry) -> str:
        """The partition of a data file, for people."""
        fields = self.metadata.specs[entry.partition.spec_id].fields
        return "/".join(f"{one.name}={_shown(one, entry)}" for one in fields)

    def _shared(self, entry: Entry) -> _Shared:
        """What the files of one partition have in common: one object for all of them."""
        key = entry.partition.key
        if key not in self._partitions:
            values = self._values(entry)
            named = {one.name: values[one.id] for one in self.schema.fields if one.id in values}
            spec = self.metadata.specs[entry.partition.spec_id]
            files = PartitionFiles(self.opener, self._columns, self._counted, values, spec)
            self._partitions[key] = _Shared(files, named, self._group(entry), self._bucket(entry))
        return self._partitions[key]

    def _values(self, entry: Entry) -> dict[int, pa.Scalar]:
        """Columns with one value in a file: those that its partition is made of as they stand."""
        values = {}
        spec = self.metadata.specs[entry.partition.spec_id]
        for one, value, source in entry.partition.told(spec, self.schema.fields):
            if one.transform == "identity":
                where = f"{entry.where}, column {source.name!r}"
                values[source.id] = constant(value, source.type, where)
        return values


@dataclass(frozen=True)
class _Shared:
    """What units of one partition share; the columns with one value by name."""

    files: PartitionFiles
    named: Mapping[str, pa.Scalar]
    group: str
    bucket: tuple[ColumnBuckets, int] | None


def _shown(one: PartitionField, entry: Entry) -> Any:
    """A partition value for people: days as dates."""
    value = entry.partition.values.get(one.id)
    return partition_value(value, pa.date32(), entry.where) if one.transform == "day" else value


@dataclass(frozen=True)
class PartitionFiles:
    """What data files of one partition share."""

    opener: FileOpener
    columns: Mapping[str, Column]  # that may be asked of them, by name
    counted: Sequence[Field]  # of which manifests say what a file's rows hold
    values: Mapping[int, pa.Scalar]  # of columns with one value in each file, by field id
    spec: PartitionSpec

    @cached_property
    def stated(self) -> Sequence[Field]:
        """The columns of which the manifest tells more than the unit itself does."""
        return [one for one in self.counted if not one.children and one.id not in self.values]


@value_class
class LiveFile:
    """A data file, and what its unit asks of it; see `seamkit.scan.units.UnitFile`."""

    entry: Entry
    within: PartitionFiles

    @property
    def name(self) -> str:
        """Where it lies."""
        return self.within.opener.files.place(self.entry.path)

    @property
    def size_bytes(self) -> int:
        """As its manifest tells."""
        return self.entry.size_bytes

    @property
    def rows(self) -> int:
        """That it holds, as its manifest tells."""
        return self.entry.records

    @property
    def has_footer(self) -> bool:
        """Whether its format ends in one."""
        return self.entry.format != "AVRO"

    def open(self) -> FileReader:
        """Open it."""
        entry, within = self.entry, self.within
        rows = FileRows(within.values, entry.first_row_id, entry.sequence_number, within.spec)
        return within.opener.open(entry, within.columns, rows)

    def bounds(self, names: Collection[str]) -> pc.Expression | None:
        """What its partition says of it; of columns with one value in it the unit tells that."""
        return guarantee(self.entry, self.within.spec, self.within.stated, names)

    def statistics(self, names: Collection[str]) -> FileStatistics:
        """What the manifest says of some columns but those with one value in it."""
        return file_statistics(self.entry, [one for one in self.within.stated if one.name in names])

    def identity(self) -> Hashable | None:
        """What tells it from any other."""
        return identity_of(self.within.opener, (self.entry,))


def mask_of(opener: FileOpener, entry: Entry, index: DeleteIndex) -> tuple[Mask | None, str]:
    """The rows of a data file that are gone by position, and in words."""
    vector = index.vector(entry)
    if vector is not None:
        load_vector = partial(read_vector, opener.files, vector)
        mask = Mask(load_vector, vector.records, partial(identity_of, opener, (vector,)))
        return mask, "a deletion vector"
    deletes = index.positions(entry)
    if not deletes:
        return None, ""
    load: partial[Positions] = partial(deleted_rows, deletes, entry.path, entry.records)
    own = [entry, *(one.entry for one in deletes)]
    mask = Mask(load, identity=partial(identity_of, opener, own))
    return mask, "position deletes"


def identity_of(opener: FileOpener, entries: Sequence[Entry]) -> Hashable | None:
    """What tells files from any others, as manifests and folders have them."""
    found = []
    for one in entries:
        storage, plain = opener.files.locate(one.path)
        known = storage.file_identity(plain)
        if known is None:
            return None
        part = one.offset, one.length, one.referenced
        found.append((one.path, known, one.records, one.size_bytes, one.sequence_number, part))
    return tuple(found)


def keys_identity(
    opener: FileOpener, deleted: Sequence[DeletedKeys], entry: Entry
) -> Hashable | None:
    """What decides which rows of a data file equality deletes take out."""
    newer = [one.newer(entry.sequence_number) for one in deleted]
    known = identity_of(opener, [delete for deletes in newer for delete in deletes])
    words = tuple(one.words for one in deleted), repr(opener.mapping)
    return None if known is None else (known, words, entry.sequence_number, entry.partition.key)


_LIVE = (0, 1)  # statuses of entries: existing, added


def doubts_of_list(snapshot: Snapshot, listed: Sequence[Manifest]) -> Iterator[str]:
    """How the totals of a snapshot differ from what its list counts, which need not be stated."""
    totals = snapshot.totals
    for is_deletes, files, rows in (
        (False, "total-data-files", ("total-records",)),
        (True, "total-delete-files", ("total-position-deletes", "total-equality-deletes")),
    ):
        own = [one for one in listed if one.is_deletes == is_deletes]
        counts = [one.counts.get(status) for one in own for status in _LIVE]
        yield from _difference(snapshot, files, totals.get(files), counts)
        total = (
            None if not all(name in totals for name in rows) else sum(totals[one] for one in rows)
        )
        yield from _difference(snapshot, " and ".join(rows), total, [one.rows for one in own])


def _difference(
    snapshot: Snapshot, name: str, stated: int | None, counts: Sequence[int | None]
) -> Iterator[str]:
    known = [count for count in counts if count is not None]
    if stated is not None and len(known) == len(counts) and sum(known) != stated:
        yield f"snapshot {snapshot.id} says {name} {stated}, its manifests have {sum(known)}"


def doubts_of_manifest(
    manifest: Manifest, read: ManifestFiles, metadata: TableMetadata
) -> Iterator[str]:
    """What a list says of a manifest, or its files, and is not so; of files the first one alone."""
    entries = read.entries
    yield from read.doubts
    least = manifest.least_sequence_number
    for entry in entries:
        if least is not None and entry.sequence_number < least:
            yield (
                f"{entry.where} has the sequence number {entry.sequence_number}, the least of its "
                f"manifest is {least}"
            )
            break
    for entry in entries:
        # Two manifests in each other's place: what is inherited would be the other's.
        if entry.is_new and manifest.snapshot_id not in (None, entry.added_by):
            yield (
                f"{entry.where} was added by snapshot {entry.added_by}, its manifest by "
                f"{manifest.snapshot_id}"
            )
            break
    kinds = metadata.partition_kinds(manifest.spec_id)
    for (id_, kind), summary in zip(kinds.items(), manifest.summaries, strict=False):
        if kind is None or pa.types.is_floating(kind):
            continue
        ends = _ends(summary, kind)
        told = (one for one in entries if id_ in one.partition.values)
        outside = (one for one in told if not _within(one.partition.values[id_], summary, ends))
        for entry in outside:
            value = entry.partition.values[id_]
            yield (
                f"{entry.where} has the partition value {value!r}, which is not within what its "
                "list says of its manifest"
            )
            break


def _ends(summary: PartitionSummary, kind: pa.DataType) -> tuple[Any, Any] | None:
    """The least and the greatest value of a manifest's partitions; None where that is not known."""
    # Of bytes these may be of other values, see `seamkit.tables.iceberg.pruning`.
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return None
    ends = []
    for end in (summary.lower, summary.upper):
        value = None if end is None else bound_value(end, kind)
        if value is None:
            return None
        if pa.types.is_temporal(kind):
            whole = pa.int32() if kind.bit_width == 32 else pa.int64()
            value = partition_value(value.cast(whole).as_py(), kind, "")
        else:
            value = value.as_py()
        ends.append(value)
    return ends[0], ends[1]


def _within(value: Any, summary: PartitionSummary, ends: tuple[Any, Any] | None) -> bool:
    if value is None:
        return summary.has_null
    if ends is None:
        return True
    least, most = ends
    if isinstance(value, str) and value[: len(most)] == most:
        return bool(least <= value)  # a bound that is cut
    try:
        return bool(least <= value <= most)
    except TypeError:  # whole numbers, where Python has no such day
        return True


def doubts_of_files(entries: Sequence[Entry], with_vectors: Collection[str]) -> Iterator[str]:
    """Data files that are live twice, and vectors whose data file is not there."""
    data = Counter(entry.path for entry in entries if entry.content == DATA)
    if data and max(data.values()) > 1:
        [(path, count)] = data.most_common(1)
        yield f"the data file {path} is there {counted(count, 'time')}, and so are its rows"
    gone = next((path for path in with_vectors if path not in data), None)
    if gone is not None:
        yield f"a deletion vector is for {gone}, which is not there"

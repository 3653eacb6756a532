"""What metadata say of a snapshot in a second place, held against what is read of it.

Readers need none of it, and writers are known to leave it out or to count wrongly, so that a table
is read all the same, with a warning, unless the read is strict: totals of a snapshot's summary, the
summaries of partitions, the least sequence number and the snapshot that a list tells of a manifest,
and that a vector's data file is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from seamkit.tables.iceberg.metadata.document import Snapshot, TableMetadata
from seamkit.tables.iceberg.metadata.manifests import DATA, Entry, Manifest, PartitionSummary
from seamkit.tables.iceberg.metadata.schema import bound_value, partition_value

_LIVE = (0, 1)  # statuses of entries: existing, added


def doubts_of_list(snapshot: Snapshot, listed: Sequence[Manifest]) -> Iterator[str]:
    """How the totals of a snapshot differ from what its list counts, which need not be told."""
    totals = snapshot.totals
    for is_deletes, files, rows in (
        (False, "total-data-files", ("total-records",)),
        (True, "total-delete-files", ("total-position-deletes", "total-equality-deletes")),
    ):
        own = [one for one in listed if one.is_deletes == is_deletes]
        counts = [one.counts.get(status) for one in own for status in _LIVE]
        yield from _difference(snapshot, files, totals.get(files), counts)
        told = (
            None if not all(name in totals for name in rows) else sum(totals[one] for one in rows)
        )
        yield from _difference(snapshot, " and ".join(rows), told, [one.rows for one in own])


def _difference(
    snapshot: Snapshot, name: str, told: int | None, counts: Sequence[int | None]
) -> Iterator[str]:
    known = [count for count in counts if count is not None]
    if told is not None and len(known) == len(counts) and sum(known) != told:
        yield f"snapshot {snapshot.id} says {name} {told}, its manifests have {sum(known)}"


def doubts_of_manifest(
    manifest: Manifest, entries: Sequence[Entry], metadata: TableMetadata
) -> Iterator[str]:
    """What a list says of a manifest's files and is not so of one of them, the first one alone."""
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
        outside = (one for one in entries if not _within(one.partition[id_], summary, ends))
        for entry in outside:
            yield (
                f"{entry.where} has the partition value {entry.partition[id_]!r}, which is not "
                "within what its list says of its manifest"
            )
            break


def _ends(summary: PartitionSummary, kind: pa.DataType) -> tuple[Any, Any] | None:
    """The least and the greatest value of a manifest's partitions; None where that is not known."""
    found = []
    for end in (summary.lower, summary.upper):
        value = None if end is None else bound_value(end, kind)
        if value is None:
            return None
        if pa.types.is_temporal(kind):
            whole = pa.int32() if kind.bit_width == 32 else pa.int64()
            value = partition_value(value.cast(whole).as_py(), kind, "")
        else:
            value = value.as_py()
        found.append(value)
    return found[0], found[1]


def _within(value: Any, summary: PartitionSummary, ends: tuple[Any, Any] | None) -> bool:
    if value is None:
        return summary.has_null
    if ends is None:
        return True
    least, most = ends
    if isinstance(value, str | bytes) and value[: len(most)] == most:
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
        yield f"the data file {path} is there {count} times, and so are its rows"
    gone = next((path for path in with_vectors if path not in data), None)
    if gone is not None:
        yield f"a deletion vector is for {gone}, which is not there"

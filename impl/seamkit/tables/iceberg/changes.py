"""What changed between two snapshots, row by row (`query="cdc"`).

Each snapshot is held against the one before it, as Iceberg's `IncrementalChangelogScan` documents
its tasks: a data file that is new gives inserted rows, without those that its own commit deleted;
one that is gone gives deleted rows, those that were live; one that is in both gives the rows that
new deletes took out. Compactions change nothing and are left out. Rows that a commit only wrote
anew into another file are told as deleted and inserted, as that scan tells them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.roaring import Positions
from seamkit.scan.units import Changes, KeyMask, KeyTest, Mask, ReadContext, ReadUnit
from seamkit.tables.iceberg.content.open_file import FileOpener
from seamkit.tables.iceberg.deletes import DeleteIndex
from seamkit.tables.iceberg.metadata.document import Snapshot
from seamkit.tables.iceberg.metadata.manifests import DATA, EQUALITY_DELETES, Entry
from seamkit.tables.iceberg.planning import Planner, mask_of

__all__ = ["CHANGE_COLUMNS", "changed_units"]

CHANGE_COLUMNS = pa.schema(
    {"_change_type": pa.string(), "_change_ordinal": pa.int32(), "_commit_snapshot_id": pa.int64()}
)
"""Columns of a change besides the row's: `INSERT` or `DELETE`; the number of its snapshot among
those that changed rows, from 0; the snapshot."""

_Keys = Sequence[tuple[pa.Schema, Callable[[ReadContext], KeyTest]]]


@dataclass(frozen=True)
class _State:
    """The files of a snapshot: data by path, deletes by path and offset."""

    data: Mapping[str, Entry]
    deletes: Mapping[tuple[str, int | None], Entry]
    index: DeleteIndex


def changed_units(planner: Planner, line: Sequence[Snapshot]) -> list[ReadUnit]:
    """Read units of the changes of some snapshots, each the parent of the next.

    Raises:
        InputError: the metadata of a snapshot is broken.
        RefusedError: a snapshot brought deleted rows back.
    """
    units: list[ReadUnit] = []
    ordinal = 0
    before: tuple[int | None, _State] | None = None
    for snapshot in line:
        if snapshot.operation == "replace":
            continue
        parent = snapshot.parent_id
        if before is None or before[0] != parent:
            before = parent, _state(planner, planner.metadata.snapshots.get(parent or -1))
        after = _state(planner, snapshot)
        for kind, unit in _of_snapshot(planner, snapshot, before[1], after):
            units.append(_told(unit, kind, ordinal, snapshot))
        ordinal += 1
        before = snapshot.id, after
    return units


def _state(planner: Planner, snapshot: Snapshot | None) -> _State:
    entries = [] if snapshot is None else planner.entries(snapshot)
    deletes = {(one.path, one.offset): one for one in entries if one.content != DATA}
    data = {one.path: one for one in entries if one.content == DATA}
    return _State(data, deletes, _index(planner, list(deletes.values())))


def _index(planner: Planner, deletes: Sequence[Entry]) -> DeleteIndex:
    return DeleteIndex(deletes, planner.metadata, planner.opener)


def _told(unit: ReadUnit, kind: str, ordinal: int, snapshot: Snapshot) -> ReadUnit:
    """A unit whose rows say what happened to them."""
    values = (kind, ordinal, snapshot.id)
    told = {
        field.name: pa.scalar(value, field.type)
        for field, value in zip(CHANGE_COLUMNS, values, strict=True)
    }
    return replace(
        unit,
        partition={**unit.partition, **told},
        reason=f"{kind} of snapshot {snapshot.id}" + (f", {unit.reason}" if unit.reason else ""),
    )


def _of_snapshot(
    planner: Planner, snapshot: Snapshot, before: _State, after: _State
) -> Iterator[tuple[str, ReadUnit]]:
    """The units of what one snapshot did, those of deleted rows first."""
    for path, entry in before.data.items():
        if path not in after.data:
            yield "DELETE", planner.unit(entry, before.index)
    new = [one for key, one in after.deletes.items() if key not in before.deletes]
    gone = [one for key, one in before.deletes.items() if key not in after.deletes]
    if new or gone:
        kept = [entry for path, entry in after.data.items() if path in before.data]
        undone = _index(planner, [one for one in gone if one.content == EQUALITY_DELETES])
        for entry in kept:
            if undone.equality(entry):
                raise RefusedError(
                    f"{planner.metadata.where}: snapshot {snapshot.id} takes back deletes of rows "
                    f"of {entry.path}, which a read of changes has no word for"
                )
        fresh = _index(planner, [one for one in new if one.content == EQUALITY_DELETES])
        for entry in kept:
            for changes in _newly_deleted(planner, entry, before.index, after.index, fresh):
                yield "DELETE", planner.unit_with(entry, changes, (before.index, fresh))
    for path, entry in after.data.items():
        if path not in before.data:
            yield "INSERT", planner.unit(entry, after.index)


def _newly_deleted(
    planner: Planner, entry: Entry, before: DeleteIndex, after: DeleteIndex, fresh: DeleteIndex
) -> Iterator[Changes]:
    """Masks that leave of a file the rows that a snapshot deleted, each of them once.

    Args:
        planner: of the read.
        entry: the file.
        before: the deletes of the snapshot before.
        after: those of the snapshot.
        fresh: equality deletes that are new.
    """
    old, _ = mask_of(planner.opener, entry, before)
    now, _ = mask_of(planner.opener, entry, after)
    dead: _Keys = _tests(before, entry)
    if old is not None or now is not None:
        left = Mask(partial(all_but_new, planner.opener, entry, old, now))
        yield KeyMask(dead, left) if dead else left
    hit = _tests(fresh, entry)
    if hit:
        fields = {field.name: field for schema, _ in hit for field in schema}
        rest = pa.schema(list(fields.values())), partial(load_inverted, hit)
        yield KeyMask([*dead, rest], now)


def _tests(index: DeleteIndex, entry: Entry) -> _Keys:
    return [
        (deleted.schema, partial(deleted.test, entry.sequence_number))
        for deleted, _ in index.equality(entry)
    ]


def all_but_new(opener: FileOpener, entry: Entry, old: Mask | None, now: Mask | None) -> Positions:
    """The rows of a file without those that are gone now and were not before.

    The file itself is asked how many rows it has before room for them is made.

    Raises:
        InputError: the file is not what its manifest says, or has no such row as is gone.
        RefusedError: rows that were gone are there again.
    """
    reader = opener.checked(entry)
    where, records = reader.name, reader.num_rows
    gone = np.zeros(records, np.bool_)
    if now is not None:
        gone[_within(now.load(), records, where)] = True
    if old is not None:
        positions = _within(old.load(), records, where)
        if not gone[positions].all():
            raise RefusedError(
                f"{where}: rows that were deleted by position are there again, which a read of "
                "changes has no word for"
            )
        gone[positions] = False
    left: Positions = np.flatnonzero(~gone).astype(np.int64, copy=False)
    return left


def _within(positions: Positions, records: int, where: str) -> Positions:
    """Positions of rows that a file has; they ascend."""
    if len(positions) and not 0 <= positions[0] <= positions[-1] < records:
        raise InputError(
            f"{where}: row {positions[-1]} is deleted, its manifest says {records} rows"
        )
    return positions


def load_inverted(tests: _Keys, context: ReadContext) -> KeyTest:
    """A test that is true of rows of which none of some tests is."""
    return partial(_none_of, [(schema.names, load(context)) for schema, load in tests])


def _none_of(
    tests: Sequence[tuple[list[str], KeyTest]], keys: pa.RecordBatch
) -> npt.NDArray[np.bool_]:
    found = np.zeros(keys.num_rows, np.bool_)
    for names, test in tests:
        found |= test(keys.select(names))
    return ~found

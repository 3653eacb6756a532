"""What happened between two snapshots: rows that were appended, and changes row by row.

Appends (`query="incremental"`): the line of parents is followed from the end back to the begin. Of
the snapshots on it those count whose operation is `append`; each gives the files that it added, as
they were added: no delete is applied. Compactions add nothing; what overwrites and deletes did is
no append and is left out, as Spark leaves it out, which the plan notes.

Changes (`query="cdc"`): each snapshot is held against the one before it, as Iceberg's
`IncrementalChangelogScan` documents its tasks: a data file that is new gives inserted rows, without
those that its own commit deleted; one that is gone gives deleted rows, those that were live; one
that is in both gives the rows that new deletes took out. Compactions change nothing and are left
out. So are rows that a commit only wrote anew into another file, as Spark's `create_changelog_view`
leaves carry-over rows out: of rows that are alike in all columns of the table, as many are left out
as one commit has both deleted and inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seamkit.files import vectors
from seamkit.files.roaring import Positions
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import Changes, KeyMask, KeyTest, Mask, ReadContext, ReadPlan, ReadUnit
from seamkit.tables.iceberg.data_files import FileOpener
from seamkit.tables.iceberg.deletes import DeleteIndex
from seamkit.tables.iceberg.metadata.document import Snapshot, TableFiles, TableMetadata
from seamkit.tables.iceberg.metadata.entries import DATA, EQUALITY_DELETES, Entry, read_entries
from seamkit.tables.iceberg.metadata.manifests import read_list
from seamkit.tables.iceberg.planning import Planner, doubts_of_manifest, mask_of
from seamkit.tables.states import both_states, not_in_both

_ADDS_NOTHING = ("append", "replace")


@dataclass(frozen=True)
class Window:
    """Snapshots of a line of parents."""

    appends: list[Snapshot]  # those that appended, oldest first
    notes: list[str]  # the others that changed rows, in words


def snapshots_between(metadata: TableMetadata, begin: int | None, end: Snapshot | None) -> Window:
    """The snapshots after one and up to another that appended; see `line_between`."""
    line = line_between(metadata, begin, end)
    notes = [
        f"left out: {one.operation or 'unknown operation'} of snapshot {one.id}, no append"
        for one in line
        if one.operation not in _ADDS_NOTHING
    ]
    return Window([one for one in line if one.operation == "append"], notes)


def line_between(
    metadata: TableMetadata, begin: int | None, end: Snapshot | None
) -> list[Snapshot]:
    """The snapshots after one and up to another, oldest first, each the parent of the next.

    `begin` is the id of one that is not among them, and may have expired (None: the beginning of
    the table), `end` is the last (None: a table without one).
    """
    line = []
    for snapshot in _ancestors(metadata, end):
        if snapshot.id == begin:
            break
        line.append(snapshot)
    else:
        _check_whole(metadata, begin, line)
    line.reverse()
    return line


def _check_whole(metadata: TableMetadata, begin: int | None, line: list[Snapshot]) -> None:
    """Refuse a line that ended before what was asked for."""
    if line and line[-1].parent_id == begin:
        return
    if begin is not None:
        raise UsageError(
            f"{metadata.where}: snapshot {begin} is no ancestor of the snapshot at which the "
            "read ends"
        )
    if line:
        raise UsageError(
            f"{metadata.where}: the snapshots before {line[-1].id} are gone, so what they changed "
            "is not known: name a begin"
        )


def _ancestors(metadata: TableMetadata, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """A snapshot and those before it, as far as they are known."""
    seen: set[int] = set()
    while snapshot is not None and snapshot.id not in seen:
        seen.add(snapshot.id)
        yield snapshot
        snapshot = metadata.snapshots.get(-1 if snapshot.parent_id is None else snapshot.parent_id)


def appended_files(
    files: TableFiles, appends: list[Snapshot], metadata: TableMetadata
) -> tuple[list[Entry], list[str]]:
    """The data files that some snapshots appended, oldest first, and what is doubted of them."""
    found: list[Entry] = []
    doubts: list[str] = []
    for snapshot in appends:
        listed = [
            one
            for one in read_list(files, snapshot, metadata)
            if one.snapshot_id in (None, snapshot.id) and not one.is_deletes
        ]
        read = read_entries(files, listed, metadata)
        for manifest, own in zip(listed, read, strict=True):
            doubts += doubts_of_manifest(manifest, own, metadata)
            found += [
                entry
                for entry in own.entries
                if entry.content == DATA and entry.is_new and entry.added_by == snapshot.id
            ]
    return found, doubts


CHANGE_COLUMNS = pa.schema(
    {"_change_type": pa.string(), "_change_ordinal": pa.int32(), "_commit_snapshot_id": pa.int64()}
)
"""Columns of a change besides the row's: `INSERT` or `DELETE`; the number of its snapshot among
those that changed rows, from 0; the snapshot."""

_OF_COMMIT = CHANGE_COLUMNS.names[1:]

_Keys = Sequence[tuple[pa.Schema, Callable[[ReadContext], KeyTest]]]


@dataclass(frozen=True)
class CommitChanges:
    """Reads units that stand for commits; rows that a commit only wrote anew are left out.

    Of a commit that both deleted and inserted rows all of these are held in memory.
    """

    # by unit what its commit deleted, and what it inserted; units that are not there are read as
    # they are
    commits: Mapping[str, tuple[ReadPlan, ReadPlan]]
    columns: Sequence[str]  # of the table, by which rows are alike

    def __call__(
        self, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """The changes of a unit."""
        if unit.name not in self.commits:
            whole, options = ReadPlan(unit.name, schema, [unit]), ScanOptions(batch_rows, threads=1)
            yield from UnitScan(whole, schema.names, None, options).to_reader()
            return
        names = list(dict.fromkeys([*self.columns, *schema.names]))
        with both_states(self.commits[unit.name], names, context) as sides:
            left = not_in_both(*sides, self.columns)
            for side, kept in zip(sides, left, strict=True):
                rows = side.select(schema.names).filter(pa.array(kept))
                for begin in range(0, rows.num_rows, batch_rows):
                    yield rows.slice(begin, batch_rows)


@dataclass(frozen=True)
class _State:
    """The files of a snapshot: data by path, deletes by path and offset."""

    data: Mapping[str, Entry]
    deletes: Mapping[tuple[str, int | None], Entry]
    index: DeleteIndex


def changed_units(
    planner: Planner, line: Sequence[Snapshot], schema: pa.Schema
) -> tuple[list[ReadUnit], CommitChanges]:
    """Read units of the changes of some snapshots, each the parent of the next, and their reader.

    `schema` has the columns that a change may have, those of `CHANGE_COLUMNS` among them.
    """
    units: list[ReadUnit] = []
    commits: dict[str, tuple[ReadPlan, ReadPlan]] = {}
    ordinal = 0
    before: tuple[int | None, _State] | None = None
    for snapshot in line:
        if snapshot.operation == "replace":
            continue
        parent = snapshot.parent_id
        if before is None or before[0] != parent:
            before = parent, _state(planner, planner.metadata.snapshots.get(parent or -1))
        after = _state(planner, snapshot)
        sides: dict[str, list[ReadUnit]] = {"DELETE": [], "INSERT": []}
        for kind, unit in _of_snapshot(planner, snapshot, before[1], after):
            sides[kind].append(_marked(unit, kind, ordinal, snapshot))
        both = [*sides["DELETE"], *sides["INSERT"]]
        if all(sides.values()):
            name = f"snapshot {snapshot.id}"
            where = planner.metadata.where
            old, new = (ReadPlan(where, schema, side) for side in sides.values())
            commits[name] = old, new
            both = [_of_commit(name, both)]
        units += both
        ordinal += 1
        before = snapshot.id, after
    return units, CommitChanges(commits, planner.schema.arrow.names)


def _of_commit(name: str, units: Sequence[ReadUnit]) -> ReadUnit:
    """One unit for what a commit deleted and inserted."""
    files = [file for unit in units for file in unit.files]
    shared = {key: value for key, value in units[0].partition.items() if key in _OF_COMMIT}
    reason = "rows that it only wrote anew are left out"
    return ReadUnit(name, files, shared, reason=reason, made=True)


def _state(planner: Planner, snapshot: Snapshot | None) -> _State:
    entries = [] if snapshot is None else planner.entries(snapshot)
    deletes = {(one.path, one.offset): one for one in entries if one.content != DATA}
    data = {one.path: one for one in entries if one.content == DATA}
    return _State(data, deletes, _index(planner, list(deletes.values())))


def _index(planner: Planner, deletes: Sequence[Entry]) -> DeleteIndex:
    return DeleteIndex(deletes, planner.metadata, planner.opener)


def _marked(unit: ReadUnit, kind: str, ordinal: int, snapshot: Snapshot) -> ReadUnit:
    """A unit whose rows say what happened to them."""
    values = (kind, ordinal, snapshot.id)
    constants = {
        field.name: pa.scalar(value, field.type)
        for field, value in zip(CHANGE_COLUMNS, values, strict=True)
    }
    return replace(
        unit,
        partition={**unit.partition, **constants},
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
    """Masks that leave of a file the rows that a snapshot deleted, each of them once."""
    # `before` are the deletes of the snapshot before, `after` its own, `fresh` equality deletes
    # that are new.
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
        for deleted in index.equality(entry)
    ]


def all_but_new(opener: FileOpener, entry: Entry, old: Mask | None, now: Mask | None) -> Positions:
    """The rows of a file without those that are gone now and were not before.

    The file itself is asked how many rows it has before room for them is made.
    """
    reader = opener.checked(entry)
    gone = None if now is None else now.load()
    before = None if old is None else old.load()
    if before is not None and not np.isin(before, () if gone is None else gone).all():
        raise RefusedError(
            f"{reader.name}: rows that were deleted by position are there again, which a read of "
            "changes has no word for"
        )
    return vectors.all_but_new(reader.num_rows, gone, before, reader.name)


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

"""Plans for queries of changes: what commits wrote, what changelogs say, how two snapshots differ.

As in Paimon, the files that a commit added count if it was an append (compactions add nothing new,
overwrites are left out), and changelog files unless it was an overwrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seamkit.files.storage import Storage
from seamkit.scan.unit_tasks import ReadRows
from seamkit.scan.units import Mask, ReadPlan, ReadUnit
from seamkit.tables.paimon.change_rows import Differences, changelog_rows
from seamkit.tables.paimon.metadata.manifests import FileEntry, added_files, live_files
from seamkit.tables.paimon.metadata.schemas import ROW_KIND, Schemas, TableSchema, read_options
from seamkit.tables.paimon.metadata.snapshots import (
    ChangeMode,
    ManifestList,
    Snapshot,
    SnapshotFolder,
    Window,
)
from seamkit.tables.paimon.planning import Planner
from seamkit.tables.states import image_schema, refuse_taken_names

_Listed = Callable[[Snapshot], ManifestList | None]
"""The list of manifests that counts of a snapshot; None where none does."""


def _delta(snapshot: Snapshot) -> ManifestList | None:
    return snapshot.delta_list if snapshot.kind == "APPEND" else None


def _changelog(snapshot: Snapshot) -> ManifestList | None:
    return None if snapshot.kind == "OVERWRITE" else snapshot.changelog_list


Planned = tuple[ReadPlan, tuple[str, ReadRows] | None]
"""A plan, and how its units are read where that is not the way of a snapshot's: what reports call
it, and what reads."""


@dataclass(frozen=True)
class ChangePlanner:
    """Plans the changes of a window, shown in one of the table's schemas."""

    storage: Storage
    schemas: Schemas
    schema: TableSchema
    snapshots: SnapshotFolder
    bounds: Window

    def plan(
        self, query: Literal["incremental", "cdc"], mode: ChangeMode, *, row_kinds: bool
    ) -> Planned:
        """The plan of a query for rows, or changes, taken from where `mode` says.

        With `row_kinds` rows of an incremental query have their kinds, retracts among them.
        """
        if mode == "auto":
            mode = self._usual(query)
        if mode == "diff":
            if row_kinds:
                raise UsageError(
                    "the mode diff has no row_kinds: it compares rows; a cdc query tells what "
                    "became of each"
                )
            return self._differences(query)
        if mode == "delta":
            if query == "cdc":
                raise UsageError(
                    "what commits wrote does not tell inserts from updates: a cdc query has the "
                    "mode changelog or diff"
                )
            return self._as_written(_delta, "what commits added", row_kinds), None
        if not self._keeps_changelog:
            raise RefusedError(
                f"{self.schema.where}: the table keeps no changelog (changelog-producer=none); "
                "the mode diff compares two snapshots"
            )
        if query == "cdc":
            return self._changelog()
        return self._as_written(_changelog, "what changelogs say", row_kinds), None

    @property
    def _keeps_changelog(self) -> bool:
        return self.schema.options.get("changelog-producer", "none").lower() != "none"

    def _usual(self, query: str) -> ChangeMode:
        """What `auto` means: between tags a comparison, else the changelog if there is one."""
        if self.bounds.tags:
            return "diff"
        return "changelog" if self._keeps_changelog or query == "cdc" else "delta"

    def _planner(self, snapshot: Snapshot | None) -> Planner:
        """A planner of a state, which hid rows of level 0 if its own schema had vectors."""
        options = read_options(self.schema)
        if snapshot is not None:
            then = read_options(self.schemas.load(snapshot.schema_id))
            options = replace(options, awaits_vectors=then.awaits_vectors)
        return Planner(self.storage, self.schemas, self.schema, options, snapshot, self.snapshots)

    def _read_plan(
        self, units: Sequence[ReadUnit], what: str, schema: pa.Schema | None = None
    ) -> ReadPlan:
        begin, end = self.bounds.begin, self.bounds.end
        first, last = 0 if begin is None else begin.id, 0 if end is None else end.id
        heading = f"{what} after snapshot {first} up to {last}"
        return ReadPlan(self.storage.root, schema or self.schema.arrow, units, heading)

    def _files(self, listed: _Listed) -> Iterator[tuple[Snapshot, list[FileEntry]]]:
        """The files of each snapshot that counts."""
        for snapshot in self.bounds.snapshots(self.snapshots):
            manifest_list = listed(snapshot)
            if manifest_list is not None:
                yield snapshot, added_files(self.storage, manifest_list)

    def _as_written(self, listed: _Listed, what: str, row_kinds: bool) -> ReadPlan:
        """Rows as files have them, commit by commit; with their kinds, or without retracts."""
        planner, schema = self._planner(None), self.schema.arrow
        if planner.options.evolves:
            raise RefusedError(
                f"{self.schema.where}: with data-evolution.enabled a commit may write some columns "
                "alone of rows that are there; windows of such a table are not supported"
            )
        files = [file for _, own in self._files(listed) for file in own]
        if row_kinds:
            refuse_taken_names(schema, [ROW_KIND], self.schema.where)
            schema = schema.insert(0, pa.field(ROW_KIND, pa.string()))
        units = planner.as_written(files, row_kinds=row_kinds)
        return self._read_plan(units, what, schema)

    def _changelog(self) -> Planned:
        """Changes with both images of a row, of each file of a changelog."""
        planner = self._planner(None)
        units: list[ReadUnit] = []
        for snapshot, files in self._files(_changelog):
            time = pa.scalar(str(snapshot.time_millis))
            units += [
                replace(unit, partition={"ts_ms": time}, changes=None, made=True)
                for unit in planner.as_written(files)
            ]
        plan = self._read_plan(units, "changelogs", image_schema(self.schema.arrow))
        read = partial(changelog_rows, self.schema.arrow, tuple(self.schema.primary_keys))
        return plan, ("changelog", read)

    def _differences(self, query: Literal["incremental", "cdc"]) -> Planned:
        """How the state at the end differs from that at the begin, partition by partition."""
        if not self.schema.primary_keys:
            raise RefusedError(
                f"{self.schema.where}: a table without a primary key has no rows to compare"
            )
        end, images = self.bounds.end, query == "cdc"
        known = {"ts_ms": pa.scalar(str(end.time_millis))} if images and end is not None else {}
        planners = [self._planner(one) for one in (self.bounds.begin, end)]
        before, after = (self._by_partition(planner) for planner in planners)
        units, plans = [], {}
        for number, partition in enumerate(dict.fromkeys([*before, *after])):
            old, new = before.get(partition, []), after.get(partition, [])
            if _alike(old, new):
                continue
            name = f"partition {number}"
            files = [file for unit in (*old, *new) for file in unit.files]
            reason = "two states are compared"
            units.append(ReadUnit(name, files, known, reason=reason, made=True))
            plans[name] = (self._state(old), self._state(new))
        read = Differences(plans, tuple(self.schema.merge_keys), with_images=images)
        schema = image_schema(self.schema.arrow) if images else None
        plan = self._read_plan(units, "differences", schema)
        warned = list(dict.fromkeys(one for planner in planners for one in planner.warnings))
        return replace(plan, warnings=warned), ("diff", read)

    def _by_partition(self, planner: Planner) -> Mapping[bytes, list[ReadUnit]]:
        """The units of each partition of a planner's snapshot."""
        if planner.snapshot is None:
            return {}
        return planner.units_by_partition(live_files(self.storage, planner.snapshot))

    def _state(self, units: Sequence[ReadUnit]) -> ReadPlan:
        return ReadPlan(self.storage.root, self.schema.arrow, units)


def _alike(before: Sequence[ReadUnit], after: Sequence[ReadUnit]) -> bool:
    """Whether both states have the same files, none of which has a mask."""
    names = [sorted(f.name for unit in state for f in unit.files) for state in (before, after)]
    masked = any(isinstance(unit.changes, Mask) for unit in (*before, *after))
    return names[0] == names[1] and not masked

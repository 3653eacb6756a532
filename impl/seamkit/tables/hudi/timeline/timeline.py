"""The timeline: which instants there are, in which state, and what completed ones say.

Layout 1 (versions up to 6) keeps `T.action[.state]` in `.hoodie/`, layout 2 (8 and up)
`R_C.action` in a folder of its own, with the completion time C in the name (docs/hudi.md).
Instants are compared as strings.

With `hoodie.schema.on.read.enable` every change of the schema is kept in `.hoodie/.schema`: a file
`*.schemacommit` holds JSON, `{"schemas": [...]}`, with all versions so far. A version has the
`version_id` of the instant that made it (0: before the first change), and its fields, at every
depth, have an `id` that stays when their name changes. A file or log block was written with the
latest version that is not younger than its instant (Hudi 1.2.0, `InternalSchemaUtils`). A column
that was dropped and added again has another id, so older values stay away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from seambase.errors import InputError, RefusedError
from seamkit.avro.schema import field_paths
from seamkit.files.columns import Finder, Place
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import TIMELINE, TableConfig
from seamkit.tables.hudi.timeline.archive import Archive
from seamkit.tables.hudi.timeline.instants import (
    WRITES,
    Instant,
    WriteStat,
    completed_as,
    parse_body,
    parse_name,
    parse_write,
)

HISTORY = ".hoodie/.schema"
_COMMIT = re.compile(r"^(\d{14}|\d{17})(?:_\d+)?\.schemacommit$")


@dataclass(frozen=True)
class FileNames:
    """How a file's names differ from the table's."""

    table: Sequence[Place]  # the columns of the version that a read shows
    file: Sequence[Place]  # those of the version that the file was written with

    def finder(self, where: str) -> Finder:
        """Finds columns in the file; those that are not from the history never changed names."""
        table = {place.name: place for place in self.table}
        return Finder(table, Place("", (), self.file), where, has_others=True)


@dataclass(frozen=True)
class SchemaHistory:
    """All versions of a table's schema, oldest first, with the instants that made them."""

    versions: Sequence[tuple[int, Sequence[Place]]]

    def at(self, instant: str | None) -> tuple[int, Sequence[Place]]:
        """The version of an instant, or the latest one."""
        best = self.versions[-1 if instant is None else 0]
        for version in self.versions:
            if instant is not None and version[0] <= int(instant):
                best = version
        return best


_LEAST_INSTANT = 10**13  # of 14 digits; the version of a table before its first change has 0


def load_history(storage: Storage, committed: Any) -> SchemaHistory | None:
    """The newest history of a table, or None if its schema never changed in this way."""
    stored = []
    for status in storage.list(HISTORY):
        match = _COMMIT.match(status.name)
        if match is not None and status.size_bytes and committed(match[1]):
            stored.append((match[1], status.path))
    if not stored:
        return None
    path = max(stored)[1]
    try:
        content = json.loads(storage.read(path))
        versions = [(int(s["version_id"]), _places(s)) for s in content["schemas"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{storage.full(path)}: not readable as a history of schemas ({error!r})"
        ) from error
    if not versions:
        raise InputError(f"{storage.full(path)}: a history without a schema")
    for number, _ in versions:
        if 0 < number < _LEAST_INSTANT:
            raise RefusedError(
                f"{storage.full(path)}: a version of the schema has the number {number} and no "
                "instant, as Hudi before 0.14.1 wrote where a column was dropped (HUDI-6865); "
                "which files are of it is not told"
            )
    return SchemaHistory(sorted(versions, key=lambda version: version[0]))


def _places(kind: Any) -> list[Place]:
    """The fields within a type, by their ids."""
    if not isinstance(kind, dict):
        return []
    if kind["type"] == "record":
        return [Place(f["name"], (int(f["id"]),), _places(f["type"])) for f in kind["fields"]]
    if kind["type"] == "array":
        return [Place("element", (), _places(kind["element"]))]
    if kind["type"] == "map":
        return [Place("key"), Place("value", (), _places(kind["value"]))]
    return []


Write = tuple[Instant, dict[str, Any]]
"""A completed write, and what it says of itself."""


#: Actions that take back what others wrote.
_UNDOING = ("rollback", "restore")
# These put rows elsewhere and leave the schema as it was, whatever their metadata says
# (WriteOperationType, canUpdateSchema): it is the one of the time at which they were planned.
_REWRITES = ("CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT")

Item = TypeVar("Item")

_BYTES_A_FILE, _BYTES_A_BODY = 500, 20_000  # of what writes say, in memory, about
_INSTANT_KEPT = "instant of Hudi"
_STATES = ("requested", "inflight", "completed")


@dataclass
class Timeline:
    """All instants of a table, by the time they were requested.

    Attributes:
        instants: the active ones, by `requested`.
        archive: those that have left the active timeline.
        has_gap: whether one was met that has left it while an older one is active.
    """

    storage: Storage
    config: TableConfig
    instants: list[Instant]
    archive: Archive
    has_gap: bool = False

    def __post_init__(self) -> None:
        self._completed = {i.requested: i for i in self.instants if i.is_write}
        self._bodies: dict[str, dict[str, Any]] = {}
        self._schemas: dict[str | None, str | None] = {}
        self._written_columns: dict[str, frozenset[str] | None] = {}
        self._pending = {
            i.requested
            for i in self.instants
            if i.state != "completed" and completed_as(i.action) in WRITES
        }

    @cached_property
    def start(self) -> str:
        """The first active write; what lies before it is archived, and so was completed.

        A savepoint keeps its commit in the active timeline while later ones are archived, so
        savepointed commits do not count (Hudi 1.2.0, BaseHoodieTimeline, first non-savepoint
        commit).
        """
        savepoints = {i.requested for i in self.instants if i.action == "savepoint"}
        writes = (
            i.requested
            for i in self.instants
            if i.requested not in savepoints and (i.action == "compaction" or i.is_write)
        )
        return next(writes, "")

    @cached_property
    def _first_pending(self) -> str:
        return min(self._pending, default=self.start)

    def is_committed(self, requested: str) -> bool:
        """Whether a file or log block of that instant counts.

        The archive need not know it: whatever is older than the active timeline and not pending
        there was committed (Hudi 1.2.0, containsOrBeforeTimelineStarts).
        """
        if requested in self._completed:
            return True
        if requested in self._pending:
            return False
        return requested < self.start or self._is_in_gap(requested)

    def _is_in_gap(self, requested: str) -> bool:
        """Whether the archive alone knows a write, although an older one is active.

        A savepoint has kept that one (`hoodie.archive.beyond.savepoint`), and is deleted. Hudi
        leaves out what the gap has written until the older one is archived, too, and shows the
        rows from before it.
        """
        # An archive is slow to read: not for what is newer, or was undone. A restore need not name
        # what had been archived.
        if (
            requested > (self.last_completed() or "")
            or requested in self._rolled_back
            or any(one.action == "restore" for one in self.instants)
        ):
            return False
        is_there = requested in self.archive.completion_times
        self.has_gap = self.has_gap or is_there
        return is_there

    def is_log_committed(self, requested: str) -> bool:
        """Whether a log counts whose name bears that instant, as that of its write in layout 2.

        Nothing is archived there behind a write that still runs (CompletionTimeQueryViewV2), so
        that what has left a log there, and is no active instant, has died.
        """
        if not self.is_committed(requested):
            return False
        told = requested in self._completed or self.config.timeline_layout == 1
        known = told or requested < self._first_pending
        return known or requested in self.archive.completion_times

    def knows(self, requested: str) -> bool:
        """Whether the timeline has ever heard of an instant that wrote a log block.

        Instants that were rolled back are named by the rollback alone. What is older than the
        active timeline counts as known, since an archive may be gone.
        """
        if requested < self.start or any(i.requested == requested for i in self.instants):
            return True
        if requested in self._rolled_back:
            return True
        return any(
            i.requested == requested or (i.action in _UNDOING and i.requested > requested)
            for i in self.archive.instants
        )

    def may_cluster(self, requested: str) -> bool:
        """Whether an instant is that of a clustering, pending, done, undone or archived.

        Of those that are not active any more not all tell their action.
        """
        active = {completed_as(i.action) for i in self.instants if i.requested == requested}
        return "replacecommit" in active or (not active and self.knows(requested))

    def is_pending(self, requested: str) -> bool:
        """Whether a write has begun and not completed."""
        return requested in self._pending

    @cached_property
    def _rolled_back(self) -> frozenset[str]:
        """Instants that active rollbacks and restores have undone, or are about to."""
        undone: set[str] = set()
        for instant in self.instants:
            if instant.action in _UNDOING:
                where = self.storage.full(instant.path)
                undone.update(_undone(parse_body(self.storage.read(instant.path), where), where))
        return frozenset(undone)

    def written_columns(self, requested: str) -> frozenset[str] | None:
        """Fields of the schema that an active write says it wrote; None if it does not tell.

        Those within columns have dotted names.
        """
        if requested not in self._written_columns:
            instant = self._completed.get(requested)
            text = None if instant is None else _schema_of(self.metadata(instant))
            try:
                names = field_paths(text) if text else None
            except (InputError, RecursionError):
                names = None  # whoever needs the schema tells what is wrong
            self._written_columns[requested] = names
        return self._written_columns[requested]

    def completion(self, requested: str) -> str | None:
        """When a write completed (layout 2), or None if it did not, or nobody knows."""
        instant = self._completed.get(requested)
        return instant.completed if instant else self.archive.completion_times.get(requested)

    def completion_times(self) -> dict[str, str]:
        """Completion times of all completed writes (layout 2), archived too, by requested time."""
        active = {i.requested: i.completed for i in self._completed.values() if i.completed}
        return {**self.archive.completion_times, **active}

    def last_completed(self) -> str | None:
        """The requested time of the last completed write, or None for an empty table."""
        return max(self._completed, default=None)

    def pending_compactions(self) -> list[Instant]:
        """Compactions that were scheduled and did not complete."""
        return [i for i in self.instants if i.action == "compaction" and i.state != "completed"]

    def metadata(self, instant: Instant) -> dict[str, Any]:
        """What a completed commit, deltacommit or replacecommit says of itself."""
        if instant.requested not in self._bodies:
            self._bodies[instant.requested] = self.storage.kept(
                [instant.path],
                partial(self._body, instant),
                lambda body: (
                    _BYTES_A_FILE * sum(map(len, _stats_of(body).values())) + _BYTES_A_BODY
                ),
                _INSTANT_KEPT,
                instant.action,
            )
        return self._bodies[instant.requested]

    def _body(self, instant: Instant) -> dict[str, Any]:
        content = self.storage.read(instant.path)
        where = self.storage.full(instant.path)
        # Hudi takes an empty file for a commit that says nothing; but a group that it does not
        # know to be replaced is read twice.
        if not content.strip() and instant.action == "replacecommit":
            raise InputError(f"{where}: an empty file where a replacecommit tells what it did")
        return parse_write(content, where)

    def compaction_plan(self, instant: Instant) -> list[tuple[str, str]]:
        """Partition and file id of each slice that a pending compaction will rewrite."""
        return self._operations(
            instant, "compaction", lambda o: (_text(o["partitionPath"]), _text(o["fileId"]))
        )

    def put_together_by(self, instant: Instant) -> set[str]:
        """Instants whose logs a log compaction has put together; from version 8 on."""
        logs = self._operations(instant, "logcompaction", lambda o: _texts(o["deltaFilePaths"]))
        paths = [path for listed in logs for path in listed]
        return {path.rpartition(".log.")[0].rpartition("_")[2] for path in paths}

    def _operations(
        self, instant: Instant, action: str, read: Callable[[Mapping[str, Any]], Item]
    ) -> list[Item]:
        """What the plan of a compaction says of each slice."""
        name = f"{instant.requested}.{action}.requested"
        path = f"{self.config.timeline_folder}/{name}"
        content = self.storage.read(path)
        if not content and self.config.version < 6:  # kept beside the timeline up to version 5
            path = f".hoodie/.aux/{name}"
            content = self.storage.read(path)
        where = self.storage.full(path)
        if not content:
            raise InputError(f"{where}: an empty file where a compaction's plan should be")
        try:
            operations = parse_body(content, where).get("operations") or []
            return [read(operation) for operation in operations]
        except (KeyError, TypeError) as error:
            raise InputError(f"{where}: not readable as a compaction's plan ({error!r})") from error

    def completed_writes(self, *, archived: bool) -> list[Write]:
        """Completed writes and what they say of themselves, the oldest first.

        Reads of what the table is can do without the archived ones: Hudi archives a replacecommit
        when the files that it replaced are gone.
        """
        writes = dict(self._archived_writes) if archived else {}
        writes |= {instant: self.metadata(instant) for instant in self._completed.values()}
        return sorted(writes.items(), key=lambda write: write[0].requested)

    def newest_writes(self) -> Iterator[Write]:
        """All of them, the newest first; the archive is read only by who goes on so far."""
        for instant in reversed(self._completed.values()):
            yield instant, self.metadata(instant)
        # A savepoint, or an archival that was cut off, leaves active what is archived as well.
        for instant, body in self._archived_writes.items():
            if instant.requested not in self._completed:
                yield instant, body

    @cached_property
    def _archived_writes(self) -> Mapping[Instant, dict[str, Any]]:
        """Kept, since it is slow to read."""
        return dict(self.archive.bodies(WRITES))

    def identity(self) -> Hashable | None:
        """What tells the active timeline from any other; None where files have no identity."""
        files = self.storage.identities([instant.path for instant in self.instants])
        return None if files is None else (tuple(sorted(self.config.raw.items())), files)

    def writes(self) -> list[Instant]:
        """Completed instants that may have written files, the oldest first."""
        return list(self._completed.values())

    def written_paths(self, requested: str) -> set[str]:
        """Files, below the table, that an active write says it has written."""
        instant = self._completed.get(requested)
        stats = _stats_of(self.metadata(instant)) if instant else {}
        return {path for files in stats.values() for path, *_ in files}

    def ahead(self, folders: Iterable[str], *, history: bool = True) -> None:
        """Ask at once for what active writes say, for what a plan looks up, and for more folders.

        See `Storage.ahead`. All of it is no older than this timeline. What writes say is not asked
        for where an earlier plan has kept it. With `history` versions of the schema are asked for,
        too.
        """
        unknown = [
            i.path
            for i in self._completed.values()
            if i.requested not in self._bodies
            and not self.storage.has_kept([i.path], _INSTANT_KEPT, i.action)
        ]
        known = not history or "schema_history" in self.__dict__
        self.storage.ahead(unknown, folders if known else [HISTORY, *folders])

    @cached_property
    def schema_history(self) -> SchemaHistory | None:
        """Versions of the schema with the ids of columns; None without any rename."""
        return load_history(self.storage, self.is_committed)

    def latest_schema(self, up_to: str | None = None) -> str | None:
        """The Avro schema (JSON, without meta columns) of the latest write that tells one.

        Writes requested after `up_to` do not count. Where the active timeline has none, the archive
        is asked, and then the properties.
        """
        if up_to not in self._schemas:
            self._schemas[up_to] = self._look_up_schema(up_to)
        return self._schemas[up_to]

    def _look_up_schema(self, up_to: str | None) -> str | None:
        for instant in reversed(self.writes()):
            if up_to is None or instant.requested <= up_to:
                schema = _schema_of(self.metadata(instant))
                if schema:
                    return schema
        for _, body in self.archive.bodies(WRITES, up_to):
            schema = _schema_of(body)
            if schema:
                return schema
        return self.config.raw.get("hoodie.table.create.schema")


def _text(value: Any) -> str:
    """A text, empty for null; TypeError for whatever else."""
    if not isinstance(value, str | None):
        raise TypeError(f"{value!r:.80} where a text is expected")
    return value or ""


def _texts(value: Any) -> list[str]:
    """Texts of a list, none for null; TypeError for whatever else."""
    if not isinstance(value, list | None):
        raise TypeError(f"{value!r:.80} where a list is expected")
    return [_text(item) for item in value or ()]


def _undone(body: Mapping[str, Any], where: str) -> Iterator[str]:
    """Instants that a rollback or restore has undone, or is about to."""
    try:
        for name in ("commitsRollback", "instantsToRollback"):
            for listed in body.get(name) or ():
                yield _text(listed["commitTime"] if isinstance(listed, dict) else listed)
        yield _text((body.get("instantToRollback") or {}).get("commitTime"))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: not readable as a rollback ({error!r})") from error


def replaced_groups(instant: Instant, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Partition and file id of each group that clustering or an overwrite replaced."""
    if instant.action == "replacecommit":
        for partition, file_ids in (body.get("partitionToReplaceFileIds") or {}).items():
            for file_id in file_ids:
                yield partition, file_id


def written_groups(body: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Partition and file id of each group that a write says it wrote to."""
    stats = _stats_of(body).items()
    return {(partition, file_id) for partition, files in stats for _, file_id, *_ in files}


def _stats_of(body: Mapping[str, Any]) -> Mapping[str, Sequence[WriteStat]]:
    """What a write says of each file that it wrote, by partition."""
    found: Mapping[str, Sequence[WriteStat]] = body.get("partitionToWriteStats") or {}
    return found


def changes_rows(body: Mapping[str, Any]) -> bool:
    """Whether a write may have changed rows: compaction and clustering only put them elsewhere."""
    return body.get("operationType") not in _REWRITES and not body.get("compacted")


def is_log_compaction(body: Mapping[str, Any]) -> bool:
    """Whether a write put the logs of slices together into one each."""
    return body.get("operationType") == "LOG_COMPACT"


def _schema_of(metadata: Mapping[str, Any]) -> str | None:
    if metadata.get("operationType") in _REWRITES:
        return None
    schema = (metadata.get("extraMetadata") or {}).get("schema")
    return str(schema) if schema else None


def load_timeline(storage: Storage, config: TableConfig) -> Timeline:
    """Read the names of the active timeline."""
    entries = storage.list(config.timeline_folder)
    if not entries and not storage.exists(config.timeline_folder):
        raise InputError(f"{storage.full(config.timeline_folder)}: the timeline is missing")
    furthest: dict[tuple[str, str], Instant] = {}
    for status in entries:
        if status.size_bytes is None:
            continue
        instant = parse_name(status.name, status.path, config.timeline_layout)
        if instant is None:
            continue
        # A savepoint bears the instant of the commit it keeps, so the action is part of the key.
        key = (instant.requested, completed_as(instant.action))
        known = furthest.get(key)
        if known is None or _STATES.index(instant.state) > _STATES.index(known.state):
            furthest[key] = instant
    if config.timeline_layout == 1 and any(one.path == TIMELINE for one in entries):
        _refuse_half_upgraded(storage)
    instants = sorted(furthest.values(), key=lambda i: (i.requested, i.action))
    return Timeline(storage, config, instants, Archive(storage, config))


def _refuse_half_upgraded(storage: Storage) -> None:
    """Refuse a table whose properties have version 6, but not all of its instants any more."""
    # Hudi moves one after the other, and changes the properties last.
    for status in storage.list(TIMELINE):
        if parse_name(status.name, status.path, 2):
            raise InputError(
                f"{storage.full(status.path)}: an instant of a newer table version, so that an "
                "upgrade is under way or was broken off; read the table when Hudi has finished it"
            )

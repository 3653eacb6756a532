"""The timeline: which instants there are, in which state, and what completed ones say.

Layout 1 (versions up to 6) keeps `T.action[.state]` in `.hoodie/`, layout 2 (8 and up)
`R_C.action` in a folder of its own, with the completion time C in the name (docs/hudi.md).
Instants are compared as strings.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import fastavro
import pyarrow.parquet as pq

from seambench.errors import InputError, UsageError
from seambench_impl.tables.hudi.properties import TableConfig
from seambench_impl.tables.storage import Storage

__all__ = ["Instant", "Timeline", "load_timeline", "parse_instant"]

State = Literal["requested", "inflight", "completed"]

_ACTIONS = (
    "commit|deltacommit|clean|rollback|savepoint|replacecommit|clustering|restore|indexing|"
    "compaction|logcompaction|schemacommit"
)
_LAYOUT_1 = re.compile(rf"^(\d+)\.(?:({_ACTIONS})(?:\.(requested|inflight))?|inflight)$")
_LAYOUT_2 = re.compile(rf"^(\d+)(?:_(\d+))?\.(?:({_ACTIONS})(?:\.(requested|inflight))?|inflight)$")
_INSTANT = re.compile(r"^\d{14}(\d{3})?$")
_WRITES = ("commit", "deltacommit", "replacecommit")
_COMPLETED_AS = {
    "compaction": "commit",
    "logcompaction": "deltacommit",
    "clustering": "replacecommit",
}


@dataclass(frozen=True)
class Instant:
    """One action on the table.

    Attributes:
        requested: when it was requested; its name everywhere else.
        action: what it did, as the file name says.
        state: how far it came.
        completed: when it completed; layout 1 does not know and repeats `requested`.
        path: the file of its furthest state, below the table; empty if it is archived.
    """

    requested: str
    action: str
    state: State
    completed: str | None
    path: str


@dataclass
class Timeline:
    """All instants of a table, by the time they were requested.

    Attributes:
        storage: the table's folder.
        config: the table's properties.
        instants: the active ones, by `requested`.
        archived: completion times of completed instants that have left the active timeline.
    """

    storage: Storage
    config: TableConfig
    instants: list[Instant]
    archived: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._completed = {i.requested: i for i in self.instants if i.state == "completed"}
        self._bodies: dict[str, dict[str, Any]] = {}
        self._pending = {i.requested for i in self.instants if i.state != "completed"}

    @property
    def start(self) -> str:
        """The first active instant; what lies before it is archived, and so was completed."""
        return self.instants[0].requested if self.instants else ""

    def is_committed(self, requested: str) -> bool:
        """Whether a file or log block of that instant counts."""
        if requested in self._completed or requested in self.archived:
            return True
        # Before version 8 the archive is not needed: whatever is older than the active timeline
        # and not pending there was committed.
        return (
            self.config.timeline_layout == 1
            and requested < self.start
            and requested not in self._pending
        )

    def completion(self, requested: str) -> str | None:
        """When a write completed, or None if it did not, or nobody knows."""
        instant = self._completed.get(requested)
        return instant.completed if instant else self.archived.get(requested)

    def last_completed(self) -> str | None:
        """The requested time of the last completed write, or None for an empty table."""
        writes = [i.requested for i in self._completed.values() if i.action in _WRITES]
        return max(writes, default=None)

    def pending_compactions(self) -> list[Instant]:
        """Compactions that were scheduled and did not complete."""
        return [i for i in self.instants if i.action == "compaction" and i.state != "completed"]

    def metadata(self, instant: Instant) -> dict[str, Any]:
        """What a completed commit, deltacommit or replacecommit says of itself.

        Raises:
            InputError: its file cannot be read.
        """
        if instant.requested not in self._bodies:
            content = self.storage.read(instant.path)
            self._bodies[instant.requested] = _parse(content, self.storage.full(instant.path))
        return self._bodies[instant.requested]

    def compaction_plan(self, instant: Instant) -> list[tuple[str, str]]:
        """Partition and file id of each slice that a pending compaction will rewrite."""
        path = f"{self.config.timeline_folder}/{instant.requested}.compaction.requested"
        plan = _parse(self.storage.read(path), self.storage.full(path))
        return [
            (operation["partitionPath"] or "", operation["fileId"])
            for operation in plan.get("operations") or []
        ]

    def replaced_groups(self, up_to: str | None) -> set[tuple[str, str]]:
        """Partition and file id of the groups that clustering or an overwrite replaced."""
        groups: set[tuple[str, str]] = set()
        for instant in self.writes(up_to):
            if instant.action == "replacecommit":
                replaced = self.metadata(instant).get("partitionToReplaceFileIds") or {}
                groups.update((partition, f) for partition, ids in replaced.items() for f in ids)
        return groups

    def writes(self, up_to: str | None) -> list[Instant]:
        """Completed instants that wrote files, up to an instant, the oldest first."""
        return [
            i
            for i in self.instants
            if i.state == "completed"
            and i.action in _WRITES
            and (up_to is None or i.requested <= up_to)
        ]

    def latest_schema(self, up_to: str | None) -> str | None:
        """The Avro schema (JSON, without meta columns) of the latest write that tells one."""
        for instant in reversed(self.writes(up_to)):
            schema = (self.metadata(instant).get("extraMetadata") or {}).get("schema")
            if schema:
                return str(schema)
        return self.config.raw.get("hoodie.table.create.schema")


def load_timeline(storage: Storage, config: TableConfig) -> Timeline:
    """Read the names of the active timeline, and the history's completion times.

    Raises:
        InputError: the timeline's folder is missing, or the history is broken.
    """
    if not storage.exists(config.timeline_folder):
        raise InputError(f"{storage.full(config.timeline_folder)}: the timeline is missing")
    pattern = _LAYOUT_2 if config.timeline_layout == 2 else _LAYOUT_1
    furthest: dict[str, Instant] = {}
    for status in storage.list(config.timeline_folder):
        match = pattern.match(status.name)
        if status.size_bytes is None or match is None:
            continue
        instant = _instant(match, status.path, config.timeline_layout)
        known = furthest.get(instant.requested)
        if known is None or _rank(instant) > _rank(known):
            furthest[instant.requested] = instant
    archived = _history(storage, config) if config.timeline_layout == 2 else {}
    return Timeline(storage, config, sorted(furthest.values(), key=lambda i: i.requested), archived)


def _rank(instant: Instant) -> int:
    return ("requested", "inflight", "completed").index(instant.state)


def _instant(match: re.Match[str], path: str, layout: int) -> Instant:
    if layout == 2:
        requested, completed, action, suffix = match.groups()
    else:
        requested, action, suffix = match.groups()
        completed = requested
    if action is None:  # "T.inflight" is a commit's
        return Instant(requested, "commit", "inflight", None, path)
    if suffix is not None:
        state: State = "requested" if suffix == "requested" else "inflight"
        return Instant(requested, action, state, None, path)
    if completed is None:
        raise InputError(f"{path}: a completed instant without its completion time")
    return Instant(requested, _COMPLETED_AS.get(action, action), "completed", completed, path)


def _parse(content: bytes, where: str) -> dict[str, Any]:
    """An instant's body: JSON in layout 1, an Avro container in layout 2 and for plans."""
    try:
        if content[:4] == b"Obj\x01":
            return dict(next(fastavro.reader(io.BytesIO(content))))
        return dict(json.loads(content)) if content.strip() else {}
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        raise InputError(f"{where}: not readable as an instant ({error})") from error


def _history(storage: Storage, config: TableConfig) -> dict[str, str]:
    """Completion times from the archived timeline: `_version_` -> manifest -> Parquet files."""
    version_path = f"{config.history_folder}/_version_"
    if not storage.exists(version_path):
        return {}
    version = storage.read(version_path).decode().strip()
    manifest_path = f"{config.history_folder}/manifest_{version}"
    manifest = _parse(storage.read(manifest_path), storage.full(manifest_path))
    times: dict[str, str] = {}
    for entry in manifest.get("files") or []:
        path = f"{config.history_folder}/{entry['fileName']}"
        try:
            table = pq.read_table(storage.open(path), columns=["instantTime", "completionTime"])
        except OSError as error:
            raise InputError(f"{storage.full(path)}: {error}") from error
        for row in table.to_pylist():
            times[row["instantTime"]] = row["completionTime"]
    return times


def parse_instant(text: str, config: TableConfig) -> str:
    """An instant as the timeline writes it, from 14 or 17 digits or from ISO 8601.

    ISO times without a zone are in the table's own (`hoodie.table.timeline.timezone`).

    Raises:
        UsageError: another form.
    """
    if _INSTANT.match(text):
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(
            f"instant {text!r}: 14 or 17 digits (yyyyMMddHHmmss[SSS]) or ISO 8601 are expected"
        ) from error
    if moment.tzinfo is not None:
        utc = config.raw.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC"
        moment = moment.astimezone(UTC if utc else None)
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03}"

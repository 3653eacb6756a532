"""Instants that have left the active timeline.

Layout 1 appends them to log files (`.hoodie/archived/.commits_.archive.N_1-0-1`), whose Avro blocks
hold one `HoodieArchivedMetaEntry` for each state of an instant. Layout 2 keeps Parquet files that a
manifest names: `_version_` -> `manifest_N` -> files (Hudi 1.2.0, LSMTimeline).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seambase.errors import InputError
from seamkit.files.parquet import PARQUET_ERRORS, open_parquet
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.log.log import LogBlock, avro_records, read_blocks
from seamkit.tables.hudi.timeline.instants import (
    Instant,
    checked_write,
    completed_as,
    parse_body,
    parse_write,
)

_Body = Callable[[], dict[str, Any]]

_ARCHIVE_FILE = re.compile(r"^\.commits_\.archive\.(\d{1,18})(?:_\d+-\d+-\d+)?$")
_MANIFEST = re.compile(r"^manifest_(\d{1,18})$")
#: Where an entry of layout 1 keeps the body of a completed write.
_BODIES = ("hoodieReplaceCommitMetadata", "hoodieCommitMetadata")


@dataclass
class Archive:
    """The archived instants of a table, read when they are first asked for."""

    storage: Storage
    config: TableConfig

    @cached_property
    def completion_times(self) -> Mapping[str, str]:
        """Completion time of each archived write, by its requested time."""
        return {i.requested: i.completed or i.requested for i in self.instants if i.is_write}

    @cached_property
    def instants(self) -> Sequence[Instant]:
        """Completed instants of the archive, by requested time."""
        found = self._listed() if self.config.timeline_layout == 2 else self._logged()
        return sorted({i: None for i, _ in found}, key=lambda i: (i.requested, i.action))

    def bodies(
        self, actions: Sequence[str], up_to: str | None = None
    ) -> Iterator[tuple[Instant, dict[str, Any]]]:
        """Completed instants of these actions, up to one, and what they say, the newest first."""
        layout_2 = self.config.timeline_layout == 2
        pairs = self._listed(bodies=True) if layout_2 else self._logged()
        for instant, body in sorted(pairs, key=lambda pair: pair[0].requested, reverse=True):
            if instant.action in actions and (up_to is None or instant.requested <= up_to):
                yield instant, body()

    # Layout 2: a log-structured merge tree of Parquet files.

    def _listed(self, *, bodies: bool = False) -> Iterator[tuple[Instant, _Body]]:
        columns = ["instantTime", "completionTime", "action", *(["metadata"] if bodies else [])]
        for name in self._manifest_files():
            path = f"{self.config.history_folder}/{name}"
            where = self.storage.full(path)
            try:
                file = open_parquet(self.storage.open(path), where)
                rows = file.read(columns=columns).select(columns).to_pylist()
            except (*PARQUET_ERRORS, KeyError) as error:
                raise InputError(f"{where}: not readable as archived instants ({error})") from error
            for row in rows:
                yield _listed_instant(row, where), _body_of(row, where)

    def _manifest_files(self) -> list[str]:
        folder = self.config.history_folder
        version = self._version()
        if version is None:
            return []
        path = f"{folder}/manifest_{version}"
        manifest = parse_body(self.storage.read(path), self.storage.full(path))
        try:
            return [str(entry["fileName"]) for entry in manifest["files"]]
        except (KeyError, TypeError) as error:
            raise InputError(
                f"{self.storage.full(path)}: not readable as a manifest ({error!r})"
            ) from error

    def _version(self) -> int | None:
        """The current manifest: what `_version_` says, or the newest there is."""
        folder = self.config.history_folder
        path = f"{folder}/_version_"
        if self.storage.exists(path):
            text = self.storage.read(path, most_bytes=100).decode("utf-8", "replace").strip()
            if not re.fullmatch("[0-9]{1,18}", text):
                raise InputError(f"{self.storage.full(path)}: {text!r} is no version")
            return int(text)
        names = [_MANIFEST.match(status.name) for status in self.storage.list(folder)]
        return max((int(match[1]) for match in names if match), default=None)

    # Layout 1: log files of Avro blocks.

    def _logged(self) -> Iterator[tuple[Instant, _Body]]:
        for path in self._archive_files():
            content = memoryview(self.storage.map(path))
            file = self.storage.full(path)
            for block in read_blocks(content, file=file, strict=True, writer_instant=False):
                if block.kind == "avro":
                    yield from _entries(block)

    def _archive_files(self) -> list[str]:
        folder = f".hoodie/{self.config.raw.get('hoodie.archivelog.folder') or 'archived'}"
        numbered = [
            (int(match[1]), status.path)
            for status in self.storage.list(folder)
            if (match := _ARCHIVE_FILE.match(status.name)) and status.size_bytes is not None
        ]
        return [path for _, path in sorted(numbered)]


def _listed_instant(row: Mapping[str, Any], where: str) -> Instant:
    requested, completed, action = row["instantTime"], row["completionTime"], row["action"]
    if not isinstance(requested, str) or not isinstance(action, str):
        raise InputError(f"{where}: an archived instant without time or action ({requested!r})")
    return Instant(requested, completed_as(action), "completed", completed or requested, "")


def _body_of(row: Mapping[str, Any], where: str) -> _Body:
    content = row.get("metadata") or b""
    return lambda: parse_write(content, f"{where}, instant {row['instantTime']}")


def _entries(block: LogBlock) -> Iterator[tuple[Instant, _Body]]:
    """Completed instants of one block."""
    for record in avro_records(block):
        if not {"commitTime", "actionType", "actionState"} <= record.row.keys():
            raise InputError(f"{block.where}: its records are no archived instants")
        if record.row["actionState"] in ("COMPLETED", None):
            yield _logged_instant(record.row, block.where)


def _logged_instant(entry: Mapping[str, Any], where: str) -> tuple[Instant, _Body]:
    requested, action = str(entry["commitTime"]), completed_as(str(entry["actionType"]))
    body: Any = next((entry[name] for name in _BODIES if entry.get(name)), {})
    instant = Instant(requested, action, "completed", requested, "")
    if not isinstance(body, dict):
        raise InputError(f"{where}: the body of {requested} is a {type(body).__name__}")
    return instant, lambda: checked_write(dict(body), f"{where}, instant {requested}")

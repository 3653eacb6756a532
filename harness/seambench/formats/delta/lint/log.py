"""The log of a Delta table, replayed from commits and checkpoints, and what breaks in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.contracts.lint import Fault

_LOG = "Delta protocol, Delta Log Entries"
_ACTIONS = "Delta protocol, Actions"
_CHECKPOINTS = "Delta protocol, Checkpoints"
_CHECKSUM = "Delta protocol, Version Checksum File"
_IN_COMMIT = "Delta protocol, In-Commit Timestamps"
_KNOWN = frozenset(
    ("add", "remove", "metaData", "protocol", "txn", "cdc", "commitInfo", "domainMetadata")
)
_OF_CHECKPOINTS = frozenset(("checkpointMetadata", "sidecar"))
_NAME = re.compile(
    r"(?P<version>\d{20})\.(?:(?P<commit>json)|(?P<crc>crc)|checkpoint"
    r"(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[0-9a-f-]{36}))?\.(?P<kind>parquet|json))"
)
Action = Mapping[str, Any]
Key = tuple[str, str]
"""A file of the table: its path, and what tells its deletion vector."""


def key_of(action: Action) -> Key:
    """By what a file is added and removed."""
    vector = action.get("deletionVector")
    if not vector:
        return str(action.get("path")), ""
    return str(action["path"]), "{storageType}{pathOrInlineDv}@{offset}".format(
        **{"offset": None, **vector}
    )


@dataclass
class State:
    """A table as one version leaves it."""

    version: int = -1
    protocol: Action | None = None
    metadata: Action | None = None
    files: dict[Key, Action] = field(default_factory=dict)
    domains: dict[str, Action] = field(default_factory=dict)

    def apply(self, action: Action) -> None:
        """One action."""
        for word, body in action.items():
            match word:
                case "protocol":
                    self.protocol = body
                case "metaData":
                    self.metadata = body
                case "add":
                    self.files[key_of(body)] = body
                case "remove":
                    self.files.pop(key_of(body), None)
                case "domainMetadata":
                    self.domains[body.get("domain", "")] = body

    @property
    def configuration(self) -> Mapping[str, str]:
        """Properties of the table."""
        return dict((self.metadata or {}).get("configuration") or {})


class Log:
    """The files of a log, and what is found wrong while they are replayed."""

    def __init__(self, table: Path) -> None:
        self.folder = table / "_delta_log"
        self.faults: list[Fault] = []
        named = [(_NAME.fullmatch(file.name), file) for file in sorted(self.folder.iterdir())]
        known = [(found, file) for found, file in named if found]
        self._commits = {int(m["version"]): file for m, file in known if m["commit"]}
        self._sums = {int(m["version"]): file for m, file in known if m["crc"]}
        self._checkpoints: dict[int, list[tuple[re.Match[str], Path]]] = {}
        for m, file in known:
            if m["kind"]:
                self._checkpoints.setdefault(int(m["version"]), []).append((m, file))
        self.has_second_kind = any(m["uuid"] for m, _ in known)
        self._read_checkpoints: dict[int, list[Action]] = {}
        #: The in-commit timestamp of the version before, while the table has them.
        self._time: int | None = None

    def replay(self) -> State:
        """The newest state."""
        if not self._commits and not self._checkpoints:
            self._fault("log.empty", _LOG, "", "it has neither a commit nor a checkpoint")
            return State()
        newest = max([*self._commits, *self._checkpoints])
        begin = self._begin(newest)
        state = State()
        if begin > 0 or begin not in self._commits:
            for action in self._checkpoint(begin):
                state.apply(action)
            state.version = begin
        for version in range(state.version + 1, newest + 1):
            if version not in self._commits:
                self._fault("log.gap", _LOG, "", f"version {version} is missing below {newest}")
                continue
            self._commit(version, state)
            state.version = version
            self._compare(state)
        self._last_checkpoint(newest)
        return state

    def _begin(self, newest: int) -> int:
        """The version to begin at: 0 where all commits are there, else the oldest checkpoint."""
        if all(version in self._commits for version in range(newest + 1)):
            return 0
        below = [
            v
            for v in self._checkpoints
            if all(n in self._commits for n in range(v + 1, newest + 1))
        ]
        return min(below, default=max(self._checkpoints, default=0))

    def _fault(self, rule: str, source: str, file: str, says: str, *, must: bool = True) -> None:
        place = f"_delta_log/{file}".rstrip("/")
        self.faults.append(
            Fault(f"delta.{rule}", source, place, says, "must" if must else "should")
        )

    def _commit(self, version: int, state: State) -> None:
        file = self._commits[version]
        actions = list(self._lines(file))
        words = [word for action in actions for word in action]
        for word in ("protocol", "metaData"):
            if words.count(word) > 1:
                self._fault(
                    "commit.twice", _ACTIONS, file.name, f"{words.count(word)} actions {word}"
                )
            if version == 0 and word not in words:
                self._fault("commit.first", _ACTIONS, file.name, f"the first version has no {word}")
        self._files(file.name, actions, state)
        before = state.configuration
        for action in actions:
            state.apply(action)
        self._times(file.name, actions, state, before)

    def _files(self, name: str, actions: Sequence[Action], state: State) -> None:
        """What a commit adds and removes."""
        seen: set[tuple[str, Key]] = set()
        append_only = state.configuration.get("delta.appendOnly", "").lower() == "true"
        for action in actions:
            for word in ("add", "remove"):
                if (body := action.get(word)) is None:
                    continue
                wanted = ("path", "partitionValues", "size", "modificationTime", "dataChange")
                for member in wanted if word == "add" else ("path", "dataChange"):
                    if body.get(member) is None:
                        self._fault("action.field", _ACTIONS, name, f"{word} lacks {member}")
                key = (word, key_of(body))
                if key in seen:
                    self._fault(
                        "commit.twice", _ACTIONS, name, f"{word} of {key[1][0]} stands twice"
                    )
                seen.add(key)
                if word == "remove" and body.get("dataChange") and append_only:
                    self._fault(
                        "commit.append-only",
                        "Delta protocol, Append-only Tables",
                        name,
                        "it removes rows of a table that is only appended to",
                    )
                if (
                    word == "remove"
                    and key_of(body) not in state.files
                    and key_of(body) not in {key_of(one["add"]) for one in actions if "add" in one}
                ):
                    says = f"{body.get('path')} is removed, and was not there"
                    self._fault("commit.remove-absent", _ACTIONS, name, says, must=False)

    def _times(
        self, name: str, actions: Sequence[Action], state: State, before: Mapping[str, str]
    ) -> None:
        """In-commit timestamps: first in the commit, and later than the one before."""
        said = [
            action["commitInfo"].get("inCommitTimestamp")
            for action in actions
            if "commitInfo" in action
        ]
        time = said[0] if said else None
        if state.configuration.get("delta.enableInCommitTimestamps", "").lower() != "true":
            self._time = None
            return
        if time is None or "commitInfo" not in actions[0]:
            self._fault(
                "commit.time", _IN_COMMIT, name, "commitInfo with inCommitTimestamp must come first"
            )
            return
        was = self._time
        if was is not None and time <= was and before:
            self._fault(
                "commit.time", _IN_COMMIT, name, f"inCommitTimestamp {time} is not later than {was}"
            )
        self._time = time

    def _lines(self, file: Path) -> Iterator[Action]:
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
        except UnicodeDecodeError as error:
            self._fault("commit.json", _LOG, file.name, f"it is no UTF-8: {error}")
            return
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                action = json.loads(line, parse_float=Decimal)
            except ValueError as error:
                self._fault("commit.json", _LOG, file.name, f"line {number} is no JSON: {error}")
                continue
            if not isinstance(action, dict) or len(action) != 1:
                self._fault("commit.json", _LOG, file.name, f"line {number} is not one action")
                continue
            if not set(action) <= _KNOWN | _OF_CHECKPOINTS:
                says = f"line {number} has the unknown action {next(iter(action))}"
                self._fault("commit.unknown", _ACTIONS, file.name, says, must=False)
            yield action

    def _checkpoint(self, version: int) -> list[Action]:
        """The actions of a version's checkpoint, which is read, and found fault with, once."""
        if version not in self._read_checkpoints:
            self._read_checkpoints[version] = self._actions_of(version)
        return self._read_checkpoints[version]

    def _actions_of(self, version: int) -> list[Action]:
        """What a checkpoint holds, with its sidecars."""
        listed = self._checkpoints.get(version, [])
        several = [file for m, file in listed if m["parts"]]
        chosen = several or [file for _, file in listed][:1]
        if several and len(several) != int(next(m["parts"] for m, _ in listed if m["parts"])):
            self._fault(
                "checkpoint.parts", _CHECKPOINTS, several[0].name, "some of its parts are missing"
            )
        actions = [action for file in chosen for action in self._read(file)]
        for sidecar in [one["sidecar"] for one in actions if "sidecar" in one]:
            file = self.folder / "_sidecars" / str(sidecar["path"])
            name = f"_sidecars/{file.name}"
            if not file.is_file():
                self._fault("checkpoint.sidecar", _CHECKPOINTS, name, "it is missing")
            elif file.stat().st_size != sidecar.get("sizeInBytes"):
                says = f"sizeInBytes is {sidecar.get('sizeInBytes')}, it has {file.stat().st_size}"
                self._fault("checkpoint.sidecar", _CHECKPOINTS, name, says)
            else:
                actions += self._read(file)
        return actions

    def _read(self, file: Path) -> list[Action]:
        if file.suffix == ".json":
            return list(self._lines(file))
        try:
            rows = pq.read_table(file).to_pylist(maps_as_pydicts="strict")
        except (pa.ArrowException, OSError) as error:
            self._fault("checkpoint.unreadable", _CHECKPOINTS, file.name, f"{error}")
            return []
        return [{word: body for word, body in row.items() if body is not None} for row in rows]

    def _compare(self, state: State) -> None:
        """A checkpoint and a checksum of a version say what its commits do."""
        for match, file in self._checkpoints.get(state.version, ()):
            if match["part"] not in (None, "0000000001"):
                continue
            found = State()
            for action in self._checkpoint(state.version):
                found.apply(action)
            if missing := set(state.files) - set(found.files):
                says = f"{len(missing)} files are missing, {min(missing)[0]} among them"
                self._fault("checkpoint.files", _CHECKPOINTS, file.name, says)
            if more := set(found.files) - set(state.files):
                says = f"{len(more)} files were removed, {min(more)[0]} among them"
                self._fault("checkpoint.files", _CHECKPOINTS, file.name, says)
            for word in ("metadata", "protocol"):
                mine, theirs = getattr(state, word), getattr(found, word)
                if _plain(mine) != _plain(theirs):
                    self._fault(
                        f"checkpoint.{word}",
                        _CHECKPOINTS,
                        file.name,
                        f"{word} differs from that of the commits",
                    )
        self._sum(state)

    def _sum(self, state: State) -> None:
        file = self._sums.get(state.version)
        if file is None:
            return
        try:
            said = json.loads(file.read_bytes())
        except ValueError as error:
            self._fault("checksum.json", _CHECKSUM, file.name, f"it is no JSON: {error}")
            return
        true = {
            "numFiles": len(state.files),
            "tableSizeBytes": sum(one.get("size") or 0 for one in state.files.values()),
            "numMetadata": 1,
            "numProtocol": 1,
        }
        for member, value in true.items():
            if said.get(member) != value:
                says = f"{member} is {said.get(member)}, it must be {value}"
                self._fault("checksum.counts", _CHECKSUM, file.name, says)
        for member, body in (("metadata", state.metadata), ("protocol", state.protocol)):
            if member in said and _plain(said[member]) != _plain(body):
                self._fault(
                    f"checksum.{member}",
                    _CHECKSUM,
                    file.name,
                    f"{member} differs from that of the commits",
                )

    def _last_checkpoint(self, newest: int) -> None:
        file = self.folder / "_last_checkpoint"
        if not file.is_file():
            return
        try:
            said = json.loads(file.read_bytes())
            version = int(said["version"])
        except (ValueError, KeyError, TypeError) as error:
            self._fault(
                "last-checkpoint", _CHECKPOINTS, file.name, f"it names no version: {error!r}"
            )
            return
        if version not in self._checkpoints or version > newest:
            self._fault(
                "last-checkpoint",
                _CHECKPOINTS,
                file.name,
                f"there is no checkpoint of version {version}",
            )
            return
        parts = said.get("parts")
        if parts is not None and len(self._checkpoints[version]) < parts:
            self._fault(
                "last-checkpoint",
                _CHECKPOINTS,
                file.name,
                f"{parts} parts are named, {len(self._checkpoints[version])} are there",
            )
        actions = self._checkpoint(version)
        added = sum("add" in action for action in actions)
        if said.get("numOfAddFiles") not in (None, added):
            says = f"numOfAddFiles is {said['numOfAddFiles']}, it must be {added}"
            self._fault("last-checkpoint", _CHECKPOINTS, file.name, says, must=False)


def _plain(body: Any) -> Any:
    """A body without what is null or empty: Parquet has all members, JSON those that are set."""
    if isinstance(body, Mapping):
        inner = {key: _plain(value) for key, value in body.items()}
        return {key: value for key, value in inner.items() if value not in (None, {}, [])}
    if isinstance(body, list):
        plain = [_plain(value) for value in body]
        return sorted(plain) if all(isinstance(value, str) for value in plain) else plain
    return body

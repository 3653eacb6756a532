"""The log of a Delta table, replayed from commits and checkpoints, and what breaks in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.lint import Finding, Wrong, fitting, gaps, read_json, reason, size_of

_NAME = re.compile(
    r"(?P<version>\d{20})\.(?:(?P<commit>json)|(?P<crc>crc)|checkpoint"
    r"(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[0-9a-f-]{36}))?\.(?P<kind>parquet|json))"
)
_COMPACTED = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_FLAG, _WHOLE, _TEXT, _LIST, _OBJECT = ((kind,) for kind in (bool, int, str, list, dict))
_FILE = {"path": _TEXT, "partitionValues": _OBJECT, "size": _WHOLE, "deletionVector": _OBJECT}
#: Members of actions by their types, as far as rules look at them.
_SHAPES: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "add": {
        **_FILE,
        "modificationTime": _WHOLE,
        "dataChange": _FLAG,
        "stats": _TEXT,
        "baseRowId": _WHOLE,
    },
    "remove": {**_FILE, "dataChange": _FLAG},
    "metaData": {
        "id": _TEXT,
        "format": _OBJECT,
        "schemaString": _TEXT,
        "partitionColumns": _LIST,
        "configuration": _OBJECT,
    },
    "protocol": {
        **dict.fromkeys(("minReaderVersion", "minWriterVersion"), _WHOLE),
        **dict.fromkeys(("readerFeatures", "writerFeatures"), _LIST),
    },
    "domainMetadata": {"domain": _TEXT, "configuration": _TEXT},
    "commitInfo": {"inCommitTimestamp": _WHOLE},
    "sidecar": {"path": _TEXT, "sizeInBytes": _WHOLE},
    **{word: {} for word in ("txn", "cdc", "checkpointMetadata")},
}
_REQUIRED = {
    "add": ("path", "partitionValues", "size", "modificationTime", "dataChange"),
    "remove": ("path", "dataChange"),
}
Action = Mapping[str, Any]
Key = tuple[str, str]
"""A file of the table: its path, and what tells its deletion vector."""


def key_of(action: Action) -> Key:
    """By what a file is added and removed."""
    stored = action.get("deletionVector")
    vector = "{storageType}{pathOrInlineDv}@{offset}" if stored else ""
    named = ("storageType", "pathOrInlineDv", "offset")
    return str(action.get("path")), vector.format(
        **{name: (stored or {}).get(name) for name in named}
    )


def stated(text: Any) -> Mapping[str, Any]:
    """An object in JSON, within an action; an empty one where it is none."""
    try:
        said = read_json(text or "{}", parse_float=Decimal)
    except (ValueError, TypeError):
        return {}
    return said if isinstance(said, dict) else {}


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
                case "domainMetadata" if body.get("removed"):
                    self.domains.pop(body.get("domain", ""), None)
                case "domainMetadata":
                    self.domains[body.get("domain", "")] = body

    def copy(self) -> State:
        """The same, to be changed by itself."""
        return replace(self, files=dict(self.files), domains=dict(self.domains))

    @property
    def configuration(self) -> Mapping[str, str]:
        """Properties of the table."""
        own = (self.metadata or {}).get("configuration") or {}
        return {name: str(value) for name, value in own.items()}

    def has(self, name: str) -> bool:
        """Whether a property of the table is set to true."""
        return self.configuration.get(name, "").lower() == "true"


class Log:
    """The files of a log, and the state that they leave once they are replayed."""

    def __init__(self, table: Path) -> None:
        self.folder, self.state = table / "_delta_log", State()
        named = [(_NAME.fullmatch(file.name), file) for file in sorted(self.folder.glob("*"))]
        known = [(found, file) for found, file in named if found]
        self._commits = {int(m["version"]): file for m, file in known if m["commit"]}
        self._sums = {int(m["version"]): file for m, file in known if m["crc"]}
        self._checkpoints: dict[int, list[tuple[re.Match[str], Path]]] = {}
        for m, file in known:
            if m["kind"]:
                self._checkpoints.setdefault(int(m["version"]), []).append((m, file))
        named = [(_COMPACTED.fullmatch(file.name), file) for _, file in named]
        # One without a byte is of a writer that died: it counts for nothing.
        self._compacted = {(int(m[1]), int(m[2])): one for m, one in named if m and size_of(one)}
        #: The states before compacted versions.
        self._before: dict[int, State] = {}
        self.has_second_kind = any(m["uuid"] for m, _ in known)
        self._read_checkpoints: dict[int, list[Action]] = {}
        self._findings: list[Finding] = []
        #: The in-commit timestamp of the version before, while the table has them.
        self._time: int | None = None

    def replay(self) -> Iterator[Finding]:
        """What is wrong with the log; brings the state to its newest version."""
        if not self._commits and not self._checkpoints:
            yield "log.empty", "_delta_log", "it has neither a commit nor a checkpoint"
            return
        newest = max([*self._commits, *self._checkpoints])
        begin, state = self._begin(newest), self.state
        if begin > 0 or begin not in self._commits:
            for action in self._checkpoint(begin):
                state.apply(action)
            state.version = begin
        following = sorted(version for version in self._commits if version > state.version)
        for first, last in gaps([state.version, *following, newest + 1]):
            versions = f"version {first}" if first == last else f"versions {first} to {last}"
            self._fault("log.gap", "", f"{versions} missing below {newest}")
        for version in following:
            if any(version == first for first, _ in self._compacted):
                self._before[version] = state.copy()
            self._commit(version)
            state.version = version
            self._compare()
            yield from self._drained()
        self._last_checkpoint(newest)
        yield from self._drained()

    def _drained(self) -> Iterator[Finding]:
        while self._findings:
            yield self._findings.pop(0)

    def _begin(self, newest: int) -> int:
        """The version to begin at: 0 where all commits are there, else the oldest checkpoint."""
        for begin, first in ((0, 0), *((one, one + 1) for one in sorted(self._checkpoints))):
            if all(version in self._commits for version in range(first, newest + 1)):
                return begin
        return max(self._checkpoints, default=0)

    def _fault(self, rule: str, file: str, says: str) -> None:
        self._findings.append((rule, f"_delta_log/{file}".rstrip("/"), says))

    def _commit(self, version: int) -> None:
        file, state = self._commits[version], self.state
        actions = list(self._lines(file))
        words = [word for action in actions for word in action]
        for word in ("protocol", "metaData"):
            if words.count(word) > 1:
                self._fault("commit.twice", file.name, f"{words.count(word)} actions {word}")
            if version == 0 and word not in words:
                self._fault("commit.first", file.name, f"the first version has no {word}")
        for rule, says in self._files(actions):
            self._fault(rule, file.name, says)
        before = state.configuration
        for action in actions:
            state.apply(action)
        if says := self._times(actions, before):
            self._fault("commit.time", file.name, says)

    def _files(self, actions: Sequence[Action]) -> Iterator[Wrong]:
        """What a commit adds and removes."""
        seen: set[tuple[str, Key]] = set()
        added = {key_of(one["add"]) for one in actions if "add" in one}
        rewrites = any("remove" in one for one in actions)
        for word, body in (pair for one in actions for pair in one.items() if pair[0] in _REQUIRED):
            for member in (one for one in _REQUIRED[word] if body.get(one) is None):
                yield "action.field", f"{word} lacks {member}"
            key = key_of(body)
            if (word, key) in seen:
                yield "commit.twice", f"{word} of {key[0]} stands twice"
            seen.add((word, key))
            if body.get("dataChange") is False and not rewrites and key not in self.state.files:
                yield "commit.data-change", f"{body.get('path')} is new, and no data would change"
            if word == "remove" and body.get("dataChange") and self.state.has("delta.appendOnly"):
                yield "commit.append-only", "it removes rows of a table that is only appended to"
            if word == "remove" and key not in self.state.files and key not in added:
                yield "commit.remove-absent", f"{body.get('path')} is removed, and was not there"

    def _times(self, actions: Sequence[Action], before: Mapping[str, str]) -> str:
        """In-commit timestamps: first in the commit, and later than the one before."""
        if not self.state.has("delta.enableInCommitTimestamps"):
            self._time = None
            return ""
        time = (actions[0].get("commitInfo") or {}).get("inCommitTimestamp") if actions else None
        if time is None:
            return "commitInfo with inCommitTimestamp must come first"
        was, self._time = self._time, time
        late = was is not None and time <= was and before
        return f"inCommitTimestamp {time} is not later than {was}" if late else ""

    def _lines(self, file: Path) -> Iterator[Action]:
        for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                action = read_json(line, parse_float=Decimal)
            except ValueError as error:
                self._fault("commit.json", file.name, f"line {number} is no JSON: {error}")
                continue
            if not isinstance(action, dict) or len(action) != 1:
                self._fault("commit.json", file.name, f"line {number} is not one action")
                continue
            [word] = action
            if word not in _SHAPES:
                says = f"line {number} has the unknown action {word}"
                self._fault("commit.unknown", file.name, says)
                continue
            yield from self._fitting(file.name, f"line {number}", action)

    def _fitting(self, name: str, where: str, action: Action) -> Iterator[Action]:
        """An action without the members that are of another type; none if it is no object."""
        fits = {}
        for word, body in action.items():
            if not isinstance(body, dict):
                self._fault("form", name, f"{where}: {word} is no object")
                continue
            wrong = fitting(body, _SHAPES.get(word, {}))
            if wrong:
                self._fault("form", name, f"{where}: {word} has {', '.join(wrong)} of another type")
            fits[word] = {key: value for key, value in body.items() if key not in wrong}
        if fits:
            yield fits

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
            self._fault("checkpoint.parts", several[0].name, "some of its parts are missing")
        actions = [action for file in chosen for action in self._read(file)]
        for sidecar in [one["sidecar"] for one in actions if "sidecar" in one]:
            file = self.folder / "_sidecars" / str(sidecar.get("path"))
            size, name = size_of(file), f"_sidecars/{file.name}"
            if size is None:
                self._fault("checkpoint.sidecar", name, "it is missing")
            elif size != sidecar.get("sizeInBytes"):
                says = f"sizeInBytes is {sidecar.get('sizeInBytes')}, it has {size}"
                self._fault("checkpoint.sidecar", name, says)
            else:
                actions += self._read(file)
        return actions

    def _read(self, file: Path) -> list[Action]:
        if file.suffix == ".json":
            return list(self._lines(file))
        try:
            rows = pq.read_table(file).to_pylist(maps_as_pydicts="strict")
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            self._fault("checkpoint.unreadable", file.name, reason(error))
            return []
        there = [{word: body for word, body in row.items() if body is not None} for row in rows]
        return [
            one
            for number, row in enumerate(there)
            for one in self._fitting(file.name, f"row {number}", row)
        ]

    def _compare(self) -> None:
        """Checkpoint, compaction and checksum of a version say what its commits do."""
        state = self.state
        for match, file in self._checkpoints.get(state.version, ()):
            if match["part"] in (None, "0000000001"):
                self._held(file.name, "checkpoint", State(), self._checkpoint(state.version))
        for (first, last), file in self._compacted.items():
            if last == state.version and first in self._before:
                self._held(file.name, "compaction", self._before[first].copy(), self._lines(file))
        if checksum := self._sums.get(state.version):
            for rule, says in self._sum(checksum):
                self._fault(rule, checksum.name, says)

    def _held(self, name: str, rule: str, stored: State, actions: Iterable[Action]) -> None:
        """What a state becomes by actions that stand for commits, against what they made of it."""
        for action in actions:
            stored.apply(action)
        ours, theirs = self.state.files, stored.files
        for what, files in (
            ("are missing", set(ours) - set(theirs)),
            ("were removed", set(theirs) - set(ours)),
            (
                "are told of otherwise",
                {one for one in set(ours) & set(theirs) if _told(ours[one], theirs[one])},
            ),
        ):
            if files:
                says = f"{len(files)} files {what}, {min(files)[0]} among them"
                self._fault(f"{rule}.files", name, says)
        for word in ("metadata", "protocol", "domains"):
            if _plain(getattr(self.state, word)) != _plain(getattr(stored, word)):
                self._fault(f"{rule}.{word}", name, f"{word} differs from that of the commits")

    def _sum(self, file: Path) -> Iterator[Wrong]:
        """A checksum file."""
        try:
            said = read_json(file.read_bytes())
        except ValueError as error:
            yield "checksum.json", f"it is no JSON: {error}"
            return
        if not isinstance(said, dict):
            yield "checksum.json", "it is no object"
            return
        files = self.state.files
        sizes = sum(one.get("size") or 0 for one in files.values())
        true = {"numFiles": len(files), "tableSizeBytes": sizes, "numMetadata": 1, "numProtocol": 1}
        for member, value in true.items():
            if said.get(member) != value:
                yield "checksum.counts", f"{member} is {said.get(member)}, it must be {value}"
        for member in ("metadata", "protocol"):
            if member in said and _plain(said[member]) != _plain(getattr(self.state, member)):
                yield f"checksum.{member}", f"{member} differs from that of the commits"

    def _last_checkpoint(self, newest: int) -> None:
        file = self.folder / "_last_checkpoint"
        if not file.is_file():
            return
        try:
            said = read_json(file.read_bytes())
            version, parts, count = (
                int(said["version"]),
                said.get("parts"),
                said.get("numOfAddFiles"),
            )
            there, wanted = len(self._checkpoints.get(version, ())), int(parts or 0)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            self._fault("last-checkpoint", file.name, f"it names no version: {reason(error)}")
            return
        if not there or version > newest:
            self._fault(
                "last-checkpoint", file.name, f"there is no checkpoint of version {version}"
            )
            return
        if there < wanted:
            says = f"{parts} parts are named, {there} are there"
            self._fault("last-checkpoint", file.name, says)
        added = sum("add" in action for action in self._checkpoint(version))
        if count not in (None, added):
            says = f"numOfAddFiles is {count}, it must be {added}"
            self._fault("last-checkpoint.counts", file.name, says)


def _told(one: Action, other: Action) -> bool:
    """Whether two actions tell otherwise of a file, of which a checkpoint may leave some out."""
    for member in ("size", "partitionValues", "baseRowId", "stats"):
        said = [body.get(member) for body in (one, other)]
        if None in said:
            continue
        if member == "stats":
            said = [stated(text) for text in said]
        if _plain(said[0]) != _plain(said[1]):
            return True
    return False


def _plain(body: Any) -> Any:
    """A body without what is null or empty: Parquet has all members, JSON those that are set."""
    if isinstance(body, Mapping):
        inner = {key: _plain(value) for key, value in body.items()}
        return {key: value for key, value in inner.items() if value not in (None, {}, [])}
    if isinstance(body, list):
        plain = [_plain(value) for value in body]
        return sorted(plain) if all(isinstance(value, str) for value in plain) else plain
    return body

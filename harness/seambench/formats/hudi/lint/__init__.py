"""What is wrong with a Hudi table: properties, timeline, what commits say; the rest lies beside.

The bytes of logs are as Hudi writes them, where its specification says something else.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from seambench.contracts.formats import Fault
from seambench.formats.hudi.lint.base_files import RULES, TAKEN_UP, base_faults, row_count
from seambench.formats.hudi.lint.instants import LAYOUT_2, Instants, instants_of, texts_of
from seambench.formats.hudi.lint.logs import log_findings
from seambench.formats.hudi.lint.metadata_table import metadata_findings
from seambench.formats.hudi.timelines import Timeline, body_of, open_timeline, properties
from seambench.formats.lint import DAMAGE, Finding, UnreadError, Wrong, guarded, reason, size_of

_REQUIRED = ("hoodie.table.name", "hoodie.table.type", "hoodie.table.version")
_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
_VERSIONS = tuple("0123456789")
_ACTIONS = {
    *("commit", "deltacommit", "replacecommit", "clean", "rollback", "savepoint", "restore"),
    *("indexing", "compaction", "logcompaction", "clustering", "schemacommit"),
}
#: As what an action that was requested under another name completes.
_COMPLETES = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}
_WRITES = ("commit", "deltacommit", "replacecommit")
_TAKES_AWAY = ("clean", "rollback", "restore")
_NAME = re.compile(r"(\d{14}|\d{17})(?:_(\d{14}|\d{17}))?\.([a-z]+)(?:\.(requested|inflight))?")
_BASE = re.compile(r"([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_(\d+)(\.[a-zA-Z0-9]+)")
_LOG = re.compile(r"\.([^._]+)_([^.]*)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?")
_MARK = ".hoodie_partition_metadata"
#: File ids that concurrent writers share on purpose.
_SHARED = "00000000-0000-0000-0000-"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Table:
    """A table's folder, properties and timeline."""

    path: Path
    conf: Mapping[str, str]
    timeline: Timeline
    removed: set[str] = field(default_factory=set)
    taken_up: set[Path] = field(default_factory=set)

    @cached_property
    def version(self) -> int:
        return int(self.conf["hoodie.table.version"])

    @cached_property
    def instants(self) -> Instants:
        return instants_of(self.timeline)

    def files(self) -> Iterator[Path]:
        """All files of data, and what lies beside them."""
        for file in sorted(self.path.rglob("*")):
            inside = ".hoodie" in file.relative_to(self.path).parts
            if file.is_file() and not inside and file.suffix != ".crc":
                yield file

    def place(self, file: Path) -> str:
        return file.relative_to(self.path).as_posix()


def lint(table: Path) -> Iterator[Fault]:
    """What is wrong with a Hudi table, at the end of its completed timeline."""
    place = ".hoodie/hoodie.properties"
    wrong = list(
        RULES.faults(partial(_property_findings, table, place), "properties.missing", place)
    )
    yield from wrong
    if any(fault.level == "must" for fault in wrong):
        return
    opened = _Table(table, properties(table), open_timeline(table))
    at = opened.place(opened.timeline.folder)
    wrong = list(RULES.faults(partial(_timeline_findings, opened, at), "timeline.unreadable", at))
    yield from wrong
    if any(fault.rule == "hudi.timeline.unreadable" for fault in wrong):
        return
    yield from RULES.faults(partial(_commit_findings, opened), "commit.form", at)
    yield from _file_faults(opened)
    metadata = partial(metadata_findings, table, opened.conf, opened.instants)
    yield from RULES.faults(metadata, "metadata.unreadable", ".hoodie/metadata")


def _property_findings(table: Path, place: str) -> Iterator[Finding]:
    if not (table / place).is_file():
        yield "properties.missing", place, "there is no such file"
        return
    conf = properties(table)
    for name in (one for one in _REQUIRED if not conf.get(one)):
        yield "properties.required", f"{place} {name}", "it is not set"
    version, layout = (conf.get(f"hoodie.{n}.version", "1") for n in ("table", "timeline.layout"))
    right = "2" if version in _VERSIONS[LAYOUT_2:] else "1"
    kind = conf.get("hoodie.table.type", _TYPES[0])
    for rule, name, ok, must in (
        ("version", "hoodie.table.version", version in _VERSIONS, "0 to 9"),
        ("type", "hoodie.table.type", kind in _TYPES, " or ".join(_TYPES)),
        ("layout", "hoodie.timeline.layout.version", layout == right, f"that of version {version}"),
    ):
        if not ok:
            says = f"it is {conf.get(name)!r}, and must be {must}"
            yield f"properties.{rule}", f"{place} {name}", says
    named = f"{conf.get('hoodie.database.name', '')}.{conf.get('hoodie.table.name', '')}"
    summed = conf.get("hoodie.table.checksum", "")
    if summed and summed != str(zlib.crc32(named.encode())):
        says = f"it is {summed}, that of {named!r} is {zlib.crc32(named.encode())}"
        yield "properties.checksum", f"{place} hoodie.table.checksum", says


# The timeline.


def _timeline_findings(table: _Table, at: str) -> Iterator[Finding]:
    if not table.timeline.folder.is_dir():
        raise UnreadError("timeline.unreadable", at, "there is no such folder")
    states: dict[tuple[str, bool], dict[str, str]] = defaultdict(dict)
    for file in sorted(table.timeline.folder.iterdir()):
        if file.name.startswith((".", "hoodie.properties")) or not file.is_file():
            continue
        match = _NAME.fullmatch(re.sub(r"^(\d+)\.inflight$", r"\1.commit.inflight", file.name))
        if match is None:
            says = "it is no name of an instant: begin, completion, action, state"
            yield "timeline.name", table.place(file), says
            continue
        begin, _, action, state = match.groups()
        # A savepoint has the instant of the commit that it saves.
        states[begin, action == "savepoint"][state or "completed"] = action
        for rule, says in _instant_faults(table.version, match):
            yield f"timeline.{rule}", table.place(file), says
    for (begin, _), actions in states.items():
        for rule, says in _state_faults(actions):
            yield f"timeline.{rule}", f"{at}/{begin}", says
    try:
        _ = table.instants
    except DAMAGE as why:
        raise UnreadError("timeline.unreadable", at, f"it cannot be read: {reason(why)}") from why


def _instant_faults(version: int, match: re.Match[str]) -> Iterator[Wrong]:
    """What is wrong with the name of an instant's file."""
    begin, end, action, state = match.groups()
    if action not in _ACTIONS:
        yield "action", f"{action!r} is no action"
    if end is not None and end < begin:
        yield "completion", f"it completed at {end}, before it began"
    if (end is None) == (version >= LAYOUT_2) and state is None:
        says = "a completion time is missing" if end is None else "layout 1 has no such time"
        yield "completion", says


def _state_faults(actions: Mapping[str, str]) -> Iterator[Wrong]:
    """States of one instant: requested, inflight, completed, in this order, of one action."""
    order = ("requested", "inflight", "completed")
    if "requested" not in actions and not set(actions.values()) <= {"savepoint", *_TAKES_AWAY}:
        yield "requested", f"the instant is {', '.join(actions)}, and was never requested"
    names = {_COMPLETES.get(actions[state], actions[state]) for state in order if state in actions}
    if len(names) > 1:
        yield "states", f"its states are of several actions: {', '.join(sorted(names))}"


# What commits say.


def _commit_findings(table: _Table) -> Iterator[Finding]:
    bodies = []
    for file, instant, _, action, done in table.timeline.names():
        if not done or action not in (*_WRITES, *_TAKES_AWAY) or not file.stat().st_size:
            continue
        try:
            bodies.append((table.place(file), instant, action, body_of(file.read_bytes())))
        except DAMAGE as why:
            yield "commit.unreadable", table.place(file), f"it cannot be read: {reason(why)}"
    for *_, action, body in bodies:
        if action in _TAKES_AWAY:
            table.removed.update(Path(text).name for text in texts_of(body))
    for place, instant, action, body in bodies:
        if action in _WRITES:
            each = partial(_write_findings, table, place, instant, body)
            yield from guarded(each, "commit.form", place)


def _write_findings(table: _Table, place: str, instant: str, body: Row) -> Iterator[Finding]:
    for partition, stats in (body.get("partitionToWriteStats") or {}).items():
        for stat in stats:
            if path := stat.get("path"):
                for rule, says in _stat_faults(table, instant, partition, stat):
                    yield f"commit.{rule}", f"{place} {path}", says


def _stat_faults(table: _Table, instant: str, partition: str, stat: Row) -> Iterator[Wrong]:
    """The statistics of one file that a commit wrote."""
    file, folder = table.path / stat["path"], stat["path"].rpartition("/")[0]
    base, log = _BASE.fullmatch(file.name), _LOG.fullmatch(file.name)
    if taken := TAKEN_UP.fullmatch(file.name):
        file, base = file.with_name(taken[1]), taken
        table.taken_up.add(file)
    match, said = base or log, stat.get("partitionPath", partition)
    for rule, ok, says in (
        ("path", match is not None, "the file's name is neither that of a base file nor of a log"),
        ("file-id", match is None or stat["fileId"] == match[1], f"fileId is {stat['fileId']}"),
        (
            "partition",
            partition == said == folder,
            f"partition {partition!r}, partitionPath {said!r}",
        ),
        ("instant", base is None or instant in base.groups(), f"{instant} wrote the file"),
    ):
        if not ok:
            yield rule, says
    if (real := size_of(file)) is None:
        if table.removed.isdisjoint((file.name, Path(stat["path"]).name)):
            says = "there is no such file, and no clean, rollback or restore says that it went"
            yield "missing", says
        return
    size = stat.get("fileSizeInBytes")
    if size is not None and (size > real if log and table.version < LAYOUT_2 else size != real):
        yield "file-size", f"fileSizeInBytes is {size}, the file has {real}"
    if base and (rows := row_count(file)) is not None:
        yield from _write_faults(stat, rows)


def _write_faults(stat: Row, rows: int) -> Iterator[Wrong]:
    """Rows that a commit counted; those that could not be written are among them."""
    errors = stat.get("totalWriteErrors") or 0
    if errors:
        yield "write-errors", f"{errors} rows could not be written, and the commit went through"
    if rows + errors != stat.get("numWrites", rows + errors):
        says = f"numWrites is {stat['numWrites']} with {errors} errors, the file has {rows} rows"
        yield "writes", says


# Files.


def _file_faults(table: _Table) -> Iterator[Fault]:
    groups: dict[str, set[str]] = defaultdict(set)
    folders: set[Path] = set()
    for file in table.files():
        place = table.place(file)
        match = _BASE.fullmatch(file.name) or _LOG.fullmatch(file.name)
        if match is None:
            if not (file in table.taken_up or file.name.startswith(_MARK)):
                says = "it is neither a base file, nor a log, nor a partition's mark"
                yield RULES.fault(("file.name", place, says))
            continue
        folders.add(file.parent)
        instant, instants = match[2] if match.re is _LOG else match[3], table.instants
        if not instants.knows(instant):
            says = f"no action of {instant} is on the timeline: readers leave the file out"
            yield RULES.fault(("file.instant", place, says))
        if instants.has_completed(instant):
            groups[match[1]].add(file.parent.relative_to(table.path).as_posix())
            yield from _one_faults(table, file, match)
    yield from map(RULES.fault, _folder_findings(table, folders, groups))


def _one_faults(table: _Table, file: Path, match: re.Match[str]) -> Iterator[Fault]:
    """What is wrong with a base file or a log in itself."""
    place, instants = table.place(file), table.instants
    if match.re is _BASE:
        yield from base_faults(table.path, file, table.conf, instants)
    elif table.conf["hoodie.table.type"] == _TYPES[0] and not match[5]:
        says = "a table that is copied on write has no logs but those of changes"
        yield RULES.fault(("file.log", place, says))
    else:
        # An upgrade leaves logs that bear the instant of a base file.
        first = int(table.conf.get("hoodie.table.initial.version", table.version))
        own = min(first, table.version) >= LAYOUT_2
        check = partial(log_findings, table.path, file, own, instants)
        yield from RULES.faults(check, "log.content", place)


def _folder_findings(
    table: _Table, folders: set[Path], groups: Mapping[str, set[str]]
) -> Iterator[Finding]:
    for folder in sorted(folders):
        yield from guarded(partial(_mark_findings, table, folder), "partition.mark", folder.name)
    for name, where in sorted(groups.items()):
        if len(where) > 1 and not name.startswith(_SHARED):
            says = f"the file group {name} lies in several partitions"
            yield "file.group", ", ".join(sorted(where)), says


def _mark_findings(table: _Table, folder: Path) -> Iterator[Finding]:
    """The mark by which a listing tells a partition from other folders."""
    depth = len(folder.relative_to(table.path).parts)
    marks = [*folder.glob(f"{_MARK}*")]
    if not any(mark.suffix != ".crc" for mark in marks):
        says = f"a partition without {_MARK}: listings do not find it"
        yield "partition.mark", table.place(folder), says
    for mark in (one for one in marks if one.name == _MARK):
        lines = mark.read_text(encoding="utf-8").splitlines()
        pairs = dict(line.split("=", 1) for line in lines if "=" in line)
        for name, ok, must in (
            ("partitionDepth", pairs.get("partitionDepth") == str(depth), str(depth)),
            ("commitTime", bool(pairs.get("commitTime")), "an instant"),
        ):
            if not ok:
                says = f"{name} is {pairs.get(name)!r}, and must be {must}"
                yield "partition.mark", table.place(mark), says

"""What is wrong with a Hudi table: properties, timeline, what commits say; the rest lies beside.

Sources are sections of Hudi's technical specification (that of table version 8), and classes of
Hudi where it is silent or wrong; the bytes of logs are as Hudi writes them.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from seambench.contracts.lint import Fault
from seambench.formats.hudi.lint.base_files import base_faults, row_count
from seambench.formats.hudi.lint.instants import LAYOUT_2, Instants, instants_of, texts_of
from seambench.formats.hudi.lint.logs import log_faults
from seambench.formats.hudi.lint.metadata_table import metadata_faults
from seambench.formats.hudi.timelines import Timeline, open_timeline, properties, told_by

_PROPERTIES = "Hudi, Technical Specification, Table Properties"
_TIMELINE = "Hudi, Technical Specification, Timeline"
_NAMES = "Hudi, Technical Specification, Data Files"
_COMMITS = "Hudi, HoodieCommitMetadata"
_GROUPS = "Hudi, Technical Specification, Storage Layout"
_REQUIRED = ("hoodie.table.name", "hoodie.table.type", "hoodie.table.version")
_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
_VERSIONS = range(10)
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
#: File ids that concurrent writers share on purpose.
_SHARED = "00000000-0000-0000-0000-"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Table:
    """A table's folder, properties and timeline."""

    path: Path
    told: Mapping[str, str]
    timeline: Timeline
    removed: set[str] = field(default_factory=set)

    @cached_property
    def version(self) -> int:
        return int(self.told["hoodie.table.version"])

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
    wrong = list(_property_faults(table))
    yield from wrong
    if any(fault.level == "must" for fault in wrong):
        return
    found = _Table(table, properties(table), open_timeline(table))
    yield from _timeline_faults(found)
    try:
        _ = found.instants
    except Exception as why:
        says = f"it cannot be read: {type(why).__name__}: {str(why)[:200]}"
        place = found.place(found.timeline.folder)
        yield Fault("hudi.timeline.unreadable", _TIMELINE, place, says)
        return
    yield from _commit_faults(found)
    yield from _file_faults(found)
    yield from metadata_faults(table, found.told, found.instants)


def _property_faults(table: Path) -> Iterator[Fault]:
    place = ".hoodie/hoodie.properties"
    if not (table / place).is_file():
        yield Fault("hudi.properties.missing", _GROUPS, place, "there is no such file")
        return
    told = properties(table)
    for name in _REQUIRED:
        if not told.get(name):
            yield Fault("hudi.properties.required", _PROPERTIES, f"{place} {name}", "it is not set")
    version, layout = (told.get(f"hoodie.{n}.version", "1") for n in ("table", "timeline.layout"))
    kind = told.get("hoodie.table.type", _TYPES[0])
    for rule, name, ok, must in (
        ("version", "hoodie.table.version", version in map(str, _VERSIONS), "0 to 9"),
        ("type", "hoodie.table.type", kind in _TYPES, " or ".join(_TYPES)),
        (
            "layout",
            "hoodie.timeline.layout.version",
            layout == ("2" if version.isdigit() and int(version) >= LAYOUT_2 else "1"),
            f"that of version {version}",
        ),
    ):
        if not ok:
            says = f"it is {told.get(name)!r}, and must be {must}"
            yield Fault(f"hudi.properties.{rule}", _PROPERTIES, f"{place} {name}", says)
    named = f"{told.get('hoodie.database.name', '')}.{told.get('hoodie.table.name', '')}"
    summed = told.get("hoodie.table.checksum", "")
    if summed and summed != str(zlib.crc32(named.encode())):
        says = f"it is {summed}, that of {named!r} is {zlib.crc32(named.encode())}"
        at = f"{place} hoodie.table.checksum"
        yield Fault("hudi.properties.checksum", _PROPERTIES, at, says)


# The timeline.


def _timeline_faults(table: _Table) -> Iterator[Fault]:
    states: dict[tuple[str, bool], dict[str, str]] = defaultdict(dict)
    for file in sorted(table.timeline.folder.iterdir()):
        place = table.place(file)
        if file.name.startswith((".", "hoodie.properties")) or not file.is_file():
            continue
        match = _NAME.fullmatch(re.sub(r"^(\d+)\.inflight$", r"\1.commit.inflight", file.name))
        if match is None:
            says = "it is no name of an instant: begin, completion, action, state"
            yield Fault("hudi.timeline.name", _TIMELINE, place, says)
            continue
        begin, end, action, state = match.groups()
        # A savepoint has the instant of the commit that it saves.
        states[begin, action == "savepoint"][state or "completed"] = action
        if action not in _ACTIONS:
            yield Fault("hudi.timeline.action", _TIMELINE, place, f"{action!r} is no action")
        if end is not None and end < begin:
            says = f"it completed at {end}, before it began"
            yield Fault("hudi.timeline.completion", _TIMELINE, place, says)
        if (end is None) == (table.version >= LAYOUT_2) and state is None:
            says = "a completion time is missing" if end is None else "layout 1 has no such time"
            yield Fault("hudi.timeline.completion", _TIMELINE, place, says)
    for (begin, _), found in states.items():
        yield from _state_faults(table, begin, found)


def _state_faults(table: _Table, begin: str, found: Mapping[str, str]) -> Iterator[Fault]:
    """States of one instant: requested, inflight, completed, in this order, of one action."""
    place = f"{table.place(table.timeline.folder)}/{begin}"
    order = ("requested", "inflight", "completed")
    if "requested" not in found and not set(found.values()) <= {"savepoint", *_TAKES_AWAY}:
        says = f"the instant is {', '.join(found)}, and was never requested"
        yield Fault("hudi.timeline.states", _TIMELINE, place, says, "should")
    names = {_COMPLETES.get(found[state], found[state]) for state in order if state in found}
    if len(names) > 1:
        says = f"its states are of several actions: {', '.join(sorted(names))}"
        yield Fault("hudi.timeline.states", _TIMELINE, place, says)


# What commits say.


def _commit_faults(table: _Table) -> Iterator[Fault]:
    bodies = []
    for file, instant, _, action, done in table.timeline.names():
        if not done or action not in (*_WRITES, *_TAKES_AWAY) or not file.stat().st_size:
            continue
        try:
            bodies.append((file, instant, action, told_by(file.read_bytes())))
        except Exception as why:
            says = f"it cannot be read: {type(why).__name__}: {str(why)[:200]}"
            yield Fault("hudi.commit.unreadable", _COMMITS, table.place(file), says)
    for _, _, action, body in bodies:
        if action in _TAKES_AWAY:
            table.removed.update(Path(text).name for text in texts_of(body))
    for file, instant, action, body in bodies:
        if action in _WRITES:
            for partition, stats in (body.get("partitionToWriteStats") or {}).items():
                for told in stats:
                    yield from _stat_faults(table, file, instant, partition, told)


def _stat_faults(
    table: _Table, commit: Path, instant: str, partition: str, told: Row
) -> Iterator[Fault]:
    """The statistics of one file that a commit wrote."""
    path = told.get("path") or ""
    if not path:
        return
    file, at = table.path / path, f"{table.place(commit)} {path}"
    base, log = _BASE.fullmatch(file.name), _LOG.fullmatch(file.name)
    match = base or log
    folder = path.rpartition("/")[0]
    for rule, ok, says in (
        ("path", match is not None, "the file's name is neither that of a base file nor of a log"),
        ("file-id", match is None or told["fileId"] == match[1], f"fileId is {told['fileId']}"),
        (
            "partition",
            partition == told.get("partitionPath", partition) == folder,
            f"partition {partition!r}, partitionPath {told.get('partitionPath')!r}",
        ),
        ("instant", base is None or base[3] == instant, f"{instant} wrote the file"),
    ):
        if not ok:
            yield Fault(f"hudi.commit.{rule}", _COMMITS, at, says)
    if not file.is_file():
        if file.name not in table.removed:
            says = "there is no such file, and no clean, rollback or restore says that it went"
            yield Fault("hudi.commit.missing", _COMMITS, at, says)
        return
    size, real = told.get("fileSizeInBytes"), file.stat().st_size
    if size is not None and (size > real if log and table.version < LAYOUT_2 else size != real):
        says = f"fileSizeInBytes is {size}, the file has {real}"
        yield Fault("hudi.commit.file-size", _COMMITS, f"{at} fileSizeInBytes", says)
    if base and (rows := row_count(file)) is not None:
        yield from _write_faults(told, rows, at)


def _write_faults(told: Row, rows: int, at: str) -> Iterator[Fault]:
    """Rows that a commit counted; those that could not be written are among them."""
    errors = told.get("totalWriteErrors") or 0
    if errors:
        says = f"{errors} rows could not be written, and the commit went through"
        place = f"{at} totalWriteErrors"
        yield Fault("hudi.commit.write-errors", _COMMITS, place, says, "should")
    if rows + errors != told.get("numWrites", rows + errors):
        says = f"numWrites is {told['numWrites']} with {errors} errors, the file has {rows} rows"
        yield Fault("hudi.commit.writes", _COMMITS, f"{at} numWrites", says)


# Files.


def _file_faults(table: _Table) -> Iterator[Fault]:
    groups: dict[str, set[str]] = defaultdict(set)
    folders: set[Path] = set()
    for file in table.files():
        match = _BASE.fullmatch(file.name) or _LOG.fullmatch(file.name)
        if match:
            folders.add(file.parent)
            instant = match[2] if match.re is _LOG else match[3]
            if table.instants.has_completed(instant):
                groups[match[1]].add(file.parent.relative_to(table.path).as_posix())
            yield from _one_faults(table, file, match, instant)
        elif not file.name.startswith(".hoodie_partition_metadata"):
            says = "it is neither a base file, nor a log, nor a partition's mark"
            yield Fault("hudi.file.name", _NAMES, table.place(file), says, "should")
    for folder in sorted(folders):
        yield from _mark_faults(table, folder)
    for name, where in sorted(groups.items()):
        if len(where) > 1 and not name.startswith(_SHARED):
            says = f"the file group {name} lies in several partitions"
            yield Fault("hudi.file.group", _GROUPS, ", ".join(sorted(where)), says, "should")


def _one_faults(table: _Table, file: Path, match: re.Match[str], instant: str) -> Iterator[Fault]:
    """What is wrong with a base file or a log, by its name and in itself."""
    place, instants = table.place(file), table.instants
    if not instants.knows(instant):
        says = f"no action of {instant} is on the timeline: readers leave the file out"
        yield Fault("hudi.file.instant", _NAMES, place, says, "should")
    if not instants.has_completed(instant):
        return
    if match.re is _BASE:
        yield from base_faults(table.path, file, table.told, instants)
    elif table.told["hoodie.table.type"] == _TYPES[0] and not match[5]:
        says = "a table that is copied on write has no logs but those of changes"
        yield Fault("hudi.file.log", "Hudi, Technical Specification, Table Types", place, says)
    else:
        yield from log_faults(table.path, file, table.version >= LAYOUT_2, instants)


def _mark_faults(table: _Table, folder: Path) -> Iterator[Fault]:
    """The mark by which a listing tells a partition from other folders."""
    depth = len(folder.relative_to(table.path).parts)
    source = "Hudi, HoodiePartitionMetadata"
    marks = [*folder.glob(".hoodie_partition_metadata*")]
    if not any(mark.suffix != ".crc" for mark in marks):
        says = "a partition without .hoodie_partition_metadata: listings do not find it"
        yield Fault("hudi.partition.mark", source, table.place(folder), says)
    for mark in (one for one in marks if one.name == ".hoodie_partition_metadata"):
        lines = mark.read_text(encoding="utf-8").splitlines()
        told = dict(line.split("=", 1) for line in lines if "=" in line)
        for name, ok, must in (
            ("partitionDepth", told.get("partitionDepth") == str(depth), str(depth)),
            ("commitTime", bool(told.get("commitTime")), "an instant"),
        ):
            if not ok:
                says = f"{name} is {told.get(name)!r}, and must be {must}"
                yield Fault("hudi.partition.mark", source, table.place(mark), says)

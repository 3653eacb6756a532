"""What is wrong with a Paimon table: its snapshots and manifests; the rest lies beside.

Sources are pages of the specification (`docs/concepts/spec` of Paimon), and classes of its Java
core where those are silent.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.orc as orc

from seambase.errors import InputError
from seambench.contracts.lint import Fault
from seambench.formats.forms.containers import is_avro, read_avro
from seambench.formats.paimon.binary_rows import Kind, decode, kind_of, narrow, ordered
from seambench.formats.paimon.lint.data import ADD, DELETE, DataFile, data_faults, size_fault
from seambench.formats.paimon.lint.schemas import schema_faults
from seambench.formats.paimon.lint.vectors import index_faults

_SNAPSHOT = "Paimon, Specification, Snapshot"
_SCHEMA = "Paimon, Specification, Schema"
_LIST = "Paimon, Specification, Manifest List"
_MANIFEST = "Paimon, Specification, Data Manifest"
_MERGED = "Paimon, FileEntry.mergeEntries"
_TRACKING = "Paimon, Row Tracking"
_KINDS = ("APPEND", "COMPACT", "OVERWRITE", "ANALYZE")
#: The newest version that the specification names, of snapshots and of schemas.
_VERSION = 3
Row = Mapping[str, Any]


class _BrokenError(Exception):
    """What cannot be read, so that nothing below it can be judged."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.says)
        self.fault = fault


@dataclass(frozen=True)
class _Table:
    """A table's folder, its schemas by id, and its newest snapshot."""

    path: Path
    schemas: Mapping[int, Row]
    snapshot: Row

    @cached_property
    def schema(self) -> Row:
        return self.schemas[max(self.schemas)]

    @cached_property
    def partition(self) -> list[Kind]:
        kinds = {one["name"]: kind_of(one["type"]) for one in self.schema["fields"]}
        return [kinds[name] for name in self.schema["partitionKeys"]]


@dataclass
class _Manifests:
    """The files of a snapshot as its lists tell of them: live ones, and counts of rows."""

    live: dict[tuple[Any, ...], DataFile] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)


def lint(table: Path) -> Iterator[Fault]:
    """What is wrong with a Paimon table, at its newest snapshot."""
    try:
        schemas = dict(_numbered(table, "schema"))
        wrong = [*schema_faults(schemas)]
        yield from wrong
        if any(fault.rule.endswith(("names", ".keys")) for fault in wrong):
            return
        snapshots = dict(_numbered(table, "snapshot"))
        yield from _snapshot_faults(table, snapshots, schemas)
        if snapshots and schemas and snapshots[max(snapshots)].get("schemaId") in schemas:
            yield from _content_faults(_Table(table, schemas, snapshots[max(snapshots)]))
    except _BrokenError as broken:
        yield broken.fault


def _numbered(table: Path, kind: str) -> Iterator[tuple[int, Row]]:
    """Snapshots or schemas by the number in their name."""
    for file in sorted((table / kind).glob(f"{kind}-*")):
        if not re.fullmatch(rf"{kind}-\d+", file.name):
            continue
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as why:
            source = _SNAPSHOT if kind == "snapshot" else _SCHEMA
            place = f"{kind}/{file.name}"
            raise _BrokenError(
                Fault(f"paimon.{kind}.json", source, place, f"no JSON: {why}")
            ) from why
        yield int(file.name[len(kind) + 1 :]), said


def _snapshot_faults(
    table: Path, snapshots: Mapping[int, Row], schemas: Mapping[int, Row]
) -> Iterator[Fault]:
    if not snapshots:
        return
    first, last = min(snapshots), max(snapshots)
    for number in sorted(set(range(first, last)) - set(snapshots)):
        says = f"there is no snapshot {number} between {first} and {last}: they must be continuous"
        yield Fault("paimon.snapshot.gap", _SNAPSHOT, f"snapshot/snapshot-{number}", says)
    for hint, number in (("EARLIEST", first), ("LATEST", last)):
        file = table / "snapshot" / hint
        hinted = file.read_text(encoding="utf-8").strip() if file.is_file() else str(number)
        if hinted != str(number):
            says = f"the hint says {hinted}, the snapshots run from {first} to {last}"
            yield Fault("paimon.snapshot.hint", _SNAPSHOT, f"snapshot/{hint}", says, "should")
    times = 0
    for number, said in sorted(snapshots.items()):
        place = f"snapshot/snapshot-{number}"
        for rule, name, ok, must in (
            ("id", "id", said.get("id") == number, f"be {number}, as in its name"),
            ("version", "version", said.get("version", 1) in range(1, _VERSION + 1), "be 1 to 3"),
            ("kind", "commitKind", said.get("commitKind") in _KINDS, f"be one of {_KINDS}"),
            ("schema", "schemaId", said.get("schemaId") in schemas, "name a schema that is there"),
        ):
            if not ok:
                says = f"{name} is {said.get(name)!r}, and must {must}"
                yield Fault(f"paimon.snapshot.{rule}", _SNAPSHOT, f"{place} {name}", says)
        if said.get("timeMillis", 0) < times:
            says = f"timeMillis is {said['timeMillis']}, an earlier snapshot's {times}"
            source = "Paimon, SnapshotManager.earlierOrEqualTimeMills"
            yield Fault("paimon.snapshot.time", source, f"{place} timeMillis", says, "should")
        times = max(times, said.get("timeMillis", 0))


def _content_faults(table: _Table) -> Iterator[Fault]:
    """Of the newest snapshot: manifests, rows' counts, index files and data files."""
    snapshot, place = table.snapshot, f"snapshot/snapshot-{table.snapshot['id']}"
    merged = _Manifests()
    for which in ("base", "delta", "changelog"):
        if (name := snapshot.get(f"{which}ManifestList")) is not None:
            yield from _list_faults(table, which, name, merged)
    count = {
        "totalRecordCount": sum(one.told["_ROW_COUNT"] for one in merged.live.values()),
        "deltaRecordCount": merged.rows["delta"],
        "changelogRecordCount": merged.rows["changelog"],
    }
    for name, rows in count.items():
        if snapshot.get(name) not in (None, rows):
            says = f"{name} is {snapshot[name]}, the files of its manifests have {rows} rows"
            yield Fault("paimon.snapshot.rows", _SNAPSHOT, f"{place} {name}", says)
    yield from _level_faults(table, merged.live.values())
    yield from _row_id_faults(table, merged.live.values())
    if (name := snapshot.get("indexManifest")) is not None:
        entries = _read(table, name, "index-manifest", _SNAPSHOT)
        named = {one.name: one for one in merged.live.values()}
        yield from index_faults(table.path, name, entries, named)
    for one in merged.live.values():
        yield from data_faults(one)


def _read(table: _Table, name: str, rule: str, source: str) -> list[Any]:
    """Rows of a file below `manifest`, in Avro or ORC."""
    file = table.path / "manifest" / name
    place = f"manifest/{name}"
    if not file.is_file():
        raise _BrokenError(Fault(f"paimon.{rule}.missing", source, place, "there is no such file"))
    try:
        return read_avro(file).rows if is_avro(file) else orc.read_table(file).to_pylist()
    except Exception as why:
        says = f"it cannot be read: {type(why).__name__}: {str(why)[:200]}"
        raise _BrokenError(Fault(f"paimon.{rule}.unreadable", source, place, says)) from why


def _list_faults(table: _Table, which: str, name: str, merged: _Manifests) -> Iterator[Fault]:
    place, size = f"manifest/{name}", table.snapshot.get(f"{which}ManifestListSize")
    listed = _read(table, name, "manifest-list", _LIST)
    at = f"snapshot/snapshot-{table.snapshot['id']} {which}ManifestListSize"
    yield from size_fault(table.path / place, size, "manifest-list", _SNAPSHOT, at)
    for told in listed:
        file = table.path / "manifest" / told["_FILE_NAME"]
        entries = _read(table, told["_FILE_NAME"], "manifest", _LIST)
        at = f"{place} {told['_FILE_NAME']}"
        yield from size_fault(file, told["_FILE_SIZE"], "manifest", _LIST, f"{at} _FILE_SIZE")
        for rule, says in _told_faults(table, told, entries):
            yield Fault(f"paimon.manifest-list.{rule}", _LIST, at, says)
        for entry in entries:
            at = f"manifest/{told['_FILE_NAME']} {entry['_FILE']['_FILE_NAME']}"
            yield from _entry_faults(table, which, entry, at, merged)


def _told_faults(table: _Table, told: Row, entries: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """A manifest as its list tells of it."""
    for name, kind in (("_NUM_ADDED_FILES", ADD), ("_NUM_DELETED_FILES", DELETE)):
        count = sum(entry["_KIND"] == kind for entry in entries)
        if told[name] != count:
            yield "counts", f"{name} is {told[name]}, the manifest has {count}"
    if told["_SCHEMA_ID"] not in table.schemas:
        yield "schema", f"_SCHEMA_ID is {told['_SCHEMA_ID']}, of which there is no schema"
    for what, values in (
        ("BUCKET", [entry["_BUCKET"] for entry in entries]),
        ("LEVEL", [entry["_FILE"]["_LEVEL"] for entry in entries]),
    ):
        low, high = told.get(f"_MIN_{what}"), told.get(f"_MAX_{what}")
        known = values and None not in (low, high)
        if known and not low <= min(values) <= max(values) <= high:
            says = f"are {low} and {high}, the entries' {min(values)} to {max(values)}"
            yield "bounds", f"_MIN_{what} and _MAX_{what} {says}"
    for says in _partition_faults(table, told, entries):
        yield "partition-stats", says


def _partition_faults(table: _Table, told: Row, entries: Sequence[Row]) -> Iterator[str]:
    """Bounds of partitions, by which readers leave manifests out."""
    stats = told["_PARTITION_STATS"]
    try:
        low, high = (decode(stats[f"_{end}_VALUES"], table.partition) for end in ("MIN", "MAX"))
        rows = [decode(entry["_PARTITION"], table.partition) for entry in entries]
    except InputError as why:
        yield f"of partitions: {why}"
        return
    names = table.schema["partitionKeys"]
    for at, (name, kind) in enumerate(zip(names, table.partition, strict=True)):
        values = [ordered(row[at], kind) for row in rows if row[at] is not None]
        ends = (min(values), max(values)) if values else (None, None)
        yield from (says for _, says in narrow(name, kind, (low[at], high[at]), ends))
        if stats["_NULL_COUNTS"] and not stats["_NULL_COUNTS"][at] and len(values) < len(rows):
            yield f"no null of {name} is said to be there, and there are some"


def _entry_faults(
    table: _Table, which: str, entry: Row, at: str, merged: _Manifests
) -> Iterator[Fault]:
    told, kind = entry["_FILE"], entry["_KIND"]
    if kind not in (ADD, DELETE):
        yield Fault("paimon.entry.kind", _MANIFEST, at, f"_KIND is {kind}, and must be 0 or 1")
        return
    merged.rows[which] += told["_ROW_COUNT"] * (1 if kind == ADD else -1)
    try:
        partition = decode(entry["_PARTITION"], table.partition)
    except InputError as why:
        yield Fault("paimon.entry.partition", _MANIFEST, f"{at} _PARTITION", str(why))
        return
    bucket, total = entry["_BUCKET"], entry["_TOTAL_BUCKETS"]
    if bucket < -2 or (0 < total <= bucket):
        says = f"_BUCKET is {bucket} of {total}"
        yield Fault("paimon.entry.bucket", _MANIFEST, f"{at} _BUCKET", says)
    if told["_SCHEMA_ID"] not in table.schemas:
        says = f"_SCHEMA_ID is {told['_SCHEMA_ID']}, of which there is no schema"
        yield Fault("paimon.file.schema", _MANIFEST, f"{at} _SCHEMA_ID", says)
        return
    names = zip(table.schema["partitionKeys"], partition, strict=True)
    one = DataFile(table.path, table.schemas[told["_SCHEMA_ID"]], entry, dict(names), at)
    if which == "changelog":
        yield from data_faults(one)
        return
    name = (entry["_PARTITION"], bucket, told["_LEVEL"], one.name, told.get("_EXTERNAL_PATH"))
    if kind == ADD and name in merged.live:
        yield Fault("paimon.entry.added-twice", _MERGED, at, "the file is there already")
    elif kind == DELETE and name not in merged.live:
        yield Fault("paimon.entry.deleted-absent", _MERGED, at, "no such file is there before")
    if kind == ADD:
        merged.live[name] = one
    else:
        merged.live.pop(name, None)


def _level_faults(table: _Table, live: Any) -> Iterator[Fault]:
    """Files of a level above 0 must not overlap by key: each level is one sorted run."""
    runs = defaultdict(list)
    for one in live:
        level = one.told["_LEVEL"]
        if level < 0 or (level and not table.schema["primaryKeys"]):
            says = f"_LEVEL is {level}" + ("" if level < 0 else " in a table without keys")
            yield Fault("paimon.file.level", _MANIFEST, f"{one.place} _LEVEL", says)
        elif level and (ends := one.ends()) is not None:
            runs[one.entry["_PARTITION"], one.entry["_BUCKET"], level].append((ends, one))
    for (_, _, level), run in runs.items():
        run.sort(key=lambda pair: pair[0][0])
        for (before, left), (after, right) in pairwise(run):
            if before[1] >= after[0]:
                says = f"its keys overlap those of {left.name}, also of level {level}"
                source = "Paimon, SortedRun.validate"
                yield Fault("paimon.level.overlap", source, right.place, says)


def _row_id_faults(table: _Table, live: Any) -> Iterator[Fault]:
    """Row ids of files must not overlap; files of the same rows, other columns, begin alike."""
    ranges: dict[tuple[int, int], DataFile] = {}
    for one in live:
        first, count = one.told.get("_FIRST_ROW_ID"), one.told["_ROW_COUNT"]
        if first is not None:
            ranges.setdefault((first, first + count), one)
    top = -1
    for (first, end), one in sorted(ranges.items(), key=lambda pair: pair[0]):
        if first < top:
            says = f"_FIRST_ROW_ID is {first}, ids up to {top} are those of another file"
            yield Fault("paimon.row-ids.overlap", _TRACKING, f"{one.place} _FIRST_ROW_ID", says)
        top = max(top, end)
    following = table.snapshot.get("nextRowId")
    if ranges and following is not None and following < top:
        place = f"snapshot/snapshot-{table.snapshot['id']} nextRowId"
        says = f"nextRowId is {following}, and files have ids up to {top}"
        yield Fault("paimon.snapshot.next-row-id", _SNAPSHOT, place, says)

"""What is wrong with a Paimon table: its snapshots and manifests; the rest lies beside."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.orc as orc
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambench.contracts.formats import Fault
from seambench.formats.forms.containers import is_avro, read_avro
from seambench.formats.lint import (
    DAMAGE,
    Finding,
    UnreadError,
    Wrong,
    gaps,
    guarded,
    read_json,
    reason,
    size_of,
)
from seambench.formats.paimon.binary_rows import Kind, decode, kind_of, narrow, ordered
from seambench.formats.paimon.lint.data import (
    ADD,
    DELETE,
    RULES,
    DataFile,
    data_faults,
    size_finding,
)
from seambench.formats.paimon.lint.schemas import schema_findings
from seambench.formats.paimon.lint.vectors import index_findings

_KINDS = ("APPEND", "COMPACT", "OVERWRITE", "ANALYZE")
#: Ends of rules after which it is not known which files there are.
_UNREAD = (".form", ".missing", ".unreadable")
#: Those that the specification names.
_VERSIONS = (1, 2, 3)
Row = Mapping[str, Any]


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
    """The files of a snapshot as its lists tell of them: live ones and changes, counts of rows."""

    live: dict[tuple[Any, ...], DataFile] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    changelog: list[DataFile] = field(default_factory=list)


def lint(table: Path) -> Iterator[Fault]:
    """What is wrong with a Paimon table, at its newest snapshot."""
    try:
        schemas = dict(_numbered(table, "schema"))
        wrong = [*RULES.faults(partial(schema_findings, schemas), "form", "schema")]
        yield from wrong
        if any(fault.rule.endswith(("names", ".keys", ".form")) for fault in wrong):
            return
        snapshots = dict(_numbered(table, "snapshot"))
        check = partial(_snapshot_findings, table, snapshots, schemas)
        yield from RULES.faults(check, "form", "snapshot")
        if not snapshots or not schemas:
            return
        newest = snapshots[max(snapshots)] | {"id": max(snapshots)}
        if newest.get("schemaId") in [*schemas]:
            yield from _content_faults(_Table(table, schemas, newest))
    except UnreadError as unread:
        yield RULES.fault(unread.finding)


def _numbered(table: Path, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Snapshots or schemas by the number in their name."""
    for file in sorted((table / kind).glob(f"{kind}-*")):
        if not re.fullmatch(rf"{kind}-\d+", file.name):
            continue
        try:
            said = read_json(file.read_bytes())
        except (ValueError, OSError) as why:
            says = f"no JSON: {reason(why)}"
            raise UnreadError(f"{kind}.json", f"{kind}/{file.name}", says) from why
        if not isinstance(said, dict):
            raise UnreadError(f"{kind}.json", f"{kind}/{file.name}", "it is no object")
        yield int(file.name[len(kind) + 1 :]), said


def _snapshot_findings(
    table: Path, snapshots: Mapping[int, Row], schemas: Mapping[int, Row]
) -> Iterator[Finding]:
    if not snapshots:
        return
    first, last = min(snapshots), max(snapshots)
    for begin, end in gaps(snapshots):
        says = f"there are no snapshots {begin} to {end}: they must be continuous"
        yield "snapshot.gap", f"snapshot/snapshot-{begin}", says
    for hint, number in (("EARLIEST", first), ("LATEST", last)):
        file = table / "snapshot" / hint
        hinted = file.read_text(encoding="utf-8").strip() if file.is_file() else str(number)
        if hinted != str(number):
            says = f"the hint says {hinted}, the snapshots run from {first} to {last}"
            yield "snapshot.hint", f"snapshot/{hint}", says
    times = 0
    for number, said in sorted(snapshots.items()):
        place = f"snapshot/snapshot-{number}"
        for rule, name, ok, must in (
            ("id", "id", said.get("id") == number, f"be {number}, as in its name"),
            ("version", "version", said.get("version", 1) in _VERSIONS, "be 1 to 3"),
            ("kind", "commitKind", said.get("commitKind") in _KINDS, f"be one of {_KINDS}"),
            (
                "schema",
                "schemaId",
                said.get("schemaId") in [*schemas],
                "name a schema that is there",
            ),
        ):
            if not ok:
                says = f"{name} is {said.get(name)!r}, and must {must}"
                yield f"snapshot.{rule}", f"{place} {name}", says
        if said.get("timeMillis", 0) < times:
            says = f"timeMillis is {said['timeMillis']}, an earlier snapshot's {times}"
            yield "snapshot.time", f"{place} timeMillis", says
        times = max(times, said.get("timeMillis", 0))


def _content_faults(table: _Table) -> Iterator[Fault]:
    """Of the newest snapshot: manifests, rows' counts, index files and data files."""
    snapshot, place = table.snapshot, f"snapshot/snapshot-{table.snapshot['id']}"
    merged = _Manifests()
    for which in ("base", "delta", "changelog"):
        if (name := snapshot.get(f"{which}ManifestList")) is not None:
            listed = partial(_list_findings, table, which, str(name), merged)
            faults = [*RULES.faults(listed, "form", f"manifest/{name}")]
            yield from faults
            if any(fault.rule.endswith(_UNREAD) for fault in faults):
                return
    for one in merged.changelog:
        yield from data_faults(one)
    for rules in (_count_findings, _level_findings, _row_id_findings):
        yield from RULES.faults(partial(rules, table, merged), "form", place)
    if (name := snapshot.get("indexManifest")) is not None:
        entries = _read(table, str(name), "index-manifest")
        named = {one.name: one for one in merged.live.values()}
        indexed = partial(index_findings, table.path, str(name), entries, named)
        yield from RULES.faults(indexed, "form", f"manifest/{name}")
    for one in merged.live.values():
        yield from data_faults(one)


def _count_findings(table: _Table, merged: _Manifests) -> Iterator[Finding]:
    """Rows of the snapshot against those of its manifests."""
    count = {
        "totalRecordCount": sum(one.meta["_ROW_COUNT"] for one in merged.live.values()),
        "deltaRecordCount": merged.rows["delta"],
        "changelogRecordCount": merged.rows["changelog"],
    }
    for name, rows in count.items():
        if (said := table.snapshot.get(name)) not in (None, rows):
            says = f"{name} is {said}, the files of its manifests have {rows} rows"
            yield "snapshot.rows", f"snapshot/snapshot-{table.snapshot['id']} {name}", says


def _read(table: _Table, name: str, rule: str) -> list[Any]:
    """Rows of a file below `manifest`, in Avro, ORC or Parquet."""
    file = table.path / "manifest" / name
    if size_of(file) is None:
        raise UnreadError(f"{rule}.missing", f"manifest/{name}", "there is no such file")
    try:
        rows: list[Any]
        if is_avro(file):
            rows = read_avro(file).rows
        else:
            is_orc = file.read_bytes().startswith(b"ORC")
            rows = (orc if is_orc else pq).read_table(file).to_pylist()
    except DAMAGE as why:
        says = f"it cannot be read: {reason(why)}"
        raise UnreadError(f"{rule}.unreadable", f"manifest/{name}", says) from why
    return rows


def _list_findings(table: _Table, which: str, name: str, merged: _Manifests) -> Iterator[Finding]:
    place, size = f"manifest/{name}", table.snapshot.get(f"{which}ManifestListSize")
    listed = _read(table, name, "manifest-list")
    at = f"snapshot/snapshot-{table.snapshot['id']} {which}ManifestListSize"
    yield from size_finding(table.path / place, size, "manifest-list", at)
    for manifest in listed:
        at = f"{place} {manifest['_FILE_NAME']}"
        entries = _read(table, manifest["_FILE_NAME"], "manifest")
        file = table.path / "manifest" / manifest["_FILE_NAME"]
        yield from size_finding(file, manifest["_FILE_SIZE"], "manifest", f"{at} _FILE_SIZE")
        for rule, says in _listed_findings(table, manifest, entries):
            yield f"manifest-list.{rule}", at, says
        for entry in entries:
            here = f"manifest/{manifest['_FILE_NAME']} {entry['_FILE']['_FILE_NAME']}"
            each = partial(_entry_findings, table, which, entry, here, merged)
            yield from guarded(each, "form", here)


def _listed_findings(table: _Table, manifest: Row, entries: Sequence[Row]) -> Iterator[Wrong]:
    """A manifest against its row in the list."""
    for name, kind in (("_NUM_ADDED_FILES", ADD), ("_NUM_DELETED_FILES", DELETE)):
        count = sum(entry["_KIND"] == kind for entry in entries)
        if manifest[name] != count:
            yield "counts", f"{name} is {manifest[name]}, the manifest has {count}"
    if manifest["_SCHEMA_ID"] not in table.schemas:
        yield "schema", f"_SCHEMA_ID is {manifest['_SCHEMA_ID']}, of which there is no schema"
    for what, values in (
        ("BUCKET", [entry["_BUCKET"] for entry in entries]),
        ("LEVEL", [entry["_FILE"]["_LEVEL"] for entry in entries]),
    ):
        low, high = manifest.get(f"_MIN_{what}"), manifest.get(f"_MAX_{what}")
        known = values and None not in (low, high)
        if known and not low <= min(values) <= max(values) <= high:
            says = f"are {low} and {high}, the entries' {min(values)} to {max(values)}"
            yield "bounds", f"_MIN_{what} and _MAX_{what} {says}"
    for says in _partition_faults(table, manifest, entries):
        yield "partition-stats", says


def _partition_faults(table: _Table, manifest: Row, entries: Sequence[Row]) -> Iterator[str]:
    """Bounds of partitions, by which readers leave manifests out."""
    stats = manifest["_PARTITION_STATS"]
    try:
        low, high = (decode(stats[f"_{end}_VALUES"], table.partition) for end in ("MIN", "MAX"))
        rows = [decode(entry["_PARTITION"], table.partition) for entry in entries]
    except InputError as why:
        yield f"of partitions: {why}"
        return
    names = table.schema["partitionKeys"]
    for at, name in enumerate(names):
        values = [ordered(row[at]) for row in rows if row[at] is not None]
        ends = (min(values), max(values)) if values else (None, None)
        yield from (says for _, says in narrow(name, (low[at], high[at]), ends))
        if stats["_NULL_COUNTS"] and not stats["_NULL_COUNTS"][at] and len(values) < len(rows):
            yield f"no null of {name} is said to be there, and there are some"


def _entry_findings(
    table: _Table, which: str, entry: Row, at: str, merged: _Manifests
) -> Iterator[Finding]:
    meta, kind = entry["_FILE"], entry["_KIND"]
    if kind not in (ADD, DELETE):
        yield "entry.kind", at, f"_KIND is {kind}, and must be 0 or 1"
        return
    merged.rows[which] += meta["_ROW_COUNT"] * (1 if kind == ADD else -1)
    try:
        partition = decode(entry["_PARTITION"], table.partition)
    except InputError as why:
        yield "entry.partition", f"{at} _PARTITION", str(why)
        return
    bucket, total = entry["_BUCKET"], entry["_TOTAL_BUCKETS"]
    if bucket < -2 or (0 < total <= bucket):
        yield "entry.bucket", f"{at} _BUCKET", f"_BUCKET is {bucket} of {total}"
    if meta["_SCHEMA_ID"] not in table.schemas:
        says = f"_SCHEMA_ID is {meta['_SCHEMA_ID']}, of which there is no schema"
        yield "file.schema", f"{at} _SCHEMA_ID", says
        return
    names = zip(table.schema["partitionKeys"], partition, strict=True)
    one = DataFile(table.path, table.schemas[meta["_SCHEMA_ID"]], entry, dict(names), at)
    if which == "changelog":
        merged.changelog.append(one)
        return
    name = (entry["_PARTITION"], bucket, meta["_LEVEL"], one.name, meta.get("_EXTERNAL_PATH"))
    if kind == ADD and name in merged.live:
        yield "entry.added-twice", at, "the file is there already"
    elif kind == DELETE and name not in merged.live:
        yield "entry.deleted-absent", at, "no such file is there before"
    if kind == ADD:
        merged.live[name] = one
    else:
        merged.live.pop(name, None)


def _level_findings(table: _Table, merged: _Manifests) -> Iterator[Finding]:
    """Files of a level above 0 must not overlap by key: each level is one sorted run.

    Tables without keys have levels where they are clustered, whose files are in no order of theirs.
    """
    keyed = bool(table.schema["primaryKeys"])
    levels = keyed or table.schema["options"].get("clustering.incremental", "").lower() == "true"
    runs = defaultdict(list)
    for one in merged.live.values():
        level = one.meta["_LEVEL"]
        if level < 0 or (level and not levels):
            says = f"_LEVEL is {level}" + ("" if level < 0 else " in a table without keys")
            yield "file.level", f"{one.place} _LEVEL", says
        elif level and keyed and (ends := one.ends()) is not None:
            runs[one.entry["_PARTITION"], one.entry["_BUCKET"], level].append((ends, one))
    for (_, _, level), run in runs.items():
        run.sort(key=lambda pair: pair[0][0])
        for (before, left), (after, right) in pairwise(run):
            if before[1] >= after[0]:
                says = f"its keys overlap those of {left.name}, also of level {level}"
                yield "level.overlap", right.place, says


def _row_id_findings(table: _Table, merged: _Manifests) -> Iterator[Finding]:
    """Row ids of files must not overlap; files of the same rows, other columns, begin alike."""
    ranges: dict[tuple[int, int], DataFile] = {}
    for one in merged.live.values():
        first, count = one.meta.get("_FIRST_ROW_ID"), one.meta["_ROW_COUNT"]
        if first is not None:
            ranges.setdefault((first, first + count), one)
    top = -1
    for (first, end), one in sorted(ranges.items(), key=lambda pair: pair[0]):
        if first < top:
            says = f"_FIRST_ROW_ID is {first}, ids up to {top} are those of another file"
            yield "row-ids.overlap", f"{one.place} _FIRST_ROW_ID", says
        top = max(top, end)
    following = table.snapshot.get("nextRowId")
    if ranges and following is not None and following < top:
        says = f"nextRowId is {following}, and files have ids up to {top}"
        yield "snapshot.next-row-id", f"snapshot/snapshot-{table.snapshot['id']} nextRowId", says

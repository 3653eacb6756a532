"""Rules for manifest lists, manifests and their entries, of all valid snapshots."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from seambench.formats.iceberg.lint.table import AvroFile, Row, Table, read_avro
from seambench.formats.iceberg.lint.values import NAN, bound_key, stored_key
from seambench.formats.lint import DAMAGE, Finding, Wrong, fitting, guarded, reason, size_of

#: Field ids, of lists and of entries' files, that must hold a value from a version on.
_LIST = {500: 1, 501: 1, 502: 1, 503: 1, 517: 2, 515: 2, 516: 2} | dict.fromkeys(
    (504, 505, 506, 512, 513, 514), 2
)
_FILE = {100: 1, 101: 1, 102: 1, 103: 1, 104: 1, 134: 2}
_WHOLE = (int,)
#: Types of fields of lists, of entries, and of the files in them, by id.
_SHAPES: Mapping[str, Mapping[Any, tuple[type, ...]]] = {
    "list": {500: (str,), 507: (list,)}
    | dict.fromkeys((501, 502, 503, *range(504, 507), *range(512, 518), 520), _WHOLE),
    "entry": {2: (dict,)} | dict.fromkeys((0, 1, 3, 4), _WHOLE),
    "file": dict.fromkeys((100, 101, 143), (str,))
    | dict.fromkeys((103, 104, 134, 140, 142, 144, 145), _WHOLE)
    | dict.fromkeys((108, 109, 110, 137, 125, 128, 102), (dict,))
    | dict.fromkeys((132, 135), (list,)),
}
EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITIONS, EQUALITY = 0, 1, 2


@dataclass(frozen=True)
class Entry:
    """A file that is live in a snapshot, with what it inherits."""

    place: str  # its manifest's name and the entry in it
    spec: int  # id of its partition spec
    # the fields of `data_file` by their ids; its partition is without columns that the table
    # dropped
    file: Row
    sequence: int
    added: bool
    first_row_id: int | None

    @property
    def content(self) -> int:
        """Data, position deletes or equality deletes."""
        return int(self.file.get(134) or DATA)

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector."""
        return self.content == POSITIONS and str(self.file[101]).upper() == "PUFFIN"

    def reaches(self, data: Entry) -> bool:
        """Whether its positions are applied to a data file that they name."""
        same = (self.spec, self.file[102]) == (data.spec, data.file[102])
        return same and self.sequence >= data.sequence


@dataclass
class _Tally:
    """What the list of a snapshot comes to: row ids, live files, files that it adds and removes."""

    reached: int | None
    live: list[Entry] = field(default_factory=list)
    changed: dict[int, list[Row]] = field(default_factory=lambda: {ADDED: [], DELETED: []})

    def count(self, row: Row, manifest: AvroFile, snapshot: int) -> None:
        """Keep the files that the snapshot itself has added or removed."""
        for one in manifest.rows:
            by = row.get(503) if one.get(1) is None else one[1]
            if by == snapshot and one.get(0) in self.changed:
                self.changed[one[0]].append(one[2])


@dataclass
class Tree:
    """What the snapshots of a table reach; each manifest is read and judged once."""

    table: Table
    manifests: dict[str, AvroFile | None] = field(default_factory=dict)
    files: dict[str, Entry] = field(default_factory=dict)

    def findings(self) -> Iterator[Finding]:
        """What is wrong with lists and manifests; keeps each live file for those of files."""
        for snapshot in self.table.snapshots.values():
            if address := snapshot.get("manifest-list"):
                place = self.table.place(address)
                yield from guarded(
                    partial(self._list, snapshot, self.table.path(address), place),
                    "list.readable",
                    place,
                )

    def _list(self, snapshot: dict[str, Any], file: Path, place: str) -> Iterator[Finding]:
        rows = read_avro(file).rows
        tally = _Tally(snapshot.get("first-row-id"))
        seen = set()
        for row in rows:
            here = f"{place}: {str(row.get(500)).rpartition('/')[2]}"
            if wrong := fitting(row, _SHAPES["list"]):
                yield "list.readable", here, f"fields {wrong} are of another type"
                continue
            version = self.table.version if snapshot.get("sequence-number") else 1
            if missing := [
                n for n, first in _LIST.items() if version >= first and row.get(n) is None
            ]:
                yield "list.required", here, f"fields {missing} have no value"
            if row.get(500) is None or row.get(501) is None:
                continue
            if row[500] in seen:
                yield "list.twice", here, "the manifest is listed twice"
            seen.add(row[500])
            each = partial(self._row, snapshot, row, here, tally)
            yield from guarded(each, "manifest.readable", self.table.place(row[500]))
        for one in tally.live:
            self.files.setdefault(repr((one.spec, one.file | {142: None})), one)
        yield from _live(tally.live, place)
        yield from _kept(tally)
        for rule, name, says in _summary(snapshot, tally):
            yield rule, f"{place}: {name}", says

    def _row(
        self, snapshot: dict[str, Any], row: Row, here: str, tally: _Tally
    ) -> Iterator[Finding]:
        file, first = self.table.path(row[500]), row[500] not in self.manifests
        if first:
            yield from self._read(row[500], file, here)
        if (size := size_of(file)) not in (None, row[501]):
            yield "list.length", here, f"manifest_length is {row[501]}, not {size}"
        if row.get(502) not in self.table.specs:
            yield "list.spec", here, f"there is no partition spec {row.get(502)}"
        if (number := row.get(515) or 0) > snapshot.get("sequence-number", 0):
            yield "list.sequence", here, f"sequence_number {number} is above the snapshot's"
        adder = self.table.snapshots.get(row.get(503, 0))
        if adder and adder.get("sequence-number", 0) != number:
            yield "list.sequence", here, f"{number} is not that of the snapshot which added it"
        if (manifest := self.manifests[row[500]]) is None:
            return
        yield from _counts(row, manifest, here)
        if first:
            yield from _manifest(self.table, row, manifest, self.table.place(file))
        if row.get(502) in self.table.specs:
            yield from _partitions(self.table, row, manifest, here)
        tally.live += _entries(self.table, row, manifest)
        tally.count(row, manifest, snapshot["snapshot-id"])
        yield from self._row_ids(snapshot, row, manifest, tally.reached, here)
        if row.get(520) is not None and row.get(503) == snapshot["snapshot-id"]:
            tally.reached = max(tally.reached or 0, row[520] + _unassigned(manifest))

    def _read(self, address: str, file: Path, here: str) -> Iterator[Finding]:
        self.manifests[address] = None
        try:
            self.manifests[address] = manifest = read_avro(file)
        except DAMAGE as error:
            rule = "list.manifest" if size_of(file) is None else "manifest.readable"
            yield rule, here, f"the manifest cannot be read: {reason(error)}"
        else:
            yield from _misfits(manifest, self.table.place(file))

    def _row_ids(
        self, snapshot: dict[str, Any], row: Row, manifest: AvroFile, reached: int | None, here: str
    ) -> Iterator[Finding]:
        if snapshot.get("first-row-id") is None:
            return
        given = row.get(520)
        if row.get(517):
            if given is not None:
                yield "list.first-row-id", here, "a manifest of deletes has none"
        elif given is None:
            yield "list.first-row-id", here, "every manifest of data must have one"
        elif row.get(503) == snapshot["snapshot-id"]:
            if given < (reached or 0):
                yield "list.first-row-id", here, f"{given} is below {reached}, which is assigned"
            if given + _unassigned(manifest) > self.table.said["next-row-id"]:
                says = f"rows of it reach {given + _unassigned(manifest)}"
                yield "metadata.next-row-id", here, says


def _misfits(manifest: AvroFile, place: str) -> Iterator[Finding]:
    """Entries whose fields are of other types; they are left out of the manifest."""
    kept = []
    for at, one in enumerate(manifest.rows):
        wrong = fitting(one, _SHAPES["entry"])
        wrong += [] if wrong else fitting(one.get(2) or {}, _SHAPES["file"])
        if wrong:
            yield "entry.form", f"{place}: entry {at}", f"fields {wrong} are of another type"
        else:
            kept.append({**one, 2: one.get(2) or {}})
    manifest.rows[:] = kept


def _unassigned(manifest: AvroFile) -> int:
    """Rows of live files that get their first row id from the manifest."""
    return sum(
        one[2][103] for one in manifest.rows if one[0] != DELETED and one[2].get(142) is None
    )


def _counts(row: Row, manifest: AvroFile, here: str) -> Iterator[Finding]:
    for status, files, rows in ((ADDED, 504, 512), (EXISTING, 505, 513), (DELETED, 506, 514)):
        of = [one[2].get(103) or 0 for one in manifest.rows if one.get(0) == status]
        for number, true in ((files, len(of)), (rows, sum(of))):
            if row.get(number) not in (None, true):
                says = f"field {number} is {row[number]}, of status {status} are {true}"
                yield "list.counts", here, says
    numbers = [one.get(3) for one in manifest.rows if one.get(0) != DELETED]
    live = [row.get(515) or 0 if number is None else number for number in numbers]
    if live and row.get(516) not in (None, min(live)):
        yield "list.min-sequence", here, f"min_sequence_number is {row[516]}, not {min(live)}"


def _manifest(table: Table, row: Row, manifest: AvroFile, place: str) -> Iterator[Finding]:
    said = manifest.metadata
    version = int(said.get("format-version", 1))
    wanted = ["schema", "partition-spec"]
    wanted += ["partition-spec-id", "format-version", "content"] if version > 1 else []
    if missing := [name for name in wanted if name not in said]:
        yield "manifest.metadata", place, f"{missing} are required"
    if version > 1 and "schema-id" not in said:
        yield "manifest.no-schema-id", place, "schema-id is required; its schema holds it, too"
    elif "schema-id" in said and int(said["schema-id"]) not in table.schemas:
        yield "manifest.schema-id", place, f"there is no schema {said['schema-id']}"
    content = "deletes" if row.get(517) else "data"
    if said.get("content", "data") != content:
        yield "list.content", place, f"the list says {content}, it {said.get('content')}"
    if int(said.get("partition-spec-id", row.get(502, 0))) != row.get(502):
        yield "list.spec", place, f"the list says {row.get(502)}, it {said['partition-spec-id']}"
    yield from _manifest_rows(table, row, manifest, place)


def _manifest_rows(table: Table, row: Row, manifest: AvroFile, place: str) -> Iterator[Finding]:
    said, version = manifest.metadata, int(manifest.metadata.get("format-version", 1))
    try:
        fields = json.loads(said.get("partition-spec", "[]"))
        json.loads(said.get("schema", "{}"))
    except ValueError as error:
        yield "manifest.metadata", place, f"no JSON: {error}"
        fields = []
    known = table.specs.get(row.get(502, 0), [])
    if [_part(one) for one in fields] != [_part(one) for one in known]:
        yield "manifest.metadata", place, f"its partition-spec is not that of {row.get(502)}"
    if nameless := manifest.nameless():
        yield "manifest.field-ids", place, f"fields {nameless[:5]} have no id"
    for at, one in enumerate(manifest.rows):
        for rule, says in _entry(table, one, row, version):
            yield rule, f"{place}: entry {at}", says
    ids, dropped = {each["field-id"] for each in known}, table.dropped(row.get(502, 0))
    for partition in (one[2].get(102) or {} for one in manifest.rows if one.get(2)):
        if version > 1 and set(partition) - dropped != ids - dropped:
            yield "manifest.field-ids", place, f"its partitions have {list(partition)}, not {ids}"
            break


def _part(one: dict[str, Any]) -> Any:
    return one.get("source-id"), one.get("transform"), one.get("name")


def _entry(table: Table, one: Row, row: Row, version: int) -> Iterator[Wrong]:
    status, file = one.get(0), one.get(2) or {}
    if missing := [n for n, first in _FILE.items() if version >= first and file.get(n) is None]:
        yield "entry.required", f"fields {missing} of data_file have no value"
        return
    content, format_ = file.get(134) or DATA, str(file[101]).upper()
    if status not in (EXISTING, ADDED, DELETED):
        yield "entry.status", f"{status} is no status"
    if content not in ((POSITIONS, EQUALITY) if row.get(517) else (DATA,)):
        yield "entry.content", f"{content} does not belong into a manifest of {row.get(517)}"
    if version > 1 and status != ADDED and (one.get(3) is None or one.get(4) is None):
        yield "entry.sequence", "only what is added may leave its sequence numbers out"
    if max(one.get(3) or 0, one.get(4) or 0) > (row.get(515) or 0):
        yield "entry.sequence", f"{one.get(3)} or {one.get(4)} is above that of its manifest"
    if status == ADDED and one.get(1) not in (None, row.get(503)):
        yield "entry.snapshot", f"added by {one.get(1)}, in a manifest of {row.get(503)}"
    if format_ not in ("PARQUET", "ORC", "AVRO") and not (
        format_ == "PUFFIN" and content == POSITIONS
    ):
        yield "entry.format", f"{file[101]} is no format of content {content}"
    yield from _data_file(
        table, file, content, status == ADDED, table.snapshots.get(row.get(503, 0), {})
    )


def _data_file(
    table: Table, file: Row, content: int, added: bool, adder: dict[str, Any]
) -> Iterator[Wrong]:
    ids = file.get(135)
    if bool(ids) != (content == EQUALITY) or any(n not in table.newest for n in ids or []):
        yield "entry.equality-ids", f"{ids}, content {content}: ids of columns, of equality deletes"
    offsets = file.get(132) or []
    if offsets != sorted(offsets) or any(n >= file[104] for n in offsets):
        yield "entry.split-offsets", f"{offsets} do not ascend below {file[104]}"
    orders = [each.get("order-id") for each in table.said["sort-orders"]]
    if file.get(140) is not None and (content == POSITIONS or file[140] not in orders):
        yield "entry.sort-order", f"sort_order_id {file[140]} of content {content}"
    if content != DATA and file.get(142) is not None:
        yield "entry.first-row-id", "a delete file has none"
    plain = content == POSITIONS and str(file[101]).upper() != "PUFFIN"
    if plain and added and adder.get("first-row-id") is not None:
        yield "deletes.version", "a table of version 3 gets vectors, no position delete files"


def _partitions(table: Table, row: Row, manifest: AvroFile, here: str) -> Iterator[Finding]:
    spec, summaries = table.specs[row[502]], row.get(507)
    if summaries is None:
        return
    if len(summaries) != len(spec):
        yield "list.partitions", here, f"{len(summaries)} summaries, {len(spec)} partition fields"
        return
    dropped = table.dropped(row[502])
    for one, part in zip(summaries, spec, strict=True):
        if part["field-id"] in dropped:
            continue
        kind = partition_kind(table, part)
        live = [each[2][102].get(part["field-id"]) for each in manifest.rows if each[0] != DELETED]
        keys = [stored_key(kind, value) for value in live]
        plain = [key for key in keys if key is not None and key != NAN]
        kinds = {type(key) for key in plain}
        at = f"{here}: {part.get('name')}"
        if (None in keys and not one[509]) or (NAN in keys and one.get(518) is False):
            yield "list.partitions", at, "contains_null or contains_nan is false, and there is one"
        try:
            ends = (one.get(510), one.get(511))
            low, high = (None if data is None else bound_key(kind, data) for data in ends)
        except (ValueError, TypeError) as error:
            yield "list.partitions", at, f"a bound is none of {kind}: {error}"
            continue
        if {type(low), type(high)} - kinds - {type(None)} and kinds:
            continue  # another type than the table's now
        if plain and (low is None or high is None or min(plain) < low or max(plain) > high):
            says = f"{low!r} to {high!r} leave {min(plain)!r} or {max(plain)!r} out"
            yield "list.partitions", at, says


def partition_kind(table: Table, part: dict[str, Any]) -> str:
    """Type of a partition field's values."""
    transform = str(part["transform"])
    if not transform.startswith(("identity", "truncate", "void")):
        return "date" if transform == "day" else "int"
    source = table.newest.get(part.get("source-id", -1))
    return str(source.kind) if source else "int"


def _entries(table: Table, row: Row, manifest: AvroFile) -> Iterator[Entry]:
    """Live entries of a manifest, with what they inherit."""
    place, next_id = table.place(row[500]), row.get(520)
    dropped = table.dropped(row.get(502, 0))
    for at, one in enumerate(manifest.rows):
        file = one.get(2) or {}
        if one.get(0) == DELETED or any(file.get(n) is None for n in (100, 101, 102, 103, 104)):
            continue
        first = file.get(142)
        if first is None and next_id is not None:
            first, next_id = next_id, next_id + file[103]
        number: int = (row.get(515) or 0) if one.get(3) is None else one[3]
        told = {part: value for part, value in file[102].items() if part not in dropped}
        file = {**file, 102: told}
        yield Entry(
            f"{place}: entry {at}", row.get(502, 0), file, number, one.get(0) == ADDED, first
        )


def _live(live: list[Entry], place: str) -> Iterator[Finding]:
    paths, vectors = set(), set()
    for one in live:
        address = one.file[100]
        if not one.is_vector and address in paths:
            yield "entry.twice", one.place, f"{address} is live twice in {place}"
        paths.add(address)
        if one.is_vector:
            about = one.file.get(143)
            if about in vectors:
                yield "vector.one", one.place, f"{about} has two vectors in {place}"
            vectors.add(about)
    data = {one.file[100]: one for one in live if one.content == DATA}
    for one in filter(lambda each: each.is_vector, live):
        of = data.get(one.file.get(143))
        if of is None:
            yield "vector.reference", one.place, f"{one.file.get(143)} is no live data file"
        elif not one.reaches(of):
            says = "it is older than its file, or of another partition"
            yield "vector.reference", one.place, says
    known = [one for one in data.values() if one.first_row_id is not None]
    reached = 0
    for one in sorted(known, key=lambda each: each.first_row_id or 0):
        if (one.first_row_id or 0) < reached:
            says = f"its rows from {one.first_row_id} on are another's too"
            yield "entry.row-ids", one.place, says
        reached = (one.first_row_id or 0) + one.file[103]


def _kept(tally: _Tally) -> Iterator[Finding]:
    """Files that are live though the snapshot itself deletes them, and does not add them again."""
    gone, again = ({one.get(100) for one in tally.changed[status]} for status in (DELETED, ADDED))
    for one in tally.live:
        if not one.is_vector and one.file[100] in gone - again:
            yield "entry.deleted-live", one.place, f"{one.file[100]} is deleted by the snapshot"


def _summary(snapshot: dict[str, Any], tally: _Tally) -> Iterator[Finding]:
    """Numbers of a snapshot's summary against what is live, what it adds and what it removes."""
    summary = snapshot.get("summary") or {}
    true = {
        f"total-{name}": count for name, count in _numbers([one.file for one in tally.live]).items()
    }
    for status, verb in ((ADDED, "added"), (DELETED, "deleted")):
        for name, count in _numbers(tally.changed[status]).items():
            # Data files and their rows are deleted, all else is removed.
            data = verb == "added" or name in ("data-files", "records")
            true[f"{verb if data else 'removed'}-{name}"] = count
    for name, count in true.items():
        if (said := summary.get(name)) not in (None, str(count)):
            rule = "summary.totals" if name.startswith("total") else "summary.changes"
            yield rule, name, f"the snapshot says {said}, its manifests {count}"


def _numbers(files: list[Row]) -> dict[str, int]:
    """What summaries count of files."""
    of: dict[int, list[Row]] = {DATA: [], POSITIONS: [], EQUALITY: []}
    for one in files:
        of.setdefault(one.get(134) or DATA, []).append(one)
    vectors = [one for one in of[POSITIONS] if str(one.get(101)).upper() == "PUFFIN"]
    rows = {content: sum(one[103] for one in each) for content, each in of.items()}
    return {
        "data-files": len(of[DATA]),
        "records": rows[DATA],
        "delete-files": len(of[POSITIONS]) + len(of[EQUALITY]),
        "position-deletes": rows[POSITIONS],
        "equality-deletes": rows[EQUALITY],
        "files-size": sum(one.get(145) or one[104] for one in files),
        "equality-delete-files": len(of[EQUALITY]),
        "position-delete-files": len(of[POSITIONS]) - len(vectors),
        "dvs": len(vectors),
    }

"""What is wrong with a Hudi table's metadata table: its list of files, its bounds, its indexes."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import UsageError
from seambench.formats.hudi.damage import name_parts
from seambench.formats.hudi.hfiles import read_hfile
from seambench.formats.hudi.lint.base_files import FILTER, KEY, TAKEN_UP, footer_faults
from seambench.formats.hudi.lint.instants import LAYOUT_2, Instants, instants_of
from seambench.formats.hudi.lint.logs import log_findings
from seambench.formats.hudi.log_blocks import HFILE, INSTANT, blocks_of
from seambench.formats.hudi.timelines import body_of, open_timeline, properties
from seambench.formats.lint import DAMAGE, Finding, reason

_ROOT, _ALL = ".", "__all_partitions__"
_REPLACED = "partitionToReplaceFileIds"
Record = tuple[str, Mapping[str, Any]]
There = Mapping[str, Mapping[str, int]]
Wrong = Iterator[tuple[str, str, str]]


@dataclass(frozen=True)
class _Held:
    """A table whose metadata table is looked at, and its files by partition with their sizes."""

    table: Path
    there: There

    @cached_property
    def newest(self) -> Mapping[str, tuple[str, str]]:
        """By file group, the partition and name of its newest base file in Parquet.

        Groups that a completed action replaced are left out.
        """
        replaced = {
            group
            for file, _, _, action, done in open_timeline(self.table).names()
            if done and action == "replacecommit" and file.stat().st_size
            for groups in (body_of(file.read_bytes()).get(_REPLACED) or {}).values()
            for group in groups
        }
        found: dict[str, tuple[str, str]] = {}
        for partition, names in self.there.items():
            for name in (one for one in names if one.endswith(".parquet") and one[0] != "."):
                parts = name_parts(name)
                group, before = parts["file_id"], found.get(parts["file_id"])
                if group not in replaced and (
                    before is None or name_parts(before[1])["instant"] < parts["instant"]
                ):
                    found[group] = partition, name
        return found

    def keys(self, partition: str, name: str) -> list[str]:
        """The keys of a base file's rows."""
        rows = pq.ParquetFile(self.table / partition / name).read([KEY])
        keys: list[str] = rows[KEY].to_pylist()
        return keys


def metadata_findings(
    table: Path, conf: Mapping[str, str], instants: Instants
) -> Iterator[Finding]:
    """What is wrong with the list of files, bounds and indexes, where readers use them."""
    folder = table / ".hoodie" / "metadata"
    is_new = int(conf["hoodie.table.version"]) >= LAYOUT_2
    held = _Held(table, _there(table, instants, is_new))
    for kind, faults in _KINDS.items():
        if kind not in conf.get("hoodie.table.metadata.partitions", "").split(","):
            continue
        place = f".hoodie/metadata/{kind}"
        if not (folder / kind).is_dir():
            yield "metadata.missing", place, "there is no such partition"
            continue
        broken: list[Finding] = []
        try:
            version = int(properties(folder)["hoodie.table.version"])
            done = instants_of(open_timeline(folder))
            for log in _logs(folder, kind):
                broken += log_findings(table, log, version >= LAYOUT_2, done)
            records = [] if broken else list(_records(folder, kind, done))
        except DAMAGE as why:
            yield "metadata.unreadable", place, f"it cannot be read: {reason(why)}"
            continue
        yield from broken
        for rule, at, says in () if broken else faults(held, records):
            yield f"metadata.{rule}", f"{place} {at}", says


def _files_faults(held: _Held, records: Sequence[Record]) -> Wrong:
    listed: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, record in records:
        listed["" if key == _ROOT else key].update(record.get("filesystemMetadata") or {})
    partitions = {("" if one == _ROOT else one) for one in listed.pop(_ALL, {})}
    if lost := sorted(set(held.there) - partitions):
        yield "partitions", _ALL, f"the list lacks {lost}, which have files"
    for partition in sorted({*held.there, *listed}):
        sizes, files = held.there.get(partition, {}), listed[partition]
        for rule, name, says in _list_faults(held.table / partition, sizes, files):
            yield rule, f"{partition}/{name}", says


def _column_faults(held: _Held, records: Sequence[Record]) -> Wrong:
    """Bounds and counts of columns of base files, by which readers leave files unread."""
    folders = {name: partition for partition, names in held.there.items() for name in names}
    newest: dict[str, dict[str, Any]] = defaultdict(dict)
    for _, record in records:
        if stats := record.get("ColumnStatsMetadata"):
            newest[stats["fileName"]][stats["columnName"]] = stats
    for name in (one for one in newest if one in folders and one.endswith(".parquet")):
        with pq.ParquetFile(held.table / folders[name] / name) as opened:
            names = {*opened.schema_arrow.names} & {*newest[name]}
            rows = opened.read([one for one in names if not newest[name][one]["isDeleted"]])
        for column in rows.column_names:
            yield from _bounds_faults(f"{name} {column}", newest[name][column], rows[column])


def _bounds_faults(at: str, stats: Mapping[str, Any], values: pa.ChunkedArray) -> Wrong:
    """Bounds and counts of one column of one file."""
    for field, real in (("nullCount", values.null_count), ("valueCount", len(values))):
        if stats[field] != real:
            yield "column-counts", at, f"{field} is {stats[field]}, and must be {real}"
    yield from _outside(at, stats, values)


def _outside(at: str, stats: Mapping[str, Any], values: pa.ChunkedArray) -> Wrong:
    """Bounds of a column that do not hold all values."""
    ends = pc.min_max(values).as_py() if _is_plain(values.type) else {"min": None, "max": None}
    for end, real in ends.items():
        said: Any = (stats[f"{end}Value"] or {}).get("value")
        outside = None not in (said, real) and (said > real if end == "min" else said < real)
        if outside:
            yield "column-bounds", at, f"{end}Value is {said!r}, and {real!r} is there"


def _partition_faults(held: _Held, records: Sequence[Record]) -> Wrong:
    """Bounds of columns of whole partitions, which hold at least the rows of newest base files."""
    told: dict[tuple[str, str], Mapping[str, Any]] = {}
    for _, record in records:
        if stats := record.get("ColumnStatsMetadata"):
            folder = stats["fileName"].removeprefix(_ROOT)
            told[folder, stats["columnName"]] = stats
    for partition, name in held.newest.values():
        rows = pq.ParquetFile(held.table / partition / name).read()
        for column in rows.column_names:
            stats = told.get((partition, column))
            if stats and not stats["isDeleted"]:
                yield from _outside(f"{partition} {column}", stats, rows[column])


def _record_faults(held: _Held, records: Sequence[Record]) -> Wrong:
    """The index has each row of a base file that no log changes, in the group where it is."""
    told = {}
    for key, record in records:
        if at := record.get("recordIndexMetadata"):
            told[key, at["partitionName"].removeprefix(_ROOT)] = _group(at)
    for group, (partition, name) in held.newest.items():
        if any(log.startswith(f".{group}_") for log in held.there[partition]):
            continue
        for key in held.keys(partition, name):
            if (said := told.get((key, partition))) != group:
                says = f"it names {said}, the row is in {group}"
                yield "record-index", f"{partition} {key}", says


def _group(at: Mapping[str, Any]) -> str:
    """The file group of a row, whose id is a UUID with a number behind it, or any text."""
    if at["fileIdEncoding"]:
        return str(at["fileId"])
    high, low = (at[f"fileId{half}Bits"] % (1 << 64) for half in ("High", "Low"))
    text = str(UUID(int=high << 64 | low))
    return text if at["fileIndex"] < 0 else f"{text}-{at['fileIndex']}"


def _filter_faults(held: _Held, records: Sequence[Record]) -> Wrong:
    """Filters of keys, by the hash of a file's name, against every key of the file."""
    told = {key[-_HASH:]: one for key, record in records if (one := record["BloomFilterMetadata"])}
    for partition, name in held.newest.values():
        hashed = base64.b64encode(hashlib.md5(name.encode()).digest()).decode()  # noqa: S324
        if (one := told.get(hashed)) is None or one["isDeleted"]:
            continue
        keys = held.keys(partition, name)
        for rule, _, says in footer_faults({FILTER: one["bloomFilter"]}, keys):
            yield rule, f"{partition}/{name}", says


_HASH = len(base64.b64encode(bytes(16)))
_KINDS = {
    "files": _files_faults,
    "column_stats": _column_faults,
    "partition_stats": _partition_faults,
    "record_index": _record_faults,
    "bloom_filters": _filter_faults,
}


def _is_plain(type_: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    return any(is_(type_) for is_ in tests)


def _list_faults(folder: Path, sizes: Mapping[str, int], files: Mapping[str, Any]) -> Wrong:
    """Rule, file and sentence of what the list has of one partition."""
    live = {name: one["size"] for name, one in files.items() if not one["isDeleted"]}
    for name in sorted(set(sizes) - set(live)):
        yield "lost-files", name, "the list has no such file: readers lose its rows"
    for name in sorted(set(live) - set(sizes)):
        taken_up = TAKEN_UP.fullmatch(name)
        file = folder / (taken_up[1] if taken_up else name)
        if not file.is_file():
            yield "gone-files", name, "the list has it, and it is not there"
        elif taken_up:
            sizes = {**sizes, name: file.stat().st_size}
    for name in sorted(set(live) & set(sizes)):
        if live[name] != sizes[name]:
            yield "file-size", name, f"its size is stated as {live[name]}, and is {sizes[name]}"


def _there(table: Path, instants: Instants, own: bool) -> dict[str, dict[str, int]]:
    """By partition, the size of each file of data that a completed action wrote."""
    found: dict[str, dict[str, int]] = {}
    for file in table.rglob("*"):
        inside = file.relative_to(table)
        if ".hoodie" in inside.parts or not file.is_file() or file.suffix == ".crc":
            continue
        if any(instants.has_completed(one) for one in _writers(file, own)):
            partition = "" if inside.parent.as_posix() == "." else inside.parent.as_posix()
            found.setdefault(partition, {})[file.name] = file.stat().st_size
    return found


def _writers(file: Path, own: bool) -> set[str]:
    """The instants that wrote a file; the name of a log has its own or that of a base file."""
    is_log = file.name.startswith(".") and ".log." in file.name
    if is_log and not own:
        with contextlib.suppress(UsageError, struct.error, KeyError):
            return {block.text(INSTANT) for block in blocks_of(file.read_bytes())}
        return set()
    name = file.name.lstrip(".").split(".")[0].split("_")
    return {name[-1]} if len(name) > 1 and name[-1].isdigit() else set()


def _logs(folder: Path, kind: str) -> list[Path]:
    found = (folder / kind).glob(".*.log.*")
    return sorted(
        (one for one in found if one.suffix != ".crc"),
        key=lambda one: (one.name.split("_")[1], int(one.name.split(".log.")[1].split("_")[0])),
    )


def _records(folder: Path, kind: str, done: Instants) -> Iterator[Record]:
    """Keys and values of the newest slices of a partition, the last of a key counts."""
    bases = [
        file
        for file in (folder / kind).glob("*.hfile")
        if done.has_completed(name_parts(file.name)["instant"])
    ]
    bases.sort(key=lambda file: name_parts(file.name)["instant"])
    newest = {name_parts(file.name)["file_id"]: file for file in bases}
    files = [read_hfile(file.read_bytes()) for file in newest.values()]
    blocks = []
    for log in _logs(folder, kind):
        blocks += list(blocks_of(log.read_bytes()))
    files += [
        read_hfile(block.content)
        for block in blocks
        if block.kind == HFILE and done.has_completed(block.text(INSTANT))
    ]
    for file in files:
        schema = fastavro.parse_schema(json.loads(file.schema))
        for cell in file.cells:
            record: Any = fastavro.schemaless_reader(io.BytesIO(cell.value), schema)
            yield cell.row, record

"""What is wrong with a Hudi table's metadata table: its list of files, its bounds of columns."""

from __future__ import annotations

import contextlib
import io
import json
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import UsageError
from seambench.formats.hudi.damage import name_parts
from seambench.formats.hudi.hfiles import read_hfile
from seambench.formats.hudi.lint.instants import LAYOUT_2, Instants, instants_of
from seambench.formats.hudi.lint.logs import log_findings
from seambench.formats.hudi.log_blocks import HFILE, INSTANT, blocks_of
from seambench.formats.hudi.timelines import open_timeline, properties
from seambench.formats.lint import DAMAGE, Finding, reason

_ROOT, _ALL = ".", "__all_partitions__"
Record = tuple[str, Mapping[str, Any]]
There = Mapping[str, Mapping[str, int]]
Wrong = Iterator[tuple[str, str, str]]


def metadata_findings(
    table: Path, conf: Mapping[str, str], instants: Instants
) -> Iterator[Finding]:
    """What is wrong with the list of files and the bounds of columns, where readers use them."""
    folder = table / ".hoodie" / "metadata"
    there = _there(table, instants, int(conf["hoodie.table.version"]) >= LAYOUT_2)
    for kind, faults in (("files", _files_faults), ("column_stats", _column_faults)):
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
        for rule, at, says in () if broken else faults(table, there, records):
            yield f"metadata.{rule}", f"{place} {at}", says


def _files_faults(table: Path, there: There, records: Sequence[Record]) -> Wrong:
    listed: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, record in records:
        listed["" if key == _ROOT else key].update(record.get("filesystemMetadata") or {})
    partitions = {("" if one == _ROOT else one) for one in listed.pop(_ALL, {})}
    if lost := sorted(set(there) - partitions):
        yield "partitions", _ALL, f"the list lacks {lost}, which have files"
    for partition in sorted({*there, *listed}):
        sizes, files = there.get(partition, {}), listed[partition]
        for rule, name, says in _list_faults(table / partition, sizes, files):
            yield rule, f"{partition}/{name}", says


def _column_faults(table: Path, there: There, records: Sequence[Record]) -> Wrong:
    """Bounds and counts of columns of base files, by which readers leave files unread."""
    folders = {name: partition for partition, names in there.items() for name in names}
    newest: dict[str, dict[str, Any]] = defaultdict(dict)
    for _, record in records:
        if stats := record.get("ColumnStatsMetadata"):
            newest[stats["fileName"]][stats["columnName"]] = stats
    for name in (one for one in newest if one in folders and one.endswith(".parquet")):
        with pq.ParquetFile(table / folders[name] / name) as opened:
            names = {*opened.schema_arrow.names} & {*newest[name]}
            rows = opened.read([one for one in names if not newest[name][one]["isDeleted"]])
        for column in rows.column_names:
            yield from _bounds_faults(f"{name} {column}", newest[name][column], rows[column])


def _bounds_faults(at: str, stats: Mapping[str, Any], values: pa.ChunkedArray) -> Wrong:
    """Bounds and counts of one column of one file."""
    for field, real in (("nullCount", values.null_count), ("valueCount", len(values))):
        if stats[field] != real:
            yield "column-counts", at, f"{field} is {stats[field]}, and must be {real}"
    ends = pc.min_max(values).as_py() if _is_plain(values.type) else {"min": None, "max": None}
    for end, real in ends.items():
        said: Any = (stats[f"{end}Value"] or {}).get("value")
        outside = None not in (said, real) and (said > real if end == "min" else said < real)
        if outside:
            yield "column-bounds", at, f"{end}Value is {said!r}, and {real!r} is there"


def _is_plain(type_: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    return any(is_(type_) for is_ in tests)


def _list_faults(folder: Path, sizes: Mapping[str, int], files: Mapping[str, Any]) -> Wrong:
    """Rule, file and sentence of what the list has of one partition."""
    live = {name: one["size"] for name, one in files.items() if not one["isDeleted"]}
    for name in sorted(set(sizes) - set(live)):
        yield "lost-files", name, "the list has no such file: readers lose its rows"
    for name in sorted(set(live) - set(sizes)):
        if not (folder / name).is_file():
            yield "gone-files", name, "the list has it, and it is not there"
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
    """Keys and values of the newest slice of a partition, the last of a key counts."""
    bases = [
        file
        for file in (folder / kind).glob("*.hfile")
        if done.has_completed(name_parts(file.name)["instant"])
    ]
    base = max(bases, key=lambda file: name_parts(file.name)["instant"], default=None)
    files = [] if base is None else [read_hfile(base.read_bytes())]
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

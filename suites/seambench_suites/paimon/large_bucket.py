"""Grows a table of sorted runs into one bucket of any size, to see what memory a scan takes.

    seambench kernels seambench_suites.paimon.large_bucket

streams it by one thread and by two, each in a process of its own: the memory of neither may grow
with the table, and two must take less time (`bars.toml`). `--set table=FOLDER` names another table
than that of lineitem at scale 1, of a data set, whose oracle knows the rows.

The rows are those of the table that Paimon wrote, file by file: the rows of all its buckets, sorted
by key, and copies of them with other order keys. Files are written by pyarrow in Paimon's form and
sizes (row groups of about 128 MiB, not encoded); each kind of run stays one: what was
compacted is a file a copy at that level, what lies above it one file of level 0 for all. Manifests
are the table's own with other names, sizes and keys; of statistics only those of the order key are
right, and a merge uses no others. It takes minutes, and 3 GB of memory.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor
from seambench.bench.memory import Drained, run_drain
from seambench.data.dataset import default_data_folder, open_dataset
from seambench.formats.forms.containers import AvroForm, read_avro, write_avro
from seambench.records.model import Moved, Rows
from seambench.records.verdicts import Arrived
from seambench.records.writer import Sample

_KEYS = ("_KEY_l_orderkey", "_KEY_l_linenumber")
_SHIFTED = ("_KEY_l_orderkey", "l_orderkey")
#: Order keys of a copy begin so far behind those of the copy before, at scale 1.
_APART = 6_000_000
_GROUP_ROWS = 1_600_000
#: As Paimon packs its manifests.
_PACKED = AvroForm("", "", codec="zstandard")
#: Where a binary row of two keys begins behind the number of its fields, and its slots.
_SLOTS = 12


def grow(source: Path, target: Path, copies: int) -> int:
    """Write the table, with so many copies of each row; bytes of the bucket's data files.

    The source is a Paimon table of lineitem with one compacted run a bucket, and runs of level 0;
    the target is not there yet.
    """
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("bucket-*"))
    bucket = target / "bucket-0"
    bucket.mkdir()
    entries = list(_live(source))
    sizes = {}
    made: list[tuple[dict[str, Any], Path, int]] = []
    for name, own in _by_run(entries).items():
        rows = _sorted(source, own)
        first = own[0]
        if first["_FILE"]["_LEVEL"]:
            files = [[copy] for copy in range(copies)]
        else:
            files = [list(range(copies))]
        for number, some in enumerate(files):
            path = bucket / f"data-{name}-{number}.parquet"
            _write(path, (_shifted(rows, copy) for copy in some), rows.schema)
            sizes[path.name] = path.stat().st_size
            made.append((first, path, rows.num_rows * len(some)))
    _commit(source, target, made)
    return sum(sizes.values())


def _snapshot(table: Path) -> tuple[Path, dict[str, Any]]:
    newest = (table / "snapshot" / "LATEST").read_text(encoding="utf-8")
    file = table / "snapshot" / f"snapshot-{newest}"
    return file, json.loads(file.read_text(encoding="utf-8"))


def _live(table: Path) -> Iterator[dict[str, Any]]:
    """The manifest entries of the newest snapshot's files."""
    live: dict[str, dict[str, Any]] = {}
    _, snapshot = _snapshot(table)
    for listed in ("baseManifestList", "deltaManifestList"):
        for one in read_avro(table / "manifest" / snapshot[listed]).rows:
            for entry in read_avro(table / "manifest" / one["_FILE_NAME"]).rows:
                name = entry["_FILE"]["_FILE_NAME"]
                if entry["_KIND"]:
                    live.pop(name)
                else:
                    live[name] = entry
    yield from live.values()


def _by_run(entries: Sequence[dict[str, Any]]) -> Mapping[str, list[dict[str, Any]]]:
    """Entries of all buckets that make up one run, the oldest of a bucket first."""
    buckets: dict[int, list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=lambda one: one["_FILE"]["_MIN_SEQUENCE_NUMBER"]):
        buckets.setdefault(entry["_BUCKET"], []).append(entry)
    lengths = {len(own) for own in buckets.values()}
    if len(lengths) != 1:
        raise ValueError(f"the buckets have different numbers of runs: {sorted(lengths)}")
    return {str(i): list(own) for i, own in enumerate(zip(*buckets.values(), strict=True))}


def _sorted(table: Path, entries: Sequence[dict[str, Any]]) -> pa.Table:
    files = [table / f"bucket-{one['_BUCKET']}" / one["_FILE"]["_FILE_NAME"] for one in entries]
    rows = pa.concat_tables(pq.read_table(file, partitioning=None) for file in files)
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in _KEYS])
    return rows.take(order)


def _shifted(rows: pa.Table, copy: int) -> pa.Table:
    for name in _SHIFTED if copy else ():
        field = rows.schema.field(name)
        values = pc.add(rows.column(name), pa.scalar(copy * _APART, field.type))
        rows = rows.set_column(rows.schema.get_field_index(name), field, values)
    return rows


def _write(path: Path, parts: Iterator[pa.Table], schema: pa.Schema) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd", version="1.0") as writer:
        for part in parts:
            writer.write_table(part, row_group_size=_GROUP_ROWS)


def _commit(
    source: Path,
    target: Path,
    made: Sequence[tuple[dict[str, Any], Path, int]],
) -> None:
    """Let the newest snapshot have these files alone, by one manifest."""
    file, snapshot = _snapshot(target)
    manifest_lists = target / "manifest"
    names = (snapshot["baseManifestList"], snapshot["deltaManifestList"])
    lists = next(read for name in names if (read := read_avro(manifest_lists / name)).rows)
    entries = read_avro(source / "manifest" / lists.rows[0]["_FILE_NAME"])
    own = [_entry(entry, path, rows) for entry, path, rows in made]
    manifest = manifest_lists / "manifest-large"
    write_avro(manifest, replace(entries, rows=own), _PACKED)
    one = {
        **lists.rows[0],
        "_FILE_NAME": manifest.name,
        "_FILE_SIZE": manifest.stat().st_size,
        "_NUM_ADDED_FILES": len(own),
        "_NUM_DELETED_FILES": 0,
    }
    for name, listed in (("base", [one]), ("delta", [])):
        path = manifest_lists / f"manifest-list-large-{name}"
        write_avro(path, replace(lists, rows=listed), _PACKED)
        snapshot[f"{name}ManifestList"] = path.name
        snapshot.pop(f"{name}ManifestListSize", None)
    snapshot["totalRecordCount"] = sum(rows for _, _, rows in made)
    snapshot["deltaRecordCount"] = 0
    file.write_text(json.dumps(snapshot), encoding="utf-8")
    options = target / "schema" / "schema-0"
    table = json.loads(options.read_text(encoding="utf-8"))
    table["options"]["bucket"] = "1"
    options.write_text(json.dumps(table), encoding="utf-8")


def _entry(entry: dict[str, Any], path: Path, rows: int) -> dict[str, Any]:
    """A manifest entry of a file that was written."""
    file = pq.ParquetFile(path)
    metadata = file.metadata
    index = file.schema_arrow.get_field_index(_KEYS[0])
    groups = [metadata.row_group(i).column(index).statistics for i in range(file.num_row_groups)]
    low, high = min(one.min for one in groups), max(one.max for one in groups)
    own = dict(entry["_FILE"])
    own |= {"_FILE_NAME": path.name, "_FILE_SIZE": path.stat().st_size, "_ROW_COUNT": rows}
    own["_MIN_KEY"] = _bound(own["_MIN_KEY"], low, 0)
    own["_MAX_KEY"] = _bound(own["_MAX_KEY"], high, 8)
    for stats in ("_KEY_STATS", "_VALUE_STATS"):
        low_row = _bound(own[stats]["_MIN_VALUES"], low, None)
        high_row = _bound(own[stats]["_MAX_VALUES"], high, None)
        own[stats] = {**own[stats], "_MIN_VALUES": low_row, "_MAX_VALUES": high_row}
    if own["_DELETE_ROW_COUNT"]:
        own["_DELETE_ROW_COUNT"] = rows
    return {**entry, "_BUCKET": 0, "_TOTAL_BUCKETS": 1, "_FILE": own}


def _bound(row: bytes, order_key: int, line: int | None) -> bytes:
    """A binary row whose first column, and second if it is given, have other values."""
    row = row[:_SLOTS] + order_key.to_bytes(8, "little") + row[_SLOTS + 8 :]
    if line is None:
        return row
    return row[: _SLOTS + 8] + line.to_bytes(8, "little") + row[_SLOTS + 16 :]


def kernels(folder: Path, table: str = "", copies: int = 6) -> Kernels:
    """The table as one bucket, streamed by one thread and by two."""
    source = Path(
        table or default_data_folder() / "sf1" / "paimon-runs-event-u20-s100" / "lineitem"
    )
    grown = folder / "grown"
    size = grow(source, grown, copies)
    rows = copies * open_dataset(source.parent).expected("snapshot")[source.name].rows
    over = Rows(name=f"a bucket of {size >> 20} MiB", scale=0)
    tasks = {number: Task(_streaming, (grown, number, rows), memory=True) for number in (1, 2)}
    found = [Kernel(f"bucket/{number}", task, over, "step") for number, task in tasks.items()]
    return Kernels("scan", "auto", found)


def _streaming(table: Path, threads: int, rows: int) -> Competitor:
    """A scan in a process of its own, whose batches are let go as they come."""

    def run() -> Drained:
        return run_drain("auto", {"table": str(table), "threads": threads})

    def clock(_: object) -> tuple[Drained, Sample]:
        drained = run()
        return drained, Sample(drained.seconds, 0.0)

    def judge(drained: Drained) -> Arrived:
        return Arrived(Moved(unit="rows", sent=rows, arrived=drained.rows), rows)

    def memory() -> tuple[Arrived, int, None]:
        drained = run()
        return judge(drained), drained.peak_bytes, None

    return Competitor(run, judge, clock, memory)

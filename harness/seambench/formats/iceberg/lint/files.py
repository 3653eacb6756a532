"""Rules for files of rows and of deletes: what entries say of them against what they hold."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from seambench.contracts.lint import Fault
from seambench.formats.iceberg.lint.manifests import DATA, EQUALITY, Entry, Tree, partition_kind
from seambench.formats.iceberg.lint.rules import Finding, fault
from seambench.formats.iceberg.lint.types import NO_DEFAULT
from seambench.formats.iceberg.lint.values import (
    NAN,
    Measured,
    bound_key,
    measure,
    stored_key,
    transformed,
)
from seambench.formats.leaves import leaves
from seambench.formats.parquet_lint import parquet_faults
from seambench.formats.roaring import positions_64

_PATH, _POS = 2147483546, 2147483545
_ROW_IDS = 2147483539  # from here on ids are those of metadata columns
_MAGIC, _VECTOR = b"PFA1", b"\xd1\xd3\x39\x64"


def file_faults(tree: Tree) -> Iterator[Fault]:
    """What is wrong with each live file of the snapshots."""
    rows = {one.file[100]: one.file[103] for one in tree.files.values() if one.content == DATA}
    seen = set[Path]()
    for one in tree.files.values():
        file = tree.table.path(one.file[100])
        if not file.exists():
            yield fault(("file.missing", one.place, f"{one.file[100]} is not there"))
            continue
        if file.stat().st_size != one.file[104]:
            says = f"file_size_in_bytes is {one.file[104]}, not {file.stat().st_size}"
            yield fault(("file.size", one.place, says))
        try:
            if one.is_vector:
                found = list(_vector(one, file.read_bytes(), rows))
            else:
                found = list(_rows(tree, one, file, rows))
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            found = [("file.readable", one.place, f"{file.name} cannot be read: {error}")]
        yield from (fault(each) for each in found)
        if str(one.file[101]).upper() == "PARQUET" and file not in seen:
            seen.add(file)
            yield from parquet_faults(file, tree.table.place(file))


def _rows(tree: Tree, one: Entry, file: Path, rows: dict[str, int]) -> Iterator[Finding]:
    format_ = str(one.file[101]).upper()
    if format_ == "AVRO":  # its rows are Avro's; it has neither counts nor bounds of columns
        return
    table = pq.ParquetFile(file).read() if format_ == "PARQUET" else orc.ORCFile(file).read()
    if len(table) != one.file[103]:
        yield "file.records", one.place, f"record_count is {one.file[103]}, not {len(table)}"
    columns: dict[int, pa.ChunkedArray] = {}
    for leaf in leaves(table):
        said = leaf.field.metadata or {}
        if (number := said.get(b"PARQUET:field_id", said.get(b"iceberg.id"))) is not None:
            columns[int(number)] = leaf.values
    mapped = "schema.name-mapping.default" in (tree.table.said.get("properties") or {})
    if one.content not in (DATA, EQUALITY):
        yield from _positions(one, columns, rows)
    elif columns or not mapped:
        yield from _columns(tree, one, columns)


def _columns(tree: Tree, one: Entry, columns: dict[int, pa.ChunkedArray]) -> Iterator[Finding]:
    known = tree.table.newest
    if (strange := [n for n in columns if n not in known and n < _ROW_IDS]) or not columns:
        yield "file.field-ids", one.place, f"columns have ids {strange} that the table has not"
    if absent := [n for n in one.file.get(135) or [] if n not in columns]:
        yield "entry.equality-ids", one.place, f"the file has no columns {absent}"
    plain = {n: c for n, c in known.items() if not c.nested and not NO_DEFAULT.fullmatch(c.kind)}
    found: dict[int, Measured] = {}
    for number in plain.keys() & columns.keys():
        column = plain[number]
        found[number] = measure(column.kind, columns[number])
        if column.required and not column.above and found[number].nulls and one.content == DATA:
            yield "file.required", one.place, f"{column.name} is required and has nulls"
        for rule, says in _statistics(one, column.kind, number, found[number]):
            yield rule, f"{one.place}: {column.name}", says
    for part in tree.table.specs.get(one.spec, []) if one.content == DATA else []:
        if (source := part.get("source-id")) in found:
            result = partition_kind(tree.table, part)
            yield from _partition(one, part, plain[source].kind, result, found[source])


def _statistics(one: Entry, kind: str, number: int, true: Measured) -> Iterator[tuple[str, str]]:
    for rule, ids, count in (
        ("value-counts", 109, true.rows),
        ("null-counts", 110, true.nulls),
        ("nan-counts", 137, true.nans),
    ):
        if (told := (one.file.get(ids) or {}).get(number)) not in (None, count):
            yield f"file.{rule}", f"{told} is told, there are {count}"
    for rule, ids, end in (("lower-bounds", 125, true.low), ("upper-bounds", 128, true.high)):
        if (data := (one.file.get(ids) or {}).get(number)) is None:
            continue
        try:
            key = bound_key(kind, data)
        except ValueError as error:
            yield "file.bounds-form", f"{rule} {data.hex()}: {error}"
            continue
        if end is not None and (key > end if ids == 125 else key < end):
            yield f"file.{rule}", f"{data.hex()} leaves the value {end!r} out"


def _partition(
    one: Entry, part: dict[str, Any], kind: str, result: str, true: Measured
) -> Iterator[Finding]:
    transform = str(part["transform"])
    keys = true.distinct() if transform.startswith("bucket") else {true.low, true.high} - {None}
    try:
        wanted = {transformed(transform, kind, key) for key in keys}
    except (
        KeyError,
        ValueError,
        TypeError,
        ZeroDivisionError,
    ):  # no transform that the specification knows
        return
    wanted |= ({None} if true.nulls else set()) | (
        {NAN} if true.nans and transform == "identity" else set()
    )
    told = stored_key(result, one.file[102].get(part["field-id"]))
    if wanted - {told} and transform != "void":
        yield (
            "file.partition",
            one.place,
            f"{part.get('name')} is {told!r}, its rows are of {wanted!r:.120}",
        )


def _positions(
    one: Entry, columns: dict[int, pa.ChunkedArray], rows: dict[str, int]
) -> Iterator[Finding]:
    if _PATH not in columns or _POS not in columns:
        yield "deletes.columns", one.place, f"columns {_PATH} and {_POS} are not in the file"
        return
    paths, positions = columns[_PATH].combine_chunks(), columns[_POS].combine_chunks()
    pairs = pa.table({"path": paths.cast(pa.string()), "pos": positions.cast(pa.int64())})
    if not pairs.equals(pairs.sort_by([("path", "ascending"), ("pos", "ascending")])):
        yield "deletes.order", one.place, "rows must be sorted by file_path, then pos"
    about = one.file.get(143)
    named = pc.unique(pairs["path"]).to_pylist()
    if about is not None and named not in ([], [about]):
        yield "deletes.reference", one.place, f"referenced_data_file is {about}, rows name {named}"
    for path in named:
        most = pc.max(pairs.filter(pc.equal(pairs["path"], path))["pos"]).as_py()
        if most >= rows.get(path, most + 1):
            yield (
                "deletes.positions",
                one.place,
                f"{most} is beyond the {rows[path]} rows of {path}",
            )


def _vector(one: Entry, data: bytes, rows: dict[str, int]) -> Iterator[Finding]:
    size = int.from_bytes(data[-12:-8], "little")
    begin = len(data) - 12 - size
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or data[begin - 4 : begin] != _MAGIC:
        yield "vector.puffin", one.place, "the file does not begin and end with PFA1"
        return
    offset, length, about = one.file.get(144), one.file.get(145), one.file.get(143)
    blobs = (
        {}
        if data[-8] & 1
        else {b["offset"]: b for b in json.loads(data[begin : begin + size])["blobs"]}
    )
    blob = blobs.get(offset)
    if not data[-8] & 1 and not (
        blob
        and blob["length"] == length
        and blob["type"] == "deletion-vector-v1"
        and blob["properties"].get("referenced-data-file") == about
        and blob["properties"].get("cardinality") == str(one.file[103])
    ):
        yield "vector.puffin", one.place, f"the footer says {blob} of the vector at {offset}"
    if offset is None or length is None or offset + length > begin - 4:
        yield "vector.blob", one.place, f"{length} bytes at {offset} are not in the file"
        return
    raw = data[offset : offset + length]
    sums = zlib.crc32(raw[4:-4]), int.from_bytes(raw[-4:], "big")
    if int.from_bytes(raw[:4], "big") != length - 8 or raw[4:8] != _VECTOR or sums[0] != sums[1]:
        yield "vector.blob", one.place, "its length, magic or CRC-32 is wrong"
        return
    positions, end = positions_64(raw, 8)
    if end != length - 4 or np.any(np.diff(positions) <= 0):
        yield "vector.blob", one.place, "its bitmap does not ascend to the end of the blob"
    if len(positions) != one.file[103]:
        yield (
            "vector.cardinality",
            one.place,
            f"record_count is {one.file[103]}, not {len(positions)}",
        )
    if len(positions) and positions.max() >= rows.get(str(about), _POS):
        yield "vector.positions", one.place, f"{positions.max()} is beyond the rows of {about}"

"""Rules for files of rows and of deletes: what entries say of them against what they hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from seambench.contracts.formats import Fault
from seambench.formats.iceberg.lint.manifests import DATA, EQUALITY, Entry, Tree, partition_kind
from seambench.formats.iceberg.lint.statistics import read_puffin
from seambench.formats.iceberg.lint.table import read_avro
from seambench.formats.iceberg.lint.types import Field, Held, held_by, held_in, misread
from seambench.formats.iceberg.lint.values import (
    NAN,
    Measured,
    bound_key,
    measure,
    stored_key,
    transformed,
)
from seambench.formats.lint import Finding, Rules, Wrong, reason, size_of
from seambench.formats.lint.parquet import is_behind, judged
from seambench.formats.lint.roaring import positions_64
from seambench.formats.lint.values import plain

RULES = Rules("iceberg", "Iceberg table specification", Path(__file__).with_name("rules.toml"))
_PATH, _POS = 2147483546, 2147483545
_ROW_IDS = 2147483539  # from here on ids are those of metadata columns
_VECTOR = b"\xd1\xd3\x39\x64"


def file_faults(tree: Tree) -> Iterator[Fault]:
    """What is wrong with each live file of the snapshots."""
    data = {one.file[100]: one for one in tree.files.values() if one.content == DATA}
    read = dict[Path, pa.Table | None]()
    for one in tree.files.values():
        file = tree.table.path(one.file[100])
        if (size := size_of(file)) is None:
            yield RULES.fault(("file.missing", one.place, f"{one.file[100]} is not there"))
            continue
        if size != one.file[104]:
            says = f"file_size_in_bytes is {one.file[104]}, not {size}"
            yield RULES.fault(("file.size", one.place, says))
        format_ = str(one.file[101]).upper()
        if one.is_vector:
            check = partial(_vector, one, file, data)
            yield from RULES.faults(check, "vector.puffin", one.place)
            continue
        if format_ == "PARQUET" and file not in read:
            parquet = judged(file, tree.table.place(file))
            yield from parquet.faults
            read[file] = parquet.rows
        if format_ in ("PARQUET", "ORC", "AVRO"):
            check = partial(_rows, tree, one, file, read.get(file), data)
            yield from RULES.faults(check, "file.readable", one.place)


def _rows(
    tree: Tree, one: Entry, file: Path, table: pa.Table | None, data: Mapping[str, Entry]
) -> Iterator[Finding]:
    format_ = str(one.file[101]).upper()
    if table is None and format_ == "PARQUET":
        yield "file.readable", one.place, f"{file.name} cannot be read"
        return
    if format_ == "AVRO":
        records = read_avro(file).rows
        count, fields = len(records), held_by(records, tree.table.newest)
    else:
        table = orc.ORCFile(file).read() if table is None else table
        count, fields = len(table), held_in(table)
    if count != one.file[103]:
        yield "file.records", one.place, f"record_count is {one.file[103]}, not {count}"
    held = {each.id: each for each in fields}
    mapped = "schema.name-mapping.default" in (tree.table.said.get("properties") or {})
    if one.content not in (DATA, EQUALITY):
        yield from _positions(one, held, data)
    elif held or not (mapped or format_ == "AVRO"):
        yield from _columns(tree, one, held)
        for rule, says in (*_absent(tree, one, held), *_unsorted(tree, one, held)):
            yield f"file.{rule}", one.place, says


def _columns(tree: Tree, one: Entry, held: Mapping[int, Held]) -> Iterator[Finding]:
    known = tree.table.newest
    if (strange := [n for n in held if n not in known and n < _ROW_IDS]) or not held:
        yield "file.field-ids", one.place, f"columns have ids {strange} that the table has not"
    if absent := [n for n in one.file.get(135) or [] if n not in held]:
        yield "entry.equality-ids", one.place, f"the file has no columns {absent}"
    values_of: dict[int, Measured] = {}
    kinds = {number: column.kind for number, column in known.items()}
    is_parquet = str(one.file[101]).upper() == "PARQUET"
    for number in known.keys() & held.keys():
        column, here = known[number], f"{one.place}: {known[number].name}"
        # ORC has bytes for other types.
        says = misread(held[number], column, tree.table.version) if is_parquet else ""
        if says:
            yield "file.types", here, says
        elif column.plain and (values := held[number].values) is not None:
            values_of[number] = measure(column.kind, values)
            if column.kind == "long" and pa.types.is_int32(values.type):
                kinds[number] = "int"  # as which it was written, before it was widened
            for rule, says in _statistics(one, column, values_of[number]):
                yield f"file.{rule}", here, says
    for part in tree.table.specs.get(one.spec, []) if one.content == DATA else []:
        if (source := part.get("source-id")) in values_of and part["field-id"] in one.file[102]:
            result = partition_kind(tree.table, part)
            yield from _partition(one, part, kinds[source], result, values_of[source])


def _absent(tree: Tree, one: Entry, held: Mapping[int, Held]) -> Iterator[Wrong]:
    """Required columns that a file of rows lacks, and that have no default."""
    given = {part.get("source-id") for part in tree.table.specs.get(one.spec, [])}
    for column in tree.table.newest.values() if one.content == DATA else ():
        has = column.id in held or column.id in given or column.above
        if column.required and not has and column.said.get("initial-default") is None:
            yield "required", f"{column.name} is required, and the file has no such column"


def _unsorted(tree: Tree, one: Entry, held: Mapping[int, Held]) -> Iterator[Wrong]:
    """The order that a file claims, as far as it is one of plain columns but floats."""
    orders = {order.get("order-id"): order["fields"] for order in tree.table.said["sort-orders"]}
    columns, ways = [], []
    for part in orders.get(one.file.get(140), ()):
        values = held[part["source-id"]].values if part.get("source-id") in held else None
        known = None if values is None else plain(values)
        if part["transform"] != "identity" or known is None or pa.types.is_floating(known.type):
            break
        columns.append(known.to_pylist())
        ways.append((part["direction"] == "desc", part["null-order"] == "nulls-first"))
    if any(is_behind(a, b, ways) for a, b in pairwise(zip(*columns, strict=True))):
        yield "sort-order", f"sort_order_id is {one.file[140]}, and its rows are not in that order"


def _statistics(one: Entry, column: Field, true: Measured) -> Iterator[Wrong]:
    if column.required and not column.above and true.nulls and one.content == DATA:
        yield "required", f"{column.name} is required and has nulls"
    for rule, ids, count in (
        ("value-counts", 109, true.rows),
        ("null-counts", 110, true.nulls),
        ("nan-counts", 137, true.nans),
    ):
        if (stated := (one.file.get(ids) or {}).get(column.id)) not in (None, count):
            yield rule, f"{stated} is stated, there are {count}"
    for rule, ids, end in (("lower-bounds", 125, true.low), ("upper-bounds", 128, true.high)):
        if (data := (one.file.get(ids) or {}).get(column.id)) is None:
            continue
        try:
            key = bound_key(column.kind, data)
        except ValueError as error:
            yield "bounds-form", f"{rule} {data.hex()}: {error}"
            continue
        if end is not None and (key > end if ids == 125 else key < end):
            yield rule, f"{data.hex()} leaves the value {end!r} out"


def _partition(
    one: Entry, part: dict[str, Any], kind: str, result: str, true: Measured
) -> Iterator[Finding]:
    transform = str(part["transform"])
    keys = true.distinct() if transform.startswith("bucket") else {true.low, true.high} - {None}
    try:
        wanted = {transformed(transform, kind, key) for key in keys}
    except (KeyError, ValueError, TypeError, ZeroDivisionError):
        return  # no transform that the specification knows
    wanted |= {None} if true.nulls else set()
    wanted |= {NAN} if true.nans and transform == "identity" else set()
    stored = stored_key(result, one.file[102].get(part["field-id"]))
    if wanted - {stored} and transform != "void":
        says = f"{part.get('name')} is {stored!r}, its rows are of {wanted!r:.120}"
        yield "file.partition", one.place, says


def _positions(
    one: Entry, held: Mapping[int, Held], data: Mapping[str, Entry]
) -> Iterator[Finding]:
    columns = {number: each.values for number, each in held.items() if each.values is not None}
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
    for path in (each for each in named if each in data):
        most = pc.max(pairs.filter(pc.equal(pairs["path"], path))["pos"]).as_py()
        if most >= (count := data[path].file[103]):
            yield "deletes.positions", one.place, f"{most} is beyond the {count} rows of {path}"
        if not one.reaches(data[path]):
            says = f"it is older than {path}, or of another partition: no row of it is deleted"
            yield "deletes.reference", one.place, says


def _vector(one: Entry, file: Path, data_files: Mapping[str, Entry]) -> Iterator[Finding]:
    try:
        puffin = read_puffin(data := file.read_bytes())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        yield "vector.puffin", one.place, reason(error)
        return
    offset, length, about = one.file.get(144), one.file.get(145), one.file.get(143)
    blob = next((each for each in puffin.blobs or () if each["offset"] == offset), {})
    properties = blob.get("properties") or {}
    if puffin.blobs is not None and not (
        blob.get("length") == length
        and blob["type"] == "deletion-vector-v1"
        and properties.get("referenced-data-file") == about
        and properties.get("cardinality") == str(one.file[103])
    ):
        yield "vector.puffin", one.place, f"the footer says {blob} of the vector at {offset}"
    if offset is None or length is None or not 0 <= offset <= offset + length <= puffin.end:
        yield "vector.blob", one.place, f"{length} bytes at {offset} are not in the file"
        return
    raw = data[offset : offset + length]
    sums = zlib.crc32(raw[4:-4]), int.from_bytes(raw[-4:], "big")
    if int.from_bytes(raw[:4], "big") != length - 8 or raw[4:8] != _VECTOR or sums[0] != sums[1]:
        yield "vector.blob", one.place, "its length, magic or CRC-32 is wrong"
        return
    try:
        positions, end = positions_64(raw, 8)
    except ValueError as error:
        yield "vector.blob", one.place, reason(error)
        return
    if end != length - 4 or np.any(np.diff(positions) <= 0):
        yield "vector.blob", one.place, "its bitmap does not ascend to the end of the blob"
    if len(positions) != one.file[103]:
        says = f"record_count is {one.file[103]}, not {len(positions)}"
        yield "vector.cardinality", one.place, says
    of = data_files.get(str(about))
    if len(positions) and of is not None and positions.max() >= of.file[103]:
        yield "vector.positions", one.place, f"{positions.max()} is beyond the rows of {about}"

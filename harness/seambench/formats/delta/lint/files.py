"""Data files of a Delta table: partition values, statistics, deletion vectors."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambench.contracts.lint import Fault
from seambench.formats.delta.lint.features import schema_of
from seambench.formats.delta.lint.log import State
from seambench.formats.leaves import Leaf, leaves
from seambench.formats.parquet_lint import parquet_faults, plainly_opened
from seambench.formats.roaring import Positions, positions_64

_ADD = "Delta protocol, Add File and Remove File"
_VALUES = "Delta protocol, Partition Value Serialization"
_STATS = "Delta protocol, Per-file Statistics"
_VECTORS = "Delta protocol, Deletion Vectors"
_MAGIC = 1681511377
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_WHOLE = ("byte", "short", "integer", "long")
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


@dataclass(frozen=True)
class _Columns:
    """Columns by physical name, as files and logs call them: their types."""

    types: Mapping[str, Any]
    partitions: frozenset[str]

    @classmethod
    def of(cls, state: State) -> _Columns:
        mapped = state.configuration.get("delta.columnMapping.mode", "none") != "none"
        physical = {}
        for one in schema_of(state)["fields"]:
            own = (one.get("metadata") or {}).get("delta.columnMapping.physicalName")
            physical[one["name"]] = (own if mapped and own else one["name"], one["type"])
        listed = (state.metadata or {}).get("partitionColumns") or []
        partitions = frozenset(physical[name][0] for name in listed if name in physical)
        return cls(dict(physical.values()), partitions)


def file_faults(table: Path, state: State) -> Iterator[Fault]:
    """What is wrong with the files of a state, and with what the log says of them."""
    columns = _Columns.of(state)
    seen: set[str] = set()
    for add in state.files.values():
        path = str(add.get("path"))
        if path in seen:
            says = "it is there twice, with different deletion vectors"
            yield Fault("delta.file.twice", _ADD, path, says)
        seen.add(path)
        yield from _partition_values(path, add, columns)
        file = _place(table, path)
        if file is None:  # on another store: its rows cannot be looked at
            continue
        if not file.is_file():
            yield Fault("delta.file.missing", _ADD, path, "the file is not there")
            continue
        if file.stat().st_size != add.get("size"):
            says = f"size is {add.get('size')}, the file has {file.stat().st_size} bytes"
            yield Fault("delta.file.size", _ADD, path, says)
        broken = list(parquet_faults(file, path))
        yield from broken
        if not any(fault.rule.count(".") == 1 for fault in broken):
            yield from _rows(table, path, add, plainly_opened(file.read_bytes()).read(), columns)


def _place(table: Path, path: str) -> Path | None:
    """A file of the table; None for one on another store."""
    parts = urlsplit(path)
    if parts.scheme and parts.scheme != "file":
        return None
    decoded = unquote(parts.path if parts.scheme else path)
    return Path(decoded) if parts.scheme else table / decoded


def _partition_values(path: str, add: Mapping[str, Any], columns: _Columns) -> Iterator[Fault]:
    values = add.get("partitionValues") or {}
    if set(values) != columns.partitions:
        has, wanted = sorted(values), sorted(columns.partitions)
        says = f"partitionValues has {has}, the table is partitioned by {wanted}"
        yield Fault("delta.partition.columns", _ADD, path, says)
        return
    for name, text in values.items():
        if text not in (None, "") and not _is_value(str(text), columns.types[name]):
            says = f"{text!r} is no {columns.types[name]}"
            yield Fault("delta.partition.value", _VALUES, f"{path}, column {name}", says)


def _is_value(text: str, type_: str) -> bool:
    if type_ in _WHOLE:
        return re.fullmatch(r"[+-]?\d+", text) is not None and -(2 ** (_BITS[type_] - 1)) <= int(
            text
        ) < 2 ** (_BITS[type_] - 1)
    if type_ in ("float", "double"):
        return (
            re.fullmatch(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+|Infinity|inf|NaN)", text)
            is not None
        )
    if type_.startswith("decimal"):
        return _fits(text, *map(int, type_[8:-1].split(",")))
    if type_ == "boolean":
        return text.lower() in ("true", "false")
    if type_ == "date":
        return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None
    if type_.startswith("timestamp"):
        return (
            re.fullmatch(
                r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?)?", text
            )
            is not None
        )
    return True


def _fits(text: str, precision: int, scale: int) -> bool:
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return False
    if not isinstance(exponent, int):
        return False
    after = max(0, -exponent)
    return after <= scale and len(digits) + exponent <= precision - scale


def _rows(
    table: Path, path: str, add: Mapping[str, Any], rows: pa.Table, columns: _Columns
) -> Iterator[Fault]:
    """Statistics and the deletion vector of a file."""
    try:
        stats = json.loads(add["stats"], parse_float=Decimal) if add.get("stats") else None
    except ValueError as error:
        yield Fault("delta.stats.json", _STATS, path, f"stats is no JSON: {error}")
        return
    vector = add.get("deletionVector")
    if vector:
        gone: Positions | None = None
        try:
            gone = _positions(table, vector)
        except (ValueError, OSError, struct.error) as error:
            yield Fault("delta.vector.broken", _VECTORS, path, str(error))
        if gone is not None:
            if len(gone) != vector.get("cardinality"):
                says = f"cardinality is {vector.get('cardinality')}, it has {len(gone)} positions"
                yield Fault("delta.vector.cardinality", _VECTORS, path, says)
            if len(gone) and gone[-1] >= rows.num_rows:
                says = f"position {gone[-1]} of {rows.num_rows} rows"
                yield Fault("delta.vector.position", _VECTORS, path, says)
            else:
                kept = np.ones(rows.num_rows, bool)
                kept[gone] = False
                live = rows.filter(pa.array(kept))
                yield from _stats(path, stats, rows.num_rows, live, columns, vector=True)
        if stats is None or "numRecords" not in stats:
            says = "a file with a deletion vector must state numRecords"
            yield Fault("delta.stats.num-records", _STATS, path, says)
    elif stats is not None:
        yield from _stats(path, stats, rows.num_rows, rows, columns, vector=False)


def _stats(
    path: str, stats: Any, count: int, rows: pa.Table, columns: _Columns, *, vector: bool
) -> Iterator[Fault]:
    """What statistics say of the rows that are left, by physical names."""
    if not isinstance(stats, Mapping):
        return
    if stats.get("numRecords", count) != count:
        says = f"numRecords is {stats['numRecords']}, the file has {count} rows"
        yield Fault("delta.stats.num-records", _STATS, path, says)
    exact = not vector and stats.get("tightBounds", True)
    for leaf in leaves(rows):
        where = f"{path}, column {'.'.join(leaf.path)}"
        nulls = _at(stats.get("nullCount"), leaf)
        if exact and isinstance(nulls, int) and nulls != leaf.values.null_count:
            says = f"nullCount is {nulls}, it must be {leaf.values.null_count}"
            yield Fault("delta.stats.null-count", _STATS, where, says)
        for member, is_low in (("minValues", True), ("maxValues", False)):
            bound = _at(stats.get(member), leaf)
            if bound is not None:
                yield from _bound(where, member, bound, leaf, is_low=is_low)
    for member in ("minValues", "maxValues", "nullCount"):
        for name in set(stats.get(member) or ()) - set(columns.types):
            says = f"{member} has the column {name}, which there is not"
            yield Fault("delta.stats.columns", _STATS, path, says, "should")


def _at(tree: Any, leaf: Leaf) -> Any:
    for name in leaf.path:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(name)
    return None if isinstance(tree, Mapping) else tree


def _bound(where: str, member: str, bound: Any, leaf: Leaf, *, is_low: bool) -> Iterator[Fault]:
    rule = "delta.stats.min-values" if is_low else "delta.stats.max-values"
    try:
        known = _comparable(bound, leaf.field.type, is_low=is_low)
        extreme = _extreme(leaf.values, is_low=is_low)
    except (ValueError, InvalidOperation, TypeError, OverflowError) as error:
        yield Fault(rule, _STATS, where, f"{member} is {bound!r}, no value of the column: {error}")
        return
    except pa.ArrowException:
        return
    if known is None or extreme is None:
        return
    if (extreme < known) if is_low else (extreme > known):
        yield Fault(rule, _STATS, where, f"{member} is {bound}, there is {extreme}")


def _comparable(bound: Any, kind: pa.DataType, *, is_low: bool) -> Any:
    """A bound of JSON in the terms of `_extreme`; None where there is no order."""
    if pa.types.is_integer(kind):
        return int(bound)
    if pa.types.is_floating(kind):
        number = float(bound)
        # Float columns are told by digits of 32 bits.
        number = float(np.float32(number)) if pa.types.is_float32(kind) else number
        return None if math.isnan(number) else number
    if pa.types.is_decimal(kind):
        return Decimal(bound)
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(str(bound)).toordinal()
    if pa.types.is_timestamp(kind):
        moment = np.datetime64(_utc(str(bound)), "us").astype("int64")
        # Cut down to milliseconds: the greatest may lie up to one behind.
        return int(moment) + (0 if is_low else 999)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str(bound).encode()
    return None


def _utc(text: str) -> str:
    moment = dt.datetime.fromisoformat(text)
    moment = moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return moment.isoformat()


def _extreme(values: pa.ChunkedArray, *, is_low: bool) -> Any:
    kind = values.type
    if pa.types.is_floating(kind):
        values = values.drop_null()
        values = values.filter(pc.invert(pc.is_nan(values)))
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = values.cast(pa.large_binary())
    found = pc.min_max(values)["min" if is_low else "max"].as_py()
    return found.toordinal() if isinstance(found, dt.date) else found


def _positions(table: Path, vector: Mapping[str, Any]) -> Positions:
    """The positions of a deletion vector.

    Raises:
        ValueError: it is not as the protocol says.
    """
    text, size = str(vector["pathOrInlineDv"]), int(vector["sizeInBytes"])
    if vector["storageType"] == "i":
        data = _from_z85(text)[:size]
    else:
        data = _stored(table, vector["storageType"], text, int(vector.get("offset") or 0), size)
    (magic,) = struct.unpack_from("<i", data, 0)
    if magic != _MAGIC:
        raise ValueError(f"its magic number is {magic}, it must be {_MAGIC}")
    found, end = positions_64(data, 4)
    if end != len(data):
        raise ValueError(f"its bitmap has {end} bytes, {len(data)} are stated")
    if np.any(np.diff(found) <= 0):
        raise ValueError("its positions do not grow")
    return found


def _stored(table: Path, kind: str, text: str, offset: int, size: int) -> bytes:
    if kind == "u":
        name = f"deletion_vector_{uuid.UUID(bytes=_from_z85(text[-20:]))}.bin"
        file = table / text[:-20] / name
    elif kind == "p":
        file = Path(unquote(urlsplit(text).path))
    else:
        raise ValueError(f"its storageType is {kind!r}")
    whole = file.read_bytes()
    if whole[:1] != b"\1":
        raise ValueError(f"{file.name} is of version {whole[:1].hex()}, not 01")
    (stored,) = struct.unpack_from(">i", whole, offset)
    if stored != size:
        raise ValueError(f"{file.name} has {stored} bytes at {offset}, sizeInBytes is {size}")
    data = whole[offset + 4 : offset + 4 + size]
    (checksum,) = struct.unpack_from(">I", whole, offset + 4 + size)
    if checksum != (true := zlib.crc32(data)):
        raise ValueError(f"{file.name} has the checksum {true:08x} at {offset}, not {checksum:08x}")
    return data


def _from_z85(text: str) -> bytes:
    if len(text) % 5:
        raise ValueError(f"{text!r} is no Z85")
    out = bytearray()
    for at in range(0, len(text), 5):
        number = 0
        for letter in text[at : at + 5]:
            number = number * 85 + _Z85.index(letter)
        out += number.to_bytes(4, "big")
    return bytes(out)

"""Data files of a Delta table: partition values, statistics of leaves, deletion vectors."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import uuid
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa

from seambench.contracts.formats import Fault
from seambench.formats.arrow_rows import leaves
from seambench.formats.delta.lint.features import misfit, physical, schema_of
from seambench.formats.delta.lint.log import State
from seambench.formats.lint import Finding, Rules, Wrong, read_json, reason, size_of
from seambench.formats.lint.parquet import judged
from seambench.formats.lint.roaring import Positions, positions_64
from seambench.formats.lint.values import ends, is_day

RULES = Rules("delta", "Delta protocol", Path(__file__).with_name("rules.toml"))


_MAGIC = 1681511377
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_EXACT, _EPOCH = Context(prec=200), dt.date(1970, 1, 1).toordinal()
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


@dataclass(frozen=True)
class _Columns:
    """Columns as the schema has them, by physical name, as files and logs call them."""

    fields: Mapping[str, Mapping[str, Any]]
    partitions: frozenset[str]
    mapped: bool

    @classmethod
    def of(cls, state: State) -> _Columns:
        mapped = state.configuration.get("delta.columnMapping.mode", "none") != "none"
        fields = {physical(one, mapped=mapped): one for one in schema_of(state).get("fields", ())}
        listed = (state.metadata or {}).get("partitionColumns") or []
        partitions = frozenset(name for name, one in fields.items() if one["name"] in listed)
        return cls(fields, partitions, mapped)


def file_faults(table: Path, state: State) -> Iterator[Fault]:
    """What is wrong with the files of a state, and with what the log says of them."""
    try:
        columns = _Columns.of(state)
    except (KeyError, TypeError, AttributeError) as error:
        yield RULES.fault(("form", "_delta_log, metaData, schemaString", reason(error)))
        return
    seen: set[str] = set()
    for add in state.files.values():
        path = str(add.get("path"))
        if path in seen:
            says = "it is there twice, with different deletion vectors"
            yield RULES.fault(("file.twice", path, says))
        seen.add(path)
        yield from RULES.faults(partial(_partition_values, path, add, columns), "form", path)
        file = _place(table, path)
        if file is None:  # on another store: its rows cannot be looked at
            continue
        if (size := size_of(file)) is None:
            yield RULES.fault(("file.missing", path, "the file is not there"))
            continue
        if size != add.get("size"):
            says = f"size is {add.get('size')}, the file has {size} bytes"
            yield RULES.fault(("file.size", path, says))
        parquet = judged(file, path)
        yield from parquet.faults
        if parquet.rows is not None:
            held = partial(_held, path, add, parquet.rows, columns)
            yield from RULES.faults(held, "form", path)
            rows = partial(_rows, table, path, add, parquet.rows, columns)
            yield from RULES.faults(rows, "form", path)


def _place(table: Path, path: str) -> Path | None:
    """A file of the table; None for one on another store."""
    try:
        parts = urlsplit(path)
    except ValueError:  # brackets that hold no address
        return table / unquote(path)
    if parts.scheme and parts.scheme != "file":
        return None
    decoded = unquote(parts.path if parts.scheme else path)
    return Path(decoded) if parts.scheme else table / decoded


def _partition_values(path: str, add: Mapping[str, Any], columns: _Columns) -> Iterator[Finding]:
    values = add.get("partitionValues") or {}
    if set(values) != columns.partitions:
        has, wanted = sorted(values), sorted(columns.partitions)
        says = f"partitionValues has {has}, the table is partitioned by {wanted}"
        yield "partition.columns", path, says
        return
    for name, text in values.items():
        type_ = columns.fields[name]["type"]
        if text not in (None, "") and not _is_value(str(text), type_):
            says = f"{text!r} is no {type_}"
            yield "partition.value", f"{path}, column {name}", says


_SPELLED = {
    "float|double": r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+|Infinity|inf|NaN)",
    "boolean": "(?i)true|false",
    "date": r"\d{4}-\d\d-\d\d",
    "timestamp.*": r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?)?",
}


def _is_value(text: str, type_: str) -> bool:
    if bits := _BITS.get(type_):
        spelled = re.fullmatch(r"[+-]?\d{1,40}", text)
        return spelled is not None and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)
    if type_.startswith("decimal"):
        return _fits(text, *map(int, type_[8:-1].split(",")))
    patterns = [pattern for types, pattern in _SPELLED.items() if re.fullmatch(types, type_)]
    known = not type_.startswith(("date", "timestamp")) or is_day(text[:10])
    return known and all(re.fullmatch(pattern, text) for pattern in patterns)


def _fits(text: str, precision: int, scale: int) -> bool:
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return False
    if not isinstance(exponent, int):
        return False
    after = max(0, -exponent)
    return after <= scale and len(digits) + exponent <= precision - scale


def _held(
    path: str, add: Mapping[str, Any], rows: pa.Table, columns: _Columns
) -> Iterator[Finding]:
    """Columns of a file against the schema; nulls in rows that a vector deletes are none."""
    for held, values in zip(rows.schema, rows.columns, strict=True):
        if (one := columns.fields.get(held.name)) is None:
            continue
        place = f"{path}, column {held.name}"
        if says := misfit(one["type"], held.type, mapped=columns.mapped):
            yield "file.types", place, says
        if one.get("nullable") is False and values.null_count and not add.get("deletionVector"):
            yield "file.nulls", place, f"{values.null_count} nulls of a column that has none"


def _rows(
    table: Path, path: str, add: Mapping[str, Any], rows: pa.Table, columns: _Columns
) -> Iterator[Finding]:
    """Statistics and the deletion vector of a file."""
    try:
        stats = read_json(add["stats"], parse_float=Decimal) if add.get("stats") else None
    except ValueError as error:
        yield "stats.json", path, f"stats is no JSON: {error}"
        return
    vector, live = add.get("deletionVector"), rows
    if vector:
        if not isinstance(stats, Mapping) or "numRecords" not in stats:
            yield "stats.num-records", path, "a file with a deletion vector must state numRecords"
        live = yield from _left(table, path, vector, rows)
    if not isinstance(stats, Mapping) or live is None:
        return
    if (stated := stats.get("numRecords", rows.num_rows)) != rows.num_rows:
        says = f"numRecords is {stated}, the file has {rows.num_rows} rows"
        yield "stats.num-records", path, says
    exact = stats.get("tightBounds", True)
    for at, values in leaves(live):
        for rule, says in _stats(stats, at, values, exact=exact):
            yield rule, f"{path}, column {'.'.join(at)}", says
    for member in ("minValues", "maxValues", "nullCount"):
        for name in set(stats.get(member) or ()) - set(columns.fields):
            says = f"{member} has the column {name}, which there is not"
            yield "stats.columns", path, says


def _left(
    table: Path, path: str, vector: Mapping[str, Any], rows: pa.Table
) -> Generator[Finding, None, pa.Table | None]:
    """What is wrong with a deletion vector; returns the rows that it leaves, if that is known."""
    try:
        gone = _positions(table, vector)
    except (ValueError, OSError, struct.error, KeyError, TypeError) as error:
        yield "vector.broken", path, reason(error)
        return None
    if len(gone) != vector.get("cardinality"):
        says = f"cardinality is {vector.get('cardinality')}, it has {len(gone)} positions"
        yield "vector.cardinality", path, says
    if len(gone) and not 0 <= gone[0] <= gone[-1] < rows.num_rows:
        yield "vector.position", path, f"position {gone[-1]} of {rows.num_rows} rows"
        return None
    kept = np.ones(rows.num_rows, bool)
    kept[gone] = False
    return rows.filter(pa.array(kept))


def _stats(
    stats: Mapping[str, Any], path: Sequence[str], values: pa.ChunkedArray, *, exact: bool
) -> Iterator[Wrong]:
    """What statistics say of a column of the rows that are left, by its physical name."""
    nulls, there = _at(stats.get("nullCount"), path), values.null_count
    # Counts that are not exact tell of all rows alike, or of none.
    alike = {0: 0, stats.get("numRecords"): len(values)}
    kind = values.type
    never_cut = pa.types.is_integer(kind) or pa.types.is_date(kind)
    if isinstance(nulls, int) and there != (nulls if exact else alike.get(nulls, there)):
        yield "stats.null-count", f"nullCount is {nulls}, there are {there}"
    for member, is_low in (("minValues", True), ("maxValues", False)):
        if (bound := _at(stats.get(member), path)) is None:
            continue
        rule = f"stats.{member[:3]}-values"
        try:
            known = _comparable(bound, kind, is_low=is_low)
        except (ValueError, InvalidOperation, TypeError, OverflowError) as error:
            yield rule, f"{member} is {bound!r}, no value of the column: {error}"
            continue
        extreme = None if known is None else (ends(values) or (None, None))[not is_low]
        if extreme is not None and ((extreme < known) if is_low else (extreme > known)):
            yield rule, f"{member} is {bound}, there is {_shown(extreme, kind)}"
        elif exact and extreme not in (None, known) and never_cut:
            yield rule, f"{member} is {bound}, said to be tight; it is {extreme}"


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(name)
    return None if isinstance(tree, Mapping) else tree


def _comparable(bound: Any, kind: pa.DataType, *, is_low: bool) -> Any:
    """A bound of JSON in the terms of `ends`; None where there is no order."""
    if pa.types.is_integer(kind):
        return int(bound)
    if pa.types.is_floating(kind):
        number = float(bound)
        # Float columns have digits of 32 bits.
        number = float(np.float32(number)) if pa.types.is_float32(kind) else number
        return None if math.isnan(number) else number
    if pa.types.is_decimal(kind):
        units = Decimal(bound).scaleb(kind.scale, _EXACT)
        if not units.is_finite():
            raise ValueError("it is no number")
        return units
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(str(bound)).toordinal() - _EPOCH
    if pa.types.is_timestamp(kind):
        moment = int(np.datetime64(_utc(str(bound)), "us").astype("int64"))
        # Cut down to milliseconds: the greatest may lie up to one behind.
        return moment * 1000 + (0 if is_low else 999_999)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str(bound).encode()
    return None


def _shown(value: Any, kind: pa.DataType) -> Any:
    """A value of `ends` as statistics spell it."""
    if pa.types.is_decimal(kind):
        return Decimal(value).scaleb(-kind.scale, _EXACT)
    return value


def _utc(text: str) -> str:
    moment = dt.datetime.fromisoformat(text)
    moment = moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return moment.isoformat()


def _positions(table: Path, vector: Mapping[str, Any]) -> Positions:
    """The positions of a deletion vector; ValueError where it is not as the protocol says."""
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

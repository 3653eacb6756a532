"""What is wrong with the data files of a Paimon table: their rows against what manifests say."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as orc

from seambase.errors import InputError
from seambench.contracts.formats import Fault
from seambench.formats.forms.containers import read_avro
from seambench.formats.lint import DAMAGE, Finding, Rules, Wrong, reason, size_of
from seambench.formats.lint.parquet import judged
from seambench.formats.lint.values import fits
from seambench.formats.paimon.binary_rows import (
    Kind,
    binary_rows,
    bounds,
    buckets_of,
    decode,
    kind_of,
    narrow,
    ordered,
    ordered_column,
)

RULES = Rules("paimon", "Paimon", Path(__file__).with_name("rules.toml"))
ADD, DELETE = 0, 1
_SEQUENCE, _KIND, _KEY = "_SEQUENCE_NUMBER", "_VALUE_KIND", "_KEY_"
_RETRACTS = pa.array([1, 3], pa.int8())
_READERS = {
    "orc": orc.read_table,
    "avro": lambda file: _of_avro(read_avro(file).rows),
}
#: Characters that a folder's name has as `%` and two digits, besides those below a blank.
_ESCAPED = "\"#%'*/:=?\\\x7f{}[]^"
#: Characters that Java takes for blank: of what Python does all but these.
_BLANK = "".join(
    c for c in map(chr, range(0x3001)) if c.isspace() and c not in "\x85\xa0\u2007\u202f"
)
Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class DataFile:
    """A data file of a table, and the entry of a manifest that tells of it."""

    table: Path  # the table's folder
    schema: Row  # that by which the file was written
    entry: Row
    partition: Mapping[str, Any]  # values of the partition columns, as `decode` has them
    place: str  # of the entry

    @property
    def meta(self) -> Row:
        """What the entry states of the file."""
        meta: Row = self.entry["_FILE"]
        return meta

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.meta["_FILE_NAME"])

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Types of the columns of its schema."""
        return {one["name"]: kind_of(one["type"]) for one in self.schema["fields"]}

    @cached_property
    def keys(self) -> list[str]:
        """The key of a bucket's rows: primary keys that are no partition columns."""
        return [n for n in self.schema["primaryKeys"] if n not in self.schema["partitionKeys"]]

    @cached_property
    def bucket_keys(self) -> list[str]:
        """By which columns the rows are spread over buckets."""
        named = self.schema["options"].get("bucket-key")
        return named.split(",") if named else self.keys

    def ends(self) -> tuple[list[Any], list[Any]] | None:
        """Its stated least and greatest key, in the order of keys; None if they cannot be read."""
        kinds = [self.kinds[name] for name in self.keys]
        try:
            rows = [decode(self.meta[name], kinds) for name in ("_MIN_KEY", "_MAX_KEY")]
        except InputError:
            return None
        low, high = (list(map(ordered, row)) for row in rows)
        return None if None in (*low, *high) else (low, high)

    def where(self) -> Path | None:
        """Where it must lie; None where a partition's spelling is not known here."""
        options: Mapping[str, str] = self.schema["options"]
        parts = []
        for name, value in self.partition.items():
            text = _spelled(value, self.kinds[name], options)
            if text is None:
                return None
            if not text.strip(_BLANK):
                text = options.get("partition.default-name", "__DEFAULT_PARTITION__")
            parts.append(f"{_escaped(name)}={_escaped(text)}")
        above = self.table / options.get("data-file.path-directory", "")
        bucket = self.entry["_BUCKET"]
        return above.joinpath(*parts, "bucket-postpone" if bucket == -2 else f"bucket-{bucket}")


def size_finding(file: Path, said: int | None, rule: str, place: str) -> Iterator[Finding]:
    """What is wrong with the stated size of a file that is there."""
    if said is not None and (size := size_of(file)) not in (None, said):
        yield f"{rule}.size", place, f"{file.name} is said to have {said} bytes, and has {size}"


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c < " " or c in _ESCAPED else c for c in text)


def _spelled(value: Any, kind: Kind, options: Mapping[str, str]) -> str | None:
    """A partition's value as the name of its folder has it; None where that is not known here."""
    legacy = options.get("partition.legacy-name", "true") == "true"
    if value is None:
        return ""
    if kind.root == "BOOLEAN":
        return str(value).lower()
    if kind.root == "DATE" and not legacy:
        return (dt.date(1970, 1, 1) + dt.timedelta(value)).isoformat()
    if kind.root in ("CHAR", "VARCHAR", "STRING"):
        return bytes(value).decode()
    if kind.root == "TIMESTAMP":
        return _time(value, kind, legacy=legacy)
    if kind.root in ("FLOAT", "DOUBLE"):
        shown = str(np.float32(value) if kind.root == "FLOAT" else value)
        return shown if 1e-3 <= abs(value) < 1e7 else None
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, int) and kind.root != "TIME" else None


def _time(nanos: int, kind: Kind, *, legacy: bool) -> str:
    """A timestamp: Java's `LocalDateTime.toString`, or all digits that the type has."""
    seconds, rest = divmod(nanos, 10**9)
    day = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    digits = f"{rest:09}"
    if not legacy:
        tail = digits[: kind.digits]
        return f"{day:%Y-%m-%d %H:%M:%S}" + (f".{tail}" if tail else "")
    while digits.endswith("000"):
        digits = digits[:-3]
    if digits:
        return f"{day:%Y-%m-%dT%H:%M:%S}.{digits}"
    return f"{day:%Y-%m-%dT%H:%M:%S}" if day.second else f"{day:%Y-%m-%dT%H:%M}"


def _of_avro(rows: Sequence[Row]) -> pa.Table:
    """Rows of an Avro file as columns; of nested values only nulls count."""
    columns = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        if any(isinstance(v, list | dict) for v in values):
            values = [None if v is None else [] for v in values]
        columns[name] = pa.array(values)
    return pa.table(columns)


def data_faults(one: DataFile) -> Iterator[Fault]:
    """What is wrong with a data file, against its entry in a manifest."""
    if one.meta.get("_EXTERNAL_PATH"):
        return
    lying = list[Path]()
    yield from RULES.faults(partial(_place_findings, one, lying), "form", one.place)
    if not lying:
        return
    file, place = lying[0], str(lying[0].relative_to(one.table))
    rows = None
    if file.suffix == ".parquet":
        parquet = judged(file, place)
        yield from parquet.faults
        rows = parquet.rows
    elif reader := _READERS.get(file.suffix.lstrip(".")):
        try:
            rows = reader(file)
        except DAMAGE as why:
            says = f"it cannot be read: {reason(why)}"
            yield RULES.fault(("file.unreadable", place, says))
            return
    else:
        says = f"its rows were not looked at: nothing here reads files of {file.suffix}"
        yield RULES.fault(("file.unread", place, says))
        return
    if rows is None:
        yield RULES.fault(("file.unreadable", place, "it cannot be read"))
        return
    yield from RULES.faults(partial(_rows_findings, one, rows, place), "form", one.place)


def _place_findings(one: DataFile, lying: list[Path]) -> Iterator[Finding]:
    """Whether the file is where it must be, which is kept, with its size and what lies beside."""
    folder = one.where()
    files = [folder / one.name] if folder else [*one.table.glob(f"**/{one.name}")][:1]
    if not files or size_of(files[0]) is None:
        where = folder.relative_to(one.table) if folder else "the table"
        says = f"there is no {one.name} in {where}, the folder of its partition and bucket"
        yield "file.missing", one.place, says
        return
    lying += files
    for extra in one.meta["_EXTRA_FILES"] or ():
        if not files[0].with_name(extra).is_file():
            says = f"there is no {extra} beside the file"
            yield "file.extra-files", f"{one.place} _EXTRA_FILES", says
    yield from size_finding(files[0], one.meta["_FILE_SIZE"], "file", f"{one.place} _FILE_SIZE")


Found = Iterator[tuple[str, str, str]]
"""Rule, field of the entry if it is about one, and sentence."""


def _rows_findings(one: DataFile, rows: pa.Table, place: str) -> Iterator[Finding]:
    """What rows show to be wrong."""
    typed = [] if place.endswith(".avro") else [_type_faults]
    rules = [
        _count_faults,
        *typed,
        *([_system_faults, _key_faults] if one.keys else []),
        _value_faults,
    ]
    for each in (*rules, _bucket_faults):
        for rule, name, says in each(one, rows):
            yield rule, f"{one.place} {name}" if name else place, says


def _count_faults(one: DataFile, rows: pa.Table) -> Found:
    if one.meta["_ROW_COUNT"] != rows.num_rows:
        says = f"_ROW_COUNT is {one.meta['_ROW_COUNT']}, the file has {rows.num_rows} rows"
        yield "file.row-count", "_ROW_COUNT", says


#: Types of columns by name, and as what files have them.
_HELD = {
    r"(TINYINT|SMALLINT|INT|INTEGER).*": r"int(8|16|32)",
    "BIGINT.*": "int64",
    "FLOAT.*": "float",
    "DOUBLE.*": "double",
    "BOOLEAN.*": "bool",
    "DATE.*": "date32.*",
    r"(CHAR|VARCHAR|STRING|BINARY|VARBINARY|BYTES)\b.*": r"(large_|fixed_size_)?(string|binary).*",
    "TIMESTAMP.*": "timestamp.*|int64",
    "DECIMAL.*": "decimal.*",
}


def _type_faults(one: DataFile, rows: pa.Table) -> Found:
    """Columns of the file against its schema; of nested ones only whether they are."""
    types = {field["name"]: field["type"] for field in one.schema["fields"]}
    for held in (each for each in rows.schema if each.name in types):
        kind, nested = types[held.name], pa.types.is_nested(held.type)
        if not fits(kind, held.type, _HELD) if isinstance(kind, str) else not nested:
            yield "file.types", "", f"{held.name} is {held.type}, by its schema {kind}"


def _value_faults(one: DataFile, rows: pa.Table) -> Found:
    """Statistics of columns, and values of partition columns."""
    columns = one.meta.get("_VALUE_STATS_COLS")
    if columns is None:
        columns = one.meta.get("_WRITE_COLS") or list(one.kinds)
    for rule, says in _stats_faults(one, one.meta["_VALUE_STATS"], rows, {n: n for n in columns}):
        yield f"value-stats.{rule}", "_VALUE_STATS", says
    for name, value in one.partition.items():
        column = _column(rows, name, one.kinds[name])
        if column is not None and rows.num_rows and (ends := bounds(column)) != (value, value):
            expected = ordered(value)
            if ends != (expected, expected) or (value is not None and column.null_count):
                says = f"rows have {name} from {ends[0]!r} to {ends[1]!r}, the partition {value!r}"
                yield "file.partition-values", "_PARTITION", says


def _column(rows: pa.Table, name: str, kind: Kind) -> pa.ChunkedArray | None:
    return ordered_column(rows[name], kind) if name in rows.column_names else None


def _system_faults(one: DataFile, rows: pa.Table) -> Found:
    """Sequence numbers and kinds of rows."""
    meta = one.meta
    for name in (_SEQUENCE, _KIND):
        if name not in rows.column_names:
            yield "file.columns", "", f"the table has keys, and the file no {name}"
            return
    low, high = bounds(rows[_SEQUENCE])
    said = meta["_MIN_SEQUENCE_NUMBER"], meta["_MAX_SEQUENCE_NUMBER"]
    if low is not None and said != (low, high):
        says = f"sequence numbers are stated as {said[0]} to {said[1]}, and are {low} to {high}"
        rule = "wide-sequence-numbers" if said[0] <= low <= high <= said[1] else "sequence-numbers"
        yield f"file.{rule}", "_MIN_SEQUENCE_NUMBER", says
    kinds = rows[_KIND].cast(pa.int8())
    if pc.any(pc.or_(pc.less(kinds, 0), pc.greater(kinds, 3))).as_py():
        yield "file.row-kinds", "", f"{_KIND} is not 0 to 3 in every row"
    deleted = pc.sum(pc.is_in(kinds, _RETRACTS), min_count=0).as_py()
    if meta.get("_DELETE_ROW_COUNT") not in (None, deleted):
        says = f"_DELETE_ROW_COUNT is {meta['_DELETE_ROW_COUNT']}, {deleted} rows take back"
        yield "file.delete-rows", "_DELETE_ROW_COUNT", says


def _key_faults(one: DataFile, rows: pa.Table) -> Found:
    """Keys: their order in the file, the least and the greatest, and their statistics."""
    held = {n: f"{_KEY}{n}" if f"{_KEY}{n}" in rows.column_names else n for n in one.keys}
    for rule, says in _stats_faults(one, one.meta["_KEY_STATS"], rows, held):
        yield f"key-stats.{rule}", "_KEY_STATS", says
    keyed = (_column(rows, held[name], one.kinds[name]) for name in one.keys)
    columns = [one for one in keyed if one is not None and not one.null_count]
    if len(columns) < len(one.keys) or not rows.num_rows:
        return
    keys = list(zip(*(column.to_pylist() for column in columns), strict=True))
    if any(keys[at] > keys[at + 1] for at in range(len(keys) - 1)):
        says = "the rows are not in the order of their keys, by which runs are merged"
        yield "file.key-order", "", says
    ends = one.ends()
    if ends is None:
        yield "file.keys", "_MIN_KEY", "_MIN_KEY or _MAX_KEY is no row of the key"
        return
    low, high = min(keys), max(keys)
    says = f"keys are stated as {ends[0]} to {ends[1]}, and are {list(low)} to {list(high)}"
    if tuple(ends[0]) > low or tuple(ends[1]) < high:
        yield "file.keys", "_MIN_KEY", says
    elif (tuple(ends[0]), tuple(ends[1])) != (low, high):
        yield "file.wide-keys", "_MIN_KEY", says


def _stats_faults(
    one: DataFile, stats: Row, rows: pa.Table, held: Mapping[str, str]
) -> Iterator[Wrong]:
    """Bounds and counts of nulls, of columns that the file may hold by other names."""
    if unknown := sorted(set(held) - set(one.kinds) - {"_ROW_ID", _SEQUENCE}):
        yield "columns", f"there are statistics of {unknown}, no columns of its schema"
        return
    kinds = {name: one.kinds.get(name, Kind("BIGINT")) for name in held}
    nulls = stats["_NULL_COUNTS"]
    try:
        low, high = (decode(stats[f"_{end}_VALUES"], [*kinds.values()]) for end in ("MIN", "MAX"))
    except InputError as why:
        if stats["_MIN_VALUES"][:4] != bytes(4) or nulls:
            yield "columns", f"of {len(kinds)} columns: {why}"
        return
    if nulls is not None and len(nulls) != len(kinds):
        yield "columns", f"_NULL_COUNTS has {len(nulls)} numbers for {len(kinds)} columns"
        return
    for at, (name, kind) in enumerate(kinds.items()):
        if held[name] not in rows.column_names:
            continue
        count, there = nulls[at] if nulls else None, rows[held[name]].null_count
        if count is not None and count != there:
            yield "null-counts", f"{count} nulls of {name} are stated, there are {there}"
        column = _column(rows, held[name], kind)
        if column is not None:
            yield from narrow(name, (low[at], high[at]), bounds(column))


def _bucket_faults(one: DataFile, rows: pa.Table) -> Found:
    """Rows whose bucket key belongs into another bucket, where the number of buckets is fixed."""
    total, default = one.entry["_TOTAL_BUCKETS"], "default"
    function = one.schema["options"].get("bucket-function.type", default)
    names = one.bucket_keys
    held = [f"{_KEY}{n}" if f"{_KEY}{n}" in rows.column_names else n for n in names]
    fixed = int(one.schema["options"].get("bucket", 1)) > 0
    if not names or total < 1 or not fixed or function != default:
        return
    if not set(held) <= set(rows.column_names):
        return
    distinct = rows.select(held).group_by(held).aggregate([])
    keys = binary_rows(distinct)
    right = buckets_of(keys or [], total)
    for at in np.flatnonzero(right != one.entry["_BUCKET"])[:1]:
        says = f"the row of {distinct.slice(at, 1).to_pylist()[0]} belongs into bucket {right[at]}"
        yield "file.bucket-of-rows", "_BUCKET", says

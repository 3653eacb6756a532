"""What a program or library of the column seam is given: its request, and the rows as Arrow data.

| type string | Arrow type of the rows |
|---|---|
| `boolean`, `tinyint` .. `bigint`, `float`, `double` | bool, int8 .. int64, float32, float64 |
| `date`, `time` | date32; int32, milliseconds |
| `timestamp`, .. | timestamp in microseconds, no zone |
| `decimal(p,s)` | decimal128(38, s), whatever p is |
| `string`, `varchar(n)`, `char(n)` | string |
| `binary` | binary |
| `array<T>` | list |
| `map<K,V>` | list of structs `key`, `value`: keys may be NULL here, which maps of Arrow forbid |
| `struct<..>` | struct |
| `variant` | struct of the binaries `metadata`, `value` |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import DecimalException
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.wording import counted
from seambench.conformance.doors.facts import REQUEST_VERSION
from seambench.contracts.column import ColumnRequest
from seambench.contracts.outcomes import NotOffered
from seambench.seams.column.oracle import TypeTree, julian_day, micro_of_day, parse_type, unscaled

_EPOCH = 2440588
_DECIMAL_DIGITS = 38
_MICRO_DIGITS = 6


def column_request(request: ColumnRequest) -> str:
    """A request as one line of JSON."""
    content: dict[str, Any] = {
        "version": REQUEST_VERSION,
        "seam": "column",
        "fields": list(request.fields),
        "types": list(request.types),
        "required_fields": list(request.required_fields),
        "fetch_size": request.fetch_size,
        "chunks": len(request.chunk_rows),
    }
    if request.form == "text":
        content["form"] = request.form
    if request.nested_fields is not None:
        content["nested_fields"] = list(request.nested_fields)
    return json.dumps(content)


def row_batches(request: ColumnRequest) -> list[pa.RecordBatch]:
    """The rows of each chunk as a batch of all columns of the source."""
    trees = [parse_type(text) for text in request.types]
    batches, start = [], 0
    for size in request.chunk_rows:
        rows = request.rows[start : start + size]
        start += size
        columns = zip(*rows, strict=True) if rows else [[] for _ in trees]
        try:
            arrays = [_array(tree, list(c)) for tree, c in zip(trees, columns, strict=True)]
        except (ValueError, TypeError, OverflowError, DecimalException, pa.ArrowException) as error:
            raise NotOffered(f"Arrow columns cannot hold these rows: {error}") from error
        batches.append(_batch(request.fields, arrays, len(rows)))
    return batches


def _batch(names: Sequence[str], arrays: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
    """A batch that keeps its number of rows where it has no column."""
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, names=list(names))
    empty = pa.Array.from_buffers(pa.struct([]), rows, [None])
    return pa.RecordBatch.from_struct_array(empty)


def _array(tree: TypeTree, values: Sequence[Any]) -> pa.Array:
    """Beneath each NULL stands the first value that is something: Arrow allows any."""
    first = next(filter(None, values), None)
    beneath = [first if value is None else value for value in values]
    gone = pa.array([value is None for value in values], pa.bool_())
    if tree.kind == "decimal" or tree.kind in _SIMPLE:
        array = _decimals(tree, beneath) if tree.kind == "decimal" else _simple(tree.kind, beneath)
        there = pc.invert(gone).buffers()[1] if gone.true_count else None
        buffers = [there, *array.buffers()[1:]]
        return pa.Array.from_buffers(array.type, len(values), buffers)
    if tree.kind in ("struct", "variant"):
        rows = [[None] * len(tree.names) if value is None else value for value in beneath]
        children = _children(tree, rows)
        return pa.StructArray.from_arrays(children, names=list(tree.names), mask=gone)
    entries = [entry for value in beneath for entry in value or ()]
    if tree.kind == "array":
        [items] = [_array(tree.children[0], entries)]
    else:
        items = pa.StructArray.from_arrays(_children(tree, entries), names=["key", "value"])
    ends = accumulate((len(value or ()) for value in beneath), initial=0)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items, mask=gone)


def _simple(name: str, values: Sequence[Any]) -> pa.Array:
    kind, convert = _SIMPLE[name]
    return pa.array([None if value is None else convert(value) for value in values], kind)


def _children(tree: TypeTree, rows: Sequence[Sequence[Any]]) -> list[pa.Array]:
    """The parts of structs or entries, each row as long as the type has parts."""
    if any(len(row) != len(tree.children) for row in rows):
        raise ValueError(f"a {tree.kind} has {counted(len(tree.children), 'part')}")
    return [_array(child, [row[at] for row in rows]) for at, child in enumerate(tree.children)]


def _decimals(tree: TypeTree, values: Sequence[str | None]) -> pa.Array:
    """Unscaled numbers of 128 bits; pyarrow makes no number beyond 38 digits of text."""
    content = b"".join(
        (0 if value is None else unscaled(value, tree.scale)).to_bytes(16, "little", signed=True)
        for value in values
    )
    type_ = pa.decimal128(_DECIMAL_DIGITS, tree.scale)
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(content)])


def _micros(text: str) -> int:
    """Microseconds since 1970."""
    day, _, clock = text.partition(" ")
    if len(clock.partition(".")[2]) > _MICRO_DIGITS:
        raise ValueError(f"{text} is finer than a microsecond")
    return (_days(day) * 86_400_000_000) + micro_of_day(clock)


def _days(text: str) -> int:
    """Days since 1970."""
    year, month, day = map(int, text.rsplit("-", 2))
    first = julian_day(text)
    following = f"{year + month // 12}-{month % 12 + 1}-1"
    if not 1 <= day <= julian_day(following) - first + day - 1:
        raise ValueError(f"there is no day {text}")
    return first - _EPOCH


def _text(value: Any) -> bytes:
    """UTF-8; half a character, as Java's texts may have, is a question mark."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value.encode("utf-8", "replace")


_SIMPLE: dict[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    "boolean": (pa.bool_(), bool),
    "tinyint": (pa.int8(), int),
    "short": (pa.int16(), int),
    "smallint": (pa.int16(), int),
    "int": (pa.int32(), int),
    "bigint": (pa.int64(), int),
    "float": (pa.float32(), float),
    "double": (pa.float64(), float),
    "date": (pa.date32(), _days),
    "time": (pa.int32(), int),
    **dict.fromkeys(
        ("timestamp", "timestamp-micros", "timestamp-millis"), (pa.timestamp("us"), _micros)
    ),
    "string": (pa.string(), _text),
    "binary": (pa.binary(), bytes.fromhex),
}

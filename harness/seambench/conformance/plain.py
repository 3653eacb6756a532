"""Plain values: how cases spell a value, and how rows of any reader are compared.

A case spells a value as TOML does; what TOML lacks is text that the column's type explains:
decimals as `"12.30"`, binary as lower-case hex, UUIDs as lower-case hex with hyphens. A field left
out is null; an item of an array, or a value of a map, that is null is `{ null = true }`. Timestamps
without an offset are UTC.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.outcomes import Difference, short_digest

_MOST_ROWS = 5
_MOST_BATCHES = 256
_MOST_TEXT = 120

_TAKES: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "int": (int,),
    "bigint": (int,),
    "float": (float,),
    "double": (float,),
    "date": (dt.date,),
    "time": (dt.time,),
    "timestamp": (dt.datetime,),
    "uuid": (str,),
    "string": (str,),
    "binary": (str,),
    "decimal": (str,),
}


def typed(value: Any, type_: str) -> Any:
    """A case's value as the Python value of a column type.

    Args:
        value: as TOML gave it, None for null.
        type_: `boolean int bigint float double date time timestamp string binary uuid
            decimal(p,s)`, and of them `array<...>`, `map<string,...>` (a table), `struct<name:...>`
            (a table). A table with nothing but `null = true` is null at every depth.
    """
    if value is None or _is_null(value):
        return None
    if type_.endswith(">"):
        return _nested(value, type_)
    kind = type_.partition("(")[0]
    if kind not in _TAKES:
        raise UsageError(f"unknown column type {type_!r} in a case")
    if type(value) not in _TAKES[kind]:
        raise UsageError(f"a column of type {type_} does not take {value!r}")
    if kind == "decimal":
        number = Decimal(value)
        if -int(number.as_tuple().exponent) != int(type_.rstrip(")").split(",")[1]):
            raise UsageError(f"{value} has another scale than {type_}")
        return number
    if kind == "binary":
        return bytes.fromhex(value)
    if kind == "uuid":
        return _uuid(value)
    if kind == "timestamp" and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value


def spelling(value: Any, type_: str) -> Any:
    """A Python value of a column type as a case's TOML spells it: what `typed` takes for it.

    Only an array and a map can spell None. A map is a dictionary here, or pairs.
    """
    if value is None:
        return None
    kind, _, inner = type_.removesuffix(">").partition("<")
    if kind == "array":
        return [_or_null(spelling(item, inner)) for item in value]
    if kind == "map":
        of = parts_of(inner)[1]
        return {key: _or_null(spelling(item, of)) for key, item in dict(value).items()}
    if kind == "struct":
        items = ((name, spelling(value.get(name), of)) for name, of in _fields(inner).items())
        return {name: item for name, item in items if item is not None}
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, Decimal | uuid.UUID) else value


def _is_null(value: Any) -> bool:
    """Whether a table stands for null; that `1 == True` does not make it one."""
    return isinstance(value, dict) and value.keys() == {"null"} and value["null"] is True


def _or_null(value: Any) -> Any:
    return {"null": True} if value is None else value


def _uuid(text: str) -> uuid.UUID:
    try:
        found = uuid.UUID(text)
    except ValueError:
        found = None
    if found is None or str(found) != text:
        raise UsageError(f"{text!r} is no UUID as cases spell them")
    return found


def _nested(value: Any, type_: str) -> Any:
    """A nested value as Arrow's Python values are: the entries of a map are pairs."""
    kind, _, inner = type_[:-1].partition("<")
    parts = parts_of(inner)
    if kind == "array" and isinstance(value, list):
        return [typed(item, inner) for item in value]
    if kind == "map" and isinstance(value, dict) and parts[0] == "string":
        return [(name, typed(item, parts[1])) for name, item in value.items()]
    if kind == "map" and isinstance(value, list) and all(len(pair) == 2 for pair in value):
        return [(typed(key, parts[0]), typed(item, parts[1])) for key, item in value]
    if kind == "struct" and isinstance(value, dict):
        fields = _fields(inner)
        if value.keys() <= fields.keys():
            return {name: typed(value.get(name), of) for name, of in fields.items()}
    raise UsageError(f"a column of type {type_} does not take {value!r}")


def _fields(inner: str) -> dict[str, str]:
    """The fields of a struct and their types."""
    return {name: of for name, _, of in (part.partition(":") for part in parts_of(inner))}


def parts_of(inner: str) -> list[str]:
    """What stands between the commas that lie in no brackets."""
    parts, depth = [""], 0
    for char in inner:
        depth += (char in "<(") - (char in ">)")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def canonical(value: Any) -> str:
    """Text of a value that tells type and every bit that counts: equal text, equal value."""
    if isinstance(value, float):
        return "float:nan" if math.isnan(value) else f"float:{value.hex()}"
    if isinstance(value, dt.datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return f"timestamp:{zoned.astimezone(dt.UTC).replace(tzinfo=None).isoformat()}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_inner, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_inner(k)}={_inner(v)}" for k, v in value.items()) + "}"
    return f"{type(value).__name__}:{value}"


def first_unlike(want: Sequence[Any], have: Sequence[Any]) -> int | None:
    """The first place at which equally many plain values are not the same; None if all are.

    Texts of all of them by Python itself are the same only where those of each value are.
    """
    if repr(list(want)) == repr(list(have)):
        return None
    pairs = enumerate(zip(want, have, strict=True))
    return next((at for at, (a, b) in pairs if canonical(a) != canonical(b)), None)


def _inner(value: Any) -> str:
    """A value within another; texts in quotes, so that none can look like two: ["a,str:b"]."""
    return f"str:{json.dumps(value)}" if isinstance(value, str) else canonical(value)


def in_key_order(value: Any) -> Any:
    """A value of Arrow's; entries of maps, which have no order, in that of their keys."""
    if isinstance(value, dict):
        return {name: in_key_order(inner) for name, inner in value.items()}
    if isinstance(value, list):
        items = [in_key_order(item) for item in value]
        is_map = bool(items) and isinstance(items[0], tuple)
        return sorted(items, key=lambda pair: pair[0]) if is_map else items
    return (value[0], in_key_order(value[1])) if isinstance(value, tuple) else value


def rows_of(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows of record batches as tuples in the order of `names`."""
    rows: list[tuple[Any, ...]] = []
    for batch in _joined(batches):
        columns = [_values(batch.column(batch.schema.get_field_index(name))) for name in names]
        rows.extend(zip(*columns, strict=True) if columns else [()] * batch.num_rows)
    return rows


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches: to look at one takes as long as hundreds of rows."""
    few: list[pa.RecordBatch] = []
    for batch in batches:
        few.append(batch)
        if len(few) == _MOST_BATCHES:
            yield from _in_one(few)
            few = []
    yield from _in_one(few)


def _in_one(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    try:
        return [pa.concat_batches(batches)] if len(batches) > 1 else batches
    except pa.ArrowException:  # of schemas that differ, or types that Arrow does not join
        return batches


def _values(column: pa.Array) -> list[Any]:
    """Python values of a column; timestamps as UTC datetimes without losing a digit."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        # Days and moments that are none of Python's, as their numbers: they are equal to no others.
        values = [_or_number(value) for value in column]
    return values


@dataclass(frozen=True)
class NoText:
    """The bytes of a text that are no UTF-8: equal to no text, and to no bytes."""

    data: bytes

    def __str__(self) -> str:
        return f"0x{self.data.hex()} (no UTF-8)"


def _or_number(value: pa.Scalar) -> Any:
    """A value, at every depth as it is: what Python has no value for equals nothing but itself."""
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        if isinstance(value, pa.StructScalar):
            return {name: _or_number(inner) for name, inner in value.items()}
        if isinstance(value, pa.MapScalar):
            entries = value.values
            pairs = zip(entries.field(0), entries.field(1), strict=True)
            return [(_or_number(key), _or_number(inner)) for key, inner in pairs]
        if isinstance(value, pa.ListScalar):
            return list(map(_or_number, value.values))
        if isinstance(value, pa.BinaryScalar):  # texts among them
            return NoText(value.as_buffer().to_pybytes())
        inner = value.value  # a number, or what a dictionary has
        return _or_number(inner) if isinstance(inner, pa.Scalar) else inner


def difference(
    expected: Iterable[Sequence[Any]], actual: Iterable[Sequence[Any]], names: Sequence[str]
) -> str | None:
    """What tells two multisets of rows apart, as one sentence; None if they are equal."""
    expected, actual = list(expected), list(actual)
    # As in `first_unlike`: Python's own texts take a tenth, and tell no more alike than ours.
    if Counter(map(repr, expected)) == Counter(map(repr, actual)):
        return None
    want = Counter(tuple(canonical(v) for v in row) for row in expected)
    have = Counter(tuple(canonical(v) for v in row) for row in actual)
    if want == have:
        return None
    parts = []
    for word, rows in (("missing", want - have), ("unexpected", have - want)):
        if rows:
            shown = [_show(row, names) for row in sorted(rows.elements())[:3]]
            more = rows.total() - len(shown)
            parts.append(f"{word} {', '.join(shown)}" + (f" and {more} more" if more else ""))
    return f"{counted(want.total(), 'row')} expected, {have.total()} read: " + "; ".join(parts)


def differing_rows(
    expected: Iterable[Sequence[Any]], actual: Iterable[Sequence[Any]], names: Sequence[str]
) -> Difference:
    """The first rows that are in one of two multisets alone, for people to look at."""
    sides: list[dict[tuple[str, ...], Sequence[Any]]] = [{}, {}]
    counts = []
    for side, rows in zip(sides, (expected, actual), strict=True):
        listed = [(tuple(canonical(value) for value in row), row) for row in rows]
        side.update(listed)
        counts.append(Counter(key for key, _ in listed))
    only = [counts[0] - counts[1], counts[1] - counts[0]]
    missing, unexpected = (
        [[shown(value) for value in side[key]] for key in sorted(one.elements())[:_MOST_ROWS]]
        for one, side in zip(only, sides, strict=True)
    )
    content = json.dumps([list(names), *(sorted(one.elements()) for one in only)])
    totals = (only[0].total(), only[1].total())
    return Difference(list(names), missing, unexpected, *totals, short_digest(content))


def shown(value: Any) -> str:
    """A value for people: NULL, texts in quotes, bytes in hex; cut where it is long."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, bytes):
        text = f"0x{value.hex()}"
    elif isinstance(value, dt.datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        text = zoned.astimezone(dt.UTC).replace(tzinfo=None).isoformat(sep=" ")
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{k}: {shown(v)}" for k, v in value.items()) + "}"
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(shown(v) for v in value) + "]"
    else:
        text = str(value)
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}\N{HORIZONTAL ELLIPSIS}"


def _show(row: Sequence[str], names: Sequence[str]) -> str:
    """One row for a message: names and values, types only where they are not plain."""
    return "(" + ", ".join(f"{n}={v}" for n, v in zip(names, row, strict=True)) + ")"

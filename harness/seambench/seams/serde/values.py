"""Plain values of serde cases: golden JSON to plain values, those to Arrow arrays, and back.

Equality is judged on plain values, whatever encoding a column came in:

| type | plain value |
|---|---|
| boolean | bool |
| whole numbers, dates (days), times, timestamps, intervals (their unit), packed zones | int |
| real, double | float; any NaN equals any other, -0.0 and 0.0 differ |
| decimal | Decimal with its scale |
| text | str |
| binary, uuid, addresses | bytes |
| Spark's calendar interval | (months, days, micros) |
| array | list |
| map | list of (key, value) in stored order |
| row, struct | tuple of field values |
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.serde import SerdeRequest
from seambase.types import SerdeType, arrow_type, schema_of
from seambase.wording import counted
from seambench.conformance.plain import first_unlike

_BYTES = frozenset(
    {"varbinary", "binary", "uuid", "ipaddress", "ipprefix", "hyperloglog", "p4hyperloglog"}
    | {"setdigest", "qdigest", "tdigest"}
)
_TEXT = frozenset({"varchar", "char", "json", "string"})
_PER_MILLI = {"millis": 1, "micros": 1000, "lossless": 1_000_000}


def from_golden(value: Any, type_: SerdeType, timestamps: str = "millis") -> Any:
    """A value as the golden files spell it, as a plain value.

    It is parsed JSON. `timestamps` is the unit that Presto's `timestamp` shall be in; golden files
    give milliseconds.
    """
    if value is None:
        return None
    try:
        return _read(value, type_, timestamps)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise UsageError(f"{value!r} is no golden value of type {type_.text}: {error}") from error


def longer(value: Any, times: int) -> Any:
    """A value whose texts and binaries, at any depth, stand so often end to end."""
    if times > 1 and isinstance(value, list | tuple):
        return type(value)(longer(part, times) for part in value)
    return value * times if isinstance(value, str | bytes) else value


def _read(value: Any, type_: SerdeType, timestamps: str) -> Any:
    """As `from_golden`, for what is not null."""
    if type_.kind in ("array", "map", "row", "struct"):
        return _read_nested(value, type_, timestamps)
    kind = type_.kind
    if kind == "decimal":
        return _decimal(value, type_)
    if kind in _SIMPLE:
        wanted, convert = _SIMPLE[kind]
        return convert(_expect(value, wanted))
    if isinstance(value, Mapping):
        return _read_parts(value, type_)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError("a whole number is expected")
    scale = _PER_MILLI[timestamps] if (type_.language, kind) == ("presto", "timestamp") else 1
    return int(value) * scale


def _read_nested(value: Any, type_: SerdeType, timestamps: str) -> Any:
    children = type_.children
    if type_.kind == "array":
        return [from_golden(item, children[0], timestamps) for item in _list(value)]
    if type_.kind == "map":
        pairs = [_list(pair, 2) for pair in _list(value)]
        return [
            tuple(from_golden(*both, timestamps) for both in zip(p, children, strict=True))
            for p in pairs
        ]
    items = zip(_list(value, len(children)), children, strict=True)
    return tuple(from_golden(item, child, timestamps) for item, child in items)


def _read_parts(value: Mapping[str, Any], type_: SerdeType) -> Any:
    """A value that golden files spell as an object of its parts."""
    if type_.kind == "timestamp with time zone":
        return int(value["millis"]) << 12 | int(value["zoneKey"])
    if type_.kind == "interval":
        return int(value["months"]), int(value["days"]), int(value["micros"])
    raise TypeError("an object is not expected")


def _single(text: str) -> float:
    """The 32-bit float that a text names."""
    number: float = struct.unpack("<f", struct.pack("<f", float(text)))[0]
    return number


_SIMPLE: Mapping[str, tuple[type, Callable[[Any], Any]]] = {
    "boolean": (bool, bool),
    "real": (str, _single),
    "float": (str, _single),
    "double": (str, float),
    **dict.fromkeys(_BYTES, (str, bytes.fromhex)),
    **dict.fromkeys(_TEXT, (str, str)),
}


def _list(value: Any, length: int | None = None) -> Sequence[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise TypeError(f"a list{'' if length is None else f' of {length}'} is expected")
    return value


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"a {kind.__name__} is expected")
    return value


def _decimal(value: Any, type_: SerdeType) -> Decimal:
    """A decimal with just the digits of its type."""
    number = Decimal(_expect(value, str))
    sign, digits, exponent = number.as_tuple()
    del sign
    if exponent != -type_.scale or len(digits) > max(type_.precision, type_.scale + 1):
        raise ValueError("other digits than the type has")
    return number


def arrow_array(values: Sequence[Any], type_: pa.DataType, *, beneath: bool = False) -> pa.Array:
    """A flat Arrow array of plain values. The type is as `seambase.types.arrow_type` gives it.

    Beneath a null stands nothing, or, where asked for, a value: Arrow allows any, at all levels.
    """
    if isinstance(type_, pa.BaseExtensionType):
        stored = arrow_array(values, type_.storage_type, beneath=beneath)
        return pa.ExtensionArray.from_storage(type_, stored)
    present = _validity(values)
    if beneath and not pa.types.is_null(type_):
        values = [anything(type_) if value is None else value for value in values]
    if pa.types.is_struct(type_):
        children = [
            arrow_array(
                [None if row is None else row[at] for row in values], field.type, beneath=beneath
            )
            for at, field in enumerate(type_)
        ]
        return pa.Array.from_buffers(type_, len(values), [present], children=children)
    if not (pa.types.is_map(type_) or pa.types.is_list(type_)):
        array = pa.array(values, type_)
        if not beneath or present is None or pa.types.is_null(type_):
            return array
        return pa.Array.from_buffers(type_, len(values), [present, *array.buffers()[1:]])
    # By buffers, since the convenient way knows no null maps in all releases.
    offsets, flat = _spread(values)
    child = arrow_array(flat, type_.field(0).type, beneath=beneath)
    buffers = [present, offsets.buffers()[1]]
    return pa.Array.from_buffers(type_, len(values), buffers, children=[child])


def anything(type_: pa.DataType, number: int = 1) -> Any:
    """One of two values that a type can have, the first of which is not the one that zeros are."""
    if isinstance(type_, pa.BaseExtensionType):
        return anything(type_.storage_type, number)
    if pa.types.is_struct(type_):
        return tuple(anything(field.type, number) for field in type_)
    if pa.types.is_map(type_) or pa.types.is_list(type_):
        return [anything(type_.field(0).type, number)]
    if pa.types.is_fixed_size_binary(type_):
        return b"x" * (type_.byte_width - 1) + bytes([number])
    if pa.types.is_decimal(type_):
        return Decimal(number).scaleb(-type_.scale)
    if pa.types.is_string(type_):
        return "x" * number
    if pa.types.is_binary(type_):
        return b"x" * number
    if pa.types.is_boolean(type_):
        return number == 1
    return None if pa.types.is_null(type_) else number


def _spread(values: Sequence[Any]) -> tuple[pa.Array, list[Any]]:
    """Offsets of lists, and their items end to end."""
    lengths = (0 if value is None else len(value) for value in values)
    flat = [item for value in values if value is not None for item in value]
    return pa.array(accumulate(lengths, initial=0), pa.int32()), flat


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    """A validity bitmap, or None without nulls."""
    if all(value is not None for value in values):
        return None
    return pa.array([value is not None for value in values], pa.bool_()).buffers()[1]


def flat_type(type_: pa.DataType) -> pa.DataType:
    """A type without dictionaries and runs at any level, and without wide or view layouts.

    It is what a column's values are of, however they are laid out.
    """
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return flat_type(type_.value_type)
    if pa.types.is_map(type_):
        return pa.map_(flat_type(type_.key_type), flat_type(type_.item_type))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, flat_type(field.type)) for field in type_])
    if any(test(type_) for test in _LISTS):
        return pa.list_(flat_type(type_.value_type))
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_large_binary(type_) or pa.types.is_binary_view(type_):
        return pa.binary()
    return type_


_LISTS: Sequence[Callable[[pa.DataType], bool]] = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def exact_values(array: pa.Array) -> list[Any]:
    """Values of which two are equal just if the plain ones tell the same: reals by their bits."""
    return plain_values(array, _as_bits)


def plain_values(array: pa.Array, flat: Callable[[pa.Array], pa.Array] | None = None) -> list[Any]:
    """Plain values of an array, dictionaries and runs looked through.

    With `flat`, those of the flat arrays that it makes of the flat ones within.
    """
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        return plain_values(array.storage, flat)
    if pa.types.is_dictionary(type_):
        entries = plain_values(array.dictionary, flat)
        return [None if i is None else entries[i] for i in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(type_):
        return _of_runs(array, plain_values(array.values, flat))
    if pa.types.is_map(type_):
        # Arrow's own `keys` and `items` know no offset of the entries.
        parts = [plain_values(array.values.field(at), flat) for at in range(2)]
        return _of_lists(array, list(zip(*parts, strict=True)))
    if any(test(type_) for test in _LISTS):
        return _of_lists(array, plain_values(array.values, flat))
    if pa.types.is_struct(type_):
        fields = [plain_values(array.field(i), flat) for i in range(type_.num_fields)]
        rows = list(zip(*fields, strict=True)) if fields else [()] * len(array)
        present = array.is_valid().to_pylist()
        return [row if there else None for row, there in zip(rows, present, strict=True)]
    values: list[Any] = (flat or _as_number)(array).to_pylist()
    return values


def _of_runs(array: pa.RunEndEncodedArray, entries: Sequence[Any]) -> list[Any]:
    """Plain values of runs, of which a slice may show only a part."""
    found: list[Any] = []
    for end, entry in zip(array.run_ends.to_pylist(), entries, strict=True):
        reach = min(end - array.offset, len(array))
        found += [entry] * (reach - len(found))
    return found


def _of_lists(array: pa.Array, items: Sequence[Any]) -> list[Any]:
    """Plain values of lists whose items (of the whole child) are known."""
    present = array.is_valid().to_pylist()
    offsets = array.offsets.to_pylist()
    if hasattr(array, "sizes"):
        ends = [at + size for at, size in zip(offsets, array.sizes.to_pylist(), strict=True)]
    else:
        offsets, ends = offsets[:-1], offsets[1:]
    spans = zip(present, offsets, ends, strict=True)
    return [list(items[begin:end]) if there else None for there, begin, end in spans]


def _as_number(array: pa.Array) -> pa.Array:
    """An array of what Python would turn into dates and the like, as whole numbers."""
    type_ = array.type
    if pa.types.is_date32(type_) or pa.types.is_time32(type_):
        return array.view(pa.int32())
    if any(test(type_) for test in _LONGS):
        return array.view(pa.int64())
    return array


_LONGS: Sequence[Callable[[pa.DataType], bool]] = (
    pa.types.is_timestamp,
    pa.types.is_duration,
    pa.types.is_time64,
    pa.types.is_date64,
)


def _as_bits(array: pa.Array) -> pa.Array:
    """As `_as_number`, and of reals the bits, those of one NaN for any."""
    if not pa.types.is_floating(array.type):
        return _as_number(array)
    alike = pc.if_else(pc.is_nan(array), pa.scalar(math.nan, array.type), array)
    return alike.view(f"int{array.type.bit_width}")


def plain_batch(batch: pa.RecordBatch, request: SerdeRequest) -> pa.RecordBatch:
    """The rows of a batch without dictionaries and runs, in the request's own Arrow types."""
    schema = schema_of(request)
    if not batch.num_columns:
        return batch
    arrays = [
        column if column.type == field.type else arrow_array(plain_values(column), field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def value_difference(
    expected: Sequence[Any], batch: pa.RecordBatch, at: int, type_: SerdeType, timestamps: str
) -> str | None:
    """What tells a column of a batch from plain values; None if nothing does.

    The type is in the format's words; for timestamps see `seambase.types.arrow_type`.
    """
    column, name = batch.column(at), batch.schema.names[at]
    wanted = flat_type(arrow_type(type_, timestamps))
    if flat_type(column.type) != wanted:
        return f"column {name!r} must be {wanted}, it is {column.type}"
    values = plain_values(column)
    if len(values) != len(expected):
        return f"column {name!r}: {counted(len(expected), 'row')} expected, {len(values)} came"
    if (row := first_unlike(expected, values)) is None:
        return None
    want, have = _short(expected[row]), _short(values[row])
    return f"column {name!r}, row {row}: {want} expected, {have} came"


def _short(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."

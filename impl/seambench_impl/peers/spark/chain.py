"""Arrow columns as chains of addresses that Spark's side reads, and chains that it made as Arrow.

A chain is what `peers/java/SparkColumns.java` says: null bytes, data or offsets and bytes, the
children's after. Here values are Spark's own: days and microseconds since 1970, decimals of up to
18 digits in 8 bytes, of more in 16 (two's complement, low word first).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.types import SerdeType, arrow_type
from seambench_impl.peers.arrow_parts import (
    dressed,
    elements_of,
    flat,
    null_flags,
    offsets_of,
    span_offsets,
    spans_of,
    stored_as,
    struct_of,
    validity,
    words_of,
)
from seamkit.jvm.machine import JavaClasses

#: Forms of columns, as in `SparkColumns`; others are the bytes a value.
TEXT, LIST, MAP, STRUCT, ABSENT, INTERVAL, JULIAN_DAY, JULIAN_TIME = range(0, -8, -1)

_FORMS = {
    "boolean": 1,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "float": 4,
    "date": 4,
    "interval year to month": 4,
    "string": TEXT,
    "char": TEXT,
    "varchar": TEXT,
    "binary": TEXT,
    "array": LIST,
    "map": MAP,
    "struct": STRUCT,
    "void": ABSENT,
    "interval": INTERVAL,
}
_DTYPES = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64, 16: np.int64}
_DATA_TYPES = {
    "boolean": "BooleanType",
    "tinyint": "ByteType",
    "smallint": "ShortType",
    "int": "IntegerType",
    "bigint": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "date": "DateType",
    "timestamp": "TimestampType",
    "timestamp_ntz": "TimestampNTZType",
    # How long a text may be is checked on writing tables; rows hold strings.
    "string": "StringType",
    "char": "StringType",
    "varchar": "StringType",
    "binary": "BinaryType",
    "void": "NullType",
    "interval": "CalendarIntervalType",
}


def _form(type_: SerdeType) -> int:
    if type_.kind == "decimal":
        return 8 if type_.precision <= 18 else 16
    return _FORMS.get(type_.kind, 8)


def forms_of(types: Sequence[SerdeType]) -> list[int]:
    """Forms of columns and their children, each before its children."""
    forms = []
    for type_ in types:
        forms.append(_form(type_))
        forms += forms_of(type_.children)
    return forms


def spark_schema(peer: JavaClasses, names: Sequence[str], types: Sequence[SerdeType]) -> Any:
    """Spark's `StructType` of columns, all of which may be null."""
    schema = peer.java_class("org.apache.spark.sql.types.StructType")()
    for name, type_ in zip(names, types, strict=True):
        schema = schema.add(name, _data_type(peer, type_), True)
    return schema


def _data_type(peer: JavaClasses, type_: SerdeType) -> Any:
    types = peer.java_class("org.apache.spark.sql.types.DataTypes")
    children = type_.children
    if type_.kind == "decimal":
        return types.createDecimalType(type_.precision, type_.scale)
    if type_.kind == "array":
        return types.createArrayType(_data_type(peer, children[0]), True)
    if type_.kind == "map":
        key, value = (_data_type(peer, child) for child in children)
        return types.createMapType(key, value, True)
    if type_.kind == "struct":
        return spark_schema(peer, type_.names, children)
    if type_.kind == "interval year to month":
        return types.createYearMonthIntervalType()
    if type_.kind == "interval day to second":
        return types.createDayTimeIntervalType()
    return getattr(types, _DATA_TYPES[type_.kind])


class ArrowChain:
    """A chain over a batch of Arrow columns; it owns the memory that the words point at."""

    def __init__(self, types: Sequence[SerdeType], batch: pa.RecordBatch) -> None:
        self._parts: list[np.ndarray[Any, Any]] = []
        self._words = [batch.num_rows]
        for name, type_, column in zip(batch.schema.names, types, batch.columns, strict=True):
            try:
                self._add(type_, flat(column))
            except UsageError as error:
                raise UsageError(f"column {name!r}: {error}") from error
        self._chain = np.array(self._words, np.int64)

    @property
    def address(self) -> int:
        """Address of the words, valid while this object lives."""
        return int(self._chain.ctypes.data)

    def _point(self, part: np.ndarray[Any, Any]) -> None:
        kept = np.ascontiguousarray(part)
        self._parts.append(kept)
        self._words.append(int(kept.ctypes.data))

    def _add(self, type_: SerdeType, array: Any) -> None:
        form = _form(type_)
        if form == ABSENT:
            if array.null_count != len(array):
                raise UsageError("a column of type void holds a value")
            self._words.append(0)
            return
        _require(type_, array)
        self._point(null_flags(array).astype(np.int8))
        if type_.children:
            if form != STRUCT:
                self._point(span_offsets(array))
            for child, part in zip(type_.children, _children(form, array), strict=True):
                self._add(child, flat(part))
        elif form == INTERVAL:
            for index, width in enumerate((4, 4, 8)):
                self._point(words_of(array.field(index), width, _DTYPES[width]))
        elif form == TEXT:
            self._add_texts(array)
        elif type_.kind == "boolean":
            self._point(array.cast(pa.int8()).fill_null(0).to_numpy())
        else:
            self._point(words_of(array, form, _DTYPES[form]))

    def _add_texts(self, array: Any) -> None:
        offsets = offsets_of(array)
        content = array.buffers()[2]
        view = memoryview(content)[offsets[0] : offsets[-1]] if content is not None else b""
        self._point(offsets - offsets[0])
        # A copy of at least one byte: an empty one would have no address of its own.
        self._point(np.frombuffer(bytes(view) + b"\0", np.int8))


def _children(form: int, array: Any) -> list[Any]:
    """Child arrays of a nested array: all rows of fields, only what is there of elements."""
    if form != STRUCT:
        return elements_of(array)
    return [array.field(index) for index in range(array.type.num_fields)]


def _require(type_: SerdeType, array: Any) -> None:
    """Refuse an array of another type; children are looked at when it is their turn."""
    if type_.children:
        nested = {
            "array": pa.types.is_list,
            "map": pa.types.is_map,
            "struct": pa.types.is_struct,
        }
        right = nested[type_.kind](array.type)
        if right and type_.kind == "struct":
            right = array.type.num_fields == len(type_.children)
    else:
        right = array.type == stored_as(arrow_type(type_))
    if not right:
        raise UsageError(f"an Arrow array of {array.type} does not hold Spark's {type_.text}")


def chain_arrays(java: Any, types: Sequence[SerdeType]) -> list[pa.Array]:
    """Arrow arrays of the columns of a chain that Java made, which is freed; they own copies."""
    try:
        chain = iter(_copy(int(java.address), int(java.words), np.int64).tolist())
        rows = next(chain)
        arrays = [_array(type_, rows, chain) for type_ in types]
        for array in arrays:  # Spark looks into no text
            array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InputError(f"Spark reads what has no meaning: {error}") from error
    finally:
        java.free()
    return arrays


def _copy(address: int, count: int, dtype: Any) -> np.ndarray[Any, Any]:
    size_bytes = count * np.dtype(dtype).itemsize
    return np.frombuffer(ctypes.string_at(address, size_bytes), dtype)


def _array(type_: SerdeType, rows: int, chain: Iterator[int]) -> pa.Array:
    form = _form(type_)
    if form == ABSENT:
        next(chain)
        return pa.nulls(rows)
    target = arrow_type(type_)
    storage = stored_as(target)
    flags = _copy(next(chain), rows, np.int8) != 0
    mask = validity(flags) if flags.any() else None
    if form in (LIST, MAP):
        offsets = _copy(next(chain), rows + 1, np.int32)
        parts = [_array(child, int(offsets[-1]), chain) for child in type_.children]
        return spans_of(parts, rows, mask, offsets)
    if form == STRUCT:
        fields = [_array(child, rows, chain) for child in type_.children]
        return struct_of(type_.names, fields, rows, mask)
    if form == INTERVAL:
        parts = [_copy(next(chain), rows, _DTYPES[width]) for width in (4, 4, 8)]
        fields = [
            pa.Array.from_buffers(field.type, rows, [None, pa.py_buffer(part)])
            for field, part in zip(storage, parts, strict=True)
        ]
        array = pa.Array.from_buffers(storage, rows, [mask], children=fields)
    elif form == TEXT:
        offsets = _copy(next(chain), rows + 1, np.int32)
        content = _copy(next(chain), int(offsets[-1]), np.int8)
        buffers = [mask, pa.py_buffer(offsets), pa.py_buffer(content)]
        array = pa.Array.from_buffers(storage, rows, buffers)
    else:
        array = _fixed(type_, storage, rows, (flags, mask), next(chain))
    return dressed(array, target)


def _fixed(
    type_: SerdeType,
    storage: pa.DataType,
    rows: int,
    nulls: tuple[np.ndarray[Any, Any], pa.Buffer | None],
    address: int,
) -> pa.Array:
    form = _form(type_)
    flags, mask = nulls
    words = _copy(address, 2 * rows if form == 16 else rows, _DTYPES[form])
    if type_.kind == "boolean":
        return pa.array(words != 0, pa.bool_(), mask=flags)
    if type_.kind == "decimal" and form == 8:
        words = np.stack([words, words >> 63], axis=1).copy()
    return pa.Array.from_buffers(storage, rows, [mask, pa.py_buffer(words)])

"""Arrow arrays into Presto's blocks and back, whole columns at a time.

Values cross the border as primitive arrays; what they mean is left to Presto's own classes: blocks
are made by their constructors and read through their getters, long decimals go through `Decimals`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError, UsageError
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
    take,
    validity,
    words_of,
)
from seamkit.jvm.machine import JavaClasses

_BLOCKS = "com.facebook.presto.common.block"
_WIDTHS = {
    "boolean": 1,
    "tinyint": 1,
    "unknown": 1,
    "smallint": 2,
    "integer": 4,
    "date": 4,
    "real": 4,
    "interval year to month": 4,
    "uuid": 16,
    "ipaddress": 16,
}
_TEXTS = frozenset(
    {
        *("varchar", "char", "varbinary", "json", "ipprefix"),
        *("hyperloglog", "p4hyperloglog", "setdigest", "qdigest", "tdigest"),
    }
)


def _width(type_: SerdeType) -> int:
    """Bytes a value, 0 for texts."""
    if type_.kind in _TEXTS:
        return 0
    if type_.kind == "decimal":
        return 8 if type_.precision <= 18 else 16
    return _WIDTHS.get(type_.kind, 8)


class BlockWriter:
    """Makes blocks of Arrow arrays; with `flatten` dictionaries and runs become flat values."""

    def __init__(self, peer: JavaClasses, helper: Any, flatten: bool) -> None:
        self._peer = peer
        self._helper = helper
        self._flatten = flatten
        jpype = peer.jpype
        self._optional = jpype.JClass("java.util.Optional")
        self._fixed: dict[int, tuple[Any, Any, Any]] = {
            1: (self._block("ByteArrayBlock"), np.int8, jpype.JByte),
            2: (self._block("ShortArrayBlock"), np.int16, jpype.JShort),
            4: (self._block("IntArrayBlock"), np.int32, jpype.JInt),
            8: (self._block("LongArrayBlock"), np.int64, jpype.JLong),
            16: (self._block("Int128ArrayBlock"), np.int64, jpype.JLong),
        }

    def _block(self, name: str) -> Any:
        return self._peer.java_class(f"{_BLOCKS}.{name}")

    def _ints(self, values: Any) -> Any:
        return self._peer.jpype.JArray(self._peer.jpype.JInt)(
            np.ascontiguousarray(values, np.int32)
        )

    def _nulls(self, array: pa.Array) -> Any:
        """`boolean[]`, or null if no row is null."""
        if array.null_count == 0:
            return None
        return self._peer.jpype.JArray(self._peer.jpype.JBoolean)(null_flags(array))

    def write(self, type_: SerdeType, array: pa.Array) -> Any:
        """The block of an array: flat, or a dictionary or run of whatever it holds."""
        if isinstance(array, pa.DictionaryArray):
            return self._dictionary(type_, array)
        if isinstance(array, pa.RunEndEncodedArray):
            return self._run(type_, array)
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        nested: dict[str, Callable[[SerdeType, Any], Any]] = {
            "array": self._list,
            "map": self._map,
            "row": self._row,
        }
        if type_.kind in nested:
            return nested[type_.kind](type_, array)
        if not array.type.equals(stored_as(arrow_type(type_))):
            raise UsageError(f"an Arrow array of {array.type} does not hold Presto's {type_.text}")
        return self._text(array) if _width(type_) == 0 else self._numbers(type_, array)

    def _dictionary(self, type_: SerdeType, array: Any) -> Any:
        values, ids = array.dictionary, array.indices
        if self._flatten:
            return self.write(type_, take(values, ids))
        if ids.null_count:
            # Presto has no null ids: a null is an id of a null entry.
            values = pa.concat_arrays([values, pa.nulls(1, values.type)])
            ids = pc.fill_null(ids, pa.scalar(len(values) - 1, ids.type))
        numbers = self._ints(ids.to_numpy())
        return self._block("DictionaryBlock")(len(ids), self.write(type_, values), numbers)

    def _run(self, type_: SerdeType, array: Any) -> Any:
        rows, values = len(array), array.values
        if rows and (self._flatten or array.find_physical_length() != 1):
            ends = array.run_ends.to_numpy()
            places = np.searchsorted(ends, np.arange(rows) + array.offset, side="right")
            return self.write(type_, take(values, pa.array(places, pa.int32())))
        if self._flatten:
            return self.write(type_, values[:0])
        if len(values):
            value = values.slice(array.find_physical_offset(), 1)
        else:  # a run of no rows, whose value Arrow has no place for
            value = pa.nulls(1, values.type)
        return self._block("RunLengthEncodedBlock")(self.write(type_, value), rows)

    def _numbers(self, type_: SerdeType, array: Any) -> Any:
        width, rows = _width(type_), len(array)
        block, dtype, element = self._fixed[width]
        if type_.kind == "unknown":
            values = np.zeros(rows, np.int8)
        elif type_.kind == "boolean":
            values = array.cast(pa.int8()).fill_null(0).to_numpy()
        elif type_.kind == "time":  # 4 bytes in Arrow, 8 in Presto
            values = words_of(array, 4, np.int32).astype(np.int64)
        else:
            values = words_of(array, width, dtype)
        nulls = self._nulls(array)
        words = self._peer.jpype.JArray(element)(values)
        if type_.kind == "decimal" and width == 16:
            return self._helper.decimalBlock(words, nulls)
        return block(rows, self._optional.ofNullable(nulls), words)

    def _text(self, array: Any) -> Any:
        nulls = self._nulls(array)
        if pa.types.is_fixed_size_binary(array.type):
            array = array.cast(pa.binary())
        if array.null_count:
            array = array.fill_null(b"" if pa.types.is_binary(array.type) else "")
        if pa.types.is_string(array.type):
            array = array.view(pa.binary())
        offsets = offsets_of(array)
        content = array.buffers()[2]
        view = memoryview(content)[offsets[0] : offsets[-1]] if content is not None else b""
        data = self._peer.jpype.JArray(self._peer.jpype.JByte)(np.frombuffer(view, np.int8))
        slice_ = self._peer.java_class("io.airlift.slice.Slices").wrappedBuffer(data)
        ends = self._ints(offsets - offsets[0])
        return self._block("VariableWidthBlock")(
            len(array), slice_, ends, self._optional.ofNullable(nulls)
        )

    def _list(self, type_: SerdeType, array: Any) -> Any:
        elements = self.write(type_.children[0], elements_of(array)[0])
        return self._block("ArrayBlock").fromElementBlock(
            len(array), self._optional.ofNullable(self._nulls(array)), self._spans(array), elements
        )

    def _map(self, type_: SerdeType, array: Any) -> Any:
        pairs = zip(type_.children, elements_of(array), strict=True)
        keys, values = (self.write(child, part) for child, part in pairs)
        return self._block("MapBlock").fromKeyValueBlock(
            len(array),
            self._optional.ofNullable(self._nulls(array)),
            self._spans(array),
            keys,
            values,
        )

    def _spans(self, array: Any) -> Any:
        """Offsets over the flattened elements: a null row spans nothing."""
        return self._ints(span_offsets(array))

    def _row(self, type_: SerdeType, array: Any) -> Any:
        fields = []
        for index, child in enumerate(type_.children):
            field = array.field(index)
            if array.null_count:  # fields hold the rows that are there, and no others
                kept = np.flatnonzero(~null_flags(array))
                field = take(field, pa.array(kept, pa.int32()))
            fields.append(self.write(child, field))
        return self._helper.rowBlock(len(array), self._nulls(array), self._peer.list(fields))


class BlockReader:
    """Makes Arrow arrays of blocks; with `flatten` dictionaries and runs become flat values."""

    def __init__(self, peer: JavaClasses, helper: Any, flatten: bool) -> None:
        self._peer = peer
        self._helper = helper
        self._flatten = flatten

    def read(self, type_: SerdeType, block: Any) -> pa.Array:
        """The array of a block; a Java exception means that the block is not of the type."""
        encoding = str(block.getEncodingName())
        rows = int(block.getPositionCount())
        if encoding == "RLE":
            value = self.read(type_, block.getValue())
            if self._flatten:
                return take(value, pa.array(np.zeros(rows, np.int32)))
            ends = pa.array([rows] if rows else [], pa.int32())
            return pa.RunEndEncodedArray.from_arrays(ends, value if rows else value[:0])
        if encoding == "DICTIONARY":
            values = self.read(type_, block.getDictionary())
            ids = pa.array([int(block.getId(row)) for row in range(rows)], pa.int32())
            if self._flatten:
                return take(values, ids)
            return pa.DictionaryArray.from_arrays(ids, values)
        nested: dict[str, Callable[[SerdeType, Any, int], pa.Array]] = {
            "array": self._list,
            "map": self._map,
            "row": self._row,
        }
        if type_.kind in nested:
            return nested[type_.kind](type_, block, rows)
        return self._flat(type_, block, rows)

    def _nulls(self, block: Any) -> np.ndarray[Any, Any] | None:
        flags = self._helper.nulls(block)
        return None if flags is None else np.array(flags, dtype=np.bool_)

    def _flat(self, type_: SerdeType, block: Any, rows: int) -> pa.Array:
        target = arrow_type(type_)
        storage = stored_as(target)
        if type_.kind == "unknown":
            nulls = self._nulls(block)
            if rows and (nulls is None or not nulls.all()):
                raise InputError("a column of type unknown holds a value")
            return pa.nulls(rows)
        nulls = self._nulls(block)
        mask = validity(nulls)
        width = _width(type_)
        if width == 0:
            buffers = [mask, *self._text(block)]
            if pa.types.is_fixed_size_binary(storage):
                plain = pa.Array.from_buffers(pa.binary(), rows, buffers)
                array = plain.cast(storage)
            else:
                array = pa.Array.from_buffers(storage, rows, buffers)
        elif type_.kind == "boolean":
            values = np.array(self._helper.bytes(block), np.int8) != 0
            array = pa.array(values, pa.bool_(), mask=nulls)
        else:
            array = pa.Array.from_buffers(storage, rows, [mask, self._words(type_, block, width)])
        return dressed(array, target)

    def _words(self, type_: SerdeType, block: Any, width: int) -> pa.Buffer:
        if type_.kind == "time":  # 8 bytes in Presto, 4 in Arrow
            millis = np.array(self._helper.longs(block), np.int64)
            narrow = millis.astype(np.int32)
            if not np.array_equal(millis, narrow):
                raise RefusedError("a time of more than 2^31 milliseconds has no place in Arrow")
            return pa.py_buffer(narrow)
        if type_.kind == "decimal":
            if width == 16:
                return pa.py_buffer(np.array(self._helper.decimals(block), np.int64))
            low = np.array(self._helper.longs(block), np.int64)
            return pa.py_buffer(np.stack([low, low >> 63], axis=1).copy())
        reads = {1: "bytes", 2: "shorts", 4: "ints", 8: "longs", 16: "pairs"}
        dtype = {1: np.int8, 2: np.int16, 4: np.int32}.get(width, np.int64)
        return pa.py_buffer(np.array(getattr(self._helper, reads[width])(block), dtype))

    def _text(self, block: Any) -> tuple[pa.Buffer, pa.Buffer]:
        ends = np.array(self._helper.ends(block), np.int32)
        offsets = np.concatenate(([0], ends)).astype(np.int32)
        content = np.array(self._helper.content(block), np.int8)
        return pa.py_buffer(offsets), pa.py_buffer(content)

    def _columnar(self, block: Any, kind: str) -> Any:
        return getattr(self._peer.java_class(f"{_BLOCKS}.{kind}"), f"to{kind}")(block)

    def _list(self, type_: SerdeType, block: Any, rows: int) -> pa.Array:
        columnar = self._columnar(block, "ColumnarArray")
        offsets = self._offsets(columnar, rows)
        elements = self.read(type_.children[0], columnar.getElementsBlock())
        return _valid(spans_of([elements], rows, validity(self._nulls(block)), offsets))

    def _map(self, type_: SerdeType, block: Any, rows: int) -> pa.Array:
        columnar = self._columnar(block, "ColumnarMap")
        offsets = self._offsets(columnar, rows)
        keys = self.read(type_.children[0], columnar.getKeysBlock())
        if flat(keys).null_count:  # Arrow would end the process
            raise InputError("a map has a null key")
        values = self.read(type_.children[1], columnar.getValuesBlock())
        return _valid(spans_of([keys, values], rows, validity(self._nulls(block)), offsets))

    @staticmethod
    def _offsets(columnar: Any, rows: int) -> np.ndarray[Any, Any]:
        return np.array([int(columnar.getOffset(row)) for row in range(rows + 1)], np.int32)

    def _row(self, type_: SerdeType, block: Any, rows: int) -> pa.Array:
        columnar = self._columnar(block, "ColumnarRow")
        nulls = self._nulls(block)
        fields = [
            self.read(child, columnar.getField(index)) for index, child in enumerate(type_.children)
        ]
        if nulls is not None:  # fields lack the null rows: spread them out
            places = pa.array(np.cumsum(~nulls) - 1, pa.int32(), mask=nulls)
            fields = [take(field, places) for field in fields]
        return struct_of(type_.names, fields, rows, validity(nulls))


def _valid(array: pa.Array) -> pa.Array:
    """The array, unless its offsets lead nowhere: Arrow's own functions would follow them."""
    array.validate(full=True)
    return array

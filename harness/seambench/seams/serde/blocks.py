"""Blocks of a page as plain values, and as Arrow arrays that keep every choice of the writer.

Dictionaries become Arrow dictionaries, a run becomes a run-end encoded array of one run (sliced to
nothing for a run of no rows), flags without nulls a validity buffer without zeros, bytes of null
strings stay in the data buffer. So a writer that is set to preserve encodings has all it needs to
write the same page again, hash tables and source ids aside.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pyarrow as pa

from seambase.errors import InputError
from seambase.pages.flat_encodings import FLAT, SHORT_DECIMAL
from seambase.pages.reader import Block
from seambase.types import SerdeType, arrow_type
from seambase.wording import counted
from seambench.seams.serde.values import arrow_array

_INT128_MAGNITUDE = (1 << 127) - 1
_NANOS = 1_000_000_000


def block_values(block: Block, type_: SerdeType, timestamps: str = "millis") -> list[Any]:
    """Plain values of a block, see `seambench.seams.serde.values`."""
    if block.encoding == "DICTIONARY":
        entries = block_values(block.children[0], type_, timestamps)
        return [entries[id_] for id_ in block.ids]
    if block.encoding == "RLE":
        return block_values(block.children[0], type_, timestamps) * block.rows
    if block.encoding == "BYTE_ARRAY" and block.nulls is not None and all(block.nulls):
        # A bare null is of type unknown, which engines take for a null of any type.
        return [None] * block.rows
    if type_.children:
        return _nested_values(block, type_, timestamps)
    encoding, convert = _reader(type_, timestamps)
    if block.encoding != encoding:
        raise InputError(f"a column of type {type_.text} came as {block.encoding}")
    return _with_nulls(block, [convert(raw) for raw in block.values])


def _nested_values(block: Block, type_: SerdeType, timestamps: str) -> list[Any]:
    wanted = {"array": "ARRAY", "map": "MAP", "row": "ROW"}[type_.kind]
    if block.encoding != wanted:
        raise InputError(f"a column of type {type_.text} came as {block.encoding}")
    pairs = zip(block.children, type_.children, strict=True)
    parts = [block_values(child, its, timestamps) for child, its in pairs]
    if wanted == "ROW":
        rows = iter(zip(*parts, strict=True))
        return [None if block.is_null(row) else next(rows) for row in range(block.rows)]
    items: list[Any] = parts[0] if wanted == "ARRAY" else list(zip(*parts, strict=True))
    spans = [(block.offsets[row], block.offsets[row + 1]) for row in range(block.rows)]
    return [None if block.is_null(i) else items[a:b] for i, (a, b) in enumerate(spans)]


def _with_nulls(block: Block, values: list[Any]) -> list[Any]:
    """Values of all rows from those of a flat block."""
    if block.nulls is None:
        return values
    if block.encoding == "VARIABLE_WIDTH":
        return [None if null else value for null, value in zip(block.nulls, values, strict=True)]
    rest = iter(values)
    return [None if null else next(rest) for null in block.nulls]


def _reader(type_: SerdeType, timestamps: str) -> tuple[str, Callable[[bytes], Any]]:
    """Encoding of a flat type, and how one value of it is read."""
    kind = type_.kind
    if kind == "timestamp" and timestamps == "lossless":
        return "LONG_ARRAY", _lossless
    if kind == "boolean":
        return "BYTE_ARRAY", lambda raw: raw != b"\0"
    if kind in FLAT:
        encoding, letter = FLAT[kind]
        return encoding, lambda raw: struct.unpack(f"<{letter}", raw)[0]
    if kind == "decimal":
        if type_.precision <= SHORT_DECIMAL:
            return "LONG_ARRAY", lambda raw: _scaled(
                int.from_bytes(raw, "little", signed=True), type_
            )
        return "INT128_ARRAY", lambda raw: _scaled(_sign_and_magnitude(raw), type_)
    if kind in ("uuid", "ipaddress"):
        return "INT128_ARRAY", bytes
    if kind in ("varchar", "char", "json"):
        return "VARIABLE_WIDTH", lambda raw: raw.decode()
    return "VARIABLE_WIDTH", bytes


def _lossless(raw: bytes) -> int:
    """Nanoseconds of Velox's sixteen bytes: seconds, then nanoseconds."""
    seconds, nanos = struct.unpack("<qQ", raw)
    if nanos >= _NANOS:
        raise InputError(f"a timestamp has {counted(nanos, 'nanosecond')}, more than a second")
    whole: int = seconds * _NANOS + nanos
    return whole


def _sign_and_magnitude(raw: bytes) -> int:
    """Presto's long decimals: bit 127 is the sign, the others the magnitude."""
    bits = int.from_bytes(raw, "little")
    magnitude = bits & _INT128_MAGNITUDE
    return -magnitude if bits >> 127 else magnitude


def _scaled(unscaled: int, type_: SerdeType) -> Decimal:
    """A decimal from its unscaled value, whatever the context's precision."""
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((unscaled < 0, digits, -type_.scale))


def block_array(block: Block, type_: SerdeType, timestamps: str = "millis") -> pa.Array:
    """An Arrow array of a block with its encodings kept."""
    if block.encoding == "DICTIONARY":
        entries = block_array(block.children[0], type_, timestamps)
        return pa.DictionaryArray.from_arrays(pa.array(block.ids, pa.int32()), entries)
    if block.encoding == "RLE":
        value = block_array(block.children[0], type_, timestamps)
        ends = pa.array([max(block.rows, 1)], pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, value).slice(0, block.rows)
    if type_.children and block.encoding in ("ARRAY", "MAP", "ROW"):
        return _nested_array(block, type_, timestamps)
    whole = arrow_type(type_, timestamps)
    flat = arrow_array(block_values(block, type_, timestamps), whole)
    if block.encoding == "VARIABLE_WIDTH" and type_.kind != "ipprefix":
        return _strings(block, whole)
    if block.nulls is None or whole == pa.null() or any(block.nulls):
        return flat
    return _flagged(flat, _validity(block))


def _flagged(array: pa.Array, validity: pa.Buffer | None) -> pa.Array:
    """A flat array with a validity buffer that it would not have by itself."""
    if isinstance(array.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(array.type, _flagged(array.storage, validity))
    return pa.Array.from_buffers(array.type, len(array), [validity, *array.buffers()[1:]])


def _validity(block: Block) -> pa.Buffer | None:
    """Validity as the flags say, also where no row is null."""
    if block.nulls is None:
        return None
    valid = pa.array([not null for null in block.nulls], pa.bool_()).buffers()[1]
    return valid if block.rows else pa.py_buffer(b"\0")


def _strings(block: Block, whole: pa.DataType) -> pa.Array:
    """Text or binary with whatever bytes null rows own."""
    storage = whole.storage_type if isinstance(whole, pa.BaseExtensionType) else whole
    ends = accumulate((len(value) for value in block.values), initial=0)
    offsets = pa.array(ends, pa.int32()).buffers()[1]
    buffers = [_validity(block), offsets, pa.py_buffer(b"".join(block.values))]
    array = pa.Array.from_buffers(storage, block.rows, buffers)
    return array if whole is storage else pa.ExtensionArray.from_storage(whole, array)


def _nested_array(block: Block, type_: SerdeType, timestamps: str) -> pa.Array:
    """ARRAY, MAP and ROW over children that keep their encodings."""
    pairs = zip(block.children, type_.children, strict=True)
    parts = [block_array(child, its, timestamps) for child, its in pairs]
    if block.encoding == "ROW":
        present = [not block.is_null(row) for row in range(block.rows)]
        spread = [_spread(part, present) for part in parts]
        fields = [(name, part.type) for name, part in zip(type_.names, spread, strict=True)]
        row_type = pa.struct(fields)
        return pa.Array.from_buffers(row_type, block.rows, [_validity(block)], children=spread)
    offsets = pa.array(block.offsets, pa.int32()).buffers()[1]
    if block.encoding == "ARRAY":
        list_type: pa.DataType = pa.list_(parts[0].type)
        children = parts
    else:
        list_type = pa.map_(parts[0].type, parts[1].type)
        entries = pa.struct([list_type.key_field, list_type.item_field])
        children = [pa.Array.from_buffers(entries, len(parts[0]), [None], children=parts)]
    return pa.Array.from_buffers(
        list_type, block.rows, [_validity(block), offsets], children=children
    )


def _spread(array: pa.Array, present: Sequence[bool]) -> pa.Array:
    """Field rows at the places of present rows; null rows get any value, which none may read."""
    if all(present):
        return array
    if pa.types.is_run_end_encoded(array.type):
        ends = pa.array([len(present)], pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, array.values)
    places = [max(number - 1, 0) for number in accumulate(map(int, present))]
    if not len(array):
        return _nulls(array.type, len(present))
    if pa.types.is_dictionary(array.type):
        ids = array.indices.take(pa.array(places, pa.int32()))
        return pa.DictionaryArray.from_arrays(ids, array.dictionary)
    if isinstance(array.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(array.type, _spread(array.storage, present))
    return array.take(pa.array(places, pa.int32()))


def _nulls(type_: pa.DataType, rows: int) -> pa.Array:
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, pa.nulls(rows, type_.storage_type))
    return pa.nulls(rows, type_)

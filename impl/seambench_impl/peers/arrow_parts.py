"""Parts of Arrow arrays as NumPy sees them: words, offsets, entries, whatever the slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambench.seams.serde.handed import at_leaves


def flat(array: Any) -> Any:
    """The values of a dictionary or of runs, the storage of an extension; others as they are."""
    if isinstance(array, pa.DictionaryArray):
        return flat(take(array.dictionary, array.indices))
    if isinstance(array, pa.RunEndEncodedArray):
        ends = array.run_ends.to_numpy()
        places = np.searchsorted(ends, np.arange(len(array)) + array.offset, side="right")
        return flat(take(array.values, pa.array(places, pa.int32())))
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def null_flags(array: Any) -> np.ndarray[Any, Any]:
    """Which rows are null, a byte each."""
    flags: np.ndarray[Any, Any] = array.is_null().to_numpy(zero_copy_only=False)
    return flags


def span_offsets(array: Any) -> np.ndarray[Any, Any]:
    """Offsets of a list's or map's rows over its flattened elements: a null row spans nothing."""
    lengths = np.diff(offsets_of(array))
    if array.null_count:
        lengths[null_flags(array)] = 0
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)


def elements_of(array: Any) -> list[Any]:
    """Children of a list's or map's rows, those of null rows left out: elements, or keys and items.

    Arrow's own `flatten` knows no maps, and no extension types where nothing is left.
    """
    bounds = offsets_of(array)
    children = [array.values]
    if pa.types.is_map(array.type):  # its `keys` and `items` know no offset of the entries
        children = [array.values.field(0), array.values.field(1)]
    starts, ends = bounds[:-1], bounds[1:]
    hidden = null_flags(array) & (ends > starts)
    if not hidden.any():
        return [child.slice(bounds[0], bounds[-1] - bounds[0]) for child in children]
    spans = [
        (start, end - start) for start, end in zip(starts[~hidden], ends[~hidden], strict=True)
    ]
    return [
        pa.concat_arrays([child.slice(0, 0), *(child.slice(*span) for span in spans)])
        for child in children
    ]


def offsets_of(array: Any) -> np.ndarray[Any, Any]:
    """The offsets of an array's rows, as many as there are rows and one more."""
    buffer = array.buffers()[1]
    if buffer is None:  # an array without rows may do without
        return np.zeros(1, np.int32)
    whole = np.frombuffer(buffer, np.int32)
    return whole[array.offset : array.offset + len(array) + 1]


def words_of(array: Any, width: int, dtype: Any) -> np.ndarray[Any, Any]:
    """Words of a fixed-width array, zero under nulls."""
    rows = len(array)
    buffer = array.buffers()[1]
    if pa.types.is_decimal(array.type):
        words = np.frombuffer(buffer or b"", np.int64, count=2 * rows, offset=16 * array.offset)
        values = words.reshape(rows, 2).copy()
        if width == 8:
            values = values[:, :1].copy()
    else:
        start = array.offset * width
        flat = np.frombuffer(buffer or b"", np.uint8, count=rows * width, offset=start)
        values = flat.view(dtype).reshape(rows, -1 if rows else 1).copy()
    if array.null_count:
        values[null_flags(array)] = 0
    return values.reshape(-1)


def validity(nulls: np.ndarray[Any, Any] | None) -> pa.Buffer | None:
    """Arrow's bitmap of null flags; None for none."""
    if nulls is None:
        return None
    return pa.py_buffer(np.packbits(~nulls, bitorder="little"))


def stored_as(kind: pa.DataType) -> pa.DataType:
    """The type of the values that arrays of a type have: that below an extension."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def dressed(storage: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array of a type, of what arrays of it have."""
    is_plain = not isinstance(kind, pa.BaseExtensionType)
    return storage if is_plain else pa.ExtensionArray.from_storage(kind, storage)


def struct_of(
    names: Sequence[str], fields: Sequence[pa.Array], rows: int, mask: pa.Buffer | None
) -> pa.Array:
    """Structs of fields, which may be null where the structs are."""
    parts = zip(names, fields, strict=True)
    kind = pa.struct([pa.field(name, field.type) for name, field in parts])
    return pa.Array.from_buffers(kind, rows, [mask], children=fields)


def spans_of(
    parts: Sequence[pa.Array], rows: int, mask: pa.Buffer | None, offsets: Any
) -> pa.Array:
    """Lists of elements, or maps of keys and values: rows from an offset to the next one."""
    buffers = [mask, pa.py_buffer(offsets)]
    if len(parts) == 1:
        kind = pa.list_(parts[0].type)
        return pa.Array.from_buffers(kind, rows, buffers, children=parts)
    kind = pa.map_(parts[0].type, parts[1].type)
    entry = pa.struct([kind.key_field, kind.item_field])
    entries = pa.Array.from_buffers(entry, len(parts[0]), [None], children=parts)
    return pa.Array.from_buffers(kind, rows, buffers, children=[entries])


def _of_runs(array: Any) -> Any:
    return flat(array) if isinstance(array, pa.RunEndEncodedArray) else array


def take(array: pa.Array, places: pa.Array) -> pa.Array:
    """Rows of an array; one run stays one, where Arrow takes nothing from runs."""
    if not isinstance(array, pa.RunEndEncodedArray):
        if "run_end_encoded" in str(array.type):
            array = at_leaves(_of_runs)(array)
        return array.take(places)
    if len(array) and array.find_physical_length() != 1:
        return flat(array).take(places)
    value = array.values.slice(array.find_physical_offset(), 1) if len(array) else array.values
    if places.null_count:
        return take(value, pc.if_else(places.is_valid(), pa.scalar(0, pa.int32()), None))
    ends = pa.array([len(places)] if len(places) else [], pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, value if len(places) else value[:0])

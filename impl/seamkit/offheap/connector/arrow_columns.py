"""Whole Arrow columns into off-heap columns, vectorised.

A column that is wanted as it is goes to the core in one call. Where parts were pruned away, or
clocks have to be read, its children go there one by one, and then the offsets or null flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from seambase.encodings import made_anew
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call, numpy_of
from seamkit.offheap.columns.table import append_arrow
from seamkit.offheap.columns.types import ColumnType, Kind


def append_array(
    vector: Any, array: Any, source: ColumnType, column: ColumnType, zone: tzinfo, name: str
) -> None:
    """Append an Arrow array to a `struct seam_vector *`; on failure some of it may be there.

    Of the array's type `source`, fields, keys or values may have been pruned in the column's.
    Clocks of `zone` show timestamps with a zone.
    """
    if source == column and not has_zones(array.type):
        append_arrow(vector, array, f"column '{name}'")
    elif column.kind is Kind.STRUCT:
        _append_struct(vector, array, source, column, zone, name)
    elif column.kind is Kind.ARRAY:
        parts = [array.flatten()]
        _append_entries(vector, array, parts, (source, column), zone, name)
    elif column.kind is Kind.MAP:
        lists = _as_lists(array)
        entries = lists.flatten()
        parts = [entries.field(source.names.index(child)) for child in column.names]
        _append_entries(vector, lists, parts, (source, column), zone, name)
    else:
        append_arrow(vector, _wall(array, zone), f"column '{name}'")


def unzoned(data_type: Any) -> Any:
    """A `pyarrow.DataType` with UTC for the zone of every timestamp that has one.

    The zone tells how a timestamp was meant to be shown; which moment it is does not depend on it.
    """

    def turn(kind: pa.DataType) -> pa.DataType:
        zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        return pa.timestamp(kind.unit, "UTC") if zoned else kind

    return made_anew(data_type, turn)


def has_zones(data_type: Any) -> bool:
    """Whether a `pyarrow.DataType` is, or holds, a timestamp with a zone."""
    if pa.types.is_timestamp(data_type):
        return data_type.tz is not None
    return any(has_zones(data_type.field(i).type) for i in range(data_type.num_fields))


def _wall(array: Any, zone: tzinfo) -> Any:
    """What the clocks of a zone show, as timestamps without a zone."""
    unit = array.type.unit
    if zone is UTC:
        return array.view(pa.timestamp(unit))
    name = zone.key if isinstance(zone, ZoneInfo) else str(zone).removeprefix("UTC")
    return pc.local_timestamp(array.view(pa.timestamp(unit, name)))


def _as_lists(maps: Any) -> Any:
    """The same buffers as lists of structs of key and value."""
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], names=["key", "value"])
    return pa.Array.from_buffers(
        pa.list_(entries.type),
        len(maps),
        maps.buffers()[:2],
        maps.null_count,
        maps.offset,
        children=[entries],
    )


def _null_flags(array: Any) -> Any:
    """A cffi pointer to a byte per row, or NULL without nulls. Keeps its buffer alive."""
    if array.null_count == 0:
        return ffi.NULL
    return ffi.from_buffer("uint8_t[]", numpy_of(array.is_null()))


def _append_entries(
    vector: Any,
    lists: Any,
    parts: Sequence[Any],
    types: tuple[ColumnType, ColumnType],
    zone: tzinfo,
    name: str,
) -> None:
    source, column = types
    for at, (child, part) in enumerate(zip(column.names, parts, strict=True)):
        own = source.children[source.names.index(child)]
        child_vector = lib.seam_vector_child(vector, at)
        append_array(child_vector, part, own, column.children[at], zone, f"{name}.{child}")
    lengths = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int64())
    counts = ffi.from_buffer("int64_t[]", numpy_of(lengths))
    flags = _null_flags(lists)
    call(
        lib.seam_vector_append_entries, vector, counts, flags, len(lists), source=f"column '{name}'"
    )


def _append_struct(
    vector: Any, array: Any, source: ColumnType, column: ColumnType, zone: tzinfo, name: str
) -> None:
    parts = array.flatten()  # with the nulls of the struct in each
    for at, (field, child) in enumerate(zip(column.names, column.children, strict=True)):
        if child.kind is not Kind.UNKNOWN:
            place = source.names.index(field)
            child_vector = lib.seam_vector_child(vector, at)
            own = source.children[place]
            append_array(child_vector, parts[place], own, child, zone, f"{name}.{field}")
    flags = _null_flags(array)
    call(lib.seam_vector_append_structs, vector, flags, len(array), source=name)

"""What an engine expects of a chain's columns: types, names, and where NULL may stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi
from seamkit.core.border import address
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind, arrow_type, from_arrow


@dataclass(frozen=True)
class _Slot:
    """One column of the engine, a tree (`struct seam_engine_slot`)."""

    column: ColumnType
    carried: Any  # the Arrow field in which the core hands the column out
    children: tuple[_Slot, ...] = ()


class EngineSchema:
    """The columns an engine expects.

    Args:
        schema: names and Arrow types of the columns. Top-level columns, fields of structs and
            values of maps must be nullable, as the engine's rule says: an off-heap column may
            always hold nulls. Elements of lists need not be; a NULL among them is then an error.
        types: the types of the chain's columns, where Arrow's do not say enough: what the file
            lacks is of kind UNKNOWN, at any depth, and becomes NULLs of the type wanted; maps may
            lack keys or values (see `carried_type`). By default derived from `schema`.
    """

    def __init__(self, schema: Any, types: Sequence[ColumnType] | None = None) -> None:
        if types is not None and len(types) != len(schema):
            raise UsageError(
                f"{counted(len(schema), 'field', 'have')} {counted(len(types), 'column type')}"
            )
        self.schema = schema
        columns = [from_arrow(field.type) for field in schema] if types is None else types
        slots = [
            _nullable_slot(field, column, field.name)
            for field, column in zip(schema, columns, strict=True)
        ]
        self.types = tuple(slot.column for slot in slots)
        self._carried = pa.schema([slot.carried for slot in slots], schema.metadata)
        self._casts = [i for i, field in enumerate(self._carried) if field.type != schema[i].type]
        for i in self._casts:
            _check_cast(schema[i], self._carried[i].type)
        self._kept: list[Any] = []  # what the slots point at
        self.slots = self._c_slots(slots)

    def _c_slots(self, planned: Sequence[_Slot]) -> Any:
        """An array of `struct seam_engine_slot`, which lives as long as this object."""
        slots = ffi.new("struct seam_engine_slot[]", max(len(planned), 1))
        self._kept.append(slots)
        for slot, source in zip(slots, planned, strict=False):
            column = source.column
            slot.kind, slot.precision, slot.scale = column.kind, column.precision, column.scale
            slot.nullable = source.carried.nullable
            slot.name = name = ffi.new("char[]", source.carried.name.encode())
            self._kept.append(name)
            slot.n_children = len(source.children)
            slot.children = self._c_slots(source.children) if source.children else ffi.NULL
        return slots

    def imported(self, array: Any) -> Any:
        """A struct array of the core's, which is taken over, as a batch with `schema`."""
        batch = pa.RecordBatch._import_from_c(address(array), self._carried)
        if not self._casts:
            return batch
        columns = batch.columns
        for i in self._casts:  # large strings and other units: the same values in another dress
            columns[i] = columns[i].cast(self.schema[i].type)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def carried_type(column: ColumnType) -> Any:
    """The `pyarrow.DataType` in which the core hands a column out.

    As `columns.types.arrow_type`, and for parts that were not asked for or that the file lacks,
    type null: a map without values is a `map<K, null>`; Arrow's maps need keys, so one without them
    is a list of structs of `key` and `value`, which lies in memory as a map does.
    """
    if column.kind is Kind.UNKNOWN:
        return pa.null()
    if column.kind is Kind.ARRAY:
        return pa.list_(carried_type(column.children[0]))
    if column.kind is Kind.MAP:
        key, value = (carried_type(half) for half in _halves(column))
        if column.child("$0") is not None:
            return pa.map_(key, value)
        return pa.list_(pa.struct([pa.field("key", key), pa.field("value", value)]))
    if column.kind in (Kind.STRUCT, Kind.VARIANT):
        pairs = zip(column.names, column.children, strict=True)
        return pa.struct([pa.field(name, carried_type(child)) for name, child in pairs])
    return arrow_type(column)


def _halves(column: ColumnType) -> tuple[ColumnType, ColumnType]:
    """A map's key and value; kind UNKNOWN for what was not asked for."""
    return column.child("$0") or UNKNOWN, column.child("$1") or UNKNOWN


def _slot(field: Any, column: ColumnType, path: str) -> _Slot:
    """What is wanted (`field`) of what the chain has (`column`)."""
    wanted = field.type
    if column.kind is Kind.UNKNOWN:
        column = UNKNOWN if pa.types.is_null(wanted) else from_arrow(wanted)
    if column.kind is Kind.ARRAY and _is_list(wanted):
        element = _slot(wanted.value_field, column.children[0], f"{path}.$0")
        return _Slot(column, field.with_type(pa.list_(element.carried)), (element,))
    if column.kind is Kind.MAP:
        return _map_slot(field, column, path)
    if column.kind in (Kind.STRUCT, Kind.VARIANT) and pa.types.is_struct(wanted):
        if tuple(part.name for part in wanted) != column.names:
            raise _unreadable(path, column, wanted)
        parts = zip(wanted, column.children, strict=True)
        fields = tuple(_nullable_slot(p, c, f"{path}.{p.name}") for p, c in parts)
        return _Slot(column, field.with_type(pa.struct([f.carried for f in fields])), fields)
    return _flat_slot(field, column, path)


def _map_slot(field: Any, column: ColumnType, path: str) -> _Slot:
    wanted, (key, value) = field.type, _halves(column)
    if key.kind is not Kind.UNKNOWN and pa.types.is_map(wanted):
        first = _slot(wanted.key_field, key, f"{path}.$0")
        second = _nullable_slot(wanted.item_field, value, f"{path}.$1")
        carried = pa.map_(first.carried, second.carried, keys_sorted=wanted.keys_sorted)
    elif key.kind is Kind.UNKNOWN and _is_list(wanted) and _is_pair(wanted.value_type):
        entries = wanted.value_type
        first = _nullable_slot(entries[0], key, f"{path}.$0")
        second = _nullable_slot(entries[1], value, f"{path}.$1")
        pair = wanted.value_field.with_type(pa.struct([first.carried, second.carried]))
        carried = pa.list_(pair)
    else:
        raise _unreadable(path, column, wanted)
    return _Slot(column, field.with_type(carried), (first, second))


def _flat_slot(field: Any, column: ColumnType, path: str) -> _Slot:
    wanted = field.type
    carried = carried_type(column)
    if column.kind is not Kind.UNKNOWN and (
        column.kind.is_nested or arrow_type(from_arrow(wanted)) != carried
    ):
        raise _unreadable(path, column, wanted)
    if pa.types.is_timestamp(wanted) and wanted.unit == "us":
        carried = wanted  # a time zone is but a word beside the same values
    return _Slot(column, field.with_type(carried))


def _nullable_slot(field: Any, column: ColumnType, path: str) -> _Slot:
    if not field.nullable:
        raise RefusedError(f"NOT NULL column '{path}' is not supported")
    return _slot(field, column, path)


def _is_list(data_type: Any) -> bool:
    return bool(pa.types.is_list(data_type) or pa.types.is_large_list(data_type))


def _is_pair(data_type: Any) -> bool:
    return bool(pa.types.is_struct(data_type)) and data_type.num_fields == 2


def _unreadable(path: str, column: ColumnType, wanted: Any) -> RefusedError:
    return RefusedError(f"column '{path}': {column} cannot be read as Arrow's {wanted}")


def _check_cast(field: Any, carried: Any) -> None:
    """Refuse before a row is read what Arrow cannot cast."""
    try:
        pa.nulls(0, carried).cast(field.type)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise RefusedError(
            f"column '{field.name}': Arrow cannot cast {carried} to {field.type}: {error}"
        ) from error

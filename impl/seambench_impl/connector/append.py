"""From a `ColumnValue` into a column: one closure per column, one call into the core per value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seambench.errors import RefusedError
from seambench_impl._seam import lib
from seambench_impl.columns.table import OffHeapTable
from seambench_impl.columns.types import ColumnType, Kind
from seambench_impl.connector.value import ColumnValue
from seambench_impl.errors import check, new_error

__all__ = ["Appender", "bind"]

#: Takes a value, or None for NULL.
Appender = Callable[[ColumnValue | None], None]

_PLAIN: dict[Kind, tuple[str, str]] = {
    Kind.BOOLEAN: ("get_boolean", "seam_vector_append_boolean"),
    Kind.TINYINT: ("get_byte", "seam_vector_append_long"),
    Kind.SHORT: ("get_short", "seam_vector_append_long"),
    Kind.INT: ("get_int", "seam_vector_append_long"),
    Kind.LONG: ("get_long", "seam_vector_append_long"),
    Kind.FLOAT: ("get_float", "seam_vector_append_double"),
    Kind.DOUBLE: ("get_double", "seam_vector_append_double"),
    Kind.DATE: ("get_date", "seam_vector_append_date"),
    Kind.TIME: ("get_time", "seam_vector_append_time"),
    Kind.DATETIME: ("get_datetime", "seam_vector_append_datetime"),
    Kind.DATETIME_MICROS: ("get_datetime", "seam_vector_append_datetime"),
    Kind.DATETIME_MILLIS: ("get_datetime", "seam_vector_append_datetime"),
}
_BYTES = {Kind.STRING: "get_string_bytes", Kind.BINARY: "get_bytes"}


def bind(table: OffHeapTable, index: int, name: str, values: type[ColumnValue]) -> Appender:
    """The function that appends values to column `index` of `table`.

    Args:
        table: where to; the function is valid until its column is released.
        index: of the column.
        name: of the column, for messages.
        values: class of the values, whose getter is looked up once.

    Raises:
        seambench.errors.RefusedError: the column's kind takes no values.
    """
    column = table.types[index]
    vector = table.vector(index)
    if column.kind in _PLAIN:
        getter, function = _PLAIN[column.kind]
        return _bind_plain(vector, getattr(values, getter), getattr(lib, function), name)
    if column.kind in _BYTES:
        return _bind_bytes(vector, getattr(values, _BYTES[column.kind]), name)
    if column.kind.is_decimal:
        return _bind_decimal(vector, values.get_decimal, column, name)
    raise RefusedError(f"column '{name}': values cannot be appended to kind {column.kind.name}")


def _bind_plain(vector: Any, get: Any, append: Any, name: str) -> Appender:
    append_null = lib.seam_vector_append_null
    error = new_error()

    def put(value: ColumnValue | None) -> None:
        code = append_null(vector, error) if value is None else append(vector, get(value), error)
        if code:
            check(code, error, source=f"column '{name}'")

    return put


def _bind_bytes(vector: Any, get: Any, name: str) -> Appender:
    append, append_null = lib.seam_vector_append_bytes, lib.seam_vector_append_null
    error = new_error()

    def put(value: ColumnValue | None) -> None:
        if value is None:
            code = append_null(vector, error)
        else:
            content = get(value)
            code = append(vector, content, len(content), error)
        if code:
            check(code, error, source=f"column '{name}'")

    return put


def _bind_decimal(vector: Any, get: Any, column: ColumnType, name: str) -> Appender:
    append, append_null = lib.seam_vector_append_decimal, lib.seam_vector_append_null
    append_wide = lib.seam_vector_append_decimal128
    error = new_error()
    scale = column.scale
    mask = (1 << 64) - 1
    most = (1 << 63) - 1

    def put(value: ColumnValue | None) -> None:
        if value is None:
            code = append_null(vector, error)
        else:
            unscaled = get(value, scale)
            if -most <= unscaled <= most:
                code = append(vector, unscaled, error)
            else:
                code = append_wide(vector, unscaled >> 64, unscaled & mask, error)
        if code:
            check(code, error, source=f"column '{name}'")

    return put

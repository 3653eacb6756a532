"""Deletes as merge events: ordering values in the columns' types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.core.arrow_data import array_of
from seamkit.tables.hudi.log.deletes import ORDERING_WORDS, DeleteKeys

__all__ = ["delete_ordering", "ordering_words"]

Flags = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int64]

_LARGEST_MILLIS = 9_999_999_999_999


def delete_ordering(
    deletes: DeleteKeys, fields: Sequence[pa.Field], where: str
) -> tuple[pa.RecordBatch, Flags]:
    """Ordering values of deletes, and 1 for each delete that has none.

    A value that is absent, the integer 0, or of another type than the column is none. Several
    columns have a list of values, each with its type.

    Args:
        deletes: the block's records.
        fields: the ordering columns.
        where: file and offset, for messages.

    Raises:
        RefusedError: a value that cannot be compared with its column.
        InputError: not as many ordering values as there are ordering columns.
    """
    names = [field.name for field in fields]
    if len(fields) > 1:
        columns, unordered = _several(deletes, fields, where)
        return pa.RecordBatch.from_arrays(columns, names=names), unordered
    field = fields[0]
    branches, words = deletes.branches, deletes.words
    fitting = [ORDERING_WORDS.index(word) for word in ordering_words(field.type)]
    zero = (branches == ORDERING_WORDS.index("int")) & (words == 0)
    without = ~np.isin(branches, fitting) | zero
    if not fitting and (branches[words != 0] != 0).any():
        raise RefusedError(_unknown_order(field, where))
    if pa.types.is_integer(field.type) or pa.types.is_temporal(field.type):
        column = _from_words(np.where(without, 0, words), without, field.type)
    else:
        pairs = zip(deletes.ordering_values, without.tolist(), strict=True)
        column = _from_values([None if skip else v for v, skip in pairs], field, where)
    return pa.RecordBatch.from_arrays([column], names=names), without.astype(np.uint8)


def _unknown_order(field: pa.Field, where: str) -> str:
    return (
        f"{where}: deletes have ordering values, and the ordering column '{field.name}' is "
        f"{field.type}, with which they cannot be compared"
    )


def _several(
    deletes: DeleteKeys, fields: Sequence[pa.Field], where: str
) -> tuple[list[pa.Array], Flags]:
    fitting = [(*ordering_words(field.type), "null") for field in fields]
    unordered = np.ones(len(deletes), np.uint8)
    rows: list[Sequence[Any]] = []
    for items in deletes.ordering_values:
        rows.append([None] * len(fields))
        if not isinstance(items, tuple):
            continue
        if len(items) != len(fields):
            raise InputError(
                f"{where}: a delete has {len(items)} ordering values where the table has "
                f"{len(fields)} ordering columns"
            )
        if all(word in words for (word, _), words in zip(items, fitting, strict=True)):
            unordered[len(rows) - 1] = 0
            rows[-1] = [value for _, value in items]
    columns = []
    for at, field in enumerate(fields):
        values = [row[at] for row in rows]
        if pa.types.is_temporal(field.type):
            missing = np.array([value is None for value in values], dtype=np.bool_)
            words = np.array([value or 0 for value in values], dtype=np.int64)
            columns.append(_from_words(words, missing, field.type))
        else:
            columns.append(_from_values(values, field, where))
    return columns, unordered


def _from_words(words: Words, missing: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Integers, days, or points in time: those are in microseconds.

    A timestamp in milliseconds comes as it is, unless it is too large for one (Hudi 1.2.0,
    OrderingValueEngineTypeConverter).
    """
    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        words = np.where(words > _LARGEST_MILLIS, words // 1000, words)
    elif pa.types.is_timestamp(kind) and kind.unit == "ns":
        words = words * 1000
    integer = pa.int32() if kind.bit_width == 32 else pa.int64()
    return array_of(words, ~missing).cast(integer).cast(kind)


def _from_values(values: list[Any], field: pa.Field, where: str) -> pa.Array:
    try:
        if pa.types.is_decimal(field.type):
            return pa.array(values, pa.decimal128(38, 15)).cast(field.type)
        return pa.array(values, field.type)
    except pa.ArrowInvalid as error:
        raise RefusedError(f"{_unknown_order(field, where)} ({error})") from error


def ordering_words(kind: pa.DataType) -> tuple[str, ...]:
    """The types that a delete's ordering value must have to be compared with a column.

    Hudi's Spark reader compares Java objects of one class: it holds points in time as `Long`, and
    cannot compare bytes at all.
    """
    if pa.types.is_timestamp(kind):
        return ("long", "timestamp-micros")
    if pa.types.is_time(kind):
        return ("long", "time-micros") if kind.bit_width == 64 else ("int",)
    words = (
        (pa.types.is_int32, "int"),
        (pa.types.is_int64, "long"),
        (pa.types.is_float32, "float"),
        (pa.types.is_float64, "double"),
        (pa.types.is_string, "string"),
        (pa.types.is_date32, "date"),
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_decimal, "decimal"),
    )
    return tuple(word for test, word in words if test(kind))

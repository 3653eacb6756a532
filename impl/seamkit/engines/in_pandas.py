"""Rows as a data frame of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError

if TYPE_CHECKING:
    import pandas as pd

_MOST_WHOLE = 1 << 53  # up to which a double holds every whole number


def pandas_frame(rows: pa.Table, options: dict[str, Any]) -> pd.DataFrame:
    """The frame that Arrow makes, in which no whole number has become another.

    Arrow has pandas show integers among nulls as doubles. Where one of them is too long for that,
    they come as Python's own, None among them, unless the options say otherwise.
    """
    if any(_is_cut(column) for column in rows.columns):
        options = {"integer_object_nulls": True, **options}
    try:
        frame: pd.DataFrame = rows.to_pandas(**options)
    except pa.ArrowNotImplementedError as error:
        for field in rows.schema:
            _check(field, options, error)
        raise
    return frame


def _check(field: pa.Field, options: dict[str, Any], error: pa.ArrowNotImplementedError) -> None:
    try:
        pa.table([pa.nulls(0, field.type)], schema=pa.schema([field])).to_pandas(**options)
    except pa.ArrowNotImplementedError:
        raise RefusedError(
            f"column {field.name!r}: Arrow makes no column of pandas of {field.type} ({error}); "
            "leave it out, or ask for an Arrow table"
        ) from error


def _is_cut(column: pa.ChunkedArray) -> bool:
    """Whether there are nulls among integers at some depth, one of which no double holds."""
    kind = column.type
    if pa.types.is_struct(kind):
        return any(_is_cut(child) for child in column.flatten())
    if pa.types.is_map(kind):
        return _is_cut(pa.chunked_array([chunk.items for chunk in column.chunks], kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_cut(pc.list_flatten(column))
    if kind not in (pa.int64(), pa.uint64()) or not column.null_count:
        return False
    ends = pc.min_max(column).as_py()
    return any(end is not None and abs(end) > _MOST_WHOLE for end in ends.values())

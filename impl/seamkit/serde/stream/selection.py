"""Which rows of a batch are appended: ranges or lists, as the core wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError
from seamkit.core._seam import ffi

__all__ = ["Rows", "Selections", "row_numbers"]

Rows = range | Sequence[int] | npt.NDArray[np.integer[Any]] | None
"""Rows of a batch in the order in which they are appended: all of them, a range, or a list."""


def _range_of(rows: range | None, batch_rows: int) -> tuple[int, int]:
    """First row and number of rows of neighbours."""
    if rows is None:
        return 0, batch_rows
    if len(rows) > 0 and not 0 <= rows.start < rows.stop <= batch_rows:
        raise UsageError(f"{rows} is no range of the rows of a batch of {batch_rows} rows")
    return (rows.start, len(rows)) if len(rows) > 0 else (0, 0)


def _are_neighbours(rows: Rows) -> TypeGuard[range | None]:
    return rows is None or (isinstance(rows, range) and rows.step == 1)


def _list_of(rows: Any, batch_rows: int) -> Any:
    """A contiguous int32 array; what the core is given anyhow is not copied."""
    array = np.asarray(rows if not isinstance(rows, range) else list(rows))
    if array.size == 0:
        return np.empty(0, np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError(
            f"row numbers are a list of whole numbers, not {array.dtype} {array.shape}"
        )
    if array.min() < 0 or array.max() >= batch_rows:
        raise UsageError(
            f"rows {array.min()} to {array.max()} are not all in a batch of {batch_rows} rows"
        )
    return np.ascontiguousarray(array, np.int32)


class Selections:
    """Selections of one batch as `struct seam_presto_rows[]`, alive as long as this object.

    Args:
        selections: one or more of `Rows`.
        batch_rows: rows of the batch.

    Raises:
        UsageError: rows that the batch does not have, or what is no selection.
    """

    def __init__(self, selections: Sequence[Rows], batch_rows: int) -> None:
        self._kept: list[Any] = []
        self.counts: list[int] = []
        self.structs: Any = ffi.new("struct seam_presto_rows[]", max(len(selections), 1))
        for struct, rows in zip(self.structs, selections, strict=False):
            if _are_neighbours(rows):
                struct.begin, struct.count = _range_of(rows, batch_rows)
            else:
                array = _list_of(rows, batch_rows)
                view = ffi.from_buffer("int32_t[]", array)
                self._kept.append(view)
                struct.rows, struct.count = view, len(array)
            self.counts.append(int(struct.count))

    def __len__(self) -> int:
        return len(self.counts)


def row_numbers(selections: Sequence[Rows], batch_rows: int) -> tuple[Any, list[int]]:
    """Several selections as one int64 array of row numbers, and how many each has.

    Raises:
        UsageError: as `Selections`.
    """
    parts = []
    for rows in selections:
        if _are_neighbours(rows):
            begin, count = _range_of(rows, batch_rows)
            parts.append(np.arange(begin, begin + count, dtype=np.int64))
        else:
            parts.append(_list_of(rows, batch_rows).astype(np.int64))
    joined = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return joined, [len(part) for part in parts]

"""Which rows of a batch are written: ranges or lists, as the core wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi

Rows: TypeAlias = range | Sequence[int] | npt.NDArray[np.integer[Any]] | None
"""Rows of a batch in the order in which they are written: all of them, a range, or a list."""

# struct seam_presto_rows
_ROWS = np.dtype([("rows", np.uintp), ("begin", np.int64), ("count", np.int64)])
# Even an empty list is no range: its address must not be 0.
_SOMEWHERE = np.zeros(1, np.int32)


class Selections:
    """Selections of one batch as `struct seam_presto_rows[]`, alive as long as this object.

    The core looks whether the batch has the rows.
    """

    def __init__(self, selections: Sequence[Rows], batch_rows: int) -> None:
        self.words = np.zeros(max(len(selections), 1), _ROWS)
        self._length = len(selections)
        lists = []
        for i, rows in enumerate(selections):
            if rows is None:
                self.words[i] = (0, 0, batch_rows)
            elif isinstance(rows, range) and rows.step == 1:
                self.words[i] = (0, rows.start if len(rows) else 0, len(rows))
            else:
                lists.append((i, _row_list(rows)))
        if lists:
            self._place([i for i, _ in lists], [rows for _, rows in lists])
        self.pointer = ffi.from_buffer("struct seam_presto_rows[]", self.words)

    def _place(self, slots: Sequence[int], lists: Sequence[npt.NDArray[np.int32]]) -> None:
        """All lists in one array: addresses and lengths are then worked out at once."""
        self._rows = lists[0] if len(lists) == 1 else np.concatenate(lists)
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        self.words["count"][slots] = counts
        starts = np.cumsum(counts) - counts
        base = self._rows.ctypes.data or _SOMEWHERE.ctypes.data
        self.words["rows"][slots] = base + 4 * starts.astype(np.uintp)

    def __len__(self) -> int:
        return self._length

    @property
    def counts(self) -> list[int]:
        """Rows of each selection."""
        return list(self.words["count"].tolist()[: self._length])


def _row_list(rows: Any) -> npt.NDArray[np.int32]:
    """Row numbers as int32, without a copy where they are."""
    if isinstance(rows, np.ndarray) and rows.dtype == np.int32 and rows.ndim == 1:
        return np.ascontiguousarray(rows)
    listed = np.asarray(rows if not isinstance(rows, range) else list(rows))
    if listed.ndim != 1 or (listed.size and listed.dtype.kind not in "iu"):
        raise UsageError("rows: a range or a list of row numbers is meant")
    if listed.size and (listed.max() > 2**31 - 1 or listed.min() < 0):
        raise UsageError("rows: a row number is below 0 or beyond 2^31 - 1")
    return np.ascontiguousarray(listed, dtype=np.int32)


def row_numbers(selections: Sequence[Rows], batch_rows: int) -> tuple[Any, list[int]]:
    """Several selections as one int64 array of row numbers, and how many each has."""
    parts = []
    for rows in selections:
        if rows is None:
            parts.append(np.arange(batch_rows, dtype=np.int64))
        elif isinstance(rows, range) and rows.step == 1:
            parts.append(np.arange(rows.start, rows.stop, dtype=np.int64))
        else:
            parts.append(_row_list(rows).astype(np.int64))
    joined = np.concatenate(parts) if parts else np.empty(0, np.int64)
    if joined.size and not 0 <= joined.min() <= joined.max() < batch_rows:
        raise UsageError(
            f"rows {joined.min()} to {joined.max()} are not all in a "
            f"batch of {counted(batch_rows, 'row')}"
        )
    return joined, [len(part) for part in parts]

"""Places of rows in their file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions

__all__ = ["positions_of"]


def positions_of(reader: FileReader, row_groups: Sequence[int] | None) -> Positions:
    """Places in the file of the rows of some row groups, or of all (None), in their order."""
    if row_groups is None:
        return np.arange(reader.num_rows, dtype=np.int64)
    groups = range(reader.num_row_groups)
    ends = np.cumsum([reader.rows_in([group]) for group in groups], dtype=np.int64)
    ranges = [np.arange(ends[group] - reader.rows_in([group]), ends[group]) for group in row_groups]
    return np.concatenate(ranges) if ranges else np.empty(0, np.int64)

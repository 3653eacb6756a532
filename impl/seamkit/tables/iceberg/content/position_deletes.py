"""Position delete files: pairs of a data file's path and the position of a row that is gone.

A file is read once and kept for the other data files that it names. Nothing is taken from it on
trust: it may be out of order, name a row twice, rows that no file has, and files that are gone.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.roaring import Positions
from seamkit.tables.iceberg.content.open_file import FileOpener
from seamkit.tables.iceberg.content.reader import FileRows
from seamkit.tables.iceberg.metadata.manifests import Entry
from seamkit.tables.iceberg.metadata.schema import Field

__all__ = ["PATH_ID", "PositionDeletes", "deleted_rows"]

PATH_ID = 2147483546
_PATH = Field(PATH_ID, "file_path", pa.string(), required=True)
_AT = Field(2147483545, "pos", pa.int64(), required=True)
_SCHEMA = pa.schema([(_PATH.name, _PATH.type), (_AT.name, _AT.type)])
_BATCH_ROWS = 1 << 20


class PositionDeletes:
    """One position delete file.

    Args:
        opener: of the table's files.
        entry: the file.
    """

    def __init__(self, opener: FileOpener, entry: Entry) -> None:
        self.entry = entry
        self._opener = opener
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._positions: dict[str, list[Positions]] | None = None

    def __getstate__(self) -> Mapping[str, Any]:
        """All but what was read, which another process reads anew."""
        return {"entry": self.entry, "_opener": self._opener}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def of(self, path: str) -> Sequence[Positions]:
        """Positions in a data file, in any order, perhaps some twice.

        Raises:
            InputError: the delete file is missing or broken.
        """
        with self._lock:
            if self._positions is None:
                self._positions = self._read()
        return self._positions.get(path, ())

    def _read(self) -> dict[str, list[Positions]]:
        columns = {_PATH.name: [_PATH], _AT.name: [_AT]}
        reader = self._opener.open(self.entry, columns, FileRows())
        found: dict[str, list[Positions]] = {}
        for batch in reader.batches(_SCHEMA, _BATCH_ROWS, use_threads=False, encoded=[_PATH.name]):
            paths, positions = batch.columns
            if paths.null_count or positions.null_count:
                raise InputError(f"{reader.name}: a delete without a file or a position")
            if not pa.types.is_dictionary(paths.type):
                paths = pc.dictionary_encode(paths)
            codes = paths.indices.to_numpy(zero_copy_only=False)
            numbers = positions.to_numpy(zero_copy_only=False)
            order = np.argsort(codes, kind="stable")
            counts = np.bincount(codes, minlength=len(paths.dictionary))
            cuts = np.split(numbers[order], np.cumsum(counts)[:-1])
            for path, own in zip(paths.dictionary.to_pylist(), cuts, strict=False):
                if len(own):
                    found.setdefault(path, []).append(own)
        return found


def deleted_rows(deletes: Sequence[PositionDeletes], path: str, num_rows: int) -> Positions:
    """The rows of a data file that are gone, ascending, each once.

    Args:
        deletes: the delete files that apply to it.
        path: the data file, as manifests spell it.
        num_rows: how many it has; positions beyond them delete nothing.

    Raises:
        InputError: a delete file is missing or broken, or has a negative position.
    """
    pieces = [piece for one in deletes for piece in one.of(path)]
    positions = np.concatenate(pieces) if pieces else np.empty(0, np.int64)
    if len(positions) and positions.min() < 0:
        raise InputError(f"{deletes[0].entry.where}: position {positions.min()} is deleted")
    if len(pieces) != 1 or (np.diff(positions) <= 0).any():
        positions = np.unique(positions)
    return positions[: np.searchsorted(positions, num_rows)]

"""Equality deletes: rows are gone whose key columns equal those of a deleted key.

Keys are compared value by value: null equals null, what is not a number equals itself, and zero has
two signs. Columns are found by field id, in data and delete files alike. A key is kept with the
newest delete of it: it takes out rows of files that are older than that, and no others, so one set
of keys serves all data files of a partition.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.core.held_rows import concat_batches
from seamkit.core.memory import TrackedAllocator
from seamkit.files.columns import ABSENT
from seamkit.scan.merging.log_index import LogIndex
from seamkit.scan.units import KeyTest, ReadContext
from seamkit.tables.iceberg.content.open_file import FileOpener
from seamkit.tables.iceberg.content.reader import Column, FileRows
from seamkit.tables.iceberg.metadata.document import TableMetadata
from seamkit.tables.iceberg.metadata.manifests import Entry

__all__ = ["DeletedKeys", "key_columns"]

_BATCH_ROWS = 1 << 18


def key_columns(metadata: TableMetadata, ids: Sequence[int], where: str) -> dict[str, Column]:
    """The columns that a key is made of, under names that no column of the table has.

    A column that was dropped from the table still counts: the newest schema that has it tells its
    type.

    Raises:
        RefusedError: a field that no schema has, or that lies in a list or a map, or a nested one.
    """
    columns: dict[str, Column] = {}
    for id_ in ids:
        found = metadata.column(id_)
        if found is None or pa.types.is_nested(found[-1].type):
            raise RefusedError(
                f"{where}: equality deletes by the field {id_}, which is no column of single "
                "values, are not supported"
            )
        columns[f"{ABSENT}key:{id_}"] = found
    return columns


class DeletedKeys:
    """The keys that some equality delete files name, all by the same columns.

    They are read once a scan, and kept: memory is taken for all of the keys, in an index that the
    scan's allocator counts.

    Args:
        opener: of the table's files.
        entries: the delete files.
        columns: what their keys are made of; see `key_columns`.
    """

    def __init__(
        self, opener: FileOpener, entries: Sequence[Entry], columns: Mapping[str, Column]
    ) -> None:
        self._opener = opener
        self._entries = sorted(entries, key=lambda entry: entry.sequence_number)
        self.columns = columns
        if not all(columns.values()):
            raise InputError("the plan tells of keys of equality deletes without their fields")
        self.schema = pa.schema([(name, path[-1].type) for name, path in columns.items()])
        self._start()

    def _start(self) -> None:
        self._lock = threading.Lock()
        self._index: LogIndex | None = None

    def __getstate__(self) -> Mapping[str, Any]:
        """All but the index, which another process makes anew."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_index")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def test(self, sequence_number: int, context: ReadContext) -> KeyTest:
        """What tells which rows of a data file are gone.

        Args:
            sequence_number: of the data file.
            context: what the read lends.

        Raises:
            InputError: a delete file is missing or broken.
            RefusedError: the keys take more memory than the read may use.
        """
        with self._lock:
            if self._index is None:
                self._index = self._made(context.allocator)
        # From this delete on they are newer than the data file.
        numbers = [entry.sequence_number for entry in self._entries]
        newer = int(np.searchsorted(numbers, sequence_number, "right"))
        return partial(_are_gone, self._index.fork(context.allocator), newer)

    def _made(self, allocator: TrackedAllocator) -> LogIndex:
        """An index of the keys, in which the newest delete of a key counts."""
        pieces, numbers = [], []
        # A delete file has its key columns: null in their place would be the key of other rows.
        own = {
            name: (replace(path[0], required=True, default=None), *path[1:])
            for name, path in self.columns.items()
        }
        for number, entry in enumerate(self._entries):
            reader = self._opener.open(entry, own, FileRows())
            rows = 0
            for batch in reader.batches(self.schema, _BATCH_ROWS, use_threads=False):
                pieces.append(batch)
                rows += batch.num_rows
            if rows != entry.records:
                raise InputError(f"{reader.name}: {rows} keys, its manifest says {entry.records}")
            numbers.append(np.full(rows, number, np.int32))
        keys = concat_batches(pieces, self.schema)
        return LogIndex(keys, np.concatenate(numbers), None, None, allocator, meets_every_row=True)


def _are_gone(index: LogIndex, newer: int, keys: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Whether a delete names each key that is among those from `newer` on."""
    found: npt.NDArray[np.bool_] = index.probe(keys, None) >= newer
    return found

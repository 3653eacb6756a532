"""Folded logs kept from one read of a dataset to the next.

A query engine reads a table that was registered with it again and again, other columns each time.
What a slice's logs come to stays the same: the plan of the scan is fixed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from seambase.scan import ScanWarning
from seamkit.core.arrow_data import ExportedBatch, batch_of
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.merge.events import LogView, SliceLog, read_slice_log

__all__ = ["CACHE_BYTES", "LogCache"]

CACHE_BYTES = 512 << 20
"""What the decoded logs of one dataset may take between reads."""

_Key = tuple[str, str, str]  # partition, file group, instant
_BYTES_A_KEY = 64  # of the index and the keys in it, about


class LogCache:
    """Reads logs once, and later only the columns that were not asked for before.

    Threads may share it. Logs whose versions fill each other's gaps are not kept, nor those for
    which there is no room any more.

    Args:
        view_of: how to read the logs for some columns.
        most_bytes: what may be kept.
    """

    def __init__(
        self, view_of: Callable[[Sequence[str]], LogView], most_bytes: int = CACHE_BYTES
    ) -> None:
        self._view_of = view_of
        self._room = most_bytes
        self._kept: dict[_Key, SliceLog] = {}
        self._slices: dict[_Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def read(
        self, slice_: FileSlice, view: LogView, names: Sequence[str], warnings: list[ScanWarning]
    ) -> SliceLog:
        """The folded logs of a slice; see `read_slice_log`, whose arguments these are."""
        key = (slice_.partition, slice_.file_id, slice_.instant)
        with self._lock:
            alone = self._slices.setdefault(key, threading.Lock())
        with alone:
            log = self._kept.get(key)
            if log is None:
                log = read_slice_log(slice_, view, names, warnings)
                if log.filled is not None or not self._keep(key, log, log.data, log.data.num_rows):
                    return log
            missing = [name for name in names if log.data.schema.get_field_index(name) < 0]
            if missing:
                rest = replace(self._view_of(missing), threads=view.threads)
                further = read_slice_log(slice_, rest, missing, warnings).data
                both = _beside(log.data, further)
                log = replace(log, data=both, exported=ExportedBatch(both))
                self._keep(key, log, further, 0)
        data = log.data.select(list(names))
        index = log.index.fork(view.allocator)
        return replace(log, data=data, exported=ExportedBatch(data), index=index)

    def _keep(self, key: _Key, log: SliceLog, added: pa.RecordBatch, keys: int) -> bool:
        """Keep a log if there is room for what was added to it."""
        taken = added.get_total_buffer_size() + keys * _BYTES_A_KEY
        with self._lock:
            if taken > self._room:
                return False
            self._room -= taken
            self._kept[key] = log
        return True


def _beside(rows: pa.RecordBatch, further: pa.RecordBatch) -> pa.RecordBatch:
    """Two batches of the same rows as one."""
    schema = pa.schema([*rows.schema, *further.schema])
    return batch_of([*rows.columns, *further.columns], schema, rows.num_rows)

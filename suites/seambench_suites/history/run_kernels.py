"""Merging of sorted runs, and rows that masks of positions take out."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa

from .kernels import Kernel, feature, merge_rows


class SortedRuns(Kernel):
    """A base run of 200,000 keys and three runs that replace every fifth of them, merged by key.

    Only keys go in; what comes out says which row of which run each key has.
    """

    base_rows, batch_rows = 200_000, 8192

    def __init__(self) -> None:
        self._merge = feature("seamkit.scan.core_merges", "RunMerge").RunMerge
        memory = feature("seamkit.core.memory", "TrackedAllocator")
        self._allocator = memory.TrackedAllocator()
        keys = np.arange(self.base_rows, dtype=np.int64)
        # Run 3 has every 15th key, so it takes some from run 1; run 2 shares none with it.
        chosen = [keys, keys[::5], keys[1::5], keys[::15]]
        self._runs = [self._batches(run) for run in chosen]
        self._taken = [0, len(keys[::5]) - len(keys[::15]), len(keys[1::5]), len(keys[::15])]
        self.run()

    def run(self) -> None:
        """Merge all runs, and count whose rows came out."""
        merge = self._merge(
            n_runs=len(self._runs), base=0, n_keys=1, n_order=0, descending=0, pick="last",
            ignores_retracts=False, allocator=self._allocator, source="runs",
        )  # fmt: skip
        left = [iter(run) for run in self._runs]
        taken = np.zeros(len(self._runs), dtype=np.int64)
        running = True
        while running:
            while (run := merge.wants) is not None:
                batch = next(left[run], None)
                if batch is None:
                    merge.end(run)
                else:
                    sources = np.empty(batch.num_rows, np.int32) if run == 0 else None
                    merge.add(run, batch, None, sources)
            rows = merge.step(self.batch_rows).runs
            taken += np.bincount(rows, minlength=len(taken))
            running = len(rows) > 0 or merge.wants is not None
        if taken.tolist() != self._taken:
            raise AssertionError(f"of the runs {taken.tolist()} rows came, not {self._taken}")

    def _batches(self, keys: np.ndarray[Any, np.dtype[np.int64]]) -> list[pa.RecordBatch]:
        starts = range(0, len(keys), self.batch_rows)
        return [pa.RecordBatch.from_pydict({"k": keys[i : i + self.batch_rows]}) for i in starts]


class DeletedRows(Kernel):
    """A roaring bitmap of 8,192 of 131,072 rows, read, and those rows taken out of 8 batches.

    The bitmap has both kinds of containers that a deletion vector has: every tenth row of the lower
    half makes a bitmap, every fortieth of the upper half a list.
    """

    rows, batch_rows = 131_072, 16_384

    def __init__(self) -> None:
        self._read = feature("seamkit.files.roaring", "read_bitmap").read_bitmap
        self._masks = feature("seamkit.scan.masks", "GoneRows", "RowRemover")
        memory = feature("seamkit.core.memory", "TrackedAllocator")
        self._allocator = memory.TrackedAllocator()
        keys = np.arange(self.rows, dtype=np.int64)
        self._base = merge_rows(keys, 1000)
        # Dense below the middle, sparse above it: both kinds of containers.
        middle = self.rows // 2
        gone = (keys % 10 == 0) & ((keys < middle) | (keys % 40 == 0))
        self._gone = keys[gone]
        self._bitmap = _roaring(self._gone)
        self.prepare()
        keys_left = pa.chunked_array([batch.column("k") for batch in self.run()])
        if not np.array_equal(keys_left.to_numpy(), keys[~gone]):
            raise AssertionError("other rows are left than the bitmap leaves")

    def prepare(self) -> None:
        """Batches anew: rows are taken out in place where that can be."""
        self._batches = [
            self._base.take(pa.array(np.arange(i, min(i + self.batch_rows, self.rows))))
            for i in range(0, self.rows, self.batch_rows)
        ]

    def run(self) -> list[pa.RecordBatch]:
        """Read the bitmap, then take its rows out of every batch."""
        gone = self._masks.GoneRows(self._read(self._bitmap), self.rows, "file")
        remover = self._masks.RowRemover(gone, self._base.schema, self._allocator)
        starts = range(0, self.rows, self.batch_rows)
        left = [remover.left(batch, i) for batch, i in zip(self._batches, starts, strict=True)]
        if sum(batch.num_rows for batch in left) != self.rows - len(self._gone):
            raise AssertionError("rows are missing, or too many are left")
        return left


def _roaring(values: np.ndarray[Any, np.dtype[np.int64]]) -> bytes:
    """Positions below 2**32 as a portable 64-bit bitmap without runs (RoaringFormatSpec)."""
    highs = np.unique(values >> 16)
    lows = [(values[values >> 16 == high] & 0xFFFF).astype("<u2") for high in highs]
    bodies = [_container(low) for low in lows]
    offset, offsets = 8 + 8 * len(highs), []
    for body in bodies:
        offsets.append(offset)
        offset += len(body)
    described = [
        struct.pack("<HH", high, len(low) - 1) for high, low in zip(highs, lows, strict=True)
    ]
    head = struct.pack("<QIII", 1, 0, 12346, len(highs))
    return b"".join([head, *described, struct.pack(f"<{len(offsets)}I", *offsets), *bodies])


def _container(low: np.ndarray[Any, np.dtype[np.uint16]]) -> bytes:
    if len(low) <= 4096:
        return low.tobytes()
    bits = np.zeros(1 << 16, dtype=np.uint8)
    bits[low] = 1
    return np.packbits(bits, bitorder="little").tobytes()

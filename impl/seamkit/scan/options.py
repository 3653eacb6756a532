"""How a scan is run: sizes, threads, memory."""

from __future__ import annotations

import os
from dataclasses import dataclass

from seambase.errors import UsageError

__all__ = ["DEFAULT_BATCH_ROWS", "ScanOptions"]

DEFAULT_BATCH_ROWS = 256 * 1024
"""Large enough that its columns lie on huge pages and per-batch work does not show; a batch of wide
rows stays below 100 MB."""


@dataclass(frozen=True)
class ScanOptions:
    """How to run a scan.

    Attributes:
        batch_rows: most rows in a batch, or None for `DEFAULT_BATCH_ROWS`.
        threads: units at once, or None for one per core, several where files are far away.
        memory_limit_bytes: what the tracked allocator may hand out at once, or None: decoded rows
            of logs, keys and index, merged batches, and what Parquet blocks of logs claim to take
            when they are decoded. Changes that would take too much of it wait on local disk. Nor
            may any compressed piece of a file (a block, a page, a line, a vector) become more; None
            allows it a gigabyte, and pages of Parquet what they have. It does not bound the
            process: base files that pyarrow decodes (a batch and a row group's pages for each
            thread), bodies of the timeline and the files' own bytes come on top.
        strict: damage is refused wherever it can be told, so no engine's own reader, which checks
            less, takes over a file.

    Raises:
        UsageError: a number below 1, or beyond 64 bits.
    """

    batch_rows: int | None = None
    threads: int | None = None
    memory_limit_bytes: int | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("batch_rows", "threads", "memory_limit_bytes"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} is {value!r}: a whole number of at least 1 is meant")
            if value >> 63:
                raise UsageError(f"{name} has {value.bit_length()} bits: at most 63 are meant")

    @property
    def most_rows(self) -> int:
        """Most rows in a batch."""
        return self.batch_rows or DEFAULT_BATCH_ROWS

    @property
    def n_threads(self) -> int:
        """Units at once."""
        return self.threads or len(os.sched_getaffinity(0))

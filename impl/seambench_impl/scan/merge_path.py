"""The merge path: base rows meet the folded logs, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from seambench.seams import ScanWarning
from seambench_impl.merge import assemble
from seambench_impl.scan.base_files import open_base
from seambench_impl.tables.hudi.events import (
    LogView,
    SliceLog,
    key_field,
    read_slice_log,
)
from seambench_impl.tables.hudi.row_events import ordering_columns
from seambench_impl.tables.hudi.slices import FileSlice

__all__ = ["merge_slice"]


def merge_slice(
    slice_: FileSlice,
    view: LogView,
    names: Sequence[str],
    batch_rows: int,
    warnings: list[ScanWarning],
    *,
    use_threads: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The merged rows of one slice.

    Base rows come first, in the base's order, changed or removed by the logs; then rows that only
    the logs have.

    Args:
        slice_: base file, logs, or both.
        view: how to read the logs.
        names: columns to hand out, in order; all are in the view's schema.
        batch_rows: most rows in a batch.
        warnings: receives what was skipped.
        use_threads: let pyarrow decode columns in parallel.
    """
    log = read_slice_log(slice_, view, names, warnings)
    if slice_.base is not None:
        reader = open_base(view.storage, slice_.base.path)
        ordering = () if log.outranks(reader.greatest) else log.ordering
        base_schema = _base_schema(view, names, log.keys, ordering)
        encoded = set(names).difference(log.keys, ordering) if log.filled is None else set()
        batches = reader.batches(base_schema, batch_rows, use_threads=use_threads, encoded=encoded)
        for batch in batches:
            merged = _merge_batch(batch, log, ordering, names, view)
            if merged.num_rows:
                yield merged
    rest = log.index.rest()
    for begin in range(0, len(rest), batch_rows):
        yield log.data.take(pa.array(rest[begin : begin + batch_rows]))


def _base_schema(
    view: LogView, names: Sequence[str], keys: Sequence[str], ordering: Sequence[str]
) -> pa.Schema:
    """What to read of the base: the columns to hand out, then key and ordering columns."""
    wanted = list(dict.fromkeys([*names, *keys, *ordering]))
    return pa.schema([key_field(name, view) for name in wanted])


def _merge_batch(
    batch: pa.RecordBatch,
    log: SliceLog,
    ordering: Sequence[str],
    names: Sequence[str],
    view: LogView,
) -> pa.RecordBatch:
    ordered = ordering_columns(batch, ordering) if ordering else None
    keys, handed_out = batch.select(list(log.keys)), batch.select(list(names))
    if log.filled is None:
        sources = log.index.probe(keys, ordered)
        return assemble(handed_out, log.data, log.exported, sources, view.allocator)
    losers = np.empty(batch.num_rows, dtype=np.int32)
    sources = log.index.probe(keys, ordered, losers)
    return log.filled.assemble(handed_out, sources, losers, view.allocator)

"""Dealing of 65,536 rows of lineitem at a time, beside Polars' `partition_by`, in turns.

Ours takes Arrow and gives Arrow: chunks when they are full (`accumulating`), or all of the batch
(`flushed`). Polars does it in three ways: from a frame of its own whose texts are views, of which
it copies no byte (`views`); from Arrow (`from Arrow`); and from Arrow to Arrow (`to Arrow`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from seambench.bench.throughput import lineitem
from seamkit.exchange.partition import Partitioner, PartitionRule

__all__ = ["PARTS", "dealing"]

PARTS = (8, 64)
_ROWS = 65_536
_CHUNK_ROWS = 4096
_TURNS = 24


def dealing(parts: int) -> Mapping[str, float]:
    """Processor seconds that each way takes for a batch, the least of many turns."""
    batch = lineitem(_ROWS)
    frame = pl.from_arrow(batch)
    ways: dict[str, Callable[[], Any]] = {
        "accumulating": _accumulating(batch, parts),
        "flushed": _flushed(batch, parts),
        "polars, views": lambda: _polars(frame, parts),
        "polars, from Arrow": lambda: _polars(pl.from_arrow(batch), parts),
        "polars, to Arrow": lambda: [
            one.to_arrow(compat_level=pl.CompatLevel.oldest())
            for one in _polars(pl.from_arrow(batch), parts)
        ],
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(_TURNS):
        for name, run in ways.items():
            begin = time.process_time()
            made = run()
            best[name] = min(best[name], time.process_time() - begin)
            del made
    return best


def _accumulating(batch: pa.RecordBatch, parts: int) -> Callable[[], Any]:
    rule = PartitionRule(["l_orderkey"], parts, chunk_rows=_CHUNK_ROWS)
    partitioner = Partitioner(batch.schema, rule)
    return lambda: list(partitioner.append(batch))


def _flushed(batch: pa.RecordBatch, parts: int) -> Callable[[], Any]:
    rule = PartitionRule(["l_orderkey"], parts, chunk_rows=_ROWS)
    partitioner = Partitioner(batch.schema, rule)
    return lambda: [*partitioner.append(batch), *partitioner.flush()]


def _polars(frame: Any, parts: int) -> Any:
    part = (pl.col("l_orderkey").hash() % parts).alias("part")
    dealt = frame.with_columns(part)
    return dealt.partition_by("part", include_key=False, maintain_order=True)

"""Dealing of 65,536 rows of lineitem at a time, beside Polars' `partition_by`.

Ours takes Arrow and gives Arrow: chunks when they are full (`accumulating`), or all of each batch
(`flushed`). Polars does it in three ways: from a frame of its own whose texts are views, of which
it copies no byte (`polars-views`); from Arrow (`polars`); and from Arrow to Arrow (`polars-arrow`).
A run deals one batch eight times; its rows must all be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from seambench.bench.measure import Competitor
from seambench.bench.throughput import lineitem
from seambench.engines.digest import digest_reader, union
from seambench.records.verdicts import Finding
from seamkit.exchange.partition import Partitioner, PartitionRule

PARTS = (8, 64)
_ROWS = 65_536
_CHUNK_ROWS = 4096
_TIMES = 8

Parts = Iterable[Any]


def dealing(way: str, parts: int) -> Competitor:
    """A way, in a process of its own."""
    batch = lineitem(_ROWS)
    deal = WAYS[way](batch, parts)
    expected = union([digest_reader(pa.Table.from_batches([batch]))] * _TIMES)

    def judge(dealt: Parts) -> Finding:
        whole = pa.concat_tables(_plain(part, batch.schema) for part in dealt)
        size_bytes = _TIMES * int(batch.nbytes)
        return Finding(expected, digest_reader(whole), None, whole.num_rows, size_bytes)

    return Competitor(lambda: list(deal()), judge)


def _plain(part: Any, schema: pa.Schema) -> pa.Table:
    if isinstance(part, pa.RecordBatch):
        part = pa.Table.from_batches([part])
    found: pa.Table = part.to_arrow() if isinstance(part, pl.DataFrame) else part
    return found.cast(schema)


def _ours(chunk_rows: int, *, flush_each: bool) -> Callable[..., Callable[[], Iterator[Any]]]:
    def of(batch: pa.RecordBatch, parts: int) -> Callable[[], Iterator[Any]]:
        rule = PartitionRule(["l_orderkey"], parts, chunk_rows=chunk_rows)
        partitioner = Partitioner(batch.schema, rule)

        def deal() -> Iterator[Any]:
            for _ in range(_TIMES):
                yield from (chunk for _, chunk in partitioner.append(batch))
                if flush_each:
                    yield from (chunk for _, chunk in partitioner.flush())
            yield from (chunk for _, chunk in partitioner.flush())

        return deal

    return of


def _polars(
    before: Callable[[pa.RecordBatch], Callable[[], Any]], after: Callable[[Any], Any]
) -> Callable[..., Callable[[], Iterator[Any]]]:
    def of(batch: pa.RecordBatch, parts: int) -> Callable[[], Iterator[Any]]:
        frame = before(batch)
        part = (pl.col("l_orderkey").hash() % parts).alias("part")

        def deal() -> Iterator[Any]:
            for _ in range(_TIMES):
                dealt = frame().with_columns(part)
                frames = dealt.partition_by("part", include_key=False, maintain_order=True)
                yield from map(after, frames)

        return deal

    return of


def _made(batch: pa.RecordBatch) -> Callable[[], Any]:
    frame = pl.from_arrow(batch)
    return lambda: frame


def _arrow(frame: Any) -> Any:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


WAYS: Mapping[str, Callable[..., Callable[[], Iterator[Any]]]] = {
    "accumulating": _ours(_CHUNK_ROWS, flush_each=False),
    "flushed": _ours(_ROWS, flush_each=True),
    "polars-views": _polars(_made, lambda frame: frame),
    "polars": _polars(lambda batch: lambda: pl.from_arrow(batch), lambda frame: frame),
    "polars-arrow": _polars(lambda batch: lambda: pl.from_arrow(batch), _arrow),
}

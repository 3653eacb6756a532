"""Serializers of vectors made of the suite's witnesses, and bent ones that must be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from seambase.errors import UsageError
from seambase.serde import SerdeRequest
from seambench.contracts.serde import StreamStep
from seambench_suites.meta.plain_serde import PlainSerde

__all__ = [
    "CountsNothing",
    "FlushesAway",
    "FreshEachTime",
    "NeverClears",
    "PlainStreams",
    "SortsRows",
    "TakesAnyRow",
]


class PlainStreams(PlainSerde):
    """Collects batches of rows and writes them by the witness."""

    capabilities: Mapping[str, bool] = dict.fromkeys(
        (*PlainSerde.capabilities, "stream", "reread"), True
    )

    def stream(
        self, request: SerdeRequest, batches: Sequence[pa.RecordBatch], steps: Sequence[StreamStep]
    ) -> bytes:
        """Pages of what the steps collect."""
        held: list[pa.RecordBatch] = []
        out = b""
        for step in steps:
            batch = batches[step.batch]
            if step.do == "append":
                held.append(batch.take(pa.array(self.rows(step, batch), pa.int64())))
            elif step.do == "clear":
                held = self.cleared(held)
            else:
                table = pa.Table.from_batches([batch.slice(0, 0), *held]).combine_chunks()
                [page] = table.to_batches() or [batch.slice(0, 0)]
                if step.do == "write":
                    page = batch.take(pa.array(self.rows(step, batch), pa.int64()))
                out += self.serialize(request, [page])
                held = self.flushed(held)
        return out

    def rows(self, step: StreamStep, batch: pa.RecordBatch) -> list[int]:
        """The rows of a step."""
        every = range(batch.num_rows) if step.range is None else range(*step.range)
        rows = list(every if step.rows is None else step.rows)
        if any(not 0 <= row < batch.num_rows for row in rows):
            raise UsageError(f"rows {rows} are not all in a batch of {batch.num_rows}")
        return rows

    def cleared(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """What is held after a clear."""
        del held
        return []

    def flushed(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """What is held after a flush."""
        return held

    def reread(
        self, request: SerdeRequest, data: bytes, times: int
    ) -> tuple[list[pa.RecordBatch], list[int]]:
        """As if one block were enough."""
        return self.deserialize(request, data), self.counted(times)

    def counted(self, times: int) -> list[int]:
        """Blocks until the end of each time."""
        return [1] * times


class NeverClears(PlainStreams):
    """Keeps rows when told to forget them."""

    def cleared(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """All."""
        return held


class FlushesAway(PlainStreams):
    """Forgets rows that were flushed."""

    def flushed(self, held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Nothing."""
        del held
        return []


class SortsRows(PlainStreams):
    """Takes lists of rows in ascending order."""

    def rows(self, step: StreamStep, batch: pa.RecordBatch) -> list[int]:
        """Sorted."""
        return sorted(super().rows(step, batch))


class TakesAnyRow(PlainStreams):
    """Counts rows below 0 from the end, and leaves out those beyond it."""

    def rows(self, step: StreamStep, batch: pa.RecordBatch) -> list[int]:
        """Whatever there is."""
        span = range(*step.range) if step.range is not None else range(batch.num_rows)
        rows = span if step.rows is None else step.rows
        return [row % batch.num_rows for row in rows if row < batch.num_rows]


class FreshEachTime(PlainStreams):
    """Allocates anew whenever it reads."""

    def counted(self, times: int) -> list[int]:
        """One more each time."""
        return list(range(1, times + 1))


class CountsNothing(PlainStreams):
    """Says that rows take no memory."""

    def counted(self, times: int) -> list[int]:
        """Never any."""
        return [0] * times

"""Pass-through hands batches over: what is read are the buffers that were written."""

from typing import Any

import pyarrow as pa
import pytest

from seamkit.exchange import driver as driver_module
from seamkit.exchange.partition import DealtChunk, PartitionRule
from seamkit.exchange.sink import Routing
from seamkit.exchange.transports.local import LocalChannel
from seamkit_tests.samples.exchange_samples import EXCHANGE, PATIENCE, known, sample_batch, sink_to


def _addresses(batch: pa.RecordBatch) -> list[int]:
    buffers = [buffer for column in batch.columns for buffer in column.buffers()]
    return [buffer.address for buffer in buffers if buffer is not None]


def _pass(routing: Routing, receivers: int, batches: list[pa.RecordBatch]) -> list[list[int]]:
    """Addresses of what each receiver reads."""
    sides = [known(format_=None) for _ in range(receivers)]
    sink = sink_to(*(LocalChannel(at, EXCHANGE) for at, _ in sides), routing=routing, format=None)
    driver = sink.driver()
    for batch in batches:
        driver.write(batch)
    driver.finish()
    read = [_addresses(batch) for _, source in sides for batch in source.batches(0, PATIENCE)]
    sink.wait_finished(PATIENCE)
    return read


@pytest.mark.parametrize(("kind", "receivers"), [("single", 1), ("random", 2), ("broadcast", 3)])
def test_whole_batches_are_read_where_they_were_written(kind: Any, receivers: int) -> None:
    """Not one byte is copied: every buffer has the address that it had."""
    batches = [sample_batch(start, 50) for start in (0, 50, 100, 150)]
    written = [_addresses(batch) for batch in batches]
    times = receivers if kind == "broadcast" else 1
    assert sorted(_pass(Routing(kind), receivers, batches)) == sorted(written * times)


def test_chunks_are_read_where_the_partitioner_put_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are copied once, into the chunk of their part; what is read are these chunks."""
    made: list[list[int]] = []

    make = DealtChunk.batch

    def watched(chunk: DealtChunk) -> pa.RecordBatch:
        batch = make(chunk)
        made.append(_addresses(batch))
        return batch

    monkeypatch.setattr(DealtChunk, "batch", watched)
    rule = PartitionRule(["k"], 3, chunk_rows=16)
    read = _pass(Routing("hash", rule), 3, [sample_batch(start, 40) for start in (0, 40, 80)])
    assert sorted(read) == sorted(made)
    assert len(made) > 3


def test_a_slice_counts_as_its_rows_where_the_whole_is_large() -> None:
    """A batch of a few rows of a large table must not fill the sink by itself."""
    whole = pa.record_batch({"a": pa.array(range(1 << 18), pa.int64())})
    assert driver_module._held_bytes(whole) == whole.nbytes == 1 << 21
    assert driver_module._held_bytes(whole.slice(5, 10)) == 80
    small = whole.slice(0, 1000).take(pa.array(range(1000)))
    assert driver_module._held_bytes(small.slice(0, 10)) == small.nbytes

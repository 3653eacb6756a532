"""Local exchanges: who reads what, when writers wait, and that nothing is lost or copied."""

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seamkit.exchange import driver as driver_module
from seamkit.exchange.local.logic import (
    BY_HASH,
    KINDS,
    DealtRows,
    LocalExchange,
    LocalKind,
    LocalOptions,
)
from seamkit.exchange.partition import DealtChunk, PartitionRule
from seamkit.exchange.sink import Routing
from seamkit.exchange.transports.local import LocalChannel
from seamkit_tests.samples.exchange_samples import (
    EXCHANGE,
    PATIENCE,
    addresses_of,
    known,
    sample_batch,
    sink_to,
)


def _accept(exchange: LocalExchange, writer: int, rows: list[int], readers: int) -> None:
    """Hand over a chunk whose rows are numbers; a row's part is its rest by the readers."""
    if exchange.kind not in BY_HASH:
        exchange.accept(writer, rows, len(rows), 10 * len(rows))
        return
    keys = 5 if exchange.kind == "key-partition" else readers
    parts = [[row for row in rows if row % keys == key] for key in range(keys)]
    exchange.accept_dealt(
        writer, [_dealt(key % readers, own) for key, own in enumerate(parts) if own]
    )


def _dealt(reader: int, rows: list[int], size_bytes: int | None = None) -> DealtRows:
    return DealtRows(reader, rows, len(rows), size_bytes or 10 * len(rows))


def _rows(chunks: Any) -> list[int]:
    return [
        chunk.payload[row]
        for chunk in chunks
        for row in (range(chunk.count) if chunk.rows is None else chunk.rows)
    ]


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("seed", range(30))
def test_every_row_arrives_in_any_schedule(kind: LocalKind, seed: int) -> None:
    """Rows arrive once (broadcast: once a reader), bounds hold, bytes end at 0, nobody is stuck."""
    dice = random.Random(f"{kind}:{seed}")
    writers, readers = dice.randint(1, 4), dice.randint(1, 5)
    options = LocalOptions(dice.choice([1, 50, 10**6]), dice.choice([1, 4, 100]), 100)
    exchange = LocalExchange(kind, writers, readers, options, seed)
    left = {writer: dice.randint(0, 12) for writer in range(writers)}
    number, biggest = 0, 0
    came: dict[int, list[int]] = {reader: [] for reader in range(readers)}
    for _ in range(10_000):
        choices: list[tuple[str, int]] = [("pull", r) for r in came if exchange.has_output(r)]
        if not exchange.is_full:
            choices += [("write", writer) for writer in left]
        if not choices:
            break
        what, who = dice.choice(choices)
        if what == "pull":
            came[who] += _rows(exchange.pull(who))
        elif left[who] == 0:
            exchange.end()
            del left[who]
        else:
            size = dice.randint(0, 9)
            biggest = max(biggest, 10 * size)
            _accept(exchange, who, list(range(number, number + size)), readers)
            number, left[who] = number + size, left[who] - 1
        times = readers if kind == "broadcast" else 1
        assert exchange.waiting_bytes < exchange.limit_bytes + biggest * times
    assert left == {}
    assert all(exchange.is_finished(reader) for reader in came)
    assert exchange.waiting_bytes == 0
    want = Counter(dict.fromkeys(range(number), readers if kind == "broadcast" else 1))
    assert Counter(row for rows in came.values() for row in rows) == want
    if kind in ("partition", "ordered-partition"):
        assert all(row % readers == reader for reader, rows in came.items() for row in rows)


@pytest.mark.parametrize(
    ("kind", "writers", "want"),
    [
        ("passthrough", [0, 0, 1, 0], [[0, 3], [1], [2]]),
        ("direct-through", [0, 1, 2, 3], [[0, 3], [1], [2]]),
        ("broadcast", [0, 1], [[0, 1], [0, 1], [0, 1]]),
        ("connector-sink-passthrough", [0, 0, 0, 0, 0, 0], [[0, 1, 3], [2, 4], [5]]),
    ],
)
def test_whole_chunks_go_where_their_kind_says(
    kind: LocalKind, writers: list[int], want: list[list[int]]
) -> None:
    """In turns; by the writer; to all; and over one more reader for every 15 bytes of a sink."""
    exchange = LocalExchange(kind, 4, 3, LocalOptions(writer_scaling_min_size_bytes=15))
    for number, writer in enumerate(writers):
        exchange.accept(writer, [number], 1, 7)
    found = []
    for reader in range(3):
        rows = []
        while exchange.has_output(reader):
            rows += _rows(exchange.pull(reader))
        found.append(rows)
    assert found == want


def test_adaptive_deals_rows_until_chunks_are_many() -> None:
    """Of four readers the first two chunks are dealt row by row, whole ones follow."""
    exchange = LocalExchange("adaptive-passthrough", 1, 4)
    for first in (0, 4, 8):
        exchange.accept(0, [first, first + 1, first + 2, first + 3], 4, 40)
    found = [[_rows(exchange.pull(r)) for _ in range(3)] for r in range(4)]
    assert found == [[[0], [4], [8, 9, 10, 11]], [[1], [5], []], [[2], [6], []], [[3], [7], []]]


def test_a_partition_waits_for_a_chunk_of_rows() -> None:
    """Rows leave at chunk_size, at the end, or when four fifths of a driver's bytes wait."""
    exchange = LocalExchange("partition", 2, 1, LocalOptions(100, chunk_size=4))
    exchange.accept_dealt(0, [_dealt(0, [1, 2, 3])])
    assert not exchange.has_output(0)
    exchange.accept_dealt(1, [_dealt(0, [4])])
    assert exchange.has_output(0)
    assert _rows(exchange.pull(0)) == [1, 2, 3, 4]
    exchange.accept_dealt(0, [_dealt(0, [5], 80)])
    assert exchange.has_output(0)
    assert _rows(exchange.pull(0)) == [5]
    exchange.accept_dealt(0, [_dealt(0, [6])])
    assert not exchange.has_output(0)
    exchange.end()
    exchange.end()
    assert exchange.has_output(0)
    assert _rows(exchange.pull(0)) == [6]
    assert exchange.is_finished(0)


def test_limits_are_of_input_drivers_and_the_host() -> None:
    """128 MiB for each input driver, at most 128 GiB; full at the limit itself."""
    assert LocalExchange("broadcast", 3, 9).limit_bytes == 3 * 128 << 20
    assert LocalExchange("broadcast", 5000, 1).limit_bytes == 128 << 30
    exchange = LocalExchange("passthrough", 1, 1, LocalOptions(10))
    exchange.accept(0, [1], 1, 10)
    assert exchange.is_full


def test_a_reader_that_needs_no_more_holds_nothing() -> None:
    """What it has and what still comes to it is dropped, and does not count as waiting."""
    exchange = LocalExchange("broadcast", 1, 2)
    exchange.accept(0, [1], 1, 10)
    exchange.finish_reader(0)
    exchange.accept(0, [2], 1, 10)
    assert exchange.waiting_bytes == 20
    assert exchange.is_finished(0)
    assert not exchange.has_output(0)


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda: LocalExchange("nothing", 1, 1), "unknown local exchange"),  # type: ignore[arg-type]
        (lambda: LocalExchange("broadcast", 0, 1), "at least one writer"),
        (lambda: LocalOptions(0), "1 or more"),
        (lambda: LocalExchange("partition", 1, 1).accept(0, [1], 1, 1), "dealt by the owner"),
        (
            lambda: LocalExchange("partition", 1, 1).accept_dealt(0, [_dealt(1, [1])]),
            "readers 0 to 0",
        ),
        (lambda: LocalExchange("broadcast", 1, 1).accept_dealt(0, []), "deals by itself"),
        (lambda: LocalExchange("broadcast", 1, 1).accept(1, [1], 1, 1), "writer 1 is none"),
    ],
)
def test_what_cannot_be_is_refused(work: Any, says: str) -> None:
    """Unknown kinds, nobody to read, rows that are dealt by the wrong side or to nobody."""
    with pytest.raises(UsageError, match=says):
        work()


def _pass(routing: Routing, receivers: int, batches: list[pa.RecordBatch]) -> list[list[int]]:
    """Addresses of what each receiver reads."""
    sides = [known(format_=None) for _ in range(receivers)]
    sink = sink_to(*(LocalChannel(at, EXCHANGE) for at, _ in sides), routing=routing, format=None)
    driver = sink.driver()
    for batch in batches:
        driver.write(batch)
    driver.finish()
    read = [addresses_of(batch) for _, source in sides for batch in source.batches(0, PATIENCE)]
    sink.wait_finished(PATIENCE)
    return read


@pytest.mark.parametrize(("kind", "receivers"), [("single", 1), ("random", 2), ("broadcast", 3)])
def test_whole_batches_are_read_where_they_were_written(kind: Any, receivers: int) -> None:
    """Not one byte is copied: every buffer has the address that it had."""
    batches = [sample_batch(start, 50) for start in (0, 50, 100, 150)]
    written = [addresses_of(batch) for batch in batches]
    times = receivers if kind == "broadcast" else 1
    assert sorted(_pass(Routing(kind), receivers, batches)) == sorted(written * times)


def test_chunks_are_read_where_the_partitioner_put_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are copied once, into the chunk of their part; what is read are these chunks."""
    made: list[list[int]] = []

    make = DealtChunk.batch

    def watched(chunk: DealtChunk) -> pa.RecordBatch:
        batch = make(chunk)
        made.append(addresses_of(batch))
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

"""The local exchange between real threads: rows, order, bounds, ends and failures."""

import gc
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.registry import resolve
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.local.logic import BY_HASH, KINDS, LocalKind, LocalOptions
from seamkit.exchange.local.threads import ThreadedLocalExchange
from seamkit.exchange.partition import Key, PartitionRule
from seamkit.exchange.source import ExchangeFailedError

_SCHEMA = pa.schema([("k", pa.int64()), ("writer", pa.int64()), ("row", pa.int64())])
_PATIENCE = 60.0
_BATCHES, _ROWS = 12, 40
#: Kinds that keep each writer's rows in their order for a reader.
_ORDERED = [kind for kind in KINDS if kind not in ("partition", "key-partition")]


def _exchange(kind: LocalKind, writers: int, readers: int, **more: Any) -> ThreadedLocalExchange:
    rule = PartitionRule(["k"], readers, chunk_rows=16) if kind in BY_HASH else None
    return ThreadedLocalExchange(kind, _SCHEMA, writers, readers, rule=rule, **more)


def _batch(writer: int, number: int) -> pa.RecordBatch:
    rows = range(number * _ROWS, (number + 1) * _ROWS)
    columns = [[row * row % 7 for row in rows], [writer] * _ROWS, list(rows)]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.int64()) for c in columns], schema=_SCHEMA)


def _together(*work: Callable[[], Any]) -> list[Any]:
    """All at once, each in a thread; what each returns."""
    with ThreadPoolExecutor(len(work)) as pool:
        return [done.result(_PATIENCE) for done in [pool.submit(one) for one in work]]


def _write(exchange: ThreadedLocalExchange, writer: int) -> None:
    for number in range(_BATCHES):
        exchange.write(writer, _batch(writer, number))
    exchange.finish()


def _read(exchange: ThreadedLocalExchange, reader: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    while (batch := exchange.read(reader, _PATIENCE)) is not None:
        found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    assert exchange.read(reader, _PATIENCE) is None
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("writers", "readers"), [(1, 1), (3, 2), (2, 5)])
@pytest.mark.parametrize("limit", [1, 3000, 1 << 20])
def test_every_row_arrives_and_memory_is_bounded(
    kind: LocalKind, writers: int, readers: int, limit: int
) -> None:
    """Rows once (broadcast: once a reader), order where promised, no more than limit and batch."""
    with TrackedAllocator() as allocator:
        options = LocalOptions(limit, chunk_size=32, writer_scaling_min_size_bytes=500)
        exchange = _exchange(kind, writers, readers, options=options, allocator=allocator)
        writing = [partial(_write, exchange, writer) for writer in range(writers)]
        reading = [partial(_read, exchange, reader) for reader in range(readers)]
        parts = _together(*writing, *reading)[writers:]
        times = readers if kind == "broadcast" else 1
        assert exchange.waiting_bytes == 0
        assert 0 < exchange.peak_bytes <= limit * writers + _batch(0, 0).nbytes * times
        del exchange, writing, reading
    came = Counter(row[1:] for part in parts for row in part)
    assert came == {(w, row): times for w in range(writers) for row in range(_BATCHES * _ROWS)}
    if kind in BY_HASH:
        readers_of_key = Counter(key for part in parts for key in {row[0] for row in part})
        assert set(readers_of_key.values()) == {1}
    if kind == "direct-through":
        assert all(row[1] % readers == number for number, part in enumerate(parts) for row in part)
    if kind in _ORDERED:
        _check_order(parts, writers)


def _check_order(parts: Sequence[Sequence[tuple[int, ...]]], writers: int) -> None:
    for part in parts:
        for writer in range(writers):
            rows = [row[2] for row in part if row[1] == writer]
            assert rows == sorted(rows)


def test_writers_wait_while_nobody_reads() -> None:
    """A stopped reader stops the writers below limit and a batch; then everything goes on."""
    size = _batch(0, 0).nbytes
    exchange = _exchange("passthrough", 1, 1, options=LocalOptions(3 * size))
    writing = threading.Thread(target=_write, args=(exchange, 0), daemon=True)
    writing.start()
    while exchange.waiting_bytes < 3 * size:
        writing.join(0.001)
    assert exchange.peak_bytes == 3 * size
    assert writing.is_alive()
    assert len(_read(exchange, 0)) == _BATCHES * _ROWS
    writing.join(_PATIENCE)
    assert not writing.is_alive()


@pytest.mark.parametrize("key", ["k", pc.add(pc.field("k"), 1)], ids=str)
@pytest.mark.parametrize("columns", [["row", "k"], ["row"], None], ids=str)
def test_a_key_partition_hands_out_a_chunk_a_key(key: Key, columns: Sequence[str] | None) -> None:
    """Each chunk has the rows of one key, NULL among them, whether that travels or not."""
    rule = PartitionRule([key], 1, columns=columns)
    exchange = ThreadedLocalExchange("key-partition", _SCHEMA, 1, 1, rule=rule)
    columns = [pa.array(values, pa.int64()) for values in ([5, None, 5, 6], [0] * 4, range(4))]
    exchange.write(0, pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
    exchange.finish()
    chunks = [exchange.read(0, 0), exchange.read(0, 0), exchange.read(0, 0)]
    assert [chunk["row"].to_pylist() for chunk in chunks if chunk] == [[0, 2], [1], [3]]
    assert exchange.read(0, 0) is None


@pytest.mark.parametrize("kind", BY_HASH)
@pytest.mark.parametrize("key", ["k", pc.add(pc.field("k"), 1)], ids=str)
@pytest.mark.parametrize("columns", [["row", "k"], ["row"], ["row", "writer"], None], ids=str)
def test_the_columns_of_the_rule_travel(
    kind: LocalKind, key: Key, columns: Sequence[str] | None
) -> None:
    """In their order, keys among them or not, whether a key is a column or computed."""
    rule = PartitionRule([key], 2, columns=columns)
    exchange = ThreadedLocalExchange(kind, _SCHEMA, 1, 2, rule=rule)
    batch = _batch(0, 0)
    exchange.write(0, batch)
    exchange.finish()
    chunks = [chunk for reader in range(2) for chunk in iter(partial(exchange.read, reader), None)]
    expected = batch if columns is None else batch.select(columns)
    assert {tuple(chunk.schema.names) for chunk in chunks} == {tuple(expected.schema.names)}
    assert sorted(map(repr, pa.Table.from_batches(chunks).to_pylist())) == sorted(
        map(repr, expected.to_pylist())
    )


def test_who_waits_is_told_of_a_failure() -> None:
    """Readers and writers that wait when it is cancelled get the reason, and so does who comes."""
    exchange = _exchange("passthrough", 2, 2, options=LocalOptions(1))
    exchange.write(0, _batch(0, 0))

    def told(work: Callable[[], Any]) -> str:
        with pytest.raises(ExchangeFailedError) as caught:
            work()
        return str(caught.value)

    threading.Timer(0.05, exchange.cancel, ("the query ended",)).start()
    said = _together(
        lambda: told(lambda: exchange.write(1, _batch(1, 1))),
        lambda: told(lambda: exchange.read(1, _PATIENCE)),
    )
    assert [*said, told(exchange.finish), told(lambda: exchange.read(0))] == ["the query ended"] * 4
    assert exchange.waiting_bytes == 0


def test_a_reader_that_needs_no_more_stops_nobody() -> None:
    """What comes to it is dropped; the others get their rows."""
    exchange = _exchange("broadcast", 1, 2, options=LocalOptions(1))
    exchange.finish_reader(0)
    assert len(_together(lambda: _write(exchange, 0), lambda: _read(exchange, 1))[1]) == 480
    assert exchange.read(0, 0) is None


def test_what_cannot_be_is_refused() -> None:
    """Rules that do not fit, another schema, a writer too many, waiting in vain."""
    rule = PartitionRule(["k"], 2)
    for kind, wrong, says in (
        ("passthrough", rule, "go by a partition rule, and only they"),
        ("partition", None, "go by a partition rule, and only they"),
        ("partition", rule, "2 parts, there are 3 readers"),
    ):
        with pytest.raises(UsageError, match=says):
            ThreadedLocalExchange(kind, _SCHEMA, 1, 3, rule=wrong)  # type: ignore[arg-type]
    exchange = _exchange("partition", 1, 2)
    with pytest.raises(UsageError, match="another schema"):
        exchange.write(0, pa.record_batch({"k": [1]}))
    with pytest.raises(UsageError, match="no writer 1"):
        exchange.write(1, _batch(0, 0))
    with pytest.raises(ExchangeFailedError, match=r"nothing came to reader 0 in 0\.01 s"):
        exchange.read(0, 0.01)
    nested = pa.schema([("k", pa.list_(pa.int8()))])
    keyed = ThreadedLocalExchange("key-partition", nested, 1, 2, rule=rule)
    with pytest.raises(RefusedError, match="cannot tell keys apart"):
        keyed.write(0, pa.record_batch({"k": pa.array([[1]], pa.list_(pa.int8()))}))


def test_sides_of_the_seam_find_each_other_in_this_process_alone() -> None:
    """An address is of one process; a receiver that is closed early fails its senders."""
    exchange = resolve("exchange", "seambench")
    request = ExchangeRequest(_SCHEMA, "hash", ["k"], receivers=2, transport="local")
    with pytest.raises(UnavailableError, match="is not in this process"):
        exchange.connect(request, 0, ["threads:0", "threads:1"])
    receivers = [exchange.listen(request, "") for _ in range(2)]
    sender = exchange.connect(request, 0, [one.address for one in receivers])
    sender.write(_batch(0, 0))
    sender.finish()
    receivers[0].close()
    assert receivers[1].read(0, _PATIENCE) is not None
    sender.close()
    receivers[1].close()
    receivers = [exchange.listen(request, "") for _ in range(2)]
    sender = exchange.connect(request, 0, [one.address for one in receivers])
    receivers[0].close()
    with pytest.raises(ExchangeFailedError, match="a receiver was closed"):
        sender.write(_batch(0, 0))
    receivers[1].close()
    del sender, receivers
    gc.collect()  # the exception knows its frames
    assert exchange.live_blocks() == 0

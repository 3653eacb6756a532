"""A sink of several drivers, near and far destinations, buckets: what leaves, how compressed."""

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.exchange.formats.adaptive import CompressStrategy
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.formats.protobuf import CHUNK, PARAMS
from seamkit.exchange.logic.messages import Answer, Chunk, QueryStatistics, Request
from seamkit.exchange.logic.options import SinkOptions
from seamkit.exchange.partition import KeyColumns, PartitionRule
from seamkit.exchange.sink import Buckets, ExchangeSink, Routing
from seamkit.exchange.source import ExchangeFailedError, ExchangeSource, SourceRegistry
from seamkit.exchange.transports import local
from seamkit.exchange.transports.by_name import serve
from seamkit.exchange.transports.local import LocalChannel
from seamkit.exchange.transports.wire import decode_request, encode_request
from seamkit_tests.samples.exchange_samples import (
    EXCHANGE,
    PATIENCE,
    SCHEMA,
    Way,
    addresses_of,
    known,
    sample_batch,
    send,
    sink_to,
    until,
)


def _sink(ways: list[Any], routing: Routing, **options: Any) -> ExchangeSink:
    own = {"be_number": 3, "max_transmit_batched_bytes": 0}
    return sink_to(*ways, routing=routing, **own, **options)


def test_a_destination_that_takes_nothing_holds_up_no_other() -> None:
    """Seven of eight get every request and their end while the eighth stands within its first."""
    ways = [Way(0 if number == 2 else 100) for number in range(8)]
    sink = _sink(ways, Routing("broadcast"))
    driver = sink.driver()
    for number in range(50):
        driver.write(sample_batch(number, 4))
    driver.finish()
    others = [way for number, way in enumerate(ways) if number != 2]
    until(lambda: all(way.sent and way.sent[-1].eos for way in others))
    assert [len(way.sent) for way in others] == [51] * 7
    assert ways[2].sent == []
    ways[2].gate.release(100)
    sink.wait_finished(PATIENCE)
    assert len(ways[2].sent) == 51


@pytest.mark.parametrize("drivers", [1, 2, 4])
@pytest.mark.parametrize("pass_through", [True, False])
def test_the_end_is_sent_once_after_the_last_driver(drivers: int, pass_through: bool) -> None:
    """Of all drivers' ends one leaves to each destination, last, with what the sender did."""
    ways = [Way(pass_through=pass_through) for _ in range(3)]
    sink = _sink(ways, Routing("hash", PartitionRule(["k"], 3, 2)), drivers=drivers)
    made = [sink.driver() for _ in range(drivers)]
    for number, driver in enumerate(made):
        driver.write(sample_batch(number * 100, 100))
        assert not any(request.eos for way in ways for request in way.sent)
        driver.finish()
    sink.wait_finished(PATIENCE)
    for way in ways:
        assert [request.eos for request in way.sent] == [False] * (len(way.sent) - 1) + [True]
        assert [request.sequence for request in way.sent] == list(range(len(way.sent)))
        said = way.sent[-1].statistics
        assert said is not None
        assert said.rows == drivers * 100
        assert said.memory_bytes > 0
        assert {request.pipeline_level_shuffle for request in way.sent} == {True}
        assert {request.use_pass_through for request in way.sent} == {pass_through}


@contextlib.contextmanager
def _served(folder: Path, name: str) -> Iterator[tuple[str, ExchangeSource, SourceRegistry]]:
    registry, source = known()
    with contextlib.closing(serve("sockets", registry, f"unix:{folder / name}")) as server:
        yield server.address, source, registry


@pytest.mark.parametrize("pass_through", [True, False])
def test_each_destination_is_reached_in_its_own_way(tmp_path: Path, pass_through: bool) -> None:
    """The one that is known here gets the very buffers, the other bytes; by a switch none does."""
    batches = [sample_batch(start, 50) for start in (0, 50, 100)]
    with _served(tmp_path, "a") as (near, here, registry), _served(tmp_path, "b") as (far, away, _):
        local.announce(near, registry)
        channels = [
            local.channel_to("sockets", address, EXCHANGE, pass_through=pass_through)
            for address in (near, far)
        ]
        local.withdraw(near)
        assert [channel.pass_through for channel in channels] == [pass_through, False]
        sink = _sink(channels, Routing("broadcast"))
        driver = sink.driver()
        for batch in batches:
            driver.write(batch)
        driver.finish()
        read = [list(source.batches(0, PATIENCE)) for source in (here, away)]
        sink.wait_finished(PATIENCE)
    assert read[0] == read[1] == batches
    written = [addresses_of(batch) for batch in batches]
    assert ([addresses_of(batch) for batch in read[0]] == written) is pass_through
    assert not {at for one in read[1] for at in addresses_of(one)} & {a for w in written for a in w}
    passed = sum(batch.get_total_buffer_size() for batch in batches)
    assert sink.counters()["bytes_pass_through"] == (passed if pass_through else 0)
    assert sink.counters()["bytes_sent"] > 0


@pytest.mark.parametrize(
    ("listens", "asked"),
    [("tcp:127.0.0.1:9", "tcp:localhost:9"), ("unix:/tmp/seam-x/../seam-y", "unix:/tmp/seam-y")],
)
def test_an_address_is_known_in_any_spelling(listens: str, asked: str) -> None:
    """Hosts are compared by their number and paths without detours; another port is elsewhere."""
    registry = SourceRegistry()
    local.announce(listens, registry)
    try:
        assert local.find_local(asked) is registry
        assert local.find_local(f"{asked}1") is None
    finally:
        local.withdraw(asked)
    assert local.find_local(listens) is None


def test_random_rows_stay_where_a_receiver_is_near() -> None:
    """Turns are taken among local channels alone, if there is one; otherwise among all."""
    for near, expected in (((1, 3), [0, 3, 0, 3, 0]), ((), [2, 1, 1, 1, 1])):
        ways = [Way(pass_through=number in near) for number in range(5)]
        sink = _sink(ways, Routing("random"))
        send(sink, *(sample_batch(number, 2) for number in range(6)))
        assert [len(way.chunks) for way in ways] == expected


def test_a_measurement_of_the_network_drops_what_stays() -> None:
    """enable_exchange_perf: local destinations get their end and no row, the others everything."""
    ways = [Way(pass_through=True), Way()]
    sink = _sink(ways, Routing("broadcast"), options=SinkOptions(enable_exchange_perf=True))
    send(sink, sample_batch(0, 10))
    assert [len(way.chunks) for way in ways] == [0, 1]
    assert [way.sent[-1].eos for way in ways] == [True, True]


def test_a_sink_beyond_its_memory_fails_for_everybody() -> None:
    """The driver gets the allocator's refusal; other drivers, and who waits, the same reason."""
    options = SinkOptions(memory_limit_bytes=1 << 15)
    sink = _sink([Way()], Routing("hash", PartitionRule(["k"], 1)), drivers=2, options=options)
    first, second = sink.driver(), sink.driver()
    with pytest.raises(NativeMemoryError) as caught:
        first.write(sample_batch(0, 4000))
    with pytest.raises(ExchangeFailedError) as failed:
        second.finish()
    assert str(failed.value) == str(caught.value)
    with pytest.raises(ExchangeFailedError):
        sink.wait_finished(0)


def test_a_batch_that_cannot_be_handed_over_fails_the_sink() -> None:
    """Whoever writes gets the error, and so does whoever waits: nobody waits for ever."""

    class Broken(Way):
        def send(self, request: Request) -> None:
            raise RuntimeError(f"request {request.sequence} fell down")

    sink = _sink([Broken(pass_through=True)], Routing("single"))
    with pytest.raises(RuntimeError, match="fell down"):
        sink.driver().write(sample_batch(0, 10))
    with pytest.raises(ExchangeFailedError, match="could not be handed over: request 0 fell down"):
        sink.wait_finished(0)


def _buckets(keys: list[int], count: int) -> list[int]:
    """By zlib, which shares no code with the core."""
    return [zlib.crc32(key.to_bytes(8, "little")) % count for key in keys]


@pytest.mark.parametrize("unused", ["refuse", "drop"])
def test_buckets_go_to_who_has_them(unused: Any) -> None:
    """Several at one channel, each to its driver; of those that nobody has the rows are counted."""
    rule = PartitionRule(["k"], 8, function="crc32", chunk_rows=10)
    buckets = Buckets([0, 1, None, 1, 0, None, 0, 1], [0, 1, 0, 2, 1, 0, 2, 0], unused)
    ways = [Way(pass_through=True), Way(pass_through=True)]
    sink = _sink(ways, Routing("bucket", rule, buckets))
    keys = list(range(300))
    if unused == "refuse":
        with pytest.raises(RefusedError, match=r"belong to bucket [25], which no instance has"):
            send(sink, sample_batch(0, 300))
        with pytest.raises(ExchangeFailedError, match="no instance has"):
            sink.wait_finished(0)
        return
    send(sink, sample_batch(0, 300))
    at = dict(zip(keys, _buckets(keys, 8), strict=True))
    for number, way in enumerate(ways):
        came = [(key, chunk.driver_sequence) for chunk in way.chunks for key in _keys(chunk)]
        places = [(bucket, buckets.drivers[bucket]) for bucket in range(8) if buckets.drivers]
        expected = [
            (key, driver_)
            for bucket, driver_ in places
            for key in keys
            if at[key] == bucket and buckets.channels[bucket] == number
        ]
        assert sorted(came) == sorted(expected)
    lost = sum(buckets.channels[bucket] is None for bucket in at.values())
    assert sink.counters()["rows_of_unused_buckets"] == lost > 0


def _keys(chunk: Chunk) -> list[int]:
    keys: list[int] = chunk.payload.batch()["k"].to_pylist()
    return keys


@pytest.mark.parametrize(
    ("routing", "says"),
    [
        (Routing("bucket"), "by a partition rule"),
        (Routing("bucket", PartitionRule(["k"], 2)), "by a map of buckets"),
        (Routing("bucket", PartitionRule(["k"], 3), Buckets([0, 1])), "3 buckets, the map has 2"),
        (Routing("bucket", PartitionRule(["k"], 2), Buckets([0, 2])), "one of 2 channels"),
        (Routing("bucket", PartitionRule(["k"], 2), Buckets([0, -1])), "one of 2 channels"),
        (Routing("bucket", PartitionRule(["k"], 2), Buckets([0, 1], [0])), "a driver each"),
        (Routing("bucket", PartitionRule(["k"], 2, 2), Buckets([0, 1], [0, 1])), "has none"),
        (Routing("hash", PartitionRule(["k"], 2), Buckets([0, 1])), "only that, goes by a map"),
    ],
)
def test_buckets_that_cannot_be_are_refused(routing: Routing, says: str) -> None:
    """A map fits the rule and the channels, or the sink is not made."""
    with pytest.raises(UsageError, match=says):
        _sink([Way(), Way()], routing)


def test_columns_stay_behind_and_keys_are_computed() -> None:
    """What travels are the columns that were named; rows meet by the value of an expression."""
    rule = PartitionRule([pc.bit_wise_and(pc.field("k"), 1)], 2, columns=["price", "name"])
    ways = [Way(pass_through=True), Way(pass_through=True)]
    sink = _sink(ways, Routing("hash", rule), output_columns=["price", "name"])
    send(sink, sample_batch(0, 40))
    batches = [chunk.payload.batch() for way in ways for chunk in way.chunks]
    assert [batch.schema.names for batch in batches] == [["price", "name"]] * 2
    found = sorted([int(price) for price in batch["price"].to_pylist()] for batch in batches)
    assert found == [list(range(0, 40, 2)), list(range(1, 40, 2))]


@pytest.mark.parametrize("kind", [pa.uuid(), pa.list_(pa.uuid()), pa.int8()], ids=str)
def test_columns_of_any_type_are_put_in_order(kind: pa.DataType) -> None:
    """Arrow makes no empty table of types of extensions; their columns travel nevertheless."""
    batch = pa.RecordBatch.from_arrays([pa.nulls(2, kind), pa.array([1, 2])], ["u", "k"])
    columns = KeyColumns(batch.schema, [pc.bit_wise_and(pc.field("k"), 1)], ["k", "u"])
    assert columns.arrange(batch).schema.equals(columns.schema)
    assert columns.schema.names == ["k", "u", "key 0"]
    assert columns.schema.field("u").type == kind


def test_every_field_of_a_request_comes_back() -> None:
    """Instance, pass-through, shuffle and statistics, under StarRocks' numbers."""
    request = Request(
        *(7, 2, (), True, 5),
        finst_id=(1 << 127) | 12345,
        pipeline_level_shuffle=False,
        statistics=QueryStatistics(10, 20),
    )
    message, _ = encode_request(9, request, inline=True)
    assert decode_request(message, None) == (9, request)
    fields = {field.number for field, _ in PARAMS.FromString(message).ListFields()}
    assert fields == {1, 2, 3, 4, 5, 6, 8, 10}


def test_passed_through_is_not_said_over_a_network() -> None:
    """Chunks cannot both have come as bytes and be in a buffer of this process."""
    request = Request(1, 0, (Chunk(b"abc", 3),), False, 0)
    message, _ = encode_request(9, request, inline=True)
    told = PARAMS.FromString(message)
    told.use_pass_through = True
    with pytest.raises(InputError, match="said to have been passed through"):
        decode_request(told.SerializeToString(), None)


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request(0, 0, (), False, 0, finst_id=8), "for instance 8, not 7"),
        (
            Request(0, 0, (Chunk(b"", 0, 1),), False, 0, pipeline_level_shuffle=False),
            "shuffles to no drivers",
        ),
    ],
)
def test_a_request_for_somebody_else_fails_the_exchange(request_: Request, says: str) -> None:
    """An instance that is not this one, or a driver though there is no shuffle to drivers."""
    source = ExchangeSource(1, 2)
    source.be_instance(7)
    answers: list[Answer] = []
    source.deliver(request_, answers.append)
    assert says in str(answers[0].error)
    with pytest.raises(ExchangeFailedError, match=says):
        source.read(0, PATIENCE)


def test_what_senders_say_of_themselves_is_kept() -> None:
    """Each sender once, with its end."""
    registry, source = known(format_=None)
    sink = _sink([LocalChannel(registry, EXCHANGE)], Routing("single"), instances=[0])
    driver = sink.driver()
    driver.write(sample_batch(0, 10))
    assert source.sender_statistics == {}
    driver.finish()
    assert {number: said.rows for number, said in source.sender_statistics.items()} == {3: 10}
    assert len(list(source.batches(0, PATIENCE))) == 1


def _presto_sink(ways: list[Any], routing: Routing, **options: Any) -> ExchangeSink:
    return sink_to(*ways, routing=routing, format=chunk_format("presto", SCHEMA), **options)


@pytest.mark.parametrize("kind", ["single", "random", "broadcast"])
def test_small_batches_leave_as_one_page(kind: Any) -> None:
    """Rows of fifty batches are collected for one page, in their order.

    A batch of 5000 rows is a chunk of its own, after those that waited.
    """
    ways = [Way() for _ in range(1 if kind == "single" else 2)]
    sink = _presto_sink(ways, Routing(kind), max_transmit_batched_bytes=1 << 30)
    batches = [sample_batch(number, 20) for number in range(50)] + [sample_batch(99, 5000)]
    send(sink, *batches)
    decode = chunk_format("presto", SCHEMA).decode
    for way in ways if kind == "broadcast" else ways[:1]:
        found = [decode(chunk.payload) for chunk in way.chunks]
        assert [batch.num_rows for batch in found] == [1000, 5000]
        assert pa.Table.from_batches(found) == pa.Table.from_batches(batches)
        way.sent.clear()
    assert sink.allocator.counters().current_bytes == 0


def test_collected_rows_count_against_the_limit() -> None:
    """What waits is the sink's memory: at its limit the query fails, and nothing stays held."""
    way = Way()
    limit = SinkOptions(memory_limit_bytes=16 << 10)
    sink = _presto_sink([way], Routing("single"), max_transmit_batched_bytes=1 << 30, options=limit)
    driver, batches = sink.driver(), [sample_batch(number, 20) for number in range(200)]

    def write() -> None:
        for batch in batches:
            driver.write(batch)

    with pytest.raises(NativeMemoryError, match="memory limit"):
        write()
    with pytest.raises(ExchangeFailedError, match="memory limit"):
        sink.wait_finished(PATIENCE)


@pytest.mark.parametrize(
    ("raw", "packed", "nanoseconds", "exact", "whole"),
    [
        # ratio 4, 800 MB/s: (4 / 2.1) * (800 / 600) > 1; whole bytes a nanosecond are 0.
        (800_000, 200_000, 1_000_000, True, False),
        # ratio 4, 2 GB/s; both ways of counting agree.
        (2_000_000, 500_000, 1_000_000, True, True),
        # ratio 1.9 at 2 GB/s: whole, the ratio is 1: (1 / 2.1) * (2000 / 600) > 1 all the same.
        (1_900_000, 1_000_000, 950_000, True, True),
        # ratio 1.05 at 600 MB/s pays nothing.
        (630_000, 600_000, 1_050_000, False, False),
        # ratio 1.9, 1.5 GB/s: (1.9 / 2.1) * (1500 / 600) > 1; whole: (1 / 2.1) * (1000 / 600) < 1.
        (1_900_000, 1_000_000, 1_266_667, True, False),
    ],
)
def test_what_counts_as_paid(
    raw: int, packed: int, nanoseconds: int, exact: bool, whole: bool
) -> None:
    """Ratio over 2.1 times megabytes a second over 600, above 1; or with whole divisions."""
    for rewards, paid in (("exact", exact), ("whole", whole)):
        strategy = CompressStrategy(rewards)  # type: ignore[arg-type]
        strategy.feed(raw, packed, nanoseconds)
        assert (strategy.successes, strategy.failures) == (4, 1) if paid else (3, 2)


@pytest.mark.parametrize(("packed", "often"), [(1000, True), (1_000_000, False)])
def test_it_learns(packed: int, often: bool) -> None:
    """After a hundred good chunks it nearly always compresses, after bad ones nearly never."""
    strategy = CompressStrategy(seed=1)
    for _ in range(100):
        strategy.feed(1_000_000, packed, 1_000_000)
    assert sum(strategy.choose() for _ in range(100)) == (100 if often else 0)


def test_it_begins_by_compressing_mostly() -> None:
    """Beta(3, 1) is above one half in seven of eight draws."""
    strategy = CompressStrategy(seed=2)
    assert 840 <= sum(strategy.choose() for _ in range(1000)) <= 910


def test_chunks_are_read_whatever_was_chosen() -> None:
    """Of many chunks some are compressed and some may not be; each says so, and all come back."""
    batch = pa.record_batch({"k": pa.array([n % 3 for n in range(5000)], pa.int64())})
    bound = chunk_format("starrocks", batch.schema, {"codec": "auto", "encode_level": 0})
    seen = set()
    for _ in range(30):
        content = bound.encode(batch)
        seen.add(CHUNK.FromString(content).compress_type)
        assert bound.decode(content).equals(batch)
    assert seen <= {2, 4}  # NO_COMPRESSION, LZ4
    assert 4 in seen

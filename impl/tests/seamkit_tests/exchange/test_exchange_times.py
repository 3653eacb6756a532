"""Where the time of an exchange goes, as both sides count it."""

import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from seamkit.exchange.logic.messages import Answer
from seamkit.exchange.partition import PartitionRule
from seamkit.exchange.sink import Routing
from seamkit.exchange.times import RoundTrips, Spent
from seamkit.exchange.transports import local
from seamkit.exchange.transports.by_name import connect, serve
from seamkit.exchange.transports.wire import decode_answer, encode_answer
from seamkit_tests.samples.exchange_samples import EXCHANGE, PATIENCE, known, sample_batch, sink_to


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the clock."""
    now = [0]
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])
    return lambda ns: now.__setitem__(0, ns)


def test_a_part_within_another_is_counted_once(at: Callable[[int], None]) -> None:
    """Encoding within dealing, and sending within that, stop the clock of what they lie in."""
    spent = Spent()
    at(10)
    with spent.on("deal"):
        at(15)
        with spent.on("encode"):
            at(18)
        at(20)
        with spent.on("encode"):
            at(21)
            with suppress(KeyError), spent.on("send"):
                at(30)
                raise KeyError
            at(31)
        at(40)
    at(90)
    with spent.on("deal"):
        at(91)
    assert spent.ns == {"deal": 5 + 2 + 9 + 1, "encode": 3 + 1 + 1, "send": 9}


@pytest.mark.parametrize(
    ("told", "network"),
    [
        # Round trips of 100 and 100, two and one on the way when answered: (60 + 100) / 1.5.
        ((40, 0), 106),
        # A receiver is believed up to the whole time, and not below none.
        ((1_000, 100), 0),
        ((-5, 0), 133),
    ],
)
def test_time_on_the_way_leaves_out_the_receivers(
    at: Callable[[int], None], told: tuple[int, int], network: int
) -> None:
    """The sum of round trips without the receiver's time, by the mean of requests on the way."""
    trips = RoundTrips()
    at(1)
    trips.leave(0)
    at(11)
    trips.leave(1)
    at(101)
    trips.arrive(0, told[0])
    at(111)
    trips.arrive(1, told[1])
    trips.arrive(1, told[1])  # an answer that comes twice
    trips.arrive(9, 0)  # one to what never left
    assert (trips.network_ns, trips.answers) == (network, 2)
    assert (trips.first_ns, trips.last_ns) == (1, 111)


def test_an_answer_carries_the_receivers_time() -> None:
    """As `receiver_post_process_time`, the field 3 of StarRocks' PTransmitChunkResult."""
    message = encode_answer(Answer(4, 2, receiver_ns=5))
    assert b"\x18\x05" in message
    assert decode_answer(message).receiver_ns == 5
    silent = encode_answer(Answer(4, 2))
    assert silent == message.replace(b"\x18\x05", b"")
    assert decode_answer(silent).receiver_ns == 0


@pytest.mark.parametrize("transport", ["pass-through", "sockets", "grpc", "flight"])
@pytest.mark.parametrize("routing", ["hash", "broadcast"])
@pytest.mark.parametrize("withholds", [False, True])
def test_both_sides_say_what_they_did(
    tmp_path: Path, transport: str, routing: str, withholds: bool
) -> None:
    """What a way does has a time, and what it does not has none."""
    limits: dict[str, Any] = {"exchg_node_buffer_size_bytes": 0} if withholds else {}
    registry, source = known(**limits)
    passes = transport == "pass-through"
    way = "sockets" if passes else transport
    with closing(serve(way, registry, f"unix:{tmp_path / 'a'}")) as server:
        local.announce(server.address, registry)
        channel = (
            local.channel_to(way, server.address, EXCHANGE)
            if passes
            else connect(way, server.address, EXCHANGE)
        )
        local.withdraw(server.address)
        rule = PartitionRule(["k"], 1, 1)
        to = Routing("hash", rule) if routing == "hash" else Routing("broadcast")
        sink = sink_to(channel, routing=to, max_transmit_batched_bytes=0)
        driver = sink.driver()
        for number in range(5):
            driver.write(sample_batch(number * 5000, 5000))
        driver.finish()
        rows = sum(batch.num_rows for batch in source.batches(0, PATIENCE))
        sink.wait_finished(PATIENCE)
        assert source.wait_answered(PATIENCE)
        sent, came = sink.counters(), source.counters()
        sink.close()
    assert rows == 25_000
    assert (sent["shuffle_time"] > 0) == (routing == "hash")
    assert (sent["serialize_chunk_time"] > 0) == (not passes)
    assert sent["overall_time"] > 0
    assert sent["rpc_count"] == sent["requests_sent"] > 0
    assert (came["deserialize_chunk_time"] > 0) == (not passes)
    assert came["receiver_process_total_time"] > 0
    assert (came["closure_block_count"] > 0) == withholds
    assert (came["closure_block_time"] > 0) == withholds
    assert came["requests_received"] == sent["requests_sent"]
    assert came["bytes_received"] == sent["bytes_sent"] + sent["bytes_pass_through"]

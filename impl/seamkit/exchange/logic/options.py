"""The knobs of an exchange, under the names and with the defaults of StarRocks' configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seambase.errors import UsageError


@dataclass(frozen=True)
class SinkOptions:
    """The sender's side.

    Attributes:
        pipeline_sink_brpc_dop: requests in flight to one destination; with `keep_order` the width
            of the window of sequence numbers.
        pipeline_sink_buffer_size: waiting requests per destination, beyond which the sink is full.
        max_buffered_bytes: bytes waiting or in flight, beyond which the sink is full; None for no
            bound, as in StarRocks before 2026.
        keep_order: the receiver merges, so what it gets must be in order.
        drain: how many requests an answer lets go. `one`: as StarRocks does, by which a backlog
            leaves one by one; `window`: as many as the window has room for.
        memory_limit_bytes: beyond which the sink's allocator gives nothing for rows that are dealt;
            the query fails then, with that reason. None for no limit.
        enable_exchange_perf: drop what is for receivers of this process, to measure the network
            alone; their ends still come. Not for fragments that aggregate what they receive.
    """

    pipeline_sink_brpc_dop: int = 64
    pipeline_sink_buffer_size: int = 64
    max_buffered_bytes: int | None = 64 << 20
    keep_order: bool = False
    drain: Literal["window", "one"] = "window"
    memory_limit_bytes: int | None = None
    enable_exchange_perf: bool = False

    def __post_init__(self) -> None:
        if self.pipeline_sink_brpc_dop < 1:
            raise UsageError("pipeline_sink_brpc_dop is 1 or more: nothing could ever be sent")
        if self.pipeline_sink_buffer_size < 0 or (self.max_buffered_bytes or 0) < 0:
            raise UsageError("bounds of the sink buffer are 0 or more")
        if self.memory_limit_bytes is not None and self.memory_limit_bytes < 1:
            raise UsageError("the limit of a sink's memory is 1 byte or more")


@dataclass(frozen=True)
class ReceiverOptions:
    """The receiver's side.

    Attributes:
        exchg_node_buffer_size_bytes: buffered bytes beyond which answers are withheld.
        most_waiting_chunks: chunks, of any size, beyond which they are withheld as well.
        window: requests that one sender may have without an answer, its `pipeline_sink_brpc_dop`
            or more; a sender that sends more ends the exchange. With it, what a receiver holds is
            at most its buffer and a window of requests from each sender.
        unplug_threshold: chunks that must wait before a driver starts to read.
        pipeline_level_shuffle: chunks go to the queue of their driver sequence, not all to one.
        keep_order: chunks of a sender come out in the order of their sequence numbers.
        drivers: with `keep_order`, readers of what each sender sends, a queue for each of both.
        most_starved_bytes: of a sender for whose rows a merging driver waits, so that nothing keeps
            it from sending: bytes beyond the buffer that come for other drivers meanwhile. One that
            sends more ends the exchange.
        duplicates: `drop`: a request that came before is answered and forgotten; `accept`: as
            StarRocks' unordered receiver does, by which its rows count twice.
    """

    exchg_node_buffer_size_bytes: int = 10 << 20
    most_waiting_chunks: int = 65_536
    window: int = 64
    unplug_threshold: int = 16
    pipeline_level_shuffle: bool = True
    keep_order: bool = False
    drivers: int = 1
    most_starved_bytes: int = 1 << 28
    duplicates: Literal["drop", "accept"] = "drop"

    def __post_init__(self) -> None:
        if self.exchg_node_buffer_size_bytes < 0 or self.unplug_threshold < 1:
            raise UsageError("a receiver buffers 0 bytes or more and unplugs at 1 chunk or more")
        if self.drivers < 1 or self.most_starved_bytes < 0:
            raise UsageError("drivers of a receiver are 1 or more, bytes 0 or more")
        if self.window < 1 or self.most_waiting_chunks < 0:
            raise UsageError("a window is 1 request or more, chunks that wait 0 or more")
        if self.keep_order and self.duplicates == "accept":
            raise UsageError("a receiver that keeps order cannot take a sequence number twice")

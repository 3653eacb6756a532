"""The exchange as the suites and the command line see it."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambase.wording import counted
from seambench import __version__
from seambench.contracts.common import Kind, Stage
from seambench.contracts.exchange import (
    ExchangeRequest,
    ListeningReceiver,
    OpenExchange,
    RemoteSender,
)
from seambench.seams.exchange.pairs import OpenPair
from seambench_impl.exchange_local import LocalReceiver, LocalSender
from seambench_impl.stages.exchange import exchange_stages
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.formats.formats import FORMATS, ChunkFormat, chunk_format
from seamkit.exchange.logic.channel import Channel
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.partition import FUNCTIONS, Buckets, Key, PartitionRule, Routing
from seamkit.exchange.sink import ExchangeSink
from seamkit.exchange.sorted_senders import MergingReader, SortedMerge
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports import local
from seamkit.exchange.transports.base import Server
from seamkit.exchange.transports.by_name import TRANSPORTS, serve

#: Transports by which rows stay in their process.
WITHIN = "pass-through"
THREADS = "local"

_BATCHED = "max_transmit_batched_bytes"
_LOCAL_FIRST = "random_local_first"
_PARTS = "rpc_http_min_size"
_DECIDED = ("keep_order", "pipeline_level_shuffle", "drivers")
_SINK = {field.name for field in fields(SinkOptions)} - {*_DECIDED}
_RECEIVER = {field.name for field in fields(ReceiverOptions)} - {*_DECIDED}
#: What `knobs` of a request may name.
KNOBS = (*sorted(_SINK), *sorted(_RECEIVER), _BATCHED, _LOCAL_FIRST, _PARTS)


def check_request(request: ExchangeRequest) -> None:
    """Refuse what cannot be before anything is opened."""
    if min(request.senders, request.receivers, request.drivers, request.writers) < 1:
        raise UsageError("an exchange has a sender, a receiver, and a driver of each at least")
    if request.order != "none" and request.writers > 1:
        raise RefusedError("drivers of one sender that share its buffer keep no order")
    if (request.order == "merge") != bool(request.sort):
        raise UsageError("a merge, and only that, goes by keys to sort by")
    _check_dealing(request)
    if request.transport not in (WITHIN, THREADS, *TRANSPORTS):
        known = ", ".join((WITHIN, THREADS, *TRANSPORTS))
        raise UsageError(f"unknown transport {request.transport!r}; there are {known}")
    if unknown := [name for name in request.knobs if name not in KNOBS]:
        raise UsageError(f"there is no knob {unknown[0]!r}; there are {', '.join(KNOBS)}")
    if request.transport == THREADS:
        _check_local(request)


def _check_local(request: ExchangeRequest) -> None:
    if request.partition == "bucket":
        raise RefusedError("a local exchange knows no buckets")
    if request.output_columns or request.computed:
        raise RefusedError("a local exchange hands on whole rows, dealt by columns")
    if request.knobs or request.pass_through:
        raise RefusedError("a local exchange has no sink whose knobs could be turned")


def _check_dealing(request: ExchangeRequest) -> None:
    by_keys = request.partition in ("hash", "bucket")
    if by_keys and not request.keys:
        raise UsageError("rows are hashed by one key column at least")
    if request.partition == "single" and request.receivers > 1:
        raise UsageError(f"single partitioning has one receiver, not {request.receivers}")
    if not by_keys and (request.keys or request.computed):
        raise UsageError(f"{request.partition} partitioning goes by no keys")
    if (request.partition == "bucket") != bool(request.buckets):
        raise UsageError("bucket partitioning, and only that, goes by buckets")
    if request.bucket_drivers and max(request.bucket_drivers) >= request.drivers:
        raise UsageError(f"a bucket is bound to one of {counted(request.drivers, 'driver')}")
    if unknown := [name for name in request.computed if name not in request.keys]:
        raise UsageError(f"{unknown[0]!r} is computed, but it is no key")


def _key(request: ExchangeRequest, name: str) -> Key:
    if name not in request.computed:
        return name
    function, *arguments = request.computed[name]
    if function not in pc.list_functions():
        raise UsageError(f"key {name!r} is computed by no function of pyarrow.compute: {function}")
    values = [pc.field(each) if isinstance(each, str) else pc.scalar(each) for each in arguments]
    return pc.Expression._call(function, values)


def format_of(request: ExchangeRequest, owner: TrackedAllocator) -> ChunkFormat | None:
    """The format of an exchange of which rows become bytes."""
    if request.transport == WITHIN:
        return None
    return chunk_format(request.format, request.carried(), request.options, owner)


def rule_of(request: ExchangeRequest) -> PartitionRule | None:
    """By which rows are dealt, if they are."""
    if request.partition not in ("hash", "bucket"):
        return None
    buckets = request.partition == "bucket"
    return PartitionRule(
        keys=[_key(request, name) for name in request.keys],
        channels=len(request.buckets) if buckets else request.receivers,
        drivers=1 if request.bucket_drivers else request.drivers,
        function=request.function or ("crc32" if buckets else "fnv"),  # type: ignore[arg-type] # checked by the rule
        chunk_rows=request.chunk_rows,
        columns=request.output_columns or None,
    )


def routing_of(request: ExchangeRequest) -> Routing:
    """Which receiver a row goes to."""
    buckets = None
    if request.partition == "bucket":
        channels = [None if number == -1 else number for number in request.buckets]
        buckets = Buckets(channels, request.bucket_drivers or None, request.unused_buckets)
    local_first = bool(request.knobs.get(_LOCAL_FIRST, True))
    return Routing(request.partition, rule_of(request), buckets, local_first)


def sink_settings(request: ExchangeRequest) -> Mapping[str, Any]:
    """Arguments of the sink that knobs decide."""
    known = {name: value for name, value in request.knobs.items() if name in _SINK}
    found: dict[str, Any] = {
        "options": SinkOptions(keep_order=request.order != "none", **known),
    }
    if _BATCHED in request.knobs:
        found[_BATCHED] = request.knobs[_BATCHED]
    return found


def channel_settings(request: ExchangeRequest) -> Mapping[str, Any]:
    """Options of channels over a network that knobs decide."""
    return {_PARTS: request.knobs[_PARTS]} if _PARTS in request.knobs else {}


def receiver_options(request: ExchangeRequest) -> ReceiverOptions:
    """Of the receiver; its window is as wide as the senders' at least."""
    known = {name: value for name, value in request.knobs.items() if name in _RECEIVER}
    if request.buffer_bytes is not None:
        known["exchg_node_buffer_size_bytes"] = request.buffer_bytes
    usual = ReceiverOptions().window
    known.setdefault("window", max(usual, request.knobs.get("pipeline_sink_brpc_dop", usual)))
    ordered = request.order != "none"
    return ReceiverOptions(keep_order=ordered, drivers=request.drivers if ordered else 1, **known)


_EXCHANGE = 1
#: For the last answers of a receiver that closes to leave; a sender that takes none is left.
_SECONDS_TO_ANSWER = 10.0
_TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date"),
    *("timestamp", "timestamp_ntz", "string", "binary", "array", "map", "struct"),
)


class SeambenchExchange:
    """Implements `contracts.exchange.Exchange` over the sink, the source and every transport."""

    name = "seambench"
    version = __version__
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *(f"partitions.{kind}" for kind in ("hash", "broadcast", "random", "single")),
            *(f"functions.{function}" for function in FUNCTIONS),
            *("partitions.bucket", "buckets.drivers", "buckets.unused", "keys.computed"),
            *("drivers", "writers", "mixed", "output-columns"),
            *("cancel", "orders.sender", "orders.merge", "orders.drivers"),
            *(f"knobs.{name}" for name in KNOBS),
            *("sender", "receiver", "wires.seamxch"),
            *(f"formats.{format_}" for format_ in FORMATS),
            *(f"transports.{transport}" for transport in (WITHIN, THREADS, *TRANSPORTS)),
            *(f"encodings.{encoding}" for encoding in ("dictionary", "run", "view", "large")),
            *(f"types.{word}" for word in _TYPES),
        ),
        True,
    )

    def __init__(self) -> None:
        self._allocators: list[TrackedAllocator] = []
        self._timed = contextlib.ExitStack()
        weakref.finalize(self, self._timed.close)

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """Every step over a batch, in this process; those of the batch before are closed."""
        self._timed.close()
        allocator = TrackedAllocator()
        self._allocators.append(allocator)
        return exchange_stages(batch, allocator, self._timed)

    def open(self, request: ExchangeRequest) -> OpenExchange:
        """Make receivers, servers and senders; see `seambench.contracts.exchange.Exchange`."""
        check_request(request)
        return OpenPair(self, [self] * request.receivers, request)

    def listen(self, request: ExchangeRequest, address: str) -> ListeningReceiver:
        """One receiving side; see `seambench.contracts.exchange.Distributed`."""
        check_request(request)
        if request.transport == THREADS:
            return LocalReceiver(request)
        listening = _Receiver(request, address)
        self._count(listening.allocators)
        return listening

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> RemoteSender:
        """One sending side; see `seambench.contracts.exchange.Distributed`."""
        check_request(request)
        if len(addresses) != request.receivers:
            raise UsageError(
                f"{counted(request.receivers, 'receiver', 'have')} {len(addresses)} addresses"
            )
        remote = (
            LocalSender(request, rule_of(request), sender, addresses)
            if request.transport == THREADS
            else _Sender(request, sender, addresses)
        )
        self._count(remote.allocators)
        return remote

    def _count(self, allocators: Sequence[TrackedAllocator]) -> None:
        """Keep those of an exchange, and of others only what still holds something."""
        self._allocators = [one for one in self._allocators if one.counters().live_blocks]
        self._allocators += [one for one in allocators if one not in self._allocators]

    def live_blocks(self) -> int:
        """Blocks of memory that exchanges of this object still hold."""
        return sum(one.counters().live_blocks for one in self._allocators)


def _sink(
    request: ExchangeRequest, number: int, bound: ChunkFormat | None, addresses: Sequence[str]
) -> ExchangeSink:
    """The sink of one sending side, connected to every receiver."""
    return ExchangeSink(
        request.schema,
        [_channel(request, address) for address in addresses],
        routing_of(request),
        be_number=number,
        drivers=request.writers,
        format=bound,
        sender_id=number if request.order != "none" else 0,
        output_columns=request.output_columns or None,
        instances=[local.instance_at(address) for address in addresses],
        sort=[key.column for key in request.sort],
        **sink_settings(request),
    )


def _channel(request: ExchangeRequest, address: str) -> Channel:
    within = request.transport == WITHIN
    if within and local.find_local(address) is None:
        raise UnavailableError(f"{address} is not in this process: nothing can be passed there")
    return local.channel_to(
        *(request.transport, address, _EXCHANGE),
        pass_through=within or request.pass_through,
        **channel_settings(request),
    )


class _Sender:
    """One sending side: a sink and its drivers."""

    def __init__(self, request: ExchangeRequest, number: int, addresses: Sequence[str]) -> None:
        within = request.transport == WITHIN or request.pass_through
        registries = [local.find_local(address) for address in addresses if within]
        self._here = [registry for registry in registries if registry is not None]
        owner = TrackedAllocator()
        self.sink = _sink(request, number, format_of(request, owner), addresses)
        self.allocators = [owner, self.sink.allocator]
        self._number = number
        self._drivers = [self.sink.driver() for _ in range(request.writers)]
        self._open = set(range(request.writers))
        self._lock = threading.Lock()

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Send a batch on its way."""
        if not batch.schema.equals(self.sink.schema):
            raise UsageError(f"a batch of another schema:\n{batch.schema}")
        self._drivers[driver].write(batch)

    def finish(self, driver: int = 0) -> None:
        """End a driver; with the last of them, wait until everything is answered."""
        self._drivers[driver].finish()
        with self._lock:
            self._open.discard(driver)
            last = not self._open
        if last:
            self.sink.wait_finished()

    def counters(self) -> Mapping[str, int]:
        """See `seambench.contracts.exchange.Counted`."""
        return self.sink.counters()

    def cancel(self, reason: str) -> None:
        """Send nothing more; receivers lose this sender with its connections."""
        self.sink.cancel(reason)
        self.sink.close()
        for registry in self._here:
            registry.lose(_EXCHANGE, self._number, reason)

    def close(self) -> None:
        """Give up what was not answered, and every connection. Repeatable."""
        self.cancel("the sender was closed")


class _Receiver:
    """One receiving side behind an address."""

    def __init__(self, request: ExchangeRequest, address: str) -> None:
        owner = TrackedAllocator()
        self.allocators = [owner]
        bound = format_of(request, owner)
        ordered = request.order != "none"
        queues = request.drivers * (request.senders if ordered else 1)
        self._ordered, self._drivers = ordered, request.drivers
        self.source = ExchangeSource(request.senders, queues, bound, receiver_options(request))
        self._merging = [
            MergingReader(self.source, self._merge(request, owner), driver, request.drivers)
            for driver in range(request.drivers if request.order == "merge" else 0)
        ]
        registry = SourceRegistry()
        registry.register(_EXCHANGE, self.source)
        self._server: Server | None = None
        if request.transport == WITHIN:
            self.address = local.made_up_address()
        else:
            self._server = serve(request.transport, registry, address)
            self.address = self._server.address
        self.source.be_instance(local.instance_at(self.address))
        local.announce(self.address, registry)

    @staticmethod
    def _merge(request: ExchangeRequest, owner: TrackedAllocator) -> SortedMerge:
        """That of one driver."""
        return SortedMerge(
            request.carried(), request.sort, request.senders, request.chunk_rows, owner
        )

    def counters(self) -> Mapping[str, int]:
        """See `seambench.contracts.exchange.Counted`."""
        return self.source.counters()

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a driver."""
        if self._merging:
            return self._merging[driver].read(timeout)
        if self._ordered:
            return self.source.read_any(timeout, driver=driver, drivers=self._drivers)
        return self.source.read(driver, timeout)

    def cancel(self, reason: str) -> None:
        """Give up."""
        self.source.cancel(reason)

    def close(self) -> None:
        """Stop listening, and drop what nobody has read. Repeatable."""
        local.withdraw(self.address)
        self.source.cancel("the receiver was closed")
        self.source.wait_answered(_SECONDS_TO_ANSWER)
        if self._server is not None:
            self._server.close()

"""The exchange as the suites and the command line see it."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench import __version__
from seambench.contracts.common import Kind, Stage
from seambench.contracts.exchange import (
    ExchangeReceiver,
    ExchangeRequest,
    ExchangeSender,
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
from seamkit.exchange.merge import MergingReader, SortedMerge
from seamkit.exchange.partition import FUNCTIONS, PartitionRule, plain_schema
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.base import (
    Server,
)
from seamkit.exchange.transports.by_name import TRANSPORTS, connect, serve
from seamkit.exchange.transports.local import LocalChannel

__all__ = ["SeambenchExchange"]

_WITHIN = "pass-through"
_THREADS = "local"
_EXCHANGE = 1
_TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date"),
    *("timestamp_ntz", "string", "binary", "array", "map", "struct"),
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
            *("drivers", "cancel", "orders.sender", "orders.merge"),
            *("sender", "receiver", "wires.seamxch"),
            *(f"formats.{format_}" for format_ in FORMATS),
            *(f"transports.{transport}" for transport in (_WITHIN, _THREADS, *TRANSPORTS)),
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
        _check(request)
        if request.transport == _THREADS:
            return OpenPair(self, self, request)
        opened = _Open(request)
        self._count(opened.allocators)
        return opened

    def listen(self, request: ExchangeRequest, address: str) -> ListeningReceiver:
        """One receiving side; see `seambench.contracts.exchange.Distributed`."""
        _check(request)
        if request.transport == _THREADS:
            return LocalReceiver(request)
        listening = _Listening(request, address)
        self._count(listening.allocators)
        return listening

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> RemoteSender:
        """One sending side; see `seambench.contracts.exchange.Distributed`."""
        _check(request)
        if len(addresses) != request.receivers:
            raise UsageError(f"{request.receivers} receivers have {len(addresses)} addresses")
        remote = (
            LocalSender(request, _rule(request), sender, addresses)
            if request.transport == _THREADS
            else _Remote(request, sender, addresses)
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


def _check(request: ExchangeRequest) -> None:
    """Refuse what cannot be before anything is opened."""
    if request.senders < 1 or request.receivers < 1 or request.drivers < 1:
        raise UsageError("an exchange has a sender, a receiver and a driver at least")
    if request.order != "none" and request.drivers > 1:
        raise RefusedError("an exchange that keeps an order has one driver behind each receiver")
    if (request.order == "merge") != bool(request.sort):
        raise UsageError("a merge, and only that, goes by keys to sort by")
    if request.partition == "hash" and not request.keys:
        raise UsageError("rows are hashed by one key column at least")
    if request.partition == "single" and request.receivers > 1:
        raise UsageError(f"single partitioning has one receiver, not {request.receivers}")
    if request.partition != "hash" and request.keys:
        raise UsageError(f"{request.partition} partitioning goes by no keys")
    if request.transport not in (_WITHIN, _THREADS, *TRANSPORTS):
        known = ", ".join((_WITHIN, _THREADS, *TRANSPORTS))
        raise UsageError(f"unknown transport {request.transport!r}; there are {known}")


class _Open:
    """Both sides of one exchange in this process."""

    def __init__(self, request: ExchangeRequest) -> None:
        self._stack = contextlib.ExitStack()
        owner = TrackedAllocator()
        self.allocators = [owner]
        bound = _bound(request, owner)
        try:
            self._ends = [_Receiver(request, bound, owner) for _ in range(request.receivers)]
            ways = self._serve(request)
            senders = [self._sender(request, n, bound, ways) for n in range(request.senders)]
        except BaseException:
            self.close()
            raise
        self.receivers: Sequence[ExchangeReceiver] = self._ends
        self.senders: Sequence[ExchangeSender] = senders
        self.allocators += [sender.sink.allocator for sender in senders]

    def _serve(self, request: ExchangeRequest) -> Sequence[_Way]:
        """Something to connect to, for each receiver."""
        if request.transport == _WITHIN:
            return [_Way(_WITHIN, "", receiver.registry) for receiver in self._ends]
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="seam"))
        ways = []
        for number, receiver in enumerate(self._ends):
            address = f"unix:{Path(folder) / str(number)}"
            server = serve(request.transport, receiver.registry, address)
            self._stack.callback(server.close)
            ways.append(_Way(request.transport, server.address))
        return ways

    def _sender(
        self, request: ExchangeRequest, number: int, bound: Any, ways: Sequence[_Way]
    ) -> _Sender:
        sink = _sink(request, number, bound, ways)
        self._stack.callback(sink.close)
        return _Sender(number, sink, self._ends)

    def close(self) -> None:
        """End what still runs. Repeatable."""
        self._stack.close()


def _carried(request: ExchangeRequest) -> pa.Schema:
    """The schema of what travels: dealing rows resolves encodings, whole batches keep them."""
    return plain_schema(request.schema) if request.partition == "hash" else request.schema


def _bound(request: ExchangeRequest, owner: TrackedAllocator) -> ChunkFormat | None:
    """The format of an exchange whose rows become bytes."""
    if request.transport == _WITHIN:
        return None
    return chunk_format(request.format, _carried(request), request.options, owner)


def _sink(
    request: ExchangeRequest, number: int, bound: ChunkFormat | None, ways: Sequence[_Way]
) -> ExchangeSink:
    """The sink of one sending side, connected to every receiver."""
    return ExchangeSink(
        request.schema,
        [way.connect() for way in ways],
        _routing(request),
        be_number=number,
        format=bound,
        options=SinkOptions(keep_order=request.order != "none"),
        sender_id=number if request.order != "none" else 0,
    )


def _routing(request: ExchangeRequest) -> Routing:
    return Routing(request.partition, _rule(request))


def _rule(request: ExchangeRequest) -> PartitionRule | None:
    """By which rows are dealt, if they are."""
    if request.partition != "hash":
        return None
    return PartitionRule(
        keys=request.keys,
        channels=request.receivers,
        drivers=request.drivers,
        function=request.function or "fnv",  # type: ignore[arg-type] # checked by the rule
        chunk_rows=request.chunk_rows,
    )


@dataclass(frozen=True)
class _Way:
    """How senders reach one receiver: in this process, or by its address."""

    transport: str
    address: str
    registry: SourceRegistry | None = None

    def connect(self) -> Channel:
        """A new channel to it."""
        if self.registry is not None:
            return LocalChannel(self.registry, _EXCHANGE)
        return connect(self.transport, self.address, _EXCHANGE)


class _Sender:
    """One sending side: a sink with one driver."""

    def __init__(self, number: int, sink: ExchangeSink, receivers: Sequence[_Receiver]) -> None:
        self.sink = sink
        self._number = number
        self._driver = sink.driver()
        self._receivers = receivers

    def write(self, batch: pa.RecordBatch) -> None:
        """Send a batch on its way."""
        if not batch.schema.equals(self.sink.schema):
            raise UsageError(f"a batch of another schema:\n{batch.schema}")
        self._driver.write(batch)

    def finish(self) -> None:
        """End, and wait until everything is answered."""
        self._driver.finish()
        self.sink.wait_finished()

    def cancel(self, reason: str) -> None:
        """Send nothing more, and tell the receivers, as whoever runs the query would."""
        self.sink.cancel(reason)
        for receiver in self._receivers:
            receiver.source.lose(self._number, reason)


class _Receiver:
    """One receiving side."""

    def __init__(
        self, request: ExchangeRequest, bound: ChunkFormat | None, owner: TrackedAllocator
    ) -> None:
        ordered = request.order != "none"
        queues = request.senders if ordered else request.drivers
        self._ordered = ordered
        usual = ReceiverOptions()
        limit = request.buffer_bytes
        options = ReceiverOptions(
            keep_order=ordered,
            exchg_node_buffer_size_bytes=usual.exchg_node_buffer_size_bytes
            if limit is None
            else limit,
        )
        self.source = ExchangeSource(request.senders, queues, bound, options)
        self._merging: MergingReader | None = None
        if request.order == "merge":
            merge = SortedMerge(
                _carried(request), request.sort, request.senders, request.chunk_rows, owner
            )
            self._merging = MergingReader(self.source, merge)
        self.registry = SourceRegistry()
        self.registry.register(_EXCHANGE, self.source)

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a driver."""
        if self._merging is not None:
            return self._merging.read(timeout)
        if self._ordered:
            return self.source.read_any(timeout)
        return self.source.read(driver, timeout)

    def cancel(self, reason: str) -> None:
        """Give up."""
        self.source.cancel(reason)


class _Listening(_Receiver):
    """One receiving side behind an address."""

    #: Receivers of this process that pass-through senders find by their made-up address.
    _here: ClassVar[dict[str, SourceRegistry]] = {}

    def __init__(self, request: ExchangeRequest, address: str) -> None:
        owner = TrackedAllocator()
        self.allocators = [owner]
        super().__init__(request, _bound(request, owner), owner)
        self._server: Server | None = None
        if request.transport == _WITHIN:
            self.address = f"process:{secrets.token_hex(8)}"  # unlike any other process's
            self._here[self.address] = self.registry
        else:
            self._server = serve(request.transport, self.registry, address)
            self.address = self._server.address

    @classmethod
    def way_to(cls, transport: str, address: str) -> _Way:
        """How senders reach the receiver behind an address.

        Raises:
            UnavailableError: pass-through, and it is not in this process.
        """
        if transport != _WITHIN:
            return _Way(transport, address)
        if address not in cls._here:
            raise UnavailableError(f"{address} is not in this process: nothing can be passed there")
        return _Way(transport, address, cls._here[address])

    def close(self) -> None:
        """Stop listening, and drop what nobody has read. Repeatable."""
        self._here.pop(self.address, None)
        self.source.cancel("the receiver was closed")
        if self._server is not None:
            self._server.close()


class _Remote(_Sender):
    """One sending side that knows its receivers by their addresses."""

    def __init__(self, request: ExchangeRequest, number: int, addresses: Sequence[str]) -> None:
        ways = [_Listening.way_to(request.transport, address) for address in addresses]
        self._here = [way.registry for way in ways if way.registry is not None]
        owner = TrackedAllocator()
        super().__init__(number, _sink(request, number, _bound(request, owner), ways), ())
        self.allocators = [owner, self.sink.allocator]

    def cancel(self, reason: str) -> None:
        """Send nothing more; receivers lose this sender with its connections."""
        self.sink.cancel(reason)
        self.sink.close()
        for registry in self._here:
            registry.lose(_EXCHANGE, self._number, reason)

    def close(self) -> None:
        """Give up what was not answered, and every connection. Repeatable."""
        self.cancel("the sender was closed")

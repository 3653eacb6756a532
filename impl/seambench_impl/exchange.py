"""The exchange as the suites and the command line see it."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import UnavailableError, UsageError
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
from seambench_impl.exchange_request import (
    KNOBS,
    THREADS,
    WITHIN,
    channel_settings,
    check_request,
    format_of,
    receiver_options,
    routing_of,
    rule_of,
    sink_settings,
)
from seambench_impl.stages.exchange import exchange_stages
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.formats.formats import FORMATS, ChunkFormat
from seamkit.exchange.logic.channel import Channel
from seamkit.exchange.partition import FUNCTIONS
from seamkit.exchange.sink import ExchangeSink
from seamkit.exchange.sorted_senders import MergingReader, SortedMerge
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports import nearby
from seamkit.exchange.transports.base import (
    Server,
)
from seamkit.exchange.transports.by_name import TRANSPORTS, serve

_EXCHANGE = 1
#: For the last answers of a receiver that closes to leave; a sender that takes none is left.
_SECONDS_TO_ANSWER = 10.0
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
        if request.transport == THREADS:
            return OpenPair(self, [self] * request.receivers, request)
        opened = _Open(request)
        self._count(opened.allocators)
        return opened

    def listen(self, request: ExchangeRequest, address: str) -> ListeningReceiver:
        """One receiving side; see `seambench.contracts.exchange.Distributed`."""
        check_request(request)
        if request.transport == THREADS:
            return LocalReceiver(request)
        listening = _Listening(request, address)
        self._count(listening.allocators)
        return listening

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> RemoteSender:
        """One sending side; see `seambench.contracts.exchange.Distributed`."""
        check_request(request)
        if len(addresses) != request.receivers:
            raise UsageError(f"{request.receivers} receivers have {len(addresses)} addresses")
        remote = (
            LocalSender(request, rule_of(request), sender, addresses)
            if request.transport == THREADS
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


class _Open:
    """Both sides of one exchange in this process."""

    def __init__(self, request: ExchangeRequest) -> None:
        self._stack = contextlib.ExitStack()
        owner = TrackedAllocator()
        self.allocators = [owner]
        bound = format_of(request, owner)
        try:
            self._ends = [_Receiver(request, bound, owner) for _ in range(request.receivers)]
            addresses = self._serve(request)
            senders = [self._sender(request, n, bound, addresses) for n in range(request.senders)]
        except BaseException:
            self.close()
            raise
        self.receivers: Sequence[ExchangeReceiver] = self._ends
        self.senders: Sequence[ExchangeSender] = senders
        self.allocators += [sender.sink.allocator for sender in senders]

    def _serve(self, request: ExchangeRequest) -> Sequence[str]:
        if request.transport == WITHIN:
            return [self._announced(nearby.made_up_address(), end) for end in self._ends]
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="seam"))
        found = []
        for number, receiver in enumerate(self._ends):
            address = f"unix:{Path(folder) / str(number)}"
            server = serve(request.transport, receiver.registry, address)
            self._stack.callback(server.close)
            found.append(self._announced(server.address, receiver))
        return found

    def _announced(self, address: str, receiver: _Receiver) -> str:
        receiver.announce(address)
        self._stack.callback(nearby.withdraw, address)
        return address

    def _sender(
        self, request: ExchangeRequest, number: int, bound: Any, addresses: Sequence[str]
    ) -> _Sender:
        sink = _sink(request, number, bound, addresses)
        self._stack.callback(sink.close)
        return _Sender(request, number, sink, self._ends)

    def close(self) -> None:
        """End what still runs. Repeatable."""
        self._stack.close()


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
        instances=[nearby.instance_at(address) for address in addresses],
        **sink_settings(request),
    )


def _channel(request: ExchangeRequest, address: str) -> Channel:
    within = request.transport == WITHIN
    if within and nearby.find_local(address) is None:
        raise UnavailableError(f"{address} is not in this process: nothing can be passed there")
    return nearby.channel_to(
        *(request.transport, address, _EXCHANGE),
        pass_through=within or request.pass_through,
        **channel_settings(request),
    )


class _Sender:
    """One sending side: a sink and its drivers."""

    def __init__(
        self,
        request: ExchangeRequest,
        number: int,
        sink: ExchangeSink,
        receivers: Sequence[_Receiver],
    ) -> None:
        self.sink = sink
        self._number = number
        self._drivers = [sink.driver() for _ in range(request.writers)]
        self._open = set(range(request.writers))
        self._lock = threading.Lock()
        self._receivers = receivers

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
        queues = request.drivers * (request.senders if ordered else 1)
        self._ordered, self._drivers = ordered, request.drivers
        self.source = ExchangeSource(request.senders, queues, bound, receiver_options(request))
        self._merging = [
            MergingReader(self.source, self._merge(request, owner), driver, request.drivers)
            for driver in range(request.drivers if request.order == "merge" else 0)
        ]
        self.registry = SourceRegistry()
        self.registry.register(_EXCHANGE, self.source)

    @staticmethod
    def _merge(request: ExchangeRequest, owner: TrackedAllocator) -> SortedMerge:
        """That of one driver."""
        return SortedMerge(
            request.carried(), request.sort, request.senders, request.chunk_rows, owner
        )

    def counters(self) -> Mapping[str, int]:
        """See `seambench.contracts.exchange.Counted`."""
        return self.source.counters()

    def announce(self, address: str) -> None:
        """Be found at an address, by senders of this process too."""
        self.source.be_instance(nearby.instance_at(address))
        nearby.announce(address, self.registry)

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


class _Listening(_Receiver):
    """One receiving side behind an address."""

    def __init__(self, request: ExchangeRequest, address: str) -> None:
        owner = TrackedAllocator()
        self.allocators = [owner]
        super().__init__(request, format_of(request, owner), owner)
        self._server: Server | None = None
        if request.transport == WITHIN:
            self.address = nearby.made_up_address()
        else:
            self._server = serve(request.transport, self.registry, address)
            self.address = self._server.address
        self.announce(self.address)

    def close(self) -> None:
        """Stop listening, and drop what nobody has read. Repeatable."""
        nearby.withdraw(self.address)
        self.source.cancel("the receiver was closed")
        self.source.wait_answered(_SECONDS_TO_ANSWER)
        if self._server is not None:
            self._server.close()


class _Remote(_Sender):
    """One sending side that knows its receivers by their addresses."""

    def __init__(self, request: ExchangeRequest, number: int, addresses: Sequence[str]) -> None:
        within = request.transport == WITHIN or request.pass_through
        found = [nearby.find_local(address) for address in addresses if within]
        self._here = [registry for registry in found if registry is not None]
        owner = TrackedAllocator()
        sink = _sink(request, number, format_of(request, owner), addresses)
        super().__init__(request, number, sink, ())
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

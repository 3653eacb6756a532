"""The transport `local` of the exchange seam: sides that are threads of one local exchange.

Receivers make up an address each. The first sender that names a set of them makes the exchange
between them; rows are then dealt to readers, driver after driver, and no sink or source is there.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence

import pyarrow as pa

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench.contracts.exchange import ExchangeRequest
from seamkit.exchange.local.logic import LocalKind, LocalOptions
from seamkit.exchange.local.threads import ThreadedLocalExchange
from seamkit.exchange.partition import PartitionRule
from seamkit.exchange.source import ExchangeFailedError

_LIMIT_BYTES = 64 << 20


class LocalReceiver:
    """One receiving side: some readers of an exchange, as soon as its senders are connected."""

    _here: dict[str, LocalReceiver] = {}  # noqa: RUF012 - the receivers of this process
    _changed = threading.Condition()

    def __init__(self, request: ExchangeRequest) -> None:
        if request.order == "merge":
            raise RefusedError("a local exchange keeps each sender's order, it does not merge")
        self.address = f"threads:{secrets.token_hex(8)}"  # unlike any other process's
        self._drivers = request.drivers
        self._exchange: ThreadedLocalExchange | None = None
        self._first = 0
        self._cancelled: str | None = None
        with self._changed:
            self._here[self.address] = self

    @classmethod
    def exchange_of(
        cls, request: ExchangeRequest, rule: PartitionRule | None, addresses: Sequence[str]
    ) -> ThreadedLocalExchange:
        """The exchange that ends at these receivers, made when the first sender asks."""
        with cls._changed:
            unknown = [address for address in addresses if address not in cls._here]
            if unknown:
                raise UnavailableError(
                    f"{unknown[0]} is not in this process: threads cannot reach it"
                )
            receivers = [cls._here[address] for address in addresses]
            if receivers[0]._exchange is None:
                made = _exchange(request, rule)
                for number, receiver in enumerate(receivers):
                    receiver._connect(made, number * request.drivers)
                cls._changed.notify_all()
            found = receivers[0]._exchange
            assert found is not None
            return found

    def _connect(self, exchange: ThreadedLocalExchange, first: int) -> None:
        self._exchange, self._first = exchange, first
        if self._cancelled is not None:
            exchange.cancel(self._cancelled)

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a driver; see `seambench.contracts.exchange.ExchangeReceiver`."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._exchange is not None or self._cancelled is not None, timeout
            )
        if self._exchange is None:
            raise ExchangeFailedError(self._cancelled or f"no sender came in {timeout} s")
        return self._exchange.read(self._first + driver, timeout)

    def cancel(self, reason: str) -> None:
        """Give up: everyone gets `reason`."""
        with self._changed:
            self._cancelled = self._cancelled or reason
            self._changed.notify_all()
        if self._exchange is not None:
            self._exchange.cancel(reason)

    def close(self) -> None:
        """Drop what nobody has read; who still writes learns of it. Repeatable."""
        with self._changed:
            self._here.pop(self.address, None)
        if self._exchange is None:
            self.cancel("the receiver was closed")
            return
        for driver in range(self._drivers):
            self._exchange.leave(self._first + driver, "a receiver was closed")


class LocalSender:
    """One sending side: a writer of an exchange, by a rule for `hash`."""

    def __init__(
        self,
        request: ExchangeRequest,
        rule: PartitionRule | None,
        number: int,
        addresses: Sequence[str],
    ) -> None:
        self._number = number
        self._writers = request.writers
        self._open = set(range(request.writers))
        self._exchange = LocalReceiver.exchange_of(request, rule, addresses)
        self.allocators = [self._exchange.allocator]

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Give a batch to its readers; waits while they hold as much as they may."""
        self._exchange.write(self._number * self._writers + driver, batch)

    def finish(self, driver: int = 0) -> None:
        """Nothing more follows of a driver. What was written is with the receivers already."""
        self._exchange.finish()
        self._open.discard(driver)

    def cancel(self, reason: str) -> None:
        """End without an end: everyone gets `reason`."""
        if self._open:
            self._exchange.cancel(f"sender {self._number} is lost before its end: {reason}")

    def close(self) -> None:
        """A sender that did not finish is lost. Repeatable."""
        self.cancel("the sender was closed")


def _exchange(request: ExchangeRequest, rule: PartitionRule | None) -> ThreadedLocalExchange:
    ordered = request.order == "sender"
    kinds: dict[str, LocalKind] = {
        "hash": "ordered-partition" if ordered else "partition",
        "broadcast": "broadcast",
        "random": "passthrough",
        "single": "passthrough",
    }
    if request.partition not in kinds:
        raise UsageError(f"there is no local exchange for {request.partition} partitioning")
    limit = _LIMIT_BYTES if request.buffer_bytes is None else max(request.buffer_bytes, 1)
    made = ThreadedLocalExchange(
        kinds[request.partition],
        request.schema,
        request.senders * request.writers,
        request.receivers * request.drivers,
        rule=rule,
        options=LocalOptions(limit, request.chunk_rows),
    )
    if request.partition == "broadcast":  # to one driver of each receiver
        for reader in range(request.receivers * request.drivers):
            if reader % request.drivers:
                made.finish_reader(reader)
    return made

"""What came over one connection: when that ends, a sender that had not ended is lost."""

from __future__ import annotations

from seambase.errors import InputError
from seamkit.exchange.logic.messages import Request
from seamkit.exchange.source import ExchangeSource, Reply, SourceRegistry


class Arrivals:
    """Requests of one connection on their way to a registry; of use to one thread.

    A connection is one sender's way to one exchange, and says so first, in an announcement.

    Args:
        registry: where exchanges are known.
        announced: whether that is so; not where each request comes by itself.
    """

    def __init__(self, registry: SourceRegistry, *, announced: bool = True) -> None:
        self._registry = registry
        self._announced = announced
        self._sender: tuple[int, int] | None = None
        #: Where the sender sends to, as soon as that is known. The number may be another
        #: exchange's by the time the connection ends.
        self._source: ExchangeSource | None = None

    def deliver(self, exchange: int, request: Request, reply: Reply) -> None:
        """See `SourceRegistry.deliver`; an announcement only says who will send.

        Raises:
            InputError: a request of a sender that was not announced, or a second announcement.
        """
        sender = (exchange, request.be_number)
        if self._sender is None and (request.is_announcement or not self._announced):
            self._sender = sender
        elif request.is_announcement or sender != self._sender:
            raise InputError(self._complaint(sender, request))
        if self._source is None:
            self._source = self._registry.find(exchange)
        if not request.is_announcement:
            self._registry.deliver(exchange, request, reply)

    def _complaint(self, sender: tuple[int, int], request: Request) -> str:
        what = f"request {request.sequence} of sender {sender[1]} to exchange {sender[0]}"
        if self._sender is None:
            return f"{what} came before its sender was announced"
        if request.is_announcement:
            return f"sender {sender[1]} is announced where sender {self._sender[1]} was before"
        return f"{what} came from sender {self._sender[1]} to exchange {self._sender[0]}"

    def end(self, reason: str) -> None:
        """Nothing more comes over this connection."""
        if self._sender is None:
            return
        exchange, be_number = self._sender
        if self._source is not None:
            self._source.lose(be_number, reason)
        else:
            self._registry.lose(exchange, be_number, reason)

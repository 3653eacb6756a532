"""What came over one connection: when that ends, senders that had not ended are lost."""

from __future__ import annotations

from seamkit.exchange.logic.messages import Request
from seamkit.exchange.source import ExchangeSource, Reply, SourceRegistry

__all__ = ["Arrivals"]


class Arrivals:
    """Requests of one connection on their way to a registry; of use to one thread.

    Args:
        registry: where exchanges are known.
    """

    def __init__(self, registry: SourceRegistry) -> None:
        self._registry = registry
        #: Where each sender of an exchange sends to, as soon as that is known. A number may be
        #: another exchange's by the time the connection ends.
        self._senders: dict[tuple[int, int], ExchangeSource | None] = {}

    def deliver(self, exchange: int, request: Request, reply: Reply) -> None:
        """See `SourceRegistry.deliver`; an announcement only says who will send."""
        sender = (exchange, request.be_number)
        if self._senders.get(sender) is None:
            self._senders[sender] = self._registry.find(exchange)
        if not request.is_announcement:
            self._registry.deliver(exchange, request, reply)

    def end(self, reason: str) -> None:
        """Nothing more comes over this connection."""
        for (exchange, be_number), source in self._senders.items():
            if source is not None:
                source.lose(be_number, reason)
            else:
                self._registry.lose(exchange, be_number, reason)

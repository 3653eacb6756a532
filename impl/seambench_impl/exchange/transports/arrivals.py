"""What came over one connection: when that ends, senders that had not ended are lost."""

from __future__ import annotations

from seambench_impl.exchange.messages import Request
from seambench_impl.exchange.source import Reply, SourceRegistry

__all__ = ["Arrivals"]


class Arrivals:
    """Requests of one connection on their way to a registry; of use to one thread.

    Args:
        registry: where exchanges are known.
    """

    def __init__(self, registry: SourceRegistry) -> None:
        self._registry = registry
        self._senders: set[tuple[int, int]] = set()

    def deliver(self, exchange: int, request: Request, reply: Reply) -> None:
        """See `SourceRegistry.deliver`; an announcement only says who will send."""
        self._senders.add((exchange, request.be_number))
        if not request.is_announcement:
            self._registry.deliver(exchange, request, reply)

    def end(self, reason: str) -> None:
        """Nothing more comes over this connection."""
        for exchange, be_number in sorted(self._senders):
            self._registry.lose(exchange, be_number, reason)

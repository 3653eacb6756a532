"""Pass-through: sender and receiver share a process, batches change hands, no byte is copied."""

from __future__ import annotations

from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Request
from seamkit.exchange.source import SourceRegistry


class LocalChannel:
    """A `Channel` into a registry of this process."""

    pass_through = True
    most_bytes: int | None = None

    def __init__(self, registry: SourceRegistry, exchange: int) -> None:
        self._registry = registry
        self._exchange = exchange
        self._on_answer: OnAnswer | None = None

    def open(
        self,
        on_answer: OnAnswer,
        on_failure: OnFailure,  # noqa: ARG002 - never fails
        be_number: int | None = None,  # noqa: ARG002 - shares the receiver's fate
    ) -> None:
        """Remember who is to be told."""
        self._on_answer = on_answer

    def send(self, request: Request) -> None:
        """Deliver the request in the caller's thread."""
        assert self._on_answer is not None, "a channel is opened before it sends"
        self._registry.deliver(self._exchange, request, self._on_answer)

    def close(self) -> None:
        """Nothing is open."""

"""A way from a sink to one receiver: what every transport offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from seamkit.exchange.logic.messages import Answer, Request

OnAnswer = Callable[[Answer], None]
#: Called with the sequence number of a request of which nobody knows whether it arrived, and why.
OnFailure = Callable[[int, str], None]


class Channel(Protocol):
    """A way to one receiver.

    Attributes:
        pass_through: payloads are batches and change hands as they are; otherwise they are buffers.
        most_bytes: payload that one request may carry; None for any.
    """

    pass_through: bool
    most_bytes: int | None

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Get ready. The callbacks come from any thread, also from within `send`.

        Args:
            on_answer: is given each answer.
            on_failure: is called for each request that will have none.
            be_number: of the sender; the receiver gets it, so that it misses a sender that vanishes
                before its first request. None: it does not.
        """

    def send(self, request: Request) -> None:
        """Hand a request over. It is answered or failed exactly once, later."""

    def close(self) -> None:
        """Give up what is open; requests without an answer fail. Repeatable."""

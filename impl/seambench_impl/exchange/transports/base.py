"""What a transport offers to a sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from seambench_impl.exchange.messages import Answer, Request

__all__ = ["Channel", "OnAnswer", "OnFailure"]

OnAnswer = Callable[[Answer], None]
#: Told the sequence number of a request of which nobody knows whether it arrived, and why.
OnFailure = Callable[[int, str], None]


class Channel(Protocol):
    """A way to one receiver.

    Attributes:
        pass_through: payloads are batches and change hands as they are; otherwise they are buffers.
    """

    pass_through: bool

    def open(self, on_answer: OnAnswer, on_failure: OnFailure) -> None:
        """Get ready. The callbacks come from any thread, also from within `send`.

        Raises:
            UnavailableError: the receiver cannot be reached.
        """
        ...

    def send(self, request: Request) -> None:
        """Hand a request over. It is answered or failed exactly once, later."""
        ...

    def close(self) -> None:
        """Give up what is open; requests without an answer fail. Repeatable."""
        ...

"""What exchanges made of one library share: their requests, both ends, and a queue of batches."""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambench.contracts.exchange import ExchangeRequest

_BATCHES_AT_MOST = 16
_TURN_SECONDS = 0.05


def require_plain(request: ExchangeRequest, name: str, transport: str) -> None:
    """Hold a request to what a transport does by itself."""
    if request.partition == "hash" or request.order == "merge" or request.drivers > 1:
        raise RefusedError(f"{name} neither hashes nor merges, and has one reader a side")
    if (request.transport, request.format) != (transport, "arrow"):
        raise RefusedError(f"{name} carries arrow over {transport}, nothing else")
    if request.keys or (request.partition == "single" and request.receivers > 1):
        raise UsageError(f"{request.partition} partitioning has no keys; single one receiver")


class Closing(Protocol):
    """One side of an exchange, as far as its end goes."""

    def close(self) -> None:
        """Give everything back. Repeatable."""


_Receiver = TypeVar("_Receiver", bound=Closing)
_Sender = TypeVar("_Sender", bound=Closing)


class Ends(Generic[_Receiver, _Sender]):
    """Both sides of one exchange in this process, over sockets in a folder of its own.

    The scheme stands before a socket's path. A receiver serves at a place; a sender is made by its
    number, for the places of all receivers.
    """

    def __init__(
        self,
        request: ExchangeRequest,
        scheme: str,
        receiver: Callable[[str, ExchangeRequest], _Receiver],
        sender: Callable[[ExchangeRequest, int, Sequence[str]], _Sender],
    ) -> None:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="seam")))
        places = [f"{scheme}{folder / str(n)}" for n in range(request.receivers)]
        self.receivers: Sequence[_Receiver] = [receiver(place, request) for place in places]
        for one in self.receivers:
            self._stack.callback(one.close)
        self.senders = [sender(request, number, places) for number in range(request.senders)]
        for each in self.senders:
            self._stack.callback(each.close)

    def close(self) -> None:
        """Close senders, then receivers. Repeatable."""
        self._stack.close()


_Way = TypeVar("_Way")


class Turns(Generic[_Way]):
    """To which receivers a sender's next batch goes: to all, or to each in its turn."""

    def __init__(self, request: ExchangeRequest, number: int, ways: Sequence[_Way]) -> None:
        self._broadcast = request.partition == "broadcast"
        self._turn = number
        self._ways = ways

    def chosen(self) -> Sequence[_Way]:
        """The ways of the next batch."""
        if self._broadcast:
            return self._ways
        self._turn = (self._turn + 1) % len(self._ways)
        return [self._ways[self._turn]]


class Inbox:
    """A few batches between the threads of a server and the one that reads.

    A request that leaves no room has each put wait until its batch is read.
    """

    def __init__(self, request: ExchangeRequest) -> None:
        self._remaining = request.senders
        self._has_room = request.buffer_bytes != 0
        self._batches: queue.Queue[pa.RecordBatch | None] = queue.Queue(_BATCHES_AT_MOST)
        self._lock = threading.Lock()
        self.error: str | None = None

    def put(self, batch: pa.RecordBatch | None) -> bool:
        """Wait for room and put a batch there; False once the exchange has failed."""
        while self.error is None:
            with contextlib.suppress(queue.Full):
                self._batches.put(batch, timeout=_TURN_SECONDS)
                break
        while self.error is None and batch is not None and not self._has_room:
            if self._batches.empty():
                break
            time.sleep(_TURN_SECONDS / 50)
        return self.error is None

    def end(self) -> None:
        """A sender has ended."""
        with self._lock:
            self._remaining -= 1
            last = self._remaining == 0
        if last:
            self.put(None)

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch; see `seambench.contracts.exchange.ExchangeReceiver`."""
        del driver
        waited = 0.0
        while timeout is None or waited < timeout:
            if self.error is not None:
                raise SeambenchError(self.error)
            with contextlib.suppress(queue.Empty):
                batch = self._batches.get(timeout=_TURN_SECONDS)
                if batch is None:
                    self._batches.put(None)  # whoever reads again sees the end again
                return batch
            waited += _TURN_SECONDS
        raise SeambenchError(f"nothing came in {timeout} s")

    def cancel(self, reason: str) -> None:
        """Give up: whoever sends learns of it."""
        self.error = self.error or reason

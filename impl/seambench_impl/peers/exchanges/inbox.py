"""What exchanges made of one library share: which requests they take, and a queue of batches."""

from __future__ import annotations

import contextlib
import queue
import threading

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambench.contracts.exchange import ExchangeRequest

__all__ = ["Inbox", "require_plain"]

_BATCHES_AT_MOST = 16
_TURN_SECONDS = 0.05


def require_plain(request: ExchangeRequest, name: str, transport: str) -> None:
    """Hold a request to what a transport does by itself.

    Raises:
        RefusedError: what needs more than a transport.
        UsageError: a contradictory request.
    """
    if request.partition == "hash" or request.order == "merge" or request.drivers > 1:
        raise RefusedError(f"{name} neither hashes nor merges, and has one reader a side")
    if (request.transport, request.format) != (transport, "arrow"):
        raise RefusedError(f"{name} carries arrow over {transport}, nothing else")
    if request.keys or (request.partition == "single" and request.receivers > 1):
        raise UsageError(f"{request.partition} partitioning has no keys; single one receiver")


class Inbox:
    """A few batches between the threads of a server and the one that reads.

    Args:
        senders: how many must end before there is an end.
    """

    def __init__(self, senders: int) -> None:
        self._remaining = senders
        self._batches: queue.Queue[pa.RecordBatch | None] = queue.Queue(_BATCHES_AT_MOST)
        self._lock = threading.Lock()
        self.error: str | None = None

    def put(self, batch: pa.RecordBatch | None) -> bool:
        """Wait for room and put a batch there; False once the exchange has failed."""
        while self.error is None:
            with contextlib.suppress(queue.Full):
                self._batches.put(batch, timeout=_TURN_SECONDS)
                return True
        return False

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
        """Give up: whoever sends is told."""
        self.error = self.error or reason

"""Arrow Flight by itself as an exchange, for comparison: a DoPut stream from each sender.

There is no hash partitioning: pyarrow has no function for it. Back-pressure is Flight's own, behind
a queue of a few batches.
"""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UnavailableError, UsageError
from seambench.contracts.common import Kind
from seambench.contracts.exchange import ExchangeRequest

try:
    import pyarrow.flight as flight
except ImportError as missing:  # built without it
    raise UnavailableError(f"this pyarrow was built without Flight: {missing}") from missing

__all__ = ["ArrowFlightExchange"]

_BATCHES_AT_MOST = 16
_END = b"end"
_TYPES = ("boolean", "int", "bigint", "double", "decimal", "date", "timestamp_ntz", "string")


class ArrowFlightExchange:
    """Implements `seambench.contracts.exchange.Exchange` with nothing but pyarrow's Flight."""

    name = "arrow-flight"
    version = pa.__version__
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("partitions.broadcast", "partitions.random", "partitions.single"),
            *("transports.flight", "formats.arrow", "orders.sender", "cancel"),
            *(f"types.{word}" for word in (*_TYPES, "array", "map", "struct")),
        ),
        True,
    )

    def open(self, request: ExchangeRequest) -> _Open:
        """A server for each receiver, a client for each sender; see the protocol.

        Raises:
            RefusedError: what plain Flight does not do.
            UsageError: a contradictory request.
        """
        if request.partition == "hash" or request.order == "merge" or request.drivers > 1:
            raise RefusedError("arrow-flight neither hashes nor merges, and has one reader a side")
        if (request.transport, request.format) != ("flight", "arrow"):
            raise RefusedError("arrow-flight carries arrow over flight, nothing else")
        if request.keys or (request.partition == "single" and request.receivers > 1):
            raise UsageError(f"{request.partition} partitioning has no keys; single one receiver")
        return _Open(request)


class _Open:
    """Both sides of one exchange in this process."""

    def __init__(self, request: ExchangeRequest) -> None:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="seam")))
        places = [f"grpc+unix://{folder / str(n)}" for n in range(request.receivers)]
        self.receivers: Sequence[_Receiver] = [_Receiver(place, request) for place in places]
        for receiver in self.receivers:
            self._stack.callback(receiver.close)
        self.senders = [_Sender(request, number, places) for number in range(request.senders)]
        for sender in self.senders:
            self._stack.callback(sender.close)

    def close(self) -> None:
        """Close clients, then servers. Repeatable."""
        self._stack.close()


class _Receiver(flight.FlightServerBase):  # type: ignore[misc] # pyarrow has no types
    """One receiving side."""

    def __init__(self, place: str, request: ExchangeRequest) -> None:
        super().__init__(place)
        self._remaining = request.senders
        self._batches: queue.Queue[pa.RecordBatch | None] = queue.Queue(_BATCHES_AT_MOST)
        self._lock = threading.Lock()
        self._error: str | None = None

    def do_put(self, _: Any, descriptor: Any, reader: Any, __: Any) -> None:
        """Take a sender's stream; it is complete when its last message says so."""
        ended = False
        with contextlib.suppress(StopIteration):
            while True:
                chunk = reader.read_chunk()
                ended |= chunk.app_metadata is not None and chunk.app_metadata == _END
                if chunk.data is not None:
                    self._put(chunk.data)
        if not ended:
            self.cancel(f"sender {descriptor.command.decode()} is lost before its end")
        self._raise_error()
        with self._lock:
            self._remaining -= 1
            last = self._remaining == 0
        if last:
            self._put(None)

    def _put(self, batch: pa.RecordBatch | None) -> None:
        while True:
            self._raise_error()
            with contextlib.suppress(queue.Full):
                self._batches.put(batch, timeout=0.05)
                return

    def _raise_error(self) -> None:
        if self._error is not None:
            raise flight.FlightServerError(self._error)

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch; see the protocol."""
        del driver
        waited = 0.0
        while timeout is None or waited < timeout:
            if self._error is not None:
                raise SeambenchError(self._error)
            with contextlib.suppress(queue.Empty):
                batch = self._batches.get(timeout=0.05)
                if batch is None:
                    self._batches.put(None)  # whoever reads again sees the end again
                return batch
            waited += 0.05
        raise SeambenchError(f"nothing came in {timeout} s")

    def cancel(self, reason: str) -> None:
        """Give up: whoever sends is told."""
        self._error = self._error or reason

    def close(self) -> None:
        """Stop serving."""
        self.cancel("closed")
        self.shutdown()


class _Sender:
    """One sending side: a stream to each receiver."""

    def __init__(self, request: ExchangeRequest, number: int, places: Sequence[str]) -> None:
        self._broadcast = request.partition == "broadcast"
        self._turn = number
        self._clients = [flight.connect(place) for place in places]
        asked = flight.FlightDescriptor.for_command(str(number).encode())
        self._writers = [client.do_put(asked, request.schema)[0] for client in self._clients]

    def write(self, batch: pa.RecordBatch) -> None:
        """Send a batch to all receivers, or to the one whose turn it is."""
        chosen = self._writers
        if not self._broadcast:
            self._turn = (self._turn + 1) % len(self._writers)
            chosen = [self._writers[self._turn]]
        try:
            for writer in chosen:
                writer.write_batch(batch)
        except (pa.ArrowException, OSError) as error:
            raise SeambenchError(f"the receiver took no more: {error}") from error

    def finish(self) -> None:
        """Say that nothing follows, and wait until everything was taken."""
        try:
            for writer in self._writers:
                writer.write_metadata(_END)
                writer.done_writing()
            for writer in self._writers:
                writer.close()
        except (pa.ArrowException, OSError) as error:
            raise SeambenchError(f"the receiver took no more: {error}") from error

    def cancel(self, reason: str) -> None:
        """End every stream without its last message."""
        del reason
        for writer in self._writers:
            with contextlib.suppress(pa.ArrowException, OSError):
                writer.close()

    def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            client.close()

"""Arrow Flight by itself as an exchange, for comparison: a DoPut stream from each sender.

There is no hash partitioning: pyarrow has no function for it. Back-pressure is Flight's own, behind
a queue of a few batches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import SeambenchError, UnavailableError
from seambench.contracts.common import Kind
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.peers.catalogue import stated
from seambench_impl.peers.inbox import Ends, Inbox, Turns, require_plain

try:
    import pyarrow.flight as flight
except ImportError as missing:  # built without it
    raise UnavailableError(f"this pyarrow was built without Flight: {missing}") from missing

_END = b"end"


class ArrowFlightExchange:
    """Implements `seambench.contracts.exchange.Exchange` with nothing but pyarrow's Flight."""

    name = "arrow-flight"
    version = pa.__version__
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.capabilities: Mapping[str, bool] = stated("exchange", self.name, self.version)

    def open(self, request: ExchangeRequest) -> Ends[_Receiver, _Sender]:
        """A server for each receiver, a client for each sender; see the protocol."""
        require_plain(request, self.name, "flight")
        return Ends(request, "grpc+unix://", _Receiver, _Sender)


class _Receiver(flight.FlightServerBase):  # type: ignore[misc] # pyarrow has no types
    def __init__(self, place: str, request: ExchangeRequest) -> None:
        super().__init__(place)
        self._inbox = Inbox(request)
        self.read, self.cancel = self._inbox.read, self._inbox.cancel

    def do_put(self, _: Any, descriptor: Any, reader: Any, __: Any) -> None:
        """Take a sender's stream; it is complete when its last message says so."""
        ended = False
        with contextlib.suppress(StopIteration):
            while True:
                chunk = reader.read_chunk()
                ended |= chunk.app_metadata is not None and chunk.app_metadata == _END
                if chunk.data is not None and not self._inbox.put(chunk.data):
                    break
        if not ended:
            self.cancel(f"sender {descriptor.command.decode()} is lost before its end")
        if self._inbox.error is not None:
            raise flight.FlightServerError(self._inbox.error)
        self._inbox.end()

    def close(self) -> None:
        """Stop serving."""
        self.cancel("closed")
        self.shutdown()


class _Sender:
    """One sending side: a stream to each receiver."""

    def __init__(self, request: ExchangeRequest, number: int, places: Sequence[str]) -> None:
        self._clients = [flight.connect(place) for place in places]
        descriptor = flight.FlightDescriptor.for_command(str(number).encode())
        self._writers = [client.do_put(descriptor, request.schema)[0] for client in self._clients]
        self._turns = Turns(request, number, self._writers)

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Send a batch to all receivers, or to the one whose turn it is."""
        del driver
        try:
            for writer in self._turns.chosen():
                writer.write_batch(batch)
        except (pa.ArrowException, OSError) as error:
            raise SeambenchError(f"the receiver took no more: {error}") from error

    def finish(self, driver: int = 0) -> None:
        """Say that nothing follows, and wait until everything was taken."""
        del driver
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

"""gRPC by itself as an exchange, for comparison: a stream of messages from each sender.

A message is an Arrow IPC stream of one batch, or says that nothing follows. There is no hash
partitioning: gRPC knows no rows. Back-pressure is gRPC's own, behind a queue of a few batches.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, SeambenchError
from seambase.extras import needs
from seambase.foreign_arrow import sound_stream, stream_of
from seambench.contracts.common import Kind
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.peers.catalogue import stated
from seambench_impl.peers.inbox import Ends, Inbox, Turns, require_plain

with needs("seambench[exchange]", "the peer grpc"):
    import grpc

_METHOD = "/seambench.Peer/Put"
_END = b""
#: Rows larger than gRPC's bound of 4 MiB a message are the business of this exchange's user.
_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
#: Messages between the caller's thread and gRPC's.
_WAITING = 4


class GrpcExchange:
    """Implements `seambench.contracts.exchange.Exchange` with nothing but grpcio and Arrow IPC."""

    name = "grpc"
    version = grpc.__version__
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.capabilities: Mapping[str, bool] = stated("exchange", self.name, self.version)

    def open(self, request: ExchangeRequest) -> Ends[_Receiver, _Sender]:
        """A server for each receiver, a channel for each sender; see the protocol."""
        require_plain(request, self.name, "grpc")
        return Ends(request, "unix:", _Receiver, _Sender)


class _Receiver(Inbox):
    def __init__(self, place: str, request: ExchangeRequest) -> None:
        super().__init__(request)
        self._server = grpc.server(ThreadPoolExecutor(request.senders), options=_OPTIONS)
        put = grpc.stream_unary_rpc_method_handler(self._take)
        service, method = _METHOD.strip("/").split("/")
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, {method: put}),)
        )
        self._server.add_insecure_port(place)
        self._server.start()

    def _take(self, messages: Iterator[bytes], context: Any) -> bytes:
        """Take a sender's stream; it is complete when its last message says so."""
        ended = False
        try:
            for message in messages:
                ended = message == _END
                for batch in [] if ended else sound_stream(message, "a message"):
                    self.put(batch)
                if self.error is not None:
                    break
        except InputError as error:
            self.cancel(str(error))
        except grpc.RpcError:
            ended = False
        if not ended:
            self.cancel("a sender is lost before its end")
        if self.error is not None:
            context.abort(grpc.StatusCode.ABORTED, self.error)
        self.end()
        return b""

    def close(self) -> None:
        """Stop serving."""
        self.cancel("closed")
        self._server.stop(None).wait()


class _Way:
    """A stream to one receiver, which takes messages from a queue."""

    def __init__(self, place: str) -> None:
        self._messages: queue.Queue[bytes | None] = queue.Queue(_WAITING)
        self._channel = grpc.insecure_channel(place, options=_OPTIONS)
        call = self._channel.stream_unary(_METHOD)
        self._answer = call.future(iter(self._messages.get, None), wait_for_ready=True)

    def send(self, message: bytes | None) -> None:
        """Wait for room and send; None closes the stream."""
        while not self._answer.done():
            with contextlib.suppress(queue.Full):
                self._messages.put(message, timeout=0.05)
                return
        self.wait()

    def wait(self) -> None:
        """Wait for the answer to the whole stream."""
        try:
            self._answer.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            raise SeambenchError(f"the receiver took no more: {error}") from error

    def close(self) -> None:
        """Drop the stream and the channel."""
        self._answer.cancel()
        with contextlib.suppress(queue.Full):
            self._messages.put_nowait(None)  # gRPC's thread waits for it
        self._channel.close()


class _Sender:
    """One sending side: a stream to each receiver."""

    def __init__(self, request: ExchangeRequest, number: int, places: Sequence[str]) -> None:
        self._ways = [_Way(place) for place in places]
        self._turns = Turns(request, number, self._ways)

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Send a batch to all receivers, or to the one whose turn it is."""
        del driver
        message = stream_of([batch], batch.schema).to_pybytes()
        for way in self._turns.chosen():
            way.send(message)

    def finish(self, driver: int = 0) -> None:
        """Say that nothing follows, and wait until everything was taken."""
        del driver
        for way in self._ways:
            way.send(_END)
            way.send(None)
        for way in self._ways:
            way.wait()

    def cancel(self, reason: str) -> None:
        """End every stream without its last message."""
        del reason
        for way in self._ways:
            way.close()

    def close(self) -> None:
        """Close the channels."""
        for way in self._ways:
            way.close()

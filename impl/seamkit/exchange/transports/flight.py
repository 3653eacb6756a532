"""Arrow Flight: one DoExchange stream a channel.

A request is one record batch of one column, `payload: binary_view`, a row for each chunk, with the
protobuf message of the request beside it as app_metadata. Payloads stay opaque, so that every chunk
format travels alike; each becomes a buffer of the column as it is, and is read where it arrived. So
nothing is copied on this side of Flight. Answers come back as app_metadata without a batch; one to
no request says that the server lives, or, with an error, why it ends the stream.
"""

from __future__ import annotations

import atexit
import contextlib
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any, Unpack

import pyarrow as pa

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.foreign_arrow import sound
from seamkit.core.payloads import flat
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.address import Address, parse_address
from seamkit.exchange.transports.arrivals import Arrivals
from seamkit.exchange.transports.base import (
    BEAT_SECONDS,
    HELLO,
    MESSAGE_BYTES_AT_MOST,
    SECONDS_TO_GREET,
    ChannelOptions,
    OpenRequests,
    RequestChannel,
    announcement,
    note,
)
from seamkit.exchange.transports.tls import ServerTls, read_pem
from seamkit.exchange.transports.wire import (
    BEAT,
    decode_answer,
    decode_request_with,
    encode_answer,
    encode_request,
)

__all__ = ["FlightChannel", "FlightServer"]

_MOST_BYTES = 256 << 20
_SCHEMA = pa.schema([pa.field("payload", pa.binary_view(), nullable=False)])
_INLINE_BYTES = 12  # what a view holds by itself
_SECONDS_TO_CLOSE = 2.0


def _flight() -> Any:
    try:
        import pyarrow.flight
    except ImportError as error:
        raise UnavailableError("this pyarrow was built without Flight: use its wheels") from error
    return pyarrow.flight


def _pack(payloads: Sequence[Any]) -> pa.RecordBatch:
    """Payloads as rows; each longer one is a buffer of the array."""
    views: list[bytes] = []
    buffers: list[pa.Buffer] = []
    for payload in map(flat, payloads):
        view = memoryview(payload).cast("B")
        if len(view) <= _INLINE_BYTES:
            views.append(struct.pack("<i12s", len(view), bytes(view)))
        else:
            views.append(struct.pack("<i4sii", len(view), bytes(view[:4]), len(buffers), 0))
            buffers.append(pa.py_buffer(payload))
    array = pa.Array.from_buffers(
        pa.binary_view(), len(views), [None, pa.py_buffer(b"".join(views)), *buffers]
    )
    return pa.RecordBatch.from_arrays([array], schema=_SCHEMA)


def _unpack(batch: pa.RecordBatch) -> list[memoryview]:
    """The rows again, where they are.

    Raises:
        InputError: another schema, or an array that is not sound.
    """
    if batch.schema.types != _SCHEMA.types:
        raise InputError(f"a batch of {batch.schema.types} came, not of {_SCHEMA.types}")
    array = sound(batch, "a request").column(0)
    if array.null_count:
        raise InputError(f"{array.null_count} payloads are null")
    _, views, *buffers = array.buffers()
    payloads = []
    for row in range(array.offset, array.offset + len(array)):
        view = memoryview(views)[row * 16 : row * 16 + 16]
        size, _, number, start = struct.unpack("<i4sii", view)
        if size <= _INLINE_BYTES:
            payloads.append(view[4 : 4 + size])
        else:
            payloads.append(memoryview(buffers[number])[start : start + size])
    return payloads


class _Replies:
    """The way back over one stream, from any thread, until the stream ends."""

    def __init__(self, writer: Any) -> None:
        self._writer: Any = writer
        self._lock = threading.Lock()
        self._over = threading.Event()

    def write(self, message: bytes) -> None:
        with self._lock:
            if not self._over.is_set():
                with contextlib.suppress(pa.ArrowException, OSError):  # the sender is gone
                    self._writer.write_metadata(message)

    def beat(self, seconds: float) -> None:
        """Show every so often that this side lives, until the end."""
        while not self._over.wait(seconds):
            self.write(BEAT)

    def end(self) -> None:
        with self._lock:
            self._over.set()


class FlightServer:
    """Takes requests from streams and delivers them to a registry.

    Flight gives each stream a thread; one more shows its client that the server lives.

    Args:
        registry: where exchanges are known.
        address: `unix:PATH` or `tcp:HOST:PORT`; port 0 for any.
        tls: None for plain connections.
        most_bytes: payload of one request beyond which a peer is refused. It is looked at after the
            request has arrived: Flight's own bound is 2 GiB.
        beat_seconds: how often clients are shown that the server lives.

    Raises:
        UnavailableError: the address cannot be had, or pyarrow has no Flight.
        UsageError: TLS over a Unix socket.
    """

    def __init__(
        self,
        registry: SourceRegistry,
        address: str,
        *,
        tls: ServerTls | None = None,
        most_bytes: int = _MOST_BYTES,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        where = parse_address(address)
        self._registry = registry
        self._most_bytes = most_bytes
        self._beat_seconds = beat_seconds
        self.errors: list[str] = []
        self._streams: set[_Replies] = set()
        self._lock = threading.Lock()
        self._closed = False
        options: dict[str, Any] = {}
        if tls is not None:
            tls.context()  # which says what is wrong with the files
            options["tls_certificates"] = [(read_pem(tls.certificate), read_pem(tls.key))]
            if tls.client_roots is not None:
                options |= {"verify_client": True, "root_certificates": read_pem(tls.client_roots)}
        try:
            self._server = _server_class()(self, _location(where, tls is not None), **options)
        except (pa.ArrowException, OSError) as error:
            raise UnavailableError(f"cannot listen at {address}: {error}") from error
        self.address = str(where.with_port(self._server.port))
        # Flight itself would wait, at the end of the process, for clients that nobody told to go.
        atexit.register(self.close)

    def close(self) -> None:
        """Stop listening and tell every client to go. Repeatable.

        A client that does not go, since it stands still, keeps its stream until its connection
        ends. Flight has no way to break it off; the end of this process waits for that as well.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            atexit.unregister(self.close)
            streams = list(self._streams)
        closing = threading.Thread(target=self._server.shutdown, daemon=True)
        closing.start()
        for replies in streams:
            replies.write(encode_answer(Answer(0, -1, "the server closes")))
        closing.join(_SECONDS_TO_CLOSE)

    def serve(self, said: bytes, reader: Any, writer: Any) -> None:
        """One stream, from its greeting to its end; what breaks the protocol ends it.

        Raises:
            InputError: it was broken.
        """
        replies, arrivals = _Replies(writer), Arrivals(self._registry)
        with self._lock:
            self._streams.add(replies)
        threading.Thread(target=replies.beat, args=(self._beat_seconds,), daemon=True).start()
        reason = "its stream ended"
        try:
            _check_hello(said)
            replies.write(BEAT)
            for batch, message in reader:
                if self._closed:
                    break
                self._take(batch, message, arrivals, replies)
        except (InputError, pa.ArrowException, OSError) as error:
            reason = str(error)
            note(self.errors, reason)
            raise
        finally:
            with self._lock:
                self._streams.discard(replies)
            replies.end()
            arrivals.end(reason)

    def _take(
        self, batch: pa.RecordBatch | None, message: Any, arrivals: Arrivals, replies: _Replies
    ) -> None:
        if batch is None or message is None:
            raise InputError("a request is a batch with app_metadata")
        size = batch.get_total_buffer_size()  # of whole buffers: rows are not yet believed
        if size > self._most_bytes + MESSAGE_BYTES_AT_MOST:
            raise InputError(f"a request of {size} bytes; {self._most_bytes} are taken")
        exchange, request = decode_request_with(message.to_pybytes(), _unpack(batch))
        arrivals.deliver(exchange, request, lambda answer: replies.write(encode_answer(answer)))


def _answer(message: pa.Buffer | None) -> Answer:
    if message is None:
        raise InputError("a batch came, where answers are meant")
    return decode_answer(message.to_pybytes())


def _check_hello(said: bytes) -> None:
    if said != HELLO:
        raise InputError(f"the peer says {said[:16]!r} and not {HELLO!r}")


def _location(where: Address, tls: bool) -> str:
    if where.path and tls:
        raise UsageError(f"{where}: Flight has no TLS over Unix sockets")
    if where.path:
        return f"grpc+unix://{where.path}"
    return f"grpc+{'tls' if tls else 'tcp'}://{where.host}:{where.port}"


def _server_class() -> Any:
    """The class that Flight calls; made when Flight is there."""
    flight = _flight()

    class Door(flight.FlightServerBase):  # type: ignore[name-defined,misc]  # imported when used
        """Hands streams on."""

        def __init__(self, server: FlightServer, location: str, **options: Any) -> None:
            self._to = server
            super().__init__(location, **options)

        def do_action(self, _context: Any, action: Any) -> list[bytes]:
            if action.type != "hello":
                raise flight.FlightServerError(f"there is no action {action.type!r}")
            return [HELLO]

        def do_exchange(self, _context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
            try:
                self._to.serve(descriptor.command or b"", reader, writer)
            except InputError as error:
                raise flight.FlightServerError(str(error)) from error

    return Door


class FlightChannel(RequestChannel):
    """A `Channel` over one DoExchange stream; see `RequestChannel`."""

    most_bytes_at_most = _MOST_BYTES
    broken_by = (pa.ArrowException, OSError)

    def __init__(self, address: str, exchange: int, **options: Unpack[ChannelOptions]) -> None:
        self._flight = _flight()
        super().__init__(address, exchange, **options)
        self._heard = 0.0
        self._over = threading.Event()
        self._client: Any = None
        self._writer: Any = None
        self._reader: Any = None
        # gRPC ends the process over two calls on the way out, or one after its end.
        self._writing = threading.Lock()
        self._ended = False

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Connect, greet and begin the stream.

        Raises:
            UnavailableError: nobody is there, or not one that speaks this protocol.
            InputError: a file of `tls` is not what it should be.
        """
        client = self._connect()
        try:
            self._greet(client)
            descriptor = self._flight.FlightDescriptor.for_command(HELLO)
            self._writer, self._reader = client.do_exchange(descriptor)
            self._writer.begin(_SCHEMA)
            if be_number is not None:
                self.write(announcement(be_number))
        except (pa.ArrowException, OSError, InputError) as error:
            client.close()
            raise UnavailableError(f"{self._address} cannot be reached: {error}") from error
        self._client = client
        self._open = OpenRequests(on_failure)
        self._heard = time.monotonic()
        for work in (
            lambda waiting: self._listen(waiting, on_answer),
            self._watch,
        ):
            threading.Thread(target=work, args=(self._open,), daemon=True).start()

    def write(self, request: Request) -> None:
        """Waits while the stream takes no more."""
        message, payloads = encode_request(self._exchange, request, inline=False)
        batch = _pack(payloads)
        with self._writing:
            if self._ended:
                raise OSError("the channel was closed")
            self._writer.write_with_metadata(batch, message)

    def close(self) -> None:
        """End the stream; it is broken off if the server does not end it as well."""
        if self._open is None:
            return
        if self._writing.acquire(timeout=_SECONDS_TO_CLOSE):
            if not self._ended:
                self._ended = True
                with contextlib.suppress(pa.ArrowException, OSError):
                    self._writer.done_writing()
            self._writing.release()
        if not self._over.wait(_SECONDS_TO_CLOSE):
            self._reader.cancel()

    def _connect(self) -> Any:
        options: dict[str, Any] = {}
        if self._tls is not None:
            self._tls.context()  # which says what is wrong with the files
            options = {
                "tls_root_certs": read_pem(self._tls.roots),
                "cert_chain": read_pem(self._tls.certificate),
                "private_key": read_pem(self._tls.key),
                "override_hostname": self._tls.server_name,
            }
        return self._flight.FlightClient(
            _location(self._where, self._tls is not None),
            generic_options=[
                ("grpc.enable_http_proxy", 0),
                ("grpc.enable_retries", 0),
                ("grpc.use_local_subchannel_pool", 1),
            ],
            **options,
        )

    def _greet(self, client: Any) -> None:
        action = self._flight.Action("hello", HELLO)
        limits = self._flight.FlightCallOptions(timeout=SECONDS_TO_GREET)
        heard = [result.body.to_pybytes() for result in client.do_action(action, limits)]
        if heard != [HELLO]:
            raise InputError(f"it does not speak this protocol: {heard[:1]!r}")

    def _listen(self, waiting: OpenRequests, on_answer: OnAnswer) -> None:
        """Read answers until the stream ends."""
        reason = "closed the stream"
        try:
            for _, message in self._reader:
                self._heard = time.monotonic()
                answer = _answer(message)
                if answer.sequence >= 0:
                    self.take(answer, on_answer)
                elif answer.error is not None:
                    reason = answer.error
                    break
        except (pa.ArrowException, OSError, InputError) as error:
            reason = str(error)
        if time.monotonic() - self._heard >= self._silence_seconds:
            reason = f"showed no life for {self._silence_seconds} s"
        waiting.fail(f"{self._address}: {reason}")
        with contextlib.suppress(pa.ArrowException, OSError):
            self._reader.cancel()
        with self._writing, contextlib.suppress(pa.ArrowException, OSError):
            self._ended = True
            self._writer.close()
        self._client.close()
        self._over.set()

    def _watch(self, _waiting: OpenRequests) -> None:
        """Break the stream off when nothing is heard for too long."""
        while not self._over.wait(self._silence_seconds / 4):
            if time.monotonic() - self._heard >= self._silence_seconds:
                self._reader.cancel()
                return

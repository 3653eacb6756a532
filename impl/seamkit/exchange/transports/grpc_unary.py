"""gRPC: one call a request, the payloads inside the protobuf message.

Messages and their meaning are those of StarRocks' transmit_chunk, but the payload of a chunk is in
its `data`: brpc's attachments are not gRPC's. A request above a size has two parts instead: the
message, then a stream of pieces of its payloads, of which none is read before the message has said
how many bytes there are, and these are not too many. The server runs on one event loop, where a
withheld answer is a future and no thread. HTTP/2 pings tell a call that waits from a peer that is
gone; one call of each channel, `stay`, waits as long as the channel is open, so that a lost client
is noticed between its requests as well.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from seambase.errors import InputError, UnavailableError
from seambase.extras import needs
from seambase.wording import counted
from seamkit.core.payloads import flat
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.address import Address, ClientTls, ServerTls, read_pem
from seamkit.exchange.transports.base import (
    HELLO,
    MESSAGE_BYTES_AT_MOST,
    RPC_HTTP_MIN_SIZE,
    SECONDS_TO_GREET,
    SILENCE_SECONDS,
    Arrivals,
    OpenRequests,
    RequestChannel,
    Server,
    announcement,
    note,
)
from seamkit.exchange.transports.wire import (
    attachment_bytes,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

_SERVICE = "seambench.bench.exchange.PInternalService"
_MOST_BYTES = 64 << 20
_CLOSES = "the server closes"
#: Of the payloads of a request in two parts: pieces that gRPC takes without being asked.
_PIECE_BYTES = 1 << 20
#: For clients to hear why their calls end.
_SECONDS_TO_PART = 1.0
#: No proxy between workers, no shared connections, no second try of what may have arrived.
_OPTIONS = [
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.keepalive_permit_without_calls", 1),
]


def _grpc() -> Any:
    with needs("seamkit[exchange]", "the transport grpc"):
        import grpc
    return grpc


class _Loop:
    """The event loop of all servers of this process, in a thread of its own.

    There is one since grpc.aio polls one queue for the whole process.
    """

    _lock = threading.Lock()
    _loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def get(cls) -> asyncio.AbstractEventLoop:
        with cls._lock:
            if cls._loop is None:
                cls._loop = asyncio.new_event_loop()
                threading.Thread(target=cls._loop.run_forever, daemon=True).start()
            return cls._loop


class _ServerClosesError(Exception):
    """Nothing that waits will be answered."""


class _Sender:
    """When a sender that announced itself was last heard, and what it waits for."""

    def __init__(self) -> None:
        self._heard = time.monotonic()
        self.unanswered = 0

    def answered(self) -> None:
        """It has one more answer: from now on its silence counts again."""
        self.unanswered -= 1
        self._heard = time.monotonic()

    def seconds_left(self, silence_seconds: float) -> float:
        """Until it has been silent for so long; whoever waits for us may be silent."""
        if self.unanswered:
            return silence_seconds
        return self._heard + silence_seconds - time.monotonic()


class GrpcServer(Server):
    """Takes requests from gRPC calls and delivers them to a registry; see `Server`."""

    most_bytes_at_most = _MOST_BYTES

    def __init__(self, registry: SourceRegistry, address: str, **options: Any) -> None:
        self._grpc = _grpc()
        super().__init__(registry, address, **options)
        # What follows belongs to the loop's thread.
        self._senders: dict[tuple[int, int], _Sender] = {}
        self._waiting: set[asyncio.Future[Any]] = set()
        self._loop = _Loop.get()
        settings = [
            *_OPTIONS,
            ("grpc.so_reuseport", 0),
            ("grpc.server_handshake_timeout_ms", int(SECONDS_TO_GREET * 1000)),
            (
                "grpc.max_receive_message_length",
                min(self._most_bytes, RPC_HTTP_MIN_SIZE - MESSAGE_BYTES_AT_MOST)
                + MESSAGE_BYTES_AT_MOST,
            ),
            # Clients may ask as often as they like whether this side lives.
            ("grpc.http2.min_ping_interval_without_data_ms", 1),
            ("grpc.http2.max_ping_strikes", 0),
            *_pings(self._beat_seconds, SILENCE_SECONDS),
        ]
        credentials = None if self._tls is None else self._credentials(self._tls)
        self._server, where = self._on_loop(self._start(settings, credentials))
        self.address = str(where)

    def close(self) -> None:
        """Stop listening and end every call, with the reason. Repeatable."""
        if not self._closed:
            self._closed = True
            self._on_loop(self._stop())

    async def _stop(self) -> None:
        for future in list(self._waiting):
            if not future.done():
                future.set_exception(_ServerClosesError)
                future.exception()  # who waits may be gone: asyncio would print that nobody asks
        await self._server.stop(_SECONDS_TO_PART)

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _credentials(self, tls: ServerTls) -> Any:
        tls.context()  # which says what is wrong with the files; gRPC would only log it
        return self._grpc.ssl_server_credentials(
            [(read_pem(tls.key), read_pem(tls.certificate))],
            root_certificates=read_pem(tls.client_roots),
            require_client_auth=tls.client_roots is not None,
        )

    async def _start(self, options: list[tuple[str, int]], credentials: Any) -> tuple[Any, Address]:
        server = self._grpc.aio.server(options=options)
        handlers = {
            "hello": self._grpc.unary_unary_rpc_method_handler(self._hello),
            "stay": self._grpc.unary_unary_rpc_method_handler(self._stay),
            "transmit_chunk": self._grpc.unary_unary_rpc_method_handler(self._transmit_chunk),
            "transmit_chunk_in_parts": self._grpc.stream_unary_rpc_method_handler(
                self._transmit_chunk_in_parts
            ),
        }
        server.add_generic_rpc_handlers(
            [self._grpc.method_handlers_generic_handler(_SERVICE, handlers)]
        )
        try:
            if credentials is None:
                port = server.add_insecure_port(self._where.target)
            else:
                port = server.add_secure_port(self._where.target, credentials)
        except RuntimeError as error:
            raise UnavailableError(f"cannot listen at {self._where}: {error}") from error
        await server.start()
        return server, self._where.with_port(port)

    async def _hello(self, said: bytes, context: Any) -> bytes:
        if said != HELLO:
            await self._refuse(context, f"the peer says {said[:16]!r} and not {HELLO!r}")
        return HELLO

    async def _stay(self, message: bytes, context: Any) -> bytes:
        """Wait until the client goes or falls silent; then the sender it announced is lost."""
        arrivals = Arrivals(self._registry)
        exchange, request = await self._decoded(message, context)
        if not request.is_announcement:
            await self._refuse(context, f"request {request.sequence} came as an announcement")
        arrivals.deliver(exchange, request, lambda _: None)
        sender = self._senders[exchange, request.be_number] = _Sender()
        try:
            reason = await self._silence_of(sender)
        except asyncio.CancelledError:
            arrivals.end("its channel is gone")
            raise
        except _ServerClosesError:
            arrivals.end(_CLOSES)
            await context.abort(self._grpc.StatusCode.UNAVAILABLE, _CLOSES)
        finally:
            if self._senders.get((exchange, request.be_number)) is sender:
                del self._senders[exchange, request.be_number]
        arrivals.end(reason)
        await self._refuse(context, reason)
        return HELLO  # never: a refusal raises

    async def _silence_of(self, sender: _Sender) -> str:
        """Why a sender is given up, as soon as there is a reason."""
        over: asyncio.Future[None] = self._loop.create_future()
        self._waiting.add(over)
        try:
            while (left := sender.seconds_left(self._silence_seconds)) > 0:
                await asyncio.wait([over], timeout=left)
                if over.done():
                    over.result()
        finally:
            self._waiting.discard(over)
        return f"the sender said nothing for {self._silence_seconds:g} s"

    async def _decoded(
        self, message: bytes, context: Any, attachment: memoryview | None = None
    ) -> tuple[int, Request]:
        try:
            return decode_request(message, attachment)
        except InputError as error:
            await self._refuse(context, str(error))
            raise

    async def _transmit_chunk(self, message: bytes, context: Any) -> bytes:
        return await self._answered(*await self._decoded(message, context), context)

    async def _transmit_chunk_in_parts(self, parts: AsyncIterator[bytes], context: Any) -> bytes:
        try:
            message = await self._next_part(parts)
            attachment = await self._attachment(message, parts)
        except InputError as error:
            await self._refuse(context, str(error))
            raise
        return await self._answered(*await self._decoded(message, context, attachment), context)

    async def _next_part(self, parts: AsyncIterator[bytes]) -> bytes:
        """The next part, or no bytes at the end."""
        try:
            return await asyncio.wait_for(anext(parts, b""), self._silence_seconds)
        except TimeoutError as error:
            raise InputError(
                f"a request in two parts stood still for {self._silence_seconds:g} s"
            ) from error

    async def _attachment(self, message: bytes, parts: AsyncIterator[bytes]) -> memoryview:
        """The second part of a request, as large as the first one says."""
        if len(message) > MESSAGE_BYTES_AT_MOST:
            raise InputError(
                f"a message of {counted(len(message), 'byte')} comes before its payloads"
            )
        size = attachment_bytes(message)
        if size > self._most_bytes:
            raise InputError(
                f"a request in two parts has {counted(size, 'byte')}, and "
                f"{self._most_bytes} are taken at most"
            )
        pieces = bytearray()
        while piece := await self._next_part(parts):
            if len(pieces) + len(piece) > size:
                raise InputError(
                    f"chunks of {counted(size, 'byte')} came with an attachment of more"
                )
            pieces += piece
        return memoryview(pieces)

    async def _answered(self, exchange: int, request: Request, context: Any) -> bytes:
        """The answer to a request that came whole, when it is given."""
        if request.is_announcement:
            await self._refuse(context, "an announcement came as a request, which has an answer")
        answered: asyncio.Future[Answer] = self._loop.create_future()
        self._waiting.add(answered)
        arrivals = Arrivals(self._registry, announced=False)
        sender = self._senders.get((exchange, request.be_number), _Sender())
        sender.unanswered += 1
        try:
            arrivals.deliver(exchange, request, _replier(self._loop, answered))
            return encode_answer(await answered)
        except asyncio.CancelledError:
            arrivals.end("its call was broken off")
            raise
        except _ServerClosesError:
            arrivals.end(_CLOSES)
            await context.abort(self._grpc.StatusCode.UNAVAILABLE, _CLOSES)
            raise
        finally:
            sender.answered()
            self._waiting.discard(answered)

    async def _refuse(self, context: Any, reason: str) -> None:
        note(self.errors, reason)
        await context.abort(self._grpc.StatusCode.INVALID_ARGUMENT, reason)


def _replier(
    loop: asyncio.AbstractEventLoop, answered: asyncio.Future[Answer]
) -> Callable[[Answer], None]:
    def settle(answer: Answer) -> None:
        if not answered.done():
            answered.set_result(answer)

    def reply(answer: Answer) -> None:
        loop.call_soon_threadsafe(settle, answer)

    return reply


def _pings(every_seconds: float, patience_seconds: float) -> list[tuple[str, int]]:
    patience = int(patience_seconds * 1000)
    return [
        ("grpc.keepalive_time_ms", int(every_seconds * 1000)),
        ("grpc.keepalive_timeout_ms", patience),
        ("grpc.http2.ping_timeout_ms", patience),  # a minute otherwise, which would count
    ]


class GrpcChannel(RequestChannel):
    """A `Channel` of a call for each request; see `RequestChannel`."""

    most_bytes_at_most = _MOST_BYTES
    broken_by = (ValueError,)  # what grpcio raises over a channel that is closed

    def __init__(self, address: str, exchange: int, **options: Any) -> None:
        self._grpc = _grpc()
        super().__init__(address, exchange, **options)
        self._channel: Any = None
        self._call: Any = None
        self._call_in_parts: Any = None
        self._staying: Any = None
        self._on_answer: OnAnswer | None = None

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Connect and greet."""
        half = self._silence_seconds / 2
        options: list[tuple[str, Any]] = [
            *_OPTIONS,
            ("grpc.max_send_message_length", -1),
            *_pings(half, half),
        ]
        if self._tls is None:
            channel = self._grpc.insecure_channel(self._where.target, options)
        else:
            if self._tls.server_name:
                options.append(("grpc.ssl_target_name_override", self._tls.server_name))
            credentials = self._credentials(self._tls)
            channel = self._grpc.secure_channel(self._where.target, credentials, options)
        try:
            heard = channel.unary_unary(f"/{_SERVICE}/hello")(HELLO, timeout=SECONDS_TO_GREET)
        except self._grpc.RpcError as error:
            channel.close()
            raise UnavailableError(
                f"{self._address} cannot be reached: {_reason(error)}"
            ) from error
        if heard != HELLO:
            channel.close()
            raise UnavailableError(f"{self._address} does not speak this protocol: {heard[:16]!r}")
        self._channel = channel
        self._call = channel.unary_unary(f"/{_SERVICE}/transmit_chunk")
        self._call_in_parts = channel.stream_unary(f"/{_SERVICE}/transmit_chunk_in_parts")
        self._open = OpenRequests(on_failure)
        self._on_answer = on_answer
        if be_number is not None:
            message, _ = encode_request(self._exchange, announcement(be_number), inline=True)
            self._staying = channel.unary_unary(f"/{_SERVICE}/stay").future(message)
            self._staying.add_done_callback(self._left)

    def write(self, request: Request) -> None:
        """Start the call of the request."""
        apart = request.bytes > self._rpc_http_min_size
        message, payloads = encode_request(self._exchange, request, inline=not apart)
        call = (
            self._call_in_parts.future(_parts(message, payloads))
            if apart
            else self._call.future(message)
        )
        call.add_done_callback(self._ended)

    def close(self) -> None:
        """Break off what is open and disconnect."""
        if self._channel is not None:
            if self._staying is not None:
                self._staying.cancel()
            self._channel.close()

    def _left(self, call: Future[bytes]) -> None:
        """The server is gone, or this side closed the channel."""
        assert self._open is not None
        reason = "the channel was closed" if call.cancelled() else _reason(call)
        self._open.fail(f"{self._address}: {reason}")

    def _credentials(self, tls: ClientTls) -> Any:
        tls.context()  # which says what is wrong with the files; gRPC would only log it
        return self._grpc.ssl_channel_credentials(
            read_pem(tls.roots), read_pem(tls.key), read_pem(tls.certificate)
        )

    def _ended(self, call: Future[bytes]) -> None:
        """A call has its answer, or never will."""
        assert self._open is not None
        assert self._on_answer is not None
        try:
            self.take(decode_answer(call.result()), self._on_answer)
        except self._grpc.RpcError as error:
            reason = _reason(error)
            if error.code() is self._grpc.StatusCode.UNIMPLEMENTED:
                most = self._rpc_http_min_size
                reason = (
                    "takes no request in two parts, as those above "
                    f"{counted(most, 'byte')} are: {reason}"
                )
            self._open.fail(f"{self._address}: {reason}")
        except (self._grpc.FutureCancelledError, InputError) as error:
            self._open.fail(f"{self._address}: {error or 'the channel was closed'}")


def _parts(message: bytes, payloads: Sequence[Any]) -> Iterator[bytes]:
    """A request in two parts: its message, and what follows it in pieces."""
    yield message
    for payload in payloads:
        whole = memoryview(flat(payload)).cast("B")
        for at in range(0, len(whole), _PIECE_BYTES):
            yield bytes(whole[at : at + _PIECE_BYTES])


def _reason(error: Any) -> str:
    return f"{error.code().name}: {error.details()}"

"""Plain sockets, Unix or TCP, with TLS if asked for: the floor without a framework.

Requests and answers are frames (`connection`). Answers come back on the same connection, without
an attachment; one to no request says that the server lives, or, with an error, why it ends.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seambase.errors import InputError, UnavailableError
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.base import (
    SECONDS_TO_GREET,
    SILENCE_SECONDS,
    Arrivals,
    OpenRequests,
    RequestChannel,
    Server,
    announcement,
    join,
    note,
)
from seamkit.exchange.transports.connection import Connection
from seamkit.exchange.transports.streams import PlainStream, Stream, TlsStream
from seamkit.exchange.transports.wire import (
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

_MOST_BYTES = 256 << 20
#: What the kernel keeps of a Unix socket before a sender waits: a request of some chunks.
_UNIX_SENDING_BYTES = 1 << 20
#: Connections of one server, each with a thread.
_MOST_CONNECTIONS = 1024
#: Before a server that cannot accept, for want of numbers or threads, tries again.
_SECONDS_TO_RECOVER = 0.05


class SocketServer(Server):
    """Takes requests from sockets; see `Server`.

    A peer beyond `most_connections` is dropped.
    """

    most_bytes_at_most = _MOST_BYTES

    def __init__(
        self,
        registry: SourceRegistry,
        address: str,
        *,
        most_connections: int = _MOST_CONNECTIONS,
        **options: Any,
    ) -> None:
        super().__init__(registry, address, **options)
        self._context = None if self._tls is None else self._tls.context()
        self._most_connections = most_connections
        self.allocator = TrackedAllocator()
        self._listener = socket.socket(self._where.family)
        try:
            if self._where.path:
                self._listener.bind(self._where.path)
            else:
                self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                self._listener.bind((self._where.host, self._where.port))
                self._where = self._where.with_port(self._listener.getsockname()[1])
            self._listener.listen()
        except OSError as error:
            self._listener.close()
            raise UnavailableError(f"cannot listen at {address}: {error.strerror}") from error
        self.address = str(self._where)
        self._connections: set[Connection] = set()
        self._served = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening and drop every connection. Repeatable."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            connections = list(self._connections)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._where.path:
            Path(self._where.path).unlink(missing_ok=True)
        for connection in connections:
            connection.hang_up()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError as error:
                if self._closed:
                    return
                self._cannot_take(str(error))
                continue
            if self._served >= self._most_connections:
                sock.close()
                self._cannot_take(f"{self._served} are open, and no more are taken")
                continue
            with self._lock:
                self._served += 1
            try:
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()
            except RuntimeError as error:  # the system has no thread to give
                sock.close()
                with self._lock:
                    self._served -= 1
                self._cannot_take(str(error))

    def _cannot_take(self, reason: str) -> None:
        """A connection could not be taken: others end, and the next one may."""
        note(self.errors, f"a connection was not taken: {reason}")
        time.sleep(_SECONDS_TO_RECOVER)

    def _serve(self, sock: socket.socket) -> None:
        """One connection, from its handshake to its end; what breaks the protocol ends it."""
        stream: Stream = PlainStream(sock)
        arrivals = Arrivals(self._registry)
        reason = "its connection ended"
        try:
            stream = _secured(sock, self._context, server_side=True)
            self._converse(Connection(stream, self._most_bytes, self.allocator), arrivals)
        except (InputError, OSError) as error:
            reason = str(error)
            if not self._closed:
                note(self.errors, reason)
        finally:
            stream.close()
            with self._lock:
                self._served -= 1
            arrivals.end(reason)

    def _converse(self, connection: Connection, arrivals: Arrivals) -> None:
        with self._lock:
            if self._closed:
                return
            self._connections.add(connection)
        try:
            connection.greet("the peer")
            connection.beat(self._beat_seconds, SECONDS_TO_GREET)
            while (frame := connection.read()) is not None:
                connection.beat(self._beat_seconds, self._silence_seconds)
                exchange, request = decode_request(*frame)
                connection.expect_answers(0 if request.is_announcement else 1)
                arrivals.deliver(exchange, request, _replier(connection))
        except InputError as error:
            arrivals.end(str(error))
            connection.part(str(error))
            raise
        finally:
            with self._lock:
                self._connections.discard(connection)


def _secured(
    sock: socket.socket,
    tls: ssl.SSLContext | None,
    *,
    server_side: bool = False,
    server_name: str | None = None,
) -> Stream:
    """The stream of a connected socket, in bounded time."""
    if sock.family == socket.AF_UNIX:
        # TCP finds the size by itself. The system may give less than is asked for.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNIX_SENDING_BYTES)
    if sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Hosts that vanish: what was sent to them must be acknowledged in time.
        milliseconds = int(SILENCE_SECONDS * 1000)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    if tls is None:
        sock.settimeout(None)
        return PlainStream(sock)
    sock.settimeout(SECONDS_TO_GREET)
    return TlsStream(tls.wrap_socket(sock, server_side=server_side, server_hostname=server_name))


def _replier(connection: Connection) -> Callable[[Answer], None]:
    def reply(answer: Answer) -> None:
        with contextlib.suppress(OSError):  # a sender that is gone needs no answer
            connection.expect_answers(-1)
            connection.write(encode_answer(answer), [])

    return reply


class SocketChannel(RequestChannel):
    """A `Channel` over one connection; see `RequestChannel`."""

    most_bytes_at_most = _MOST_BYTES
    broken_by = (OSError,)

    def __init__(self, address: str, exchange: int, **options: Any) -> None:
        super().__init__(address, exchange, **options)
        self._connection: Connection | None = None
        self._listener: threading.Thread | None = None

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Connect and greet."""
        where, tls = self._where, self._tls
        context = None if tls is None else tls.context()
        sock = socket.socket(where.family)
        stream: Stream = PlainStream(sock)
        try:
            sock.settimeout(SECONDS_TO_GREET)
            sock.connect(where.path or (where.host, where.port))
            name = None if tls is None else tls.server_name or where.host
            stream = _secured(sock, context, server_name=name)
            connection = Connection(stream, 0, TrackedAllocator())
            connection.greet(self._address)
            connection.watch(self._silence_seconds)
            if be_number is not None:
                opening = encode_request(self._exchange, announcement(be_number), inline=False)
                connection.write(*opening)
        except (OSError, InputError) as error:
            stream.close()
            raise UnavailableError(f"{self._address} cannot be reached: {error}") from error
        self._connection = connection
        self._open = OpenRequests(on_failure)
        self._listener = threading.Thread(
            target=self._listen, args=(stream, connection, self._open, on_answer), daemon=True
        )
        self._listener.start()

    def write(self, request: Request) -> None:
        """Waits while the socket takes no more."""
        assert self._connection is not None, "a channel is opened before it sends"
        message, payloads = encode_request(self._exchange, request, inline=False)
        self._connection.write(message, payloads)

    def close(self) -> None:
        """Close the connection, and wait for the thread that reads from it."""
        if self._connection is not None:
            self._connection.hang_up()
            join(self._listener)

    def _listen(
        self,
        stream: Stream,
        connection: Connection,
        waiting: OpenRequests,
        on_answer: OnAnswer,
    ) -> None:
        """Read answers until the connection ends."""
        reason = "closed the connection"
        try:
            while (frame := connection.read()) is not None:
                answer = decode_answer(frame[0])
                if answer.sequence >= 0:
                    self.take(answer, on_answer)
                elif answer.error is not None:  # else it only says that it lives
                    reason = answer.error
                    break
        except TimeoutError:
            reason = f"showed no life for {self._silence_seconds} s"
        except (OSError, InputError) as error:
            reason = str(error)
        stream.close()
        waiting.fail(f"{self._address}: {reason}")

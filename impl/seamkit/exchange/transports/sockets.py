"""Plain sockets, Unix or TCP, with TLS if asked for: the floor without a framework.

A connection begins with eight bytes from each side. Then frames follow: two little-endian words,
the sizes of message and attachment, the message (`seamkit.exchange.transports.wire`), the
attachment: the payloads of all chunks. Answers come back on the same connection, without an
attachment; one to no request says that the server lives.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

from seambase.errors import InputError, UnavailableError
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.core.payloads import size_of
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.address import parse_address
from seamkit.exchange.transports.arrivals import Arrivals
from seamkit.exchange.transports.base import (
    BEAT_SECONDS,
    HELLO,
    MESSAGE_BYTES_AT_MOST,
    SECONDS_TO_GREET,
    SILENCE_SECONDS,
    ChannelOptions,
    OpenRequests,
    RequestChannel,
    announcement,
)
from seamkit.exchange.transports.streams import PlainStream, Stream, TlsStream
from seamkit.exchange.transports.tls import ServerTls
from seamkit.exchange.transports.wire import (
    BEAT,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)

__all__ = ["SocketChannel", "SocketServer"]

_SIZES = struct.Struct("<IQ")
_MOST_BYTES = 256 << 20
#: Enough for the heads and messages of several frames; what belongs to an attachment is copied.
_BYTES_AHEAD = 4096
#: What the kernel keeps of a Unix socket before a sender waits: a request of some chunks.
_UNIX_SENDING_BYTES = 1 << 20


class _Connection:
    """Frames over a stream. One thread reads; any may write.

    Args:
        stream: the way.
        most_bytes: attachment beyond which the peer is refused.
        allocator: owner of attachments.
    """

    def __init__(self, stream: Stream, most_bytes: int, allocator: TrackedAllocator) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._allocator = allocator
        self._writing = threading.Lock()
        self._beat_seconds: float | None = None
        self._beaten = 0.0
        self._ahead = memoryview(bytearray(_BYTES_AHEAD))
        self._used = self._read_ahead = 0  # of what was read ahead, and what is left of it

    def greet(self, peer: str) -> None:
        """Say which protocol this is and hear the same."""
        self._stream.bound(SECONDS_TO_GREET, SECONDS_TO_GREET)
        self._stream.send([HELLO])
        heard = self._take(len(HELLO))
        if heard[:-1] != HELLO[:-1]:
            raise InputError(f"{peer} does not speak this protocol: it says {bytes(heard)!r}")
        if heard[-1] != HELLO[-1]:
            raise InputError(f"{peer} speaks version {heard[-1]} of the protocol, not {HELLO[-1]}")

    def watch(self, seconds: float) -> None:
        """Give the peer up when it is silent for so long, or takes nothing."""
        self._stream.bound(seconds, seconds)

    def beat(self, seconds: float) -> None:
        """Show the peer, so often, that this side lives; whoever reads does that."""
        self._beat_seconds = seconds
        self._beaten = time.monotonic()
        self._stream.bound(seconds, SILENCE_SECONDS)

    def write(self, message: bytes, payloads: list[Any]) -> None:
        """Send one frame whole; a connection that stalls within one is of no more use."""
        sizes = _SIZES.pack(len(message), sum(map(size_of, payloads)))
        with self._writing:
            try:
                self._stream.send([sizes + message, *payloads])
            except OSError:
                self._stream.hang_up()
                raise

    def read(self) -> tuple[bytes, memoryview] | None:
        """The next frame; None when the peer closed between two."""
        if self._read_ahead == 0 and not self._receive((self._ahead,), at_border=True):
            return None
        message_bytes, attachment_bytes = _SIZES.unpack(self._take(_SIZES.size))
        if message_bytes > MESSAGE_BYTES_AT_MOST or attachment_bytes > self._most_bytes:
            raise InputError(
                f"a frame of {message_bytes} + {attachment_bytes} bytes; at most "
                f"{MESSAGE_BYTES_AT_MOST} + {self._most_bytes} are taken"
            )
        message = bytes(self._take(message_bytes))
        attachment = memoryview(b"")
        if attachment_bytes:
            attachment = Block(self._allocator, attachment_bytes).view
            self._fill(attachment)
        return message, attachment

    def _take(self, size_bytes: int) -> bytearray:
        """The next bytes of the stream, of which there are few."""
        taken = bytearray(size_bytes)
        self._fill(memoryview(taken))
        return taken

    def _fill(self, target: memoryview) -> None:
        """Fill `target` with what was read ahead and what comes.

        Of little, what follows is read ahead by the same call, as far as it has come; a lot is
        waited for in one call, so that Python does not run for each piece that comes.
        """
        done = min(self._read_ahead, len(target))
        if done:
            target[:done] = self._ahead[self._used : self._used + done]
            self._used += done
            self._read_ahead -= done
        while done < len(target):
            missing = len(target) - done
            if missing > _BYTES_AHEAD:
                done += self._receive((target[done:],), missing, whole=True)
                continue
            count = self._receive((target[done:], self._ahead), missing)
            done += min(count, missing)
            self._note_ahead(count - missing)

    def _note_ahead(self, count: int) -> None:
        self._used, self._read_ahead = 0, max(count, 0)

    def _receive(
        self,
        targets: tuple[memoryview, ...],
        missing: int = 1,
        *,
        at_border: bool = False,
        whole: bool = False,
    ) -> int:
        """Bytes that came, at least one; 0 where the stream may end and does."""
        while True:
            try:
                count = self._stream.receive(targets, whole=whole)
            except TimeoutError:
                if self._beat_seconds is None:
                    raise
                count = -1
            except ConnectionResetError:  # the peer left without reading all that was said to it
                if not at_border:
                    raise
                count = 0
            if self._beat_seconds is not None:
                self._beat_when_due(self._beat_seconds)
            if count == 0 and not at_border:
                raise InputError(f"the connection ended {missing} bytes too early")
            if at_border:
                self._note_ahead(count)
            if count >= 0:
                return count

    def _beat_when_due(self, seconds: float) -> None:
        now = time.monotonic()
        if now - self._beaten >= seconds:
            self._beaten = now
            self.write(BEAT, [])

    def hang_up(self) -> None:
        """Wake whoever reads or writes. Repeatable."""
        self._stream.hang_up()


class SocketServer:
    """Takes requests from sockets and delivers them to a registry.

    Args:
        registry: where exchanges are known.
        address: `unix:PATH` or `tcp:HOST:PORT`; port 0 for any.
        tls: None for plain connections.
        most_bytes: payload of one request beyond which a peer is refused.
        beat_seconds: how often clients are shown that the server lives.

    Raises:
        UnavailableError: the address cannot be had.
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
        self._where = parse_address(address)
        self._registry = registry
        self._tls = None if tls is None else tls.context()
        self._most_bytes = most_bytes
        self._beat_seconds = beat_seconds
        self.allocator = TrackedAllocator()
        self.errors: list[str] = []
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
        self._connections: set[_Connection] = set()
        self._lock = threading.Lock()
        self._closed = False
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
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        """One connection, from its handshake to its end; what breaks the protocol ends it."""
        stream: Stream = PlainStream(sock)
        arrivals = Arrivals(self._registry)
        reason = "its connection ended"
        try:
            stream = _secured(sock, self._tls, server_side=True)
            self._converse(_Connection(stream, self._most_bytes, self.allocator), arrivals)
        except (InputError, OSError) as error:
            reason = str(error)
            if not self._closed:
                self.errors.append(reason)
        finally:
            stream.close()
            arrivals.end(reason)

    def _converse(self, connection: _Connection, arrivals: Arrivals) -> None:
        with self._lock:
            if self._closed:
                return
            self._connections.add(connection)
        try:
            connection.greet("the peer")
            connection.beat(self._beat_seconds)
            while (frame := connection.read()) is not None:
                arrivals.deliver(*decode_request(*frame), _replier(connection))
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


def _announced(exchange: int, be_number: int) -> tuple[bytes, list[Any]]:
    return encode_request(exchange, announcement(be_number), inline=False)


def _replier(connection: _Connection) -> Callable[[Answer], None]:
    def reply(answer: Answer) -> None:
        with contextlib.suppress(OSError):  # a sender that is gone needs no answer
            connection.write(encode_answer(answer), [])

    return reply


class SocketChannel(RequestChannel):
    """A `Channel` over one connection; see `RequestChannel`."""

    most_bytes_at_most = _MOST_BYTES
    broken_by = (OSError,)

    def __init__(self, address: str, exchange: int, **options: Unpack[ChannelOptions]) -> None:
        super().__init__(address, exchange, **options)
        self._connection: _Connection | None = None

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Connect and greet.

        Raises:
            UnavailableError: nobody is there, or not one that speaks this protocol.
            InputError: a file of `tls` is not what it should be.
        """
        where, tls = self._where, self._tls
        context = None if tls is None else tls.context()
        sock = socket.socket(where.family)
        stream: Stream = PlainStream(sock)
        try:
            sock.settimeout(SECONDS_TO_GREET)
            sock.connect(where.path or (where.host, where.port))
            name = None if tls is None else tls.server_name or where.host
            stream = _secured(sock, context, server_name=name)
            connection = _Connection(stream, 0, TrackedAllocator())
            connection.greet(self._address)
            connection.watch(self._silence_seconds)
            if be_number is not None:
                connection.write(*_announced(self._exchange, be_number))
        except (OSError, InputError) as error:
            stream.close()
            raise UnavailableError(f"{self._address} cannot be reached: {error}") from error
        self._connection = connection
        self._open = OpenRequests(on_failure)
        threading.Thread(
            target=self._listen, args=(stream, connection, self._open, on_answer), daemon=True
        ).start()

    def write(self, request: Request) -> None:
        """Waits while the socket takes no more."""
        assert self._connection is not None, "a channel is opened before it sends"
        message, payloads = encode_request(self._exchange, request, inline=False)
        self._connection.write(message, payloads)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.hang_up()

    def _listen(
        self,
        stream: Stream,
        connection: _Connection,
        waiting: OpenRequests,
        on_answer: OnAnswer,
    ) -> None:
        """Read answers until the connection ends."""
        try:
            while (frame := connection.read()) is not None:
                answer = decode_answer(frame[0])
                if answer.sequence < 0:
                    continue  # it lives
                waiting.answered(answer.sequence)
                on_answer(answer)
            reason = "closed the connection"
        except TimeoutError:
            reason = f"showed no life for {self._silence_seconds} s"
        except (OSError, InputError) as error:
            reason = str(error)
        stream.close()
        waiting.fail(f"{self._address}: {reason}")

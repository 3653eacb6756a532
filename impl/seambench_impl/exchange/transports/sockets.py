"""Plain sockets, Unix or TCP, with TLS if asked for: the floor without a framework.

A connection begins with eight bytes from each side. Then frames follow: two little-endian words,
the sizes of message and attachment, the message (`seambench_impl.exchange.wire`), the attachment:
the payloads of all chunks. Answers come back on the same connection, without an attachment.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from pathlib import Path
from typing import Any

from seambench.errors import InputError, UnavailableError, UsageError
from seambench_impl.exchange.messages import Answer, Request
from seambench_impl.exchange.source import SourceRegistry
from seambench_impl.exchange.transports.base import OnAnswer, OnFailure
from seambench_impl.exchange.wire import (
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
)
from seambench_impl.memory import Block, TrackedAllocator

__all__ = ["SocketChannel", "SocketServer"]

#: Sent by both sides first; the last byte is the version of the protocol.
HELLO = b"SEAMXCH\x01"
_SIZES = struct.Struct("<IQ")
_MESSAGE_BYTES_AT_MOST = 1 << 20
_SECONDS_TO_GREET = 10.0
_PIECES_AT_ONCE = 64  # far below what one sendmsg takes


def _parse(address: str) -> tuple[socket.AddressFamily, Any]:
    kind, _, rest = address.partition(":")
    if kind == "unix" and rest:
        return socket.AF_UNIX, rest
    host, _, port = rest.rpartition(":")
    if kind == "tcp" and host and port.isdigit():
        return socket.AF_INET, (host, int(port))
    raise UsageError(f"{address!r} is no address: unix:PATH or tcp:HOST:PORT is meant")


class _Connection:
    """Frames over a connected socket. One thread reads; any may write."""

    def __init__(self, sock: socket.socket, most_bytes: int, allocator: TrackedAllocator) -> None:
        self._sock = sock
        self._most_bytes = most_bytes
        self._allocator = allocator
        self._writing = threading.Lock()

    def greet(self, peer: str) -> None:
        """Say which protocol this is and hear the same."""
        self._sock.settimeout(_SECONDS_TO_GREET)
        self._sock.sendall(HELLO)
        heard = bytearray(len(HELLO))
        self._receive(memoryview(heard))
        if heard[:-1] != HELLO[:-1]:
            raise InputError(f"{peer} does not speak this protocol: it says {bytes(heard)!r}")
        if heard[-1] != HELLO[-1]:
            raise InputError(f"{peer} speaks version {heard[-1]} of the protocol, not {HELLO[-1]}")
        self._sock.settimeout(None)

    def write(self, message: bytes, payloads: list[Any]) -> None:
        """Send one frame whole."""
        views = [memoryview(payload).cast("B") for payload in payloads]
        sizes = _SIZES.pack(len(message), sum(len(view) for view in views))
        pieces = [memoryview(sizes + message), *(view for view in views if len(view))]
        with self._writing:
            while pieces:
                sent = self._send(pieces[:_PIECES_AT_ONCE])
                while pieces and sent >= len(pieces[0]):
                    sent -= len(pieces.pop(0))
                if sent:
                    pieces[0] = pieces[0][sent:]

    def _send(self, pieces: list[memoryview]) -> int:
        if isinstance(self._sock, ssl.SSLSocket):  # which cannot send many pieces at once
            return self._sock.send(pieces[0])
        return self._sock.sendmsg(pieces)

    def read(self) -> tuple[bytes, memoryview] | None:
        """The next frame; None when the peer closed between two."""
        head = bytearray(_SIZES.size)
        if not self._receive(memoryview(head), at_border=True):
            return None
        message_bytes, attachment_bytes = _SIZES.unpack(head)
        if message_bytes > _MESSAGE_BYTES_AT_MOST or attachment_bytes > self._most_bytes:
            raise InputError(
                f"a frame of {message_bytes} + {attachment_bytes} bytes; at most "
                f"{_MESSAGE_BYTES_AT_MOST} + {self._most_bytes} are taken"
            )
        message = bytearray(message_bytes)
        self._receive(memoryview(message))
        attachment = memoryview(b"")
        if attachment_bytes:
            attachment = Block(self._allocator, attachment_bytes).view
            self._receive(attachment)
        return bytes(message), attachment

    def _receive(self, target: memoryview, *, at_border: bool = False) -> bool:
        """Fill `target`; False where the stream may end and does."""
        done = 0
        while done < len(target):
            count = self._sock.recv_into(target[done:])
            if count == 0:
                if at_border and done == 0:
                    return False
                raise InputError(f"the connection ended {len(target) - done} bytes too early")
            done += count
        return True

    def close(self) -> None:
        """Wake whoever reads, then close. Repeatable."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()


class SocketServer:
    """Takes requests from sockets and delivers them to a registry.

    Args:
        registry: where exchanges are known.
        address: `unix:PATH` or `tcp:HOST:PORT`; port 0 for any.
        tls: a server's context, or None for plain connections.
        most_bytes: payload of one request beyond which a peer is refused.
    """

    def __init__(
        self,
        registry: SourceRegistry,
        address: str,
        *,
        tls: ssl.SSLContext | None = None,
        most_bytes: int = 256 << 20,
    ) -> None:
        family, where = _parse(address)
        self._registry = registry
        self._tls = tls
        self._most_bytes = most_bytes
        self.allocator = TrackedAllocator()
        self.errors: list[str] = []
        self._listener = socket.socket(family)
        try:
            if family == socket.AF_INET:
                self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(where)
            self._listener.listen()
        except OSError as error:
            self._listener.close()
            raise UnavailableError(f"cannot listen at {address}: {error.strerror}") from error
        self.address = address
        if family == socket.AF_INET:
            host, port = self._listener.getsockname()
            self.address = f"tcp:{host}:{port}"
        self._connections: set[_Connection | None] = set()
        self._lock = threading.Lock()
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening and drop every connection. Repeatable."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            connections = [connection for connection in self._connections if connection]
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self.address.startswith("unix:"):
            Path(self.address.removeprefix("unix:")).unlink(missing_ok=True)
        for connection in connections:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        """One connection, from its greeting to its end; what breaks the protocol ends it."""
        connection: _Connection | None = None
        try:
            sock.settimeout(_SECONDS_TO_GREET)
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            connection = _Connection(sock, self._most_bytes, self.allocator)
            with self._lock:
                self._connections.add(connection)
            connection.greet("the peer")
            while (frame := connection.read()) is not None:
                exchange, request = decode_request(*frame)
                self._registry.deliver(exchange, request, _replier(connection))
        except (InputError, OSError) as error:
            if not self._closed:
                self.errors.append(str(error))
        finally:
            sock.close()
            with self._lock:
                self._connections.discard(connection)


def _replier(connection: _Connection) -> OnAnswer:
    def reply(answer: Answer) -> None:
        with contextlib.suppress(OSError):  # a sender that is gone needs no answer
            connection.write(encode_answer(answer), [])

    return reply


class SocketChannel:
    """A `Channel` over one connection.

    Args:
        address: of a `SocketServer`.
        exchange: number of the exchange there.
        tls: a client's context, or None for a plain connection.
        server_name: the name that the server's certificate must have; with `tls`.
    """

    pass_through = False

    def __init__(
        self,
        address: str,
        exchange: int,
        *,
        tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
    ) -> None:
        self._address = address
        self._exchange = exchange
        self._tls = tls
        self._server_name = server_name
        self._open: set[int] = set()
        self._lock = threading.Lock()
        self._broken: str | None = None
        self._connection: _Connection | None = None
        self._on_failure: OnFailure = lambda _sequence, _reason: None

    def open(self, on_answer: OnAnswer, on_failure: OnFailure) -> None:
        """Connect and greet.

        Raises:
            UnavailableError: nobody is there, or not one that speaks this protocol.
        """
        family, where = _parse(self._address)
        sock = socket.socket(family)
        try:
            sock.settimeout(_SECONDS_TO_GREET)
            sock.connect(where)
            if family == socket.AF_INET:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_hostname=self._server_name)
            self._connection = _Connection(sock, _MESSAGE_BYTES_AT_MOST, TrackedAllocator())
            self._connection.greet(self._address)
        except (OSError, InputError) as error:
            sock.close()
            raise UnavailableError(f"{self._address} cannot be reached: {error}") from error
        self._on_failure = on_failure
        threading.Thread(target=self._listen, args=(on_answer,), daemon=True).start()

    def send(self, request: Request) -> None:
        """Write the request; waits while the socket takes no more."""
        assert self._connection is not None, "a channel is opened before it sends"
        with self._lock:
            broken = self._broken
            if broken is None:
                self._open.add(request.sequence)
        if broken is not None:
            self._on_failure(request.sequence, broken)
            return
        message, payloads = encode_request(self._exchange, request, inline=False)
        try:
            self._connection.write(message, payloads)
        except OSError as error:
            self._fail(f"{self._address}: {error}")

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _listen(self, on_answer: OnAnswer) -> None:
        assert self._connection is not None
        try:
            while (frame := self._connection.read()) is not None:
                answer = decode_answer(frame[0])
                with self._lock:
                    self._open.discard(answer.sequence)
                on_answer(answer)
            self._fail(f"{self._address} closed the connection")
        except (OSError, InputError) as error:
            self._fail(f"{self._address}: {error}")

    def _fail(self, reason: str) -> None:
        """Whatever has no answer failed; and so will what is still to be sent."""
        with self._lock:
            self._broken = self._broken or reason
            unanswered, self._open = sorted(self._open), set()
        for sequence in unanswered:
            self._on_failure(sequence, reason)

"""Bytes over a connected socket, plain or in TLS, with a bound on how long either way may stall.

One thread receives while another sends. A plain socket allows that; an object of OpenSSL does not,
so calls on it take turns and the waiting is done outside of it.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
from collections.abc import Sequence
from typing import Protocol

__all__ = ["PlainStream", "Stream", "TlsStream"]

_PIECES_AT_ONCE = 64  # far below what one sendmsg takes
_TLS_BYTES_AT_ONCE = 1 << 18  # while these are encrypted nothing is received


class Stream(Protocol):
    """A connection. Methods raise OSError; TimeoutError when the bound on waiting is passed."""

    def bound(self, receiving_seconds: float, sending_seconds: float) -> None:
        """Set how long a call may wait without any byte getting through."""
        ...

    def receive(self, targets: Sequence[memoryview], *, whole: bool = False) -> int:
        """Fill the beginning of what `targets` are; the number of bytes, 0 at the stream's end.

        Args:
            targets: where bytes go, in order.
            whole: rather wait until all targets are full than return with less; less may come.
        """
        ...

    def send(self, pieces: Sequence[memoryview]) -> int:
        """Send the beginning of what `pieces` hold; the number of bytes."""
        ...

    def hang_up(self) -> None:
        """End both directions and wake whoever waits. Repeatable, from any thread."""
        ...

    def close(self) -> None:
        """Give the socket back; by the thread that receives."""
        ...


class PlainStream:
    """A socket as it is. The kernel keeps the bounds, so that nothing is asked before each call.

    Args:
        sock: connected and blocking.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def bound(self, receiving_seconds: float, sending_seconds: float) -> None:
        """See `Stream`."""
        for option, seconds in (
            (socket.SO_RCVTIMEO, receiving_seconds),
            (socket.SO_SNDTIMEO, sending_seconds),
        ):
            whole, rest = divmod(seconds, 1)
            self._sock.setsockopt(
                socket.SOL_SOCKET, option, struct.pack("ll", int(whole), int(rest * 1e6))
            )

    def receive(self, targets: Sequence[memoryview], *, whole: bool = False) -> int:
        """See `Stream`; the kernel collects what is wanted whole, in one call."""
        try:
            return self._sock.recvmsg_into(targets, 0, socket.MSG_WAITALL if whole else 0)[0]
        except BlockingIOError as error:
            raise TimeoutError("nothing came in time") from error

    def send(self, pieces: Sequence[memoryview]) -> int:
        """See `Stream`."""
        try:
            return self._sock.sendmsg(pieces[:_PIECES_AT_ONCE])
        except BlockingIOError as error:
            raise TimeoutError("nothing was taken in time") from error

    def hang_up(self) -> None:
        """See `Stream`."""
        _shut_down(self._sock)

    def close(self) -> None:
        """See `Stream`."""
        self._sock.close()


class TlsStream:
    """A socket in TLS.

    Args:
        sock: its handshake is done.
    """

    def __init__(self, sock: ssl.SSLSocket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._turn = threading.Lock()
        self._seconds = {select.POLLIN: 0.0, select.POLLOUT: 0.0}

    def bound(self, receiving_seconds: float, sending_seconds: float) -> None:
        """See `Stream`."""
        self._seconds = {select.POLLIN: receiving_seconds, select.POLLOUT: sending_seconds}

    def receive(
        self,
        targets: Sequence[memoryview],
        *,
        whole: bool = False,  # noqa: ARG002 - a record at a time is what there is
    ) -> int:
        """See `Stream`; one of the targets at most."""
        while True:
            try:
                with self._turn:
                    return self._sock.recv_into(targets[0])
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def send(self, pieces: Sequence[memoryview]) -> int:
        """See `Stream`; one piece at most."""
        piece = pieces[0][:_TLS_BYTES_AT_ONCE]
        while True:
            try:
                with self._turn:
                    return self._sock.send(piece)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def hang_up(self) -> None:
        """See `Stream`."""
        with self._turn:
            _shut_down(self._sock)

    def close(self) -> None:
        """See `Stream`."""
        with self._turn:
            self._sock.close()

    def _wait(self, event: int) -> None:
        number = self._sock.fileno()
        if number < 0:
            raise OSError("the connection is closed")
        poll = select.poll()
        poll.register(number, event)
        if not poll.poll(self._seconds[event] * 1000):
            raise TimeoutError(
                "nothing came in time" if event == select.POLLIN else "nothing was taken in time"
            )


def _shut_down(sock: socket.socket) -> None:
    """Both directions of the socket itself: one in TLS forgets its keys over its own method."""
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return  # the peer was faster

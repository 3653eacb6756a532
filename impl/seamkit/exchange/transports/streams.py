"""Bytes over a connected socket, plain or in TLS, with a bound on how long either way may stall.

One thread receives while another sends. A plain socket allows that; an object of OpenSSL does not,
so calls on it take turns and the waiting is done outside of it.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import ssl
import struct
import threading
from collections.abc import Sequence
from typing import Any

from seamkit.core._seam import lib
from seamkit.core.payloads import flat, to_c

_TLS_BYTES_AT_ONCE = 1 << 18  # while these are encrypted nothing is received


class PlainStream:
    """A connected, blocking socket as it is. The kernel keeps the bounds: no call asks first.

    Methods raise OSError; TimeoutError when the bound on waiting is passed.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sending = threading.Lock()  # the number of a socket that is closed is given away

    def bound(self, receiving_seconds: float, sending_seconds: float) -> None:
        """Set how long a call may wait without any byte getting through."""
        for option, seconds in (
            (socket.SO_RCVTIMEO, receiving_seconds),
            (socket.SO_SNDTIMEO, sending_seconds),
        ):
            whole, rest = divmod(seconds, 1)
            self._sock.setsockopt(
                socket.SOL_SOCKET, option, struct.pack("ll", int(whole), int(rest * 1e6))
            )

    def receive(self, targets: Sequence[memoryview], *, whole: bool = False) -> int:
        """Fill the beginning of the targets, in order; the number of bytes, 0 at the stream's end.

        `whole`: rather wait until all targets are full than return with less; less may come.
        """
        try:
            return self._sock.recvmsg_into(targets, 0, socket.MSG_WAITALL if whole else 0)[0]
        except BlockingIOError as error:
            raise TimeoutError("nothing came in time") from error

    def send(self, payloads: Sequence[Any]) -> None:
        """Send all of it, one after the other; see `seamkit.core.payloads`.

        Nothing is joined, and the interpreter's lock is not held.
        """
        pieces, count, _kept = to_c(payloads)
        with self._sending:
            if self._sock.fileno() < 0:
                raise OSError(errno.EBADF, "the connection is closed")
            code = lib.seam_pieces_send(self._sock.fileno(), pieces, count)
        if code == errno.EAGAIN:
            raise TimeoutError("nothing was taken in time")
        if code != 0:
            raise OSError(code, os.strerror(code))

    def hang_up(self) -> None:
        """End both directions and wake whoever waits. Repeatable, from any thread."""
        _shut_down(self._sock)

    def close(self) -> None:
        """Give the socket back; by the thread that receives. Whoever sends fails."""
        _shut_down(self._sock)
        with self._sending:
            self._sock.close()


class TlsStream:
    """A socket in TLS, whose handshake is done."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._turn = threading.Lock()
        self._seconds = {select.POLLIN: 0.0, select.POLLOUT: 0.0}

    def bound(self, receiving_seconds: float, sending_seconds: float) -> None:
        """See `PlainStream`."""
        self._seconds = {select.POLLIN: receiving_seconds, select.POLLOUT: sending_seconds}

    def receive(
        self,
        targets: Sequence[memoryview],
        *,
        whole: bool = False,  # noqa: ARG002 - a record at a time is what there is
    ) -> int:
        """See `PlainStream`; one of the targets at most."""
        while True:
            try:
                with self._turn:
                    return self._sock.recv_into(targets[0])
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def send(self, payloads: Sequence[Any]) -> None:
        """See `PlainStream`."""
        for payload in payloads:
            rest = memoryview(flat(payload)).cast("B")
            while len(rest):
                rest = rest[self._send_some(rest[:_TLS_BYTES_AT_ONCE]) :]

    def _send_some(self, piece: memoryview) -> int:
        while True:
            try:
                with self._turn:
                    return self._sock.send(piece)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def hang_up(self) -> None:
        """See `PlainStream`."""
        with self._turn:
            _shut_down(self._sock)

    def close(self) -> None:
        """See `PlainStream`."""
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


Stream = PlainStream | TlsStream
"""A connection."""


def _shut_down(sock: socket.socket) -> None:
    """Both directions of the socket itself: one in TLS forgets its keys over its own method."""
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return  # the peer was faster

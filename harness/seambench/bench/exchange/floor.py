"""What carrying bytes costs at least: a bare Unix socket between two threads, warm blocks."""

from __future__ import annotations

import socket
import threading
import time

from seambase.errors import SeambenchError

__all__ = ["copy_seconds"]

_PIECE_BYTES = 1 << 20


def copy_seconds(size_bytes: int) -> float:
    """Seconds in which so many bytes go through a Unix socket, neither made nor looked at.

    Raises:
        SeambenchError: not all of them arrived.
    """
    sent, came = bytearray(_PIECE_BYTES), memoryview(bytearray(_PIECE_BYTES))
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIECE_BYTES)
    arrived = 0

    def receive() -> None:
        nonlocal arrived
        while (count := right.recv_into(came)) > 0:
            arrived += count

    with left, right:
        receiving = threading.Thread(target=receive, daemon=True)
        receiving.start()
        begin = time.perf_counter()
        for at in range(0, size_bytes, _PIECE_BYTES):
            left.sendall(memoryview(sent)[: size_bytes - at])
        left.shutdown(socket.SHUT_WR)
        receiving.join()
        seconds = time.perf_counter() - begin
    if arrived != size_bytes:
        raise SeambenchError(f"{size_bytes} bytes were sent over a socket, {arrived} came")
    return seconds

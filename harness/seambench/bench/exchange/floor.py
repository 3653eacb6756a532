"""What carrying bytes costs at least: a bare Unix socket between two threads, warm blocks."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass

from seambench.records.writer import Sample

_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Copied:
    """How many bytes arrived, and what that took."""

    arrived: int
    took: Sample


def copy_bytes(size_bytes: int) -> Copied:
    """Send so many bytes through a Unix socket, neither made nor looked at."""
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
        cpu, begin = time.process_time(), time.perf_counter()
        for at in range(0, size_bytes, _PIECE_BYTES):
            left.sendall(memoryview(sent)[: size_bytes - at])
        left.shutdown(socket.SHUT_WR)
        receiving.join()
        took = Sample(time.perf_counter() - begin, time.process_time() - cpu)
    return Copied(arrived, took)

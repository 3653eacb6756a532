"""The floor under exchanges: every byte of a copy goes through the socket."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from seambase.errors import SeambenchError
from seambench.bench.exchange import floor

_REAL_PAIR = socket.socketpair


@pytest.mark.parametrize("size_bytes", [0, 1, 1 << 20, 3_000_001])
def test_a_copy_takes_time(size_bytes: int) -> None:
    """Any number of bytes, whole pieces or not."""
    assert floor.copy_seconds(size_bytes) > 0


def test_a_copy_that_loses_bytes_is_no_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fewer bytes came than were sent there is no time, but an error."""

    class Short(socket.socket):
        def recv_into(self, buffer: Any, *_: Any) -> int:
            return min(super().recv_into(buffer), 100)

    def pair(*_: Any) -> tuple[socket.socket, socket.socket]:
        left, right = _REAL_PAIR(socket.AF_UNIX, socket.SOCK_STREAM)
        return left, Short(fileno=right.detach())

    monkeypatch.setattr(socket, "socketpair", pair)
    with pytest.raises(SeambenchError, match="1000 bytes were sent over a socket, 100 came"):
        floor.copy_seconds(1000)

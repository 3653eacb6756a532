"""The floor under exchanges: every byte of a copy goes through the socket; failures on Spark."""

import socket
from typing import Any

import pytest

from seambench.bench.exchange.on_spark import _reason
from seambench.bench.exchange.suite import copy_bytes

_REAL_PAIR = socket.socketpair


@pytest.mark.parametrize("size_bytes", [0, 1, 1 << 20, 3_000_001])
def test_a_copy_takes_time(size_bytes: int) -> None:
    """Any number of bytes, whole pieces or not."""
    copied = copy_bytes(size_bytes)
    assert copied.arrived == size_bytes
    assert copied.took.wall > 0


def test_a_copy_that_loses_bytes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What arrived is counted, not assumed."""

    class Short(socket.socket):
        def recv_into(self, buffer: Any, *_: Any) -> int:
            return min(super().recv_into(buffer), 100)

    def pair(*_: Any) -> tuple[socket.socket, socket.socket]:
        left, right = _REAL_PAIR(socket.AF_UNIX, socket.SOCK_STREAM)
        return left, Short(fileno=right.detach())

    monkeypatch.setattr(socket, "socketpair", pair)
    assert copy_bytes(1000).arrived == 100


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "\n  Job aborted.\nat java.lang\n  seambench.errors: a row is lost\nmore",
            "a row is lost",
        ),
        ("\n  Job aborted.\nat java.lang", "Job aborted."),
        ("", "ValueError"),
    ],
)
def test_the_line_that_tells_most_is_told(said: str, told: str) -> None:
    """What a task of ours raised, else the first line, else the kind of error."""
    assert _reason(ValueError(said)).endswith(told)

"""The other end of outside exchanges: who reads is told why nothing more comes."""

import contextlib
import socket
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from seambench.contracts.exchange import ExchangeRequest
from seambench.seams.exchange.frames import Frame, hello
from seambench.seams.exchange.plain import FailedError, PlainExchange

_REQUEST = ExchangeRequest(pa.schema({"k": pa.int32()}), drivers=2)
_BATCH = pa.record_batch({"k": pa.array([1, 2], pa.int32())})


def _sends(address: str, *frames: Frame) -> None:
    with socket.socket(socket.AF_UNIX) as way:
        way.connect(address.removeprefix("unix:"))
        for frame in (hello(0), *frames):
            way.sendall(frame.encode())


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([Frame("X", body=b"the disk is full")], "the disk is full"),
        ([Frame.data(1, 0, _BATCH)], "frame D 1 came where 0 was due"),
        ([Frame.data(0, 2, _BATCH)], "there is no driver 2"),
        ([], "its connection closed before its end"),
    ],
)
def test_each_driver_is_told_why(frames: list[Frame], reason: str, tmp_path: Path) -> None:
    """No driver takes a sender that failed for one that has ended."""
    with contextlib.closing(PlainExchange().listen(_REQUEST, f"unix:{tmp_path}/r")) as receiver:
        _sends(receiver.address, *frames)
        for driver in range(_REQUEST.drivers):
            with pytest.raises(FailedError, match=reason):
                receiver.read(driver, timeout=300)


def test_who_waits_is_told_at_once(tmp_path: Path) -> None:
    """A failure ends a wait that has begun, and not only the next."""
    with contextlib.closing(PlainExchange().listen(_REQUEST, f"unix:{tmp_path}/r")) as receiver:
        begin = time.monotonic()
        threading.Timer(0.2, receiver.cancel, ["no more is wanted"]).start()
        with pytest.raises(FailedError, match="no more is wanted"):
            receiver.read(timeout=10)
        assert time.monotonic() - begin < 10


def test_a_sender_that_is_closed_is_lost_at_once(tmp_path: Path) -> None:
    """Its receiver is told when it closes, not when the process ends."""
    exchange = PlainExchange()
    with contextlib.closing(exchange.listen(_REQUEST, f"unix:{tmp_path}/r")) as receiver:
        exchange.connect(_REQUEST, 0, [receiver.address]).close()
        with pytest.raises(FailedError, match="its connection closed before its end"):
            receiver.read(timeout=10)

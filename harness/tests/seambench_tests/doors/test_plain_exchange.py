"""The other end of outside exchanges: who reads is told why nothing more comes."""

from __future__ import annotations

import contextlib
import socket
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
                receiver.read(driver, timeout=30)

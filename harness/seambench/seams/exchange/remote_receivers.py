"""Receivers of an implementation in processes of their own, while its senders are in this one.

The process is this module, run with the implementation's `package.module:Class`: a command behind
the door of the exchange seam (`seambench.seams.exchange.doors`), which gets all of the request.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seambase.errors import SeambenchError, UsageError
from seambase.values import SortKey
from seambench.contracts import registry
from seambench.contracts.exchange import Distributed, ExchangeRequest, ListeningReceiver
from seambench.seams.exchange.doors import CommandExchange
from seambench.seams.exchange.frames import Frame, read_frame
from seambench.seams.exchange.pairs import OpenPair

_TRANSPORT = "transport"


def open_mixed(implementation: Any, request: ExchangeRequest, elsewhere: int) -> OpenPair:
    """An exchange whose last receivers, so many, are in other processes than all else."""
    if not isinstance(implementation, Distributed):
        raise UsageError(f"{implementation.name} has no sides that can live in several processes")
    there = _Elsewhere(implementation)
    here = request.receivers - elsewhere
    return OpenPair(implementation, [implementation] * here + [there] * elsewhere, request)


class _Elsewhere(CommandExchange):
    """An implementation of this process as a command."""

    def __init__(self, implementation: Distributed) -> None:
        kind = implementation.__class__
        self.arguments = [
            *(sys.executable, "-m", "seambench.seams.exchange.remote_receivers"),
            f"{kind.__module__}:{kind.__qualname__}",
        ]
        self.timeout = 600.0
        self.name = f"{implementation.name} elsewhere"
        self.version, self.kind = implementation.version, implementation.kind
        self._stated = implementation.capabilities
        self._speak("its own")

    def _require(self, request: ExchangeRequest) -> None:
        """Nothing: the implementation says what it cannot."""

    def _line(
        self, request: ExchangeRequest, role: str, number: int | None, addresses: Sequence[str]
    ) -> bytes:
        content = json.loads(super()._line(request, role, number, addresses))
        return json.dumps({**content, _TRANSPORT: request.transport}).encode() + b"\n"


def _request_of(content: Mapping[str, Any]) -> ExchangeRequest:
    """The exchange as its receivers know it; how many there are is the senders' business."""
    names = (
        *("partition", "function", "keys", "senders", "drivers", "order", "chunk_rows"),
        *("buffer_bytes", "format", "transport", "options", "writers", "computed"),
        *("output_columns", "buckets", "bucket_drivers", "unused_buckets", "knobs"),
    )
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(content["schema"])))
    known = {name: content[name] for name in names if name in content}
    sort = [SortKey(**key) for key in content["sort"]]
    return replace(ExchangeRequest(schema, **known), sort=sort)


class _Side:
    """One receiver, whose rows leave as frames on standard output."""

    def __init__(self, receiver: ListeningReceiver) -> None:
        self._receiver = receiver
        self._lock = threading.Lock()
        self._sequence = 0
        self.error: str | None = None
        self.put(Frame("L", body=receiver.address.encode()))

    def put(self, frame: Frame) -> None:
        sys.stdout.buffer.write(frame.encode())
        sys.stdout.buffer.flush()

    def read_all(self, driver: int) -> None:
        """Hand on what a driver reads."""
        try:
            while (batch := self._receiver.read(driver)) is not None:
                with self._lock:
                    self.put(Frame.data(self._sequence, driver, batch))
                    self._sequence += 1
        except SeambenchError as error:
            self.error = self.error or str(error)

    def heed(self) -> None:
        """Give up when the other process does."""
        frame = None
        with contextlib.suppress(SeambenchError):
            frame = read_frame(sys.stdin.buffer.read)
        reason = frame.text() if frame is not None else "whoever asked has gone"
        self._receiver.cancel(reason)


def main() -> int:
    """Be a receiver; the exit code."""
    implementation = registry.resolve("exchange", sys.argv[1])
    assert isinstance(implementation, Distributed)
    content = json.loads(sys.stdin.buffer.readline())
    request = _request_of(content)
    try:
        receiver = implementation.listen(request, content["addresses"][0])
    except SeambenchError as error:
        return _refused(str(error))
    with contextlib.closing(receiver):
        side = _Side(receiver)
        threading.Thread(target=side.heed, daemon=True).start()
        reading = [
            threading.Thread(target=side.read_all, args=(driver,))
            for driver in range(request.drivers)
        ]
        for one in reading:
            one.start()
        for one in reading:
            one.join()
        if side.error is not None:
            return _refused(side.error)
        side.put(Frame("E"))
    return 0


def _refused(reason: str) -> int:
    sys.stderr.write(f"refused: {' '.join(reason.split())}\n")
    return 2


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a thread still waits for input, and the interpreter would wait for it

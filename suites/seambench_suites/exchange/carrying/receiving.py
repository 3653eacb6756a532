"""The other process: takes what is sent in one of several ways, and says when it has it all.

`python -m seambench_suites.exchange.carrying.receiving WAY`, where WAY is `wire/copy`,
`wire/TRANSPORT+pages`, or `KIND/grpc-calls`, `KIND/flight-ipc` or `KIND/TRANSPORT+FORMAT` of a KIND
among `transfer`, `rows`, `stopped` and, with a driver for each core, `parallel`. It says its
address; each line of its input is a number of passes, answered with lines of JSON:
`{"ready": ...}`, `{"bytes": ..., "rows": ...}`, `{"digest": ...}`. One that is stopped reads after
another line, whatever it says. Rows are kept and digested where there is one pass, at which nobody
looks at the clock.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from seambench.engines.digest import digest_reader
from seambench_suites.exchange.carrying.load import CHANNELS, Load
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.by_name import serve

_COPIED_AT_ONCE = 1 << 18
#: In the place of a chunk format: what comes stays bytes.
_PAGES = "pages"
_GRPC_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def _say(**said: Any) -> None:
    print(json.dumps(said), flush=True)  # noqa: T201 - how it talks to the other process


class _Kept:
    """What came: counted, and kept where it is to be digested. Thread-safe enough to add."""

    def __init__(self, keep: bool) -> None:
        self._batches: list[pa.RecordBatch] | None = [] if keep else None
        self._lock = threading.Lock()
        self.rows = self.bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        with self._lock:
            self.rows += batch.num_rows
            if self._batches is not None:
                self._batches.append(batch)

    def add_bytes(self, size_bytes: int) -> None:
        with self._lock:
            self.bytes += size_bytes

    def tell(self) -> None:
        _say(bytes=self.bytes, rows=self.rows)  # the clock stops here
        digest = digest_reader(pa.Table.from_batches(self._batches)) if self._batches else None
        _say(digest=digest)


def _passes() -> Any:
    while line := sys.stdin.readline():
        yield int(line)


def _copy(folder: Path) -> None:
    """As little as two processes can do: bytes into the same buffer, until the peer ends."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "s"))
        listener.listen()
        _say(address=str(folder / "s"))
        buffer = bytearray(_COPIED_AT_ONCE)
        for _ in _passes():
            _say(ready=True)
            kept = _Kept(False)
            with listener.accept()[0] as peer:
                while count := peer.recv_into(buffer):
                    kept.bytes += count
            kept.tell()


def _exchange(folder: Path, transport: str, chunk_format_name: str, stopped: bool) -> None:
    """Our receivers, one for each channel, each read by a thread; if stopped, from a line on."""
    rows = chunk_format_name != _PAGES
    registry = SourceRegistry()
    server = serve(transport, registry, f"unix:{folder / 's'}")
    _say(address=server.address)
    schema = Load(1).schema
    for passes in _passes():
        bound = chunk_format(chunk_format_name, schema) if rows else None
        sources = [ExchangeSource(1, 1, bound) for _ in range(CHANNELS)]
        for number, source in enumerate(sources):
            registry.register(number, source)
        kept = _Kept(passes == 1)

        def drain(source: ExchangeSource, kept: _Kept = kept) -> None:
            while (chunk := source.read()) is not None:
                if rows:
                    kept.add(chunk)
                else:
                    kept.add_bytes(len(chunk))

        _say(ready=True)
        if stopped:
            sys.stdin.readline()
        with ThreadPoolExecutor(CHANNELS) as pool:
            list(pool.map(drain, sources))
        for number in range(CHANNELS):
            registry.forget(number)
        kept.tell()


def _flight(folder: Path, drivers: int) -> None:
    """Arrow Flight as it comes: a stream of record batches for each driver and channel."""
    state: dict[str, Any] = {}
    done = threading.Semaphore(0)

    class Service(flight.FlightServerBase):  # type: ignore[misc] # pyarrow has no types
        """Counts batches."""

        def do_exchange(self, _context: Any, _descriptor: Any, reader: Any, writer: Any) -> None:
            for chunk in reader:
                state["kept"].add(chunk.data)
            writer.begin(pa.schema([]))
            done.release()

    server = Service(f"grpc+unix://{folder / 's'}")
    threading.Thread(target=server.serve, daemon=True).start()
    _say(address=f"grpc+unix://{folder / 's'}")
    for passes in _passes():
        state["kept"] = _Kept(passes == 1)
        _say(ready=True)
        for _ in range(CHANNELS * drivers):
            done.acquire()
        state["kept"].tell()


def _grpc_calls(folder: Path) -> None:
    """Python's gRPC as it comes: unary calls that take bytes."""
    import grpc

    state: dict[str, _Kept] = {}
    done = threading.Event()

    def take(message: bytes, _context: Any) -> bytes:
        if message == b"":
            done.set()
        state["kept"].add_bytes(len(message))
        return b"k"

    handlers = {"take": grpc.unary_unary_rpc_method_handler(take)}
    server = grpc.server(ThreadPoolExecutor(2), options=_GRPC_OPTIONS)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("bars", handlers)])
    server.add_insecure_port(f"unix:{folder / 's'}")
    server.start()
    _say(address=f"unix:{folder / 's'}")
    for _ in _passes():
        state["kept"] = _Kept(False)
        done.clear()
        _say(ready=True)
        done.wait()
        state["kept"].tell()


def main() -> None:
    """Take what the way says."""
    kind, name = sys.argv[1].split("/")
    drivers = len(os.sched_getaffinity(0)) if kind == "parallel" else 1
    ways: dict[str, Callable[[Path], None]] = {
        "copy": _copy,
        "flight-ipc": partial(_flight, drivers=drivers),
        "grpc-calls": _grpc_calls,
    }
    transport, _, carried = name.partition("+")
    with tempfile.TemporaryDirectory(prefix="seamb") as folder:
        known = ways.get(name)
        if known:
            known(Path(folder))
        else:
            _exchange(Path(folder), transport, carried, kind == "stopped")


if __name__ == "__main__":
    main()

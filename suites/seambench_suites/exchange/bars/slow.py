"""One of eight receivers reads at a tenth of the speed: how long the seven others take.

What is for the slow one fits into the buffers on its way, so that nothing but the way it is sent
can hold up the others. Sockets, everything in this process.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from pathlib import Path

from seambench_suites.exchange.bars.load import CHANNELS, RULE, Load
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.by_name import connect, serve

__all__ = ["seconds_of_the_others"]

_FORMAT = "arrow-batch"
_BUFFER_BYTES = 1 << 20
_SECONDS_TO_END = 120.0


def seconds_of_the_others(load: Load, slow_seconds: float | None = None) -> float:
    """Until receivers 1 to 7 have read everything.

    Args:
        load: what is dealt to the eight; an eighth of it must fit into a sink's buffer.
        slow_seconds: that receiver 0 takes for its part; None: as the others do.
    """
    bound = chunk_format(_FORMAT, load.schema)
    options = ReceiverOptions(exchg_node_buffer_size_bytes=_BUFFER_BYTES)
    sources = [ExchangeSource(1, 1, bound, options) for _ in range(CHANNELS)]
    registry = SourceRegistry()
    for number, source in enumerate(sources):
        registry.register(number, source)
    chunks = max(1, len(load.chunks) * load.passes // CHANNELS)
    pause = 0.0 if slow_seconds is None else slow_seconds / chunks
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="seam"))
        server = serve("sockets", registry, f"unix:{Path(folder) / 's'}")
        stack.callback(server.close)
        sink = ExchangeSink(
            load.schema,
            [connect("sockets", server.address, number) for number in range(CHANNELS)],
            Routing("hash", RULE),
            be_number=0,
            format=bound,
        )
        stack.callback(sink.close)
        readers = [
            threading.Thread(target=_read, args=(source, 0.0 if number else pause), daemon=True)
            for number, source in enumerate(sources)
        ]
        begin = time.perf_counter()
        for reader in readers:
            reader.start()
        writer = threading.Thread(target=_write, args=(load, sink), daemon=True)
        writer.start()
        for reader in readers[1:]:
            reader.join(_SECONDS_TO_END)
        seconds = time.perf_counter() - begin
        for thread in (readers[0], writer):
            thread.join(_SECONDS_TO_END)
        sink.wait_finished(_SECONDS_TO_END)
    return seconds


def _read(source: ExchangeSource, pause: float) -> None:
    for _ in source.batches(0):
        if pause:
            time.sleep(pause)


def _write(load: Load, sink: ExchangeSink) -> None:
    driver = sink.driver()
    for _ in range(load.passes):
        for batch in load.batches:
            driver.write(batch)
    driver.finish()

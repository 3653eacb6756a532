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
from typing import Any

from seambench.bench.measure import Competitor
from seambench.records.model import Moved
from seambench.records.verdicts import Arrived
from seambench.records.writer import Sample
from seambench_suites.exchange.carrying.load import CHANNELS, RULE, Load
from seambench_suites.exchange.carrying.sending import channels_to, drive
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.by_name import serve

_FORMAT = "arrow-batch"
_BUFFER_BYTES = 1 << 20
_SECONDS_TO_END = 120.0


def beside_slow(passes: int, slow: bool) -> Competitor:
    """The seven others, in a process of its own: with a slow one beside them, or without."""
    load = Load(passes)
    ten_times = 10 * _seconds_of_the_others(load)[0] if slow else None

    def clock(_: Any) -> tuple[int, Sample]:
        cpu = time.process_time()
        seconds, rows = _seconds_of_the_others(load, ten_times)
        return rows, Sample(seconds, time.process_time() - cpu)

    def judge(rows: int) -> Arrived:
        return Arrived(Moved(unit="rows", sent=load.rows, arrived=rows), load.rows, load.bytes)

    return Competitor(lambda: None, judge, clock)


def _seconds_of_the_others(load: Load, slow_seconds: float | None = None) -> tuple[float, int]:
    """Until receivers 1 to 7 have read everything, and the rows that all eight have got.

    Receiver 0 takes `slow_seconds` for its part; an eighth of the load must fit a sink's buffer.
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
            channels_to("sockets", server.address),
            Routing("hash", RULE),
            be_number=0,
            format=bound,
        )
        stack.callback(sink.close)
        got = [0] * CHANNELS

        def read(number: int) -> None:
            for batch in sources[number].batches(0):
                got[number] += batch.num_rows
                if pause and number == 0:
                    time.sleep(pause)

        readers = [
            threading.Thread(target=read, args=(number,), daemon=True) for number in range(CHANNELS)
        ]
        begin = time.perf_counter()
        for reader in readers:
            reader.start()
        writer = threading.Thread(target=drive, args=(load, sink, load.passes), daemon=True)
        writer.start()
        for reader in readers[1:]:
            reader.join(_SECONDS_TO_END)
        seconds = time.perf_counter() - begin
        for thread in (readers[0], writer):
            thread.join(_SECONDS_TO_END)
        sink.wait_finished(_SECONDS_TO_END)
    return seconds, sum(got)

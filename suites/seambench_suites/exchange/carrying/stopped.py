"""A receiver that reads nothing for a while: what its sender holds, and how fast it goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import Any

from seambase.errors import SeambenchError
from seambench.bench.measure import Competitor
from seambench.records.model import Moved
from seambench.records.verdicts import Arrived
from seambench.records.writer import Sample
from seambench_suites.exchange.carrying.load import Load
from seambench_suites.exchange.carrying.sending import (
    BATCHED_BYTES,
    Receiving,
    channels_to,
    drive,
    sink_to,
)
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.logic.options import SinkOptions

_FORMAT = "arrow-batch"
_LOOKS_A_SECOND = 20
#: Of the sink, and what may be above it: a request that was let in while there was room.
_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True)
class Stopped:
    """One run."""

    resumed_seconds: float  # from the first read to the last answer
    resumed_cpu_seconds: float  # of the sending process meanwhile
    rows: int  # that arrived
    error: str | None  # why it failed, or None


def resuming(transport: str, seconds: float, passes: int) -> Competitor:
    """In a process of its own: the time from the first read on, once nobody read for a while."""
    load = Load(passes)

    def clock(_: Any) -> tuple[Stopped, Sample]:
        result = _stopped(transport, seconds, load)
        return result, Sample(result.resumed_seconds, result.resumed_cpu_seconds)

    def judge(stopped: Stopped) -> Arrived:
        if stopped.error is not None:
            raise SeambenchError(stopped.error)
        arrived = Moved(unit="rows", sent=load.rows, arrived=stopped.rows)
        return Arrived(arrived, load.rows, load.bytes)

    return Competitor(lambda: None, judge, clock)


def _stopped(transport: str, seconds: float, load: Load) -> Stopped:
    """Send a load to receivers of another process that do not read for so many seconds."""
    way = f"stopped/{transport}+{_FORMAT}"
    with contextlib.closing(Receiving(way)) as receiving:
        return _run(receiving, transport, seconds, load)


def _run(receiving: Receiving, transport: str, seconds: float, load: Load) -> Stopped:
    receiving.expect(load.passes)
    sink = sink_to(
        load,
        channels_to(transport, receiving.address),
        format=chunk_format(_FORMAT, load.schema),
        options=SinkOptions(max_buffered_bytes=_LIMIT_BYTES),
    )
    writer = threading.Thread(target=drive, args=(load, sink, load.passes), daemon=True)
    begin = time.monotonic()
    writer.start()
    peak = 0
    while time.monotonic() - begin < seconds:
        peak = max(peak, sink.buffered_bytes)
        time.sleep(1 / _LOOKS_A_SECOND)
    waits = writer.is_alive()
    waited, cpu = time.monotonic() - begin, time.process_time()
    receiving.say("read")
    writer.join()
    sink.wait_finished()
    resumed, cpu = time.monotonic() - begin - waited, time.process_time() - cpu
    sink.close()
    rows = receiving.hear()["rows"]
    receiving.hear()
    error = None
    if not waits:
        error = "the sender had sent everything before anybody read: more passes are needed"
    elif peak > _LIMIT_BYTES + 2 * BATCHED_BYTES:
        error = f"the sink held {peak} bytes, and its limit is {_LIMIT_BYTES}"
    return Stopped(resumed, cpu, rows, error)

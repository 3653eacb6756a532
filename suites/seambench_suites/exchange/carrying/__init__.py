"""Ways to carry rows of lineitem from one process into another, and within one.

    seambench kernels seambench_suites.exchange.carrying --samples 15 --wait 600

A case is called `exchange-KIND/WAY`, and those of a kind compete: `wire` moves bytes that are
there, `transfer` chunks that are there, `rows` does everything with one driver, `parallel` with one
for each core. Bytes are those of the rows as Arrow has them, the same for all; a way's time counts
only if the rows of one pass arrived as they were sent, or, where pages are not decoded, all their
bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.data.tpch import generator_version
from seambench.records.model import Origin, Rows
from seambench_suites.exchange.carrying.dealing import PARTS, WAYS, dealing
from seambench_suites.exchange.carrying.load import Load
from seambench_suites.exchange.carrying.slow import beside_slow
from seambench_suites.exchange.carrying.stopped import resuming
from seambench_suites.exchange.carrying.ways import FORMATS, WITHIN, carrying, decodes

_TRANSPORTS = ("sockets", "grpc", "flight")
_SCALE = 0.05
_SLOW_PASSES = 10


def kernels(folder: Path, passes: int = 40, stopped_seconds: float = 2.0) -> Kernels:
    """All ways.

    Args:
        folder: not needed.
        passes: of 65,536 rows, in each run.
        stopped_seconds: for which the receiver of each transport reads nothing.
    """
    del folder
    load = Load(passes)
    over = Rows(name=f"lineitem, {load.rows} rows", scale=_SCALE)
    ways = [
        "wire/copy",
        "wire/grpc-calls",
        "rows/grpc-calls",
        "rows/flight-ipc",
        "parallel/flight-ipc",
        *WITHIN,
    ]
    ways += [f"wire/{name}+pages" for name in _TRANSPORTS]
    ways += [
        f"{kind}/{transport}+{name}"
        for kind in ("transfer", "rows", "parallel")
        for transport in _TRANSPORTS
        for name in FORMATS
    ]
    listed = [Kernel(_case(w), Task(carrying, (w, passes)), over, _kind(w)) for w in ways]
    batch = Rows(name="lineitem, 65536 rows, 8 times", scale=_SCALE)
    for parts in PARTS:
        for way in WAYS:
            case = _case(f"dealing/{parts}/{way}")
            listed.append(Kernel(case, Task(dealing, (way, parts)), batch))
    few = Rows(name=f"lineitem, {Load(_SLOW_PASSES).rows} rows", scale=_SCALE)
    for slow in ("none", "one"):
        task = Task(beside_slow, (_SLOW_PASSES, slow == "one"))
        listed.append(Kernel(_case(f"slow/{slow}"), task, few, "step"))
    for transport in _TRANSPORTS:
        task = Task(resuming, (transport, stopped_seconds, passes))
        listed.append(Kernel(_case(f"stopped/{transport}"), task, over, "step"))
    rows = {"lineitem": load.rows // passes}
    origin = Origin("tpch-derived", _SCALE, generator_version(), rows)
    return Kernels("exchange", "seambench", listed, origin)


def _kind(way: str) -> Literal["answer", "step", "floor"]:
    if decodes(way):
        return "answer"
    return "floor" if way == "wire/copy" else "step"


def _case(way: str) -> str:
    return f"exchange-{way}"

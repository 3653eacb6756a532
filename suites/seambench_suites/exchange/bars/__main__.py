"""`python -m seambench_suites.exchange.bars`: measure every way in turns and write a record.

Cases are called `exchange-bars/WAY`. Bytes are those of the rows as Arrow has them, the same for
all; a way's time counts only if the rows of one pass arrived as they were sent, or, where pages are
not decoded, all their bytes. Meant for a quiet machine: ratios of medians are printed at the end.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from seambase.errors import SeambenchError
from seambench.contracts.registry import resolve
from seambench.data.tpch import generator_version
from seambench.engines.digest import digest_reader
from seambench.records import record
from seambench_suites.exchange.bars.alone import alone_of
from seambench_suites.exchange.bars.load import Load
from seambench_suites.exchange.bars.sending import Receiving, Send, sender_of, within
from seambench_suites.exchange.bars.stopped import Stopped, stopped

_TRANSPORTS = ("sockets", "grpc", "flight")
_FORMATS = ("presto", "arrow", "arrow-batch")
#: Ways within this process.
_WITHIN: Mapping[str, Callable[[Load], Sequence[Any]]] = {
    "pass-through/transfer": lambda load: within(load, "transfer"),
    "pass-through/rows": lambda load: within(load, "rows"),
    "pass-through/parallel": lambda load: within(load, "parallel"),
    "alone/partition": alone_of("partition"),
    **{
        f"alone/{step}+{name}": alone_of(step, name)
        for step in ("payloads", "decode")
        for name in _FORMATS
    },
}
#: What is compared: name, faster way, slower way, least ratio. `best` is the fastest transport.
_BARS = (
    ("transfer passed through / best transport", "pass-through/transfer", "best transfer", 20.0),
    ("end to end passed through / best transport", "pass-through/rows", "best rows", 1.5),
    ("the same, a driver for each core", "pass-through/parallel", "best parallel", 1.5),
    ("wire of the best transport / bare copy", "best wire", "copy", 0.6),
    ("wire of the best transport / gRPC calls", "best wire", "grpc-calls", 5.0),
    ("end to end of the best transport / Flight with IPC", "best rows", "flight", 1.5),
    ("the same, a driver for each core", "best parallel", "flight-parallel", 1.5),
    ("end to end of the best transport / gRPC calls", "best rows", "grpc-calls", 5.0),
)


class _Way:
    """One way, its samples, and what it takes to run it."""

    def __init__(self, name: str, load: Load) -> None:
        self.name = name
        self.samples: list[tuple[float, float]] = []
        self.error: str | None = None
        self._receiving = None if name in _WITHIN else Receiving(name)
        self._send: Send | None = None if name in _WITHIN else sender_of(name, load)

    def check(self) -> None:
        """Carry one pass and compare what arrived."""
        once = Load(1)
        if self._receiving is None:
            rows = pa.Table.from_batches(_WITHIN[self.name](once))
            found = digest_reader(rows)
        else:
            told = self._run(once)
            digest = self._receiving.hear()["digest"]
            if digest is None:
                expected = _bytes_of(self.name, once)
                self.error = None if told["bytes"] == expected else f"{told} of {expected} bytes"
                return
            found = digest
        if found != once.digest(1):
            self.error = f"rows {once.digest(1)} were sent, {found} arrived"

    def sample(self, load: Load) -> None:
        """One timed run: wall and processor seconds of both processes."""
        mine = time.process_time()
        theirs = self._theirs()
        begin = time.perf_counter()
        if self._receiving is None:
            _WITHIN[self.name](load)
        else:
            self._run(load)
        wall = time.perf_counter() - begin
        self.samples.append((wall, time.process_time() - mine + self._theirs() - theirs))
        if self._receiving is not None:
            self._receiving.hear()

    def _run(self, load: Load) -> dict[str, Any]:
        assert self._receiving is not None
        assert self._send is not None
        self._receiving.expect(load.passes)
        self._send(load, self._receiving.address)
        return self._receiving.hear()

    def _theirs(self) -> float:
        if self._receiving is None:
            return 0.0
        spent = psutil.Process(self._receiving.pid).cpu_times()
        return float(spent.user + spent.system)

    def close(self) -> None:
        if self._receiving is not None:
            self._receiving.close()


def _bytes_of(way: str, load: Load) -> int:
    """Bytes that arrive where rows are not decoded."""
    if way == "grpc-calls":
        return load.bytes // (256 << 10) * (256 << 10)
    return sum(memoryview(page).nbytes for page in load.pages("presto"))


def _measure(ways: Sequence[_Way], load: Load, samples: int, say: Callable[[str], None]) -> None:
    for way in ways:
        say(f"{way.name}: one pass")
        way.check()
    for number in range(samples + 1):
        for way in ways:
            if way.error is None:
                way.sample(load)
        say(f"round {number} of {samples}")


def _timing(way: _Way, expected: str) -> dict[str, Any]:
    """What a record says of a way alone."""
    return {
        "case": f"exchange-bars/{way.name}",
        "outcome": "pass" if way.error is None else "fail",
        "cold": [wall for wall, _ in way.samples[:1]],
        "hot": [wall for wall, _ in way.samples[1:]],
        "cpu": [cpu for _, cpu in way.samples[1:]],
        "peak_bytes": None,
        "growth_bytes": None,
        "answer": expected if way.error is None else None,
        "error": way.error,
    }


def _timing_stopped(halt: Stopped, expected: str) -> dict[str, Any]:
    """The same of a receiver that did not read: its times are those after it began to."""
    return {
        "case": f"exchange-bars/{halt.way}",
        "outcome": "pass" if halt.error is None else "fail",
        "cold": [halt.resumed_seconds],
        "hot": [halt.resumed_seconds],
        "cpu": [halt.resumed_cpu_seconds],
        "peak_bytes": halt.peak_bytes,
        "growth_bytes": halt.growth_bytes,
        "answer": expected if halt.error is None else None,
        "error": halt.error,
    }


def _record(
    ways: Sequence[_Way], halts: Sequence[Stopped], load: Load, run: dict[str, Any]
) -> dict[str, Any]:
    expected = load.digest(1)
    dataset = {
        "name": f"lineitem, {load.rows} rows",
        "scale": 0.05,
        "digest": expected,
        "state": "base",
    }
    nothing = ("update_ratio", "slice_share", "table_version", "ordering", "log_format", "slices")
    shared: dict[str, Any] = {
        "unit": "s",
        "dataset": dataset | dict.fromkeys(nothing),
        "query": None,
        "rows": load.rows,
        "bytes": load.bytes,
        "expected": expected,
        "paths": {},
        "warnings": [],
    }
    timings = [shared | _timing(way, expected) for way in ways]
    timings += [shared | _timing_stopped(halt, expected) for halt in halts]
    return {
        "schema": record.NEWEST,
        "run": run,
        "machine": record.machine_info(),
        "versions": record.versions(),
        "implementation": record.implementation_info("seambench", resolve("exchange", "seambench")),
        "dataset": {
            "name": "tpch-derived",
            "scale": 0.05,
            "generator": generator_version(),
            "rows": {"lineitem": load.rows // load.passes},
        },
        "outcomes": [],
        "timings": timings,
    }


def _stop(seconds: float, load: Load, say: Callable[[str], None]) -> list[Stopped]:
    """A run with a receiver that reads nothing for so long, over each transport."""
    halts = []
    for transport in _TRANSPORTS if seconds > 0 else ():
        halt = stopped(transport, seconds, load)
        halts.append(halt)
        say(
            f"{halt.way}: after {halt.waited_seconds:.0f} s the sink held "
            f"{halt.peak_bytes / 1e6:.1f} MB at most, the process {halt.growth_bytes / 1e6:.0f} MB "
            f"more than before; then {load.bytes / 1e9 / halt.resumed_seconds:.2f} GB/s"
            + (f"; {halt.error}" if halt.error else "")
        )
    return halts


def _print_bars(ways: Sequence[_Way], load: Load, say: Callable[[str], None]) -> None:
    rates = {}
    for way in ways:
        if way.error is not None:
            say(f"{way.name}: {way.error}")
            continue
        seconds = statistics.median(wall for wall, _ in way.samples[1:])
        cpu = statistics.median(cpu for _, cpu in way.samples[1:])
        rates[way.name] = load.bytes / seconds
        chunks = len(load.chunks) * load.passes / seconds
        gigabytes = load.bytes / 1e9
        say(
            f"{way.name:28} {gigabytes / seconds:7.2f} GB/s {chunks:9.0f} chunks/s "
            f"{cpu / gigabytes:6.3f} CPU s/GB"
        )
    for kind in ("wire", "transfer", "rows", "parallel"):
        found = [rate for name, rate in rates.items() if name.startswith(f"{kind}+")]
        rates[f"best {kind}"] = max(found, default=0.0)
    for name, fast, slow, least in _BARS:
        if rates.get(fast) and rates.get(slow):
            ratio = rates[fast] / rates[slow]
            say(f"{name}: {ratio:.2f} ({least:g} is wanted)")


def main() -> int:
    """Run with command-line arguments; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m seambench_suites.exchange.bars")
    parser.add_argument("--passes", type=int, default=40, help="of 65,536 rows, in each run")
    parser.add_argument("--samples", type=int, default=7, help="timed runs of each way")
    parser.add_argument(
        "--format", action="append", help="chunk format, repeatable (presto, arrow, arrow-batch)"
    )
    parser.add_argument("--only", help="words; only ways that hold one of them")
    parser.add_argument("--results", type=Path, help="write a record into this folder")
    parser.add_argument(
        "--stopped-seconds",
        type=float,
        default=0.0,
        help="for which the receiver of each transport reads nothing, once; 0 leaves that out",
    )
    asked = parser.parse_args()
    names = [
        "copy",
        "flight",
        "flight-parallel",
        "grpc-calls",
        *_WITHIN,
        *(f"wire+{name}" for name in _TRANSPORTS),
    ]
    names += [
        f"{kind}+{transport}+{name}"
        for kind in ("transfer", "rows", "parallel")
        for transport in _TRANSPORTS
        for name in asked.format or _FORMATS
    ]
    if asked.only:
        names = [name for name in names if any(word in name for word in asked.only.split(","))]
    load = Load(asked.passes)
    run = record.new_run(
        shlex.join(["seambench_suites.exchange.bars", *sys.argv[1:]]), asked.samples
    )
    begin = time.monotonic()
    ways: list[_Way] = []

    def say(text: str) -> None:
        sys.stderr.write(text + "\n")

    try:
        ways += [_Way(name, load) for name in names]
        _measure(ways, load, asked.samples, say)
        halts = _stop(asked.stopped_seconds, load, say)
        run["seconds"] = round(time.monotonic() - begin, 3)
        if asked.results is not None:
            record.write_record(asked.results, _record(ways, halts, load, run))
        _print_bars(ways, load, say)
    except SeambenchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    finally:
        for way in ways:
            way.close()
    errors = [way.error for way in ways] + [halt.error for halt in halts]
    return 1 if any(errors) else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m seambench_suites.exchange.bars`: measure every way in turns and write a record.

Cases are called `exchange-bars/WAY`. Bytes are those of the rows as Arrow has them, the same for
all; a way's time counts only if the rows of one pass arrived as they were sent, or, where pages are
not decoded, all their bytes. `seambench bars --only transport` judges
what is recorded.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from seambase.errors import SeambenchError
from seambench.bench.measure import take_turns
from seambench.bench.quiet import Watch
from seambench.contracts.registry import resolve
from seambench.data.tpch import generator_version
from seambench.records.facts import generated_rows, implementation_info
from seambench.records.files import write_record
from seambench.records.model import Moved, Origin, Record, Step, Timing
from seambench.records.verdicts import Arrived
from seambench.records.writer import Measurement, Recording, Sample, failures, moved
from seambench_suites.exchange.bars.dealing import PARTS, dealing
from seambench_suites.exchange.bars.load import Load
from seambench_suites.exchange.bars.slow import seconds_of_the_others
from seambench_suites.exchange.bars.stopped import Stopped, stopped
from seambench_suites.exchange.bars.ways import FORMATS, WITHIN, Way, timing_of

_TRANSPORTS = ("sockets", "grpc", "flight")
_SCALE = 0.05


def _timings(
    ways: Sequence[Way], load: Load, samples: int, say: Callable[[str], None]
) -> list[Timing]:
    over = generated_rows(f"lineitem, {load.rows} rows", _SCALE)
    competitors = {way.name: way.competitor() for way in ways}
    results = take_turns(competitors, samples, on_run=say)
    return [timing_of(way, over, results[way.name]) for way in ways]


def _timing_stopped(halt: Stopped, load: Load) -> Timing:
    """Of a receiver that did not read: its times are those after it began to."""
    sample = Sample(halt.resumed_seconds, halt.resumed_cpu_seconds)
    measured = Measurement(
        cold=[sample],
        hot=[sample],
        found=Arrived(Moved(unit="rows", sent=load.rows, arrived=halt.rows), load.rows, load.bytes),
        error=None if halt.error is None else SeambenchError(halt.error),
        peak_bytes=halt.peak_bytes,
        growth_bytes=halt.growth_bytes,
    )
    over = generated_rows(f"lineitem, {load.rows} rows", _SCALE)
    return moved(Step, f"exchange-bars/{halt.way}", over, measured)


def _record(recording: Recording, timings: Sequence[Timing], load: Load) -> Record:
    dataset = Origin(
        name="tpch-derived",
        scale=_SCALE,
        generator=generator_version(),
        rows={"lineitem": load.rows // load.passes},
    )
    about = implementation_info("seambench", resolve("exchange", "seambench"))
    return recording.record(about, timings, dataset=dataset)


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


def _print_rates(timings: Sequence[Timing], load: Load, say: Callable[[str], None]) -> None:
    for timing in timings:
        name = timing.case.partition("/")[2]
        if timing.reason is not None:
            say(f"{name}: {timing.reason}")
            continue
        seconds, cpu = statistics.median(timing.hot), statistics.median(timing.cpu)
        chunks = len(load.chunks) * load.passes / seconds
        gigabytes = load.bytes / 1e9
        say(
            f"{name:28} {gigabytes / seconds:7.2f} GB/s {chunks:9.0f} chunks/s "
            f"{cpu / gigabytes:6.3f} CPU s/GB"
        )


#: With `--one-driver`: at least so many times Polars' dealing from Arrow, and the best network way.
_LEAST_OVER_POLARS = 1.4
_LEAST_OVER_NETWORK = 1.4
#: The seven others may take so many times as long when one of eight reads at a tenth of the speed.
_MOST_BY_A_SLOW_ONE = 1.5
_SLOW_PASSES, _SLOW_TURNS = 10, 5
_ONE_DRIVER = ("pass-through/rows", *(f"rows+{name}+arrow-batch" for name in _TRANSPORTS))


def _one_driver(timings: Sequence[Timing], load: Load, say: Callable[[str], None]) -> bool:
    """What bounds one driver, the worst first; whether all of it is within its bar."""
    found = []
    for parts in PARTS:
        took = dealing(parts)
        ratio = took["polars, from Arrow"] / took["accumulating"]
        shown = ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in took.items())
        about = f"dealing 65,536 rows to {parts} parts / Polars, from Arrow ({shown})"
        found.append((ratio / _LEAST_OVER_POLARS, ratio, about))
    rates = {
        timing.case.partition("/")[2]: load.bytes / statistics.median(timing.hot)
        for timing in timings
        if timing.reason is None
    }
    network = [rate for name, rate in rates.items() if name.startswith("rows+")]
    if network and "pass-through/rows" in rates:
        ratio = rates["pass-through/rows"] / max(network)
        about = "passed through, one driver / best transport"
        found.append((ratio / _LEAST_OVER_NETWORK, ratio, about))
    small = Load(_SLOW_PASSES)
    first = seconds_of_the_others(small)
    turns = [
        (seconds_of_the_others(small), seconds_of_the_others(small, 10 * first))
        for _ in range(_SLOW_TURNS)
    ]
    even, slow = (min(seconds) for seconds in zip(*turns, strict=True))
    about = f"seven receivers beside a slow one ({slow:.2f} s) / without it ({even:.2f} s)"
    found.append((_MOST_BY_A_SLOW_ONE / (slow / even), slow / even, about))
    for margin, ratio, about in sorted(found):
        say(f"{ratio:5.2f}  {'met ' if margin >= 1 else 'NOT met'}  {about}")
    return all(margin >= 1 for margin, _, _ in found)


def main() -> int:
    """Run with command-line arguments; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m seambench_suites.exchange.bars")
    parser.add_argument("--passes", type=int, default=40, help="of 65,536 rows, in each run")
    parser.add_argument("--samples", type=int, default=7, help="timed runs of each way")
    parser.add_argument(
        "--format", action="append", help="chunk format, repeatable (presto, arrow, arrow-batch)"
    )
    parser.add_argument("--wait", type=float, default=0.0, help="seconds for a quiet machine")
    parser.add_argument("--only", help="words; only ways that hold one of them")
    parser.add_argument("--results", type=Path, help="write a record into this folder")
    parser.add_argument(
        "--stopped-seconds",
        type=float,
        default=0.0,
        help="for which the receiver of each transport reads nothing, once; 0 leaves that out",
    )
    parser.add_argument(
        "--one-driver",
        action="store_true",
        help="instead: what bounds one driver, sorted; exit code 1 where a bar is not met",
    )
    asked = parser.parse_args()
    names = [
        "copy",
        "flight",
        "flight-parallel",
        "grpc-calls",
        *WITHIN,
        *(f"wire+{name}" for name in _TRANSPORTS),
    ]
    names += [
        f"{kind}+{transport}+{name}"
        for kind in ("transfer", "rows", "parallel")
        for transport in _TRANSPORTS
        for name in asked.format or FORMATS
    ]
    if asked.only:
        names = [name for name in names if any(word in name for word in asked.only.split(","))]
    if asked.one_driver:
        names = list(_ONE_DRIVER)
    load = Load(asked.passes)
    command = shlex.join(["seambench_suites.exchange.bars", *sys.argv[1:]])
    watch = Watch(asked.wait)
    recording = Recording(command, asked.samples, busy=watch.told)
    ways: list[Way] = []

    def say(text: str) -> None:
        sys.stderr.write(text + "\n")

    try:
        ways += [Way(name, load) for name in names]
        timings = _timings(ways, load, asked.samples, say)
        halts = _stop(asked.stopped_seconds, load, say)
        made = _record(recording, [*timings, *(_timing_stopped(h, load) for h in halts)], load)
        if asked.results is not None:
            write_record(asked.results, made)
        met = True
        if asked.one_driver:
            met = _one_driver(timings, load, say)
        else:
            _print_rates(timings, load, say)
    except SeambenchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    finally:
        for way in ways:
            way.close()
    return 1 if failures([made]) or not met else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures what merging Paimon tables costs, in one process and a few minutes.

    seambench data --scale 1 --slices 8 --data data --layout paimon-runs-event-u20-s100
    seambench data --scale 1 --slices 8 --data data --layout paimon-dv-event-u20-s100
    seambench data --scale 1 --slices 8 --data data --layout paimon-compacted-event-u20-s100
    python -m seambench_suites.paimon.large_bucket data/sf1/paimon-runs-event-u20-s100/lineitem big
    python -m seambench_suites.paimon.bars data/sf1 --large big
    python -m seambench_suites.paimon.bars data/sf1 --opponents

Each figure is CPU time over CPU time, least of several, read in turns: lineitem as sorted runs (one
compacted, one of upserts, one of deletes, ordered by a sequence field), or with deletion vectors,
against the same rows fully compacted. Row counts must agree. Peak memory is that of the scan's own
allocator. The large table, whose rows lie in one bucket, is streamed by a process of its own, by
one thread and by two in turns: the memory of neither may grow with the table, and two must take
less time, so nothing else may run meanwhile. With `--opponents` the wall time of reading all
columns, with all cores, is compared with that of pypaimon 2.1 and of Spark with Paimon 0.9, in
turns (`seambench_suites.paimon.opponents`). pypaimon refuses manifests of 0.9, and gets the same
data files under manifests in the form of later versions, which needs the package `backports.zstd`.

Derived from TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest
from seambench_suites.paimon.opponents import seconds_in_turns, with_newer_manifests

__all__ = ["Streamed", "main", "ratios", "streamed"]

_NATIVE = "paimon-compacted-event-u20-s100"
#: Layouts, and the most that reading them may cost, as a multiple of reading what is compacted.
_BARS = {"paimon-runs-event-u20-s100": 1.6, "paimon-dv-event-u20-s100": 1.15}

_OPPONENTS = ("pypaimon@2.1.0", "spark-paimon")
#: How often a reader must be done while an opponent reads once.
_LEAST_TIMES = 5
_MOST_RESIDENT_MIB = 512
#: What two threads must make of the time that one takes for one bucket.
_LEAST_SPEEDUP = 1.5
#: Streams a table, and prints rows, seconds, and the most memory that the process had, in bytes.
_STREAM = """
import sys, time
from seambench.bench.memory import peak_of_own_process
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
scanner, begin, rows = registry.resolve("scan", sys.argv[1]), time.perf_counter(), 0
for batch in scanner.open(ScanRequest(sys.argv[2], threads=int(sys.argv[3]))).to_reader():
    rows += batch.num_rows
    del batch
seconds = time.perf_counter() - begin
print(rows, seconds, peak_of_own_process())
"""


@dataclass(frozen=True)
class Streamed:
    """What streaming a table took.

    Attributes:
        rows: that came.
        seconds: that passed, without the start of the process.
        resident_mib: most memory of the process.
    """

    rows: int
    seconds: float
    resident_mib: int


def streamed(table: Path, impl: str, threads: int) -> Streamed:
    """Stream a table by a process of its own."""
    command = [sys.executable, "-c", _STREAM, impl, str(table), str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows, seconds, peak = done.stdout.split()
    return Streamed(int(rows), float(seconds), int(peak) >> 20)


def _read(scanner: Scanner, table: Path) -> tuple[float, int, int]:
    """CPU seconds, rows, and peak bytes of reading all columns with one thread."""
    begin = resource.getrusage(resource.RUSAGE_SELF)
    scan = scanner.open(ScanRequest(str(table), threads=1))
    rows = sum(batch.num_rows for batch in scan.to_reader())
    end = resource.getrusage(resource.RUSAGE_SELF)
    seconds = end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime
    return seconds, rows, scan.report().peak_bytes or 0


def ratios(folder: Path, scanner: Scanner, turns: int) -> dict[str, tuple[float, int]]:
    """By layout its ratio to what is compacted, and peak bytes.

    Raises:
        ValueError: the tables do not hold the same number of rows.
    """
    layouts = [_NATIVE, *_BARS]
    least = dict.fromkeys(layouts, float("inf"))
    counts, peaks = {}, {}
    for _ in range(turns):
        for layout in layouts:
            seconds, counts[layout], peaks[layout] = _read(scanner, folder / layout / "lineitem")
            least[layout] = min(least[layout], seconds)
    if len(set(counts.values())) > 1:
        raise ValueError(f"the tables hold different numbers of rows: {counts}")
    return {layout: (least[layout] / least[_NATIVE], peaks[layout]) for layout in _BARS}


def _large(table: Path, impl: str, turns: int) -> int:
    """Measure a table of one bucket; how many figures miss what is wanted."""
    found = [[streamed(table, impl, threads) for threads in (1, 2)] for _ in range(turns)]
    if len({one.rows for turn in found for one in turn}) > 1:
        raise ValueError(f"{table}: reads of it hold different numbers of rows")
    one, two = (min(turn[i].seconds for turn in found) for i in range(2))
    resident = [max(turn[i].resident_mib for turn in found) for i in range(2)]
    sys.stdout.write(
        f"{table.name}: {resident[0]} MiB by one thread, {resident[1]} MiB by two, at most "
        f"{_MOST_RESIDENT_MIB}\n"
        f"{table.name}: two threads are {one / two:.2f} x as fast as one, at least "
        f"{_LEAST_SPEEDUP}\n"
    )
    too_much = sum(mib > _MOST_RESIDENT_MIB for mib in resident)
    return too_much + (one / two < _LEAST_SPEEDUP)


def _against_opponents(folder: Path, impl: str, opponents: Sequence[str], turns: int) -> int:
    """Compare with other systems; how many figures miss what is wanted."""
    missed = 0
    for layout in _BARS:
        table = folder / layout / "lineitem"
        with tempfile.TemporaryDirectory(prefix="seambench-paimon-") as work:
            tables = [
                with_newer_manifests(table, Path(work) / one)
                if one.startswith("pypaimon")
                else table
                for one in opponents
            ]
            least = seconds_in_turns([impl, *opponents], [table, *tables], turns)
        for opponent in opponents:
            times = least[opponent] / least[impl]
            missed += times < _LEAST_TIMES
            sys.stdout.write(
                f"{layout}: {least[impl]:.2f} s, {opponent} {least[opponent]:.2f} s: "
                f"{times:.1f} x, at least {_LEAST_TIMES}\n"
            )
            sys.stdout.flush()
    return missed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each figure beside the most that is wanted; 1 if one is above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of the data sets")
    parser.add_argument("--impl", default="auto", help="the reader")
    parser.add_argument("--large", type=Path, help="a table whose rows lie in one large bucket")
    parser.add_argument(
        "--opponents", nargs="*", choices=_OPPONENTS, help="compare with these, or all, alone"
    )
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args(arguments)
    if asked.opponents is not None:
        opponents = asked.opponents or _OPPONENTS
        return 1 if _against_opponents(asked.folder, asked.impl, opponents, asked.turns) else 0
    missed = 0
    for layout, (ratio, peak) in ratios(
        asked.folder, registry.resolve("scan", asked.impl), asked.turns
    ).items():
        missed += ratio > _BARS[layout]
        sys.stdout.write(
            f"{layout}: {ratio:.2f} x compacted, at most {_BARS[layout]}; "
            f"{peak / (1 << 20):.0f} MiB at most\n"
        )
    if asked.large is not None:
        missed += _large(asked.large, asked.impl, asked.turns)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures what merging Paimon tables costs, in one process and a few minutes.

    seambench data --scale 1 --slices 8 --data data --layout paimon-runs-commit-u20-s100
    seambench data --scale 1 --slices 8 --data data --layout paimon-dv-commit-u20-s100
    seambench data --scale 1 --slices 8 --data data --layout paimon-compacted-commit-u20-s100
    python -m seambench_suites.paimon.bars data/sf1

Each figure is CPU time over CPU time, least of several, read in turns: lineitem as sorted runs, or
with deletion vectors, against the same rows fully compacted. Row counts must agree. Peak memory is
that of the scan's own allocator, and that of a process of its own which streams the sorted runs:
it must not grow with the table (a bucket of 1 GiB: `--scale 3 --slices 1`). Derived from TPC-H,
not comparable with published results.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest

__all__ = ["main", "ratios", "resident_mib"]

_NATIVE = "paimon-compacted-commit-u20-s100"
#: Layouts, and the most that reading them may cost, as a multiple of reading what is compacted.
_BARS = {"paimon-runs-commit-u20-s100": 1.6, "paimon-dv-commit-u20-s100": 1.15}


_RUNS = "paimon-runs-commit-u20-s100"
_MOST_RESIDENT_MIB = 512
#: Streams a table with one thread, and prints the most memory that the process had, in KiB.
_STREAM = """
import resource, sys
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
scan = registry.resolve("scan", sys.argv[1]).open(ScanRequest(sys.argv[2], threads=1))
for batch in scan.to_reader():
    del batch
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def resident_mib(table: Path, impl: str) -> int:
    """Most memory of a process that streams a table, in MiB."""
    command = [sys.executable, "-c", _STREAM, impl, str(table)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) >> 10


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print each figure beside the most that is wanted; 1 if one is above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of the data sets")
    parser.add_argument("--impl", default="auto", help="the reader")
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args(arguments)
    missed = 0
    for layout, (ratio, peak) in ratios(
        asked.folder, registry.resolve("scan", asked.impl), asked.turns
    ).items():
        missed += ratio > _BARS[layout]
        sys.stdout.write(
            f"{layout}: {ratio:.2f} x compacted, at most {_BARS[layout]}; "
            f"{peak / (1 << 20):.0f} MiB at most\n"
        )
    resident = resident_mib(asked.folder / _RUNS / "lineitem", asked.impl)
    missed += resident > _MOST_RESIDENT_MIB
    sys.stdout.write(f"{_RUNS} streamed: {resident} MiB, at most {_MOST_RESIDENT_MIB}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures scanners written in Java, in one process and a few minutes.

    seambench data --scale 1 --data data --layout mor-v9-event-avro-u20-s20
    python -m seambench_impl.measures.java_rates data/sf1/mor-v9-event-avro-u20-s20

Values and rows a second that Java appends on one thread, the share of the copy in C, and lineitem
by the readers `auto`, `native+jni` and `jni`, and by `jni` with one thread and with two. Wall time,
least of several turns, the JVM warmed. Derived from TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.jni.classes import JniLoader, connector_classes
from seamkit.offheap.jni.scanner import JniCounters, JniScanner

_FIXED = ["int", "bigint", "double", "date", "timestamp", "bigint", "int", "double"]
#: The kinds of lineitem's columns, and one more.
_LINEITEM = [
    *["bigint"] * 3,
    "int",
    *["decimal(15,2)"] * 4,
    *["string"] * 2,
    *["date"] * 3,
    *["string"] * 3,
    "bigint",
]
_CHUNK = 4096


def _generate(loader: JniLoader, types: Sequence[str], rows: int) -> tuple[float, JniCounters]:
    """Seconds and counters of one scan of rows that cost nothing to make."""
    parameters = {"rows": str(rows), "types": "#".join(types)}
    begin = time.perf_counter()
    with JniScanner(
        loader, "seambench.generator.GeneratorScanner", _CHUNK, parameters, TrackedAllocator()
    ) as scan:
        scan.open()
        found = sum(batch.num_rows for batch in scan.batches(scan.schema()))
    if found != rows:
        raise ValueError(f"{found} rows came of {rows}")
    return time.perf_counter() - begin, scan.counters()


def _appending(turns: int) -> None:
    loader = JniLoader(
        compiled_package(
            "seambench.generator", Path(__file__).parent / "java" / "generator", connector_classes()
        )
    )
    for name, types in (("fixed width", _FIXED), ("lineitem", _LINEITEM)):
        rows = 1_000_000
        best = min((_generate(loader, types, rows) for _ in range(turns)), key=lambda one: one[0])
        counted = best[1]
        inside = counted.read_s + counted.convert_s
        sys.stdout.write(
            f"{name}: {rows * len(types) / inside / 1e6:.1f} M values/s and "
            f"{rows / inside / 1e6:.2f} M rows/s in Java; the copy is "
            f"{counted.fill_s / (inside + counted.fill_s):.1%} of the path\n"
        )


def _seconds(reader: str, table: Path, threads: int) -> tuple[float, int]:
    begin = time.perf_counter()
    scan = registry.resolve("scan", reader).open(ScanRequest(str(table), threads=threads))
    rows = sum(batch.num_rows for batch in scan.to_reader())
    return time.perf_counter() - begin, rows


def _scanning(table: Path, turns: int) -> None:
    ways = [("auto", 2), ("native+jni", 2), ("jni", 2), ("jni", 1)]
    least = dict.fromkeys(ways, float("inf"))
    counts = set()
    for _ in range(turns):
        for way in ways:
            seconds, rows = _seconds(way[0], table, way[1])
            least[way] = min(least[way], seconds)
            counts.add(rows)
    if len(counts) > 1:
        raise ValueError(f"the readers found different numbers of rows: {sorted(counts)}")
    for (reader, threads), seconds in least.items():
        sys.stdout.write(f"{reader}, {threads} threads: {seconds:.2f} s\n")
    both = least[("jni", 2)]
    sys.stdout.write(
        f"jni / native+jni: {both / least[('native+jni', 2)]:.2f}; "
        f"native+jni / auto: {least[('native+jni', 2)] / least[('auto', 2)]:.2f}; "
        f"one thread / two: {least[('jni', 1)] / both:.2f}\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of one data set, with lineitem in it")
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args(arguments)
    _appending(max(asked.turns, 5))
    if asked.folder is not None:
        _scanning(asked.folder / "lineitem", asked.turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())

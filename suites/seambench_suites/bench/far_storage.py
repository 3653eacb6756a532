"""Measures what a table costs on a storage where each request waits, beside the same table here.

    seambench data --scale 0.1 --layout mor-v9-event-avro-u20-s100
    python -m seambench_suites.bench.far_storage --data data --scale 0.1 --delay-ms 30

Prints for each data set and scan the seconds here and there (the least of some runs in turns), and
the requests, also for each row group of the files whose rows were read, and the rounds: how many
requests followed each other, all of them and those for anything but data files. Derived from TPC-H,
not comparable with published results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.bench import delayed_storage
from seambench.bench.cases import SCANNED, SCANS
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.data import Dataset, list_datasets

__all__ = ["main", "row_groups_read"]


def row_groups_read(requests: Sequence[delayed_storage.Request]) -> int:
    """Row groups of the data files that requests are about; files of metadata do not count."""
    paths = {
        request.path
        for request in requests
        if request.path.endswith(".parquet") and "/.hoodie/" not in request.path
    }
    return sum(pq.ParquetFile(path).num_row_groups for path in paths if "_delta_log" not in path)


def _read(scanner: Any, table: str, columns: Sequence[str] | None) -> tuple[float, int]:
    begin = time.perf_counter()
    scan = scanner.open(ScanRequest(table=table, columns=columns))
    rows = sum(batch.num_rows for batch in scan.to_reader())
    return time.perf_counter() - begin, rows


def _measure(
    reader: str, dataset: Dataset, columns: Sequence[str] | None, delay: float, samples: int
) -> str:
    scanner = registry.resolve("scan", reader)
    folder = str(dataset.tables[SCANNED].path.resolve())
    here, there = [], []
    made: list[delayed_storage.Request] = []
    for _ in range(samples):
        seconds, rows = _read(scanner, folder, columns)
        here.append(seconds)
        delayed_storage.requests()
        with delayed_storage.delay(delay):
            seconds, far_rows = _read(scanner, f"delayed://{folder}", columns)
        made = delayed_storage.requests()
        there.append(seconds)
        if rows != far_rows:
            raise AssertionError(f"{dataset.name}: {rows} rows here, {far_rows} there")
    kinds = Counter(request.kind for request in made)
    of_data = [r for r in made if r.path.endswith(".parquet") and "/.hoodie/" not in r.path]
    groups = row_groups_read(made)
    data_paths = {r.path for r in of_data}
    planning = delayed_storage.rounds([r for r in made if r.path not in data_paths])
    return (
        f"here {min(here):.3f} s, there {min(there):.3f} s ({min(there) / min(here):.2f} x), "
        f"requests {dict(kinds)}, of data files {len(of_data)} for {groups} row groups "
        f"({len(of_data) / max(groups, 1):.2f} each), rounds {delayed_storage.rounds(made)}, "
        f"{planning} without data files, {pa.total_allocated_bytes() >> 20} MiB held"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--layout", action="append", help="repeatable (default: all)")
    parser.add_argument("--reader", default="auto")
    parser.add_argument("--scan", action="append", choices=list(SCANS), help="default: all, q6")
    parser.add_argument("--delay-ms", type=float, default=30.0)
    parser.add_argument("--samples", type=int, default=3)
    args = parser.parse_args(arguments)
    for dataset in list_datasets(args.data, args.scale):
        if not dataset.formats or (args.layout and dataset.layout not in args.layout):
            continue
        for scan in args.scan or ("all", "q6"):
            found = _measure(args.reader, dataset, SCANS[scan], args.delay_ms / 1000, args.samples)
            sys.stdout.write(f"{dataset.layout} {scan}: {found}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

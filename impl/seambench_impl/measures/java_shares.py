"""Measures what a JNI connector adds to the Java reader behind it, in one process.

    seambench data --scale 1 --data data --layout mor-v9-event-avro-u20-s20
    python -m seambench_impl.measures.java_shares data/sf1/mor-v9-event-avro-u20-s20

One slice of lineitem without logs and one with, of all columns and of four. Hudi's reader alone
hands its records to nobody; then the same slice goes the whole way into Arrow's columns. Both in
turns on this thread, in its own CPU seconds, which other programs hardly change; the least of
several turns counts. Beside it stands how the scanner itself divides its time. Derived from TPC-H,
not comparable with published results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seambench.contracts.scan import ScanRequest
from seambench_impl.connector.hudi_java import SCANNER, java_loader, slice_parameters
from seambench_impl.scan_jni import JniReader
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniCounters, JniScanner
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadUnit

_FOUR = ("l_orderkey", "l_quantity", "l_extendedprice", "l_shipdate")
_CHUNK = 4096


def _alone(unit: ReadUnit, schema: pa.Schema) -> tuple[float, int]:
    """CPU seconds of Hudi's reader over a slice, opening left out, and its records."""
    classes = java_loader().classes
    parameters = classes.jpype.JClass("java.util.LinkedHashMap")()
    for name, value in slice_parameters(unit, schema).items():
        parameters.put(name, value)
    scanner: Any = classes.java_class(SCANNER)(_CHUNK, parameters)
    with classes.inside():
        scanner.open()
        begin = time.thread_time()
        records = int(scanner.drain())
        seconds = time.thread_time() - begin
        scanner.close()
    return seconds, records


def _whole(unit: ReadUnit, schema: pa.Schema) -> tuple[float, JniCounters]:
    """CPU seconds of the same by the whole path, and what the scanner counts of them."""
    parameters, expected = slice_parameters(unit, schema), EngineSchema(schema)
    with JniScanner(java_loader(), SCANNER, _CHUNK, parameters, TrackedAllocator()) as scanner:
        scanner.open()
        begin = time.thread_time()
        for _ in scanner.batches(expected):
            pass
        seconds = time.thread_time() - begin
    return seconds, scanner.counters()


def _measure(unit: ReadUnit, schema: pa.Schema, turns: int) -> str:
    alone, whole, counted = float("inf"), float("inf"), None
    for _ in range(turns):
        seconds, records = _alone(unit, schema)
        alone = min(alone, seconds)
        seconds, counters = _whole(unit, schema)
        if counters.rows != records:
            raise ValueError(f"{unit.name}: {counters.rows} rows came of {records}")
        if seconds < whole:
            whole, counted = seconds, counters
    assert counted is not None
    inside = counted.read_s + counted.convert_s + counted.fill_s
    added = counted.convert_s + counted.fill_s
    return (
        f"{counted.rows} rows; reader alone {alone:.2f} s, whole {whole:.2f} s, "
        f"{whole / alone - 1:+.0%}; as counted: read {counted.read_s / inside:.0%}, "
        f"convert {counted.convert_s / inside:.0%}, fill {counted.fill_s / inside:.1%}, "
        f"the last two {added / counted.read_s:+.0%} over read\n"
    )


def _slices(table: Path) -> tuple[UnitScan, dict[str, ReadUnit]]:
    """A scan of a table, and a slice of each kind that it has."""
    scan = JniReader().open(ScanRequest(str(table)))
    assert isinstance(scan, UnitScan)
    kinds = {"with logs" if unit.changed_by else "base alone": unit for unit in scan.plan.units}
    if not kinds:
        raise UsageError(f"{table}: a table with slices is measured")
    return scan, kinds


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of one data set, with lineitem in it")
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args(arguments)
    scan, kinds = _slices(asked.folder / "lineitem")
    for kind, unit in sorted(kinds.items()):
        for names in (scan.schema.names, _FOUR):
            schema = pa.schema([scan.schema.field(name) for name in names])
            found = _measure(unit, schema, max(asked.turns, 1))
            sys.stdout.write(f"{kind}, {len(names)} columns: {found}")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

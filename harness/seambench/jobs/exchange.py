"""Exchange rows between executors: `spark-submit .../seambench/jobs/exchange.py --workers 4 ...`.

Runs plans of `seambench exchange` as barrier jobs, on whatever master spark-submit was given: each
worker is a task and listens at the address that the barrier's context gives its executor. The
Python that runs it (PYSPARK_PYTHON) needs this package, also on the workers of a cluster.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):
    # spark-submit puts this file's folder first on the path; the package is two folders up.
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from seambase.errors import SeambenchError
from seambench.bench.exchange.on_spark import SparkWorkers, end_barriers, require_slots
from seambench.bench.exchange.suite import ExchangeOptions, measure_exchanges
from seambench.engines.spark import SparkOptions, parse_settings, spark_session
from seambench.records.files import write_record
from seambench.records.writer import failures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="exchange.py", description="Exchange rows between the executors of a Spark cluster."
    )
    add = parser.add_argument
    add("--impl", default="seambench", help="implementation of the exchange seam")
    add("--plan", action="append", help="plan, repeatable (default: shuffle and q03)")
    add("--workers", type=int, default=2, help="tasks; the cluster has a core for each")
    add("--transport", action="append", help="transport, repeatable (default: all over networks)")
    add("--format", action="append", help="chunk format, repeatable (default: presto)")
    add("--chunk-rows", type=int, default=4096, help="rows of a chunk")
    add("--scale", type=float, default=0.01, help="TPC-H scale")
    add("--samples", type=int, default=7, help="timed runs of each, after a first one")
    add("--timeout", type=float, default=300.0, help="seconds that a worker waits for rows")
    add("--results", type=Path, default=Path("results"), help="folder of the records")
    add("--master", help="Spark master (default: spark-submit's)")
    add(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="Spark setting, repeatable"
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run with command-line arguments; returns the exit code.

    Prints a line per case on standard output: seconds and bytes, or what went wrong.
    """
    given = _parser().parse_args(argv)
    options = ExchangeOptions(
        implementation=given.impl,
        plans=tuple(given.plan or ("shuffle", "q03")),
        workers=(given.workers,),
        transports=tuple(given.transport or ("sockets", "grpc", "flight")),
        formats=tuple(given.format or ("presto",)),
        chunk_rows=(given.chunk_rows,),
        scale=given.scale,
        samples=given.samples,
        timeout=given.timeout,
        command=shlex.join(sys.argv),
    )
    try:
        session = SparkOptions(given.master, memory="1g", conf=parse_settings(given.conf))
        with spark_session(session) as (spark, _log):
            require_slots(spark, given.workers)
            workers = SparkWorkers(spark, options.implementation, options.scale, options.timeout)
            try:
                records = measure_exchanges(options, None, workers, "exchange-spark")
            finally:
                end_barriers(spark)
        for one in records:
            write_record(given.results, one)
    except SeambenchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    for timing in records[0].timings:
        said = f"{min(timing.hot):.3f} s" if timing.hot else timing.reason
        sys.stdout.write(f"{timing.case}: {said}, {timing.bytes} bytes\n")
    return 1 if failures(records) else 0


if __name__ == "__main__":
    sys.exit(main())

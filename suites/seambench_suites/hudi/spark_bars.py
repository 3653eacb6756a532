"""Measures a table on Spark: through us, by Hudi's own reader, and its base files read directly.

    seambench data --scale 1 --layout mor-v9-event-avro-u20-s100
    python -m seambench_suites.hudi.spark_bars --data data --scale 1 --master "local[2]"

One session, in turns: all columns and those of query 6 into Spark's noop sink, where a comparison
(`seambench run --reader spark-frame --reader spark-hudi`) has to hand the rows over, and with
`--queries` queries in Spark SQL. The direct read takes the base files alone, as Spark reads any
Parquet: the stale answer, and the least that a read can cost. Before anything is timed the rows of
both readers of the table are counted and compared by a sum over all columns' hashes; the rows of a
query are compared too. Prints each figure beside what is wanted, and writes all seconds as JSON
with `--output`. Derived from TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seambench.bench.cases import SCANNED, SCANS
from seambench.bench.readers import tables_to_read
from seambench.cli.shared.common import parse_queries
from seambench.contracts import registry
from seambench.contracts.scan import Framed, ScanRequest
from seambench.data import Dataset, list_datasets
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.hudi import bundle
from seambench_suites.tpch.suite import TpchSuite

__all__ = ["BARS", "figures", "main"]

OURS, HUDI, DIRECT = "auto", "spark-hudi", "direct"

Times = Mapping[tuple[str, str], Sequence[float]]
"""Seconds by case and reader."""


def _ratio(case: str, slower: str, faster: str) -> Callable[[Times], float]:
    return lambda t: statistics.median(t[case, slower]) / statistics.median(t[case, faster])


def _queries(slower: str, faster: str) -> Callable[[Times], float]:
    def mean(times: Times) -> float:
        ratios = [
            _ratio(case, slower, faster)(times)
            for case in sorted({c for c, _ in times})
            if _is_query(case)
        ]
        return statistics.geometric_mean(ratios)

    return mean


def _is_query(case: str) -> bool:
    return case not in SCANS


#: Name, figure, what is wanted, and whether that is the least.
BARS: Sequence[tuple[str, Callable[[Times], float], float, bool]] = (
    ("all columns: x Spark + Hudi", _ratio("all", HUDI, OURS), 8, True),
    ("4 columns: x Spark + Hudi", _ratio("q6", HUDI, OURS), 10, True),
    ("queries: x Spark + Hudi", _queries(HUDI, OURS), 4, True),
    ("all columns / direct read", _ratio("all", OURS, DIRECT), 2, False),
    ("4 columns / direct read", _ratio("q6", OURS, DIRECT), 2, False),
    ("queries / direct read", _queries(OURS, DIRECT), 2, False),
)


def figures(times: Times) -> list[tuple[str, float | None, str]]:
    """Each figure, None where times are missing, and a word on it."""
    found: list[tuple[str, float | None, str]] = []
    for name, figure, wanted, least in BARS:
        try:
            value = figure(times)
        except (KeyError, statistics.StatisticsError):
            found.append((name, None, "no data"))
            continue
        met = value >= wanted if least else value <= wanted
        limit = f"{'>=' if least else '<='} {wanted:g}"
        found.append((name, value, f"{limit} {'met' if met else 'missed'}"))
    return found


def _frames(session: Any, dataset: Dataset, table: str) -> dict[str, Any]:
    """A table by each reader, its own columns alone."""
    path = str(dataset.tables[table].path.resolve())
    scan = registry.resolve("scan", OURS).open(ScanRequest(table=path))
    assert isinstance(scan, Framed)
    ours = scan.spark_frame(session)
    names = ours.columns
    return {
        OURS: ours,
        HUDI: session.read.format("hudi").load(path).select(names),
        DIRECT: session.read.parquet(f"{path}/*.parquet").select(names),
    }


def _seconds(frame: Any) -> float:
    begin = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begin


def _digest(frame: Any) -> Any:
    names = ", ".join(f"`{name}`" for name in frame.columns)
    row = frame.selectExpr(f"CAST(xxhash64({names}) AS DECIMAL(38, 0)) AS h")
    return row.selectExpr("count(*)", "sum(h)").collect()


def _scans(
    frames: Mapping[str, Any], readers: Sequence[str], samples: int
) -> dict[tuple[str, str], list[float]]:
    times: dict[tuple[str, str], list[float]] = {}
    for scan in ("q6", "all"):
        chosen = {n: f.select(SCANS[scan] or f.columns) for n, f in frames.items() if n in readers}
        _require_alike({name: _digest(f) for name, f in chosen.items() if name != DIRECT}, scan)
        for _ in range(samples + 1):  # the first of each is cold
            for name, frame in chosen.items():
                times.setdefault((scan, name), []).append(_seconds(frame))
    return {key: seconds[1:] for key, seconds in times.items()}


def _run_queries(
    session: Any, dataset: Dataset, readers: Sequence[str], numbers: Sequence[int], samples: int
) -> dict[tuple[str, str], list[float]]:
    """Seconds of queries whose rows come to the driver; the first of each reader is cold."""
    texts = TpchSuite().queries
    frames = {name: _frames(session, dataset, name) for name in tables_to_read(dataset)}
    for name, table in dataset.tables.items():
        if table.is_plain:
            session.read.parquet(str(table.path)).createOrReplaceTempView(name)
    times: dict[tuple[str, str], list[float]] = {}
    for number in numbers:
        case, answers = f"q{number:02}", {}
        for _ in range(samples + 1):
            for reader in readers:
                for name, of_reader in frames.items():
                    of_reader[reader].createOrReplaceTempView(name)
                begin = time.perf_counter()
                rows = session.sql(texts[number]).collect()
                times.setdefault((case, reader), []).append(time.perf_counter() - begin)
                if reader != DIRECT:
                    answers[reader] = rows
        _require_alike(answers, case)
        seconds = {reader: times[case, reader][1:] for reader in readers}
        sys.stderr.write(
            f"{case} "
            + " ".join(f"{r} {statistics.median(s):.2f}" for r, s in seconds.items())
            + "\n"
        )
    return {key: seconds[1:] for key, seconds in times.items()}


def _require_alike(answers: Mapping[str, Any], case: str) -> None:
    if any(answer != answers.get(OURS, answer) for answer in answers.values()):
        raise AssertionError(f"{case}: the readers do not agree")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--layout", default="mor-v9-event-avro-u20-s100")
    parser.add_argument("--master", help="Spark's master (default: spark-submit's, or local[*])")
    parser.add_argument("--memory", default="3g", help="heap of the driver")
    parser.add_argument("--reader", action="append", choices=[OURS, HUDI, DIRECT])
    parser.add_argument(
        "--queries", type=parse_queries, default=(), help="as 1,3-5 (default: none)"
    )
    parser.add_argument("--no-scans", action="store_true", help="queries alone")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--output", type=Path, help="JSON file of all seconds")
    args = parser.parse_args(arguments)
    args.reader = args.reader or [OURS, HUDI, DIRECT]
    found = [d for d in list_datasets(args.data, args.scale) if d.layout == args.layout]
    if not found:
        parser.error(f"{args.data} has no data set {args.layout} of scale {args.scale:g}")
    options = SparkOptions(master=args.master, memory=args.memory, bundle=bundle())
    with spark_session(options) as (session, _):
        times: dict[tuple[str, str], list[float]] = {}
        if not args.no_scans:
            times |= _scans(_frames(session, found[0], SCANNED), args.reader, args.samples)
        times |= _run_queries(session, found[0], args.reader, args.queries, args.samples)
    for (case, name), seconds in times.items():
        sys.stdout.write(f"{case:5} {name:12} {statistics.median(seconds):8.3f} s\n")
    for figure, value, word in figures(times):
        sys.stdout.write(f"{figure:42} {'' if value is None else f'{value:.2f}':>7}  {word}\n")
    if args.output:
        kept = {f"{case} {name}": seconds for (case, name), seconds in times.items()}
        args.output.write_text(json.dumps(kept, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures a table on Spark: through us, by Hudi's own reader, and its base files read directly.

    seambench data --scale 1 --layout mor-v9-event-avro-u20-s100
    python -m seambench_suites.hudi.spark_bars --data data --scale 1 --master "local[2]"

One session, in turns: all columns and those of query 6 into Spark's noop sink, and the queries of
TPC-H in Spark SQL. The direct read takes the base files alone, as Spark reads any Parquet: the
stale answer, and the least that a read can cost. Before anything is timed the rows of both readers
of the table are counted and compared by a sum over all columns' hashes, and of each query the
answers. Prints each figure beside what is wanted, and writes all seconds as JSON with `--output`.
Derived from TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seambench.bench.cases import SCANNED, SCANS
from seambench.contracts import registry
from seambench.contracts.scan import Framed, ScanRequest
from seambench.data import Dataset, list_datasets
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.hudi import bundle

__all__ = ["BARS", "figures", "main"]

OURS, HUDI, DIRECT = "auto", "spark-hudi", "direct"

Times = Mapping[tuple[str, str], Sequence[float]]
"""Seconds by case and reader."""


def _ratio(case: str, slower: str, faster: str) -> Callable[[Times], float]:
    return lambda t: statistics.median(t[case, slower]) / statistics.median(t[case, faster])


def _queries(times: Times) -> float:
    cases = sorted({case for case, _ in times if case.startswith("q") and case != "q6"})
    ratios = [_ratio(case, HUDI, OURS)(times) for case in cases if (case, HUDI) in times]
    return math.exp(statistics.fmean(map(math.log, ratios)))


#: Name, figure, what is wanted, and whether that is the least.
BARS: Sequence[tuple[str, Callable[[Times], float], float, bool]] = (
    ("all columns: x Spark + Hudi", _ratio("all", HUDI, OURS), 8, True),
    ("4 columns: x Spark + Hudi", _ratio("q6", HUDI, OURS), 10, True),
    ("queries, geometric mean: x Spark + Hudi", _queries, 4, True),
    ("all columns / direct read", _ratio("all", OURS, DIRECT), 2, False),
    ("4 columns / direct read", _ratio("q6", OURS, DIRECT), 2, False),
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


def _close(one: Any, other: Any) -> bool:
    """Whether rows are equal; sums of decimals divided may differ in how they were rounded."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9)
    if isinstance(one, (list, tuple)):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_close(a, b) for a, b in pairs)
    return bool(one == other)


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


def _require_alike(answers: Mapping[str, Any], case: str) -> None:
    if len(answers) > 1 and not all(_close(a, answers[OURS]) for a in answers.values()):
        raise AssertionError(f"{case}: the readers do not agree")


def _query_times(
    session: Any, dataset: Dataset, suite: Any, args: argparse.Namespace
) -> dict[tuple[str, str], list[float]]:
    frames: dict[str, dict[str, Any]] = {name: {} for name in args.reader}
    for table, kept in dataset.tables.items():
        if kept.is_plain:
            plain = session.read.parquet(str(kept.path.resolve()))
            found = dict.fromkeys(args.reader, plain)
        else:
            found = _frames(session, dataset, table)
        for name in args.reader:
            frames[name][table] = found[name]
    times: dict[tuple[str, str], list[float]] = {}
    for number in args.query or sorted(suite.queries):
        case = f"q{number:02d}"
        for turn in range(args.samples + 1):
            answers = {}
            for name in args.reader:
                for table, frame in frames[name].items():
                    frame.createOrReplaceTempView(table)
                begin = time.perf_counter()
                answers[name] = session.sql(suite.queries[number]).collect()
                if turn:
                    times.setdefault((case, name), []).append(time.perf_counter() - begin)
            alike = {n: sorted(map(tuple, a), key=repr) for n, a in answers.items() if n != DIRECT}
            _require_alike(alike, case)
    return times


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--layout", default="mor-v9-event-avro-u20-s100")
    parser.add_argument("--master", help="Spark's master (default: spark-submit's, or local[*])")
    parser.add_argument("--memory", default="3g", help="heap of the driver")
    parser.add_argument("--reader", action="append", choices=[OURS, HUDI, DIRECT])
    parser.add_argument("--query", action="append", type=int, help="repeatable (default: all)")
    parser.add_argument("--no-queries", action="store_true")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--output", type=Path, help="JSON file of all seconds")
    args = parser.parse_args(arguments)
    args.reader = args.reader or [OURS, HUDI, DIRECT]
    found = [d for d in list_datasets(args.data, args.scale) if d.layout == args.layout]
    if not found:
        parser.error(f"{args.data} has no data set {args.layout} of scale {args.scale:g}")
    options = SparkOptions(master=args.master, memory=args.memory, bundle=bundle())
    with spark_session(options) as (session, _):
        times = _scans(_frames(session, found[0], SCANNED), args.reader, args.samples)
        if not args.no_queries:
            suite = registry.resolve_suite("tpch")
            times |= _query_times(session, found[0], suite, args)
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

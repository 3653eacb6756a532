"""Measures what merging costs, in one run: each figure beside the most that is wanted.

    seambench data --scale 1 --slices 8 --layout mor-v9-event-avro-u0-s100 ...
    seambench data --scale 1 --slices 1 --layout mor-v9-event-avro-u20-s100 --data one-slice
    python -m seambench_suites.hudi.bars --data data --one-slice one-slice --results results

Data sets that are missing leave their figures out; `--only` measures what some figures need.
Answers are checked as in every comparison, and the records of the runs are written. Derived from
TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seambench.bench.comparison import ComparisonOptions, compare_readers
from seambench.data import Dataset, list_datasets
from seambench.records.files import write_record
from seambench.records.model import Record
from seambench.records.writer import failures

__all__ = ["BARS", "Bar", "figures", "main", "times_for"]

_SCANNED = {
    f"mor-v9-event-{blocks}-u{ratio}-s{share}"
    for blocks, ratio, share in (
        ("avro", 0, 100),
        ("avro", 5, 100),
        ("avro", 20, 100),
        ("avro", 100, 100),
        ("avro", 20, 20),
        ("parquet", 20, 100),
    )
}
_AVRO = "mor-v9-event-avro-u{}-s{}"
_ONE_SLICE = "one slice"
_QUERIED = (_AVRO.format(0, 100), _AVRO.format(20, 100))

Key = tuple[str, str, str, int]
"""Data set, case, reader and threads (0: as many as there are cores)."""

Times = Mapping[Key, float]
"""Median seconds."""


@dataclass(frozen=True)
class Bar:
    """One figure.

    Attributes:
        name: what it says.
        figure: works it out; KeyError where a time is missing.
        most: the figure wanted, at most; or at least, if `at_least`.
        at_least: see `most`.
    """

    name: str
    figure: Callable[[Times], float]
    most: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether a value is as wanted."""
        return value >= self.most if self.at_least else value <= self.most


def _over_native(layout: str, case: str) -> Callable[[Times], float]:
    return lambda t: t[layout, case, "auto", 0] / t[layout, case, "native", 0]


def _faster_than(reader: str, case: str) -> Callable[[Times], float]:
    layout = _AVRO.format(20, 100)
    return lambda t: t[layout, case, reader, 0] / t[layout, case, "auto", 0]


def _queries(times: Times) -> float:
    cases = [f"tpch/q{number:02d}" for number in range(1, 23)]
    ratios = [times[_QUERIED[1], c, "auto", 0] / times[_QUERIED[0], c, "auto", 0] for c in cases]
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _parquet_over_avro(times: Times) -> float:
    layouts = ("mor-v9-event-parquet-u20-s100", _AVRO.format(20, 100))
    parquet, avro = (_over_native(layout, "scan/all")(times) for layout in layouts)
    return parquet / avro


def _threads(times: Times) -> float:
    one, two = (times[_ONE_SLICE, "scan/all", "auto", threads] for threads in (1, 2))
    return one / two


#: The figures, in the order in which they are printed.
BARS: tuple[Bar, ...] = (
    Bar("20 % updated, all columns / native", _over_native(_AVRO.format(20, 100), "scan/all"), 1.6),
    Bar("20 % updated, 4 columns / native", _over_native(_AVRO.format(20, 100), "scan/q6"), 2.0),
    Bar("20 %, all columns: x hudi-rs", _faster_than("hudi-rs", "scan/all"), 14, at_least=True),
    Bar("20 %, 4 columns: x hudi-rs", _faster_than("hudi-rs", "scan/q6"), 35, at_least=True),
    Bar("20 %, all columns: x Spark", _faster_than("spark-hudi", "scan/all"), 15, at_least=True),
    Bar("20 %, 4 columns: x Spark", _faster_than("spark-hudi", "scan/q6"), 20, at_least=True),
    Bar("22 queries, 20 % / 0 %, geometric mean", _queries, 1.3),
    Bar("100 % updated / native", _over_native(_AVRO.format(100, 100), "scan/all"), 2.0),
    Bar("5 % updated / native", _over_native(_AVRO.format(5, 100), "scan/all"), 1.2),
    Bar("20 % of slices with logs / native", _over_native(_AVRO.format(20, 20), "scan/all"), 1.1),
    Bar("Parquet blocks / Avro blocks", _parquet_over_avro, 1.0),
    Bar("one slice: 2 threads, times faster", _threads, 1.7, at_least=True),
)


class _Asking(dict[Key, float]):
    """Any time there is; it remembers which were asked for."""

    def __missing__(self, key: Key) -> float:
        return self.setdefault(key, 1.0)


def times_for(bars: Sequence[Bar]) -> set[Key]:
    """The times that the figures of some bars are worked out from."""
    asking = _Asking()
    for bar in bars:
        bar.figure(asking)
    return set(asking)


def figures(times: Times, bars: Sequence[Bar] = BARS) -> list[tuple[Bar, float | None]]:
    """Each bar with its figure, or None where times are missing."""
    found: list[tuple[Bar, float | None]] = []
    for bar in bars:
        try:
            found.append((bar, bar.figure(times)))
        except KeyError:
            found.append((bar, None))
    return found


def _times(
    records: Sequence[Record], layout: str | None = None, threads: int = 0
) -> dict[Key, float]:
    return {
        (layout or timing.over.name, timing.case, one.implementation.name, threads): (
            statistics.median(timing.hot)
        )
        for one in records
        for timing in one.timings
        if timing.hot
    }


def _runs(
    datasets: Sequence[Dataset],
    one_slice: Sequence[Dataset],
    asked: Collection[Key],
    args: argparse.Namespace,
) -> list[tuple[ComparisonOptions, str | None]]:
    """What to compare, and the name its data set goes by here, if not its own."""

    def options(chosen: Sequence[Dataset], readers: Sequence[str], **more: Any) -> Any:
        return ComparisonOptions(
            readers=tuple(readers),
            datasets=tuple(chosen),
            samples=args.samples,
            memory=False,
            command="seambench_suites.hudi.bars",
            **more,
        )

    def layouts(readers: Collection[str], kind: str) -> list[Dataset]:
        found = {key[0] for key in asked if key[1].startswith(kind) and key[2] in readers}
        return [dataset for dataset in datasets if dataset.layout in found]

    names = {key[1].removeprefix("scan/") for key in asked if key[1].startswith("scan/")}
    scans = {"queries": (), "scans": tuple(name for name in ("all", "q6") if name in names)}
    runs: list[tuple[ComparisonOptions, str | None]] = []
    ours = ("native", "auto")
    if scanned := layouts(ours, "scan/"):
        runs.append((options(scanned, ours, **scans), None))
    runs += [
        (options(slow, (peer,), **scans), None)
        for peer in args.peer
        if (slow := layouts((peer,), "scan/"))
    ]
    if queried := layouts(("auto",), "tpch/"):
        runs.append((options(queried, ("auto",), scans=()), None))
    for threads in sorted({key[3] for key in asked if key[0] == _ONE_SLICE}):
        if one_slice:
            all_columns = {"queries": (), "scans": ("all",), "threads": threads}
            runs.append((options(one_slice, ("auto",), **all_columns), _ONE_SLICE))
    return runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the records, print the figures; 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="data sets of several slices")
    parser.add_argument("--one-slice", type=Path, help="a data set of one slice")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--samples", type=int, default=7)
    parser.add_argument(
        "--peer", action="append", default=[], help="hudi-rs or spark-hudi, repeatable"
    )
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="figures whose name holds TEXT; repeatable"
    )
    args = parser.parse_args(arguments)
    bars = [bar for bar in BARS if any(text in bar.name for text in args.only or [""])]
    if not bars:
        parser.error("no figure has such a name; they are: " + "; ".join(b.name for b in BARS))
    datasets = [d for d in list_datasets(args.data, args.scale) if d.layout in _SCANNED]
    one_slice = []
    if args.one_slice:
        one_slice = [d for d in list_datasets(args.one_slice, args.scale) if d.layout in _SCANNED]
    times: dict[Key, float] = {}
    failed: list[str] = []
    for options, name in _runs(datasets, one_slice, times_for(bars), args):
        records = compare_readers(options)
        for one in records:
            write_record(args.results, one)
        failed += failures(records)
        times |= _times(records, name, 0 if name is None else options.threads or 0)
    for bar, value in figures(times, bars):
        word = "no data" if value is None else "met" if bar.met(value) else "missed"
        shown = "" if value is None else f"{value:.2f}"
        limit = f"{'>=' if bar.at_least else '<='} {bar.most:g}"
        sys.stdout.write(f"{bar.name:42} {shown:>7}  {limit:8} {word}\n")
    for line in failed:
        sys.stderr.write(f"failed: {line}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

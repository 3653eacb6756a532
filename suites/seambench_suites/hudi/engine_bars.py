"""Measures queries, look-ups and scans against DuckDB's own reader of the base files, in one run.

    python -m seambench_suites.hudi.engine_bars --data data --json figures.json

The data sets are those of the run `merge` in `seambench_suites/bars.toml`; what is
missing leaves its figures out, `--only` measures some groups. What is compared runs in turns within
this process. Each figure is a ratio of least times, so that a machine with other work disturbs it
little; CPU seconds stand beside. DuckDB's reader gives stale rows where logs lie beside the base
files: its time is a measure, not an answer. Our answers are held to those over the oracle's rows.
Derived from TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambench.data import Dataset, list_datasets
from seambench_suites.history.kernels import feature
from seambench_suites.tpch import SUITE

__all__ = ["Figure", "main"]

_LAYOUT = "mor-v9-event-{}-u{}-s{}"
_UPDATED = {
    "0 %": _LAYOUT.format("avro", 0, 100),
    "20 % in a fifth of the slices": _LAYOUT.format("avro", 20, 20),
    "20 %": _LAYOUT.format("avro", 20, 100),
    "100 %": _LAYOUT.format("avro", 100, 100),
    "20 %, Parquet blocks": _LAYOUT.format("parquet", 20, 100),
}
_Q6 = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"]
_Q6_FILTER = (
    "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
    "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
)

Way = Callable[[], Any]
"""Does something once, and gives the answer."""


@dataclass(frozen=True)
class Figure:
    """One ratio of least times.

    Attributes:
        name: what is compared.
        value: the ratio.
        most: the ratio wanted, at most (at least, if `at_least`); None where none is set.
        at_least: see `most`.
        seconds: least seconds of each way.
        cpu_seconds: least CPU seconds of each way, of this process.
    """

    name: str
    value: float
    most: float | None
    at_least: bool
    seconds: Mapping[str, float]
    cpu_seconds: Mapping[str, float]


@dataclass
class _Times:
    seconds: dict[str, float]
    cpu_seconds: dict[str, float]
    answers: dict[str, Any]

    def figure(
        self, name: str, way: str, over: str, most: float | None, *, at_least: bool = False
    ) -> Figure:
        ratio = self.seconds[way] / self.seconds[over]
        return Figure(name, ratio, most, at_least, self.seconds, self.cpu_seconds)


def _in_turns(ways: Mapping[str, Way], rounds: int) -> _Times:
    """Least times of some ways, one after the other in each round."""
    times = _Times({}, {}, {})
    for _ in range(rounds):
        for name, way in ways.items():
            begin, cpu = time.perf_counter(), time.process_time()
            answer = way()
            seconds, own = time.perf_counter() - begin, time.process_time() - cpu
            times.seconds[name] = min(seconds, times.seconds.get(name, math.inf))
            times.cpu_seconds[name] = min(own, times.cpu_seconds.get(name, math.inf))
            times.answers[name] = answer
    return times


class _Bench:
    """One data set in DuckDB, by different readers of its tables.

    Args:
        dataset: with lineitem and orders as tables of Hudi.
        threads: of DuckDB and of scans.
    """

    def __init__(self, dataset: Dataset, threads: int) -> None:
        self.dataset = dataset
        self._threads = threads
        self._warm = self._connection()
        self._views(self._warm, self._relation)
        self._base = self._connection()
        self._views(self._base, lambda c, path: c.read_parquet(f"{path}/*.parquet"))
        self._oracle = self._connection()
        for name, table in dataset.expected().items():
            self._oracle.execute(f"CREATE VIEW {name} AS {table.sql}")

    def lineitem(self, **options: Any) -> Any:
        """A new scan of lineitem."""
        return _open_table(str(self.dataset.tables["lineitem"].path)).scan(
            threads=self._threads, **options
        )

    def ways(self, sql: str) -> dict[str, Way]:
        """A query over the base files, over our views, and over views made for it alone."""
        return {
            "duckdb": lambda: self._base.sql(sql).to_arrow_table(),
            "warm": lambda: self._warm.sql(sql).to_arrow_table(),
            "empty caches": lambda: self._cold(sql),
        }

    def expected(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer over the oracle's rows."""
        return _rows(self._oracle.sql(sql).to_arrow_table())

    def _cold(self, sql: str) -> pa.Table:
        _empty_caches()
        with self._connection() as connection:
            self._views(connection, self._relation)
            return connection.sql(sql).to_arrow_table()

    def _connection(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute(f"SET threads = {self._threads}")
        return connection

    def _views(
        self,
        connection: duckdb.DuckDBPyConnection,
        relation: Callable[[duckdb.DuckDBPyConnection, Path], Any],
    ) -> None:
        for name, table in self.dataset.tables.items():
            if table.is_plain:
                connection.read_parquet(f"{table.path}/*.parquet").create_view(name)
            else:
                relation(connection, table.path).create_view(name)

    @staticmethod
    def _relation(connection: duckdb.DuckDBPyConnection, path: Path) -> Any:
        return _open_table(str(path)).scan().relation(connection)


def _empty_caches() -> None:
    for most_bytes in (0, 512 << 20):
        feature("seamkit", "keep_at_most").keep_at_most(most_bytes)


def _open_table(path: str) -> Any:
    """A table by the library under test, which suites otherwise meet by the names of its seams."""
    return feature("seamkit", "open_table").open_table(path)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows in an order of their own; floating numbers at 9 digits."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def _plain(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


class _WrongError(Exception):
    """An answer of ours is not that over the oracle's rows."""


def _checked(times: _Times, bench: _Bench, sql: str, what: str) -> _Times:
    expected = bench.expected(sql)
    for way in ("warm", "empty caches"):
        if _rows(times.answers[way]) != expected:
            raise _WrongError(
                f"{bench.dataset.name}: {what}, {way}: another answer than the oracle's"
            )
    return times


def _queries(benches: Mapping[str, _Bench], rounds: int) -> Iterator[Figure]:
    """The 22 queries, each, and their geometric means."""
    most = {"0 %": 1.05, "20 % in a fifth of the slices": 1.25, "20 %": 1.6}
    warm: dict[str, list[float]] = {}
    for ratio, bench in benches.items():
        if ratio not in most:
            continue
        cold: list[float] = []
        of_ratio: list[Figure] = []
        for number, sql in SUITE.queries.items():
            times = _checked(_in_turns(bench.ways(sql), rounds), bench, sql, f"query {number}")
            found = times.figure(f"query {number}, {ratio}", "warm", "duckdb", None)
            of_ratio.append(found)
            cold.append(times.seconds["empty caches"] / times.seconds["duckdb"])
            warm.setdefault(ratio, []).append(times.seconds["warm"])
            yield found
        name = f"22 queries, {ratio}, geometric mean"
        yield Figure(name, _mean([f.value for f in of_ratio]), most[ratio], False, {}, {})
        limit = 2.2 if ratio == "20 %" else None
        yield Figure(f"{name}, empty caches", _mean(cold), limit, False, {}, {})
    if {"0 %", "20 %"} <= warm.keys():
        pairs = zip(warm["20 %"], warm["0 %"], strict=True)
        name = "22 queries, 20 % / our 0 %, geometric mean"
        yield Figure(name, _mean([a / b for a, b in pairs]), 1.3, False, {}, {})


def _look_ups(benches: Mapping[str, _Bench], rounds: int) -> Iterator[Figure]:
    """One key, and a hundred, of rows that are there."""
    keys = ", ".join(str(key) for key in (n * 59_969 // 32 * 32 + n % 7 + 1 for n in range(100)))
    for ratio, bench in benches.items():
        if ratio not in ("0 %", "20 %"):
            continue
        for name, condition, most in (
            ("one key", "l_orderkey = 1234567", 3.0),
            ("100 keys", f"l_orderkey IN ({keys})", 5.0),
        ):
            # Not the columns that Hudi adds to its files.
            names = ", ".join(bench.lineitem().schema.names)
            sql = f"SELECT {names} FROM lineitem WHERE {condition}"  # noqa: S608 - ours
            times = _checked(_in_turns(bench.ways(sql), rounds), bench, sql, name)
            for way in ("warm", "empty caches"):
                limit = most if ratio == "20 %" and way == "warm" else None
                yield times.figure(f"{name}, {ratio}, {way}", way, "duckdb", limit)


def _scans(benches: Mapping[str, _Bench], rounds: int) -> Iterator[Figure]:
    """Columns of lineitem as Arrow, by our scans without an engine."""
    merged = {}
    for ratio, bench in benches.items():
        ways = {
            "merged": lambda bench=bench: bench.lineitem().count_rows(),
            "base files": lambda bench=bench: bench.lineitem().files_alone().count_rows(),
        }
        if ratio == "20 % in a fifth of the slices":
            continue
        times = _in_turns(ways, rounds)
        most = {"20 %": 1.2, "100 %": 1.5}.get(ratio)
        yield times.figure(f"all columns, {ratio} / native", "merged", "base files", most)
        merged[ratio] = times.seconds["merged"] / times.seconds["base files"]
        if ratio == "20 %":
            yield from _narrow_scans(bench, rounds)
            yield _one_slice(bench, rounds)
    blocks = ("20 %, Parquet blocks", "20 %")
    if merged.keys() >= set(blocks):
        ratios = [merged[name] for name in blocks]
        yield Figure("Parquet blocks / Avro blocks", ratios[0] / ratios[1], 1.0, False, {}, {})


def _narrow_scans(bench: _Bench, rounds: int) -> Iterator[Figure]:
    sql = f"SELECT {', '.join(_Q6)} FROM lineitem"  # noqa: S608 - ours
    of_duckdb = bench.ways(f"{sql} WHERE {_Q6_FILTER}")

    def first() -> pa.Table:
        _empty_caches()
        return bench.lineitem(columns=_Q6, filter=_Q6_FILTER).to_table()

    ways = {
        "empty caches": first,
        "merged": lambda: bench.lineitem(columns=_Q6, filter=_Q6_FILTER).to_table(),
        "warm": of_duckdb["warm"],
        "duckdb": of_duckdb["duckdb"],
    }
    times = _in_turns(ways, rounds)
    expected = bench.expected(f"{sql} WHERE {_Q6_FILTER}")
    for way in ("empty caches", "merged", "warm"):
        if _rows(times.answers[way]) != expected:
            raise _WrongError(f"{bench.dataset.name}: 4 columns, {way}: another answer")
    yield times.figure("4 columns with a filter, 20 % / duckdb", "merged", "duckdb", 1.5)
    name = "4 columns with a filter, 20 %, empty caches"
    yield times.figure(name, "empty caches", "duckdb", None)
    yield times.figure("4 columns with a filter, 20 %, relation", "warm", "duckdb", 1.5)
    ways = {
        "merged": lambda: bench.lineitem(columns=_Q6).count_rows(),
        "base files": lambda: bench.lineitem(columns=_Q6).files_alone().count_rows(),
    }
    times = _in_turns(ways, rounds)
    yield times.figure("4 columns, 20 % / native", "merged", "base files", 1.6)


def _one_slice(bench: _Bench, rounds: int) -> Figure:
    def way(threads: int) -> Way:
        def read() -> int:
            scan = _open_table(str(bench.dataset.tables["lineitem"].path)).scan(threads=threads)
            return int(scan.part(0, scan.schema.names, None).count_rows())

        return read

    times = _in_turns({"1 thread": way(1), "2 threads": way(2)}, rounds)
    name = "one slice: 2 threads, times faster"
    return times.figure(name, "1 thread", "2 threads", 1.7, at_least=True)


_GROUPS = {"queries": _queries, "look-ups": _look_ups, "scans": _scans}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", action="append", choices=list(_GROUPS), help="repeatable")
    parser.add_argument("--json", type=Path, help="where the figures go as well")
    args = parser.parse_args(arguments)
    known = {one.layout: one for one in list_datasets(args.data, args.scale)}
    benches = {
        ratio: _Bench(known[layout], args.threads)
        for ratio, layout in _UPDATED.items()
        if layout in known
    }
    figures = []
    try:
        for group in args.only or _GROUPS:
            for figure in _GROUPS[group](benches, args.rounds):
                figures.append(figure)
                _print(figure)
    except _WrongError as error:
        sys.stderr.write(f"failed: {error}\n")
        return 1
    finally:
        if args.json:
            args.json.write_text(json.dumps([asdict(one) for one in figures], indent=1) + "\n")
    return 0


def _print(figure: Figure) -> None:
    limit = "" if figure.most is None else f"{'>=' if figure.at_least else '<='} {figure.most:g}"
    times = ", ".join(
        f"{way} {seconds:.3f} s ({figure.cpu_seconds[way]:.3f})"
        for way, seconds in figure.seconds.items()
    )
    sys.stdout.write(f"{figure.name:52} {figure.value:6.2f} {limit:8} {times}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""Compares readers of the same Parquet files into Arrow, by the shape of the read.

    python -m seambench_suites.bench.file_readers --data data

The files are those of lineitem in a data set without updates, as Hudi wrote them. Each reader hands
out all rows of a shape as Arrow; they take turns within this process. What is printed is a table in
Markdown of least seconds, with CPU seconds beside. A reader that gives another number of rows, or
another sum of prices, ends the run. What a reader cannot do is left out: arro3 reads whole files
alone. Derived from TPC-H, not comparable with published results.
"""

from __future__ import annotations

import argparse
import datetime as dt
import decimal
import functools
import math
import operator
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from seambench.data import list_datasets
from seambench_suites.history.kernels import feature

__all__ = ["Shape", "main"]

_LAYOUT = "mor-v9-event-avro-u0-s100"
_PRICE = "l_extendedprice"
_BATCH_ROWS = 1 << 17
_Q6 = ("l_shipdate", "l_discount", "l_quantity", _PRICE)

Test = tuple[str, str, Any]
"""A column, an operator of `operator`, and a value."""

_OF_Q6: tuple[Test, ...] = (
    ("l_shipdate", "ge", dt.date(1994, 1, 1)),
    ("l_shipdate", "lt", dt.date(1995, 1, 1)),
    ("l_discount", "ge", decimal.Decimal("0.05")),
    ("l_discount", "le", decimal.Decimal("0.07")),
    ("l_quantity", "lt", decimal.Decimal("24.00")),
)
_SIGNS = {"ge": ">=", "lt": "<", "le": "<=", "eq": "="}


@dataclass(frozen=True)
class Shape:
    """What is read.

    Attributes:
        name: of the read.
        columns: handed out; none for all of the table's.
        tests: that rows meet, all of them.
    """

    name: str
    columns: tuple[str, ...] = ()
    tests: tuple[Test, ...] = ()

    @property
    def expression(self) -> pc.Expression | None:
        """The tests for pyarrow."""
        parts = [getattr(operator, sign)(pc.field(name), value) for name, sign, value in self.tests]
        return functools.reduce(operator.and_, parts) if parts else None

    @property
    def sql(self) -> str:
        """The tests for DuckDB."""
        parts = [f"{name} {_SIGNS[sign]} {_literal(value)}" for name, sign, value in self.tests]
        return " AND ".join(parts)


_SHAPES = (
    Shape("all columns"),
    Shape("4 columns", _Q6),
    Shape("4 columns, filter of query 6", _Q6, _OF_Q6),
    Shape("a price by key", (_PRICE,), (("l_orderkey", "eq", 1_234_567),)),
    Shape("a price", (_PRICE,)),
)

Read = Callable[[Shape], Iterable[pa.RecordBatch]]
"""All rows of a shape; raises NotImplementedError if there is no way."""


def _literal(value: Any) -> str:
    return f"DATE '{value}'" if isinstance(value, dt.date) else str(value)


class _Readers:
    """Readers of the files of one table.

    Args:
        root: the table's folder.
        threads: of each reader.
    """

    def __init__(self, root: Path, threads: int) -> None:
        import duckdb

        self._root, self._threads = str(root), threads
        self._paths = sorted(map(str, root.glob("*.parquet")))
        self._names = tuple(self._scan().schema.names)
        self._duckdb = duckdb.connect()
        self._duckdb.execute(f"SET threads = {threads}")
        pa.set_cpu_count(threads)

    def ways(self) -> dict[str, Read]:
        """Readers by name."""
        return {
            "seamkit": self._by_seamkit,
            "pyarrow, by file": self._by_file,
            "pyarrow dataset": self._by_dataset,
            "DuckDB": self._by_duckdb,
            "Polars": self._by_polars,
            "arro3": self._by_arro3,
        }

    def _scan(self, **options: Any) -> Any:
        table = feature("seamkit", "open_table").open_table(self._root)
        return table.scan(threads=self._threads, **options).files_alone()

    def _columns(self, shape: Shape) -> list[str]:
        return list(shape.columns or self._names)

    def _by_seamkit(self, shape: Shape) -> Iterator[pa.RecordBatch]:
        options = {"columns": self._columns(shape), "filter": shape.expression}
        return iter(self._scan(**options).to_reader())

    def _by_file(self, shape: Shape) -> Iterator[pa.RecordBatch]:
        if shape.tests:
            raise NotImplementedError
        columns = self._columns(shape)
        return self._file_by_file(
            lambda path: pq.ParquetFile(path).iter_batches(
                _BATCH_ROWS, columns=columns, use_threads=False
            )
        )

    def _by_arro3(self, shape: Shape) -> Iterator[pa.RecordBatch]:
        from arro3.io import read_parquet

        if shape.columns:
            raise NotImplementedError
        return self._file_by_file(
            lambda path: pa.RecordBatchReader.from_stream(
                read_parquet(path, batch_size=_BATCH_ROWS)
            )
        )

    def _file_by_file(
        self, read: Callable[[str], Iterable[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Several files at once, each by one thread."""
        with ThreadPoolExecutor(self._threads) as pool:
            for batches in pool.map(lambda path: list(read(path)), self._paths):
                yield from batches

    def _by_dataset(self, shape: Shape) -> Iterator[pa.RecordBatch]:
        files = ds.dataset(self._paths, format="parquet")
        scanner = files.scanner(columns=self._columns(shape), filter=shape.expression)
        return iter(scanner.to_batches())

    def _by_duckdb(self, shape: Shape) -> Iterator[pa.RecordBatch]:
        rows = self._duckdb.read_parquet(self._paths)
        found = rows.filter(shape.sql) if shape.tests else rows
        return iter(found.select(*self._columns(shape)).to_arrow_reader(_BATCH_ROWS))

    def _by_polars(self, shape: Shape) -> Iterator[pa.RecordBatch]:
        import polars as pl

        rows = pl.scan_parquet(self._paths)
        for name, sign, value in shape.tests:
            rows = rows.filter(getattr(operator, sign)(pl.col(name), value))
        return iter(rows.select(self._columns(shape)).collect().to_arrow().to_batches())


def _answer(batches: Iterable[pa.RecordBatch]) -> tuple[int, Any]:
    """How many rows there are, and the sum of their prices."""
    rows, prices = 0, []
    for batch in batches:
        rows += batch.num_rows
        prices.append(batch.column(_PRICE))
    return rows, None if not rows else pc.sum(pa.chunked_array(prices)).as_py()


def _turns(ways: dict[str, Read], shape: Shape, rounds: int) -> dict[str, tuple[float, float]]:
    """Least seconds and CPU seconds of each reader that can."""
    least: dict[str, tuple[float, float]] = {}
    expected: tuple[int, Any] | None = None
    for _ in range(rounds):
        for name, read in ways.items():
            begin, cpu = time.perf_counter(), time.process_time()
            try:
                answer = _answer(read(shape))
            except NotImplementedError:
                continue
            seconds, own = time.perf_counter() - begin, time.process_time() - cpu
            expected = expected or answer
            if answer != expected:
                raise RuntimeError(f"{shape.name}, {name}: {answer}, not {expected}")
            before = least.get(name, (math.inf, math.inf))
            least[name] = min(seconds, before[0]), min(own, before[1])
    return least


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if an answer was wrong, 2 without the data set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args(arguments)
    # Polars asks when it is imported.
    os.environ.setdefault("POLARS_MAX_THREADS", str(args.threads))
    known = {one.layout: one for one in list_datasets(args.data, args.scale)}
    if _LAYOUT not in known:
        sys.stderr.write(f"failed: {args.data} has no data set {_LAYOUT} at this scale\n")
        return 2
    ways = _Readers(Path(known[_LAYOUT].tables["lineitem"].path), args.threads).ways()
    sys.stdout.write(f"| seconds (CPU) | {' | '.join(ways)} |\n|---|{'---|' * len(ways)}\n")
    for shape in _SHAPES:
        try:
            least = _turns(ways, shape, args.rounds)
        except RuntimeError as error:
            sys.stderr.write(f"failed: {error}\n")
            return 1
        cells = [
            f"{least[name][0]:.3f} ({least[name][1]:.3f})" if name in least else "" for name in ways
        ]
        sys.stdout.write(f"| {shape.name} | {' | '.join(cells)} |\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

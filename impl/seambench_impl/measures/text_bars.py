"""How fast text is parsed: lineitem as a Hive table of text, beside pyarrow and DuckDB.

Usage: `python -m seambench_impl.measures.text_bars [--scale 0.1] [--turns 5] [--spark]`. All take
turns in one process with one thread; the least user time of each counts, and every sum is checked.
Spark, which reads through Hive's own classes, is a process of its own: its least wall time counts,
with one core, rows going nowhere.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

import seamkit

_COLUMNS = {
    "l_orderkey": "bigint",
    "l_partkey": "bigint",
    "l_suppkey": "bigint",
    "l_linenumber": "int",
    "l_quantity": "decimal(15,2)",
    "l_extendedprice": "decimal(15,2)",
    "l_discount": "decimal(15,2)",
    "l_tax": "decimal(15,2)",
    "l_returnflag": "string",
    "l_linestatus": "string",
    "l_shipdate": "date",
    "l_commitdate": "date",
    "l_receiptdate": "date",
    "l_shipinstruct": "string",
    "l_shipmode": "string",
    "l_comment": "string",
}
_FEW = ["l_orderkey", "l_extendedprice", "l_shipdate"]


def _by_seamkit(folder: Path, names: list[str]) -> pa.Table:
    table = seamkit.HiveTable(str(folder), columns=_COLUMNS, properties={"field.delim": "|"})
    return table.scan(names, threads=1).to_table()


def _by_pyarrow(folder: Path, names: list[str]) -> pa.Table:
    kinds = seamkit.HiveTable(str(folder), columns=_COLUMNS).schema
    return csv.read_csv(
        folder / "lineitem.tbl",
        csv.ReadOptions(column_names=list(_COLUMNS), use_threads=False),
        csv.ParseOptions(delimiter="|", quote_char=False),
        csv.ConvertOptions(column_types=kinds, include_columns=names),
    )


def _by_duckdb(folder: Path, names: list[str]) -> pa.Table:
    connection = duckdb.connect(config={"threads": 1})
    relation = connection.read_csv(
        str(folder / "lineitem.tbl"), sep="|", header=False, columns=_COLUMNS, quotechar=""
    )
    return relation.project(", ".join(names)).to_arrow_table()


_READERS: dict[str, Callable[[Path, list[str]], pa.Table]] = {
    "seamkit": _by_seamkit,
    "pyarrow.csv": _by_pyarrow,
    "duckdb read_csv": _by_duckdb,
}


def _by_spark(folder: Path, turns: int) -> Iterator[tuple[int, float, tuple[int, str, str]]]:
    """Number of columns, least seconds, and what was summed up, for all columns and a few."""
    from seambench.engines.spark import SparkOptions, spark_session
    from seambench.formats.hive import bundle

    columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
    sums = "count(*), sum(l_extendedprice), max(l_shipdate)"
    options = SparkOptions("local[1]", "1500m", bundle=bundle())
    with spark_session(options) as (session, _log):
        session.sql(
            f"CREATE EXTERNAL TABLE lineitem ({columns}) ROW FORMAT DELIMITED FIELDS TERMINATED BY "
            f"'|' LOCATION '{folder}'"
        )
        [found] = session.sql(f"SELECT {sums} FROM lineitem").collect()  # noqa: S608
        for names in (list(_COLUMNS), _FEW):
            times = []
            for _ in range(turns):
                begin = time.perf_counter()
                frame = session.sql(f"SELECT {', '.join(names)} FROM lineitem")  # noqa: S608
                frame.write.format("noop").mode("overwrite").save()
                times.append(time.perf_counter() - begin)
            yield len(names), min(times), (found[0], str(found[1]), str(found[2]))


def _write(folder: Path, scale: float) -> None:
    """Lineitem with a delimiter between its fields."""
    command = ["tpchgen-cli", "csv", "-s", str(scale), "--tables", "lineitem"]
    command += ["--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    [made] = folder.rglob("lineitem*.csv")
    whole = csv.read_csv(made)
    made.unlink()
    options = csv.WriteOptions(include_header=False, delimiter="|", quoting_style="none")
    csv.write_csv(whole, folder / "lineitem.tbl", options)


def main() -> None:
    """Measure, and print a line a reader."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--spark", action="store_true", help="also Hive's classes in Spark")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, asked.scale)
        size = (folder / "lineitem.tbl").stat().st_size
        every: set[tuple[int, str, str]] = set()
        for names in (list(_COLUMNS), _FEW):
            least: dict[str, float] = {}
            sums: set[tuple[int, str, str]] = set()
            for _ in range(asked.turns):
                for reader, read in _READERS.items():
                    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
                    found = read(folder, names)
                    took = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
                    least[reader] = min(took, least.get(reader, took))
                    price, day = found["l_extendedprice"], found["l_shipdate"]
                    sums.add((found.num_rows, str(pc.sum(price)), str(pc.max(day))))
            if len(sums) != 1:
                sys.exit(f"the readers differ: {sums}")
            for reader, took in least.items():
                _tell(len(names), reader, took, size)
            every |= sums
        for count, took, found in _by_spark(folder, asked.turns) if asked.spark else ():
            if {found} != every:
                sys.exit(f"Spark differs: {found}, {every}")
            _tell(count, "spark (wall)", took, size)


def _tell(columns: int, reader: str, seconds: float, size_bytes: int) -> None:
    speed = f"{seconds:6.3f} s  {size_bytes / seconds / 1e6:7.0f} MB/s"
    sys.stdout.write(f"{columns:2} columns  {reader:16} {speed}\n")


if __name__ == "__main__":
    main()

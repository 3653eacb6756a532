"""What deletion vectors cost: lineitem as a Delta table, 20 % of its rows deleted by vectors.

Usage: `python -m seambench_suites.bench.delta_vectors --work FOLDER [--scale 1] [--rounds 5]
[--reader auto --reader deltalake ...]`. Spark and Delta write the table once into the folder; then
each reader reads all columns in turns, with the vectors (the newest version) and, where it can go
back, the same files without (the version before). Every answer is checked: number of rows, and the
sum of the keys as DuckDB tells it from the generated rows.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow.compute as pc

from seambase.errors import SeambenchError
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.delta import bundle

__all__ = ["main"]

#: Which rows stay; Spark and DuckDB compute it alike.
_GONE = "(l_orderkey * 7 + l_linenumber * 13) % 5 = 0"
_FILES = 8


def _make(work: Path, scale: str) -> Path:
    """Write the table into `work`, unless it is there."""
    table, source = work / "lineitem-delta", work / "generated" / "lineitem.parquet"
    if not source.exists():
        generator = str(Path(sys.executable).with_name("tpchgen-cli"))
        command = [generator, "parquet", "-s", scale, "--tables=lineitem"]
        subprocess.run([*command, f"--output-dir={source.parent}"], check=True)
    if (table / "_delta_log" / f"{2:020}.json").exists():
        return table
    with spark_session(SparkOptions(bundle=bundle())) as (spark, _):
        name = f"delta.`{table}`"
        frame = spark.read.parquet(str(source)).repartition(_FILES)
        frame.limit(0).write.format("delta").option("delta.enableDeletionVectors", "true").save(
            str(table)
        )
        frame.write.format("delta").mode("append").save(str(table))
        spark.sql(f"DELETE FROM {name} WHERE {_GONE}")  # noqa: S608 - our own text
    return table


def _expected(source: Path, condition: str) -> tuple[int, int]:
    """Number of rows, and the sum of their keys, out of the generated file."""
    text = f"SELECT count(*), sum(l_orderkey)::BIGINT FROM '{source}' WHERE {condition}"  # noqa: S608
    [(rows, keys)] = duckdb.connect().execute(text).fetchall()
    return int(rows), int(keys)


def _read(reader: str, table: Path, version: int) -> tuple[float, tuple[int, int]]:
    """Seconds, and what was read: rows and the sum of their keys."""
    scanner = registry.resolve("scan", reader)
    begin = time.perf_counter()
    scan = scanner.open(ScanRequest(table=str(table), as_of=str(version)))
    rows, keys = 0, []
    for batch in scan.to_reader():
        rows += batch.num_rows
        keys.append(batch.column(0))
    seconds = time.perf_counter() - begin
    return seconds, (rows, sum(pc.sum(column).as_py() or 0 for column in keys))


def main() -> None:
    """Make the table and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reader", action="append")
    asked = parser.parse_args()
    table = _make(asked.work, asked.scale)
    source = asked.work / "generated" / "lineitem.parquet"
    wanted = {1: _expected(source, "true"), 2: _expected(source, f"NOT ({_GONE})")}
    samples: dict[tuple[str, int], list[float]] = {}
    for _ in range(asked.rounds):
        for reader in asked.reader or ["auto", "deltalake", "polars-delta", "daft-delta"]:
            for version in wanted:
                try:
                    seconds, found = _read(reader, table, version)
                except SeambenchError as error:
                    sys.stderr.write(f"{reader}, version {version}: {error}\n")
                    continue
                if found != wanted[version]:
                    sys.stderr.write(f"{reader}, version {version}: WRONG, {found}\n")
                    continue
                samples.setdefault((reader, version), []).append(seconds)
    for (reader, version), times in samples.items():
        what = "with vectors" if version > 1 else "without vectors"
        sys.stdout.write(
            f"{reader:14} {what:16} median {statistics.median(times):.3f} s, least "
            f"{min(times):.3f} s, {len(times)} reads\n"
        )


if __name__ == "__main__":
    main()

"""What deletes cost: lineitem as Iceberg tables, 20 % of its rows deleted in each of three ways.

Usage: `python -m seambench_suites.iceberg.bars --work FOLDER [--scale 1] [--rounds 5]
[--reader auto --reader pyiceberg ...] [--by cpu] [--json FILE]`. Spark and Iceberg write each table
once into the folder: position deletes (version 2), deletion vectors (version 3), and equality
deletes by the primary key, whose file pyarrow writes and Iceberg's Java API commits. Then each
reader reads all columns in turns, with the deletes and, for comparison, the same files without
(the snapshot before). Every answer is checked: number of rows, and the sum of the keys as DuckDB
tells it from the generated rows. The table shows the least of the times and of the CPU times, what
share of the native one each way takes, how many times as long another reader needs, and the memory
of a process that streams the table; a bar that is missed is exit code 1. On a busy machine CPU
times compare, on a quiet one `--by wall` is what users wait for.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import RefusedError, SeambenchError
from seambench.bench.memory import peak_of_own_process
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.iceberg import bundle
from seambench.formats.iceberg.java import load
from seambench.formats.iceberg.writer import table_name

__all__ = ["BARS", "Least", "main"]

#: Most that a way may take of the time without deletes.
BARS: Mapping[str, float] = {"positions": 1.2, "vectors": 1.2, "equality": 1.6}

#: How many times as long another reader must take at least.
_OTHERS_LEAST = 3.0

#: Which rows stay; Spark and DuckDB compute it alike.
_GONE = "(l_orderkey * 7 + l_linenumber * 13) % 5 = 0"
_KEYS = ("l_orderkey", "l_linenumber")
_FILES = 8


def _make(work: Path, scale: str) -> None:
    """Write the tables into `work`, unless they are there."""
    source = work / "generated" / "lineitem.parquet"
    if not source.exists():
        generator = str(Path(sys.executable).with_name("tpchgen-cli"))
        command = [generator, "parquet", "-s", scale, "--tables=lineitem"]
        subprocess.run([*command, f"--output-dir={source.parent}"], check=True)
    missing = [way for way in BARS if not (work / way / "done").exists()]
    if not missing:
        return
    with spark_session(SparkOptions(bundle=bundle())) as (spark, _):
        for way in missing:
            _write(spark, way, work / way / "lineitem", source)
            (work / way / "done").touch()


def _write(spark: Any, way: str, path: Path, source: Path) -> None:
    name = table_name(spark, path)
    frame = spark.read.parquet(str(source)).repartition(_FILES)
    writer = frame.writeTo(name).using("iceberg")
    writer = writer.tableProperty("format-version", "3" if way == "vectors" else "2")
    writer = writer.tableProperty("write.delete.mode", "merge-on-read")
    writer.tableProperty("write.distribution-mode", "none").create()
    if way == "equality":
        _delete_keys(spark, name, path, source)
    else:
        spark.sql(f"DELETE FROM {name} WHERE {_GONE}")  # noqa: S608 - our own text


def _delete_keys(spark: Any, name: str, path: Path, source: Path) -> None:
    """Commit an equality delete file that pyarrow wrote."""
    table = load(spark, name)
    fields = [table.schema().findField(key) for key in _KEYS]
    text = f"SELECT {', '.join(_KEYS)} FROM '{source}' WHERE {_GONE}"  # noqa: S608
    keys: pa.Table = duckdb.connect().execute(text).to_arrow_table()
    types = {"long": pa.int64(), "int": pa.int32()}
    schema = pa.schema(
        [
            pa.field(
                key,
                types[field.type().toString()],
                metadata={"PARQUET:field_id": str(field.fieldId())},
            )
            for key, field in zip(_KEYS, fields, strict=True)
        ]
    )
    file = path / "data" / "deletes.parquet"
    pq.write_table(keys.cast(schema), file)
    ids = spark.sparkContext._gateway.new_array(spark._jvm.int, len(fields))
    for i, field in enumerate(fields):
        ids[i] = field.fieldId()
    builder = spark._jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec())
    builder = builder.ofEqualityDeletes(ids).withPath(str(file)).withFormat("parquet")
    builder = builder.withFileSizeInBytes(file.stat().st_size).withRecordCount(keys.num_rows)
    table.newRowDelta().addDeletes(builder.build()).commit()


def _first_snapshot(table: Path) -> str:
    """The snapshot before the deletes."""
    metadata = json.loads((table / "metadata" / "v1.metadata.json").read_text(encoding="utf-8"))
    return str(metadata["current-snapshot-id"])


def _expected(source: Path, condition: str) -> tuple[int, int]:
    """Number of rows, and the sum of their keys, out of the generated file."""
    text = f"SELECT count(*), sum(l_orderkey)::BIGINT FROM '{source}' WHERE {condition}"  # noqa: S608
    [(rows, keys)] = duckdb.connect().execute(text).fetchall()
    return int(rows), int(keys)


@dataclass
class Least:
    """The least seconds that a reader took of several turns."""

    wall: float = math.inf
    cpu: float = math.inf

    def take(self, wall: float, cpu: float) -> None:
        """Another turn."""
        self.wall, self.cpu = min(self.wall, wall), min(self.cpu, cpu)

    def by(self, clock: str) -> float:
        """Of one clock, `wall` or `cpu`."""
        return self.wall if clock == "wall" else self.cpu


Found = dict[tuple[str, str, bool], Least]
"""By reader, way, and whether the deletes were applied."""


def _read(reader: str, table: Path, as_of: str | None) -> tuple[float, float, tuple[int, int]]:
    """Seconds and CPU seconds, and what was read: rows and the sum of their keys."""
    begin, cpu = time.perf_counter(), time.process_time()
    rows, keys = 0, 0
    for batch in _batches(reader, table, as_of):
        rows += batch.num_rows
        keys += pc.sum(batch.column(0)).as_py() or 0
    return time.perf_counter() - begin, time.process_time() - cpu, (rows, keys)


def _batches(reader: str, table: Path, as_of: str | None) -> pa.RecordBatchReader:
    """What a reader gives; pyiceberg is asked as its users ask it."""
    if reader != "pyiceberg":
        scanner = registry.resolve("scan", reader)
        return scanner.open(ScanRequest(table=str(table), as_of=as_of)).to_reader()
    from pyiceberg.table import StaticTable

    newest = max(table.glob("metadata/v*.json"), key=lambda file: int(file.name.split(".")[0][1:]))
    snapshot = None if as_of is None else int(as_of)
    try:
        found = StaticTable.from_metadata(str(newest)).scan(snapshot_id=snapshot)
        return found.to_arrow_batch_reader()
    except ValueError as error:
        raise RefusedError(f"pyiceberg: {error}") from error


def _peak_bytes(reader: str, table: Path) -> int:
    """The most memory that a process of its own took while it streamed a table."""
    command = [sys.executable, "-m", __spec__.name, "--stream", reader, "--work", str(table)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _stream(reader: str, table: Path) -> None:
    _read(reader, table, None)
    sys.stdout.write(f"{peak_of_own_process()}\n")


def _measure(work: Path, readers: list[str], rounds: int) -> Found:
    """The least times of right answers."""
    source = work / "generated" / "lineitem.parquet"
    wanted = {False: _expected(source, "true"), True: _expected(source, f"NOT ({_GONE})")}
    least: Found = {}
    for _ in range(rounds):
        for reader in readers:
            for way in BARS:
                table = work / way / "lineitem"
                for deleted, expected in wanted.items():
                    try:
                        as_of = None if deleted else _first_snapshot(table)
                        wall, cpu, found = _read(reader, table, as_of)
                    except SeambenchError as error:
                        sys.stderr.write(f"{reader}, {way}: {error}\n")
                        continue
                    if found != expected:
                        sys.stderr.write(f"{reader}, {way}, {deleted}: WRONG, {found}\n")
                        continue
                    least.setdefault((reader, way, deleted), Least()).take(wall, cpu)
    return least


def _lines(least: Found, clock: str) -> Iterator[tuple[dict[str, Any], bool]]:
    """What was found, a line each, and whether it is as it is meant to be."""
    for (reader, way, deleted), own in least.items():
        line: dict[str, Any] = {
            "reader": reader,
            "deletes": way if deleted else f"none ({way})",
            "wall": round(own.wall, 3),
            "cpu": round(own.cpu, 3),
        }
        meant = True
        native = least.get(("auto", way, False))
        if reader == "auto" and deleted and native:
            line["times native"] = round(own.by(clock) / native.by(clock), 2)
            line["meant"] = f"<= {BARS[way]}"
            meant = own.by(clock) <= BARS[way] * native.by(clock)
        ours = least.get(("auto", way, deleted))
        if reader != "auto" and ours:
            line["times auto"] = round(own.by(clock) / ours.by(clock), 2)
            if deleted:
                line["meant"] = f">= {_OTHERS_LEAST:g}"
                meant = own.by(clock) >= _OTHERS_LEAST * ours.by(clock)
        yield line, meant


def _show(lines: Sequence[Mapping[str, Any]]) -> None:
    names = ["reader", "deletes", "wall", "cpu", "times native", "times auto", "meant"]
    for line in ({name: name for name in names}, *lines):
        cells = [f"{line.get(name, '')!s:{max(10, len(name) + 1)}}" for name in names]
        sys.stdout.write(" ".join(cells).rstrip() + "\n")


def main() -> None:
    """Make the tables and measure; exit code 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reader", action="append")
    parser.add_argument("--by", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--stream", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stream:
        _stream(asked.stream, asked.work)
        return
    _make(asked.work, asked.scale)
    least = _measure(asked.work, asked.reader or ["auto", "pyiceberg"], asked.rounds)
    found = list(_lines(least, asked.by))
    _show([line for line, _ in found])
    peaks = {way: _peak_bytes("auto", asked.work / way / "lineitem") >> 20 for way in BARS}
    for way, peak in peaks.items():
        sys.stdout.write(f"{way}: streamed by auto in a process of {peak} MiB\n")
    if asked.json:
        content = {"by": asked.by, "scale": asked.scale, "rows": [one for one, _ in found]}
        asked.json.write_text(
            json.dumps({**content, "peak_mib": peaks}, indent=1), encoding="utf-8"
        )
    if not all(meant for _, meant in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()

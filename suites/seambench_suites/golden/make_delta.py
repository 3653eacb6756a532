"""Build the golden Delta tables: Spark and Delta carry out the steps of each `delta/*/table.toml`.

Usage: `python make_delta.py [NAME ...]`; without names, every table whose declaration has changed
since it was written.

The bytes are Delta's own; only Hadoop's checksum side files are left out. `origin.toml` tells the
writer, the version and the time of each step, and the digests. `witness.json` holds what Spark
itself reads after each step, the second witness beside the rows that cases declare.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seambench.conformance.plain import canonical
from seambench.engines.spark import find_java
from seambench.formats.delta import bundle
from seambench.formats.delta.golden import TableSpec, load_table
from seambench.formats.golden import load_origin

__all__ = ["main"]

GOLDEN = Path(__file__).parent / "delta"
BUNDLE = bundle()
#: Tables are made where no path tells of a machine.
WORK = Path(tempfile.gettempdir()) / "golden-delta"
#: Of larger tables the witness keeps the number of rows alone.
_WITNESSED_ROWS = 100
_SETTINGS = {
    "spark.jars.packages": ",".join(BUNDLE.packages),
    **BUNDLE.settings,
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1",
    "spark.driver.memory": "1500m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.vacuum.parallelDelete.enabled": "false",
}


def _session() -> Any:
    """A local Spark session with Delta; times are UTC."""
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    builder = SparkSession.builder.master("local[1]")
    warehouse = WORK / "warehouse"
    for key, value in {**_SETTINGS, "spark.sql.warehouse.dir": str(warehouse)}.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


def _write(spark: Any, spec: TableSpec, table: Path) -> tuple[list[int], list[Any]]:
    """Carry out every step; the version after each, and what Spark reads then."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in spec.settings.items():
        spark.conf.set(name, value)
        hadoop.set(name, value)  # the Parquet writer's own settings
    versions, witness = [], []
    try:
        for step in spec.steps:
            spark.sql(step.replace("{path}", str(table)))
            listed = (table / "_delta_log").glob("*.json")
            versions.append(max(int(file.stem) for file in listed if file.stem.isdigit()))
            witness.append(_read(spark, table))
    finally:
        spark.sql("DROP TABLE IF EXISTS golden")
        for name in spec.settings:
            spark.conf.unset(name)
            hadoop.unset(name)
    return versions, witness


def _read(spark: Any, table: Path) -> Any:
    """The rows as Spark reads them, in the words of cases; of a large table their number."""
    frame = spark.read.format("delta").load(str(table))
    names, count = frame.columns, frame.count()
    if count > _WITNESSED_ROWS:
        return {"columns": names, "count": count}
    rows = [[canonical(_plain(value)) for value in row] for row in frame.collect()]
    return {"columns": names, "rows": sorted(rows)}


def _plain(value: Any) -> Any:
    """A value of Spark's as cases have it: structs are mappings, entries of maps pairs."""
    if hasattr(value, "asDict"):
        return {key: _plain(own) for key, own in value.asDict().items()}
    if isinstance(value, dict):
        return [(key, _plain(own)) for key, own in value.items()]
    if isinstance(value, list):
        return [_plain(own) for own in value]
    return bytes(value) if isinstance(value, bytearray) else value


def _pack(table: Path, archive: Path) -> None:
    """Write a table's folder as a zip, entries sorted and dated alike."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(table.rglob("*")):
            name = file.relative_to(table).as_posix()
            if file.name.startswith(".") and file.suffix == ".crc":
                continue
            info = zipfile.ZipInfo(name + ("/" if file.is_dir() else ""), (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, b"" if file.is_dir() else file.read_bytes())


def _times(table: Path, versions: Sequence[int]) -> list[str]:
    """When the commit of each step was made, as its commitInfo says."""
    times = []
    for version in versions:
        lines = (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
        [info] = [json.loads(line)["commitInfo"] for line in lines if '"commitInfo"' in line]
        at = info.get("inCommitTimestamp", info["timestamp"])
        moment = dt.datetime.fromtimestamp(at // 1000, dt.UTC) + dt.timedelta(
            milliseconds=at % 1000
        )
        times.append(moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
    return times


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_fresh(folder: Path) -> bool:
    """Whether a table is there and was made from its declaration as it now is."""
    if not (folder / "table.zip").exists():
        return False
    return load_origin(folder).spec == _digest(folder / "table.toml")


def _build(spark: Any, folder: Path) -> None:
    """Write one golden table, its origin and its witness into `folder`."""
    spec = load_table(folder)
    table = WORK / folder.name
    shutil.rmtree(table, ignore_errors=True)
    versions, witness = _write(spark, spec, table)
    archive = folder / "table.zip"
    _pack(table, archive)
    listed = [
        "# Written by make_delta.py.",
        f'writer = "Spark {spark.version}, {BUNDLE.packages[0]}"',
        f"made = {dt.date.today().isoformat()}",
        f"instants = {json.dumps([str(version) for version in versions])}",
        f"completions = {json.dumps(_times(table, versions))}",
        f'sha256 = "{_digest(archive)}"',
        f'spec = "{_digest(folder / "table.toml")}"',
    ]
    (folder / "origin.toml").write_text("\n".join(listed) + "\n", encoding="utf-8")
    lines = ",\n".join(json.dumps(step, ensure_ascii=False) for step in witness)
    (folder / "witness.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    shutil.rmtree(table)


def main() -> None:
    """Build the tables named on the command line, or all that are not fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args().names
    folders = [file.parent for file in sorted(GOLDEN.glob("*/table.toml"))]
    chosen = [f for f in folders if (f.name in asked if asked else not _is_fresh(f))]
    spark, failed = _session(), []
    for folder in chosen:
        sys.stderr.write(f"{folder.name} ...\n")
        try:
            _build(spark, folder)
        except Exception as error:  # one that cannot be made should not keep others from it
            failed.append(folder.name)
            sys.stderr.write(f"{folder.name} FAILED: {type(error).__name__}: {str(error)[:2000]}\n")
    spark.stop()
    if failed:
        raise SystemExit(f"not made: {', '.join(failed)}")


if __name__ == "__main__":
    main()

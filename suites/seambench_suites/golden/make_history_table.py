"""Build `hudi-small`, the table behind the benchmarks by commit: Spark and Hudi write its bytes.

Usage: `python make_history_table.py`. Needs the extra `spark` and, once, a network for the jars.

40,000 rows in two file slices; every value is a function of the row's number `k`, so that the
benchmarks can tell right from wrong without another reader:

* base: keys `k` = 0 .. 39,999; `amount` = (k * 7919 mod 100,000) / 100, `ts` = 1000;
* one upsert of the rows with k mod 5 = 0: `amount` + 1, `note` in capitals, `ts` = 2000;
* one delete of the rows with k mod 100 = 1, `ts` = 3000.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["build"]

BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
ROWS = 40_000
TARGET = Path(__file__).parent / "hudi-small"
_KEYGENERATOR = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
_OPTIONS = {
    "hoodie.table.name": "small",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "k",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": _KEYGENERATOR,
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.write.table.version": "9",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.hash.field": "k",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.metadata.enable": "false",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "direct",
    "hoodie.parquet.compression.codec": "zstd",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
}


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.jars.packages": BUNDLE,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1500m",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": tempfile.gettempdir() + "/small-warehouse",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _write(session: Any, table: Path) -> None:
    base = session.range(ROWS).selectExpr(
        "id as k",
        "cast((id * 7919) % 100000 / 100 as decimal(15, 2)) as amount",
        "cast(id as double) / 8 as ratio",
        "cast(id % 1000 as int) as grade",
        "date_add(date'1992-01-01', cast(id % 2500 as int)) as day",
        "concat('note of row ', cast(id as string)) as note",
        "cast(1000 as bigint) as ts",
    )
    updates = base.where("k % 5 = 0").selectExpr(
        "k",
        "cast(amount + 1 as decimal(15, 2)) as amount",
        "ratio",
        "grade",
        "day",
        "upper(note) as note",
        "cast(2000 as bigint) as ts",
    )
    deletes = base.where("k % 100 = 1").selectExpr(
        "k", "amount", "ratio", "grade", "day", "note", "cast(3000 as bigint) as ts"
    )
    operations = (
        ("bulk_insert", "overwrite", base),
        ("upsert", "append", updates),
        ("delete", "append", deletes),
    )
    for operation, mode, rows in operations:
        options = _OPTIONS | {"hoodie.datasource.write.operation": operation}
        rows.write.format("hudi").options(**options).mode(mode).save(str(table))


def build() -> Path:
    """Write the table anew and pack it; return the archive's path."""
    session = _session()
    try:
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table"
            _write(session, table)
            TARGET.mkdir(exist_ok=True)
            archive = TARGET / "table.zip"
            _pack(table, archive)
    finally:
        session.stop()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    (TARGET / "origin.toml").write_text(
        "# Written by make_history_table.py.\n"
        f'writer = "Spark 3.5.9, {BUNDLE}"\n'
        f"made = {datetime.now(UTC).date()}\n"
        f'sha256 = "{digest}"\n'
    )
    return archive


def _pack(table: Path, archive: Path) -> None:
    """Pack files and empty folders; Hadoop's checksum side files and temporary folders stay out."""
    partial = archive.with_name(".table.zip.partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(table.rglob("*")):
            name = path.relative_to(table).as_posix()
            if not path.name.endswith(".crc") and ".hoodie/.temp" not in name:
                out.write(path, name)
    partial.replace(archive)


if __name__ == "__main__":
    print(build())  # noqa: T201 - the one thing this script has to say

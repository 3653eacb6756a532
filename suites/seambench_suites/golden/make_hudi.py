"""Build the golden Hudi tables: Spark and Hudi write what each `hudi/*/table.toml` tells.

Usage: `python make_hudi.py [NAME ...]`; without names, every table. Needs the extra `spark` and,
once, a network for the jars. The bytes are Hudi's own; only left-over temporary folders and, unless
`side_files` is set, Hadoop's checksum side files are left out. Instants, writer versions and a
digest go into `origin.toml` beside the archive, so that cases can name commits by their number.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from seambench.golden import TableSpec, WriteSpec, load_table

__all__ = ["build", "main"]

BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
FOLDER = Path(__file__).parent / "hudi"
_MERGE_MODES = {"event-time": "EVENT_TIME_ORDERING", "commit-time": "COMMIT_TIME_ORDERING"}
_PAYLOADS = {
    "event-time": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "commit-time": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}


def _session() -> Any:
    """A local Spark session with Hudi's bundle; times are UTC."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    settings = {
        "spark.jars.packages": BUNDLE,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.driver.memory": "1500m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": tempfile.gettempdir() + "/golden-warehouse",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _options(spec: TableSpec, write: WriteSpec) -> dict[str, str]:
    """Hudi's write options for one write of a table."""
    mor = spec.table_type == "merge-on-read"
    kind = "Complex" if spec.partition else "Nonpartitioned"
    generator = f"org.apache.hudi.keygen.{kind}KeyGenerator"
    options = {
        "hoodie.table.name": "golden",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if mor else "COPY_ON_WRITE",
        "hoodie.datasource.write.operation": write.operation,
        "hoodie.datasource.write.recordkey.field": ",".join(spec.keys),
        "hoodie.datasource.write.partitionpath.field": spec.partition or "",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.keygenerator.class": generator,
        "hoodie.write.table.version": str(spec.table_version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "direct",
        "hoodie.parquet.compression.codec": "zstd",
        # The smallest Bloom filter: it is nearly all of a small base file.
        "hoodie.bloom.index.filter.type": "SIMPLE",
        "hoodie.index.bloom.num_entries": "10",
        "hoodie.bulkinsert.shuffle.parallelism": "1",
        "hoodie.upsert.shuffle.parallelism": "1",
        "hoodie.delete.shuffle.parallelism": "1",
        "hoodie.compact.inline": "true" if write.compaction == "run" else "false",
        "hoodie.compact.schedule.inline": "true" if write.compaction == "schedule" else "false",
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.logfile.data.block.format": spec.log_blocks,
    }
    if spec.ordering:
        options["hoodie.datasource.write.precombine.field"] = spec.ordering
        options["hoodie.table.ordering.fields"] = spec.ordering
    if spec.index == "bucket":
        options["hoodie.index.type"] = "BUCKET"
        options["hoodie.bucket.index.num.buckets"] = str(spec.buckets)
        options["hoodie.bucket.index.hash.field"] = ",".join(spec.keys)
    elif spec.index == "consistent":
        # The one bucket engine that sends inserts into logs, so that a group starts without a base.
        options["hoodie.index.type"] = "BUCKET"
        options["hoodie.index.bucket.engine"] = "CONSISTENT_HASHING"
        options["hoodie.bucket.index.num.buckets"] = str(spec.buckets)
        options["hoodie.bucket.index.min.num.buckets"] = "1"
        options["hoodie.bucket.index.hash.field"] = ",".join(spec.keys)
    else:
        options["hoodie.index.type"] = spec.index.upper()
    options["hoodie.record.merge.mode"] = _MERGE_MODES[spec.merge]
    if spec.table_version < 9:
        options["hoodie.datasource.write.payload.class"] = _PAYLOADS[spec.merge]
    return options | dict(write.options)


def _frame(session: Any, spec: TableSpec, write: WriteSpec) -> Any:
    """The rows of one write as a Spark data frame with the declared types."""
    from seambench.plain import typed

    columns = {c: t for c, t in spec.columns.items() if c not in write.without}
    columns |= dict(write.retype)
    rows = [
        tuple(typed(row.get(name), type_) for name, type_ in columns.items()) for row in write.rows
    ]
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in columns.items())
    return session.createDataFrame(rows, schema).coalesce(1)


def _completed(table: Path) -> list[str]:
    """Requested instants of the completed commits of a table, in order."""
    timeline = table / ".hoodie" / "timeline"
    folder = timeline if timeline.is_dir() else table / ".hoodie"
    actions = (".commit", ".deltacommit", ".replacecommit")
    names = [f.name for f in folder.iterdir() if f.suffix in actions and f.name[0].isdigit()]
    return sorted(name.split(".")[0].split("_")[0] for name in names)


def _pack(table: Path, archive: Path, *, side_files: bool) -> None:
    """Write a table's folder as a zip, entries sorted and dated alike."""
    here = str(table)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(table.rglob("*")):
            name = file.relative_to(table).as_posix()
            if file.suffix == ".crc" and not side_files:
                continue
            info = zipfile.ZipInfo(name + ("/" if file.is_dir() else ""), (2020, 1, 1, 0, 0, 0))
            data = b"" if file.is_dir() else file.read_bytes()
            if here.encode() in data:
                raise SystemExit(f"{name} tells where it was made ({here})")
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, data)


def build(session: Any, folder: Path) -> None:
    """Write one golden table and its origin into `folder`."""
    spec = load_table(folder)
    with tempfile.TemporaryDirectory(prefix="golden-") as work:
        table, commits = Path(work) / "table", []
        for number, write in enumerate(spec.writes):
            before = set(_completed(table)) if number else set()
            frame = _frame(session, spec, write)
            writer = frame.write.format("hudi").options(**_options(spec, write))
            writer.mode("append" if number else "overwrite").save(str(table))
            fresh = [i for i in _completed(table) if i not in before]
            commits.append(fresh[0])
        shutil.rmtree(table / ".hoodie" / ".temp", ignore_errors=True)
        _check_version(table, spec)
        archive = folder / "table.zip"
        _pack(table, archive.with_suffix(".tmp"), side_files=spec.side_files)
        archive.with_suffix(".tmp").replace(archive)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    listed = ", ".join(f'"{commit}"' for commit in commits)
    (folder / "origin.toml").write_text(
        f'# Written by make_hudi.py.\nwriter = "Spark {session.version}, {BUNDLE}"\n'
        f"made = {dt.date.today().isoformat()}\n"
        f'instants = [{listed}]\nsha256 = "{digest}"\n',
        encoding="utf-8",
    )


def _check_version(table: Path, spec: TableSpec) -> None:
    """Stop if Hudi wrote another table version than asked for."""
    text = (table / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8")
    if f"hoodie.table.version={spec.table_version}\n" not in text:
        raise SystemExit(f"{spec.name}: Hudi did not write table version {spec.table_version}")


def main() -> None:
    """Build the tables named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names
    folders = sorted(file.parent for file in FOLDER.glob("*/table.toml"))
    session = _session()
    for folder in folders:
        if not names or folder.name in names:
            sys.stderr.write(f"{folder.name} ...\n")
            build(session, folder)
    session.stop()


if __name__ == "__main__":
    main()

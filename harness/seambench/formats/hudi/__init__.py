"""What the harness knows of Hudi: its writer, golden tables, damage and buckets."""

from __future__ import annotations

from pathlib import Path

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import SparkBundle
from seambench.formats.hudi import damage, golden, layouts, writer

__all__ = ["FORMAT", "bundle"]

_META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


def bundle(version: str | None = None) -> SparkBundle:
    """What Spark needs for Hudi tables; 1.2.0 unless another version is named."""
    return SparkBundle(
        title="Hudi",
        packages=(f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{version or '1.2.0'}",),
        settings={
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        },
        probe="org.apache.hudi.DefaultSource",
    )


def _is_meta(column: str) -> bool:
    return column.startswith("_hoodie_")


def _recognises(path: Path) -> bool:
    if not path.is_file():
        return (path / ".hoodie").is_dir()
    with path.open("rb") as log:
        return log.read(len(damage.MAGIC)) == damage.MAGIC


FORMAT = TableFormat(
    name="hudi",
    title="Hudi",
    meta_columns=_META_COLUMNS,
    is_meta=_is_meta,
    recognises=_recognises,
    bundle=bundle,
    golden=golden,
    damage=damage,
    layouts=layouts,
    writer=writer,
    peers={"hudi": "hudi-rs"},
)

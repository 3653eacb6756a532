"""What the harness knows of Hudi: its writer, golden tables, damage and buckets."""

from __future__ import annotations

from pathlib import Path

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import SparkBundle
from seambench.formats.hudi import damage, golden, layouts, writer

_META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
_HIDDEN = frozenset((*_META_COLUMNS, "_hoodie_operation"))
#: Other formats may have some of these words too, with the same meaning.
_CAPABILITIES = {
    **{f"table-version.{n}": f"tables of version {n}" for n in (5, 6, 8, 9)},
    "merge.commit-time": "the later write wins",
    "merge.event-time": "the greater ordering value wins",
    "merge.payloads": "payload classes named by the table",
    "blocks.avro": "log blocks of Avro records",
    "blocks.parquet": "log blocks that are Parquet files",
    "blocks.delete": "log blocks of deleted keys",
    "base-files.orc": "base files in ORC",
    "files.taken-up": "files that Hudi did not write",
    "delete-marker": "a column of the user's own that marks deletes",
    "partial-updates": "log blocks that hold some of the columns",
    "partitions.dropped": "partitions that were dropped",
    "replace-commit": "commits that replace file groups",
    "schema-on-read": "a history of schemas kept by the table",
    "several-orderings": "ordering by several columns",
    "virtual-keys": "tables without meta columns",
}


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


def _recognises(path: Path) -> bool:
    if not path.is_file():
        return (path / ".hoodie").is_dir()
    with path.open("rb") as log:
        return log.read(len(damage.MAGIC)) == damage.MAGIC


FORMAT = TableFormat(
    name="hudi",
    title="Hudi",
    meta_columns=_META_COLUMNS,
    is_meta=lambda column: column in _HIDDEN,
    recognises=_recognises,
    bundle=bundle,
    golden=golden,
    damage=damage,
    layouts=layouts,
    writer=writer,
    capabilities=_CAPABILITIES,
    forms="seambench.formats.hudi.forms:forms",
    lint="seambench.formats.hudi.lint:lint",
    first_words=(
        "table-version.9",
        "query.read-optimized",
        "merge.event-time",
        "merge.commit-time",
        "blocks.avro",
        "blocks.delete",
    ),
    first_cases="event-v9/*",
)

"""What the harness knows of Iceberg: its writer, layouts, golden tables and damage."""

from __future__ import annotations

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import SparkBundle
from seambench.formats.iceberg import writer
from seambench.formats.iceberg.golden import DAMAGE, GOLDEN
from seambench.formats.iceberg.writer import LAYOUTS

_META_COLUMNS = ("_row_id", "_last_updated_sequence_number")
_CAPABILITIES = {
    "iceberg.v1": "tables of format version 1",
    "iceberg.v2": "tables of format version 2",
    "iceberg.v3": "tables of format version 3",
    "iceberg.position-deletes": "position deletes",
    "iceberg.vectors": "deletion vectors",
    "iceberg.equality-deletes": "equality deletes",
    "iceberg.name-mapping": "data files without field ids, by the table's name mapping",
    "iceberg.defaults": "initial defaults of columns",
    "iceberg.orc": "data and delete files in ORC",
    "iceberg.avro": "data and delete files in Avro",
}


def bundle(version: str | None = None) -> SparkBundle:
    """What Spark needs for Iceberg tables; 1.10.0 unless another version is named."""
    return SparkBundle(
        title="Iceberg",
        packages=(f"org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:{version or '1.10.0'}",),
        settings={
            "spark.sql.extensions": (
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ),
        },
        probe="org.apache.iceberg.spark.SparkCatalog",
    )


FORMAT = TableFormat(
    name="iceberg",
    title="Iceberg",
    is_meta=lambda column: column in _META_COLUMNS,
    recognises=lambda folder: any((folder / "metadata").glob("*.metadata.json")),
    bundle=bundle,
    golden=GOLDEN,
    damage=DAMAGE,
    layouts=LAYOUTS,
    writer=writer,
    home=writer.location,
    capabilities=_CAPABILITIES,
    forms="seambench.formats.iceberg.forms:forms",
    lint="seambench.formats.iceberg.lint:lint",
    first_words=("iceberg.v2",),
    first_cases="writers/*",
)

"""What the harness knows of Delta: its writer, layouts, golden tables and damage."""

from __future__ import annotations

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import SparkBundle
from seambench.formats.delta import writer
from seambench.formats.delta.golden import DAMAGE, GOLDEN
from seambench.formats.delta.writer import LAYOUTS

_CAPABILITIES = {
    "delta.checkpoint.v2": "checkpoints of the second kind, with sidecars",
    "delta.mapping.id": "columns found by the field ids of data files",
    "delta.mapping.name": "columns found by their physical names",
    "delta.row-tracking": "ids of rows, and the versions that wrote them",
    "delta.timestamp-ntz": "timestamps without a zone",
    "delta.variant": "values of any shape, as their metadata and value",
    "delta.vectors": "deletion vectors",
    "delta.widening": "columns whose type was widened",
}


def bundle(version: str | None = None) -> SparkBundle:
    """What Spark needs for Delta tables; 3.3.2 unless another version is named.

    Delta 4 is for Spark 4, which has Scala 2.13.
    """
    version = version or "3.3.2"
    scala = "2.12" if version.startswith("3.") else "2.13"
    return SparkBundle(
        title="Delta",
        packages=(f"io.delta:delta-spark_{scala}:{version}",),
        settings={
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        },
        probe="io.delta.sql.DeltaSparkSessionExtension",
    )


FORMAT = TableFormat(
    name="delta",
    title="Delta",
    recognises=lambda folder: (folder / "_delta_log").is_dir(),
    bundle=bundle,
    golden=GOLDEN,
    damage=DAMAGE,
    layouts=LAYOUTS,
    writer=writer,
    capabilities=_CAPABILITIES,
    asked=frozenset({"delta.row-tracking"}),
    forms="seambench.formats.delta.forms:forms",
    lint="seambench.formats.delta.lint:lint",
    first_cases="checkpoints/*",
)

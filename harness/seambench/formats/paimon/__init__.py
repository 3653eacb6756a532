"""What the harness knows of Paimon: its writer, layouts, golden tables and damage."""

from __future__ import annotations

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import SparkBundle
from seambench.formats.paimon import writer
from seambench.formats.paimon.golden import DAMAGE, GOLDEN
from seambench.formats.paimon.writer import LAYOUTS

_META_COLUMNS = ("_SEQUENCE_NUMBER", "_VALUE_KIND")
_CAPABILITIES = {
    "paimon.vectors": "deletion vectors",
    "paimon.evolution": "columns renamed, dropped, added and widened, by field id",
    "paimon.after-0.9": "options and forms of tables that came after Paimon 0.9",
    "paimon.before-0.9": "tables that Paimon 0.6, 0.7 and 0.8 wrote",
    "paimon.avro": "data files in Avro",
    "paimon.manifests-orc": "manifests in ORC, and in Parquet",
    "paimon.orc": "data files in ORC",
    "paimon.sets": "fields that are sets in bytes, bitmaps and sketches, and united",
    "paimon.tags": "a tag as the version to read",
    "merge.deduplicate": "the last row of a key counts",
    "merge.partial-update": "rows of a key fill each other's gaps",
    "merge.aggregation": "fields of a key's rows are aggregated",
    "merge.first-row": "the first row of a key counts",
}


def bundle(version: str | None = None) -> SparkBundle:
    """What Spark needs for Paimon tables; the connector 0.9.0 unless another version is named.

    A version `core-1.4.2` is that of Paimon's Java core alone, of which Spark knows nothing.
    """
    if version is not None and version.startswith("core-"):
        return SparkBundle(
            title="Paimon",
            packages=(f"org.apache.paimon:paimon-bundle:{version.removeprefix('core-')}",),
            settings={},
            probe="org.apache.paimon.table.FileStoreTableFactory",
        )
    return SparkBundle(
        title="Paimon",
        packages=(f"org.apache.paimon:paimon-spark-3.5:{version or '0.9.0'}",),
        settings={
            "spark.sql.extensions": (
                "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
            ),
        },
        probe="org.apache.paimon.spark.SparkCatalog",
    )


def _is_meta(column: str) -> bool:
    """Whether it is one of the columns that Paimon keeps in its data files."""
    return column in _META_COLUMNS or column.startswith("_KEY_")


FORMAT = TableFormat(
    name="paimon",
    title="Paimon",
    is_meta=_is_meta,
    recognises=lambda folder: (folder / "schema" / "schema-0").is_file(),
    bundle=bundle,
    golden=GOLDEN,
    damage=DAMAGE,
    layouts=LAYOUTS,
    writer=writer,
    capabilities=_CAPABILITIES,
    asked=frozenset({"paimon.tags"}),
    forms="seambench.formats.paimon.forms:forms",
    lint="seambench.formats.paimon.lint:lint",
    first_words=("merge.deduplicate",),
    first_cases="deduplicate/*",
)

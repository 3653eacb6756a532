"""What the harness knows of Hive's tables: their writer, golden tables and damage."""

from __future__ import annotations

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import SparkBundle
from seambench.formats.hive import writer
from seambench.formats.hive.golden import DAMAGE, DESCRIPTOR, GOLDEN

_CAPABILITIES = {
    "hive.text": "rows as lines of delimited text (LazySimpleSerDe)",
    "hive.csv": "rows as lines of CSV, all columns texts (OpenCSVSerde)",
    "hive.json": "rows as lines of JSON (JsonSerDe)",
    "hive.sequence": "lines of text as values of a sequence file",
    "hive.parquet": "folders of Parquet files",
    "hive.orc": "folders of ORC files",
    "hive.avro": "folders of Avro files",
    "hive.old-days": "days before 1582-10-15 in Parquet and Avro without a word of the calendar",
    "hive.writer-zone": "times of Parquet and Avro by the zone that Hive names in the file",
}


#: Groups of jars that the serde asks for and Spark has.
_WITH_SPARK = (
    "org.apache.hive",
    "org.apache.hadoop",
    "org.apache.zookeeper",
    "org.codehaus.jackson",
    "com.google.guava",
    "commons-logging",
    "junit",
    "org.slf4j",
)


def bundle(version: str | None = None) -> SparkBundle:
    """What Spark needs for Hive's tables: its own Hive classes, and a catalog in memory."""
    del version
    return SparkBundle(
        title="Hive",
        # The serde of rows in JSON; all other classes come with Spark.
        packages=("org.apache.hive.hcatalog:hive-hcatalog-core:2.3.9",),
        settings={
            "spark.jars.excludes": ",".join(f"{group}:*" for group in _WITH_SPARK),
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.javax.jdo.option.ConnectionURL": (
                "jdbc:derby:memory:seambench;create=true"
            ),
            "spark.hadoop.hive.metastore.schema.verification": "false",
            "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
            "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
            # Hive's own classes read and write, not Spark's in their place.
            "spark.sql.hive.convertMetastoreParquet": "false",
            "spark.sql.hive.convertMetastoreOrc": "false",
        },
        probe="org.apache.spark.sql.hive.HiveSessionStateBuilder",
    )


FORMAT = TableFormat(
    name="hive",
    title="Hive",
    recognises=lambda folder: (folder / DESCRIPTOR).is_file(),
    bundle=bundle,
    golden=GOLDEN,
    damage=DAMAGE,
    layouts=None,
    writer=writer,
    capabilities=_CAPABILITIES,
    forms="seambench.formats.hive.forms:forms",
    lint="seambench.formats.hive.lint:lint",
    first_words=("hive.parquet",),
    first_cases="writers/*",
)

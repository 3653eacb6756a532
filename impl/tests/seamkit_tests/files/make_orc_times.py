"""Write golden/orc-times-*.orc, each in the zone of a JVM, and what Java's reader shows: run this.

Java's clocks are what is tried: around 1970 on both sides of UTC, and around 1900, where Java's
zones begin.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"
ZONES = {"east": "Asia/Shanghai", "west": "America/Los_Angeles", "middle": "Europe/Paris"}
TIMES = (
    *("1700-02-28 23:59:59.999999", "1880-01-01 00:00:00", "1883-12-01 12:00:00.5"),
    *("1899-12-31 15:59:59.999", "1899-12-31 16:00:00", "1899-12-31 23:59:59.75"),
    *("1900-01-01 00:00:00", "1900-01-01 07:59:59.5", "1900-01-01 08:06:00", "1900-06-01 00:00:00"),
    *("1901-01-02 00:00:00.25", "1940-06-15 12:00:00", "1969-12-31 15:59:59.25"),
    *("1969-12-31 16:00:00", "1969-12-31 16:00:00.25", "1969-12-31 23:59:58.5"),
    *("1969-12-31 23:59:59.0005", "1970-01-01 00:00:00", "1970-01-01 00:00:00.25"),
    *("1970-01-01 07:59:58.75", "1970-01-01 08:00:00.5", "2020-07-01 12:00:00.123456"),
)


def write(name: str) -> None:
    """One file, by Spark in a JVM whose zone is stated."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"-Duser.timezone={ZONES[name]}")
        .config("spark.sql.session.timeZone", ZONES[name])
        .config("spark.sql.orc.compression.codec", "uncompressed")
        .getOrCreate()
    )
    texts = spark.createDataFrame([*enumerate(TIMES)], "k int, t string")
    rows = texts.selectExpr("k", "CAST(t AS TIMESTAMP) AS t").selectExpr("*", "array(t, NULL) AS a")
    file = GOLDEN / f"orc-times-{name}.orc"
    with tempfile.TemporaryDirectory() as folder:
        rows.union(spark.sql("SELECT -1, NULL, NULL")).coalesce(1).write.orc(f"{folder}/t")
        [part] = Path(folder, "t").glob("*.orc")
        file.write_bytes(part.read_bytes())
    spark.conf.set("spark.sql.orc.impl", "hive")
    shown = spark.read.orc(str(file)).selectExpr("k", "CAST(t AS STRING)").collect()
    file.with_suffix(".json").write_text(json.dumps(dict(map(tuple, shown))) + "\n")
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write(sys.argv[1])
    else:
        for one in ZONES:
            subprocess.run([sys.executable, __file__, one], check=True)

"""Write golden/page-index-spark.parquet, and what Spark itself reads of it: run this file."""

import json
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

GOLDEN = Path(__file__).parents[1] / "golden" / "page-index-spark.parquet"
FILTERS = (
    "id = 777",
    "id IN (3, 1500, 2999)",
    "s >= 's2990' AND id > 0",
    "d = 12.34",
    "t < TIMESTAMP '2024-01-01 00:00:30'",
    "b IS NULL AND id BETWEEN 980 AND 1010",
    "day > DATE '2030-03-10' OR id = 5",
    "b AND day > DATE '2022-07-01'",
)


def main() -> None:
    """Pages of at most 100 rows, bounds cut at 8 bytes."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.hadoop.parquet.page.row.count.limit", "100")
        .config("spark.hadoop.parquet.columnindex.truncate.length", "8")
        .getOrCreate()
    )
    rows = spark.range(0, 3000, 1, 1).selectExpr(
        "id",
        "concat('s', lpad(id, 4, '0'), ' ', repeat('long ', 8)) AS s",
        "CAST(id / 100 AS DECIMAL(20, 2)) AS d",
        "timestamp_seconds(1704067200 + id) AS t",
        "CASE WHEN id BETWEEN 800 AND 1000 OR id % 7 = 0 THEN NULL ELSE id < 200 END AS b",
        "date_add(DATE '2022-01-01', CAST(id AS INT)) AS day",
        "CAST(CASE WHEN id % 5 > 0 THEN id % 13 END AS DOUBLE) AS f",
    )
    with tempfile.TemporaryDirectory() as folder:
        rows.write.parquet(f"{folder}/t")
        [part] = Path(folder, "t").glob("*.parquet")
        GOLDEN.write_bytes(part.read_bytes())
        table = spark.read.parquet(str(GOLDEN))
        found = {
            text: [list(map(str, row)) for row in table.where(text).orderBy("id").collect()]
            for text in FILTERS
        }
    GOLDEN.with_suffix(".json").write_text(json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()

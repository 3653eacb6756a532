"""A scan as a DataFrame of Spark.

The driver plans. Files without changes are read by Spark's own vectorised reader; the parts of all
others by tasks. Each is handed a plan of some as JSON (docs/plans.md) and reads them as they would
be read here; its batches come back as Arrow, with the columns and rows that a query asks for. So
workers need this package in the Python that Spark starts (PYSPARK_PYTHON), and see the table under
the same path as the driver.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambase.spark_types import spark_type
from seamkit.engines.files import EngineFiles, EnginePlan
from seamkit.engines.spark_source import frame_of_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def spark_frame(plan: EnginePlan, session: SparkSession) -> DataFrame:
    """The rows of a plan: files by Spark's own reader, all others by tasks with ours.

    Types become those that Spark's own readers have: times of day are integers, fixed binaries are
    binaries, milliseconds are microseconds.

    Args:
        plan: what to read.
        session: the Spark session whose tasks read.

    Raises:
        RefusedError: a column of a type that Spark does not have.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    target = pa.schema([pa.field(f.name, spark_type(f.type, f.name)) for f in plan.schema])
    types = from_arrow_schema(target)
    parts = [_read_parquet(files, types, session) for files in plan.files]
    if plan.rest is not None:
        parts.append(frame_of_parts(plan, target, types, session))
    if not parts:
        return session.createDataFrame([], types)
    return reduce(lambda whole, part: whole.unionAll(part), parts)


def _read_parquet(files: EngineFiles, types: Any, session: SparkSession) -> DataFrame:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    known = {*files.values, *files.absent}
    own = StructType([field for field in types if field.name not in known])
    # Folders with "=" in their names are no partitions here, and days are as they stand.
    reader = session.read.schema(own).option("recursiveFileLookup", "true")
    rows = reader.option("datetimeRebaseMode", "CORRECTED").parquet(*files.paths)
    columns = []
    for field in types:
        if field.name in known:
            column = f.lit(_constant(files.values.get(field.name)))
        else:
            column = rows[_quoted(field.name)]
        columns.append(column.cast(field.dataType).alias(field.name))
    return rows.select(*columns)


def _constant(value: pa.Scalar | None) -> Any:
    """A value that all rows have, as what Spark casts to the column's type.

    Days and moments go as text: on the way to Java those of early years are lost.
    """
    if value is None or not value.is_valid:
        return None
    if pa.types.is_timestamp(value.type):
        zone = None if value.type.tz is None else "UTC"
        return value.cast(pa.timestamp("us", zone)).cast(pa.string()).as_py()
    return value.cast(pa.string()).as_py() if pa.types.is_date(value.type) else value.as_py()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

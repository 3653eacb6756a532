"""The 22 queries over native batches give what plain Spark gives over the same files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambench.data.tpch import TABLES, generate_part
from seamkit.spark import NativeSpark
from seamkit.tables.opening import open_table
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples import made_delta
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.pyspark_marks import QUIET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, *QUIET]

_QUERIES = SUITES_GOLDEN.parent / "tpch" / "queries"
_SCALE = 0.01
#: These show aggregates, joins, subqueries and several scans of one table. Planning and compiling
#: all 22 takes minutes on a busy machine.
_BRIEF = (1, 4, 15)
_NUMBERS = [pytest.param(n, marks=[] if n in _BRIEF else pytest.mark.slow) for n in range(1, 23)]
_FILES = 2


@pytest.fixture(scope="module")
def spark() -> Iterator[NativeSpark]:
    """Spark in this process; without a Java the tests are skipped by name."""
    with OrSkipped():
        # Plans are not changed while they run: what is compared is what is planned.
        native = NativeSpark(threads=2, conf={"spark.sql.adaptive.enabled": "false"})
    with native:
        yield native


@pytest.fixture(scope="module")
def tables(spark: NativeSpark, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The workload as Delta tables, each of some data files."""
    folder = tmp_path_factory.mktemp("tpch")
    return {name: _delta_table(spark, folder / name, name) for name in TABLES}


def _delta_table(spark: NativeSpark, folder: Path, name: str) -> Path:
    """Data files of the generator's rows, and the commit that adds them."""
    folder.mkdir(parents=True)
    rows = pa.Table.from_batches(generate_part(name, _SCALE, 1, 1), TABLES[name].schema)
    size = -(-rows.num_rows // _FILES)
    added = []
    for number in range(_FILES):
        part = rows.slice(number * size, size)
        if part.num_rows:
            path = folder / f"part-{number}.parquet"
            pq.write_table(part, path, row_group_size=5000)
            added.append(made_delta.add_file(path))
    schema = spark.session.read.parquet(str(folder)).schema.json()
    made_delta.make(folder, [], *added, schemaString=schema, createdTime=0)
    return folder


@pytest.fixture(scope="module")
def plain(spark: NativeSpark, tables: dict[str, Path]) -> SparkSession:
    """A session whose views are Spark's own over the same files; the first one's are native."""
    session = spark.session.newSession()
    for name, folder in tables.items():
        session.read.parquet(str(folder)).createOrReplaceTempView(name)
        spark.register(name, open_table(str(folder)).scan())
    return session


def _query(number: int) -> str:
    """A query, without the end that Spark does not take."""
    return (_QUERIES / f"q{number:02}.sql").read_text(encoding="utf-8").rstrip().rstrip(";")


@pytest.mark.parametrize("number", _NUMBERS)
def test_queries_answer_as_plain_spark_does(
    spark: NativeSpark, plain: SparkSession, number: int
) -> None:
    """Every value and the order of rows, with native operators over every scan of the plan."""
    frame = spark.session.sql(_query(number))
    plan = spark.explain(frame)
    assert plan.startswith("NativeRowToColumnar")
    assert plan.count("NativeColumnarToRow") == plan.count("BatchScan") > 0
    assert " ColumnarToRow" not in plan
    found = [tuple(row.values()) for row in spark.to_arrow(frame).to_pylist()]
    assert found == list(map(tuple, plain.sql(_query(number)).collect()))
    assert spark.in_use() == 0

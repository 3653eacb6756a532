"""Operators between columns and rows, Spark's and ours, are timed on the same batches."""

import pytest

from seambench.bench import throughput
from seambench.bench.apart import Here
from seambench.bench.throughput import ThroughputOptions, measure_throughput
from seambench_impl.peers.spark import plans as spark_plans
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.pyspark_marks import QUIET

pytestmark = [pytest.mark.jvm, *QUIET]


def test_every_operator_gives_the_rows_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each implementation's result is read back and compared, and its own handles are released."""
    with OrSkipped():
        spark_plans.session()
    monkeypatch.setattr(spark_plans, "WARM_UP_SECONDS", 0.0)
    # All over the one session; in processes of their own each would start Spark anew.
    monkeypatch.setattr(throughput, "Apart", lambda _: Here())
    names = ("gluten", "gluten-table", "gluten-arrow", "spark-operators", "spark-arrow")
    options = ThroughputOptions("serde", names, rows=(500,), samples=1)
    records = {one.implementation.name: one for one in measure_throughput(options)}
    for name in names:
        outcomes = {timing.case: timing.outcome for timing in records[name].timings}
        assert outcomes == {
            "serde/unsaferow/columnar-to-row/500": "pass",
            "serde/unsaferow/row-to-columnar/500": "pass",
        }
    assert spark_plans.session().in_use() == 0
    spark_plans.session().stop()
    spark_plans.session.cache_clear()

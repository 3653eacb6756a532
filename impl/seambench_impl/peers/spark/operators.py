"""Spark's own operators between columns and rows, beside which the native ones are timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.column import ColumnChunk, ColumnRequest
from seambench.contracts.common import Kind, Stage
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.plans import arrow_stages, spark_stages


class SparkOperators:
    """ColumnarToRowExec and RowToColumnarExec over Spark's own vectors: only steps to time."""

    name = "spark-operators"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {}

    def __init__(self) -> None:
        self.version = installed_version("pyspark", self.name, "jvm")

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Not offered."""
        raise RefusedError(f"{self.name} has no off-heap tables for {', '.join(request.fields)}")

    def live_blocks(self) -> int:
        """None: there are no blocks."""
        return 0

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The steps `columnar-to-row` and `row-to-columnar`."""
        return spark_stages(batch)


class SparkArrowOperators(SparkOperators):
    """The same over vectors of Arrow's Java library, and Spark's ArrowWriter into them."""

    name = "spark-arrow"

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The steps `columnar-to-row` and `row-to-columnar`; see `SparkOperators.stages`."""
        return arrow_stages(batch)

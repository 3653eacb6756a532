"""Native batches in Spark, as the column seam times them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from seambench import __version__
from seambench.contracts.common import Kind, Stage
from seambench_impl.peers.spark.operators import SparkOperators
from seambench_impl.peers.spark.plans import native_stages


class GlutenOperators(SparkOperators):
    """Our operators where Spark has its own: only steps to time, in a JVM of this process."""

    name = "gluten"
    kind: Kind = "reference"

    def __init__(self) -> None:
        self.version = __version__

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The steps `columnar-to-row` and `row-to-columnar`; see `SparkOperators.stages`."""
        return native_stages(batch)

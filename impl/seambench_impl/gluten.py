"""Operators of our backends in Spark, as the serde seam judges and times them."""

from __future__ import annotations

from seambench import __version__
from seambench_impl.peers import XFAILS
from seambench_impl.peers.spark.operators import BackendOperators
from seambench_impl.peers.spark.plans import ArrowPlans, BackendPlans, TablePlans


class GlutenOperators(BackendOperators):
    """Batches behind handles; native code makes rows of them, and them of rows."""

    name = "gluten"
    plans = BackendPlans

    def __init__(self) -> None:
        super().__init__()
        self.version = __version__


class GlutenTableOperators(GlutenOperators):
    """Off-heap tables behind handles, whose chains native code makes rows of."""

    name = "gluten-table"
    plans = TablePlans
    without = (
        *("types.void", "types.interval"),
        *("types.interval day to second", "types.interval year to month"),
    )


class GlutenArrowOperators(GlutenOperators):
    """Vectors of Arrow's Java library: Spark's operator reads them, Java makes them of rows."""

    name = "gluten-arrow"
    xfails = XFAILS / "gluten-arrow.toml"
    plans = ArrowPlans
    without = ("types.interval", "thresholds")
    believes = True

"""Steps that can be timed stand for the rows that went in."""

from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError
from seambench.bench import throughput
from seambench.bench.apart import Here
from seambench.bench.throughput import ThroughputOptions, lineitem, measure_throughput
from seambench.contracts.column import ColumnRequest
from seambench.contracts.common import Staged
from seambench_impl.column import OffHeapColumns
from seambench_impl.peers.arrow_ipc import ArrowIpcSerde
from seambench_impl.peers.jvm import TimedLoops
from seambench_impl.peers.pyarrow import PyarrowColumns
from seambench_impl.serde import SeambenchSerde


@pytest.mark.parametrize("serde", [SeambenchSerde(), ArrowIpcSerde()], ids=lambda one: one.name)
def test_every_step_gives_the_rows_back(serde: SeambenchSerde | ArrowIpcSerde) -> None:
    """What a step returns is read back and compared; names say format and direction."""
    batch = lineitem(300)
    stages = serde.stages(batch)
    assert {stage.name.partition("/")[0] for stage in stages} & {"presto", "arrow"}
    for stage in stages:
        rows = pa.table(stage.rows(stage.run())).combine_chunks()
        assert rows.sort_by([("l_orderkey", "ascending"), ("l_linenumber", "ascending")]).equals(
            pa.Table.from_batches([batch])
        ), stage.name


def test_columns_without_a_type_are_refused() -> None:
    """A batch that a format cannot hold has no steps."""
    with pytest.raises(RefusedError, match="column 'u'"):
        SeambenchSerde().stages(pa.record_batch({"u": pa.array([1], pa.uint8())}))


@pytest.mark.jvm
def test_the_peers_steps_are_timed_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presto's and Spark's own code takes part under the same names, and gets the same rows."""
    # One Java serves both; in processes of their own each would start another, and warm it up.
    monkeypatch.setattr(throughput, "Apart", lambda _: Here())
    monkeypatch.setattr(TimedLoops, "warm_up", lambda _: None)
    options = ThroughputOptions(
        "serde",
        ["seambench", "presto-jvm", "spark-jvm"],
        rows=(1000,),
        only=["serialize"],
        samples=1,
    )
    records = {one.implementation.name: one for one in measure_throughput(options)}
    for peer, case in (("presto-jvm", "presto"), ("spark-jvm", "unsaferow")):
        cases = {timing.case: timing for timing in records[peer].timings}
        timing = cases[f"serde/{case}/serialize/1000"]
        assert timing.outcome == "pass"
        assert len(timing.hot) == 1


_STEPS = ["values-to-table", "rows-to-table", "objects-to-table"]


@pytest.mark.parametrize("step", _STEPS)
@pytest.mark.parametrize("kind", [OffHeapColumns, PyarrowColumns])
@pytest.mark.parametrize("columns", ["all", "fixed"])
def test_steps_keep_their_rows(kind: type[Any], step: str, columns: str) -> None:
    """Run after run, what comes of a step stands for the rows that went in."""
    implementation: Staged = kind()
    batch = lineitem(50, columns)
    (stage,) = [stage for stage in implementation.stages(batch) if stage.name == step]
    for _ in range(3):
        found = stage.rows(stage.run())
        assert found.to_pydict() == batch.to_pydict()


def test_pyarrow_has_no_off_heap_tables() -> None:
    """The peer offers steps to time and nothing else."""
    request = ColumnRequest(["a"], ["int"], [[1]], ["a"], None, 1, [1])
    with pytest.raises(RefusedError, match="no off-heap tables"):
        PyarrowColumns().chunks(request)

"""The row-at-a-time steps that are timed, and pyarrow's beside them, keep the rows."""

from typing import Any

import pytest

from seambase.errors import RefusedError
from seambench.bench.throughput import lineitem
from seambench.contracts.column import ColumnRequest
from seambench.contracts.common import Staged
from seambench_impl.column import OffHeapColumns
from seambench_impl.peers.pyarrow import PyarrowColumns

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

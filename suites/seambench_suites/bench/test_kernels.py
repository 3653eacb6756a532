"""Each kernel once as a test of its rows (`--benchmark-disable`), or many times as a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from seambench_suites.history import (
    column_kernels,
    exchange_kernels,
    kernels,
    page_kernels,
    plan_kernels,
    row_kernels,
    run_kernels,
    scan_kernels,
    stream_kernels,
)

KERNELS: dict[str, Callable[[], Any]] = {
    "avro-decode-all": lambda: kernels.AvroDecode("all"),
    "avro-decode-two": lambda: kernels.AvroDecode("two"),
    **{
        f"carry-{way}": partial(exchange_kernels.Carry, way)
        for way in ("pass-through", "sockets", "grpc", "flight")
    },
    "checksum": page_kernels.Checksum,
    "connector-scan": scan_kernels.ConnectorScan,
    "deal-8": lambda: exchange_kernels.Deal("8"),
    "deal-64": lambda: exchange_kernels.Deal("64"),
    "deleted-rows": run_kernels.DeletedRows,
    **{
        f"form-{name}-{used}": partial(scan_kernels.FormRead, name, used)
        for name in ("conditions", "decimals", "pages")
        for used in ("with", "without")
    },
    "ipc-in": lambda: page_kernels.IpcIn("65536"),
    "ipc-out": lambda: page_kernels.IpcOut("65536"),
    "merge": kernels.Merge,
    "off-heap-fill": kernels.OffHeapFill,
    "page-parts": page_kernels.PageParts,
    "pages-in-lz4": lambda: page_kernels.PagesIn("lz4+checksum", "65536"),
    "pages-in-plain": lambda: page_kernels.PagesIn("plain", "65536"),
    "pages-in-small": lambda: page_kernels.PagesIn("plain", "4096"),
    "pages-out-lz4": lambda: page_kernels.PagesOut("lz4+checksum", "65536"),
    "pages-out-plain": lambda: page_kernels.PagesOut("plain", "65536"),
    "pages-out-small": lambda: page_kernels.PagesOut("plain", "4096"),
    "plan-slices": lambda: plan_kernels.PlanSlices("10000"),
    "rows-in-compact": lambda: row_kernels.RowsIn("compactrow"),
    "rows-in-unsafe": lambda: row_kernels.RowsIn("unsaferow"),
    "rows-out-compact": lambda: row_kernels.RowsOut("compactrow"),
    "rows-out-unsafe": lambda: row_kernels.RowsOut("unsaferow"),
    "scan-5": lambda: scan_kernels.RatioScan("5"),
    "scan-20": lambda: scan_kernels.RatioScan("20"),
    "scan-50": lambda: scan_kernels.RatioScan("50"),
    "scan-merge": lambda: scan_kernels.HudiScan("merge"),
    "scan-native": lambda: scan_kernels.HudiScan("native"),
    "sorted-runs": run_kernels.SortedRuns,
    "stream-partition-64": lambda: stream_kernels.StreamPartition("64"),
    "stream-partition-whole": lambda: stream_kernels.StreamPartition("whole"),
}
#: Stages of the off-heap seam: each is timed beside a copy of as many bytes.
STAGES: dict[str, Callable[[str], Any]] = {
    "append-columns": column_kernels.AppendColumns,
    "append-rows": column_kernels.AppendRows,
    "arrow-out": column_kernels.ArrowOut,
    "engine-fill": column_kernels.EngineFill,
}


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernel_returns_the_right_rows(benchmark: Any, name: str) -> None:
    """A kernel checks its rows against its recipe when made, and their number in every run."""
    kernel = KERNELS[name]()

    try:
        benchmark.pedantic(kernel.run, setup=kernel.prepare, rounds=5, warmup_rounds=1)
    finally:
        if isinstance(kernel, scan_kernels.FormRead):
            kernel.put_back()


@pytest.mark.parametrize("what", ["stage", "memcpy"])
@pytest.mark.parametrize("columns", ["all", "fixed"])
@pytest.mark.parametrize("name", sorted(STAGES))
def test_stage_returns_the_right_rows(benchmark: Any, name: str, columns: str, what: str) -> None:
    """A stage compares its rows when made; `memcpy`, in its group, is what it is held against."""
    stage = STAGES[name](columns)
    benchmark.group = f"{name}, {columns} columns"
    kernel = stage if what == "stage" else stage.copy()

    benchmark.pedantic(kernel.run, setup=kernel.prepare, rounds=30, warmup_rounds=2)


def test_features_of_other_commits_are_skipped_not_failed() -> None:
    """NotImplementedError is how asv is told that a commit does not have something."""
    with pytest.raises(NotImplementedError, match=r"no seamkit\.teleport"):
        kernels.feature("seamkit.teleport")
    with pytest.raises(NotImplementedError, match=r"no seamkit\.scan\.units with teleport"):
        kernels.feature("seamkit.scan.units", "teleport")

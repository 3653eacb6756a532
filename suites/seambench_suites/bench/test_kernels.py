"""Each kernel once as a test of its rows (`--benchmark-disable`), or many times as a benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seambench_suites.history import kernels

KERNELS: dict[str, Callable[[], Any]] = {
    "avro-decode-all": lambda: kernels.AvroDecode("all"),
    "avro-decode-two": lambda: kernels.AvroDecode("two"),
    "merge": kernels.Merge,
    "off-heap-fill": kernels.OffHeapFill,
    "scan-merge": lambda: kernels.HudiScan("merge"),
    "scan-native": lambda: kernels.HudiScan("native"),
}


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernel_returns_the_right_rows(benchmark: Any, name: str) -> None:
    """A kernel checks its rows against its recipe when made, and their number in every run."""
    kernel = KERNELS[name]()

    benchmark.pedantic(kernel.run, setup=kernel.prepare, rounds=5, warmup_rounds=1)


def test_features_of_other_commits_are_skipped_not_failed() -> None:
    """NotImplementedError is how asv is told that a commit does not have something."""
    with pytest.raises(NotImplementedError, match=r"no seambench_impl\.teleport"):
        kernels.feature("seambench_impl.teleport")
    with pytest.raises(NotImplementedError, match=r"no seambench_impl\.merge\.teleport"):
        kernels.feature("seambench_impl.merge", "teleport")

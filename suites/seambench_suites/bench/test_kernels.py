"""Each kernel that asv times, once as a test of its rows (`--benchmark-disable`), or timed here."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from seambench_suites import history
from seambench_suites.history import kernels, scan_kernels

#: Planning so many files takes longer than all else.
_LEFT_OUT = ("100000",)


def _kernels() -> Iterator[Any]:
    """A kernel for each choice of a benchmark's parameters; of stages of the off-heap seam twice.

    What such a stage is held against, a copy of as many bytes, is the other one.
    """
    names = [one.name for one in pkgutil.iter_modules(history.__path__)]
    modules = [importlib.import_module(f"{history.__name__}.{name}") for name in names]
    every = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    for timed in sorted(every - {kernels.Timed}, key=lambda one: one.__name__):
        if issubclass(timed, kernels.Timed):
            for chosen in itertools.product(*timed.params):
                about = "-".join((timed.__name__, *chosen))
                if chosen != _LEFT_OUT:
                    yield pytest.param(timed, chosen, False, id=about)
                if hasattr(timed, "time_memcpy"):
                    yield pytest.param(timed, chosen, True, id=f"{about}-memcpy")


@pytest.mark.parametrize(("timed", "chosen", "copied"), list(_kernels()))
def test_kernel_returns_the_right_rows(
    benchmark: Any, timed: Any, chosen: Sequence[str], copied: bool
) -> None:
    """A kernel checks its rows against its recipe when made, and their number in every run."""
    kernel = timed.kernel_type(*chosen)
    rounds = 5
    if hasattr(timed, "time_memcpy"):
        rounds, benchmark.group = 30, f"{timed.__name__}, {chosen[0]} columns"
        kernel = kernel.copy() if copied else kernel

    try:
        benchmark.pedantic(kernel.run, setup=kernel.prepare, rounds=rounds, warmup_rounds=2)
    finally:
        if isinstance(kernel, scan_kernels.FormRead):
            kernel.put_back()


def test_features_of_other_commits_are_skipped_not_failed() -> None:
    """NotImplementedError is how asv learns that a commit does not have something."""
    with pytest.raises(NotImplementedError, match=r"no seamkit\.teleport"):
        kernels.feature("seamkit.teleport")
    with pytest.raises(NotImplementedError, match=r"no seamkit\.scan\.units with teleport"):
        kernels.feature("seamkit.scan.units", "teleport")

"""Planning of Hudi tables with many files: time, and the most memory of the process."""

from __future__ import annotations

from . import kernels, plan_kernels

PlanSlices = kernels.timed(
    plan_kernels.PlanSlices, "time_plan", "peakmem_plan", timeout=300, files=["10000", "100000"]
)

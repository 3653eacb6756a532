"""Planning of Hudi tables with many files."""

from __future__ import annotations

from . import kernels, plan_kernels


class PlanSlices(kernels.Timed):
    """10,000 and 100,000 files in 100 partitions: time, and the most memory of the process."""

    param_names = ("files",)
    params = (["10000", "100000"],)
    timeout = 300
    kernel_type = plan_kernels.PlanSlices
    time_plan = kernels.Timed.run
    peakmem_plan = kernels.Timed.run

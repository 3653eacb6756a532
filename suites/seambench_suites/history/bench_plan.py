"""Planning of Hudi tables with many files."""

from __future__ import annotations

from . import kernels, plan_kernels


class PlanSlices:
    """10,000 and 100,000 files in 100 partitions: time, and the most memory of the process."""

    version = "1"
    param_names = ("files",)
    params = (["10000", "100000"],)
    number = 1
    timeout = 300

    def setup(self, files: str) -> None:
        """Write the table, and plan it once, once a process."""
        self.kernel = kernels.kernel(plan_kernels.PlanSlices, files)

    def time_plan(self, _files: str) -> None:
        """Open the table and find its slices."""
        self.kernel.run()

    def peakmem_plan(self, _files: str) -> None:
        """The same, for what it holds."""
        self.kernel.run()

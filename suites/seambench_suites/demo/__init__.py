"""What `seambench demo` shows: one small table, a reader that is right and one that is not."""

from __future__ import annotations

from seambench.contracts.seam import Demo

DEMO = Demo(
    seam="scan",
    good="auto",
    broken="seambench_suites.demo.base_files:BaseFilesAlone",
    remark="it reads the data files and leaves the logs out, and says nothing",
    cases="scan/hudi/event-v9/*",
    shown="scan/hudi/event-v9/all-rows",
)

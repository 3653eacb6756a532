"""The process that callgrind counts: runs kernels between marks.

Usage: `python -m history.counting.counted MARKS SAID NAME...`, under valgrind (see `counts`). Each
kernel is made, checked and run once, and then counted over one run, in a process forked for it
alone: what an allocator does depends on what was allocated before. They are the ones that are
timed, with fewer rows: instructions need no long runs to be told apart.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from .. import (
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
from .counts import LACKING


class _AvroDecode(kernels.AvroDecode):
    rows, loops = 2_000, 5


class _Merge(kernels.Merge):
    base_rows, batch_rows, updates, deletes = 65_536, 16_384, 13_000, 600


class _OffHeapFill(kernels.OffHeapFill):
    rows, loops = 10_000, 3


class _HudiScan(scan_kernels.HudiScan):
    loops = 1


class _RatioScan(scan_kernels.RatioScan):
    loops = 1


class _SortedRuns(run_kernels.SortedRuns):
    base_rows = 60_000


class _AppendColumns(column_kernels.AppendColumns):
    loops = 10


class _ArrowOut(column_kernels.ArrowOut):
    loops = 20


class _EngineFill(column_kernels.EngineFill):
    loops = 10


KERNELS: dict[str, Callable[[], Any]] = {
    "append-columns": _AppendColumns,
    "append-rows": column_kernels.AppendRows,
    "arrow-out": _ArrowOut,
    "avro-decode": partial(_AvroDecode, "all"),
    "deal-64": partial(exchange_kernels.Deal, "64"),
    "deleted-rows": run_kernels.DeletedRows,
    "engine-fill": _EngineFill,
    "merge": _Merge,
    "off-heap-fill": _OffHeapFill,
    "page-parts": page_kernels.PageParts,
    "pages-in": partial(page_kernels.PagesIn, "plain", "65536"),
    "pages-out": partial(page_kernels.PagesOut, "plain", "65536"),
    "plan-slices": partial(plan_kernels.PlanSlices, "1000"),
    "rows-in-compact": partial(row_kernels.RowsIn, "compactrow"),
    "rows-in-unsafe": partial(row_kernels.RowsIn, "unsaferow"),
    "rows-out-compact": partial(row_kernels.RowsOut, "compactrow"),
    "rows-out-unsafe": partial(row_kernels.RowsOut, "unsaferow"),
    "scan-5": partial(_RatioScan, "5"),
    "scan-20": partial(_RatioScan, "20"),
    "scan-50": partial(_RatioScan, "50"),
    "scan-native": partial(_HudiScan, "native"),
    "sorted-runs": _SortedRuns,
    "stream-partition-64": partial(stream_kernels.StreamPartition, "64"),
}


def main(marks: str, said: str, *names: str) -> None:
    """Run the kernels, and leave behind why some have no count."""
    library = ctypes.CDLL(marks)
    pa.set_cpu_count(1)
    for name in names:
        child = os.fork()
        if not child:
            _count(name, library, Path(f"{said}.{name}"))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"{name} ended with {os.waitstatus_to_exitcode(status)}")
        # The next child would write over it.
        for number, dump in enumerate(sorted(Path(said).parent.glob("counted.?*"))):
            dump.rename(dump.with_name(f"dump-{name}-{number}"))


def _count(name: str, library: ctypes.CDLL, without: Path) -> None:
    try:
        kernel = KERNELS[name]()
        kernel.prepare()
        kernel.run()
        kernel.prepare()
    except NotImplementedError as error:
        without.write_text(f"{LACKING}{error}", encoding="utf-8")
    # One kernel's end is not that of the others.
    except Exception as error:
        without.write_text(f"{type(error).__name__}: {error}", encoding="utf-8")
    else:
        gc.collect()
        gc.disable()
        library.seam_count_begin()
        kernel.run()
        library.seam_count_end(name.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])

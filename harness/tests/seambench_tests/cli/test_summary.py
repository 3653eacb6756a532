"""The table at the end of a comparison can be read in any terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from seambench.cli.summary import print_summary
from seambench.records.files import load_record, record_paths
from seambench_tests.samples.report_records import make_results


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_figure_is_cut(tmp_path: Path, width: int) -> None:
    """Data sets go down, readers that do not fit begin a new block; load stands below."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    records = [record for record in records if record.timings]
    shown = {}
    for wide in (width, 1000):
        out = Console(file=io.StringIO(), width=wide)
        print_summary(records, out)
        shown[wide] = out.file.getvalue()  # type: ignore[attr-defined]
    lines = shown[width].splitlines()
    table = [line for line in lines if line.startswith(("data", "hudi ", "hive ", "delta "))]

    assert "\N{HORIZONTAL ELLIPSIS}" not in shown[width]
    assert table
    assert max(map(len, table)) <= width
    # Whatever the width, the same figures are there.
    figures = [
        sorted(word for word in text.split() if word.replace(".", "").isdigit())
        for text in shown.values()
    ]
    assert figures[0] == figures[1]
    assert "load when the readers began: " in shown[width]


def test_who_reads_base_files_alone_is_called_stale(tmp_path: Path) -> None:
    """Its answers are right, of an older state: that is said beside them, and of no other."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    out = Console(file=io.StringIO(), width=200)
    print_summary([record for record in records if record.timings], out)
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    told = {line.partition(":")[0] for line in lines if "; stale: of base files alone" in line}
    assert told == {"native", "pyarrow"}
    assert {line.partition(":")[0] for line in lines if " right" in line} > told

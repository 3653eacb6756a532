"""The table at the end of a comparison can be read in any terminal."""

import io
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from seambench.cli import exchange, kernels, throughput
from seambench.cli.shared.common import tell_records
from seambench.cli.summary import print_summary
from seambench.records.files import load_record, record_paths
from seambench.records.model import Busy, Timing
from seambench_tests.samples.report_records import make_results


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_figure_is_cut(tmp_path: Path, width: int) -> None:
    """Data sets go down, readers that do not fit begin a new block."""
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


def test_who_reads_base_files_alone_is_called_stale(tmp_path: Path) -> None:
    """Its answers are right, of an older state: that is said beside them, and of no other."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    out = Console(file=io.StringIO(), width=200)
    print_summary([record for record in records if record.timings], out)
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    told = {line.partition(":")[0] for line in lines if "; stale: of base files alone" in line}
    assert told == {"native", "pyarrow"}
    assert {line.partition(":")[0] for line in lines if " right" in line} > told


def test_of_whom_nothing_is_asked_it_is_said_why(tmp_path: Path) -> None:
    """Once, below the tables; who answers anything has its word beside them."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    some, *others = [record for record in records if record.timings]
    reason = "it reads table version 6, not 9"
    none = [
        msgspec.structs.replace(one, outcome="not-offered", reason=reason, hot=[])
        for one in some.timings
    ]
    out = Console(file=io.StringIO(), width=40)
    print_summary([msgspec.structs.replace(some, timings=none), *others], out)
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert f"not offered by {some.implementation.name}: {reason}\n" in shown
    assert shown.count("not offered by") == 1


def test_data_of_one_share_and_two_layouts_are_two(tmp_path: Path) -> None:
    """They are called by their layouts, and no figure is of both."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    (record, timing) = next((r, t) for r in records for t in r.timings if t.case == "scan/all")
    two = [
        msgspec.structs.replace(
            timing, over=msgspec.structs.replace(timing.over, name=name), hot=[seconds] * 7
        )
        for name, seconds in (("avro-logs", 1.0), ("parquet-logs", 9.0))
    ]
    out = Console(file=io.StringIO(), width=200)
    print_summary([msgspec.structs.replace(record, timings=two)], out)
    said = out.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"avro-logs +1\.000\nparquet-logs +9\.000\n", said)


@pytest.mark.parametrize("width", [80, 200])
def test_times_of_exchanges_and_kernels_are_whole(tmp_path: Path, width: int) -> None:
    """Long names are folded, figures never cut; every figure of a wide terminal is there."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    (record, timing) = next((r, t) for r in records for t in r.timings if t.hot)
    long = msgspec.structs.replace(
        timing, case="exchange-workers/shuffle-of-orders/pass-through/presto-compressed/8/65536"
    )
    told = msgspec.structs.replace(record, timings=[long])
    named = [msgspec.structs.replace(told.implementation, name=f"reader-{n}") for n in range(8)]
    many = [msgspec.structs.replace(told, implementation=one) for one in named]
    for show in (
        partial(kernels._print_table, told),
        partial(_exchanges, [long]),
        partial(throughput._print_table, many),
    ):
        figures = []
        for wide in (width, 1000):
            out = Console(file=io.StringIO(), width=wide)
            show(out)
            figures.append(re.findall(r"(?<= )[\d.]+(?= |$)", _whole(out)))
        assert figures[0] == figures[1]
        assert len(figures[0]) > 1


def _exchanges(timings: Sequence[Timing], out: Console) -> None:
    exchange._print_table(timings, out)
    exchange._print_profile(timings, out)


def _whole(out: Console) -> str:
    text = str(out.file.getvalue())  # type: ignore[attr-defined]
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    return text


def test_what_disturbed_the_times_is_told_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The load before, and what others used while it ran; nothing of a quiet machine."""
    records = [load_record(path) for path in record_paths(make_results(tmp_path))]
    for busy, says in (
        (Busy(waited=0, before=0, during=37), "others used 37 % of the machine"),
        (Busy(waited=0, before=0, during=1), None),
    ):
        run = msgspec.structs.replace(records[0].run, busy=busy)
        record = msgspec.structs.replace(records[0], run=run)
        tell_records([record], tmp_path / "told", lambda out: out.print("the table"))
        said = capsys.readouterr().out
        assert "load when it began: " in said
        assert ("no quiet machine" in said) == (says is not None)
        assert (says or "the table") in said

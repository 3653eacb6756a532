"""The table at the end of a comparison can be read in any terminal."""

import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from seambench.cli import exchange, kernels, throughput
from seambench.cli.shared.common import tell_records
from seambench.cli.summary import print_summary
from seambench.records.files import load_record, record_paths
from seambench.records.model import Busy, Record, Timing
from seambench_tests.samples.report_records import make_results


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Those with times of all made-up records."""
    paths = record_paths(make_results(tmp_path_factory.mktemp("results")))
    return [record for record in map(load_record, paths) if record.timings]


def _shown(show: Callable[[Console], object], width: int = 200) -> str:
    """What is shown on a terminal of a width, where nothing is cut."""
    show(Console(file=(said := io.StringIO()), width=width))
    assert "\N{HORIZONTAL ELLIPSIS}" not in said.getvalue()
    return said.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_figure_is_cut(records: list[Record], width: int) -> None:
    """Data sets go down, readers that do not fit begin a new block."""
    narrow, wide = (_shown(partial(print_summary, records), at) for at in (width, 1000))
    begins = ("data", "hudi ", "hive ", "delta ")
    table = [line for line in narrow.splitlines() if line.startswith(begins)]
    assert table
    assert max(map(len, table)) <= width
    # Whatever the width, the same figures are there.
    figures, all_figures = (
        sorted(word for word in text.split() if word.replace(".", "").isdigit())
        for text in (narrow, wide)
    )
    assert figures == all_figures


def test_who_reads_base_files_alone_is_called_stale(records: list[Record]) -> None:
    """Its answers are right, of an older state: that is said beside them, and of no other."""
    lines = _shown(partial(print_summary, records)).splitlines()
    told = {line.partition(":")[0] for line in lines if "; stale: of base files alone" in line}
    assert told == {"native", "pyarrow"}
    assert {line.partition(":")[0] for line in lines if " right" in line} > told


def test_of_whom_nothing_is_asked_it_is_said_why(records: list[Record]) -> None:
    """Once, below the tables; who answers anything has its word beside them."""
    some, *others = records
    reason = "it reads table version 6, not 9"
    none = [replace(one, outcome="not-offered", reason=reason, hot=[]) for one in some.timings]
    shown = _shown(partial(print_summary, [replace(some, timings=none), *others]), 40)
    assert f"not offered by {some.implementation.name}: {reason}\n" in shown
    assert shown.count("not offered by") == 1


def test_data_of_one_share_and_two_layouts_are_two(records: list[Record]) -> None:
    """They are called by their layouts, and no figure is of both."""
    (record, timing) = next((r, t) for r in records for t in r.timings if t.case == "scan/all")
    two = [
        replace(timing, over=replace(timing.over, name=name), hot=[seconds] * 7)
        for name, seconds in (("avro-logs", 1.0), ("parquet-logs", 9.0))
    ]
    said = _shown(partial(print_summary, [replace(record, timings=two)]))
    assert re.search(r"avro-logs +1\.000\nparquet-logs +9\.000\n", said)


@pytest.mark.parametrize("width", [80, 200])
def test_times_of_exchanges_and_kernels_are_whole(records: list[Record], width: int) -> None:
    """Long names are folded, figures never cut; every figure of a wide terminal is there."""
    (record, timing) = next((r, t) for r in records for t in r.timings if t.hot)
    case = "exchange-workers/shuffle-of-orders/pass-through/presto-compressed/8/65536"
    long = replace(timing, case=case)
    told = replace(record, timings=[long])
    named = [replace(told.implementation, name=f"reader-{n}") for n in range(8)]
    many = [replace(told, implementation=one) for one in named]
    for show in (
        partial(kernels._print_table, told),
        partial(_exchanges, [long]),
        partial(throughput._print_table, many),
    ):
        figures, all_figures = (
            re.findall(r"(?<= )[\d.]+(?= |$)", _shown(show, at)) for at in (width, 1000)
        )
        assert figures == all_figures
        assert len(figures) > 1


def _exchanges(timings: Sequence[Timing], out: Console) -> None:
    exchange._print_table(timings, out)
    exchange._print_profile(timings, out)


def test_what_disturbed_the_times_is_told_beside_them(
    records: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The load before, and what others used while it ran; nothing of a quiet machine."""
    for busy, says in (
        (Busy(waited=0, before=0, during=37), "others used 37 % of the machine"),
        (Busy(waited=0, before=0, during=1), None),
    ):
        record = replace(records[0], run=replace(records[0].run, busy=busy))
        tell_records([record], tmp_path / "told", lambda out: out.print("the table"))
        said = capsys.readouterr().out
        assert "load when it began: " in said
        assert ("no quiet machine" in said) == (says is not None)
        assert (says or "the table") in said

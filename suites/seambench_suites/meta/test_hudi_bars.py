"""The figures of what merging costs, worked out from times."""

from __future__ import annotations

import pytest

from seambench_suites.hudi.bars import BARS, figures

_U = "mor-v9-event-avro-u{}-s100"
_TIMES = {
    (_U.format(20), "scan/all", "native", 0): 2.0,
    (_U.format(20), "scan/all", "auto", 0): 3.0,
    (_U.format(20), "scan/all", "hudi-rs", 0): 60.0,
    ("mor-v9-event-parquet-u20-s100", "scan/all", "native", 0): 2.0,
    ("mor-v9-event-parquet-u20-s100", "scan/all", "auto", 0): 4.5,
    ("one slice", "scan/all", "auto", 1): 5.0,
    ("one slice", "scan/all", "auto", 2): 2.5,
    **{(_U.format(0), f"tpch/q{n:02d}", "auto", 0): 1.0 for n in range(1, 23)},
    **{(_U.format(20), f"tpch/q{n:02d}", "auto", 0): 4.0 if n % 2 else 1.0 for n in range(1, 23)},
}


@pytest.mark.parametrize(
    ("name", "value", "met"),
    [
        ("20 % updated, all columns / native", 1.5, True),
        ("20 %, all columns: x hudi-rs", 20.0, True),
        ("Parquet blocks / Avro blocks", 1.5, False),
        ("one slice: 2 threads, times faster", 2.0, True),
        ("22 queries, 20 % / 0 %, geometric mean", 2.0, False),
        ("100 % updated / native", None, None),
    ],
)
def test_figures_follow_from_times(name: str, value: float | None, met: bool | None) -> None:
    """Ratios of medians, the geometric mean over queries; nothing where a time is missing."""
    found = {bar.name: (bar, figure) for bar, figure in figures(_TIMES)}
    assert len(found) == len(BARS)
    bar, figure = found[name]
    if value is None:
        assert figure is None
    else:
        assert figure == pytest.approx(value)
        assert bar.met(value) is met

"""The figures of what merging costs, worked out from times."""

from __future__ import annotations

import pytest

from seambench_suites.hudi.bars import BARS, figures, main, times_for

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


@pytest.mark.parametrize(
    ("name", "times"),
    [
        (
            "one slice: 2 threads, times faster",
            {("one slice", "scan/all", "auto", 1), ("one slice", "scan/all", "auto", 2)},
        ),
        (
            "100 % updated / native",
            {(_U.format(100), "scan/all", reader, 0) for reader in ("native", "auto")},
        ),
        (
            "22 queries, 20 % / 0 %, geometric mean",
            {
                (_U.format(ratio), f"tpch/q{number:02d}", "auto", 0)
                for ratio in (0, 20)
                for number in range(1, 23)
            },
        ),
    ],
)
def test_a_figure_alone_needs_its_own_times(
    name: str, times: set[tuple[str, str, str, int]]
) -> None:
    """Those that its ratio is made of, and no others."""
    assert times_for([bar for bar in BARS if bar.name == name]) == times


def test_an_unknown_figure_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Its refusal lists the names there are, and nothing is measured."""
    with pytest.raises(SystemExit):
        main(["--data", "nowhere", "--only", "no such figure"])
    assert BARS[0].name in capsys.readouterr().err.replace("\n", " ")

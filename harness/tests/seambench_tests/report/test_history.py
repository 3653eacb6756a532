"""History: what is called a regression, and how asv's results become curves by commit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.report.views import history
from seambench.report.views.load import Problem, load_records
from seambench.report.views.outcomes import columns_of
from seambench_tests.report.test_costs import with_times
from seambench_tests.samples.report_records import make_record, write_record

SAMPLES = Path(__file__).parents[1] / "samples"
CHECKOUT = Path(__file__).parents[4]


def points(times: list[float]) -> list[history.Point]:
    """A kernel's times at commits `c0`, `c1`, ..."""
    return [history.Point(f"c{n}", f"{n:03d}", t, t, t) for n, t in enumerate(times)]


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([1.0] * 12, []),
        ([1.0, 1.02, 0.98, 1.0, 1.3, 1.31, 1.29, 1.3], [("c3", "c4")]),
        ([1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0], []),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 2.0], []),
        ([2.0, 2.0, 2.0, 1.0, 1.0, 1.0], []),
        ([1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 2.5, 2.5, 2.5], [("c2", "c3"), ("c5", "c6")]),
        ([1.0, 1.04, 1.0, 1.03, 1.04, 1.05], []),
        ([1.0, 1.0, 1.0, 1.0, 1.05, 1.05, 1.05, 1.05], [("c3", "c4")]),
    ],
)
def test_a_regression_is_named_by_its_commits(
    times: list[float], found: list[tuple[str, str]]
) -> None:
    """A step that stays is one; a single noisy run, the last run, or what is noise is none."""
    steps = history.steps(points(times))
    assert [(step.last_good, step.first_bad) for step in steps] == found


def noisy(times: list[float], seed: int) -> list[float]:
    """The times with a noise of one per cent."""
    rng = np.random.default_rng(seed)
    return [float(one) for one in np.array(times) * rng.lognormal(0, 0.01, len(times))]


def test_a_planted_slowdown_of_times_is_named() -> None:
    """5 % more from commit 12 of 24 on, under a noise of 1 %: that commit, in nearly all series."""
    times = [1.0] * 12 + [1.05] * 12
    found = [history.steps(points(noisy(times, seed))) for seed in range(100)]
    # One run of noise may hide or begin it.
    right = [len(one) == 1 and one[0].first_bad in ("c11", "c12", "c13") for one in found]
    assert sum(right) >= 93
    assert all(found)


def test_a_creep_is_named() -> None:
    """1 % a commit over 12 commits, which no two neighbours show under a noise of 1 %."""
    times = [1.0] * 6 + [1.01**n for n in range(1, 13)] + [1.01**12] * 6
    counts = history.rises(points(times))
    timed = [history.steps(points(noisy(times, seed))) for seed in range(100)]
    within = [all(5 < int(step.first_bad[1:]) <= 18 for step in one) for one in timed]
    assert all(timed)
    assert sum(within) >= 90
    assert [(step.last_good, step.first_bad) for step in counts][:1] == [("c5", "c7")]


def _recorded() -> dict[str, list[history.Point]]:
    """Of each kernel with counts on record eight in a row that are the same but for their noise."""
    found = {}
    for kernel in history.kernels(CHECKOUT / "results" / "history", []):
        rows = [list(kernel.points[at : at + 8]) for at in range(len(kernel.points) - 7)]
        flat = [r for r in rows if max(p.value for p in r) < 1.01 * min(p.value for p in r)]
        if kernel.unit == history.COUNTED and flat:
            found[kernel.label] = flat[0]
    return found


def test_what_is_planted_into_recorded_counts_is_named() -> None:
    """A step of 5 % by its commit, and a creep of 1 % a commit; without either nothing is."""
    recorded = _recorded()
    assert len(recorded) >= 5
    for name, listed in recorded.items():
        middle = len(listed) // 2
        stepped = [
            replace(p, value=p.value * (1.05 if at >= middle else 1)) for at, p in enumerate(listed)
        ]
        crept = [replace(p, value=p.value * 1.01**at) for at, p in enumerate(listed)]
        assert history.rises(listed) == [], name
        [step] = history.rises(stepped)
        assert step.first_bad == listed[middle].commit
        assert step.last_good in {p.commit for p in listed[:middle]}
        assert history.rises(crept), name


def test_noise_is_no_regression() -> None:
    """Of a hundred series of forty commits with a noise of 1 % hardly one shows any."""
    found = [history.steps(points(noisy([1.0] * 40, seed))) for seed in range(100)]
    assert sum(map(bool, found)) <= 3


def asv_file(commit: str, date: int, times: list[float | None]) -> dict[str, Any]:
    """Results of one commit in the form of asv 0.6.6 (version 2)."""
    read: dict[str, Any] = json.loads((SAMPLES / "asv_results.json").read_bytes())
    name = next(iter(read["results"]))
    row = read["results"][name]
    return read | {"commit_hash": commit, "date": date, "results": {name: [times, *row[1:5]]}}


def test_results_of_asv_become_curves_by_commit(tmp_path: Path) -> None:
    """A choice of parameters is a kernel, ordered by the commits' dates; failed runs are gaps."""
    machine = tmp_path / "history" / "box"
    machine.mkdir(parents=True)
    (machine / "machine.json").write_text('{"machine": "box"}')
    runs: list[tuple[str, int, list[float | None]]] = [
        ("b" * 40, 2000, [2.0, None]),
        ("a" * 40, 1000, [1.0, 5.0]),
        ("c" * 40, 3000, [3.0, 6.0]),
    ]
    for commit, date, times in runs:
        (machine / f"{commit[:8]}-env.json").write_text(json.dumps(asv_file(commit, date, times)))
    (machine / "broken.json").write_text("{}")
    problems: list[Problem] = []
    found = history.kernels(tmp_path / "history", problems)
    assert [(k.name, [p.commit[0] for p in k.points]) for k in found] == [
        ("bench_rows.RowsOut.time_rows (compactrow)", ["a", "c"]),
        ("bench_rows.RowsOut.time_rows (unsaferow)", ["a", "b", "c"]),
    ]
    assert [p.value for p in found[1].points] == [1.0, 2.0, 3.0]
    assert [problem.file for problem in problems] == ["history/box/broken.json"]


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ([100.0, 101.0, 100.0], []),
        ([100.0, 103.0, 103.0], [("c0", "c1")]),
        ([100.0, 90.0, 95.0, 95.0, 200.0], [("c1", "c2"), ("c3", "c4")]),
        ([100.0, 99.0, 100.0, 101.5], [("c1", "c3")]),
        ([100.0, 110.0, 110.0, 101.0], []),
        ([100.0, 110.0, 120.0, 111.0], [("c0", "c1")]),
    ],
)
def test_a_count_that_rises_is_a_regression_at_once(
    counts: list[float], found: list[tuple[str, str]]
) -> None:
    """Counts have no noise: one commit is enough, 2 % above the least before is the margin."""
    steps = history.rises(points(counts))
    assert [(step.last_good, step.first_bad) for step in steps] == found


COUNTS = "bench_counts.Counts.track_instructions"


def write_counts(folder: Path, number: int, kernel: str, factor: float) -> str:
    """A commit's counts, as asv 0.6.6 wrote them, with noise, and one kernel's made greater."""
    read = json.loads((SAMPLES / "asv_counts.json").read_bytes())
    commit = f"{number:02x}" * 20
    row = read["results"][COUNTS]
    names = row[1][0]
    noise = 1 + 0.001 * (number % 3)
    row[0] = [
        # What old commits do not have is NaN.
        float("nan") if number < 3 and at % 2 else count * noise * (factor if at == place else 1)
        for at, count in enumerate(row[0])
        for place in [names.index(f"'{kernel}'")]
    ]
    machine = folder / "box"
    machine.mkdir(parents=True, exist_ok=True)
    name = f"{commit[:8]}-env.json"
    (machine / name).write_text(json.dumps(read | {"commit_hash": commit, "date": 1000 + number}))
    units = {COUNTS: {"unit": "instructions"}, "version": 2}
    (folder / "benchmarks.json").write_text(json.dumps(units))
    return commit[:7]


@pytest.mark.parametrize("first_bad", [4, 8, 11])
def test_a_planted_slowdown_is_named_with_its_commit(tmp_path: Path, first_bad: int) -> None:
    """In asv's results of twelve commits one kernel takes 5 % more from a commit on."""
    commits = [
        write_counts(tmp_path / "history", n, "pages-out", 1.05 if n >= first_bad else 1)
        for n in range(12)
    ]
    problems: list[Problem] = []
    found = history.regressions(tmp_path / "history", problems)
    said = CliRunner().invoke(app, ["report", "--results", str(tmp_path), "--regressions"])
    assert problems == []
    assert [(kernel.label, step.last_good, step.first_bad) for kernel, step in found] == [
        ("pages-out", commits[first_bad - 1], commits[first_bad])
    ]
    assert f"more instructions since {commits[first_bad]}" in said.output
    assert f"git log {commits[first_bad - 1]}..{commits[first_bad]}" in said.output
    assert said.exit_code == 1


@pytest.mark.parametrize(
    ("kernel", "reason", "code", "says"),
    [
        ("pages-out", "Sizes of pages are checked now.", 0, "checked now"),
        ("pages-in", "Sizes of pages are checked now.", 1, "pages-in has no regression since"),
        ("pages-out", "yes", 1, "Expected `str` of length >= 20"),
    ],
)
def test_a_regression_is_acknowledged_with_a_reason(
    tmp_path: Path, kernel: str, reason: str, code: int, says: str
) -> None:
    """What is known stays listed and fails no more; a reason for nothing, or none, does."""
    folder = tmp_path / "history"
    commits = [write_counts(folder, n, "pages-out", 1.05 if n > 5 else 1) for n in range(12)]
    told = f'[[rise]]\nkernel = "{kernel}"\nsince = "{commits[6]}"\nreason = "{reason}"\n'
    (folder / "acknowledged.toml").write_text(told)
    said = CliRunner().invoke(app, ["report", "--results", str(tmp_path), "--regressions"])
    assert says in said.output
    assert f"since {commits[6]}" in said.output
    assert said.exit_code == code


def test_no_history_is_said(tmp_path: Path) -> None:
    """A folder without results by commit is an error that says what makes them."""
    done = CliRunner().invoke(app, ["report", "--results", str(tmp_path), "--regressions"])
    assert "asv run" in str(done.exception)


def test_versions_say_what_was_mended_and_what_broke(tmp_path: Path) -> None:
    """Only cases that both versions were asked are compared."""
    for minute, (version, right, wrong) in enumerate(
        [("0.9", ["a", "b"], ["c"]), ("0.10", ["a", "c"], ["b", "d"])]
    ):
        record = make_record("hudi-rs", run_id=f"00000{minute}")
        record["implementation"]["version"] = version
        outcomes = {"pass": {"scan/x": right}, "fail": {"scan/x": wrong}}
        reasons = {f"scan/x/{name}": "1 row expected" for name in wrong}
        part = {"seam": "scan", "seconds": 1, "outcomes": outcomes, "reasons": reasons}
        write_record(tmp_path, record | {"timings": [], "conformance": [part]})
    [found] = history.versions(columns_of(load_records(tmp_path).records))
    assert [column.version for column in found.columns] == ["0.9", "0.10"]
    assert found.changes == [(0, 0), (1, 1)]


def test_scans_by_commit_are_ours_alone(tmp_path: Path) -> None:
    """A peer's times at another commit of ours say nothing of it, nor do one commit's alone."""
    for reader, commits in (("auto", "abc"), ("hudi-rs", "abc"), ("merge", "a")):
        for number, commit in enumerate(commits):
            record = with_times(reader, {("scan/all", 20, 100): [1.0 + number]})
            record["run"] |= {"commit": commit * 40, "started_utc": f"2026-11-2{number}T10:00:00Z"}
            write_record(tmp_path, record)
    [kernel] = history.scans_by_commit(load_records(tmp_path), 20.0)
    assert kernel.name.startswith("auto ")
    assert [point.value for point in kernel.points] == [1.0, 2.0, 3.0]

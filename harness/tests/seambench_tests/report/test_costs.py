"""Costs, queries, rates and history: worked out of samples by rules that are written down."""

from pathlib import Path
from typing import Any

import pytest

from seambench.contracts.registry import find_seam
from seambench.report import build
from seambench.report.draw.charts import rate_bars, size_chart, writing_chart
from seambench.report.draw.lines import Line, Point, line_chart
from seambench.report.draw.text import factor, rate, seconds, size
from seambench.report.views.costs import Curve, Figure, cost_at, figures
from seambench.report.views.growth import growth_tables
from seambench.report.views.load import left_out, load_records, with_figures
from seambench.report.views.queries import query_tables
from seambench.report.views.runs import RunSet, is_of_tables, is_scan, measured, run_sets
from seambench.report.views.slices import slice_tables
from seambench.report.views.start import start_of
from seambench.report.views.throughput import families
from seambench.report.views.written import written
from seambench_tests.samples.report_records import (
    exchange_record,
    make_record,
    make_results,
    write_record,
)

SAMPLES = Path(__file__).parents[1] / "samples"


def with_times(reader: str, hot: dict[tuple[str, int, int], list[float]]) -> dict[str, Any]:
    """A record with these samples by case, update ratio and share of slices, at scale 1."""
    record = make_record(reader, run_id=f"{abs(hash((reader, str(hot)))):x}"[:12].ljust(6, "0"))
    kept = []
    for timing in record["timings"]:
        over = timing["over"]
        at = over["dimensions"]
        samples = hot.get((timing["case"], at["update_ratio"], at["slice_share"]))
        if over["scale"] == 1 and samples:
            kept.append(timing | {"hot": samples, "cpu": samples})
    return record | {"timings": kept}


def sets(results: Path) -> list[RunSet]:
    """Sets of runs of a folder, as the pages order them."""
    return run_sets(load_records(results).records, is_of_tables, is_scan)


def figure_of(one: RunSet, name: str) -> Figure:
    """A figure by its id."""
    return {figure.id: figure for figure in figures(one)}[name]


def by_name(figure: Figure) -> dict[str, Curve]:
    """Curves by the reader's name."""
    return {curve.reader.name: curve for curve in figure.curves}


def test_runs_on_a_cluster_of_spark_are_a_set_of_their_own(tmp_path: Path) -> None:
    """Tasks in processes of their own are another place, and its label says which."""
    write_record(tmp_path, with_times("auto", {("scan/all", 20, 100): [1.0]}))
    elsewhere = with_times("auto", {("scan/all", 20, 100): [9.0]})
    elsewhere["run"]["master"] = "local-cluster[2,1,1024]"
    write_record(tmp_path, elsewhere)
    medians = {
        one.master: by_name(figure_of(one, "scan-all-time-ratio"))["auto"].cells[0].stat
        for one in sets(tmp_path)
    }
    assert {master: stat.median for master, stat in medians.items()} == {
        None: 1.0,
        "local-cluster[2,1,1024]": 9.0,
    }
    assert sum("Spark on local-cluster[2,1,1024]" in one.label for one in sets(tmp_path)) == 1
    assert len({one.id for one in sets(tmp_path)}) == 2


def test_runs_of_one_commit_and_scale_are_one_curve(tmp_path: Path) -> None:
    """Points of several runs join; of one point the widest run counts, then the newest."""
    runs = [
        {("scan/all", 0, 100): [1.0, 2.0]},
        {("scan/all", 0, 100): [3.0]},
        {("scan/all", 20, 100): [4.0], ("scan/all", 100, 100): [5.0]},
        {("scan/all", 20, 100): [9.0]},
    ]
    for minute, hot in enumerate(runs):
        record = with_times("auto", hot)
        record["run"]["started_utc"] = f"2026-11-21T10:0{minute}:00Z"
        write_record(tmp_path, record)
    other = with_times("auto", {("scan/all", 50, 100): [9.0]})
    other["run"]["commit"] = "f" * 40
    write_record(tmp_path, other)
    first, second = sets(tmp_path)
    curve = by_name(figure_of(first, "scan-all-time-ratio"))["auto"]
    assert [(cell.x, cell.stat.median, cell.stat.count) for cell in curve.cells] == [
        (0, 3.0, 1),
        (20, 4.0, 1),
        (100, 5.0, 1),
    ]
    assert (first.commit, second.commit) == ("0123456", "fffffff")


@pytest.mark.parametrize(("ratios", "first"), [([0], "0123456"), ([0, 20], "fffffff")])
def test_a_narrow_run_does_not_take_the_place_of_a_wide_one(
    ratios: list[int], first: str, tmp_path: Path
) -> None:
    """The newest set comes first that is half as wide as the widest, whatever was made since."""
    wide = {("scan/all", ratio, 100): [1.0] for ratio in (0, 20, 100)}
    write_record(tmp_path, with_times("auto", wide))
    newer = with_times("auto", {("scan/all", ratio, 100): [2.0] for ratio in ratios})
    newer["run"] |= {"commit": "f" * 40, "started_utc": "2099-01-01T00:00:00Z"}
    write_record(tmp_path, newer)
    assert sets(tmp_path)[0].commit == first


def test_overlapping_ranges_show_no_difference(tmp_path: Path) -> None:
    """Only who merges competes; who reads base files alone is stale and never best."""
    times = {"native": [0.5], "merge": [1.1, 1.4], "hudi-rs": [3.0, 4.0], "auto": [1.0, 1.2]}
    for reader, samples in times.items():
        write_record(tmp_path, with_times(reader, {("scan/all", 20, 100): samples}))
    [one] = sets(tmp_path)
    figure = figure_of(one, "scan-all-time-ratio")
    # From the fastest on; what reads base files alone stands behind all others.
    assert [c.reader.name for c in figure.curves] == ["auto", "merge", "hudi-rs", "native"]
    curves = by_name(figure)
    cells = {name: curve.cells[0] for name, curve in curves.items()}
    assert {name for name, curve in curves.items() if curve.stale} == {"native"}
    assert (cells["auto"].best, cells["merge"].same) == (True, True)
    assert not cells["hudi-rs"].same
    assert cells["native"].times is None
    assert cells["hudi-rs"].times == pytest.approx(3.5 / 0.5)


def test_a_wrong_answer_has_no_point(tmp_path: Path) -> None:
    """It is named beside the figure, with its reason."""
    record = with_times("hudi-rs", {("tpch/q01", 0, 100): [1.0]})
    wrong = next(t for t in make_record("hudi-rs")["timings"] if t["outcome"] == "fail")
    record["timings"].append(wrong | {"over": record["timings"][0]["over"]})
    write_record(tmp_path, record)
    [one] = sets(tmp_path)
    assert figures(one) == []


def test_the_first_page_takes_the_widest_runs_at_20_per_cent(tmp_path: Path) -> None:
    """What is told there is a point of the curves."""
    found = cost_at(sets(make_results(tmp_path))[0], 20.0)
    assert found is not None
    what, curves = found
    assert what == "scan/all"
    assert {curve.reader.name for curve in curves if curve.stale} == {"native", "pyarrow"}


def test_ratios_of_queries_are_the_ones_stated(tmp_path: Path) -> None:
    """Two readers, two queries: (1 ms + t) / (1 ms + best), and their geometric mean."""
    at = ("tpch/q01", 20, 100), ("tpch/q02", 20, 100)
    write_record(tmp_path, with_times("auto", {at[0]: [0.009], at[1]: [0.039]}))
    write_record(tmp_path, with_times("merge", {at[0]: [0.019], at[1]: [0.019]}))
    write_record(tmp_path, with_times("native", {at[0]: [0.001], at[1]: [0.001]}))
    [table] = query_tables(sets(tmp_path)[0])
    assert [reader.name for reader in table.readers] == ["auto", "merge", "native"]
    ratios = [[answer.ratio for answer in row.answers] for row in table.rows]
    assert ratios == [[1.0, pytest.approx(2.0), None], [pytest.approx(2.0), 1.0, None]]
    assert table.means == [pytest.approx(2**0.5), pytest.approx(2**0.5), None]
    assert table.times[0] == pytest.approx((0.009 * 0.039) ** 0.5)


def test_what_tables_cost_their_writer_is_told_once(tmp_path: Path) -> None:
    """By form and update ratio, whoever read them, where every slice is changed."""
    stored = {"bytes": 4096, "seconds": {"create": 3.0, "upsert": 1.5, "delete": 0.5}}
    for reader in ("auto", "merge"):
        at = [("scan/all", ratio, 100) for ratio in (0, 20)] + [("scan/all", 20, 20)]
        record = with_times(reader, {place: [1.0] for place in at})
        for timing in record["timings"]:
            changed = timing["over"]["dimensions"]["update_ratio"]
            kept = stored if changed else {"bytes": 1024, "seconds": {"create": 3.0}}
            timing["over"]["stored"] = kept
        write_record(tmp_path, record)
    [one] = sets(tmp_path)
    [form] = written(one)
    assert form.name == "hudi"
    assert [(at.ratio, at.bytes, at.change_seconds) for at in form.points] == [
        (0, 1024, None),
        (20, 4096, 2.0),
    ]
    svg = str(size_chart([form])) + str(writing_chart([form]))
    assert "hudi, 20 %: 4.00 KiB" in svg
    assert "hudi, 20 %: 2.00 s" in svg


def test_a_single_reader_has_no_ratio(tmp_path: Path) -> None:
    """Whoever runs alone is not the best of anybody."""
    write_record(tmp_path, with_times("auto", {("tpch/q01", 20, 100): [0.009]}))
    [table] = query_tables(sets(tmp_path)[0])
    assert list(table.means) == [None]
    assert table.times[0] == pytest.approx(0.009)


def test_who_wins_from_which_chunk_size_on(tmp_path: Path) -> None:
    """A turn stands where the fastest changes; the copy is no competitor."""
    write_record(tmp_path, exchange_record())
    timed = find_seam("exchange").timed
    records = load_records(tmp_path).records
    [family] = families(records, [("exchange", one) for one in timed])
    [group] = family.groups
    assert group.label == "shuffle, 2 workers"
    assert [(turn.rows, turn.names) for turn in group.turns] == [
        (64, ["pass-through"]),
        (512, ["sockets presto"]),
    ]
    rate_ = group.rates["sockets presto"][4096]
    assert rate_.times == pytest.approx(4.0)
    assert rate_.bytes_per_second == pytest.approx(1e9)
    assert rate_.copy == pytest.approx(5e-4)


def test_the_winner_is_told_by_the_newest_runs_that_compare(tmp_path: Path) -> None:
    """Newer runs of one way alone are on the page of seams, and leave the first page its card."""
    alone = exchange_record()
    alone["run"] |= {"id": "f00d01", "commit": "e" * 40, "started_utc": "2026-11-25T10:15:00Z"}
    alone["timings"] = [one for one in alone["timings"] if "/sockets/" in one["case"]]
    for record in (exchange_record(), alone):
        write_record(tmp_path, record)
    loaded = load_records(tmp_path)
    known = [("exchange", one) for one in find_seam("exchange").timed]
    [newest] = families(loaded.records, known)
    found = start_of(loaded, [], families(loaded.records, known, comparing=True), {}).winners
    assert newest.runs.commit == "eeeeeee"
    assert found is not None
    assert found[0].runs.commit != "eeeeeee"
    assert [turn.rows for turn in found[1][0].turns] == [64, 512]
    assert (
        start_of(loaded, [], families(loaded.records[-1:], known, comparing=True), {}).winners
        is None
    )


def test_a_newer_run_of_one_format_hides_no_comparison_of_several(tmp_path: Path) -> None:
    """What merging costs is told by the newest of the runs with the most formats."""
    several, alone = make_record("auto"), make_record("auto", "f00d02")
    others = [{**one, "over": {**one["over"], "format": "paimon"}} for one in several["timings"]]
    several["timings"] += others
    alone["run"] |= {"commit": "e" * 40, "started_utc": "2026-11-25T10:15:00Z"}
    for record in (several, alone):
        write_record(tmp_path, record)
    found = start_of(load_records(tmp_path), [], [], {}).cost
    assert found is not None
    assert {curve.reader.format for curve, _, _ in found.rows} == {"hudi", "paimon"}


def test_ways_compete_where_no_number_of_rows_is_told(tmp_path: Path) -> None:
    """Ways of carrying the same are bars of one figure, the fastest first; none turns at 0 rows."""
    record = exchange_record()
    several = record["timings"][2], record["timings"][5]
    names = ("exchange-rows/pass-through", "exchange-rows/sockets+presto")
    record["timings"] = [one | {"case": name} for one, name in zip(several, names, strict=True)]
    write_record(tmp_path, record)
    known = [("exchange", one) for one in find_seam("exchange").timed]
    [family] = families(load_records(tmp_path).records, known)
    [group] = family.groups
    assert [(bar.name, bar.percent) for bar in rate_bars(family, group)] == [
        ("sockets+presto", 100),
        ("pass-through", 25),
    ]
    assert not family.compares


@pytest.mark.parametrize("is_quiet_there", [True, False])
def test_the_first_page_has_times_of_a_busy_machine_where_it_has_no_others(
    tmp_path: Path, is_quiet_there: bool
) -> None:
    """Whoever measures on a machine of today sees the run, under a title that says what it is."""
    busy = make_record("auto", "f00d02")
    busy["run"] |= {"busy": {"waited": 0.0, "before": 40.0, "during": 40.0}, "commit": "e" * 40}
    busy["run"]["started_utc"] = "2026-11-25T10:15:00Z"
    for record in (busy, make_record("auto"))[: 1 + is_quiet_there]:
        write_record(tmp_path / "results", record)
    index = build(tmp_path / "results", tmp_path / "site").read_text("utf-8")
    assert ("What merging cost, beside other work" in index) is not is_quiet_there
    assert ("What merging costs <a" in index) is is_quiet_there
    assert ("commit eeeeeee" in index) is not is_quiet_there


def test_the_same_query_over_other_tables_has_a_bar_of_each(tmp_path: Path) -> None:
    """What rows are called tells runs of one case apart; an answer's bytes are no speed."""
    record = exchange_record()
    several = zip(record["timings"][:2], ("plain", "changed"), (4e-3, 6e-3), strict=True)
    record["timings"] = [
        one
        | {"case": "evolved/duckdb/sums", "hot": [took] * 7}
        | {"over": one["over"] | {"name": f"lineitem, delta, {name}"}}
        for one, name, took in several
    ]
    write_record(tmp_path, record)
    known = [("scan", one) for one in find_seam("scan").timed]
    [family] = families(load_records(tmp_path).records, known)
    [group] = family.groups
    assert (family.seam, group.label) == ("scan", "duckdb, sums")
    assert [(bar.name, bar.text) for bar in rate_bars(family, group)] == [
        ("lineitem, delta, plain", "4.00 ms"),
        ("lineitem, delta, changed", "6.00 ms"),
    ]


def test_cases_that_no_seam_knows_are_shown_by_name(tmp_path: Path) -> None:
    """A family from outside, or with parts that nobody declared, keeps its numbers of rows."""
    record = exchange_record()
    for timing in record["timings"]:
        timing["case"] = timing["case"].replace("exchange-workers/shuffle", "toy/one/more/part")
    write_record(tmp_path, record)
    [family] = families(load_records(tmp_path).records, [])
    assert family.seam == "toy"
    assert {group.label for group in family.groups} == {
        "one/more/part/pass-through/none/2",
        "one/more/part/sockets/presto/2",
    }
    assert family.groups[0].rows == [64, 512, 4096]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (seconds(0.0000123), "12.3 µs"),
        (seconds(0.5), "500 ms"),
        (seconds(12.345), "12.3 s"),
        (seconds(1234.5), "1,234 s"),
        (factor(1.05), "1.1\N{MULTIPLICATION SIGN}"),
        (factor(0.934), "0.93\N{MULTIPLICATION SIGN}"),
        (factor(123.4), "123\N{MULTIPLICATION SIGN}"),
        (size(1536), "1.50 KiB"),
        (rate(2.5e9), "2.50 GB/s"),
    ],
)
def test_numbers_are_short(text: str, said: str) -> None:
    """Three digits that count, two for a factor, and no powers of ten."""
    assert text == said


@pytest.mark.parametrize(
    "values", [[(0, 1.0)], [(0, 0.0), (1, 0.0)], [(0, 1e-9), (100, 1e9)], [(5, 1.0), (5.5, 1.0)]]
)
def test_any_times_can_be_drawn(values: list[tuple[float, float]]) -> None:
    """One point, only zeros, or eighteen powers of ten: every point lies within the drawing."""
    drawn = [Point(x, y, y, y, f"{x}: <{y}>", "r.json") for x, y in values]
    svg = line_chart(
        [Line("<b>", 0, drawn)], title='"', x_label="&", y_text=seconds, x_text="{:g}".format
    )
    assert svg.count("<a href") == len(values)
    assert "<b>" not in svg
    assert "nan" not in svg


def test_slices_with_logs_are_compared_with_the_engine_on_the_jvm(tmp_path: Path) -> None:
    """At each share: seconds, slices read natively, what Java's seconds went to, and the factor."""
    at = {("scan/all", 0, 100): [1.0], ("scan/all", 20, 20): [2.0], ("scan/all", 20, 100): [4.0]}
    ours = with_times("auto", at)
    ours["implementation"]["name"] = "jni"
    for timing in ours["timings"]:
        share = timing["over"]["dimensions"]["slice_share"]
        timing["paths"] = {"native": 4, "jni": 1} if share == 20 else {"jni": 5}
        timing["spent"] = {"open": 1.0, "read": 1.5, "convert": 0.5, "fill": 1.0}
    write_record(tmp_path, ours)
    engine = with_times("auto", {key: [12.0] for key in at})
    engine["implementation"]["name"] = "spark-hudi"
    write_record(tmp_path, engine)
    (table,) = slice_tables(sets(tmp_path)[0])
    rows = {row.reader.name: row for row in table.rows}
    cells = rows["jni"].cells
    assert table.shares == [0, 20, 100]
    assert [cells[share].times for share in table.shares] == [12.0, 6.0, 3.0]
    assert [cells[share].native for share in table.shares] == [0.0, 80.0, 0.0]
    assert cells[20].spent == {"open": 25.0, "read": 37.5, "convert": 12.5, "fill": 25.0}
    assert all(cell.times is None for cell in rows["spark-hudi"].cells.values())


def test_tables_that_lack_a_dimension_are_a_curve_of_their_own(tmp_path: Path) -> None:
    """Copy-on-write tables, which have no logs, do not take the place of those that have."""
    write_record(tmp_path, with_times("auto", {("scan/all", 0, 100): [1.0]}))
    write_record(tmp_path, with_times("auto", {("scan/all", 20, 100): [2.0]}))
    plain = with_times("auto", {("scan/all", 0, 100): [7.0]})
    for timing in plain["timings"]:
        timing["over"] = timing["over"] | {"name": "cow-v9", "dimensions": {"table_version": 9}}
    write_record(tmp_path, plain)
    [one] = sets(tmp_path)
    found = figure_of(one, "scan-all-time-ratio").curves
    assert {curve.reader.label: [c.stat.median for c in curve.cells] for curve in found} == {
        "auto \N{MIDDLE DOT} hudi": [1.0, 2.0],
        "auto \N{MIDDLE DOT} hudi, no log format, no ordering, no slices": [7.0],
    }


def at_scale(record: dict[str, Any], scale: float, peak: int) -> dict[str, Any]:
    """A record as if its tables were of another scale, with this much memory."""
    timings = [
        timing | {"over": timing["over"] | {"scale": scale}, "peak_bytes": peak}
        for timing in record["timings"]
    ]
    return record | {"timings": timings, "run": record["run"] | {"id": f"{int(scale * 10):06x}"}}


def test_growth_compares_scales_of_one_commit_and_machine(tmp_path: Path) -> None:
    """Factors are of the next smaller scale; another commit's run at a third scale is left out."""
    for scale, seconds_, peak in ((0.1, 0.5, 100), (1, 4.0, 150), (10, 44.0, 165)):
        record = with_times("auto", {("scan/all", 20, 100): [seconds_]})
        write_record(tmp_path, at_scale(record, scale, peak))
    other = at_scale(with_times("auto", {("scan/all", 20, 100): [9.0]}), 30, 1)
    other["run"]["commit"] = "f" * 40
    write_record(tmp_path, other)
    alone, *alike = sorted(sets(tmp_path), key=lambda one: one.commit != "fffffff")
    [table] = growth_tables(alike[0], [alone, *alike])
    [row] = table.rows
    assert growth_tables(alone, [alone, *alike]) == []
    assert (table.title, table.scales) == ("scan of all columns", [0.1, 1, 10])
    assert (row.changes, row.stale) == ("20 % updated", False)
    assert [
        (cell.stat.median, cell.cpu, cell.time_factor, cell.peak_factor)
        for cell in row.cells.values()
    ] == [(0.5, 0.5, None, None), (4.0, 4.0, 8.0, 1.5), (44.0, 44.0, 11.0, 1.1)]


def test_queries_have_a_table_of_slices_too(tmp_path: Path) -> None:
    """The geometric mean of all queries, against the engine's; paths and seconds are sums."""
    times = {"tpch/q01": 1.0, "tpch/q06": 4.0}
    at = {(case, 20, share): [each] for case, each in times.items() for share in (20, 100)}
    ours = with_times("auto", at)
    for timing in ours["timings"]:
        timing["paths"] = {"native": 1, "jni": 1 if timing["case"] == "tpch/q01" else 2}
        timing["spent"] = {"read": times[timing["case"]], "fill": 1.0}
    native = with_times("native", at)
    engine = with_times("auto", {key: [12.0] for key in at})
    engine["implementation"]["name"] = "spark-hudi"
    for record in (ours, native, engine):
        write_record(tmp_path, record)
    (table,) = slice_tables(sets(tmp_path)[0])
    rows = {row.reader.name: row for row in table.rows}
    cell = rows["auto"].cells[20]
    assert cell.stat.median == pytest.approx(2.0)
    assert cell.times == pytest.approx(6.0)
    assert cell.native == 40.0
    assert cell.spent == {"read": pytest.approx(500 / 7), "fill": pytest.approx(200 / 7)}
    assert table.rows[-1].stale
    assert table.rows[-1].reader.name == "native"
    assert rows["native"].cells[20].times is None


def test_shares_of_slices_are_a_dimension() -> None:
    """Each share is a layout; none of the slices is the table without changes."""
    from seambench.data import curve_layouts

    assert curve_layouts(["hudi"], (), [0, 5, 100]) == (
        "mor-v9-event-avro-u0-s100",
        "mor-v9-event-avro-u20-s5",
        "mor-v9-event-avro-u20-s100",
    )
    assert len(curve_layouts(["hudi"])) == 6
    assert curve_layouts(["hudi"], [50], [20]) == ("mor-v9-event-avro-u50-s20",)


@pytest.mark.parametrize(
    ("asked", "slices", "counted", "told"),
    [(5, 5, None, 20), (20, 5, None, 20), (50, 5, None, 40), (20, 8, None, 25), (20, 20, 3, 15)],
)
def test_a_share_of_slices_is_the_one_that_was_counted(
    tmp_path: Path, asked: int, slices: int, counted: int | None, told: int
) -> None:
    """Not the one that was asked for: of five slices 5 % are one, and that is 20 %."""
    record = with_times("auto", {("scan/all", 20, 20): [1.0]})
    for timing in record["timings"]:
        at = timing["over"]["dimensions"]
        at |= {"slice_share": asked, "slices": slices}
        at |= {} if counted is None else {"slices_with_logs": counted}
    write_record(tmp_path, record)
    (one,) = sets(tmp_path)
    assert [point.share for point in measured(one)] == [told]
    assert [point.reader.variant for point in measured(one)] == [""]


@pytest.mark.parametrize(
    ("of_run", "samples", "pages", "first"),
    [
        ({}, 7, True, True),
        ({}, 6, False, False),
        ({"dirty": True}, 7, False, False),
        ({"busy": {"waited": 0.0, "before": 40.0}}, 7, True, False),
        ({"busy": None}, 7, True, False),
    ],
)
def test_few_samples_and_changed_checkouts_are_no_figures(
    tmp_path: Path, of_run: dict[str, Any], samples: int, pages: bool, first: bool
) -> None:
    """They stay off every page, and what was timed beside others off the first; that is said."""
    record = with_times("auto", {("scan/all", 20, 100): [1.0] * samples})
    run = record["run"] | of_run
    record["run"] = {name: value for name, value in run.items() if value is not None}
    write_record(tmp_path, record)
    loaded = load_records(tmp_path)
    kept = [
        bool(with_figures(loaded, quiet=quiet).records[0].record.timings) for quiet in (False, True)
    ]
    assert kept == [pages, first]
    assert bool(left_out(loaded)) == (not first)
    assert ("1 of 1 timings on record are no figures" in left_out(loaded)) == (not pages)
    assert ("1 of 1 timings on record stay off the first page where" in left_out(loaded)) == (
        pages and not first
    )

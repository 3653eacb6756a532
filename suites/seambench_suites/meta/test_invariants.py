"""The second pass finds readers that answer otherwise when asked otherwise, or than others do."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.dataset import ScanDataset
from seambase.errors import RefusedError
from seambase.filters import filter_columns
from seambench.conformance.load import load_cases
from seambench.conformance.run import Run
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.contracts.registry import resolve
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import _check_filters, unpacked
from seambench.seams.scan.invariants import hold_invariants
from seambench.seams.scan.ways import OUTLETS, Way, all_ways, drawn, hold_way, pairwise
from seambench_suites.meta import wrong_readers
from seambench_suites.meta.simulated import SimulatedReader, SimulatedScan

_TABLE = "scan/hudi/scenarios/windows@v9"


def _case(id_: str) -> ScanCase:
    for case in load_cases("scan"):
        if case.id == id_ and isinstance(case, ScanCase):
            return case
    raise AssertionError(id_)


def test_equal_rows_have_equal_digests() -> None:
    """A reader that holds every invariant is known by a digest of its rows."""
    case = _case(f"{_TABLE}/snapshot")
    assert hold_invariants(case, SimulatedReader()) == hold_invariants(case, SimulatedReader())


@pytest.mark.parametrize("reader", [wrong_readers.LosesTheLastBatch, wrong_readers.CountsOneFewer])
def test_rows_that_depend_on_the_asking_are_found(reader: type[SimulatedReader]) -> None:
    """Fewer rows in small batches, or without columns, are a mismatch without any expectation."""
    with pytest.raises(Mismatch):
        hold_invariants(_case(f"{_TABLE}/snapshot"), reader())


class _Filters(SimulatedReader):
    """Applies a filter by itself, but for those that name a text, which it refuses."""

    capabilities: Mapping[str, bool] = {**SimulatedReader.capabilities, "where": True}

    def open(self, request: ScanRequest) -> SimulatedScan:
        scan = super().open(replace(request, where=None))
        if request.where is None:
            return scan
        if "'" in request.where:
            raise RefusedError(f"{request.table}: no filter by texts")
        with duckdb.connect() as engine:
            engine.register("found", scan.table)
            # The condition is the suite's own.
            table = engine.sql(f"FROM found WHERE {request.where}").to_arrow_table()
        return SimulatedScan(table.cast(scan.schema), request.batch_rows)


@pytest.mark.parametrize(
    "reader", [wrong_readers.LosesARowOfARange, wrong_readers.FiltersBelowTheMerge]
)
def test_rows_that_depend_on_a_condition_are_found(reader: type[SimulatedReader]) -> None:
    """One loses rows of `k > 1` by its dataset, one filters by itself before it merges."""
    assert hold_invariants(_case(f"{_TABLE}/snapshot"), _Filters())
    with pytest.raises(Mismatch, match="where"):
        hold_invariants(_case(f"{_TABLE}/snapshot"), reader())


_STRUCTS = pa.table(
    {
        "k": range(5),
        "s": [{"i": 1, "t": "x"}, {"i": None, "t": None}, None, {"i": 2, "t": "y"}, {"i": 1}],
    }
)


_PLAIN = pa.table({"k": range(5), "t": ["a", "b", None, "c", "d"], "v": [1, 1, 2, None, 3]})


def _is_of_a_field(condition: pc.Expression) -> bool:
    return "Nested" in str(condition) or "struct_field" in str(condition)


def _passed_over(condition: pc.Expression) -> pc.Expression:
    """Conditions on fields are not looked at: all rows are left."""
    return pc.scalar(True) if _is_of_a_field(condition) else condition


def _of_the_struct(condition: pc.Expression) -> pc.Expression:
    """A field is taken for null where its struct is: rows with a null in one are left, too."""
    field = pc.field("s", "i").is_null() & pc.field("s").is_valid()
    return condition | field if _is_of_a_field(condition) else condition


@pytest.mark.parametrize("outlet", ["dataset", "dataset in DuckDB"])
@pytest.mark.parametrize("wrong_as", [None, _passed_over, _of_the_struct])
def test_rows_that_depend_on_a_field_within_a_column_are_found(
    wrong_as: Callable[[pc.Expression], pc.Expression] | None, outlet: str
) -> None:
    """Conditions on fields of structs are pushed down like those on columns."""

    def by(columns: Sequence[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        if condition is not None and wrong_as is not None:
            condition = wrong_as(condition)
        found = _STRUCTS if condition is None else _STRUCTS.filter(condition)
        return found.select(columns).to_reader()

    class Reader(SimulatedReader):
        def open(self, request: ScanRequest) -> SimulatedScan:
            scan = SimulatedScan(_STRUCTS, request.batch_rows)
            setattr(scan, "dataset", lambda: ScanDataset(_STRUCTS.schema, by))  # noqa: B010
            return scan

    way = Way(outlet, None, 1, None, filtered=True)
    for seed in map(str, range(20)):
        try:
            hold_way(Reader(), ScanRequest(table=""), way, seed)
        except Mismatch:
            assert wrong_as is not None
            return
    assert wrong_as is None


@pytest.mark.parametrize("outlet", ["dataset", "dataset in DuckDB"])
def test_rows_that_depend_on_the_columns_shown_are_found(outlet: str) -> None:
    """Queries show some columns and test others: here rows come twice where one tests another."""

    def by(columns: Sequence[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        tested = filter_columns(condition, _PLAIN.schema)
        found = _PLAIN if condition is None else _PLAIN.filter(condition)
        twice = tested and not {*tested} & {*columns}
        return pa.concat_tables([found] * (2 if twice else 1)).select(columns).to_reader()

    class Reader(SimulatedReader):
        def open(self, request: ScanRequest) -> SimulatedScan:
            scan = SimulatedScan(_PLAIN, request.batch_rows)
            setattr(scan, "dataset", lambda: ScanDataset(_PLAIN.schema, by))  # noqa: B010
            return scan

    way = Way(outlet, None, 1, None, filtered=True)
    asked = [partial(hold_way, Reader(), ScanRequest(table=""), way, str(n)) for n in range(20)]
    with pytest.raises(Mismatch):
        all(ask() is None for ask in asked)


@pytest.mark.parametrize(
    ("outlet", "why"),
    [
        ("lazy", "a lazy frame of Polars has a column"),
        ("numbered", "a lazy frame of Polars has a column"),
        ("dataset in DuckDB", "a relation of DuckDB has a column"),
    ],
)
def test_rows_without_columns_are_asked_of_no_engine(outlet: str, why: str) -> None:
    """To such an engine they would be none, so that nothing would be compared."""
    with unpacked(_case(f"{_TABLE}/snapshot")) as request:
        way = Way(outlet, None, 1, None, filtered=False)
        assert hold_way(resolve("scan", "auto"), replace(request, columns=[]), way, "") == why


@pytest.mark.parametrize("filtered", [False, True])
def test_an_engine_is_held_to_the_same_rows(filtered: bool) -> None:
    """With a condition to those that meet it, without one to all."""
    with unpacked(_case(f"{_TABLE}/snapshot")) as request:
        way = Way("dataset in DuckDB", None, 1, None, filtered=filtered)
        assert hold_way(resolve("scan", "auto"), request, way, "a seed") is None


def test_the_pass_says_why_an_outlet_is_closed() -> None:
    """Each outlet has a verdict; one that the scan has not is `not-offered`, with why."""
    name = f"{SimulatedReader.__module__}:SimulatedReader"
    outcomes = list(Run("scan", [name], patterns=[f"{_TABLE}/snapshot#*"]).extra_pass("ways"))
    by_outlet = {one.case.partition("#")[2]: (one.outcome, one.reason) for one in outcomes}
    assert list(by_outlet) == list(OUTLETS)
    assert by_outlet["dataset"] == ("pass", "")
    assert by_outlet["lazy"] == ("not-offered", "the scan has no lazy")
    assert by_outlet["relation"] == ("not-offered", "the scan has no relation")


def test_a_limit_of_settings_is_tried_where_a_case_asks_several_questions() -> None:
    """All settings of the newest state, of other questions those that meet each two."""
    assert len(all_ways()) == len(OUTLETS) * 4 * 2 * 2 * 2
    assert set(pairwise()) < set(all_ways())


def test_every_two_settings_come_together() -> None:
    """Of outlets, sizes of batches, threads, memory and filters; far fewer ways than all."""
    ways = pairwise()
    settings = [tuple(vars(way).items()) for way in ways]
    met = {pair for one in settings for pair in itertools.combinations(one, 2)}
    values: dict[str, set[Any]] = {}
    for name, value in itertools.chain.from_iterable(settings):
        values.setdefault(name, set()).add(value)
    assert values["outlet"] == set(OUTLETS)
    for one, other in itertools.combinations(vars(ways[0]), 2):
        for pair in itertools.product(values[one], values[other]):
            assert ((one, pair[0]), (other, pair[1])) in met
    assert len(ways) < 60
    assert {drawn(number) for number in range(1000)} == set(ways)


@pytest.mark.parametrize("way", pairwise(), ids=str)
def test_an_outlet_that_a_scan_has_not_says_so(way: Way) -> None:
    """Of a reader of streams and datasets alone those are compared, and of others it is told."""
    case = _case(f"{_TABLE}/snapshot")
    with unpacked(case) as request:
        why = hold_way(SimulatedReader(), request, way, case.id)
    has = ("to_reader", "dataset", "dataset in DuckDB", "dataset in Polars")
    assert (why is None) == (way.outlet in has), why


def test_refusals_have_no_rows_to_compare() -> None:
    """A case that expects a refusal is not asked."""
    with pytest.raises(NotOffered, match="refusal"):
        hold_invariants(
            _case("scan/hudi/scenarios/table-version-99@v9/snapshot"), SimulatedReader()
        )


def test_readers_that_disagree_are_found() -> None:
    """Each holds its own invariants; that their rows differ is told under both names."""
    module = "seambench_suites.meta"
    names = [f"{module}.simulated:SimulatedReader", f"{module}.wrong_readers:IgnoresTheWindow"]
    run = Run("scan", names, patterns=[f"{_TABLE}/since-the-first"])
    *single, last = run.extra_pass("invariants")
    assert [outcome.outcome for outcome in single] == ["pass", "pass"]
    assert last.implementation == " = ".join(names)
    assert last.outcome == "fail"


def test_each_value_of_a_check_is_asked_of_the_reader_by_itself() -> None:
    """DuckDB reads an object once for all parts of a query that scan it, and filters by itself."""
    table = pa.table({"k": [1, 2, 2, None], "0": ["a", None, "b", "b"], "x": [0.5, 1.5, None, 2.5]})
    asked, lost = list[str](), set[str]()

    def opened(columns: list[str], expression: pc.Expression | None) -> pa.RecordBatchReader:
        asked.append(str(expression))
        kept = table if expression is None else table.filter(expression)
        return kept.slice(asked[-1] in lost).select(columns).to_reader()

    class Scan:
        schema = table.schema

        def dataset(self) -> ScanDataset:
            return ScanDataset(table.schema, opened)

    rows = list(zip(*table.to_pydict().values(), strict=True))
    _check_filters(cast("Any", Scan()), rows, table.schema.names)
    no = "is_null({}, {{nan_is_null=false}})".format
    values = ["(k == 1)", "(k == 2)", '(0 == "a")', '(0 == "b")']
    assert sorted(asked) == sorted(["None", no("k"), no("0"), no("x"), *values])
    lost.add("(k == 2)")
    with pytest.raises(Mismatch, match='"k" = 2 differs from the full read: 2 rows expected, 1'):
        _check_filters(cast("Any", Scan()), rows, table.schema.names)

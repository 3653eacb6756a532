"""The comparison judges before it times, and every reader gets a record."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, SeambenchError, UsageError
from seambench.bench import comparison
from seambench.bench.apart import Here
from seambench.bench.comparison import ComparisonOptions, compare_readers
from seambench.bench.listener import Listener
from seambench.bench.quiet import Watch
from seambench.bench.unfinished import Unfinished
from seambench.contracts import registry
from seambench.data import Dataset
from seambench.data.tpch import TABLES, generate_single_process
from seambench.engines.digest import digest_reader, rows_of
from seambench.records.files import validate_tree, write_record
from seambench.records.model import Answered, Conformance, Record, Skipped, Timing
from seambench.records.writer import failures

FAKES = "seambench_tests.samples.fakes:"
HUDI = ("lineitem", "orders")


class FakeSuite:
    """Three queries: ordered, unordered with a double, and one over two tables."""

    queries: Mapping[int, str] = {
        1: "SELECT l_returnflag, sum(l_quantity) AS q FROM lineitem GROUP BY 1 ORDER BY 1",
        2: "SELECT avg(l_discount) AS d FROM lineitem WHERE l_shipdate < DATE '1995-01-01'",
        3: "SELECT o_orderpriority, count(*) AS n FROM orders, customer "
        "WHERE o_custkey = c_custkey AND o_orderdate >= DATE '1996-01-01' GROUP BY 1 ORDER BY 1",
    }

    def ordered(self, number: int) -> bool:
        """Query 2 gives one row."""
        return number != 2

    def published_answers(self, scale: float) -> Mapping[int, list[str]]:
        """For each query the problems that a comparison with it finds."""
        assert scale == 1
        return dict.fromkeys(self.queries, PROBLEMS)


PROBLEMS: list[str] = []


def published_difference(published: list[str], rows: Any) -> str | None:
    """What the test says; found beside the suite."""
    assert rows
    return published[0] if published else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TPC-H rows at a tiny scale; two tables end with `ts` and have another base state."""
    root = tmp_path_factory.mktemp("data")
    generate_single_process(0.001, root / "made", tuple(TABLES))
    for name, facts in TABLES.items():
        table = pq.read_table(root / "made" / f"{name}.parquet").cast(facts.schema)
        if name in HUDI:
            table = table.append_column("ts", pa.array([1000] * table.num_rows, pa.int64()))
        (root / name).mkdir()
        pq.write_table(table, root / name / "part.parquet")
    return root


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Dataset:
    """The folder as a data set whose two states are alike."""

    def entry(name: str) -> dict[str, Any]:
        digest = digest_reader(pq.read_table(folder / name / "part.parquet"))
        return {"path": name, "ts": None, "rows": rows_of(digest), "digest": digest}

    state = {name: entry(name) for name in TABLES}
    knobs = {
        "generator": "tpchgen-cli 4",
        "update_ratio": 0,
        "slice_share": 100,
        "table_version": 9,
        "ordering": "event",
        "log_format": "avro",
        "slices": 1,
    }
    manifest = {
        "layout": "mor-v9-event-avro-u0-s100",
        "scale": 0.001,
        "knobs": knobs,
        "tables": {
            name: {"kind": "hudi" if name in HUDI else "parquet", "path": name} for name in TABLES
        },
        "expected": {"snapshot": state, "base": state},
    }
    return Dataset(folder, manifest)


@pytest.fixture(autouse=True)
def suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake suite under the name of the real one."""
    monkeypatch.setattr(registry, "resolve_suite", lambda _: FakeSuite())


@pytest.fixture(autouse=True)
def homes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers run here; in processes of their own, which start anew, where a test is of that."""
    if "apart" not in request.fixturenames:
        monkeypatch.setattr(comparison, "Apart", lambda _: Here())


@pytest.fixture
def apart() -> None:
    """Readers run where they do in every comparison."""


def options(dataset: Dataset, *readers: str, **more: Any) -> ComparisonOptions:
    """A quick comparison of fakes."""
    known: dict[str, Any] = {"queries": (1, 2, 3), "samples": 2, "memory": False, **more}
    return ComparisonOptions([FAKES + name for name in readers], [dataset], **known)


def answers(record: Record) -> list[Answered]:
    """Its timings, which all have answers."""
    found = [timing for timing in record.timings if isinstance(timing, Answered)]
    assert len(found) == len(record.timings)
    return found


def outcomes(record: Record) -> dict[str, str]:
    """Outcome of each case."""
    return {timing.case: timing.outcome for timing in record.timings}


CASES = ["scan/all", "scan/q6", "scan/count", "tpch/q01", "tpch/q02", "tpch/q03"]


@pytest.mark.usefixtures("apart")
def test_a_right_reader_is_timed(dataset: Dataset, tmp_path: Path) -> None:
    """Every case has raw samples beside an answer that equals the oracle's, in a sound record."""
    [record] = compare_readers(options(dataset, "FolderScanner"))
    assert outcomes(record) == dict.fromkeys(CASES, "pass")
    for timing in answers(record):
        assert (len(timing.cold), len(timing.hot), len(timing.cpu)) == (1, 2, 2)
        assert timing.answer == timing.expected
    assert answers(record)[0].rows == dataset.expected()["lineitem"].rows
    assert answers(record)[0].paths == {"native": 1}
    assert answers(record)[3].paths == {"native": 2}
    write_record(tmp_path, record)
    assert validate_tree(tmp_path) == []
    assert failures([record]) == []


def test_a_reader_that_gives_no_answer_has_no_time(dataset: Dataset, tmp_path: Path) -> None:
    """It stands in a record with its reason, without samples and folders of this machine."""
    without = {
        "LossyScanner": ("fail", "rows expected"),
        "BrokenScanner": ("error", "/lineitem/base.parquet: footer is cut off at byte 12"),
        "CrashingScanner": ("error", "ZeroDivisionError: a fault"),
        "AbsentScanner": ("unavailable", "pip install nothing"),
        "FormatlessScanner": ("not-offered", "does not state formats.hudi"),
        "RefusingScanner": ("not-offered", "neither query.snapshot nor query.read-optimized"),
    }
    good, *others = compare_readers(options(dataset, "FolderScanner", *without, queries=(1,)))
    assert set(outcomes(good).values()) == {"pass"}
    for (outcome, says), bad in zip(without.values(), others, strict=True):
        assert set(outcomes(bad).values()) == {outcome}
        for timing in answers(bad):
            assert (timing.cold, timing.hot) == ([], [])
        reason = answers(bad)[0].reason or ""
        assert says in reason
        assert "\n" not in reason
        assert str(dataset.path) not in reason
        assert len(failures([good, bad])) == (4 if outcome in ("fail", "error") else 0)
    for record in (good, *others):
        write_record(tmp_path, record)
    assert validate_tree(tmp_path) == []


@pytest.mark.usefixtures("apart")
def test_a_reader_ends_no_process_but_its_own(dataset: Dataset) -> None:
    """The other is timed all the same; the dead one has an error where it would have times."""
    asked: dict[str, Any] = {"queries": (), "scans": ("count",), "samples": 1}
    good, bad = compare_readers(options(dataset, "FolderScanner", "DyingScanner", **asked))
    assert set(outcomes(good).values()) == {"pass"}
    assert set(outcomes(bad).values()) == {"error"}
    assert (answers(bad)[0].reason or "").endswith("DyingScanner died (exit code 3)")


def test_a_reader_may_take_part_in_scans_only(dataset: Dataset) -> None:
    """It is not asked the queries; the others are."""
    both, scans = compare_readers(
        options(
            dataset,
            "FolderScanner",
            "LossyScanner",
            queries=(1,),
            scans=("count",),
            scans_only=[FAKES + "LossyScanner"],
        )
    )
    assert list(outcomes(both)) == ["scan/count", "tpch/q01"]
    assert list(outcomes(scans)) == ["scan/count"]


def test_the_conformance_of_a_reader_stands_in_its_record(dataset: Dataset) -> None:
    """The main job checks the readers it compares; each record has its own outcomes."""
    part = Conformance(seam="scan", seconds=1.0, outcomes={"pass": {"scan/a": ["b"]}})
    asked = options(dataset, "FolderScanner", "LossyScanner", queries=(), scans=("count",))
    good, bad = compare_readers(asked, conformance=[(FAKES + "FolderScanner", part)])
    assert (good.conformance, bad.conformance) == ([part], [])


def test_another_type_is_a_wrong_answer(dataset: Dataset) -> None:
    """Equal values in another type are wrong, in scans and in queries."""
    [record] = compare_readers(options(dataset, "WrongTypeScanner", queries=(1,)))
    assert outcomes(record)["scan/all"] == "fail"
    assert "must be decimal128(15, 2), it is double" in (answers(record)[0].reason or "")
    assert outcomes(record)["tpch/q01"] == "fail"


def test_a_reader_with_an_engine_answers_itself(dataset: Dataset) -> None:
    """Its engine answers over all tables, plain ones too, and may average into decimals."""
    [record] = compare_readers(options(dataset, "AnsweringScanner", scans=("count",)))
    assert set(outcomes(record).values()) == {"pass"}
    assert list(outcomes(record)) == ["scan/count", "tpch/q01", "tpch/q02", "tpch/q03"]


def test_warnings_are_kept_in_the_record(dataset: Dataset) -> None:
    """Damage that a reader skipped stands beside the time it took."""
    [record] = compare_readers(options(dataset, "WarningScanner", queries=(), scans=("count",)))
    assert answers(record)[0].warnings[0] == Skipped(
        file="log.0", offset=0, reason="block without footer"
    )


def test_memory_is_measured_in_a_process_of_its_own(dataset: Dataset) -> None:
    """A streamed scan of all columns is run once more elsewhere, and its peak recorded."""
    [record] = compare_readers(
        options(dataset, "FolderScanner", queries=(), scans=("all",), memory=True, samples=1)
    )
    assert (answers(record)[0].peak_bytes or 0) > 1 << 20
    assert answers(record)[0].growth_bytes is not None


def test_the_published_answer_binds_the_oracle(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At scale 1 without updates, an oracle that differs from the published answer is an error."""
    whole = Dataset(dataset.path, {**dataset.manifest, "scale": 1})
    chosen = {"queries": (1,), "scans": (), "samples": 1}
    compare_readers(options(whole, "FolderScanner", **chosen))
    monkeypatch.setattr(sys.modules[__name__], "PROBLEMS", ["4 rows are published, 3 returned"])
    with pytest.raises(SeambenchError, match="not the published one: 4 rows are published"):
        compare_readers(options(whole, "FolderScanner", **chosen))
    compare_readers(options(dataset, "FolderScanner", **chosen))  # of another scale


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"scans": ("some",)}, "unknown scan 'some'; the scans are all, q6, count"),
        ({"queries": (9,)}, "no query 9"),
        ({"samples": 0}, "0 samples"),
        ({"readers": ()}, "at least one reader and one data set"),
        ({"datasets": ()}, "at least one reader and one data set"),
    ],
)
def test_wrong_requests_are_told(dataset: Dataset, more: dict[str, Any], says: str) -> None:
    """A wrong option ends the comparison before anything is read."""
    with pytest.raises(UsageError, match=says):
        compare_readers(replace(options(dataset, "FolderScanner"), **more))


def test_a_data_set_needs_tables_in_a_table_format(dataset: Dataset) -> None:
    """Plain Parquet leaves nothing to compare."""
    tables = {name: {"kind": "parquet", "path": name} for name in TABLES}
    plain = Dataset(dataset.path, {**dataset.manifest, "tables": tables})
    with pytest.raises(UsageError, match="holds no table in a table format"):
        compare_readers(options(plain, "FolderScanner"))


def test_progress_is_told(dataset: Dataset) -> None:
    """The listener learns the plan, each case, each run and each result."""

    class Heard(Listener):
        def __init__(self) -> None:
            self.planned, self.cases, self.runs, self.results = 0, 0, 0, 0

        def plan(self, cases: int) -> None:
            self.planned = cases

        def case(self, dataset: str, case: str) -> None:
            assert dataset
            assert case
            self.cases += 1

        def running(self, reader: str) -> None:
            assert reader
            self.runs += 1

        def done(self, timing: Timing, reader: str) -> None:
            assert timing.outcome == "pass"
            assert reader
            self.results += 1

    heard = Heard()
    compare_readers(options(dataset, "FolderScanner", queries=(1,)), heard)

    assert (heard.planned, heard.cases, heard.runs, heard.results) == (4, 4, 12, 4)


class _Interrupting(Listener):
    """Ctrl-C when the fourth case begins; counts the runs."""

    def __init__(self, cases: int | None) -> None:
        self.left, self.runs = cases, 0

    def case(self, dataset: str, case: str) -> None:  # noqa: ARG002 - the listener's signature
        if self.left == 0:
            raise KeyboardInterrupt
        self.left = None if self.left is None else self.left - 1

    def running(self, reader: str) -> None:  # noqa: ARG002 - the listener's signature
        self.runs += 1


def test_an_interrupted_comparison_goes_on(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases that were finished keep their samples and are not run again; the record is whole."""
    monkeypatch.setattr(Watch, "disturbed", lambda _: False)  # whatever others do, no round again
    asked, plan = options(dataset, "FolderScanner"), {"samples": 2}
    first, again = _Interrupting(3), _Interrupting(None)
    with pytest.raises(KeyboardInterrupt):
        compare_readers(asked, first, unfinished=Unfinished(tmp_path, plan, resume=False))
    before = Unfinished(tmp_path, plan, resume=True)
    [(_, kept)] = before.get("scan/all")
    [record] = compare_readers(asked, again, unfinished=before)
    assert before.resumed == 3
    assert (first.runs, again.runs) == (9, 9)
    assert outcomes(record) == dict.fromkeys(CASES, "pass")
    assert answers(record)[0].hot == kept["hot"]
    write_record(tmp_path, record)
    assert validate_tree(tmp_path) == []


def test_a_journal_of_other_things_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    """What stands in a journal is checked before it is believed."""
    journal = Unfinished(tmp_path, {}, resume=False)
    journal.put("scan/all", [["x", {"kind": "answer"}]])
    with pytest.raises(InputError, match="without --resume"):
        compare_readers(options(dataset, "FolderScanner"), unfinished=journal)
    journal.file.write_text(journal.file.read_text().replace('"unfinished": ', '"unfinished": 9'))
    with pytest.raises(InputError, match="another version of Seambench wrote it"):
        Unfinished(tmp_path, {}, resume=True)

"""What a read sees of a table's history: as of an instant, and between two (docs/hudi.md)."""

from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import Query
from seamkit.tables.hudi.listing.file_groups import FileGroups, list_slices
from seamkit.tables.hudi.listing.files import may_have_changed
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.timeline import is_log_compaction
from seamkit.tables.hudi.timeline.window import NOW, Window, incremental_window
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_files import Table, at, base, log, names

_SCHEMA = '{"type": "record", "name": "r", "fields": [{"name": "k", "type": "string"}]}'


def _changed(table: Table, begin: int | None, end: int | None) -> set[str]:
    """Requested minutes of the instants whose rows an incremental query hands out."""
    bounds = [None if minute is None else at(minute) for minute in (begin, end)]
    window = incremental_window(table.load(), bounds[0], bounds[1], alone=False)
    return {i for i in map(at, range(60)) if window.sees(i) and window.hands_out(i)}


def _table(root: Path, version: int) -> Table:
    """Three writes; the second is the last to complete."""
    table = Table(root, version)
    for requested, completed in ((10, 11), (20, 45), (30, 31)):
        state = at(completed) if version >= 8 else "completed"
        table.instant(at(requested), "deltacommit", state)
    return table


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (None, None, {10, 20, 30}),
        (11, None, {20, 30}),
        (11, 31, {30}),
        (31, 45, {20}),
        (None, 44, {10, 30}),
        (45, None, set()),
        (10, 11, {10}),
    ],
)
def test_layout_2_goes_by_completion(
    tmp_path: Path, begin: int | None, end: int | None, expected: set[int]
) -> None:
    """From version 8 on an incremental query takes instants that completed in (begin, end]."""
    assert _changed(_table(tmp_path, 9), begin, end) == set(map(at, expected))


@pytest.mark.parametrize(("begin", "end", "last"), [(10, 30, 30), (None, 20, 20), (20, None, 59)])
def test_layout_1_goes_by_request(
    tmp_path: Path, begin: int | None, end: int | None, last: int
) -> None:
    """Up to version 6 an incremental query takes instants requested in (begin, end]."""
    expected = range(0 if begin is None else begin + 1, last + 1)
    assert _changed(_table(tmp_path, 6), begin, end) == set(map(at, expected))


@pytest.mark.parametrize(
    ("version", "state", "query", "is_told"),
    [
        (6, "deltacommit.inflight", {"as_of": 25}, True),
        (6, "deltacommit.requested", {"as_of": 20}, True),
        (9, "deltacommit.inflight", {"as_of": 35}, True),
        (9, "commit.requested", {"as_of": 25}, True),
        (6, "deltacommit.inflight", {"as_of": 19}, False),
        (9, "deltacommit.inflight", {}, False),
        (6, "compaction.inflight", {"as_of": 25}, False),
        (9, "clustering.requested", {"as_of": 25}, False),
        (6, "replacecommit.requested", {"as_of": 25}, False),
        (6, "deltacommit.inflight", {"begin": 10}, True),
        (6, "deltacommit.inflight", {"begin": 10, "end": 20}, True),
        (6, "deltacommit.inflight", {"begin": 20}, False),
        (6, "deltacommit.inflight", {"end": 19}, False),
        (9, "deltacommit.inflight", {"begin": 11}, False),  # which goes by completion
    ],
)
def test_a_write_that_still_runs_is_told_by_queries_that_go_beyond_it(
    tmp_path: Path, version: int, state: str, query: dict[str, int], is_told: bool
) -> None:
    """Its rows will be in the same answer later, or between two that follow each other.

    Hudi refuses such queries, but for compactions and clusterings, which change no row.
    """
    table = Table(tmp_path, version)
    for minute in (10, 30):
        completed = at(minute + 1) if version >= 8 else "completed"
        table.instant(at(minute), "deltacommit", completed, schema=_SCHEMA)
    for minute in (20, 24) if is_told else (20,):  # the first one is told
        (table.timeline / f"{at(minute)}.{state}").touch()
    if "compaction" in state:
        table.compaction(at(20), "f-0")
    how: dict[str, Any] = {name: at(minute) for name, minute in query.items()}
    how |= {"query": "incremental"} if {"begin", "end"} & query.keys() else {}
    said = [one.reason for one in HudiTable(str(tmp_path)).scan(**how).report().warnings]
    expected = f"the write of {at(20)} is not completed, and will count once it is"
    assert said == [expected] * is_told
    if is_told:
        with pytest.raises(InputError, match=f"{at(20)}.*is not completed"):
            HudiTable(str(tmp_path)).scan(strict=True, **how)
    else:
        HudiTable(str(tmp_path)).scan(strict=True, **how)


def test_now_sees_everything() -> None:
    """Without bounds every instant is seen, and no row is left out."""
    assert NOW.sees(at(1))
    assert NOW.row_filter() is None
    assert not NOW.is_incremental


def test_an_end_before_the_beginning_is_refused(tmp_path: Path) -> None:
    """An empty window is a mistake, not an empty answer."""
    with pytest.raises(UsageError, match="ends before it begins"):
        incremental_window(_table(tmp_path, 9).load(), at(20), at(10), alone=False)


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("snapshot", {"begin": at(10)}),
        ("read-optimized", {"end": at(10)}),
        ("snapshot", {"changes_alone": True}),
        ("incremental", {"as_of": at(10)}),
    ],
)
def test_bounds_belong_to_incremental_queries(
    tmp_path: Path, query: str, arguments: dict[str, object]
) -> None:
    """An argument that a query would have to ignore is refused."""
    table = _table(tmp_path, 9)
    with pytest.raises(UsageError):
        HudiTable(str(table.root)).scan(query=query, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["incremental", "cdc"])
@pytest.mark.parametrize(
    ("name", "text", "is_refused"),
    [
        ("hoodie.populate.meta.fields", "false", True),
        ("hoodie.populate.meta.fields", "true", False),
        ("hoodie.table.meta.fields.exclude.list", "_hoodie_commit_time", True),
        ("hoodie.table.meta.fields.exclude.list", "_hoodie_file_name, _hoodie_record_key", True),
        ("hoodie.table.meta.fields.exclude.list", "_hoodie_partition_path", True),
        ("hoodie.table.meta.fields.exclude.list", "_hoodie_file_name", False),
        ("hoodie.table.meta.fields.exclude.list", "", False),
    ],
)
def test_rows_without_meta_columns_have_no_changes(
    tmp_path: Path, name: str, text: str, is_refused: bool, query: Query
) -> None:
    """A row without them, or without some, does not tell when it changed, or which it is."""
    table = Table(tmp_path, 9, **{name: text})
    table.instant(at(10), "commit", at(11), schema=_SCHEMA)
    if is_refused:
        with pytest.raises(RefusedError, match=f"{name}="):
            HudiTable(str(table.root)).scan(query=query)
    else:
        assert HudiTable(str(table.root)).scan(query=query).count_rows() == 0


def test_a_compaction_after_the_end_is_not_seen(tmp_path: Path) -> None:
    """At the end of the window its logs still lay on top of the slice before."""
    table = Table(tmp_path, 9)
    table.files(base(10), log(20), base(30), log(40))
    table.instant(at(10), "commit", at(11))
    table.instant(at(20), "deltacommit", at(21))
    table.instant(at(30), "commit", at(50))
    table.instant(at(40), "deltacommit", at(41))
    window = incremental_window(table.load(), at(11), at(45), alone=False)
    (found,) = table.slices(window)
    assert names(found) == (base(10), [log(20), log(40)])


def test_changes_alone_leave_older_files_out(tmp_path: Path) -> None:
    """Hudi merges the files of the window's instants among themselves."""
    table = Table(tmp_path, 9)
    table.files(base(10), log(20), log(30))
    table.instant(at(10), "commit", at(11))
    table.instant(at(20), "deltacommit", at(21))
    table.instant(at(30), "deltacommit", at(31))
    window = incremental_window(table.load(), at(11), at(21), alone=True)
    (found,) = table.slices(window)
    assert names(found) == (None, [log(20)])


def test_a_group_replaced_after_the_end_is_seen(tmp_path: Path) -> None:
    """What replaced a group counts from its completion on."""
    table = Table(tmp_path, 9)
    table.files(base(10, "old"), base(20, "new"))
    table.instant(at(10), "commit", at(11))
    table.replaced(at(20), at(25), "old")
    before = incremental_window(table.load(), None, at(15), alone=False)
    assert [names(s)[0] for s in table.slices(before)] == [base(10, "old")]
    assert [names(s)[0] for s in table.slices(NOW)] == [base(20, "new")]
    assert [names(s)[0] for s in table.slices(Window(up_to=at(12)))] == [base(10, "old")]
    assert list_slices(table.listing(), table.load()) == table.slices(NOW)


def test_slices_without_a_change_are_pruned(tmp_path: Path) -> None:
    """A slice none of whose files the window wrote is not read, and the plan says so."""
    table = Table(tmp_path, 9, hoodie__table__create__schema=_SCHEMA)
    table.files(base(10, "old"), base(20, "new"))
    table.instant(at(10), "commit", at(11))
    table.instant(at(20), "commit", at(21))
    explained = HudiTable(str(tmp_path)).scan(query="incremental", begin=at(11)).explain()
    assert base(20, "new") in explained
    assert base(10, "old") not in explained
    assert "no change of the window in 1 slice" in explained


@pytest.mark.parametrize(
    ("begin", "changes"),
    [(10, {20, 25, 30, 35, 40}), (21, {25, 35, 40}), (26, {40}), (31, {40}), (36, {40})],
)
def test_a_log_compaction_changes_nothing_of_its_own(
    tmp_path: Path, begin: int, changes: set[int]
) -> None:
    """Its rows are changes only where the window holds one of the writes that it put together.

    A write of another file group is none of them; a log compaction among them is what it holds.
    """
    table = Table(tmp_path, 9)
    table.instant(at(20), "deltacommit", at(21))
    table.instant(at(25), "deltacommit", at(26))
    table.log_compaction(at(30), at(31), log(20))
    table.log_compaction(at(35), at(36), log(30), log(25))
    table.instant(at(40), "deltacommit", at(41))
    assert _changed(table, begin, None) == set(map(at, changes))


_WRITES = {"a": "log2", "b": "log3", "c": "log1", "d": "base", "e": "log4"}


@pytest.mark.parametrize(
    ("begin", "exact", "by_hudi"),
    [(0, "abce", "abce"), (1, "abe", "abce"), (2, "be", "be"), (3, "e", "e"), (4, "", "")],
)
def test_rows_of_a_log_compaction_count_by_their_writes(
    tmp_path: Path, begin: int, exact: str, by_hudi: str
) -> None:
    """By those that changed them; 1.2.0 takes all for changes if one is, and `changes_alone` too.

    What Spark with Hudi 1.2.0 answered to each window.
    """
    root = unpack_table("log-compaction-windows/v9", tmp_path)
    table = HudiTable(str(root))
    completions = table.timeline().completion_times()
    written = [c for r, c in sorted(completions.items()) if r not in _compactions(table)]
    for alone, expected in ((False, exact), (True, by_hudi)):
        scan = table.scan(query="incremental", begin=written[begin], changes_alone=alone)
        found = {row["k"]: row["v"] for row in scan.to_table().to_pylist()}
        assert found == {key: _WRITES[key] for key in expected}


def _compactions(table: HudiTable) -> set[str]:
    timeline = table.timeline()
    return {i.requested for i in timeline.writes() if is_log_compaction(timeline.metadata(i))}


_OLD, _UPDATE, _OTHER = log(10), log(10, task="0-2-2"), log(30, file_id="g-0")


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (1, [_OLD, _UPDATE, _OTHER]),
        (11, [_UPDATE, _OTHER]),
        (21, [_OTHER]),
        (31, []),
    ],
)
def test_changes_are_in_logs_that_bear_the_instant_of_rows_that_they_change(
    tmp_path: Path, begin: int, expected: list[str], *, alone: bool
) -> None:
    """`UPDATE` over consistent hashing names its log so; who wrote it, commits tell."""
    table = Table(tmp_path, 9)
    table.files(_OLD, _UPDATE, _OTHER)
    for minute, name in ((10, _OLD), (20, _UPDATE), (30, _OTHER)):
        table.instant(at(minute), "deltacommit", at(minute + 1), name)
    timeline = table.load()

    window = incremental_window(timeline, at(begin), None, alone=alone)
    writes = timeline.completed_writes(archived=False)
    slices = FileGroups(table.listing(), timeline, writes).slices(window)
    found = [one for one in slices if may_have_changed(one, timeline, window)]

    if not alone and begin == 11:  # its blocks lie below
        expected = [_OLD, *expected]
    assert [path for one in found for path in names(one)[1]] == expected


@pytest.mark.parametrize(("alone", "below"), [(True, []), (False, [_OLD])])
def test_so_they_are_when_that_instant_is_archived(
    tmp_path: Path, below: list[str], *, alone: bool
) -> None:
    """Nobody knows any more then that it was no clustering."""
    table = Table(tmp_path, 9)
    table.files(_OLD, _UPDATE)
    table.instant(at(20), "deltacommit", at(21), _UPDATE)
    timeline = table.load()
    window = incremental_window(timeline, at(11), None, alone=alone)
    [found] = list_slices(table.listing(), timeline, window)
    assert names(found)[1] == [*below, _UPDATE]
    assert may_have_changed(found, timeline, window)


@pytest.mark.parametrize(("end", "expected"), [(30, log(20)), (50, log(15, file_id="n-0"))])
def test_changes_of_a_dual_write_are_told_once(tmp_path: Path, end: int, expected: str) -> None:
    """While buckets are resized: of the old group until the clustering completes, then of the new.

    The log in the new group bears the clustering's instant.
    """
    table = Table(tmp_path, 9)
    dual = log(15, file_id="n-0")
    table.files(log(20), dual)
    table.instant(at(20), "deltacommit", at(21), log(20), dual)
    table.replaced(at(15), at(40), "f-0")
    timeline = table.load()

    window = incremental_window(timeline, at(16), at(end), alone=True)
    writes = timeline.completed_writes(archived=False)
    slices = FileGroups(table.listing(), timeline, writes).slices(window)

    assert [path for one in slices for path in names(one)[1]] == [expected]

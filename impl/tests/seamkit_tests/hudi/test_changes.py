"""Kinds of changes between two instants, over tables that Spark and Hudi wrote."""

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError, UsageError
from seamkit.connector import change_rows
from seamkit.core.border import HeldRows, NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.unit_tasks import ReadRows
from seamkit.scan.units import ReadContext, ReadUnit
from seamkit.tables import states
from seamkit.tables.hudi import changes, planning
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.archive import Archive
from seamkit.tables.states import image_schema
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import scan_on

Change = tuple[str, str, str | None, str | None]

#: What each write did, from the rows that were written and the rules of the merge:
#: key, kind, values before and after.
EVENT_TIME = [
    {(k, "i", None, "base") for k in
     ("deleted", "older", "reinserted", "resurrected", "tie", "twice", "untouched", "updated")},
    {
        ("tie", "u", "base", "log1"),
        ("twice", "u", "base", "log1"),
        ("updated", "u", "base", "log1"),
        ("log-only-deleted", "i", None, "log1"),
    },
    {
        ("deleted", "d", "base", None),
        ("log-only-deleted", "d", "log1", None),
        ("reinserted", "d", "base", None),
        ("resurrected", "d", "base", None),
    },
    {
        ("log-only", "i", None, "log3"),
        ("reinserted", "i", None, "log3"),
        ("resurrected", "i", None, "base"),  # the older insert loses, and the base row returns
        ("tie", "u", "log1", "log3"),
    },
]  # fmt: skip
COPY_ON_WRITE = [
    {(k, "i", None, "one") for k in ("a", "b", "c")},
    {("a", "u", "one", "two"), ("d", "i", None, "two")},
    {("b", "d", "one", None)},
]
REPLACED = [
    {(k, "i", None, "old") for k in ("a", "b")},
    # An overwrite meets no row: `a` is another one, of another file.
    {(k, "d", "old", None) for k in "ab"} | {(k, "i", None, "new") for k in "ac"},
]
FILLED = [
    {(k, "i", None, "base") for k in "abc"},
    # The update of `c` is too old, and fills the gap of the row that stays.
    {("a", "u", "base", "base"), ("b", "u", "base", "log1"), ("c", "u", "base", "base")},
    {("a", "u", "base", "log2")},
]
DOUBLED = [
    {(k, "i", None, v) for k in "ab" for v in ("one", "two")} | {("c", "i", None, "one")},
    {("a", "u", "one", "log")},
    {("b", "d", "one", None)},
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mor-v9-event", EVENT_TIME),
        ("mor-v6-event", EVENT_TIME),
        ("cow-v9", COPY_ON_WRITE),
        ("mor-v9-replaced", REPLACED),
        ("partial-update-payload/v6", FILLED),
        ("partial-update-payload/v9", FILLED),
        ("duplicates/v6", DOUBLED),
        ("duplicates/v9", DOUBLED),
    ],
)
@pytest.mark.parametrize("path", ["merge", "connector"])
def test_changes_are_told_by_write(
    tmp_path: Path, name: str, expected: list[set[Change]], path: str
) -> None:
    """Each write tells the rows that it inserted, updated and deleted, as they were and became."""
    table = HudiTable(str(unpack_table(name, tmp_path)))
    instants = [i.requested for i in table.timeline().writes()]
    found: dict[str, set[Change]] = {i: set() for i in instants}
    for change in scan_on(table, path, query="cdc").to_table().to_pylist():
        before, after = change["before"], change["after"]
        row = ((before or after)["k"], change["op"], before and before["v"], after and after["v"])
        assert row not in found[change["ts_ms"]]
        found[change["ts_ms"]].add(row)
    assert [found[i] for i in instants] == expected


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([], ["2x", "2y"], [("i", None, "x"), ("i", None, "y")]),
        (["1x"], ["1x", "2y"], [("i", None, "y")]),
        (["1x", "1y"], ["2u", "2w"], [("u", "x", "u"), ("u", "y", "w")]),
        (["1x", "1y"], ["1x", "2w"], [("u", "y", "w")]),
        (["1x", "1x"], ["1x"], [("d", "x", None)]),
        (["1x", "1y"], ["1y", "1y"], [("u", "x", "y")]),
        (["1x", "1y"], ["2w"], [("u", "x", "w"), ("d", "y", None)]),
        (["1x", "1y"], ["1y", "1x"], []),
    ],
)
@pytest.mark.parametrize("by_row", [False, True])
def test_rows_of_one_key_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
    by_row: bool,
    before: list[str],
    after: list[str],
    told: list[tuple[str, str | None, str | None]],
) -> None:
    """What changes tell leads from the rows before a write, `2`, to those after it."""
    names = ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key", "v"]
    schema = pa.schema([(name, pa.string()) for name in names])

    def state(rows: list[str]) -> Any:
        columns = [[r[0] for r in rows], [""] * len(rows), ["k"] * len(rows), [r[1] for r in rows]]
        return pa.record_batch(columns, schema=schema)

    monkeypatch.setattr(changes, "read_state", lambda rows, *_: rows)
    monkeypatch.setattr(change_rows, "plan_rows", lambda rows, *_: rows.to_pylist())
    both: Any = {"2": (state(before), state(after))}
    read: ReadRows = changes.WriteChanges(both, ["v"], ScanOptions())
    read = partial(change_rows.read_changes, read) if by_row else read
    images = image_schema(pa.schema({"v": pa.string()})).remove(1)
    batches = read(ReadUnit("2", []), images, 100, ReadContext(TrackedAllocator(), []))
    found = [
        (one["op"], one["before"] and one["before"]["v"], one["after"] and one["after"]["v"])
        for batch in batches
        for one in batch.to_pylist()
    ]
    assert found == told


def test_changes_have_bounds_and_columns(tmp_path: Path) -> None:
    """Bounds are those of incremental queries, columns those of change data."""
    table = HudiTable(str(unpack_table("cow-v9", tmp_path)))
    second = table.timeline().writes()[1]
    scan = table.scan(["after", "op"], query="cdc", begin=table.timeline().writes()[0].completed)
    only = table.scan(["ts_ms"], query="cdc", begin="000", end=second.completed).to_table()
    assert scan.to_table().schema.names == ["after", "op"]
    assert set(scan.to_table().column("op").to_pylist()) == {"u", "i", "d"}
    assert scan.report().rows == 6  # two reads of three changes
    assert second.requested in only.column("ts_ms").to_pylist()
    with pytest.raises(UsageError, match="'k'"):
        table.scan(["k"], query="cdc")


def test_changes_are_cut_filtered_and_pushed_into_like_any_scan(tmp_path: Path) -> None:
    """A part is a write; filters name any column of changes; a dataset hands them out anew."""
    table = HudiTable(str(unpack_table("mor-v9-event", tmp_path)))
    scan = table.scan(query="cdc")
    whole = scan.to_table()
    again = pickle.loads(pickle.dumps(scan))  # noqa: S301 - its own bytes
    parts = [again.part(i, ["op"], None).to_table() for i in range(again.n_parts)]
    deleted = pc.field("op") == "d"
    assert pa.concat_tables(parts).equals(whole.select(["op"]))
    expected = whole.filter(deleted).select(["ts_ms"])
    assert expected.num_rows > 0
    assert scan.dataset().to_table(columns=["ts_ms"], filter=deleted).equals(expected)
    assert table.scan(["ts_ms"], query="cdc", filter=deleted).to_table().equals(expected)
    with pytest.raises(UsageError, match="filter"):
        table.scan(query="cdc", filter=pc.field("nothing") == 1)


@pytest.mark.parametrize("name", ["cow-v9", "mor-v9-replaced"])
def test_a_memory_limit_bounds_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """States that pass their share wait on disk, and keys count; the changes are the same."""
    held: list[HeldRows] = []

    class Watched(HeldRows):
        def take_out(self, *, threads: int = 1) -> pa.RecordBatch:
            if self.on_disk:
                held.append(self)
            return super().take_out(threads=threads)

    monkeypatch.setattr(states, "HeldRows", Watched)
    table = HudiTable(str(unpack_table(name, tmp_path)))
    expected = table.scan(query="cdc").to_table()
    assert not held

    found = table.scan(query="cdc", memory_limit_bytes=300, batch_rows=2).to_table()
    assert held
    assert found.equals(expected)
    with pytest.raises(NativeMemoryError, match="limit"):
        table.scan(query="cdc", memory_limit_bytes=10).to_table()


def test_files_are_listed_once_whatever_the_number_of_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is the archive read: what a window shows is worked out from one listing."""
    calls = calls_of(monkeypatch, planning, "list_files")
    calls_of(monkeypatch, Archive, "bodies", found=calls)
    table = HudiTable(str(unpack_table("archived/v9", tmp_path)))

    scan = table.scan(query="cdc")
    assert scan.n_parts > 3
    assert scan.count_rows() > scan.n_parts
    assert sorted(call.name for call in calls) == ["bodies", "list_files"]


def test_an_emptied_commit_may_have_changed_anything(tmp_path: Path) -> None:
    """What it changed nobody tells any more, so the kinds of changes are not told either."""
    root = unpack_table("cow-v9", tmp_path)
    sorted((root / ".hoodie" / "timeline").glob("*_*.commit"))[1].write_bytes(b"")
    with pytest.raises(InputError, match="an empty file where a write says what it changed"):
        HudiTable(str(root)).scan(query="cdc")

"""A dataset that keeps decoded events answers as one that reads anew, whatever was asked before."""

import functools
from pathlib import Path

import duckdb
import numpy as np
import pytest

from seamkit.core.memory import TrackedAllocator
from seamkit.files.file_cache import Kept
from seamkit.scan.core_merges import KEEP, REMOVE
from seamkit.scan.events_cache import EventsCache, Matches
from seamkit.scan.units import ReadContext
from seamkit.tables.hudi.merge import records
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import changes_of
from seamkit_tests.samples.outlets import bag

ASKED: list[list[str]] = [["s"], ["id"], [], ["ts", "s"], ["s"], ["id", "i", "s", "l"]]


@pytest.mark.parametrize("name", ["mor-v9-types", "mor-v6-types"])
@pytest.mark.parametrize("room", [0, 2000, 1 << 20])
def test_what_was_asked_before_changes_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, room: int
) -> None:
    """Columns come from earlier reads or from the logs; rows used up once are there again."""
    bounded = functools.partial(EventsCache, most_bytes=room)
    monkeypatch.setattr("seamkit.scan.unit_scan.EventsCache", bounded)
    monkeypatch.setattr("seamkit.scan.unit_scan.KEPT", Kept(room))
    scan = HudiTable(str(unpack_table(name, tmp_path))).scan()
    whole = scan.to_table()
    dataset = scan.dataset()
    for columns in ASKED:
        rows = dataset.to_table(columns=columns)
        assert rows.num_rows == whole.num_rows
        assert rows.select(columns).to_pylist() == whole.select(columns).to_pylist()


@pytest.mark.parametrize(
    "name",
    [
        "evolution/v9",
        "mixed-blocks/v9",
        "mor-v9-added-column",
        "mor-v9-typed-delete",
        "mor-v9-types-parquet-blocks",
        "nested/v9",
        "partial-parquet/v9",
        "renamed/v9",
    ],
)
def test_columns_that_come_one_by_one_are_those_of_the_first_rows(
    tmp_path: Path, name: str
) -> None:
    """Records of blocks of any kind come in one order, also where a block lacks the column."""
    scan = HudiTable(str(unpack_table(name, tmp_path))).scan(threads=1)
    whole = scan.to_table()
    dataset = scan.dataset()
    for column in reversed(whole.column_names):
        rows = dataset.to_table(columns=[column])
        assert repr(rows[column].to_pylist()) == repr(whole[column].to_pylist()), column


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("columns", [["s"], ["i", "l"]])
@pytest.mark.parametrize("name", ["mor-v9-types", "mor-v6-types"])
def test_a_first_query_of_duckdb_decodes_logs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, columns: list[str]
) -> None:
    """Its columns are known when masks are made: neither logs nor single columns are read again."""
    scan = HudiTable(str(unpack_table(name, tmp_path))).scan()
    loads = calls_of(monkeypatch, SliceChanges, "load", "further")
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        shown = scan.relation(connection).select(*columns).to_arrow_table()
    assert [(call.name, set(call.args[1])) for call in loads] == [("load", set(columns))]
    assert bag(shown) == bag(scan.to_table().select(columns))


def test_further_columns_are_decoded_without_keys_and_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first read has folded stays so; of the logs no other column is looked at."""
    (changes,) = changes_of(HudiTable(str(unpack_table("mor-v9-types", tmp_path))))
    cache, context = EventsCache(1 << 20), ReadContext(TrackedAllocator(), [])
    cache.load(changes, ["s"], context)
    decoded = calls_of(monkeypatch, records, "AvroDecoder")
    events = cache.load(changes, ["i", "s"], context)
    assert not isinstance(events, np.ndarray)
    assert {tuple(call.args[1].names) for call in decoded} == {("i",)}
    whole = changes.load(["i", "s"], context)
    assert not isinstance(whole, np.ndarray)
    assert events.data.equals(whole.data)


@pytest.mark.parametrize(("room", "reads"), [(1 << 20, 2), (0, 3)])
def test_events_are_loaded_once_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, reads: int
) -> None:
    """And once more for columns that nobody asked for before."""
    asked = calls_of(monkeypatch, SliceChanges, "load", "further")
    (changes,) = changes_of(HudiTable(str(unpack_table("mor-v9-types", tmp_path))))
    cache = EventsCache(room)
    for names in (["s"], ["s"], ["s", "i"]):
        events = cache.load(changes, names, ReadContext(TrackedAllocator(), []))
        assert not isinstance(events, np.ndarray)
        assert events.data.schema.names == names
    assert len(asked) == reads


@pytest.mark.parametrize(
    ("sources", "rest", "changed"),
    [
        ([KEEP, 3, REMOVE, 1], [4, 0], [0, 1, 3, 4]),
        ([2, KEEP, 2, 0, 2], [1], [0, 1, 2, 2, 2]),  # an event for every row with its key
        ([KEEP, REMOVE], [], []),
    ],
)
def test_rows_that_are_not_those_of_the_file(
    sources: list[int], rest: list[int], changed: list[int]
) -> None:
    """Each that replaces a row, as often as it does, and those that match none."""
    found = Matches(np.array(sources, np.int32), np.array(rest, np.int32), 5)
    assert found.changed.dtype == np.int32
    assert found.changed.tolist() == changed

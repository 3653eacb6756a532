"""A dataset that keeps decoded logs answers as one that reads anew, whatever was asked before."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pytest

from seamkit.tables.hudi.log_cache import LogCache
from seamkit.tables.hudi.merge.events import LogView, SliceLog, read_slice_log
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table

ASKED: list[list[str]] = [["s"], ["id"], [], ["ts", "s"], ["s"], ["id", "i", "s", "l"]]


@pytest.mark.parametrize("name", ["mor-v9-types", "mor-v6-types"])
@pytest.mark.parametrize("room", [0, 2000, 1 << 20])
def test_what_was_asked_before_changes_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, room: int
) -> None:
    """Columns come from earlier reads or from the logs; rows used up once are there again."""
    bounded = functools.partial(LogCache, most_bytes=room)
    monkeypatch.setattr("seamkit.tables.hudi.hudi_scan.LogCache", bounded)
    scan = HudiTable(str(unpack_table(name, tmp_path))).scan()
    whole = scan.to_table()
    dataset = scan.dataset()
    for columns in ASKED:
        rows = dataset.to_table(columns=columns)
        assert rows.num_rows == whole.num_rows
        assert rows.select(columns).to_pylist() == whole.select(columns).to_pylist()


@pytest.mark.parametrize(("room", "reads"), [(1 << 20, 2), (0, 3)])
def test_logs_are_read_once_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, reads: int
) -> None:
    """And once more for columns that nobody asked for before."""
    asked: list[Sequence[str]] = []

    def counting(slice_: object, view: LogView, names: Sequence[str], warnings: object) -> SliceLog:
        asked.append(names)
        return read_slice_log(slice_, view, names, warnings)  # type: ignore[arg-type]

    monkeypatch.setattr("seamkit.tables.hudi.log_cache.read_slice_log", counting)
    table = HudiTable(str(unpack_table("mor-v9-types", tmp_path)))
    scan = table.scan()
    cache = LogCache(scan.log_view, room)
    (slice_,) = table.slices()
    for names in (["s"], ["s"], ["s", "i"]):
        log = cache.read(slice_, scan.log_view(names), names, [])
        assert log.data.schema.names == names
    assert len(asked) == reads

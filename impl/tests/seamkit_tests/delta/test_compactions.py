"""Log compactions whose commits are gone: what they still tell, and what nobody can."""

from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests.samples.delta_tables import unpack_delta


def _without(tmp_path: Path, *versions: int) -> DeltaTable:
    """The golden table of compactions 1 to 2, 1 to 5 and 3 to 5 without some commits."""
    table = unpack_delta("log-compaction", tmp_path)
    for version in versions:
        (table / "_delta_log" / f"{version:020}.json").unlink()
        (table / "_delta_log" / f"{version:020}.crc").unlink()
    return DeltaTable(str(table))


def _keys(table: DeltaTable, **how: Any) -> list[int]:
    return sorted(table.scan(["k"], **how).to_table()["k"].to_pylist())


def test_a_compaction_may_be_all_that_tells_the_newest_version(tmp_path: Path) -> None:
    """Its last version is one of the table's, though no commit of it is left."""
    table = _without(tmp_path, 1, 2, 3, 4, 5, 6, 7)
    assert table.version == 5
    assert _keys(table) == [1, 3, 4, 5]


def test_compactions_follow_each_other(tmp_path: Path) -> None:
    """Where the longest one ends beyond the version asked for, shorter ones do."""
    table = _without(tmp_path, 1, 2, 4)
    assert _keys(table, as_of=3) == [1, 3, 4]
    assert _keys(table, as_of=2) == [1, 2, 3, 4]
    with pytest.raises(InputError, match="the commit of version 4 is missing"):
        table.scan(as_of=4)


def test_the_time_of_a_commit_that_is_gone_is_not_guessed(tmp_path: Path) -> None:
    """An older version would come out for it, with fewer rows."""
    table = _without(tmp_path, 1, 2, 3, 4, 5, 6, 7)
    with pytest.raises(InputError, match="commit of version 1 is missing, so which version"):
        table.scan(as_of="2999-01-01")
    with pytest.raises(InputError, match="the commit of version 1 is missing"):
        table.scan(query="cdc", begin=0)


@pytest.mark.parametrize("name", ["5.5", "5.1"])
def test_a_compaction_of_nothing_is_none(tmp_path: Path, name: str) -> None:
    """One version, or a range that runs backwards, puts nothing together."""
    folder = unpack_delta("log-compaction", tmp_path)
    first, last = map(int, name.split("."))
    (folder / "_delta_log" / f"{first:020}.{last:020}.compacted.json").write_text("{}")
    assert _keys(DeltaTable(str(folder))) == [1, 3, 5]

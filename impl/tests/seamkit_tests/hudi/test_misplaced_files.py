"""Base files in another's place, and files that a cleaner takes away beneath a reader."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.scan.scan import Scan
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.listing.files import BaseFile
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table


@pytest.mark.parametrize(
    ("named", "is_told"),
    [
        (["a_0-1-1_20240102000000000"], False),  # its own
        (["b_0-1-1_20240102000000000"], True),  # written at the same instant
        (["b_0-1-1_20240103000000000"], True),  # written later
        (["b_0-1-1_20240101000000000"], False),  # from where old writers copied rows
        (["a_0-9-9_20240102000000000"], False),  # the same group, written twice
        (["b_0-1-1_20240102000000000", "c_0-1-1_20240102000000000"], False),
        ([None], False),
        (["no name"], False),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_rows_name_no_file_that_they_cannot_come_from(
    named: list[str | None], is_told: bool, ending: str, tmp_path: Path
) -> None:
    """What writers copied from an older file may name that one."""
    names = [None if one is None else f"{one}.{ending}" for one in named]
    rows = pa.table({"_hoodie_file_name": pa.array(names, pa.string()), "v": range(len(names))})
    path = f"a_0-1-1_20240102000000000.{ending}"
    if ending == "orc":
        orc.write_table(rows, str(tmp_path / path))
    else:
        pq.write_table(rows, tmp_path / path)
    base = BaseFile(path, "", "a", "0-1-1", "20240102000000000", 1)
    if is_told:
        with pytest.raises(InputError, match="its rows say that they lie in b_0-1-1"):
            open_slice_base(Storage(str(tmp_path)), base)
    else:
        assert open_slice_base(Storage(str(tmp_path)), base).num_rows == len(names)


#: A table of three commits, each of which writes its one base file anew.
_TABLE = "cow-v9"


def _hide_later_commits(table: Path, aside: Path) -> None:
    """Move all that the second and third commit wrote out of the table."""
    first = min(file.name for file in (table / ".hoodie/timeline").glob("*.commit.requested"))[:17]
    written = [*(table / ".hoodie/timeline").glob("[0-9]*"), *table.glob("*.parquet")]
    for file in written:
        if first not in file.name:
            (aside / file.relative_to(table)).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, aside / file.relative_to(table))


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, Path, pa.Table]:
    """A table as of its first commit, what was written later, and the rows that it then has."""
    table, aside = unpack_table(_TABLE, tmp_path), tmp_path / "aside"
    newest = HudiTable(str(table)).scan().to_table()
    _hide_later_commits(table, aside)
    return table, aside, newest


def _write_and_clean(table: Path, aside: Path) -> None:
    """The later commits come, and a cleaner removes the file that they replaced."""
    [old] = table.glob("*.parquet")
    shutil.copytree(aside, table, dirs_exist_ok=True)
    old.unlink()


@pytest.mark.parametrize(
    "read",
    [
        lambda scan: scan.to_table(),
        lambda scan: scan.to_reader().read_all(),
        lambda scan: scan.dataset().to_table(),
    ],
    ids=["table", "stream", "dataset"],
)
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_a_read_is_planned_anew_where_its_file_is_gone(
    planned: tuple[Path, Path, pa.Table], read: Callable[[Scan], pa.Table]
) -> None:
    """It hands out the newer state, each row once, and says so."""
    table, aside, newest = planned
    scan = HudiTable(str(table)).scan()
    _write_and_clean(table, aside)
    found = read(scan)
    assert found.sort_by("k").equals(newest.sort_by("k"))
    [warning] = scan.report().warnings
    assert "planned anew" in warning.reason
    assert "parquet" in warning.reason
    assert scan.report().rows == newest.num_rows


def test_an_error_of_a_table_that_did_not_change_stays_one(tmp_path: Path) -> None:
    """A file that is merely missing is named; nothing is planned for ever."""
    table = unpack_table(_TABLE, tmp_path)
    scan = HudiTable(str(table)).scan()
    newest = max(table.glob("*.parquet"), key=lambda file: file.name.rpartition("_")[2])
    newest.unlink()
    with pytest.raises(InputError, match=newest.name):
        scan.to_table()


def test_the_state_of_an_instant_is_not_exchanged_for_another(
    planned: tuple[Path, Path, pa.Table],
) -> None:
    """As of an instant whose files a cleaner has removed, a read fails."""
    table, aside, _ = planned
    instant = next((table / ".hoodie/timeline").glob("*.commit.requested")).name[:17]
    scan = HudiTable(str(table)).scan(as_of=instant)
    _write_and_clean(table, aside)
    with pytest.raises(InputError, match="parquet"):
        scan.to_table()

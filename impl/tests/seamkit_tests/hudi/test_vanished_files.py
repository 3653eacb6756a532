"""A cleaner beside a reader: files that are gone when a planned scan comes to them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import InputError
from seamkit.scan.scan import Scan
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table

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

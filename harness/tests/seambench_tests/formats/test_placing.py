"""Tables at the places that their own bytes name: one at a time, and nobody waits for himself."""

import threading
from pathlib import Path

import pytest

from seambase.errors import UnavailableError, UsageError
from seambench.formats.golden import placed


def test_a_thread_does_not_wait_for_itself(tmp_path: Path) -> None:
    """A second table for the same place is refused while the first is there, then placed."""
    home, first, second = (tmp_path / name for name in ("home", "first", "second"))
    first.mkdir()
    second.mkdir()
    with placed(first, home):
        with (
            pytest.raises(UsageError, match="two tables that name this place"),
            placed(second, home),
        ):
            pass
        assert home.resolve() == first
    with placed(second, home):
        assert home.resolve() == second
    assert not home.exists()


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    """Another thread's table comes when this one's is gone."""
    home, first, second = (tmp_path / name for name in ("home", "first", "second"))
    first.mkdir()
    second.mkdir()
    seen: list[Path] = []

    def other() -> None:
        with placed(second, home):
            seen.append(home.resolve())

    thread = threading.Thread(target=other)
    with placed(first, home):
        thread.start()
        assert home.resolve() == first
        assert seen == []
    thread.join(60)
    assert seen == [second]


def test_what_lies_there_stays(tmp_path: Path) -> None:
    """A folder at the place is named and left as it is; a table comes once it is gone."""
    home, table = tmp_path / "home", tmp_path / "table"
    home.mkdir()
    table.mkdir()
    with (
        pytest.raises(UnavailableError, match=r"home: something lies where .* move it away"),
        placed(table, home),
    ):
        pass
    assert home.is_dir()
    assert not home.is_symlink()
    home.rmdir()
    with placed(table, home):
        assert home.resolve() == table

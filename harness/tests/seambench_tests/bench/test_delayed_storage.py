"""A storage of which each request waits, and how requests follow each other."""

import threading
from collections.abc import Sequence
from pathlib import Path

import fsspec
import pytest

from seambench.bench import delayed_storage
from seambench.bench.delayed_storage import Request, rounds


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], 0),
        ([(0, 1)], 1),
        ([(0, 1), (1, 2), (2, 3)], 3),
        ([(0, 1), (0, 1), (0, 1)], 1),
        ([(0, 9), (1, 2), (3, 4)], 2),
        ([(5, 6), (0, 4), (1, 3), (3, 5)], 3),
    ],
    ids=["none", "one", "in turn", "at once", "beside a long one", "in any order"],
)
def test_rounds_are_the_longest_row_of_requests(
    times: Sequence[tuple[float, float]], expected: int
) -> None:
    """Each of them begins no earlier than the one before it ended; the most such count."""
    made = [Request("read", "f", 1, begin, end) for begin, end in times]
    assert rounds(made) == expected


def test_requests_of_one_thread_are_rounds(tmp_path: Path) -> None:
    """A thread that waits for each answer makes as many rounds as requests."""
    (tmp_path / "f").write_bytes(b"12345")
    far = fsspec.filesystem("delayed", skip_instance_cache=True)
    delayed_storage.requests()
    with delayed_storage.delay(0.001):
        far.ls(str(tmp_path))
        far.cat_file(str(tmp_path / "f"))
        far.info(str(tmp_path / "f"))
    made = delayed_storage.requests()
    assert [(one.kind, one.n_bytes) for one in made] == [("list", 0), ("read", 5), ("info", 0)]
    assert rounds(made) == 3
    ends = ((None, None), (1, 3), (None, 2), (3, None))
    parts = [far.cat_file(str(tmp_path / "f"), begin, end) for begin, end in ends]
    assert parts == [b"12345", b"23", b"12", b"45"]


def test_requests_at_once_are_one_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of which none is answered before all have been made are one round."""
    (tmp_path / "f").write_bytes(b"12345")
    far = fsspec.filesystem("delayed", skip_instance_cache=True)
    together = threading.Barrier(3, timeout=300)
    monkeypatch.setattr("seambench.bench.delayed_storage.time.sleep", lambda _: together.wait())
    delayed_storage.requests()
    threads = [threading.Thread(target=far.cat_file, args=(str(tmp_path / "f"),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = delayed_storage.requests()
    assert len(made) == 3
    assert rounds(made) == 1

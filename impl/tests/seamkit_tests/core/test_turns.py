"""Batches that a thread reads while others are not ready for them."""

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from seamkit.core.tasks import begun


def _batch(number: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": [number]})


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("most", [1, 2, 9])
def test_all_batches_come_once_and_in_order(count: int, most: int) -> None:
    """However many are read ahead, and however many there are."""
    with begun(iter(map(_batch, range(count))), most) as ahead:
        pass
    assert ahead is not None
    assert [batch["n"][0].as_py() for batch in ahead] == list(range(count))


def test_no_more_are_read_ahead_than_may_be() -> None:
    """And they are, before anybody asks; those that follow are read when asked for."""
    enough = threading.Event()
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(5):
            read.append(number)
            yield _batch(number)
            if number == 0:
                enough.set()

    with begun(batches(), 2) as ahead:
        assert enough.wait(60)
    assert ahead is not None
    assert len(read) <= 2
    assert len(list(ahead)) == 5


@pytest.mark.parametrize("good", [0, 1, 3])
def test_an_error_comes_where_its_batch_would(good: int) -> None:
    """Batches before it are handed out."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from map(_batch, range(good))
        raise OSError("broken")

    seen: list[pa.RecordBatch] = []
    with begun(batches(), 2) as ahead:
        pass
    assert ahead is not None
    with pytest.raises(OSError, match="broken"):
        seen.extend(ahead)
    assert len(seen) == good


def test_nothing_to_read_is_nothing() -> None:
    """Without batches there is no thread."""
    with begun(None) as ahead:
        assert ahead is None

"""Parallel tasks: their errors, batches that wait for a turn, the collector of cycles."""

import gc
import threading
import weakref
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest

from seamkit.core.tasks import Task, begun, gc_paused, run_tasks

_BATCH = pa.record_batch({"a": [1]})


class _Held:
    """What a task has in its hands."""


def test_errors_that_nobody_took_hold_nothing() -> None:
    """Of two tasks that failed one error is raised; what the other's frame held is gone as well."""
    both_failed, taken = threading.Barrier(3), threading.Event()
    held: list[weakref.ref[_Held]] = []

    def failing(*batches: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        own = _Held()
        held.append(weakref.ref(own))
        yield from batches
        assert taken.wait(60)
        raise ValueError("told")

    def waiting() -> Iterator[pa.RecordBatch]:
        both_failed.wait(60)  # two workers are here, so those before have handed over all
        yield _BATCH

    tasks: list[Task] = [partial(failing, _BATCH), failing, waiting, waiting]
    batches = run_tasks(tasks, 2)
    gc.disable()
    try:
        assert next(batches)[1] is _BATCH
        taken.set()
        both_failed.wait(60)
        with pytest.raises(ValueError, match="told"):
            next(batches)
        del batches
        assert [one() for one in held] == [None, None]
    finally:
        gc.enable()


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """It works, whatever a test has made of it."""
    gc.enable()
    yield
    gc.enable()


def test_it_works_again_when_the_last_one_leaves() -> None:
    """Threads may overlap, and leave in any order."""
    one, other = gc_paused(), gc_paused()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert not gc.isenabled()
    other.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_works_again_after_an_error() -> None:
    """Whatever a plan fails by."""
    with pytest.raises(ValueError, match="broken"), gc_paused():
        raise ValueError("broken")
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    """A program that has switched it off has its reasons."""
    gc.disable()
    with gc_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


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

"""Slices as parallel tasks: nothing lost, errors raised, no thread left."""

import subprocess
import sys
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from seamkit.core.tasks import read_ahead, run_tasks


def _batch(number: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": [number]})


def _task(numbers: range) -> Iterator[pa.RecordBatch]:
    yield from map(_batch, numbers)


def _workers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("seambench-slice")]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_batch_arrives_once(threads: int) -> None:
    """Each task's batches arrive once, in the task's own order."""
    tasks = [lambda k=k: _task(range(k * 100, k * 100 + 37)) for k in range(5)]
    got: dict[int, list[int]] = {}
    for number, batch in run_tasks(tasks, threads):
        got.setdefault(number, []).append(batch.column(0)[0].as_py())
    assert {k: list(range(k * 100, k * 100 + 37)) for k in range(5)} == got
    assert _workers() == []


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_is_raised(threads: int) -> None:
    """An error in a task reaches the reader of the stream, and the other tasks stop."""

    def broken() -> Iterator[pa.RecordBatch]:
        yield _batch(0)
        raise ValueError("byte 17")

    def endless() -> Iterator[pa.RecordBatch]:
        while True:
            yield _batch(1)

    tasks = [broken, *([endless] * (threads - 1))]

    with pytest.raises(ValueError, match="byte 17"):
        for _ in run_tasks(tasks, threads):
            pass
    assert _workers() == []


def test_an_early_close_leaves_no_thread() -> None:
    """A reader that stops early stops the tasks."""

    def endless() -> Iterator[pa.RecordBatch]:
        while True:
            yield _batch(1)

    stream = run_tasks([endless, endless], 2)
    next(stream)
    stream.close()  # type: ignore[attr-defined]

    assert _workers() == []


def test_a_program_ends_while_it_holds_a_stream_read_in_part() -> None:
    """Workers that wait to hand over a batch do not keep Python from ending."""
    program = """
import pyarrow as pa
from seamkit.core.tasks import run_tasks

def endless():
    while True:
        yield pa.record_batch({"a": [1]})

stream = run_tasks([endless, endless, endless], 2)
next(stream)
print("end", flush=True)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


def test_threads_begin_with_the_tasks_that_are_named_and_keep_their_numbers() -> None:
    """A long task that came last would leave one thread alone with it."""
    begun: list[int] = []
    both = threading.Barrier(2)

    def task(number: int) -> Iterator[pa.RecordBatch]:
        begun.append(number)
        if number >= 2:
            both.wait(60)  # both threads have one of these
        yield _batch(number)

    tasks = [lambda n=n: task(n) for n in range(4)]
    found = {n: batch.column(0)[0].as_py() for n, batch in run_tasks(tasks, 2, {2, 3})}

    assert {*begun[:2]} == {2, 3}
    assert found == {n: n for n in range(4)}


def test_no_tasks_no_batches() -> None:
    """A table without slices is an empty stream."""
    assert list(run_tasks([], 4)) == []


def test_reading_ahead_keeps_order_and_errors() -> None:
    """All batches come, in order, and an error comes in the place of the batch that it is about."""

    def broken() -> Iterator[pa.RecordBatch]:
        for i in range(3):
            yield pa.record_batch({"i": [i]})
        raise ValueError("three is too many")

    batches = read_ahead(broken())
    assert [next(batches).column(0).to_pylist() for _ in range(3)] == [[0], [1], [2]]
    with pytest.raises(ValueError, match="three"):
        next(batches)


def test_reading_ahead_leaves_no_thread_behind() -> None:
    """Also where the reader stops early."""
    before = threading.active_count()
    batches = read_ahead(iter([pa.record_batch({"i": [i]}) for i in range(5)]))
    assert next(batches).column(0).to_pylist() == [0]
    batches.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before

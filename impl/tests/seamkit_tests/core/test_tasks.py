"""Parallel tasks: what an error refers to goes with it."""

import gc
import threading
import weakref
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest

from seamkit.core.tasks import Task, run_tasks

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

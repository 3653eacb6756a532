"""Threads of one read that do something in turn, or ahead of it."""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa


@contextmanager
def begun(
    batches: Iterator[pa.RecordBatch] | None, most: int = 1
) -> Iterator[Iterator[pa.RecordBatch] | None]:
    """The same batches, for later; a thread of its own reads the first ones meanwhile.

    Args:
        batches: asked by one thread at a time; None for none.
        most: batches that it may read before they are asked for. When the block ends it reads no
            further one.
    """
    if batches is None:
        yield None
        return
    pool = ThreadPoolExecutor(1, thread_name_prefix="seambench-ahead")
    coming = deque(pool.submit(next, batches, None) for _ in range(most))
    try:
        yield _following(coming, batches)
    finally:
        del coming  # see `seamkit.core.tasks.read_ahead`
        pool.shutdown(cancel_futures=True)


def _following(
    coming: deque[Future[pa.RecordBatch | None]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    while coming and not coming[0].cancelled():
        batch = coming.popleft().result()
        if batch is None:
            return
        yield batch
        del batch
    coming.clear()
    yield from batches


class Turns:
    """Lets threads do something in the order of their numbers, until one of them fails."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0
        self._error: BaseException | None = None

    @contextmanager
    def failing(self) -> Iterator[None]:
        """An error in here is also that of everybody whose turn would come later."""
        try:
            yield
        except BaseException as error:
            with self._changed:
                # A copy: the error's own traceback leads back to this object.
                self._error = self._error or copy.copy(error)
                self._changed.notify_all()
            raise

    @contextmanager
    def turn(self, number: int) -> Iterator[None]:
        """Wait for those with lower numbers."""
        with self._changed:
            self._changed.wait_for(lambda: self._next == number or self._error is not None)
            if self._error is not None:
                raise copy.copy(self._error)
        yield
        with self._changed:
            self._next = number + 1
            self._changed.notify_all()

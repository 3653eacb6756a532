"""Slices as parallel tasks: each yields batches, one stream hands them on.

Several threads of one slice do some things in turn, and others ahead of their turn.

An error leaves no cycle of references behind: what its traceback holds, mapped files among it, goes
with it. CPython 3.11.7 crashes where a garbage collection has to break up memory views.

Memory stays bounded: at most `threads` tasks run, and few batches wait to be fetched. Batches of
different slices come in whatever order they are ready.

Python's collector of cycles rests while plans are made: it looks through all objects again and
again while their number grows. A plan of many files is a hundred thousand objects without a cycle
among them, and half of the time that it takes to make them was the collector's.
"""

from __future__ import annotations

import copy
import gc
import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, TypeVar

import pyarrow as pa

_T = TypeVar("_T")
_U = TypeVar("_U")

Task = Callable[[], Iterator[pa.RecordBatch]]
"""One slice: called in a worker thread, yields that slice's batches in order."""


def run_tasks(
    tasks: Sequence[Task], threads: int, first: Collection[int] = ()
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Run all tasks, so many threads at once, and yield (number of the task, batch).

    The first error of a task stops the others and is raised here. Closing the iterator early stops
    them too; when it is exhausted or closed no thread is left. Several threads begin with the tasks
    `first`: were they the last, one thread would be left with a long task while the others have
    none.
    """
    if threads == 1 or len(tasks) <= 1:
        for number, task in enumerate(tasks):
            for batch in task():
                yield number, batch
        return
    threads = min(threads, len(tasks))
    numbers = deque(sorted(range(len(tasks)), key=lambda number: number not in first))
    hand_over = _HandOver(tasks, threads)
    workers: list[threading.Thread] = []
    # Python waits for a pool's threads before anything can tell them to stop: a program that ends
    # while it holds a stream read in part would never end.
    end = weakref.finalize(hand_over, _end, hand_over.stop, workers)
    try:
        for _ in range(threads):
            worker = threading.Thread(
                target=hand_over.work, args=(numbers,), name="seambench-slice", daemon=True
            )
            worker.start()
            workers.append(worker)
        yield from hand_over.batches()
    finally:
        end()
        hand_over.forget()


def each(function: Callable[[_T], _U], items: Sequence[_T], threads: int) -> list[_U]:
    """What a function gives for each of some items, by so many threads at once.

    What it raises for the first of those for which it raises is raised.
    """
    if threads < 2 or len(items) < 2:
        return list(map(function, items))
    with ThreadPoolExecutor(threads, thread_name_prefix="seambench-each") as pool:
        return list(pool.map(function, items))


def _end(stop: threading.Event, workers: list[threading.Thread]) -> None:
    stop.set()
    for worker in workers:
        worker.join()


class Once(Generic[_T]):
    """What is made when it is first asked for, by one thread; another process makes it anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: _T | None = None

    def get(self, make: Callable[[], _T]) -> _T:
        """What was made, or is made now; never None."""
        with self._lock:
            if self._made is None:
                self._made = make()
            return self._made

    def __reduce__(self) -> tuple[type[Once[_T]], tuple[()]]:
        return Once, ()


def read_ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches; while one is in use, a thread of its own fetches the next.

    They are asked by one thread at a time, not always the same.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="seambench-ahead") as pool:
        coming = pool.submit(next, batches, None)
        try:
            while (batch := coming.result()) is not None:
                coming = pool.submit(next, batches, None)
                yield batch
        finally:
            del coming  # it holds the error, whose traceback holds this frame


class _HandOver:
    """What workers and consumer share: a short queue, and the wish to stop."""

    def __init__(self, tasks: Sequence[Task], room: int) -> None:
        self.stop = threading.Event()
        self._tasks = tasks
        self._ready: queue.Queue[tuple[int, pa.RecordBatch | BaseException | None]]
        self._ready = queue.Queue(room)

    def work(self, numbers: deque[int]) -> None:
        """Run tasks in a worker until none is left."""
        while not self.stop.is_set():
            try:
                number = numbers.popleft()
            except IndexError:
                return
            self._run(number)

    def _run(self, number: int) -> None:
        """Run one task; its end or its error is handed over like its batches."""
        last: BaseException | None = None
        try:
            for batch in self._tasks[number]():
                if not self._put(number, batch):
                    return
        except BaseException as error:
            last = error
        try:
            self._put(number, last)
        finally:
            del last  # its traceback holds this frame

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches as they become ready, until every task has ended."""
        running = len(self._tasks)
        while running:
            number, item = self._ready.get()
            if item is None:
                running -= 1
            elif isinstance(item, BaseException):
                try:
                    raise item
                finally:
                    del item  # its traceback holds this frame
            else:
                yield number, item

    def forget(self) -> None:
        """Let go of what nobody took, once all workers ended: a second error leads back here."""
        while not self._ready.empty():
            self._ready.get_nowait()

    def _put(self, number: int, item: pa.RecordBatch | BaseException | None) -> bool:
        """False when the consumer went away."""
        while not self.stop.is_set():
            try:
                self._ready.put((number, item), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False


@contextmanager
def begun(
    batches: Iterator[pa.RecordBatch] | None, most: int = 1
) -> Iterator[Iterator[pa.RecordBatch] | None]:
    """The same batches, for later; a thread of its own reads the first ones meanwhile.

    They are asked by one thread at a time. At most `most` are read before they are asked for, and
    none once the block ends.
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


_LOCK = threading.Lock()
_resting = 0


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect no cycles in this process meanwhile; what has no cycle is freed as ever.

    Threads may overlap: the last one to leave lets the collector work again. One that the program
    itself has switched off stays off, and has this count for nothing.
    """
    global _resting
    with _LOCK:
        counts = _resting > 0 or gc.isenabled()
        _resting += counts
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            _resting -= counts
            if counts and not _resting:
                gc.enable()

"""Several processes of one implementation, which share its cases."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from seambench.conformance.isolate import Isolated, Limits
from seambench.contracts.outcomes import Outcome
from seambench.contracts.seam import Case


class Crew:
    """Processes of one implementation. A context manager; not for several threads.

    Attributes:
        first: the process that is started first, and always.
    """

    def __init__(self, seam: str, name: str, limits: Limits, jobs: int) -> None:
        """Make them ready; each starts with its first case."""
        self._members = [Isolated(seam, name, limits) for _ in range(jobs)]
        self.first = self._members[0]

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.close()

    def map(
        self, put: Callable[[Isolated, Case], Outcome], cases: Sequence[Case]
    ) -> Iterator[Outcome]:
        """What comes of each case, in the order of the cases."""
        self.first.start()
        idle: queue.SimpleQueue[Isolated] = queue.SimpleQueue()
        for member in self._members:
            idle.put(member)

        def one(case: Case) -> Outcome:
            member = idle.get()
            try:
                return put(member, case)
            finally:
                idle.put(member)

        pool = ThreadPoolExecutor(len(self._members))
        try:
            yield from pool.map(one, cases)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for member in self._members:
                member.interrupt()
            pool.shutdown()

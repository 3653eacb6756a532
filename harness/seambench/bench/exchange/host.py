"""A process of a query: one worker or several, on threads of their own.

It gets commands as lines of JSON on its standard input and answers each with a line:
`start`, `prepare`, `listen`, `connect`, `run`, `judge`, `close` (see
`seambench.bench.exchange.cluster`). An answer has `done`, or `error` with the kind of the exception
and its sentence.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import SeambenchError, UnavailableError
from seambase.foreign_arrow import stream_of
from seambench.bench.exchange.plans import Plan, Step, plan_named
from seambench.bench.memory import MemorySampler
from seambench.bench.quiet import family_seconds
from seambench.contracts import registry
from seambench.contracts.exchange import (
    Counted,
    Distributed,
    ExchangeRequest,
    ListeningReceiver,
    RemoteSender,
)
from seambench.engines.digest import digest_reader

#: Of these the longest of all sides counts.
_LONGEST_COUNTS = ("network", "overall")


class Node:
    """One worker: its part of the tables, its sides of the exchanges."""

    def __init__(self, implementation: Distributed, index: int, workers: int) -> None:
        self._implementation = implementation
        self.index = index
        self.workers = workers
        self._tables: Mapping[str, pa.Table] = {}
        self._plan: Plan | None = None
        self._settings: Mapping[str, Any] = {}
        self._receivers: dict[str, ListeningReceiver] = {}
        self._senders: dict[str, RemoteSender] = {}
        #: Rows of each step, by the driver that received them.
        self._received: dict[str, list[pa.Table]] = {}
        self._outcome: list[pa.Table] = []

    def prepare(self, plan: Plan, tables: Mapping[str, pa.Table]) -> None:
        """Take this worker's part of the tables."""
        self._plan = plan
        self._tables = tables

    def listen(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """Get the receiving sides ready; the address of each, by step."""
        assert self._plan is not None
        self._settings = settings
        for number, step in enumerate(self._plan.steps):
            if step.partition != "single" or self.index == 0:
                address = settings["address"].format(index=self.index, step=number)
                self._receivers[step.name] = self._implementation.listen(
                    self._request(step), address
                )
        return {name: receiver.address for name, receiver in self._receivers.items()}

    def connect(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """Get the sending sides ready."""
        assert self._plan is not None
        for step in self._plan.steps:
            request = self._request(step)
            self._senders[step.name] = self._implementation.connect(
                request, self.index, addresses[step.name]
            )

    def run(self) -> dict[str, Any]:
        """Run the plan; seconds, and bytes of the rows that were received, as Arrow has them."""
        assert self._plan is not None
        begin = time.perf_counter()
        self._outcome = self._plan.run(self)
        seconds = time.perf_counter() - begin
        received = [table for tables in self._received.values() for table in tables]
        sides = [*self._senders.values(), *self._receivers.values()]
        counted = [side.counters() for side in sides if isinstance(side, Counted)]
        return {
            "seconds": seconds,
            "bytes": sum(table.nbytes for table in received),
            "rows": sum(table.num_rows for table in received),
            "passed_bytes": sum(counters.get("bytes_pass_through", 0) for counters in counted),
            "spent": spent_by_all([_seconds(counters) for counters in counted]),
        }

    def table(self, name: str) -> pa.Table:
        """See `seambench.bench.exchange.plans.Worker`."""
        return self._tables[name]

    def exchange(self, step: str, rows: pa.Table) -> pa.Table:
        """See `seambench.bench.exchange.plans.Worker`."""
        sender, problems = self._senders[step], list[SeambenchError]()
        batches = rows.to_batches(max_chunksize=self._settings["request"]["chunk_rows"])
        drivers = self._settings["request"]["drivers"]

        def send(driver: int) -> None:
            which = () if drivers == 1 else (driver,)
            try:
                for batch in batches[driver::drivers]:
                    sender.write(batch, *which)
                sender.finish(*which)
            except SeambenchError as error:
                problems.append(error)
                sender.cancel(f"a driver failed: {error}")

        with ThreadPoolExecutor(2 * drivers) as pool:
            sending = [pool.submit(send, driver) for driver in range(drivers)]
            reading = [pool.submit(self._receive, step, driver) for driver in range(drivers)]
            received = [pa.Table.from_batches(one.result(), rows.schema) for one in reading]
            for one in sending:
                one.result()
        if problems:
            raise problems[0]
        self._received[step] = received
        return pa.concat_tables(received)

    def _receive(self, step: str, driver: int) -> list[pa.RecordBatch]:
        if step not in self._receivers:
            return []
        receiver, received = self._receivers[step], []
        while (batch := receiver.read(driver, self._settings["timeout"])) is not None:
            received.append(batch)
        return received

    def judge(self) -> dict[str, Any]:
        """What came of the plan: digests, how many keys each hashed step gave, or the answer."""
        assert self._plan is not None
        received, outcome = self._received, self._outcome
        self._received, self._outcome = {}, []
        if self._plan.number is not None:
            return {"answer": packed(outcome[0])} if self.index == 0 else {}
        keys = {
            step.name: sum(len(table[step.keys[0]].unique()) for table in received[step.name])
            for step in self._plan.steps
            if step.keys
        }
        return {"digests": [digest_reader(table) for table in outcome], "keys": keys}

    def close(self) -> None:
        """Give up both sides. Repeatable."""
        for sender in self._senders.values():
            sender.close()
        for receiver in self._receivers.values():
            receiver.close()
        self._senders, self._receivers = {}, {}
        self._received, self._outcome = {}, []

    def _request(self, step: Step) -> ExchangeRequest:
        request = self._settings["request"]
        return ExchangeRequest(
            schema=step.schema,
            partition=step.partition,
            keys=step.keys,
            senders=self.workers,
            receivers=1 if step.partition == "single" else self.workers,
            buckets=[bucket % self.workers for bucket in range(step.buckets)],
            # A worker's buckets are dealt to its drivers in turns.
            bucket_drivers=[
                bucket // self.workers % request["drivers"] for bucket in range(step.buckets)
            ],
            **request,
        )


def _seconds(counters: Mapping[str, int]) -> dict[str, float]:
    """Of a side, by what they were spent on."""
    times = {name: ns for name, ns in counters.items() if name.endswith("_time")}
    return {name.removesuffix("_time"): ns / 1e9 for name, ns in times.items()}


def in_all(ran: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What several workers or processes say of a run, as one: the slowest's time, and sums."""
    sums = [name for name in ran[0] if name not in ("seconds", "spent")]
    return {
        "seconds": max(one["seconds"] for one in ran),
        "spent": spent_by_all([one["spent"] for one in ran]),
        **{name: sum(one[name] for one in ran) for name in sums},
    }


def spent_by_all(sides: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Seconds of several sides or processes as one; see `seambench.contracts.exchange.Counted`."""
    found: dict[str, float] = {}
    for name in dict.fromkeys(name for side in sides for name in side):
        of_each = [side[name] for side in sides if name in side]
        found[name] = max(of_each) if name in _LONGEST_COUNTS else sum(of_each)
    return found


def packed(table: pa.Table) -> str:
    """A table as text: a stream of Arrow's, which the oracle reads."""
    return base64.b64encode(stream_of(table.to_batches(), table.schema)).decode()


class Host:
    """The workers of this process."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._pool: ThreadPoolExecutor | None = None

    def start(self, command: Mapping[str, Any]) -> Any:
        """Find the implementation and make the workers `indexes` of `workers`."""
        implementation = registry.resolve("exchange", command["implementation"])
        if not isinstance(implementation, Distributed):
            raise UnavailableError(
                f"{command['implementation']} has no sides that can live in several processes"
            )
        self.nodes = [Node(implementation, i, command["workers"]) for i in command["indexes"]]
        self._pool = ThreadPoolExecutor(len(self.nodes))
        return str(implementation.version)

    def prepare(self, command: Mapping[str, Any]) -> Any:
        """Load the parts of `plan`'s tables from `folder`."""
        plan = plan_named(command["plan"])
        for node in self.nodes:
            node.prepare(plan, _parts(Path(command["folder"]), plan, node.index, node.workers))

    def listen(self, command: Mapping[str, Any]) -> Any:
        """Addresses by worker."""
        return {str(node.index): node.listen(command) for node in self.nodes}

    def connect(self, command: Mapping[str, Any]) -> Any:
        """Connect every worker to `addresses`."""
        self._each(lambda node: node.connect(command["addresses"]))

    def run(self, command: Mapping[str, Any]) -> Any:
        """Run the plan on every worker at once; what that took of this process."""
        gc.collect()
        memory = MemorySampler() if command.get("memory") else None
        with memory or contextlib.nullcontext():
            cpu = family_seconds()
            ran = self._each(Node.run)
            cpu = family_seconds() - cpu
        return {
            "cpu": cpu,
            "peak_bytes": memory.peak_bytes if memory else 0,
            "growth_bytes": memory.growth_bytes if memory else 0,
            **in_all(ran),
        }

    def judge(self, _command: Mapping[str, Any]) -> Any:
        """What came of it, by worker."""
        return [node.judge() for node in self.nodes]

    def close(self, _command: Mapping[str, Any]) -> Any:
        """Close the sides of every worker."""
        self._each(Node.close)

    def _each(self, work: Callable[[Node], Any]) -> list[Any]:
        assert self._pool is not None
        return [future.result() for future in [self._pool.submit(work, n) for n in self.nodes]]


def _parts(folder: Path, plan: Plan, index: int, workers: int) -> dict[str, pa.Table]:
    """The worker's rows, in memory of its own."""
    parts = {}
    for name in plan.tables:
        with pa.memory_map(str(folder / f"{name}.arrow")) as file:
            whole = pa.ipc.open_file(file).read_all()
            if name in plan.place:
                part = whole.take(np.flatnonzero(plan.place[name](whole, workers) == index))
            else:
                begin, end = (whole.num_rows * i // workers for i in (index, index + 1))
                part = whole.slice(begin, end - begin)
            part = plan.derive.get(name, lambda table: table)(part)
            parts[name] = part.take(np.arange(part.num_rows)).combine_chunks()
    return parts


def main() -> None:
    """Answer lines until they end, or a worker's doings cannot be ended."""
    host = Host()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"done": getattr(host, command["do"])(command)}
            if command["do"] == "start":
                # What was imported stays: to look through it for garbage before each run would take
                # longer than many a run.
                gc.collect()
                gc.freeze()
        except SeambenchError as error:
            answer = {"error": [type(error).__name__, str(error)]}
        except Exception as error:
            answer = {"error": ["SeambenchError", f"unexpected {type(error).__name__}: {error}"]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    with contextlib.suppress(SeambenchError):
        host.close({})


if __name__ == "__main__":
    main()

"""Workers of a query in processes of this machine, and one run of a plan over them."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from seambase import errors
from seambase.errors import SeambenchError
from seambench.bench.exchange.host import in_all

#: Until a process has started and imported what it needs.
_SECONDS_TO_START = 120.0
_UNIX = "unix:{folder}/{{index}}-{{step}}"


@dataclass(frozen=True)
class Way:
    """How rows travel."""

    # of the exchange seam; `pass-through` and `local` want all workers in one process
    transport: str
    format: str = "arrow"  # how rows are carried where they become bytes
    chunk_rows: int = 4096  # rows of a batch that is written, and most of one that travels
    # bytes beyond which a receiver makes its senders wait; None for its choice
    buffer_bytes: int | None = None
    # workers that share a process, among whom batches change hands while `transport` carries what
    # leaves it; 0: a process each, and everything is carried
    near: int = 0
    drivers: int = 1  # of each worker, on both sides of every exchange
    # where workers listen, with `{index}` of the worker and `{step}` of the plan; None for Unix
    # sockets in a folder of the run
    address: str | None = None

    @property
    def label(self) -> str:
        """Transport and layout, as a part of a case's name."""
        near = f"-{self.near}-near" if self.near else ""
        return f"{self.transport}{near}" + (f"-{self.drivers}-drivers" if self.drivers > 1 else "")

    def settings(self) -> dict[str, Any]:
        """What a host must know to open its workers' sides, as requests call it."""
        both = {"drivers": self.drivers, "writers": self.drivers, "pass_through": self.near > 0}
        alike = ("transport", "format", "chunk_rows", "buffer_bytes")
        return {"request": {name: getattr(self, name) for name in alike} | both}


@dataclass(frozen=True)
class Ran:
    """One run of a plan."""

    seconds: float  # until the last worker was done
    cpu: float  # processor seconds of all processes
    bytes: int  # of the rows that workers received, as Arrow has them
    rows: int
    # of chunks that changed hands; 0 of an implementation that does not count them
    passed_bytes: int
    peak_bytes: int  # most resident bytes of each process, added up; 0 if nobody watched
    growth_bytes: int  # the same above what was resident before
    outcomes: Sequence[Mapping[str, Any]]  # what each worker has to say of its own
    # seconds by what sides spent them on; none of an implementation that does not say
    spent: Mapping[str, float]

    @classmethod
    def of(cls, ran: Sequence[Mapping[str, Any]], outcomes: Sequence[Mapping[str, Any]]) -> Self:
        """What processes say of a run (`seambench.bench.exchange.host.Host.run`), as one."""
        return cls(outcomes=outcomes, **in_all(ran))


#: Numbers of processes and their lines, as they come.
_Said = queue.SimpleQueue[tuple[int, bytes]]


class _Process:
    """One host, and what it says."""

    def __init__(self, prefix: Sequence[str], number: int, said: _Said) -> None:
        self.name = f"process {number}"
        self._number = number
        self._said = said
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives with the process
        self._process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "seambench.bench.exchange.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        threading.Thread(target=self._hear, daemon=True).start()

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self._process.pid

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put((self._number, line))
        self._said.put((self._number, b""))

    def tell(self, command: Mapping[str, Any]) -> None:
        """Ask for something; a process that died says so when it is listened to."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def understood(self, line: bytes) -> Any:
        """What a line of it means."""
        if not line:
            self._stderr.seek(0)
            said = self._stderr.read().decode(errors="replace").strip().splitlines()
            code = self._process.wait()
            raise SeambenchError(f"{self.name} died with code {code}: {''.join(said[-1:])}")
        reply = json.loads(line)
        if "error" in reply:
            kind, text = reply["error"]
            raise getattr(errors, kind, SeambenchError)(f"{self.name}: {text}")
        return reply["done"]

    def kill(self) -> None:
        """It is over, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


class Cluster:
    """Workers of one implementation. A context manager; not for several threads.

    `hosts` says how many workers each process has, `prefixes` what it is started with, e.g. `ip
    netns exec NAME`; a step of a run may take `timeout` seconds.
    """

    def __init__(
        self,
        implementation: str,
        hosts: Sequence[int],
        *,
        prefixes: Sequence[Sequence[str]] | None = None,
        timeout: float = 300.0,
    ) -> None:
        self.workers = sum(hosts)
        self.version = ""
        self._timeout = timeout
        self._folder = tempfile.TemporaryDirectory(prefix="seamx")
        self._runs = 0
        self._said: _Said = queue.SimpleQueue()
        prefixes = prefixes or [()] * len(hosts)
        self._processes = [
            _Process(prefix, number, self._said) for number, prefix in enumerate(prefixes)
        ]
        indexes = iter(range(self.workers))
        try:
            for process, count in zip(self._processes, hosts, strict=True):
                mine = [next(indexes) for _ in range(count)]
                start = {"do": "start", "implementation": implementation, "indexes": mine}
                process.tell(start | {"workers": self.workers})
            self.version = self._answers(_SECONDS_TO_START)[0]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """Of the processes."""
        return [process.pid for process in self._processes]

    def close(self) -> None:
        """End every process. Repeatable."""
        for process in self._processes:
            process.kill()
        self._processes = []
        self._folder.cleanup()

    def prepare(self, plan: str, folder: Path) -> None:
        """Give each worker its part of a plan's tables, which are `folder/TABLE.arrow`."""
        self._all({"do": "prepare", "plan": plan, "folder": str(folder)})

    def run(self, way: Way, *, memory: bool = False) -> Ran:
        """Run the plan that was prepared; its sides are opened before and closed after the clock.

        To watch the processes' memory costs time.
        """
        self._open(way)
        ran = self._all({"do": "run", "memory": memory})
        outcomes = [one for host in self._all({"do": "judge"}) for one in host]
        self._all({"do": "close"})
        return Ran.of(ran, outcomes)

    def _open(self, way: Way) -> None:
        self._runs += 1
        folder = Path(self._folder.name) / str(self._runs)
        folder.mkdir()
        listen = {
            "do": "listen",
            **way.settings(),
            "address": way.address or _UNIX.format(folder=folder),
            "timeout": self._timeout,
        }
        by_worker = {
            int(index): addressed for host in self._all(listen) for index, addressed in host.items()
        }
        addresses: dict[str, list[str]] = {}
        for _, addressed in sorted(by_worker.items()):
            for step, address in addressed.items():
                addresses.setdefault(step, []).append(address)
        self._all({"do": "connect", "addresses": addresses})

    def _all(self, command: Mapping[str, Any]) -> list[Any]:
        """Ask every process at once; what each says."""
        for process in self._processes:
            process.tell(command)
        return self._answers(self._timeout)

    def _answers(self, seconds: float) -> list[Any]:
        """What each process says; the first that fails fails all, since they wait for it."""
        deadline = time.monotonic() + seconds
        replies: dict[int, Any] = {}
        while len(replies) < len(self._processes):
            try:
                number, line = self._said.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                late = [one.name for n, one in enumerate(self._processes) if n not in replies]
                raise SeambenchError(f"{', '.join(late)} did not answer in {seconds} s") from None
            replies[number] = self._processes[number].understood(line)
        return [replies[number] for number in sorted(replies)]

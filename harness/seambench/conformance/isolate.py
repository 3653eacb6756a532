"""Cases in a process of their own: a hang becomes `timeout`, a dying process becomes `crash`."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from seambase.errors import UnavailableError, UsageError
from seambase.wording import counted, uncoloured
from seambench.contracts.peers.catalogue import peer_of
from seambench.contracts.peers.environments import MARK, python_of

START_SECONDS = 120.0
"""How long an implementation may take to be imported (a JVM may start)."""

_LOOK_SECONDS = 0.1
"""How often memory is looked at while an answer is waited for."""

_KILLED_SECONDS = 10.0
"""How long a killed process may take to be gone: the kernel frees its memory first."""

_SHARE_OF_MEMORY = 0.75


@dataclass(frozen=True)
class Limits:
    """What a process of an implementation may take."""

    seconds: float = 60.0  # for a case
    # resident, with all that it started; None for three quarters of the machine's
    memory_bytes: int | None = None
    hung: int = 5  # after so many cases in a row without an answer no more are asked; 0 for no end
    start_seconds: float = START_SECONDS  # until it is ready


def memory_share(processes: int) -> int:
    """Bytes that each of several processes may take: three quarters of the machine's, shared."""
    return int(psutil.virtual_memory().total * _SHARE_OF_MEMORY) // processes


class Isolated:
    """One implementation behind a process. A context manager; not for several threads.

    The process lives as long as it answers, and is started anew after a crash or timeout. `xfails`
    is the file of known failures that the implementation itself names (attribute `xfails`), known
    once it is started, as are its `version` and the `capabilities` that it states. Its temporary
    files lie in a folder that goes with it. `gave_up` says that it hung too often to be asked more.
    `worker` is the module that the process runs; it speaks as `conformance.worker` does.
    """

    def __init__(
        self,
        seam: str,
        name: str,
        limits: Limits | None = None,
        worker: str = "seambench.conformance.worker",
    ) -> None:
        self.seam = seam
        self.name = name
        self.version = ""
        self.capabilities: frozenset[str] = frozenset()
        self.xfails: Path | None = None
        self._limits, self._worker = limits or Limits(), worker
        self._memory_bytes = self._limits.memory_bytes or memory_share(1)
        self._hung = 0
        self._loaded: set[tuple[str | None, ...]] = set()
        self.gave_up = False
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._number = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._refusal: Mapping[str, Any] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the object
        self._buffer = b""

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        self._stop()
        self._stderr.close()

    def interrupt(self) -> None:
        """Kill the process, whoever waits for its answer; for other threads than that one."""
        process = self._process
        if process is not None and process.returncode is None:
            _kill(process.pid)

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a request (see `conformance.worker`) to the process, which is started if need be.

        Its answer, or what became of it: `{"outcome": ..., "reason": ...}`.
        """
        self.start()
        if self._refusal is not None:
            return {**self._refusal, "seconds": 0.0}
        if (ended := self._load(request)) is not None:
            return ended
        answer = self._ask(request, self._limits.seconds)
        self._hung = self._hung + 1 if answer.get("outcome") == "timeout" else 0
        if self._hung and self._hung == self._limits.hung:
            reason = (
                f"not asked, as {counted(self._hung, 'case')} in a "
                "row before it had no answer in time"
            )
            self._refusal = {"outcome": "error", "reason": reason}
            self.gave_up = True
            self._stop()
        return answer

    def start(self) -> None:
        """Start the process, unless it runs, and wait until the implementation is imported."""
        if self._refusal is not None or self._process is not None:
            return
        self._stderr.seek(0)
        self._stderr.truncate()
        self._buffer = b""
        self._loaded.clear()
        try:
            python, variables = _where(self.seam, self.name)
        except UnavailableError as error:
            self._refusal = {"outcome": "unavailable", "reason": str(error)}
            return
        self._folder = tempfile.TemporaryDirectory(prefix="seambench-", ignore_cleanup_errors=True)
        # Sockets: what a program of the implementation's finds of them below /proc it cannot open.
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [python, "-m", self._worker, self.seam, self.name],
                env={**os.environ, **variables, "TMPDIR": self._folder.name},
                stdin=theirs.fileno(),
                stdout=self._stderr,
                stderr=self._stderr,
                start_new_session=True,
            )
        answer = self._listen(self._limits.start_seconds)
        if answer.get("ready"):
            self.version = answer["version"]
            self.capabilities = frozenset(answer.get("capabilities", ()))
            self.xfails = Path(answer["xfails"]) if answer["xfails"] else None
            return
        self._stop()
        if "usage" in answer:
            raise UsageError(answer["usage"])
        self._refusal = answer

    def _load(self, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Have the process read the case files first, which counts in no case; how it failed."""
        if "root" not in request:
            return None
        files = {part: request[part] for part in ("root", "golden", "begins")}
        files["seam"] = request.get("seam", self.seam)
        where = (files["seam"], files["root"], files["golden"], *request["begins"])
        if where in self._loaded:
            return None
        answer = self._ask({"do": "load", **files}, self._limits.start_seconds)
        if answer.get("loaded"):
            self._loaded.add(where)
            return None
        return answer

    def _ask(self, request: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        assert self._channel is not None
        self._number += 1
        text = json.dumps({**request, "number": self._number})
        try:
            self._channel.sendall(text.encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            return self._gone()
        answer = self._listen(seconds)
        if self._process is not None and answer.get("number") != self._number:
            self._stop()
            return {"outcome": "crash", "reason": "the answer to another question came"}
        return answer

    def _listen(self, seconds: float) -> Mapping[str, Any]:
        """The next line the process says, or how it failed to say one."""
        assert self._channel is not None
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._channel, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = end - time.monotonic()
                if not selector.select(max(0.0, min(left, _LOOK_SECONDS))):
                    if ended := self._over_limit(seconds, left):
                        return ended
                    continue
                try:
                    piece = self._channel.recv(1 << 16)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    return self._gone()
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def _over_limit(self, seconds: float, left: float) -> Mapping[str, Any] | None:
        """End a process that takes too much, and say of what; None while it does not."""
        assert self._process is not None
        taken = sum(map(_resident_bytes, _with_descendants(self._process.pid)))
        if taken > self._memory_bytes:
            self._stop()
            reason = (
                f"it took {taken / 1e9:.2f} GB of memory, and may take "
                f"{self._memory_bytes / 1e9:.2f} GB"
            )
            return {"outcome": "crash", "reason": reason}
        if left > 0:
            return None
        self._stop()
        return {"outcome": "timeout", "reason": f"no answer in {seconds:g} s"}

    def _gone(self) -> Mapping[str, Any]:
        """What a process that died has to tell."""
        assert self._process is not None
        code = self._process.wait()
        self._stderr.seek(0)
        said = uncoloured(self._stderr.read().decode(errors="replace")).strip().splitlines()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._stop()
        last = f": {said[-1]}" if said else ""
        return {"outcome": "crash", "reason": f"the process died with {how}{last}"}

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if process.poll() is None:
            _kill(process.pid)
        process.wait()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _with_descendants(pid: int) -> list[psutil.Process]:
    """A process and all below it, as far as they are still there."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _kill(pid: int) -> None:
    """Kill a process and all that it started, programs in sessions of their own among them.

    What it started is gone on return; for the process itself, its parent waits.
    """
    started = _with_descendants(pid)
    for process in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    psutil.wait_procs([process for process in started if process.pid != pid], _KILLED_SECONDS)


def _where(seam: str, name: str) -> tuple[str, Mapping[str, str]]:
    """The interpreter for an implementation, and what its environment variables say."""
    versioned = peer_of(seam, name)
    if versioned is None:
        return sys.executable, {}
    variables = {MARK: name, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    return str(python_of(*versioned)), variables

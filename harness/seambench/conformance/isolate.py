"""Cases in a process of their own: a hang becomes `timeout`, a dying process becomes `crash`."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambase.errors import UnavailableError, UsageError
from seambench.contracts.peers.catalogue import peer_of
from seambench.contracts.peers.environments import MARK, python_of

__all__ = ["START_SECONDS", "Isolated"]

START_SECONDS = 120.0
"""How long an implementation may take to be imported (a JVM may start)."""


class Isolated:
    """One implementation behind a process. A context manager; not for several threads.

    The process lives as long as it answers, and is started anew after a crash or timeout. `xfails`
    is the file of known failures that the implementation itself names (attribute `xfails`), known
    once it is started, as are its `version` and the `capabilities` that it states.

    Args:
        seam: seam of the implementation.
        name: its name in the registry, or `package.module:Class`.
        timeout: seconds that a case may take.
        worker: module that the process runs; it speaks as `conformance.worker` does.
        start_timeout: seconds that it may take until it is ready.
    """

    def __init__(
        self,
        seam: str,
        name: str,
        timeout: float = 60.0,
        worker: str = "seambench.conformance.worker",
        start_timeout: float = START_SECONDS,
    ) -> None:
        self.seam = seam
        self.name = name
        self.version = ""
        self.capabilities: frozenset[str] = frozenset()
        self.xfails: Path | None = None
        self._timeout, self._worker = timeout, worker
        self._start_timeout = start_timeout
        self._process: subprocess.Popen[bytes] | None = None
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
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put a request (see `conformance.worker`) to the process, which is started if need be.

        Returns:
            Its answer, or what became of it: `{"outcome": ..., "reason": ...}`.

        Raises:
            UsageError: see `start`.
        """
        self.start()
        if self._refusal is not None:
            return {**self._refusal, "seconds": 0.0}
        return self._ask(request)

    def start(self) -> None:
        """Start the process, unless it runs, and wait until the implementation is imported.

        Raises:
            UsageError: the name stands for no implementation.
        """
        if self._refusal is not None or self._process is not None:
            return
        self._stderr.seek(0)
        self._stderr.truncate()
        self._buffer = b""
        try:
            python, variables = _where(self.seam, self.name)
        except UnavailableError as error:
            self._refusal = {"outcome": "unavailable", "reason": str(error)}
            return
        self._process = subprocess.Popen(
            [python, "-m", self._worker, self.seam, self.name],
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )
        answer = self._listen(self._start_timeout)
        if answer.get("ready"):
            self.version = answer["version"]
            self.capabilities = frozenset(answer.get("capabilities", ()))
            self.xfails = Path(answer["xfails"]) if answer["xfails"] else None
            return
        self._stop()
        if "usage" in answer:
            raise UsageError(answer["usage"])
        self._refusal = answer

    def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send one request and wait for the answer."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._gone()
        return self._listen(self._timeout)

    def _listen(self, seconds: float) -> Mapping[str, Any]:
        """The next line the process says, or how it failed to say one."""
        assert self._process is not None
        assert self._process.stdout is not None
        end = time.monotonic() + seconds
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, end - time.monotonic())):
                    self._stop()
                    return {"outcome": "timeout", "reason": f"no answer in {seconds:g} s"}
                piece = os.read(descriptor, 1 << 16)
                if not piece:
                    return self._gone()
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def _gone(self) -> Mapping[str, Any]:
        """What a process that died has to tell."""
        assert self._process is not None
        code = self._process.wait()
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip().splitlines()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._stop()
        last = f": {said[-1]}" if said else ""
        return {"outcome": "crash", "reason": f"the process died with {how}{last}"}

    def _stop(self) -> None:
        """End the process and what it started."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _where(seam: str, name: str) -> tuple[str, Mapping[str, str]]:
    """The interpreter for an implementation, and what its environment variables say.

    Raises:
        UsageError: a version of a peer that is none.
        UnavailableError: the peer's environment cannot be made.
    """
    versioned = peer_of(seam, name)
    if versioned is None:
        return sys.executable, {}
    variables = {MARK: name, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
    return str(python_of(*versioned)), variables

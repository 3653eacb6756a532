"""Memory: what a block of work holds at most, in runs that nobody times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from seambase.errors import SeambenchError

_SAMPLE_SECONDS = 0.01


class _Sampler:
    """Looks at something from a thread while a block runs, at its ends and every so often."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stop.wait(self._seconds):
            self._look()

    def _look(self) -> None:
        raise NotImplementedError


class MemorySampler(_Sampler):
    """Watches the resident bytes of this process from a thread while a block runs."""

    def __init__(self) -> None:
        super().__init__(_SAMPLE_SECONDS)
        self._process = psutil.Process()
        self.start_bytes = 0
        self.peak_bytes = 0

    @property
    def growth_bytes(self) -> int:
        """What the block needed beyond what was there."""
        return self.peak_bytes - self.start_bytes

    def _look(self) -> None:
        resident = int(self._process.memory_info().rss)
        self.start_bytes = self.start_bytes or resident
        self.peak_bytes = max(self.peak_bytes, resident)


def peak_of_own_process() -> int:
    """Most resident bytes this process ever had.

    On Linux from VmHWM: what `getrusage` tells may stem from the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class Drained:
    """What a streamed scan in a process of its own came to."""

    rows: int
    seconds: float
    peak_bytes: int  # most resident bytes of that process and its children together


def run_drain(reader: str, request: Mapping[str, Any], timeout: float = 600.0) -> Drained:
    """Stream a scan in a fresh process, dropping batches as they come, and tell its peak memory."""
    given = json.dumps({"reader": reader, "request": dict(request)})
    command = [sys.executable, "-m", "seambench.bench.drain", given]
    pipe = subprocess.PIPE
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with (
        subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment) as process,
        _TreePeak(process.pid) as peak,
    ):
        try:
            said, problem = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            text = f"{reader}: a streamed scan took over {timeout:g} s"
            raise SeambenchError(text) from error
        finally:
            process.kill()  # if it still runs
    if process.returncode != 0:
        last = problem.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise SeambenchError(f"{reader}: a streamed scan failed: {last[0]}")
    came = json.loads(said.strip().splitlines()[-1])
    # Children (a command's process, Java) count too; the process itself knows its peak exactly.
    return Drained(came["rows"], came["seconds"], came["peak_bytes"] + peak.peak_of_children)


class _TreePeak(_Sampler):
    """Samples the resident bytes of the children of a process."""

    def __init__(self, pid: int) -> None:
        super().__init__(5 * _SAMPLE_SECONDS)
        self._pid = pid
        self.peak_of_children = 0

    def _look(self) -> None:
        try:
            children = psutil.Process(self._pid).children(recursive=True)
            total = sum(child.memory_info().rss for child in children)
        except psutil.Error:
            return  # one of them has just ended
        self.peak_of_children = max(self.peak_of_children, total)

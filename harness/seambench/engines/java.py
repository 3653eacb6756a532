"""Java processes that pyspark starts: none may outlive us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def remembered_processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Remember the processes that pyspark starts meanwhile, each the leader of its own group.

    An interruption makes pyspark forget the Java that it has just started, which then waits for
    ever: whoever is interrupted ends the processes in this list.
    """
    from pyspark import java_gateway

    started: list[subprocess.Popen[bytes]] = []

    def start(command: Any, **options: Any) -> subprocess.Popen[bytes]:
        with _deferred_interrupt():
            process = subprocess.Popen(command, start_new_session=True, **options)
            started.append(process)
        return process

    before, java_gateway.Popen = java_gateway.Popen, start
    try:
        yield started
    finally:
        java_gateway.Popen = before


@contextlib.contextmanager
def _deferred_interrupt() -> Iterator[None]:
    """Let Ctrl-C take effect at the end of the block, so that nothing in it is half-done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, FrameType | None]] = []
    handler = signal.signal(signal.SIGINT, lambda *given: arrived.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived and callable(handler):
            handler(*arrived[0])


def kill_process(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

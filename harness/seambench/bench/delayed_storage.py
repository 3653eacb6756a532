"""A storage as far away as an object store, made of a local folder: each request waits first.

Importing this module makes addresses of the form `delayed:///folder` known to fsspec.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

_lock = threading.Lock()
_made: list[Request] = []
_delay_seconds = [0.0]


@dataclass(frozen=True)
class Request:
    """One request: what was asked for, of which path, and how many bytes came."""

    kind: str  # `list`, `info` or `read`
    path: str
    n_bytes: int  # bytes read; 0 for other kinds
    begin: float  # seconds of `time.perf_counter` when it was made
    end: float


@contextmanager
def delay(seconds: float) -> Iterator[None]:
    """Let each request of all delayed storages of this process wait so long, within the block."""
    before, _delay_seconds[0] = _delay_seconds[0], seconds
    try:
        yield
    finally:
        _delay_seconds[0] = before


def requests() -> list[Request]:
    """The requests made since the last call, by all storages of this process."""
    with _lock:
        made = list(_made)
        _made.clear()
    return made


def rounds(made: Sequence[Request]) -> int:
    """The most requests of which each was made after the answer of the one before.

    So often a scan waits for the way there and back, whatever it asks for at once. A request that
    waited for a thread, not for an answer that it needs, counts as well.
    """
    count, last_end = 0, float("-inf")
    for request in sorted(made, key=lambda one: one.end):
        if request.begin >= last_end:
            count, last_end = count + 1, request.end
    return count


def _made_one(kind: str, path: str, begin: float, n_bytes: int = 0) -> None:
    time.sleep(_delay_seconds[0])
    with _lock:
        _made.append(Request(kind, path, n_bytes, begin, time.perf_counter()))


class DelayedFileSystem(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files of this machine, asked for one request at a time; see the module."""

    protocol = "delayed"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(LocalFileSystem._strip_protocol(str(path).removeprefix("delayed://")))

    def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
        """One folder."""
        del options
        _made_one("list", str(path), time.perf_counter())
        info = super().info
        infos = [info(entry) for entry in os.scandir(self._strip_protocol(path))]
        return infos if detail else [found["name"] for found in infos]

    def info(self, path: str, **options: Any) -> Any:
        """One file's size."""
        _made_one("info", str(path), time.perf_counter())
        return super().info(path, **options)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        """A range of a file."""
        del options
        begin = time.perf_counter()
        with Path(self._strip_protocol(path)).open("rb") as file:
            file.seek(start or 0)
            content = file.read(-1 if end is None else end - (start or 0))
        _made_one("read", str(path), begin, len(content))
        return content


fsspec.register_implementation("delayed", DelayedFileSystem, clobber=True)

"""Progress on standard error: one line per step that is done, and a bar over all.

Steps also keep Ctrl-C from being lost: an exception raised while Python runs a callback of its own
(py4j has many, when objects die) is printed and forgotten, so that the wish is remembered here and
acted on at the next step's border.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

from rich.console import Console

from seambench.contracts.progress import Progress


class Steps(Progress):
    """Shows which step runs; off a terminal it prints a line per finished step."""

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        super().__init__("making data", quiet=quiet, console=console)
        self._interrupted = False
        self._handler: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__()
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        # Whatever the interruption looked like when it arrived here, it was one.
        if error[0] is not KeyboardInterrupt:
            self._check()

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def _check(self) -> None:
        if self._interrupted:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Run one step; its text is shown meanwhile, its time after."""
        self._check()
        self.now(what)
        begun = time.monotonic()
        yield
        self._check()
        self.advance()
        self.say(f"{time.monotonic() - begun:7.1f} s  {what}")

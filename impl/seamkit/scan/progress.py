"""A line on a terminal while a read takes long."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, Self

from seambase.command.terminal import Status
from seambase.wording import counted

SWITCH = "SEAMKIT_PROGRESS"
"""The variable of the environment that is 0 where nobody wants to see it."""

_AFTER_S = 2.0
_EVERY_S = 0.2


class Progress:
    """How many rows a read has so far, on standard error, from its third second on.

    Only reads that hand out all rows at once tell it, and only a terminal is told: a stream's rows
    go where its reader writes, too.

    Attributes:
        rows: so far.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._ended = threading.Event()
        is_wanted = os.environ.get(SWITCH) != "0" and sys.stderr is not None
        self._thread = (
            threading.Thread(target=self._show, daemon=True)
            if is_wanted and sys.stderr.isatty()
            else None
        )

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def counted(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches as they come."""
        for batch in batches:
            self.rows += batch.num_rows
            yield batch

    def _show(self) -> None:
        began = time.monotonic()
        if self._ended.wait(_AFTER_S):
            return
        with Status(self._text(began)) as status:
            while not self._ended.wait(_EVERY_S):
                status.update(self._text(began))

    def _text(self, began: float) -> str:
        return f"reading, {counted(self.rows, 'row')} so far, {time.monotonic() - began:.0f} s"

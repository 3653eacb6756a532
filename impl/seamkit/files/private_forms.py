"""Ways that rest on forms which Arrow does not document, each with a switch and a trial.

`conditions` (`expressions.py`): the parts of a filter, read from the bytes that pickle gives it.
Without them look-ups by key read all that statistics leave of row groups, files and logs.

`pages` (`pages/`): single pages of Parquet, decoded as files of nothing but these pages. Without
them row groups are read whole.

`decimals` (`promotion.py`): decimals that are stored as bytes, read by a footer that does not call
them decimals. Without it pyarrow makes each decimal by itself.

A release of Arrow may close any of them. No row is wrong then, but reads would get slow without a
word. So each is tried on values of its own before it is used for the first time in a process; where
the trial fails, an `ArrowWarning` says what is slower from now on. The environment variable
`SEAMKIT_WITHOUT` names forms, with commas between them, that are not to be used.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable

import pyarrow as pa

SWITCH = "SEAMKIT_WITHOUT"


class ArrowWarning(UserWarning):
    """This Arrow has closed a way that made reads faster."""


class PrivateForm:
    """A way by a form that Arrow does not document.

    Args:
        name: by which the switch names it.
        loss: what happens without it, as the end of a sentence.
        trial: raises, or gives False, where this Arrow has another form.
    """

    def __init__(self, name: str, loss: str, trial: Callable[[], bool]) -> None:
        self.name = name
        self._loss = loss
        self._trial = trial
        self._lock = threading.RLock()
        self._is_open: bool | None = None

    @property
    def is_open(self) -> bool:
        """Whether it may be used; the first to ask waits for the trial, which itself may use it."""
        if self._is_open is None:
            with self._lock:
                if self._is_open is None:
                    self._is_open = True
                    self._is_open = self._tried()
        return self._is_open

    def forget(self) -> None:
        """Look at the switch, and try anew, when next asked."""
        self._is_open = None

    def _tried(self) -> bool:
        if self.name in (name.strip() for name in os.environ.get(SWITCH, "").split(",")):
            return False
        try:
            if self._trial():
                return True
            why = "it gives something else"
        except Exception as error:  # whatever another form leads to
            why = repr(error)
        warnings.warn(
            f"pyarrow {pa.__version__} has another form of what seamkit uses for {self.name} "
            f"({why}): {self._loss}; rows stay right",
            ArrowWarning,
            stacklevel=2,
        )
        return False

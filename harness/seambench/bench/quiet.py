"""Whether the machine does anything else while it is timed.

Processor time that neither this process nor any that it started has spent is other people's work,
and stolen time is what the host gave to somebody else. Both are in per cent of all cores.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

import psutil
from msgspec import structs

from seambench.records.model import Busy

_WINDOW_SECONDS = 0.5
_BETWEEN_SECONDS = 2.0
#: Shorter stretches are not told apart: kernels count in hundredths of a second.
_STRETCH_SECONDS = 1.0


class Watch:
    """What others do, before a run and during it: the run begins when this is made.

    It waits at most `wait_seconds` until nobody else uses the machine, and tells why. Who can
    repeat a stretch of the run asks whether it was `disturbed`, and says what counts.
    """

    def __init__(
        self, wait_seconds: float = 0.0, on_wait: Callable[[str], None] | None = None
    ) -> None:
        begin = time.monotonic()
        while True:
            then = _now()
            time.sleep(_WINDOW_SECONDS)
            others, stolen = _shares(_spent(then))
            waited = time.monotonic() - begin
            self._before = Busy(waited=round(waited, 1), before=others, stolen_before=stolen)
            if self._before.is_quiet or waited + _BETWEEN_SECONDS > wait_seconds:
                break
            if on_wait is not None:
                on_wait(f"waiting: others use {others:.0f} % of this machine")
            time.sleep(_BETWEEN_SECONDS)
        self._begin = self._mark = _now()
        self._kept: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
        self._again = 0

    def begin(self) -> None:
        """A stretch begins here; what was since the last one is no part of any."""
        self._mark = _now()

    def disturbed(self) -> bool | None:
        """Whether others disturbed this stretch; None: it is too short to tell."""
        spent = _spent(self._mark)
        if spent[0] < _STRETCH_SECONDS:
            return None
        during, stolen = _shares(spent)
        return not Busy(waited=0.0, before=0.0, during=during, stolen=stolen).is_quiet

    def keep(self) -> None:
        """This stretch counts, and the next begins."""
        self._kept = tuple(a + b for a, b in zip(self._kept, _spent(self._mark), strict=True))
        self._mark = _now()

    def drop(self, rounds: int) -> None:
        """This stretch of so many rounds is done again, and the next begins."""
        self._again += rounds
        self._mark = _now()

    def busy(self) -> Busy:
        """What there was in the stretches that count, or until now if there are none."""
        during, stolen = _shares(self._kept if self._kept[0] else _spent(self._begin))
        return structs.replace(self._before, during=during, stolen=stolen, again=self._again)


def family_seconds() -> float:
    """Processor seconds of this process, of what it started, and of what these started.

    Those of a process that has ended are with the one that waited for it.
    """
    own = os.times()
    total = time.process_time() + own.children_user + own.children_system
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            spent = child.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total


def _spent(then: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(b - a for a, b in zip(then, _now(), strict=True))


def _shares(spent: tuple[float, ...]) -> tuple[float, float]:
    """Per cent of all cores that others were busy with, and that were stolen."""
    wall, busy, stolen, own = spent
    whole = max(wall, 1e-9) * (psutil.cpu_count() or 1)
    # Kernels count in ticks, processes more exactly: a little less than nothing is nothing.
    others, stolen = (max(0.0, round(100 * part / whole, 1)) for part in (busy - own, stolen))
    return others, stolen


def _now() -> tuple[float, ...]:
    """Clock, busy and stolen seconds of all cores, and those that are ours."""
    times = psutil.cpu_times()
    busy = times.user + times.nice + times.system
    busy += getattr(times, "irq", 0.0) + getattr(times, "softirq", 0.0)
    return time.monotonic(), busy, getattr(times, "steal", 0.0), family_seconds()

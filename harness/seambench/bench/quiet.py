"""Whether the machine does anything else while it is timed.

Processor time that neither this process nor any that it started has spent is other people's work,
and stolen time is what the host gave to somebody else. Both are told as per cent of all cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil
from msgspec import structs

from seambench.bench.measure import family_seconds
from seambench.records.model import Busy

_WINDOW_SECONDS = 0.5
_BETWEEN_SECONDS = 2.0


class Watch:
    """What others do, before a run and during it: the run begins when this is made.

    It waits at most `wait_seconds` until nobody else uses the machine, and tells why.
    """

    def __init__(
        self, wait_seconds: float = 0.0, on_wait: Callable[[str], None] | None = None
    ) -> None:
        begin = time.monotonic()
        while True:
            then = _now()
            time.sleep(_WINDOW_SECONDS)
            others, stolen = _since(then)
            waited = time.monotonic() - begin
            self._before = Busy(waited=round(waited, 1), before=others, stolen_before=stolen)
            if self._before.is_quiet or waited + _BETWEEN_SECONDS > wait_seconds:
                break
            if on_wait is not None:
                on_wait(f"waiting: others use {others:.0f} % of this machine")
            time.sleep(_BETWEEN_SECONDS)
        self._begin = _now()

    def told(self) -> Busy:
        """What there was until now."""
        during, stolen = _since(self._begin)
        return structs.replace(self._before, during=during, stolen=stolen)


def _since(then: tuple[float, ...]) -> tuple[float, float]:
    """Per cent of all cores that others were busy with, and that were stolen."""
    wall, busy, stolen, own = (b - a for a, b in zip(then, _now(), strict=True))
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

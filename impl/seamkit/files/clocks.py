"""What clocks of a zone showed, by the rules of Java's library and of ORC's in C++.

Both go by the database of zones, but for the time before a zone's first rule and, in Java, before
1900.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.core.border import numpy_of
from seamkit.files.footers.calendars import OFFSETS_DAY, is_before

UTC = frozenset(("", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z"))
"""Names of the zone whose clock shows instants as they are counted, and of none."""

_SECOND_NS, _DAY_NS = 10**9, 86_400 * 10**9
_OFFSETS_NS = OFFSETS_DAY * _DAY_NS
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TODAY = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


class _Rules(NamedTuple):
    """Nanoseconds by which a zone's clocks are ahead of UTC."""

    noon: int  # before its first rule, when a place went by its own noon
    first: int  # by its first rule
    begin: int  # the instant from which that holds
    today: int  # without the hour of summer

    @classmethod
    @cache
    def of(cls, zone: str) -> _Rules:
        """Those of a zone by this machine's database, by which ORC's library goes as well.

        Raises ZoneInfoNotFoundError of others.
        """
        clock = ZoneInfo(zone)

        def shown(second: int) -> dt.datetime:
            return (_EPOCH + dt.timedelta(seconds=second)).astimezone(clock)

        before, after = -(1 << 33), 0
        noon = shown(before)
        while after - before > 1:
            middle = (before + after) // 2
            own = shown(middle)
            same = (own.utcoffset(), own.tzname()) == (noon.utcoffset(), noon.tzname())
            before, after = (middle, after) if same else (before, middle)
        year = [(_TODAY + dt.timedelta(days)).astimezone(clock) for days in range(0, 365, 7)]
        return cls(_ahead(noon), _ahead(shown(after)), after * _SECOND_NS, min(map(_ahead, year)))


def _ahead(time: dt.datetime) -> int:
    """Nanoseconds by which a clock is ahead of UTC."""
    return (time.utcoffset() or dt.timedelta()) // dt.timedelta(seconds=1) * _SECOND_NS


def shown(instants: pa.Array, zone: str, where: str) -> pa.Array:
    """What the clocks of a zone show; Java has names such as GMT+08:00 too."""
    name = zone.removeprefix("GMT") if zone.startswith(("GMT+", "GMT-")) else zone
    kind = pa.timestamp(instants.type.unit, "UTC" if zone in UTC else name)
    try:
        return pc.local_timestamp(pc.cast(instants, kind))
    except pa.ArrowInvalid as error:
        raise RefusedError(f"{where}: the zone {zone!r} of its writer is not known") from error


def shown_by_java(times: pa.Array, zone: str, where: str) -> pa.Array:
    """What the clocks of a zone showed to Java's library, of nanoseconds as pyarrow gives them.

    A time with a fraction is a second less before 1970 by UTC; pyarrow takes that second off before
    1970 by the zone's clock. Before 1900 by UTC, clocks were to Java as far ahead as they are today
    in winter; to pyarrow they were so by the zone's first rule for as long as there was none.
    """
    first = pc.min(times)
    if not first.is_valid or first.value >= _DAY_NS:
        return times
    clock = numpy_of(pc.fill_null(times.view(pa.int64()), _DAY_NS))
    is_near = (np.abs(clock) < _DAY_NS) & (clock % _SECOND_NS >= _SECOND_NS // 1000)
    try:
        rules = _Rules.of(zone)
        is_unruled = clock - rules.first < rules.begin
        is_asked = is_near | (clock < _OFFSETS_NS + _DAY_NS) & ~is_unruled
        asked = pa.array(clock, mask=~is_asked).view(times.type)
        found = pc.assume_timezone(asked, zone, ambiguous="raise", nonexistent="raise")
    except (pa.ArrowInvalid, ZoneInfoNotFoundError) as error:
        raise RefusedError(
            f"{where}: it has times that the clocks of {zone} showed twice, or never ({error})"
        ) from error
    instants = numpy_of(pc.fill_null(found.view(pa.int64()), _DAY_NS))
    instants = np.where(is_unruled, clock - rules.first, instants)
    anew = np.where(is_unruled, instants + rules.noon, clock)
    anew = np.where(instants < _OFFSETS_NS, instants + rules.today, anew)
    anew -= np.where(is_near & (clock >= 0) & (instants < 0), _SECOND_NS, 0)
    anew += np.where(is_near & (clock < 0) & (instants >= -_SECOND_NS), _SECOND_NS, 0)
    return pa.array(anew, mask=numpy_of(times.is_null())).view(times.type)


def check_age(instants: pa.Array, zone: str, where: str) -> None:
    """Raise RefusedError for instants of the time before that from which Java's zones tell."""
    if is_before(instants, OFFSETS_DAY):
        raise RefusedError(
            f"{where}: it has instants before 1900 by the clocks of {zone}, which Java has "
            "otherwise than others; they are not supported"
        )

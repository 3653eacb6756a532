"""Time zones as engines name them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from seambase.errors import UsageError

_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_MICRO = timedelta(microseconds=1)
#: 1970-01-01 00:00:00 without a zone, from which wall clocks count.
EPOCH = datetime(1970, 1, 1)


def time_zone(name: str) -> tzinfo:
    """The zone a name stands for: `Europe/Paris` and the like, `UTC`, or an offset `+08:00`.

    No such zone is `CST`, which some take for China's and some for Chicago's.
    """
    if name == "UTC":
        return UTC
    if found := _OFFSET.fullmatch(name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        if offset < timedelta(hours=24):
            return timezone(-offset if found[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise UsageError(
            f"there is no time zone '{name}'; name one as in 'Asia/Shanghai' or '+08:00'"
        ) from error


def wall_micros(moment: datetime, zone: tzinfo) -> int:
    """Microseconds from 1970-01-01 00:00:00 to what a clock in a zone shows.

    A moment without a zone is what it is.
    """
    if moment.tzinfo is not None:
        moment = moment.astimezone(zone).replace(tzinfo=None)
    return (moment - EPOCH) // _MICRO

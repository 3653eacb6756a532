"""What a request of the scan seam means in Paimon's own options."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from seambase.errors import RefusedError, UsageError
from seambench.contracts.scan import ScanRequest

#: The end of the year 9999, in milliseconds.
_FOREVER = 253_402_300_799_000


def paimon_options(request: ScanRequest) -> dict[str, str]:
    """The options of a table by which Paimon reads what a request means."""
    if request.query == "incremental":
        if request.as_of is not None:
            raise UsageError("a query incremental has begin and end, not as_of")
        return _between(request)
    if request.begin is not None or request.end is not None:
        raise UsageError(f"a query {request.query} has neither begin nor end")
    point = request.as_of
    if point is None:
        return {}
    if point.isascii() and point.isdigit():
        return {"scan.snapshot-id": point}
    millis = _millis(point)
    return {"scan.tag-name": point} if millis is None else {"scan.timestamp-millis": millis}


def _between(request: ScanRequest) -> dict[str, str]:
    """The options for a window: two times, or two snapshots or tags."""
    begin, end = request.begin, request.end
    times = [None if point is None else _millis(point) for point in (begin, end)]
    if any(times):
        if any(given and not time for given, time in zip((begin, end), times, strict=True)):
            raise RefusedError(f"{begin} to {end}: Paimon takes two times or none")
        return {"incremental-between-timestamp": f"{times[0] or 0},{times[1] or _FOREVER}"}
    last = _newest(Path(request.table)) if end is None else end
    return {"incremental-between": f"{begin or 0},{last}"}


def _newest(table: Path) -> int:
    """Number of the newest snapshot; 0 if nothing was ever written."""
    names = (path.name.removeprefix("snapshot-") for path in table.glob("snapshot/snapshot-*"))
    return max((int(name) for name in names if name.isdigit()), default=0)


def _millis(point: str) -> str | None:
    """Milliseconds since 1970 of a time in ISO 8601, as a text; None for anything else."""
    if point.isascii() and point.isdigit():
        return None
    try:
        moment = dt.datetime.fromisoformat(point)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return str(int(moment.timestamp() * 1000))

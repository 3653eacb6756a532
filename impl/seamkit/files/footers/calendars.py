"""Days that Spark numbered by the Julian calendar, and which would come out as others.

Spark 2, and later ones where they are told to (`datetimeRebaseModeInWrite`, `LEGACY`), number days
before 1582-10-15 so that Julian dates keep their text, and times before 1900 by offsets of their
zone as Java once had them. Footers say so by keys of Spark's own, and nobody but Spark reads such
numbers back: they are refused, and not taken for what they are in all other files.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import RefusedError
from seamkit.files.footers.chunks import leaves

_KEY = b"org.apache.spark."
#: 1582-10-15, from which on both calendars agree, and 1900-01-01, from which on all offsets do.
_GREGORIAN_DAY, _OFFSETS_DAY = -141427, -25567
_A_DAY = {"milliseconds": 86_400_000, "microseconds": 86_400_000_000, "nanoseconds": 86_400 * 10**9}
_UNITS = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def check_calendar(footer: pq.FileMetaData, where: str) -> None:
    """Refuse a file whose ranges tell, or do not rule out, that it has such days or times.

    Times of INT96 have no ranges; see `check_int96`.
    """
    days = _first_days(footer, b"legacyDateTime", b"3.0.0")
    if days is None:
        return
    for number in range(footer.num_columns):
        column = footer.schema.column(number)
        first = _first(json.loads(column.logical_type.to_json()), *days)
        for group in range(footer.num_row_groups) if first is not None else ():
            known = footer.row_group(group).column(number).statistics
            has_range = known is not None and known.has_min_max
            if known.min_raw < first if has_range else known is None or known.num_values:
                raise _refusal(where, column.path)


def first_of_int96(footer: pq.FileMetaData) -> int | None:
    """The first day of times of INT96 that means the same to all; None where all days do."""
    days = _first_days(footer, b"legacyINT96", b"3.1.0")
    return days and days[1]


def check_int96(values: pa.Array | pa.ChunkedArray, first_day: int, name: str, where: str) -> None:
    """Refuse times before that day in a column as it was read; of INT96 no footer tells ranges."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    for leaf in (leaf for chunk in chunks for leaf in leaves(chunk)):
        if pa.types.is_timestamp(leaf.type):
            least = pc.min(leaf.view(pa.int64())).as_py()
            if least is not None and least < first_day * _A_DAY[_UNITS[leaf.type.unit]]:
                raise _refusal(where, name)


def _first_days(footer: pq.FileMetaData, mark: bytes, since: bytes) -> tuple[int, int] | None:
    """The first day, and that of times, which mean the same to all; None for a file without mark.

    Versions are compared as texts, as Spark compares them.
    """
    told = footer.metadata or {}
    version = told.get(_KEY + b"version")
    if version is None or (version >= since and _KEY + mark not in told):
        return None
    is_utc = told.get(_KEY + b"timeZone") == b"UTC"
    return _GREGORIAN_DAY, _GREGORIAN_DAY if is_utc else _OFFSETS_DAY


def _first(kind: dict[str, object], day: int, day_of_times: int) -> int | None:
    """The least number of a column that means the same to all; None for what has no days."""
    if kind["Type"] == "Date":
        return day
    if kind["Type"] == "Timestamp" and kind["isAdjustedToUTC"]:  # Spark leaves others as they are
        return day_of_times * _A_DAY[str(kind["timeUnit"])]
    return None


def _refusal(where: str, name: str) -> RefusedError:
    return RefusedError(
        f"{where}: column {name} may have days before 1582-10-15, or times before 1900, and Spark "
        "numbered them by the Julian calendar and offsets of old: have it write the file anew with "
        "spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED (int96RebaseModeInWrite)"
    )

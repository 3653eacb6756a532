"""Days before 1582-10-15 that are numbered by the Julian calendar, and would come out as others.

ORC files state their calendar, so such days are numbered anew. In Parquet and Avro there is no word
for it but writers' own, and Hive's before version 3 had none: a table of Hive's is held to that.

Spark 2, and later ones where they are set to (`datetimeRebaseModeInWrite`, `LEGACY`), number days
before 1582-10-15 so that Julian dates keep their text, and times before 1900 by offsets of their
zone as Java once had them. Footers say so by keys of Spark's own, and nobody but Spark reads such
numbers back: they are refused, and not taken for what they are in all other files.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import RefusedError
from seamkit.core.border import numpy_of
from seamkit.files.footers.chunks import is_by_parquet_mr, leaves

_KEY = b"org.apache.spark."
_VERSION = _KEY + b"version"
#: 1582-10-15, from which on both calendars agree, and 1900-01-01, from which on all offsets do.
_GREGORIAN_DAY, OFFSETS_DAY = -141427, -25567
#: The first day, and that of instants, which mean the same to all where nothing tells a calendar.
UNMARKED = _GREGORIAN_DAY, _GREGORIAN_DAY
_A_DAY = {"milliseconds": 86_400_000, "microseconds": 86_400_000_000, "nanoseconds": 86_400 * 10**9}
_UNITS = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class Calendar(Enum):
    """A calendar by its number in ORC's footers; the hybrid one is Julian before 1582-10-15."""

    UNKNOWN = 0
    HYBRID = 1
    PROLEPTIC = 2


def proleptic(days: pa.Array, calendar: Calendar, where: str) -> pa.Array:
    """Days (date32) by the proleptic calendar, each with the date that it had by its own one.

    The 29th of February of a year that is a leap year to the Julian calendar alone becomes the 1st
    of March, as in Hive and Spark.
    """
    least = pc.min(days.view(pa.int32())).as_py()
    if calendar is Calendar.PROLEPTIC or least is None or least >= _GREGORIAN_DAY:
        return days
    if calendar is Calendar.UNKNOWN:
        raise RefusedError(
            f"{where} has days before 1582-10-15, and its footer does not state their calendar: "
            "its writer's was another than Hive and Spark read them by"
        )
    numbers = days.view(pa.int32())
    values = numpy_of(pc.fill_null(numbers, 0)).astype(np.int64)
    # Years that begin in March, behind the day that leap years add; 0000-03-01 is day -719470.
    centuries = (4 * (values + 719_470) + 3) // 1461 // 100
    moved = values - (centuries - centuries // 4 - 2)
    anew = np.where(values < _GREGORIAN_DAY, moved, values).astype(np.int32)
    return pa.array(anew, mask=numpy_of(numbers.is_null())).view(days.type)


def check_calendar(footer: pq.FileMetaData, body: bytes, where: str) -> None:
    """Refuse a file whose ranges tell, or do not rule out, that it has such days or times.

    `body` is the footer's bytes. Times of INT96 have no ranges; see `check_int96`.
    """
    # A footer's own words are copied whole when they are looked at, Bloom filters among them.
    if _VERSION not in body or next(_early(footer, _GREGORIAN_DAY, OFFSETS_DAY), None) is None:
        return
    days = _first_days(footer.metadata, b"legacyDateTime", b"3.0.0")
    open_ = None if days is None else _open_column(footer, where, *days)
    if open_ is not None:
        raise _refusal(where, open_)


def check_unmarked(footer: pq.FileMetaData, where: str) -> bool:
    """The same of a table's file whose days are by the hybrid calendar unless it says otherwise.

    True where ranges do not rule such days out: values are to be held to `UNMARKED`.
    """
    return _is_unmarked(footer) and _open_column(footer, where, *UNMARKED) is not None


def _open_column(footer: pq.FileMetaData, where: str, day: int, day_of_times: int) -> str | None:
    """A column without ranges of such days or times; a range that tells of one is refused."""
    found = None
    for found, is_told in _early(footer, day, day_of_times):
        if is_told:
            raise _refusal(where, found)
    return found


def _early(footer: pq.FileMetaData, day: int, day_of_times: int) -> Iterator[tuple[str, bool]]:
    """Columns that may have days or times before these, and whether a range tells of one."""
    for number in range(footer.num_columns):
        column = footer.schema.column(number)
        first = _first(column.logical_type.to_json(), day, day_of_times)
        for group in range(footer.num_row_groups) if first is not None else ():
            known = footer.row_group(group).column(number).statistics
            if known is not None and known.has_min_max:
                if known.min_raw < first:
                    yield column.path, True
            elif known is None or known.num_values:
                yield column.path, False


def _is_unmarked(footer: pq.FileMetaData) -> bool:
    """Whether Hive's classes may have written a file, which has no word of its calendar."""
    # By Java's library, that is: others have the proleptic one alone, and Spark has words of its
    # own.
    if not is_by_parquet_mr(footer):
        return False
    metadata = footer.metadata or {}
    return not (_VERSION in metadata or metadata.get(b"writer.date.proleptic") == b"true")


def first_of_int96(footer: pq.FileMetaData) -> int | None:
    """The first day of times of INT96 that means the same to all; None where all days do."""
    days = _first_days(footer.metadata, b"legacyINT96", b"3.1.0")
    return days and days[1]


def first_of_unmarked_int96(footer: pq.FileMetaData) -> int | None:
    """The same where `check_unmarked` holds."""
    return _GREGORIAN_DAY if _is_unmarked(footer) else first_of_int96(footer)


def check_int96(values: pa.Array | pa.ChunkedArray, first_day: int, name: str, where: str) -> None:
    """Refuse times before that day in a column as it was read; of INT96 no footer tells ranges."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    for leaf in (leaf for chunk in chunks for leaf in leaves(chunk)):
        if pa.types.is_timestamp(leaf.type) and is_before(leaf, first_day):
            raise _refusal(where, name)


def first_of_avro(properties: Mapping[str, bytes]) -> tuple[int, int] | None:
    """The first day, and that of instants, that mean the same to all; None where all days do."""
    metadata = {key.encode(): value for key, value in properties.items()}
    return _first_days(metadata, b"legacyDateTime", b"3.0.0")


def first_of_unmarked_avro(properties: Mapping[str, bytes]) -> tuple[int, int] | None:
    """The same where days are by the hybrid calendar unless a file says otherwise."""
    known = f"{_KEY.decode()}version" in properties
    if known or properties.get("writer.proleptic") == b"true":
        return first_of_avro(properties)
    return UNMARKED


def check_days(
    values: pa.Array, first: tuple[int, int], name: str, where: str, kind_of_file: str = "avro"
) -> None:
    """Refuse days and instants before these, at any depth of a column as it was read."""
    for leaf in leaves(values):
        kind = leaf.type
        # Spark leaves times without a zone as they are.
        is_instant = pa.types.is_timestamp(kind) and kind.tz is not None
        if (pa.types.is_date32(kind) and is_before(leaf, first[0])) or (
            is_instant and is_before(leaf, first[1])
        ):
            raise _refusal(where, name, kind_of_file)


def is_before(leaf: pa.Array, day: int) -> bool:
    """Whether one of some days, or of some times, is before a day."""
    is_days = pa.types.is_date32(leaf.type)
    least = pc.min(leaf.view(pa.int32() if is_days else pa.int64())).as_py()
    return least is not None and least < day * (1 if is_days else _A_DAY[_UNITS[leaf.type.unit]])


def _first_days(
    words: Mapping[bytes, bytes] | None, mark: bytes, since: bytes
) -> tuple[int, int] | None:
    """The first day, and that of times, which mean the same to all; None without a mark."""
    # Versions are compared as texts, as Spark compares them.
    metadata = words or {}
    version = metadata.get(_VERSION)
    if version is None or (version >= since and _KEY + mark not in metadata):
        return None
    is_utc = metadata.get(_KEY + b"timeZone") == b"UTC"
    return _GREGORIAN_DAY, _GREGORIAN_DAY if is_utc else OFFSETS_DAY


@functools.lru_cache(maxsize=64)  # a file has many columns and few types
def _first(stated: str, day: int, day_of_times: int) -> int | None:
    """The least number of a column that means the same to all; None for what has no days."""
    kind = json.loads(stated)
    if kind["Type"] == "Date":
        return day
    if kind["Type"] == "Timestamp" and kind["isAdjustedToUTC"]:  # Spark leaves others as they are
        return day_of_times * _A_DAY[str(kind["timeUnit"])]
    return None


def _refusal(where: str, name: str, kind: str = "parquet") -> RefusedError:
    return RefusedError(
        f"{where}: column {name} may have days before 1582-10-15, or times before 1900, that Spark "
        "or Hive numbered by the Julian calendar and offsets of old: have Spark write the file "
        f"anew with spark.sql.{kind}.datetimeRebaseModeInWrite=CORRECTED (int96RebaseModeInWrite)"
    )

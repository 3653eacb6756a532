"""Days of ORC come by the proleptic calendar from the one that a footer states, where that counts.

What the numbers mean is worked out here by Meeus's formula; what Hive and Spark read stands beside
the golden table `orc-old-days`.
"""

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from seambase.errors import RefusedError
from seambench.formats.forms.footer import read_varint, varint
from seamkit.files.orc import OrcReader
from seamkit.files.storage import Storage

_HYBRID, _PROLEPTIC = 1, 2
_DAY = dt.timedelta(1)
_GREGORIAN = dt.date(1582, 10, 15)


def _julian(year: int, month: int, day: int) -> int:
    """The number of a date of the Julian calendar, days from 1970-01-01 on."""
    back = (14 - month) // 12
    years, months = year + 4800 - back, month + 12 * back - 3
    number = day + (153 * months + 2) // 5 + 365 * years + years // 4 - 32083
    return number - 2440588


def _written(folder: Path, column: pa.Array, calendar: int | None) -> OrcReader:
    """A file whose footer states a calendar, behind what pyarrow writes, which states none."""
    path = folder / "a.orc"
    orc.write_table(pa.table({"k": range(len(column)), "c": column}), path)
    if calendar is not None:
        data = path.read_bytes()
        begin = len(data) - 1 - data[-1]
        length, end = read_varint(data, begin + 1)  # of the footer
        size = varint(length + 2)
        assert data[begin] == 1 << 3
        assert len(size) == end - begin - 1
        stated = bytes([11 << 3, calendar, 1 << 3, *size])
        path.write_bytes(data[:begin] + stated + data[end:])
    return OrcReader(Storage(str(folder)), path.name, by_calendar=True)


def _values(reader: OrcReader) -> list[Any]:
    batches = reader.batches(reader.schema, 3, use_threads=False)
    return [value for batch in batches for value in batch.column("c").to_pylist()]


def _dates(count: int) -> list[dt.date | None]:
    chance = random.Random(1582)
    ends = [dt.date(1, 1, 1), dt.date(1582, 10, 4), _GREGORIAN, dt.date(9999, 12, 31), None]
    leaps = [dt.date(y, m, d) for y in (4, 100, 400, 1500, 1580) for m, d in ((2, 28), (3, 1))]
    drawn = [dt.date.fromordinal(chance.randint(1, 600_000)) for _ in range(count)]
    return ends + leaps + [d for d in drawn if not dt.date(1582, 10, 4) < d < _GREGORIAN]


def _hybrid(date: dt.date | None) -> int | None:
    if date is None or date >= _GREGORIAN:
        return None if date is None else (date - dt.date(1970, 1, 1)).days
    return _julian(date.year, date.month, date.day)


@pytest.mark.parametrize("within", ["flat", "list", "struct", "map"])
def test_days_by_the_hybrid_calendar_keep_their_dates(tmp_path: Path, within: str) -> None:
    """At every depth."""
    dates = _dates(400)
    leaf = pa.array([_hybrid(date) for date in dates], pa.int32()).cast(pa.date32())
    offsets = pa.array(range(len(dates) + 1), pa.int32())
    column = {
        "flat": leaf,
        "list": pa.ListArray.from_arrays(offsets, leaf),
        "struct": pa.StructArray.from_arrays([leaf], ["x"]),
        "map": pa.MapArray.from_arrays(offsets, pa.array(["a"] * len(leaf)), leaf),
    }[within]
    nested: dict[str, Any] = {
        "flat": dates,
        "list": [[date] for date in dates],
        "struct": [{"x": date} for date in dates],
        "map": [[("a", date)] for date in dates],
    }
    reader = _written(tmp_path, column, _HYBRID)
    assert _values(reader) == nested[within]
    if within == "flat":
        known = reader.statistics(reader.schema).columns["c"]
        ends = [end and end.as_py() for end in (known.least, known.greatest)]
        assert ends == [dt.date(1, 1, 1), dt.date(9999, 12, 31)]


def test_a_leap_day_of_the_julian_calendar_alone_is_the_day_behind_it(tmp_path: Path) -> None:
    """As in Hive and Spark."""
    days = pa.array([_julian(1500, 2, 29), _julian(1000, 2, 29)], pa.int32()).cast(pa.date32())
    assert _values(_written(tmp_path, days, _HYBRID)) == [dt.date(1500, 3, 1), dt.date(1000, 3, 1)]


def test_days_by_the_proleptic_calendar_stay_as_they_are(tmp_path: Path) -> None:
    """Also where a reader goes by the footer."""
    dates = _dates(20)
    assert _values(_written(tmp_path, pa.array(dates), _PROLEPTIC)) == dates


def test_days_by_no_calendar_are_refused(tmp_path: Path) -> None:
    """Of a writer that states none; later days are the same by both, and so are other columns."""
    reader = _written(tmp_path, pa.array([None, _GREGORIAN]), None)
    assert _values(reader) == [None, _GREGORIAN]
    reader = _written(tmp_path, pa.array([_GREGORIAN - _DAY]), None)
    with pytest.raises(RefusedError, match=r"a\.orc: column 'c' has days before 1582-10-15"):
        _values(reader)
    assert reader.statistics(reader.schema).columns["c"].least is None
    [batch] = reader.batches(pa.schema([("k", pa.int64())]), 3, use_threads=False)
    assert batch.num_rows == 1


def test_formats_with_days_of_their_own_take_them_as_they_are(tmp_path: Path) -> None:
    """Writers of Iceberg and Paimon let Java's library state a calendar that is not theirs."""
    dates = _dates(20)
    _written(tmp_path, pa.array(dates), _HYBRID)
    assert _values(OrcReader(Storage(str(tmp_path)), "a.orc")) == dates

"""Days and times that Spark numbered by the Julian calendar are refused, all others are read."""

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError
from seamkit.avro.data_file import AvroReader
from seamkit.files.parquet import ParquetReader, open_parquet
from seamkit.files.storage import Storage
from seamkit.scan.native_path import native_rows
from seamkit.scan.units import Wanted

_MARKS = {"version": "3.5.9", "legacyDateTime": "", "legacyINT96": "", "timeZone": "UTC"}
_GREGORIAN, _OFFSETS = dt.datetime(1582, 10, 15), dt.datetime(1900, 1, 1)
_JUST = dt.timedelta(milliseconds=1)
_WITHIN: dict[str, tuple[Any, Any]] = {
    "flat": (lambda leaf: leaf, lambda value: value),
    "list": (pa.list_, lambda value: [value]),
    "struct": (lambda leaf: pa.struct([("x", leaf)]), lambda value: {"x": value}),
    "map": (lambda leaf: pa.map_(pa.string(), leaf), lambda value: [("a", value)]),
}


def _write(
    folder: Path, column: pa.Array, marks: Mapping[str, str] = _MARKS, **options: Any
) -> Path:
    """A file with the keys that Spark writes."""
    own = {f"org.apache.spark.{key}": value for key, value in marks.items()}
    table = pa.table({"k": range(len(column)), "c": column}).replace_schema_metadata(own)
    pq.write_table(table, folder / "a.parquet", **options)
    return folder / "a.parquet"


def _values(file: Path) -> list[Any]:
    reader = ParquetReader(Storage(str(file.parent)), file.name, int96_unit="us")
    batches = reader.batches(reader.schema, 2, use_threads=False)
    return [value for batch in batches for value in batch.column("c").to_pylist()]


@pytest.mark.parametrize("within", _WITHIN)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", None])
@pytest.mark.parametrize("kind", ["date", "ms", "us", "INT96"])
def test_times_from_a_day_on_mean_the_same_to_all(
    tmp_path: Path, kind: str, zone: str | None, within: str
) -> None:
    """Days do so from 1582-10-15 on, times, which hang on offsets of zones, from 1900 on."""
    kept = {key: value for key, value in _MARKS.items() if key != "timeZone"}
    marks = kept if zone is None else {**kept, "timeZone": zone}
    type_ = {"date": pa.date32(), "ms": pa.timestamp("ms", "UTC"), "INT96": pa.timestamp("us")}.get(
        kind, pa.timestamp("us", "UTC")
    )
    first = _GREGORIAN if zone == "UTC" or kind == "date" else _OFFSETS
    nest, value = _WITHIN[within]
    how = {"use_deprecated_int96_timestamps": kind == "INT96"}
    if kind != "INT96" or first != _GREGORIAN:  # pyarrow writes INT96 from 1677 on
        written = pa.array([None, value(first)], nest(type_))
        assert _values(_write(tmp_path, written, marks, **how)) == written.to_pylist()
    before = first - (dt.timedelta(1) if kind == "date" else _JUST)
    if kind == "INT96" and first == _GREGORIAN:
        return
    file = _write(tmp_path, pa.array([None, value(before)], nest(type_)), marks, **how)
    with pytest.raises(RefusedError, match=r"a\.parquet: column c\S* may have days before 1582"):
        _values(file)


@pytest.mark.parametrize(
    ("marks", "refused"),
    [
        ({}, ()),
        ({"version": "3.5.9"}, ()),
        ({"version": "3.1.0"}, ()),
        ({"legacyDateTime": "", "legacyINT96": ""}, ()),  # what Spark itself does not heed
        ({"version": "2.4.8"}, ("date", "us", "INT96")),
        ({"version": "4.0.0", "legacyDateTime": "", "legacyINT96": ""}, ("date", "us", "INT96")),
        ({"version": "3.5.9", "legacyDateTime": ""}, ("date", "us")),
        ({"version": "3.5.9", "legacyINT96": ""}, ("INT96",)),
        ({"version": "3.0.3", "timeZone": ""}, ("INT96",)),  # which had no mark until 3.1
    ],
)
@pytest.mark.parametrize("kind", ["date", "us", "INT96"])
def test_footers_say_whose_calendar_it_is(
    tmp_path: Path, kind: str, marks: Mapping[str, str], refused: Sequence[str]
) -> None:
    """By the version of Spark, or by a mark beside it; times of INT96 have one to themselves."""
    type_ = {"date": pa.date32(), "INT96": pa.timestamp("us")}.get(kind, pa.timestamp("us", "UTC"))
    column = pa.array([dt.datetime(1880 if kind == "INT96" else 1000, 1, 1)] * 3, type_)
    file = _write(tmp_path, column, marks, use_deprecated_int96_timestamps=kind == "INT96")
    if kind not in refused:
        assert _values(file) == column.to_pylist()
        return
    with pytest.raises(RefusedError, match="column c may have days"):
        _values(file)


@pytest.mark.parametrize(
    ("column", "is_read"),
    [
        (pa.array([None, None], pa.date32()), True),
        (pa.array([1, 2], pa.date32()), False),
        (pa.array([dt.datetime(1000, 1, 1)], pa.timestamp("us")), True),  # one without a zone
        (pa.array([-200_000], pa.int32()), True),
    ],
)
def test_what_ranges_do_not_rule_out_may_be_there(
    tmp_path: Path, column: pa.Array, is_read: bool
) -> None:
    """A file without ranges is refused, but for nulls, and for what has no days of the kind."""
    if is_read:
        assert _values(_write(tmp_path, column)) == column.to_pylist()
    file = _write(tmp_path, column, write_statistics=False)
    if pa.types.is_date(column.type):
        with pytest.raises(RefusedError, match="column c may have days"):
            open_parquet(pa.OSFile(str(file)), str(file))
    else:
        assert _values(file) == column.to_pylist()


def test_chosen_pages_are_held_to_it(tmp_path: Path) -> None:
    """Where a filter of another column leaves a page with such a time of INT96, or none."""
    times = [dt.datetime(1880 if n == 50 else 1990, 1, 1) for n in range(4000)]
    column = pa.array(times, pa.timestamp("us"))
    marks = {**_MARKS, "timeZone": "Asia/Tokyo"}
    small: dict[str, Any] = {"data_page_size": 100, "write_batch_size": 20, "use_dictionary": False}
    small |= {"use_deprecated_int96_timestamps": True, "write_page_index": True}
    file = _write(tmp_path, column, marks, **small)
    reader = ParquetReader(Storage(str(tmp_path)), file.name, int96_unit="us")

    def read(number: int) -> int:
        condition = pc.field("k") == number
        wanted = Wanted(reader.schema, ["k", "c"], condition, ["k"], {}, batch_rows=1000)
        return sum(b.num_rows for b in native_rows(reader, wanted, range(1), use_threads=False))

    assert read(3000) == 1  # of its page alone
    with pytest.raises(RefusedError, match="column c may have days"):
        read(51)


@pytest.mark.parametrize("within", _WITHIN)
@pytest.mark.parametrize(
    ("marks", "first"),
    [
        (_MARKS, _GREGORIAN),
        ({**_MARKS, "timeZone": "Asia/Tokyo"}, _OFFSETS),
        ({"version": "2.4.8"}, _OFFSETS),
        ({"version": "3.5.9"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("kind", ["date", "timestamp-millis", "timestamp-micros"])
def test_avro_files_have_the_same_marks(
    tmp_path: Path, kind: str, marks: Mapping[str, str], first: dt.datetime | None, within: str
) -> None:
    """Days and instants; local times are left alone, as Spark leaves them."""
    is_date = kind == "date"
    bound = _GREGORIAN if is_date or first is None else first
    units = {"date": 86_400, "timestamp-millis": 1e-3, "timestamp-micros": 1e-6}
    number = int((bound - dt.datetime(1970, 1, 1)).total_seconds() / units[kind])
    base = "int" if is_date else "long"

    def read(value: int, logical: str) -> int:
        leaf = {"type": base, "logicalType": logical}
        type_, datum = {
            "flat": (leaf, value),
            "list": ({"type": "array", "items": leaf}, [value]),
            "struct": (
                {"type": "record", "name": "s", "fields": [{"name": "x", "type": leaf}]},
                {"x": value},
            ),
            "map": ({"type": "map", "values": leaf}, {"a": value}),
        }[within]
        schema = {"type": "record", "name": "r", "fields": [{"name": "c", "type": type_}]}
        own = {f"org.apache.spark.{key}": text for key, text in marks.items()}
        with (tmp_path / "a.avro").open("wb") as file:
            fastavro.writer(file, fastavro.parse_schema(schema), [{"c": datum}], metadata=own)
        reader = AvroReader(Storage(str(tmp_path)), "a.avro")
        return sum(batch.num_rows for batch in reader.batches(reader.schema, 2, use_threads=False))

    assert read(number, kind) == 1
    if first is None:
        assert read(number - 1, kind) == 1
        return
    with pytest.raises(RefusedError, match=r"a\.avro: column c may have days .*spark\.sql\.avro"):
        read(number - 1, kind)
    if not is_date:
        assert read(number - 1, f"local-{kind}") == 1

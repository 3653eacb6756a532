"""Times of Parquet and Avro by the clock of the zone that Hive's writer names in the file."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import RefusedError

_TIMES = [
    dt.datetime.fromisoformat(f"{text}+00:00")
    for text in (
        "2020-03-29 00:59:59",  # just before and behind the clock is set forward in Paris
        "2020-03-29 01:00:00",
        "2020-10-25 00:30:00",  # one hour of the clock twice
        "2020-10-25 01:30:00",
        "1969-12-31 23:59:59.999",
        "1905-06-01 00:00:00",  # of an offset with seconds
    )
]
_BY_JAVA = b"parquet-mr version 1.13.1"


def _parquet(folder: Path, words: Mapping[str, str], times: list[Any], by: bytes) -> Any:
    kind = pa.timestamp("us")
    naive = pa.array([at and at.replace(tzinfo=None) for at in times], kind)
    table = pa.table({"ts": naive, "k": range(len(times))}).replace_schema_metadata(words)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, use_deprecated_int96_timestamps=True)
    own = f"parquet-cpp-arrow version {pa.__version__}".encode()
    data = sink.getvalue().to_pybytes()
    assert data.count(own) == 1
    (folder / "a").write_bytes(data.replace(own, by.ljust(len(own)) if by else own))
    columns = {"ts": "timestamp", "k": "bigint"}
    return seamkit.HiveTable(str(folder), columns=columns, file_format="parquet")


def _avro(folder: Path, words: Mapping[str, str], times: list[Any], by: bytes) -> Any:
    del by
    time = {"type": "long", "logicalType": "timestamp-millis"}
    struct = {"type": "record", "name": "s", "fields": [{"name": "t", "type": ["null", time]}]}
    fields = [
        {"name": "ts", "type": ["null", time]},
        {"name": "k", "type": "long"},
        {"name": "l", "type": {"type": "array", "items": ["null", struct]}},
        {"name": "m", "type": {"type": "map", "values": time}},
    ]
    schema = fastavro.parse_schema({"type": "record", "name": "r", "fields": fields})
    rows = [
        {"ts": at, "k": k, "l": [None, {"t": at}], "m": {"a": at} if at else {}}
        for k, at in enumerate(times)
    ]
    with (folder / "a").open("wb") as file:
        fastavro.writer(file, schema, rows, metadata=dict(words))
    columns = {"ts": "timestamp", "k": "bigint", "l": "array<struct<t:timestamp>>"}
    more = {"m": "map<string,timestamp>"}
    return seamkit.HiveTable(str(folder), columns=columns | more, file_format="avro")


_FORMATS = pytest.mark.parametrize("make", [_parquet, _avro])


@pytest.mark.parametrize(
    ("make", "zone"),
    [
        *((_parquet, zone) for zone in ("Europe/Paris", "America/St_Johns", "Z")),
        *((_avro, zone) for zone in ("Europe/Paris", "Asia/Kathmandu", "UTC")),
    ],
)
def test_times_are_what_the_writers_clock_showed(tmp_path: Path, make: Any, zone: str) -> None:
    """At every depth, nulls aside, and a filter means the time that is shown."""
    table = make(tmp_path, {"writer.time.zone": zone}, [*_TIMES, None], _BY_JAVA)
    own = ZoneInfo("UTC" if zone == "Z" else zone)
    walls = [at.astimezone(own).replace(tzinfo=None) for at in _TIMES]
    rows = table.scan().to_table().to_pylist()
    assert [row["ts"] for row in rows] == [*walls, None]
    for row in rows if make is _avro else ():
        assert row["l"] == [None, {"t": row["ts"]}]
        assert row["m"] == ([("a", row["ts"])] if row["ts"] else [])
    for k, wall in enumerate(walls):
        found = table.scan(filter=f"ts = TIMESTAMP '{wall}'").to_table()["k"].to_pylist()
        assert k in found
        assert {walls[one] for one in found} == {wall}


@pytest.mark.parametrize(
    ("make", "words", "by"),
    [
        (_parquet, {}, _BY_JAVA),
        (_parquet, {"writer.time.zone": "Europe/Paris"}, b""),
        (_avro, {"zone": "Asia/Tokyo"}, b""),
    ],
)
def test_other_files_are_read_as_the_clock_in_utc_shows(
    tmp_path: Path, make: Any, words: Mapping[str, str], by: bytes
) -> None:
    """Files that name no zone, and in Parquet those of others than Java's library, as in Hive."""
    rows = make(tmp_path, words, _TIMES, by).scan().to_table()
    assert rows["ts"].to_pylist() == [at.replace(tzinfo=None) for at in _TIMES]


@_FORMATS
def test_what_cannot_be_told_is_refused(tmp_path: Path, make: Any) -> None:
    """A zone that is not known, and times before 1900 by offsets as Java once had them."""
    table = make(tmp_path, {"writer.time.zone": "Moon/Mare"}, _TIMES, _BY_JAVA)
    assert table.scan(["k"]).to_table().num_rows == len(_TIMES)
    with pytest.raises(RefusedError, match="column ts has times by the zone 'Moon/Mare'"):
        table.scan(["ts"]).to_table()
    old = {"writer.time.zone": "Europe/Paris", "writer.zone.conversion.legacy": "true"}
    assert make(tmp_path, old, _TIMES, _BY_JAVA).scan().to_table().num_rows == len(_TIMES)
    early = [*_TIMES, dt.datetime(1899, 12, 31, tzinfo=dt.UTC)]
    with pytest.raises(RefusedError, match=r"column ts may have .* times before 1900"):
        make(tmp_path, old, early, _BY_JAVA).scan(["ts"]).to_table()
    (tmp_path / "a").unlink()
    assert make(tmp_path, {**old, "writer.zone.conversion.legacy": "false"}, early, _BY_JAVA)

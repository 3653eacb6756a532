"""Points in time that Parquet has as INT96, as Spark writes them where it is told to."""

import datetime as dt
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.base_files import open_base
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.avro_schemas import logical, optional, record
from seamkit_tests.samples.hudi_files import Table, at, base, log
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, block
from seamkit_tests.samples.hudi_scans import scan_on
from seamkit_tests.samples.outlets import OUTLETS, Filter

_META = ("_hoodie_commit_time", "_hoodie_record_key")
_SCHEMA = record("r", k="string", t=optional(logical("long", "timestamp-micros")))
_OLD = dt.datetime(1700, 1, 1, 0, 0, 0, 1, dt.UTC)
_LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, dt.UTC)


def _parquet(minute: int, rows: dict[str, dt.datetime | None]) -> bytes:
    """Rows by key, as Java's library would write them."""
    times = [time and time.replace(tzinfo=None) for time in rows.values()]
    meta = [pa.array([at(minute)] * len(rows)), pa.array(list(rows))]
    columns = [*meta, pa.array(list(rows)), pa.array(times, pa.timestamp("us"))]
    out = io.BytesIO()
    table = pa.table(columns, names=[*_META, "k", "t"])
    pq.write_table(table, out, use_deprecated_int96_timestamps=True, store_schema=False)
    return out.getvalue().replace(b"parquet-cpp-arrow", b"parquet-of-others")


@pytest.fixture
def table(tmp_path: Path) -> HudiTable:
    """A base file, and a log over it whose block is Parquet."""
    made = Table(tmp_path, 9, **{"hoodie.table.recordkey.fields": "k"})
    (tmp_path / base(10)).write_bytes(_parquet(10, {"a": _LAST, "b": _OLD, "c": None}))
    header = {INSTANT: at(20), SCHEMA: json.dumps(_SCHEMA)}
    content = _parquet(20, {"b": _LAST, "d": _OLD})
    (tmp_path / log(20)).write_bytes(block("parquet", header, content))
    made.instant(at(10), "commit", at(11), base(10), schema=json.dumps(_SCHEMA))
    made.instant(at(20), "deltacommit", at(21), log(20), schema=json.dumps(_SCHEMA))
    return HudiTable(str(tmp_path))


@pytest.mark.parametrize("path", ["merge", "connector"])
def test_times_reach_beyond_64_bits_of_nanoseconds(table: HudiTable, path: str) -> None:
    """They are instants, of base files and of logs, and 9999 does not wrap around to 1816."""
    rows = scan_on(table, path, ["k", "t"]).to_table()
    assert rows.schema.field("t").type == pa.timestamp("us", "UTC")
    found = dict(zip(*rows.to_pydict().values(), strict=True))
    assert found == {"a": _LAST, "b": _LAST, "c": None, "d": _OLD}


@pytest.mark.parametrize("outlet", OUTLETS)
def test_all_doors_show_them(table: HudiTable, outlet: str) -> None:
    """Of a slice with logs, and of base files alone."""
    test = Filter("k <> 'c'", pc.field("k") != "c")
    for query, expected in (
        ("snapshot", {"a": _LAST, "b": _LAST, "d": _OLD}),
        ("read-optimized", {"a": _LAST, "b": _OLD}),
    ):
        rows = OUTLETS[outlet](table, test, {"columns": ["k", "t"], "query": query})
        assert dict(zip(*rows.to_pydict().values(), strict=True)) == expected


def test_an_instant_is_no_time_of_the_clock(tmp_path: Path) -> None:
    """A file that says that its times are instants has none for a local timestamp."""
    times = pa.array([_LAST], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"t": times}), tmp_path / "a.parquet")
    reader = open_base(Storage(str(tmp_path)), "a.parquet")
    with pytest.raises(InputError, match="does not promote"):
        list(reader.batches(pa.schema({"t": pa.timestamp("us")}), 2, use_threads=False))

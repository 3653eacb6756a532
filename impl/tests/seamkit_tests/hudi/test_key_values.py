"""Versions of a record that have other values in the fields of its key, under filters on these.

The key is its text. That of a point in time is cut to milliseconds, where writers were told so
(`hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled`), bytes of one length
have the same one, and a `MERGE INTO` with several matched clauses leaves the fields out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.avro_schemas import logical, optional, record
from seamkit_tests.samples.hudi_files import Table, at, base, log
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, avro_content, block
from seamkit_tests.samples.hudi_scans import scan_on
from seamkit_tests.samples.outlets import OUTLETS, Filter, bag

_META = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key")]
_META += ["_hoodie_partition_path", "_hoodie_file_name"]
_MICROS = logical("long", "timestamp-micros")
#: Type of the key in Avro and Arrow, and its value in the base file and in the log.
_KEYS: dict[str, tuple[Any, pa.DataType, Any, Any]] = {
    "cut to milliseconds": (_MICROS, pa.timestamp("us", "UTC"), 1_000_001, 1_000_002),
    "bytes": ("bytes", pa.binary(), b"abc", b"abd"),
    "lacking": ("string", pa.string(), "abc", None),
    "told": ("string", pa.string(), "abc", "abc"),
}


def _table(folder: Path, version: int, key: str, order: int, *, by_order: bool) -> HudiTable:
    """A record of ordering value 5 in a base file, and with another one in a log over it."""
    avro, kind, of_base, of_log = _KEYS[key]
    own = {
        "hoodie.table.recordkey.fields": "k",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    }
    own |= {"hoodie.table.ordering.fields" if version > 8 else "hoodie.table.precombine.field": "o"}
    payload = "DefaultHoodieRecordPayload" if by_order else "OverwriteWithLatestAvroPayload"
    mode = "EVENT_TIME_ORDERING" if by_order else "COMMIT_TIME_ORDERING"
    own |= (
        {"hoodie.compaction.payload.class": f"org.apache.hudi.common.model.{payload}"}
        if version < 8
        else {"hoodie.record.merge.mode": mode}
    )
    table = Table(folder, version, **own)
    columns = {"k": optional(avro), "v": "string", "o": "long"}
    names = (base(1), log(1 if version < 8 else 2))
    for minute, name in enumerate(names, 1):
        schema = json.dumps(record("r", **columns))
        table.instant(at(minute), "deltacommit", at(minute), name, schema=schema)
    stored_rows = (1, "base", of_base, 5), (2, "log", of_log, order)
    rows = [_row(minute, k=value, v=word, o=number) for minute, word, value, number in stored_rows]
    plain = {"v": pa.string(), "o": pa.int64()}
    stored = pa.schema({**dict.fromkeys(_META, pa.string()), "k": kind, **plain})
    pq.write_table(pa.Table.from_pylist(rows[:1], stored), folder / names[0])
    written = record("r", **dict.fromkeys(_META, optional("string")), **columns)
    header = {INSTANT: at(2), SCHEMA: json.dumps(written)}
    content = avro_content(written, rows[1:])
    (folder / names[1]).write_bytes(block("avro", header, content))
    return HudiTable(str(folder))


def _row(minute: int, **columns: Any) -> dict[str, Any]:
    meta = (at(minute), f"{at(minute)}_0_0", "text", "", "f-0")
    return dict(zip(_META, meta, strict=True)) | columns


@pytest.mark.parametrize("outlet", ["table", "dataset", "plans", "connector"])
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize(
    ("by_order", "order", "word"), [(True, 6, "log"), (True, 4, "base"), (False, 4, "log")]
)
@pytest.mark.parametrize("key", _KEYS)
def test_a_filter_on_a_key_meets_the_version_that_is_left(
    tmp_path: Path, key: str, by_order: bool, order: int, word: str, version: int, outlet: str
) -> None:
    """A replaced version neither comes back by its own value nor hides the one that is left."""
    table = _table(tmp_path, version, key, order, by_order=by_order)
    whole = table.scan().to_table()
    assert whole["v"].to_pylist() == [word]
    _, kind, *values = _KEYS[key]
    for value in values:
        field = pc.field("k")
        test = field.is_null() if value is None else field == pa.scalar(value, kind)
        if outlet == "connector":
            found = scan_on(table, outlet, filter=test).to_table()
        else:
            found = OUTLETS[outlet](table, Filter("", test), {})
        assert bag(found) == bag(whole.filter(test)), value

"""Maps whose keys are no texts, which Iceberg writes into Avro as lists of pairs."""

from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

import seamkit
from seamkit_tests.samples.iceberg_tables import MadeCommit, MadeFile, MadeTable, field_of


def _map(key: int, keys: str, value: int, values: Any) -> dict[str, Any]:
    kind = {"type": "map", "key-id": key, "key": keys, "value-id": value, "value": values}
    return kind | {"value-required": False}


_STRUCT = {
    "type": "struct",
    "fields": [
        field_of("now", "int", 6),
        field_of("new", "string", 7),
    ],
}
_COLUMNS: list[dict[str, Any]] = [
    {
        "id": 1,
        "name": "m",
        "required": False,
        "type": _map(2, "date", 3, _map(4, "long", 5, _STRUCT)),
    }
]


def _pairs(key: int, keys: Any, value: int, values: Any) -> dict[str, Any]:
    """A map's type in Avro, as Iceberg's specification has it (appendix A)."""
    fields = [
        {"name": "key", "type": keys, "field-id": key},
        {"name": "value", "type": ["null", values], "default": None, "field-id": value},
    ]
    pair = {"type": "record", "name": f"k{key}_v{value}", "fields": fields}
    return {"type": "array", "logicalType": "map", "items": pair}


_INNER = {
    "type": "record",
    "name": "r5",
    "fields": [{"name": "before", "type": ["null", "int"], "default": None, "field-id": 6}],
}
_DATE = {"type": "int", "logicalType": "date"}
_KIND = _pairs(2, _DATE, 3, _pairs(4, "long", 5, _INNER))
_FILE = {
    "type": "record",
    "name": "table",
    "fields": [{"name": "m", "type": ["null", _KIND], "default": None, "field-id": 1}],
}


class _InAvro(MadeTable):
    """A table whose one file is in Avro."""

    def _write_rows(self, one: MadeFile) -> None:
        with (self.folder / "data" / one.name).open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(_FILE), one.rows.to_pylist())


def test_fields_within_maps_are_found_by_their_ids(tmp_path: Path) -> None:
    """At every depth, under the names that the table has now; a field that is newer is null."""
    inner = [{"key": 7, "value": {"before": 1}}, {"key": -8, "value": None}]
    rows = [[{"key": 0, "value": inner}, {"key": -1, "value": None}], [], None]
    table = _InAvro(tmp_path / "t", _COLUMNS)
    told = {"file_format": "AVRO"}
    table.commit(MadeCommit([MadeFile("a.avro", pa.table({"m": rows}), changed=told)]))
    read = seamkit.open_table(tmp_path / "t").scan().to_table().column("m")
    kind = read.type.item_type
    assert kind == pa.map_(pa.int64(), pa.struct([("now", pa.int32()), ("new", pa.string())]))
    days = read.cast(pa.map_(pa.int32(), kind)).to_pylist()
    assert days == [[(0, [(7, {"now": 1, "new": None}), (-8, None)]), (-1, None)], [], None]

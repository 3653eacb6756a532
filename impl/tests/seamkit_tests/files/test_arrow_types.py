"""Types of a Parquet file are Parquet's own, whatever Arrow schema its writer put beside them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import RefusedError

_DAY = dt.date(2020, 2, 29)
_NOON = dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC)
_NAMES = {"int": "integer", "bigint": "long"}
_TEXTS: dict[str, Any] = {"type": "array", "elementType": "string", "containsNull": True}
_FIELD = {"name": "a", "type": "string", "nullable": True, "metadata": {}}
#: The writer's type, the table's in Hive, in Delta where the word is another, and a value.
_COLUMNS: list[tuple[pa.DataType, str, Any, Any]] = [
    (pa.string_view(), "string", None, "a"),
    (pa.large_string(), "string", None, "a"),
    (pa.dictionary(pa.int8(), pa.string()), "string", None, "a"),
    (pa.dictionary(pa.int32(), pa.large_string()), "string", None, "a"),
    (pa.binary_view(), "binary", None, b"a"),
    (pa.large_binary(), "binary", None, b"a"),
    (pa.binary(2), "binary", None, b"ab"),
    (pa.json_(), "string", None, "{}"),
    (pa.large_list(pa.string_view()), "array<string>", _TEXTS, ["x", None]),
    (pa.list_(pa.large_string(), 2), "array<string>", _TEXTS, ["x", "y"]),
    (
        pa.struct([("a", pa.large_string())]),
        "struct<a:string>",
        {"type": "struct", "fields": [_FIELD]},
        {"a": "x"},
    ),
    (
        pa.map_(pa.large_string(), pa.int32()),
        "map<string,int>",
        {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
        [("a", 1)],
    ),
    (pa.timestamp("us", "Asia/Tokyo"), "timestamp", None, _NOON),
    (pa.date64(), "date", None, _DAY),
    (pa.duration("us"), "bigint", None, dt.timedelta(microseconds=7)),
    (pa.decimal32(9, 2), "decimal(9,2)", None, Decimal("1.50")),
    (pa.decimal64(18, 2), "decimal(18,2)", None, Decimal("1.50")),
    (pa.decimal256(38, 2), "decimal(38,2)", None, Decimal("1.50")),
    (pa.null(), "int", None, None),
]


def _table(folder: Path, table_format: str, values: pa.Array, hive: str, delta: Any) -> Path:
    """A table of two columns, and of one file that has a page index."""
    rows = pa.table({"k": pa.array(range(len(values)), pa.int64()), "v": values})
    file = folder / "part-0.parquet"
    pq.write_table(rows, file, row_group_size=1000, data_page_size=500, write_page_index=True)
    if table_format == "hive":
        columns = [{"name": "k", "type": "bigint"}, {"name": "v", "type": hive}]
        told = {"format": "parquet", "columns": columns}
        (folder / "_hive_table.json").write_text(json.dumps(told), encoding="utf-8")
        return folder
    fields: list[dict[str, Any]] = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("k", "long"), ("v", delta or _NAMES.get(hive, hive)))
    ]
    metadata = {
        "id": "1",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    add = {
        "path": file.name,
        "partitionValues": {},
        "size": file.stat().st_size,
        "modificationTime": 0,
        "dataChange": True,
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log" / f"{0:020}.json").write_text(
        "\n".join(
            json.dumps(action)
            for action in ({"protocol": protocol}, {"metaData": metadata}, {"add": add})
        ),
        encoding="utf-8",
    )
    return folder


def _shown(value: Any, hive: str) -> Any:
    """What a table of Hive's or Delta's types has in place of a value."""
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None) if hive == "hive" else value
    return value


@pytest.mark.parametrize("table_format", ["hive", "delta"])
@pytest.mark.parametrize("column", _COLUMNS, ids=lambda column: str(column[0]))
def test_a_file_reads_as_its_parquet_types_say(
    column: tuple[pa.DataType, str, Any, Any], table_format: Any, tmp_path: Path
) -> None:
    """Views, dictionaries, long offsets, other zones and widths are nothing that Parquet knows."""
    kind, hive, delta, value = column
    values = [value, None, value] * 1000
    path = _table(tmp_path, table_format, pa.array(values, kind), hive, delta)
    table = seamkit.open_table(str(path), format=table_format)
    expected = [_shown(one, table_format) for one in values]
    assert table.scan(threads=1, batch_rows=100).to_table()["v"].to_pylist() == expected
    found = table.scan().dataset().to_table().sort_by("k")
    assert found["v"].to_pylist() == expected
    known = pc.field("v").is_valid()
    kept = [one for one in expected if one is not None]
    assert table.scan(["v"], filter=known).to_table()["v"].to_pylist() == kept
    assert table.scan(filter=known).count_rows() == len(kept)
    few = (pc.field("k") >= 1500) & (pc.field("k") < 1503)
    assert table.scan(["v"], filter=few).to_table()["v"].to_pylist() == expected[1500:1503]
    if not pa.types.is_nested(kind) and value is not None:
        wanted = pa.scalar(_shown(value, table_format), table.schema.field("v").type)
        assert table.scan(filter=pc.field("v") == wanted).count_rows() == len(kept)
        assert table.scan(filter=pc.field("v") > wanted).count_rows() == 0


@pytest.mark.parametrize("column", _COLUMNS, ids=lambda column: str(column[0]))
def test_the_engines_own_readers_agree(
    column: tuple[pa.DataType, str, Any, Any], tmp_path: Path
) -> None:
    """Polars and DuckDB read such a file by themselves where they can, and give the same values."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    kind, hive, delta, value = column
    values = [value, None, value]
    path = _table(tmp_path, "delta", pa.array(values, kind), hive, delta)
    table = seamkit.open_table(str(path))
    expected = table.scan().to_table()
    assert table.scan().lazy().collect().to_arrow().cast(expected.schema).equals(expected)
    relation = table.scan().relation(duckdb.connect())
    assert relation.to_arrow_table().cast(expected.schema).equals(expected)


@pytest.mark.parametrize(
    ("kind", "hive", "value"),
    [(pa.uint8(), "int", 200), (pa.uint64(), "bigint", 2**64 - 1), (pa.time64("us"), "bigint", 1)],
    ids=str,
)
def test_types_that_delta_lacks_are_refused_by_name(
    kind: pa.DataType, hive: str, value: int, tmp_path: Path
) -> None:
    """The file is sound: it is legal Parquet that no column of Delta has."""
    path = _table(tmp_path, "delta", pa.array([value], kind), hive, None)
    with pytest.raises(RefusedError, match=rf"column 'v' is {kind}".replace("[", r"\[")):
        seamkit.open_table(str(path)).scan().to_table()


def test_the_writers_word_is_found_behind_statistics_that_hold_it(tmp_path: Path) -> None:
    """A greatest value that reads as the name of the entry is left as it is."""
    texts = pa.array(["ARROW:schema", "A"], pa.string_view())
    table = seamkit.open_table(str(_table(tmp_path, "delta", texts, "string", None)))
    assert table.scan().to_table()["v"].to_pylist() == ["ARROW:schema", "A"]
    for text in ("ARROW:schema", "arrow:schema"):
        count = table.scan(filter=pc.field("v") == text).count_rows()
        assert count == (text == "ARROW:schema")


@pytest.mark.parametrize("how", ["delete", "update", "merge", "polars"])
def test_tables_of_deltalake_and_polars_read(how: str, tmp_path: Path) -> None:
    """Both write texts as views: deltalake when it changes rows, Polars always."""
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"k": [1, 2], "s": ["a", "b"], "l": [["x"], None], "t": [{"a": "x"}] * 2})
    path = str(tmp_path / "table")
    if how == "polars":
        polars = pytest.importorskip("polars")
        polars.from_arrow(rows).write_delta(path)
        expected = ["a", "b"]
    else:
        deltalake.write_deltalake(path, rows)
        changed = deltalake.DeltaTable(path)
        if how == "delete":
            changed.delete("k = 1")
            expected = ["b"]
        elif how == "update":
            changed.update(updates={"s": "'c'"}, predicate="k = 1")
            expected = ["b", "c"]
        else:
            new = pa.table({"k": [1], "s": ["c"]})
            merge = changed.merge(new, "t.k = u.k", source_alias="u", target_alias="t")
            merge.when_matched_update(updates={"s": "u.s"}).execute()
            expected = ["b", "c"]
    found = seamkit.open_table(path).scan().to_table()
    assert sorted(found["s"].to_pylist()) == expected
    assert found["t"].to_pylist() == [{"a": "x"}] * len(expected)

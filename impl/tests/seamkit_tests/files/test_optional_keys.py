"""Parquet files whose maps have keys that may be null, as Flink and Trino wrote them."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError
from seamkit.engines.files import EngineFiles, engine_files
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage

# Bytes of a footer, of a column of eight keys, and of its page: `key` is required; the numbers of
# levels 0, 1 and 2 (and 3, with all values at it); eight levels of 2 and of 3.
_REQUIRED, _OPTIONAL = (
    bytes.fromhex("25001803" + b"key".hex()),
    bytes.fromhex("25021803" + b"key".hex()),
)
_LEVELS = bytes.fromhex("36020210")
_WIDER = {True: bytes.fromhex("4602020010"), False: bytes.fromhex("4602021000")}
_TWOS, _THREES = bytes.fromhex("1002"), bytes.fromhex("1003")
_KEYS = [f"k{n}" for n in range(8)]


def _write(path: Path, values: pa.DataType, items: list[Any], *, has_keys: bool = True) -> None:
    """Rows of a map of eight entries, of null and of an empty map; Arrow writes no such keys."""
    maps = pa.array([list(zip(_KEYS, items, strict=True)), None, []], pa.map_(pa.string(), values))
    beside = pa.array([[{"key": "a", "value": 1}], [], None])
    other = pa.array([[(1, 2)]] * 3, pa.map_(pa.int32(), pa.int32()))
    table = pa.table({"n": [0, 1, 2], "M": maps, "pairs": beside, "other": other})
    sink, plain = pa.BufferOutputStream(), {"use_dictionary": False, "write_statistics": False}
    pq.write_table(table, sink, compression="none", store_schema=False, **plain)
    data = sink.getvalue().to_pybytes()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    pages, footer = data[:begin], data[begin:-8]
    at = footer.index(_REQUIRED)  # that of `M`, which comes first
    footer = footer[:at] + _OPTIONAL + footer[at + len(_OPTIONAL) :]
    assert (footer.count(_LEVELS), pages.count(_TWOS)) == (1, 1)
    footer = footer.replace(_LEVELS, _WIDER[has_keys])
    pages = pages.replace(_TWOS, _THREES) if has_keys else pages
    path.write_bytes(pages + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def _table(folder: Path, values: str) -> seamkit.HiveTable:
    columns = {"n": "bigint", "m": f"map<string,{values}>"}
    more = {"pairs": "array<struct<key:string,value:bigint>>", "other": "map<int,int>"}
    return seamkit.HiveTable(str(folder), columns=columns | more, file_format="parquet")


def test_such_maps_are_read(tmp_path: Path) -> None:
    """As DuckDB reads them, and lists of structs with a key and a value stay what they are."""
    _write(tmp_path / "a.parquet", pa.int64(), list(range(8)))
    with pytest.raises(pa.ArrowInvalid, match="must be annotated as required"):
        pq.read_schema(tmp_path / "a.parquet")
    table = _table(tmp_path, "bigint")
    for strict in (False, True):
        rows = table.scan(strict=strict).to_table().to_pylist()
        assert [row["m"] and dict(row["m"]) for row in rows] == [
            {key: n for n, key in enumerate(_KEYS)}, None, [],
        ]  # fmt: skip
        assert [row["pairs"] for row in rows] == [[{"key": "a", "value": 1}], [], None]
        assert [row["other"] for row in rows] == [[(1, 2)]] * 3
    found = duckdb.read_parquet(str(tmp_path / "a.parquet")).project("n, M, pairs").fetchall()
    assert found == [
        (row["n"], None if row["m"] is None else dict(row["m"]), row["pairs"]) for row in rows
    ]
    kind = ParquetReader(Storage(str(tmp_path)), "a.parquet").schema.field("M").type
    assert kind == pa.map_(pa.string(), pa.int64())
    assert table.scan(filter="n > 0").to_table()["n"].to_pylist() == [1, 2]
    assert table.scan(["m"], filter="n = 2").to_table()["m"].to_pylist() == [[]]


def test_fields_within_their_values_are_found_by_name(tmp_path: Path) -> None:
    """In any case of letters, as everywhere in a table of Hive's."""
    inner = pa.struct([("X", pa.int64())])
    _write(tmp_path / "a.parquet", inner, [{"X": n} for n in range(8)])
    [first, *_] = _table(tmp_path, "struct<x:bigint>").scan().to_table()["m"].to_pylist()
    assert first == [(key, {"x": n}) for n, key in enumerate(_KEYS)]


def test_a_key_that_is_null_is_refused(tmp_path: Path) -> None:
    """No engine has one; other columns of the file are read."""
    _write(tmp_path / "a.parquet", pa.int64(), list(range(8)), has_keys=False)
    table = _table(tmp_path, "bigint")
    assert table.scan(["n", "pairs"]).to_table().num_rows == 3
    with pytest.raises(InputError, match="a null for a map's key"):
        table.scan(["m"]).to_table()


def test_engines_are_not_given_them(tmp_path: Path) -> None:
    """A null for a key would be taken by one engine and end another; other columns they read."""
    _write(tmp_path / "a.parquet", pa.int64(), list(range(8)))
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    files = engine_files(reader, reader.schema, {})
    assert isinstance(files, EngineFiles)
    assert set(files.ours) == {"M"}
    assert "may be null" in files.ours["M"]
    assert set(files.stored) == {"n", "pairs", "other"}

"""Row groups whose Bloom filters lack all values of a filter are not read, and no others."""

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.tables.hive.table import HiveTable

_GROUPS, _ROWS = 8, 500
_TOLD = hasattr(pq.ColumnChunkMetaData, "bloom_filter_offset")
#: Arrows that do not tell where filters lie write none either.
_written = pytest.mark.xfail(not _TOLD, raises=TypeError, reason="this Arrow writes no filters")


def _values(kind: str) -> list[Any]:
    """Values of all groups, spread so that ranges of groups overlap and rule nothing out."""
    numbers = [(n * 7919) % 100_003 for n in range(_GROUPS * _ROWS)]
    made: dict[str, Any] = {
        "text": lambda n: f"n{n}",
        "binary": lambda n: n.to_bytes(3, "big"),
        "date": lambda n: dt.date(1900, 1, 1) + dt.timedelta(n),
        "small": lambda n: n % 30_000 - 15_000,
    }
    return [made.get(kind, lambda n: n)(n) for n in numbers]


_TYPES = {
    "small": pa.int16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "text": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
}


def _write(path: Path, kind: str, **options: Any) -> ParquetReader:
    table = pa.table({"k": pa.array(_values(kind), _TYPES[kind])})
    how = {"bloom_filter_options": {"k": {"ndv": _ROWS, "fpp": 0.001}}, **options}
    pq.write_table(table, path, row_group_size=_ROWS, **how)
    return ParquetReader(Storage(str(path.parent)), path.name)


def _left(reader: ParquetReader, condition: pc.Expression) -> list[int]:
    return reader.row_groups_that_may_match(condition, reader.schema)


@_written
@pytest.mark.parametrize("kind", _TYPES)
def test_a_look_up_reads_the_group_that_has_the_value(kind: str, tmp_path: Path) -> None:
    """And hardly any other, whatever the type, by the filters of Arrow's own writer."""
    reader, values = _write(tmp_path / "a.parquet", kind), _values(kind)
    total = 0
    for number in range(0, len(values), 397):
        left = _left(reader, pc.field("k") == pa.scalar(values[number], _TYPES[kind]))
        assert number // _ROWS in left
        total += len(left)
    # One in a thousand is a false alarm; a short type has values twice.
    assert total < 2.2 * len(range(0, len(values), 397))
    several = [values[3], values[3 * _ROWS + 5]]
    assert {0, 3} <= set(_left(reader, pc.field("k").isin(pa.array(several, _TYPES[kind]))))


def test_filters_of_another_writer_are_understood(tmp_path: Path) -> None:
    """DuckDB writes them for columns that it writes with dictionaries.

    An Arrow that does not tell where they lie rules nothing out by them.
    """
    path = tmp_path / "a.parquet"
    sql = "SELECT 'n' || (range * 7919 % 401) || range // 4096 AS s FROM range(40960)"
    duckdb.connect().sql(sql).to_parquet(str(path), row_group_size=4096)
    reader, table = ParquetReader(Storage(str(tmp_path)), path.name), pq.read_table(path)
    assert not _TOLD or pq.read_metadata(path).row_group(0).column(0).bloom_filter_offset
    keys = table["s"].to_pylist()
    numbers = range(0, len(keys), 997)
    left = [_left(reader, pc.field("s") == keys[number]) for number in numbers]
    assert all(number // 4096 in found for number, found in zip(numbers, left, strict=True))
    assert (sum(map(len, left)) < 2 * len(numbers)) == _TOLD


@_written
@pytest.mark.parametrize(
    "condition",
    [
        pc.field("k") > 50_000,
        (pc.field("k") == -1) | pc.field("k").is_null(),
        (pc.field("k") == 7) | (pc.field("k") > 5),
        pc.field("k") != 7,
    ],
)
def test_what_names_no_single_values_rules_nothing_out(
    condition: pc.Expression, tmp_path: Path
) -> None:
    """A filter tells of equality alone."""
    plain = _write(tmp_path / "plain.parquet", "int64", bloom_filter_options=None)
    with_filters = _write(tmp_path / "a.parquet", "int64")
    assert _left(with_filters, condition) == _left(plain, condition)


@_written
@pytest.mark.parametrize("damage", ["kind", "size", "past the end"])
def test_a_filter_that_is_not_understood_rules_nothing_out(damage: str, tmp_path: Path) -> None:
    """Another kind of filter, or one whose length is not that of the footer."""
    path = tmp_path / "a.parquet"
    _write(path, "int64")
    before = pq.read_metadata(path).row_group(0).column(0).bloom_filter_offset
    assert before
    content = bytearray(path.read_bytes())
    beyond = 100_004  # what statistics rule out, whatever the filters are
    if damage == "kind":
        content[before + 3] ^= 0x10
    elif damage == "size":
        content[before + 1 : before + 3] = b"\xff\x7f"
    else:
        content[before] = 0
    path.write_bytes(bytes(content))
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    inside = next(n for n in range(100_003) if n not in set(_values("int64")))
    assert 0 in _left(reader, pc.field("k") == inside)
    assert _left(reader, pc.field("k") == beyond) == []


@_written
def test_a_name_that_is_another_columns_path_rules_nothing_out(tmp_path: Path) -> None:
    """A column called `k.x` is not looked for in the filter of `x` within `k`."""
    inner = pa.array([{"x": n} for n in range(_ROWS)])
    table = pa.table({"k": inner, "k.x": pa.array(range(10_000, 10_000 + _ROWS))})
    options = {"k.x": {"ndv": _ROWS, "fpp": 0.001}}
    pq.write_table(table, tmp_path / "a.parquet", bloom_filter_options=options)
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    only = pa.schema([reader.schema.field("k.x")])
    condition = pc.field("k.x") == 10_007
    assert reader.row_groups_that_may_match(condition, only) == [0]


@_written
@pytest.mark.parametrize(
    ("created_by", "counts"),
    [
        ("parquet-go version 18.4.1", False),
        ("parquet-go version 9.10.0", False),
        ("parquet-go version 18.5.0", True),
        ("parquet-go version latest", True),
    ],
)
def test_filters_of_arrow_go_may_be_of_freed_memory(
    created_by: str, *, counts: bool, tmp_path: Path
) -> None:
    """Up to 18.4 those that adapt to the number of values had none of them (arrow-go#525)."""
    path = tmp_path / "a.parquet"
    _write(path, "int64")
    metadata = pq.read_metadata(path)
    offsets = [metadata.row_group(n).column(0).bloom_filter_offset for n in range(_GROUPS)]
    content = bytearray(path.read_bytes())
    for offset in offsets:
        content[offset + 64 : offset + 96] = bytes(32)
    own = metadata.created_by.encode()
    told = created_by.encode().ljust(len(own))
    assert content.count(own) == 1
    path.write_bytes(bytes(content).replace(own, told))
    reader = ParquetReader(Storage(str(tmp_path)), path.name)
    assert reader.created_by.rstrip() == created_by
    values = _values("int64")
    left = [_left(reader, pc.field("k") == value) for value in values[::7]]
    has_lost = any(n * 7 // _ROWS not in found for n, found in enumerate(left))
    assert has_lost == counts
    table = HiveTable(str(tmp_path), columns={"k": "bigint"}, file_format="parquet")
    with duckdb.connect() as connection:
        rows = table.scan().relation(connection)
        found = [len(rows.filter(f"k = {value}")) for value in values[::97]]
    assert (min(found) == 0) == counts

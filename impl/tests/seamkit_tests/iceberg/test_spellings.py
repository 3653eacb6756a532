"""Partitions that two writers spell in two ways are one partition, and old ones are not pruned."""

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from seambase.errors import InputError
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import MadeCommit, MadeFile, MadeTable, field_of

_DAY, _MOMENT = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 0, 0, 0, 7)
_MICROS = 19723 * 86_400_000_000 + 7
_UUID = uuid.UUID("1571effb-0000-4000-8000-00000000000f")
_FIXED = {"type": "fixed", "name": "f16", "size": 16}
_PLAIN = {"type": "long", "logicalType": "timestamp-micros"}

#: By column type and transform: Avro types and the one value in each of these spellings.
_SPELLINGS: dict[tuple[str, str], list[tuple[Any, Any]]] = {
    ("timestamp", "day"): [("int", 19723), ({"type": "int", "logicalType": "date"}, _DAY)],
    ("date", "day"): [("int", 19723), ({"type": "int", "logicalType": "date"}, _DAY)],
    ("date", "identity"): [("int", 19723), ({"type": "int", "logicalType": "date"}, _DAY)],
    ("timestamp", "identity"): [
        (_PLAIN | {"adjust-to-utc": False}, _MOMENT),
        (_PLAIN, _MOMENT),
        (_PLAIN | {"logicalType": "local-timestamp-micros"}, _MOMENT),
        ("long", _MICROS),
    ],
    ("timestamptz", "identity"): [
        (_PLAIN | {"adjust-to-utc": True}, _MOMENT.replace(tzinfo=dt.UTC)),
        (_PLAIN, _MOMENT.replace(tzinfo=dt.UTC)),
        ("long", _MICROS),
    ],
    ("uuid", "identity"): [
        (_FIXED | {"logicalType": "uuid"}, _UUID.bytes),
        (_FIXED, _UUID.bytes),
        ({"type": "string", "logicalType": "uuid"}, str(_UUID)),
        ("string", str(_UUID)),
        ("bytes", _UUID.bytes),
    ],
    ("decimal(9, 2)", "identity"): [
        (
            _FIXED | {"size": 4, "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("7.50"),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal("7.50")),
        ("bytes", (750).to_bytes(2, "big")),
    ],
    ("string", "identity"): [("string", "é"), ("bytes", "é".encode())],
    ("time", "identity"): [
        ({"type": "long", "logicalType": "time-micros"}, dt.time(0, 0, 0, 7)),
        ("long", 7),
    ],
    ("long", "identity"): [("int", 7), ("long", 7)],
    ("double", "identity"): [("float", 0.5), ("double", 0.5)],
}
#: Each spelling on either side, beside the first one: all of them become one value. By turns the
#: delete is of positions and of keys, each spelling's of both.
_PAIRS = [
    (*column, *((first, other) if data_first else (other, first)), bool((at + data_first) % 2))
    for column, (first, *others) in _SPELLINGS.items()
    for at, other in enumerate(others)
    for data_first in (True, False)
]
_COLUMNS: dict[str, pa.DataType] = {
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "uuid": pa.binary(16),
    "decimal(9, 2)": pa.decimal128(9, 2),
    "string": pa.string(),
    "time": pa.time64("us"),
    "long": pa.int64(),
    "double": pa.float64(),
}
_VALUES: dict[str, Any] = {
    "timestamp": _MOMENT,
    "timestamptz": _MOMENT.replace(tzinfo=dt.UTC),
    "date": _DAY,
    "uuid": _UUID.bytes,
    "decimal(9, 2)": Decimal("7.50"),
    "string": "é",
    "time": dt.time(0, 0, 0, 7),
    "long": 7,
    "double": 0.5,
}


def _table(folder: Path, kind: str, transform: str) -> MadeTable:
    columns = [
        field_of("k", "long", 1),
        field_of("p", kind, 2),
    ]
    partition = [{"name": "part", "transform": transform, "source-id": 2, "field-id": 1000}]
    return MadeTable(folder, columns, partition)


def _rows(kind: str, keys: list[int]) -> pa.Table:
    values = pa.array([_VALUES[kind]] * len(keys), _COLUMNS[kind])
    return pa.table({"k": pa.array(keys, pa.int64()), "p": values})


def _through_every_outlet(folder: Path) -> list[list[int]]:
    table = IcebergTable(str(folder))
    in_sql = duckdb.from_arrow(table.scan().dataset()).filter("p IS NOT NULL")
    return [
        sorted(found)
        for found in (
            table.scan(columns=["k"]).to_table().column("k").to_pylist(),
            table.scan(batch_rows=1, threads=4).to_table().column("k").to_pylist(),
            [row[0] for row in in_sql.select("k").fetchall()],
            table.scan().lazy().select(pl.col("k")).collect()["k"].to_list(),
        )
    ]


def test_zero_has_two_signs(tmp_path: Path) -> None:
    """Files of one manifest in the partitions 0.0 and -0.0 keep their own."""
    table = _table(tmp_path / "t", "double", "identity")
    rows = _rows("double", [1]).drop_columns("p")
    files = [
        MadeFile(f"{at}.parquet", rows, {"part": value})
        for at, value in enumerate((0.0, -0.0, 0.0, None, 0.5))
    ]
    table.commit(MadeCommit(files, {"part": "double"}))
    found = IcebergTable(str(table.folder)).scan(columns=["p"]).to_table().column("p").to_pylist()
    assert [repr(value) for value in found] == ["0.0", "-0.0", "0.0", "None", "0.5"]


@pytest.mark.parametrize(("kind", "transform", "data", "delete", "equality"), _PAIRS)
def test_a_delete_finds_its_partition_whoever_wrote_it(
    kind: str, transform: str, data: Any, delete: Any, equality: bool, tmp_path: Path
) -> None:
    """Equal values are one partition ("Scan Planning"), by their type and not by Avro's.

    A day is an `int` by the table of transforms and Avro's `date` in most writers, and readers must
    take both; `adjust-to-utc` is Iceberg's own and not all writers have it.
    """
    table = _table(tmp_path / "t", kind, transform)
    rows = _rows(kind, [1, 2, 3, 4])
    table.commit(MadeCommit([MadeFile("a.parquet", rows, {"part": data[1]})], {"part": data[0]}))
    own = {"part": delete[1]}
    gone = (
        MadeFile("d.parquet", pa.table({"k": pa.array([2], pa.int64())}), own, content=2)
        if equality
        else table.deletes("d.parquet", "a.parquet", [1], partition=own)
    )
    table.commit(MadeCommit([gone], {"part": delete[0]}, operation="delete"))
    assert _through_every_outlet(table.folder) == [[1, 3, 4]] * 4


@pytest.mark.parametrize("spelling", ["int", "date"])
def test_values_of_a_partition_are_of_the_column_whoever_wrote_them(
    spelling: str, tmp_path: Path
) -> None:
    """An identity partition value stands for the column, in filters as in rows."""
    number = spelling == "int"
    table = _table(tmp_path / "t", "date", "identity")
    kind: Any = "int" if number else {"type": "int", "logicalType": "date"}
    one = MadeFile("a.parquet", _rows("date", [1]), {"part": 19723 if number else _DAY})
    table.commit(MadeCommit([one], {"part": kind}))
    scan = IcebergTable(str(table.folder)).scan(filter="p = DATE '2024-01-01'")
    assert scan.to_table().column("p").to_pylist() == [_DAY]


@pytest.mark.parametrize("transform", ["identity", "bucket[2]"])
def test_a_partition_gives_the_column_that_its_file_lacks(transform: str, tmp_path: Path) -> None:
    """An identity partition value stands for a column not in the file ("Column Projection").

    So it does where the manifest counts values of it. The result of another transform gives no
    values: a file without those that are counted is damaged.
    """
    table = _table(tmp_path / "t", "date", transform)
    counts = {
        "value_counts": [{"key": 2, "value": 2}],
        "null_value_counts": [{"key": 2, "value": 0}],
    }
    rows, value = _rows("date", [1, 2]).drop(["p"]), 19723 if transform == "identity" else 1
    table.commit(MadeCommit([MadeFile("a.parquet", rows, {"part": value}, changed=counts)]))
    if transform == "identity":
        assert _through_every_outlet(table.folder) == [[1, 2]] * 4
        found = IcebergTable(str(table.folder)).scan(["p"]).to_table()
        assert found.column("p").to_pylist() == [_DAY, _DAY]
    else:
        with pytest.raises(InputError, match="it lacks the column 'p' of the field id 2"):
            IcebergTable(str(table.folder)).scan(["p"]).to_table()


@pytest.mark.parametrize("column", ["timestamp", "timestamptz", "date"])
@pytest.mark.parametrize("transform", ["hour", "day", "month", "year"])
def test_partitions_of_old_writers_before_1970_are_read(
    column: str, transform: str, tmp_path: Path
) -> None:
    """Iceberg up to 0.10 wrote periods before 1970 one too high, and its library still reads them.

    (`ProjectionUtil.fixInclusiveTimeProjection`.) Days of dates were always right, and hours of
    dates there are none.
    """
    if column == "date" and transform in ("hour", "day"):
        pytest.skip("was never wrong")
    moment: Any = dt.datetime(1969, 12, 31, 23, 30)
    text = "TIMESTAMP '1969-12-31 23:30:00'"
    if column == "timestamptz":
        moment, text = moment.replace(tzinfo=dt.UTC), "TIMESTAMPTZ '1969-12-31 23:30:00+00'"
    if column == "date":
        moment, text = dt.date(1969, 12, 31), "DATE '1969-12-31'"
    table = _table(tmp_path / "t", column, transform)
    rows = pa.table({"k": pa.array([1], pa.int64()), "p": pa.array([moment], _COLUMNS[column])})
    table.commit(MadeCommit([MadeFile("a.parquet", rows, {"part": 0})]))
    for condition in (f"p = {text}", f"p <= {text}", f"p < {text.replace('1969', '1970')}"):
        found = IcebergTable(str(table.folder)).scan(filter=condition).to_table()
        assert found.column("k").to_pylist() == [1], condition
    # A period that such a writer cannot have meant is still left unread.
    beyond = IcebergTable(str(table.folder)).scan(filter=f"p < {text.replace('1969', '1967')}")
    assert "pruned     data/a.parquet" in beyond.explain()

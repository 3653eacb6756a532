"""What a base file tells about itself: statistics, and columns that it holds as dictionaries."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage


def _reader(folder: Path, table: pa.Table, **options: Any) -> ParquetReader:
    pq.write_table(table, folder / "base.parquet", version="1.0", row_group_size=2, **options)
    return ParquetReader(Storage(str(folder)), "base.parquet")


@pytest.mark.parametrize(
    ("values", "kind", "greatest"),
    [
        ([3, 9, 4], pa.int64(), 9),
        ([-3, -9, -4], pa.int32(), -3),
        ([dt.date(1970, 1, 3), dt.date(1970, 1, 2), dt.date(1970, 1, 1)], pa.date32(), 2),
        ([3, None, 4], pa.int64(), None),
        ([1.0, 2.0, 3.0], pa.float64(), None),
        (["a", "b", "c"], pa.string(), None),
    ],
)
def test_statistics_tell_the_greatest_whole_number(
    tmp_path: Path, values: list[Any], kind: pa.DataType, greatest: int | None
) -> None:
    """Over all row groups; unknown for other types and where a null may hide."""
    reader = _reader(tmp_path, pa.table({"c": pa.array(values, kind)}))
    assert reader.greatest("c", kind) == greatest


def test_statistics_may_be_missing_or_of_another_type(tmp_path: Path) -> None:
    """Then the greatest value is unknown."""
    table = pa.table({"c": pa.array([1, 2, 3], pa.int64())})
    assert _reader(tmp_path, table).greatest("c", pa.int32()) is None
    assert _reader(tmp_path, table).greatest("d", pa.int64()) is None
    assert _reader(tmp_path, table, write_statistics=False).greatest("c", pa.int64()) is None


@pytest.mark.parametrize("dictionaries", [True, False])
def test_encoded_texts_are_the_same_texts(tmp_path: Path, dictionaries: bool) -> None:
    """Texts may be handed out as dictionaries; they say the same, whatever the file holds."""
    table = pa.table({"c": ["x", "y", None], "n": pa.array([1, 2, 3], pa.int32())})
    reader = _reader(tmp_path, table, use_dictionary=dictionaries)
    batches = list(reader.batches(table.schema, 2, use_threads=False, encoded=["c", "n"]))
    texts = [text for batch in batches for text in batch.column(0).to_pylist()]
    assert texts == ["x", "y", None]
    assert {batch.column(1).type for batch in batches} == {pa.int32()}

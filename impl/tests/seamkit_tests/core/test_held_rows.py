"""Rows that wait in memory or on disk come back as they went, and leave nothing behind."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seamkit.core.border import HeldRows

SCHEMA = pa.schema(
    [
        pa.field("n", pa.int64()),
        pa.field("t", pa.string()),
        pa.field("b", pa.bool_()),
        pa.field("l", pa.list_(pa.struct([pa.field("x", pa.decimal128(10, 2))]))),
    ]
)
ROWS: list[list[dict[str, Any]]] = [
    [{"n": 1, "t": "one", "b": True, "l": [{"x": None}]}, {"n": None, "t": "", "b": None}],
    [],
    [{"n": 3, "t": None, "b": False, "l": []}],
    [{"n": 4, "t": "four" * 100, "b": True, "l": None}] * 20,
]
BATCHES = [pa.RecordBatch.from_pylist(rows, schema=SCHEMA) for rows in ROWS]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go during a test."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("most_bytes", "on_disk"), [(None, False), (1 << 30, False), (0, True)])
@pytest.mark.parametrize("pieces", range(len(BATCHES) + 1))
def test_rows_come_back_as_they_went(
    folder: Path, most_bytes: int | None, on_disk: bool, pieces: int
) -> None:
    """In order, of the same types, whether or not they went to the disk in between."""
    held = HeldRows(SCHEMA, most_bytes)
    for batch in BATCHES[:pieces]:
        held.add(batch)
    assert held.on_disk == (on_disk and pieces > 0)
    rows = held.take_out()
    rows.validate(full=True)
    expected = [row for batch in BATCHES[:pieces] for row in batch.to_pylist()]
    assert rows.schema == SCHEMA
    assert rows.to_pylist() == expected
    assert held.num_rows == rows.num_rows
    assert not list(folder.iterdir())


def test_rows_without_columns_are_counted() -> None:
    """Nothing is written for them."""
    held = HeldRows(pa.schema([]), 0)
    for _ in range(3):
        held.add(pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([]))))
    assert held.take_out().num_rows == 6
    assert not held.on_disk


def test_memory_is_bounded() -> None:
    """No more than the bytes allowed, and one batch more, stay in memory."""
    held = HeldRows(pa.schema([pa.field("n", pa.int64())]), 100_000)
    before = pa.total_allocated_bytes()
    for i in range(50):
        held.add(pa.RecordBatch.from_arrays([pa.array(range(i, i + 10_000))], names=["n"]))
        assert pa.total_allocated_bytes() - before <= 200_000
    assert held.take_out().column(0)[-1].as_py() == 49 + 9_999

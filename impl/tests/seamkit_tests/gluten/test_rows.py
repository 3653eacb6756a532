"""Rows of batches in one buffer, call after call."""

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seambase.type_fields import fields_of
from seamkit.core.memory import TrackedAllocator
from seamkit.gluten.rows import RowConverter, columns_to_rows, rows_to_columns
from seamkit.serde.rows.codec import UnsafeRows

ROWS = pa.RecordBatch.from_pydict({"n": [1, 2, 3, 4], "s": ["a", None, "b" * 100, ""]})
#: By Spark's layout: 8 bytes of null bits and two slots, the text in steps of 8 bytes.
LENGTHS = [32, 24, 24 + 104, 24]


@pytest.mark.parametrize(
    ("threshold", "calls"),
    [(1, [1, 1, 1, 1]), (56, [2, 1, 1]), (55, [1, 1, 1, 1]), (152, [2, 2]), (208, [4])],
)
def test_calls_take_what_fits_and_at_least_a_row(threshold: int, calls: list[int]) -> None:
    """Offsets begin with 0 in each call; the next offset is where a row ends."""
    codec = UnsafeRows(fields_of(ROWS.schema, "spark"))
    found = []
    for rows in columns_to_rows(codec, ROWS, threshold):
        assert rows.offsets.dtype == rows.lengths.dtype == np.int32
        assert rows.offsets.tolist() == [0, *np.cumsum(rows.lengths)[:-1].tolist()]
        assert len(rows.data) == rows.lengths.sum()
        found.append(rows.lengths.tolist())
    assert [len(lengths) for lengths in found] == calls
    assert sum(found, []) == LENGTHS  # noqa: RUF017 - four of them


def test_the_buffer_is_the_same_for_every_call() -> None:
    """A buffer that is large enough is used again; its memory goes back at the end."""
    with TrackedAllocator() as allocator:
        converter = RowConverter(
            UnsafeRows(fields_of(ROWS.schema, "spark"), allocator=allocator), threshold_bytes=150
        )
        first = converter.convert(ROWS, 2)
        address = np.frombuffer(first.data, np.uint8).ctypes.data
        again = converter.convert(ROWS, 3)
        assert np.frombuffer(again.data, np.uint8).ctypes.data == address
        assert allocator.counters().live_blocks == 1
        del converter, first, again


@pytest.mark.parametrize("first", [-1, 4, 5])
def test_rows_that_a_batch_lacks_are_refused(first: int) -> None:
    """Nothing is read beyond a batch."""
    converter = RowConverter(UnsafeRows(fields_of(ROWS.schema, "spark")))
    with pytest.raises(UsageError, match=f"row {first} is not one of the batch's 4"):
        converter.convert(ROWS, first)


@pytest.mark.parametrize("threshold", [-1, 0, 2**31])
def test_bytes_that_offsets_of_32_bits_cannot_count_are_refused(threshold: int) -> None:
    """A call of more would hand out offsets below 0."""
    codec = UnsafeRows(fields_of(ROWS.schema, "spark"))
    with pytest.raises(UsageError, match=f"threshold_bytes = {threshold}: 1 to 2"):
        list(columns_to_rows(codec, ROWS, threshold))
    assert len(RowConverter(codec, 2**31 - 1).convert(ROWS).lengths) == 4


@pytest.mark.parametrize("limit", ["batch_rows", "batch_bytes"])
def test_batches_of_no_rows_or_bytes_are_refused(limit: str) -> None:
    """Batches of no rows would have no end; one row or byte is the least."""
    codec = UnsafeRows(fields_of(ROWS.schema, "spark"))
    (rows,) = columns_to_rows(codec, ROWS)
    with pytest.raises(UsageError, match=f"{limit} = 0: 1 or more is meant"):
        next(rows_to_columns(codec, rows.data, LENGTHS, **{limit: 0}))
    found = rows_to_columns(codec, rows.data, LENGTHS, **{limit: 1})
    assert [batch.num_rows for batch in found] == [1, 1, 1, 1]

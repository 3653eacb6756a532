"""Rows of every kind, Spark's, those of Velox' own writer, and compact ones: values come back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamkit.serde.rows.serde import CompactRows
from seamkit.serde.rows.unsafe_row import UnsafeRows
from seamkit_tests.samples.row_samples import columns, fields_of, row_batches

_KINDS: dict[str, Callable[..., UnsafeRows | CompactRows]] = {
    "spark": UnsafeRows,
    "velox": partial(UnsafeRows, writer="velox"),
    "compact": CompactRows,
}
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize("kind", _KINDS)
@settings(max_examples=100, deadline=None, suppress_health_check=_SLOW)
@given(data=st.data())
def test_batches_come_back(kind: str, data: st.DataObject) -> None:
    """Rows of any schema, encoding and choice read back as the values they were made of."""
    sample = data.draw(row_batches(intervals=kind == "spark"))
    rows = _KINDS[kind](sample.fields)
    assert columns(rows.deserialize(rows.serialize(sample.batch).data)) == sample.columns
    chosen = rows.serialize(sample.batch, sample.choice, framing="packed")
    found = rows.deserialize(chosen.data, lengths=chosen.lengths)
    found.validate(full=True)
    assert columns(found) == sample.chosen
    if kind == "velox":
        assert (rows.sizes(sample.batch) <= UnsafeRows(sample.fields).sizes(sample.batch)).all()


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 127, 128, 129, 1000])
@pytest.mark.parametrize("every", [1, 3, 10_000])
def test_blocks_of_rows_join(kind: str, rows: int, every: int) -> None:
    """Rows are turned in blocks; values, nulls and text are whole where two blocks meet."""
    numbers = [None if i % every == every - 1 else i for i in range(rows)]
    lists = [None if n is None else [n, None] if n % 2 else [n] for n in numbers]
    batch = pa.RecordBatch.from_pydict(
        {
            "a": pa.array([None if n is None else "ä" * (n % 40) for n in numbers], pa.string()),
            "b": pa.array(numbers, pa.int64()),
            "c": pa.array([None if n is None else n % 2 == 0 for n in numbers], pa.bool_()),
            "d": pa.array(lists, pa.list_(pa.int16())),
            "e": pa.array(numbers, pa.int32()),
        }
    )
    types = {"a": "string", "b": "bigint", "c": "boolean", "d": "array<smallint>", "e": "int"}
    codec = _KINDS[kind](fields_of(**types))
    assert codec.deserialize(codec.serialize(batch).data).equals(batch)
